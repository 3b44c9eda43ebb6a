/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Log lines about a session while it lives: each leg on request, and reports of its peers
 *
 * A peer decides how many reports it sends. So only the first few have a line each; after that one
 * line a second says how many had none.
 */
#include <stdio.h>

#include "base/log.h"
#include "proxy/session_log.h"
#include "proxy/internal.h"

enum { REPORTS_LOGGED = 8 };

/* Return: the name for which log lines about @leg are limited: the client address, or the route. */
static const char *log_peer_of(const struct session *s, const struct leg *leg)
{
	return leg == &s->client ? s->host : s->route->route->name;
}

void session_log_end(struct session *s, const struct leg *leg, int status, const char *why)
{
	char names[SESSION_NAMES_BYTES];

	log_peer(LOG_LEVEL_INFO, "session.end", s->host,
		 "session=%llu route=%s leg=%s cause=%s why=\"%s\"%s", (unsigned long long)s->id,
		 s->route->route->name, leg == &s->client ? "client" : "server", err_name(status),
		 why ? why : "-", session_names(s, names));
}

void session_log_auth(const struct session *s, struct leg *leg)
{
	const struct leg_proof *proof = leg->proof;
	const char *name = leg == &s->client ? "client" : "server";
	char peer[FABRIC_ADDR_TEXT];

	if (!leg_auth_take_result(leg) || !leg->conn)
		return;
	fabric_addr_format(&leg->conn->peer, peer);
	if (proof->auth.verdict == V2_AUTH_FAILED)
		log_peer(LOG_LEVEL_WARN, "hostauth.failed", log_peer_of(s, leg),
			 "session=%llu route=%s leg=%s peer=%s name=\"%s\" cause=%s why=\"%s\"",
			 (unsigned long long)s->id, s->route->route->name, name, peer, proof->peer,
			 proof->auth.is_absent ? "absent" : hostauth_cause_name(proof->cause),
			 proof->why);
	else if (proof->auth.verdict == V2_AUTH_ABSENT)
		log_peer(LOG_LEVEL_INFO, "hostauth.absent", log_peer_of(s, leg),
			 "session=%llu route=%s leg=%s peer=%s", (unsigned long long)s->id,
			 s->route->route->name, name, peer);
	else
		log_peer(LOG_LEVEL_INFO, "hostauth", log_peer_of(s, leg),
			 "session=%llu route=%s leg=%s peer=%s name=\"%s\" suite=%s messages=%u "
			 "octets=%zu",
			 (unsigned long long)s->id, s->route->route->name, name, peer, proof->peer,
			 proof->suite, proof->values, proof->octets);
}

const char *session_names(const struct session *s, char *text)
{
	const char *client = leg_peer_name(&s->client), *server = leg_peer_name(&s->server);

	snprintf(text, SESSION_NAMES_BYTES, "%s%s%s%s", *client ? " client_name=" : "", client,
		 *server ? " server_name=" : "", server);
	return text;
}

void session_log_habit(const struct session *s, const char *what)
{
	char server[FABRIC_ADDR_TEXT];

	session_server_text(s, server);
	log_peer(LOG_LEVEL_INFO, "upstream.habit", s->route->route->name,
		 "route=%s server=%s what=\"%s\"", s->route->route->name, server, what);
}

void session_log_report(struct session *s, const struct leg *leg, const struct leg_out *out)
{
	struct session_reports *r = &s->reports;
	nsec_t now = s->proxy->now;

	if (r->logged >= REPORTS_LOGGED && now < r->last + NSEC_PER_SEC) {
		r->suppressed++;
		return;
	}
	log_peer(LOG_LEVEL_INFO, "rpc.error", log_peer_of(s, leg),
		 "session=%llu leg=%s xid=%08x cause=%s a=%u b=%u suppressed=%llu",
		 (unsigned long long)s->id, leg == &s->client ? "client" : "server", out->xid,
		 rpc_error_name(out->error.code), out->error.a, out->error.b,
		 (unsigned long long)r->suppressed);
	r->logged++;
	r->last = now;
	r->suppressed = 0;
}

void session_log_suppressed(const struct session *s)
{
	if (s->reports.suppressed)
		log_peer(LOG_LEVEL_INFO, "rpc.errors", s->host, "session=%llu suppressed=%llu",
			 (unsigned long long)s->id, (unsigned long long)s->reports.suppressed);
}

static void log_leg(const struct session *s, const struct leg *leg, const struct session_stat *st,
		    const char *name)
{
	char peer[FABRIC_ADDR_TEXT];

	if (!leg->t || !leg->conn)
		return;
	log_info("leg",
		 "session=%llu route=%s leg=%s peer=%s version=%s inline_send=%u inline_recv=%u "
		 "credits=%u calls=%llu replies=%llu rcalls=%llu rreplies=%llu bytes_in=%llu "
		 "bytes_out=%llu late=%llu large=%llu written=%llu%s%s",
		 (unsigned long long)s->id, s->route->route->name, name,
		 fabric_addr_format(&leg->conn->peer, peer), leg->t->ops->name,
		 leg->t->peer.send_bytes, leg->t->peer.recv_bytes,
		 leg == &s->client ? leg->grant : leg->t->ops->call_credits(leg->t),
		 (unsigned long long)st->calls, (unsigned long long)st->replies,
		 (unsigned long long)st->rcalls, (unsigned long long)st->rreplies,
		 (unsigned long long)st->bytes_in, (unsigned long long)st->bytes_out,
		 (unsigned long long)leg->t->count.late, (unsigned long long)st->large,
		 (unsigned long long)st->written, *leg_peer_name(leg) ? " name=" : "",
		 leg_peer_name(leg));
}

void session_log_legs(const struct session *s)
{
	log_leg(s, &s->client, &s->stat[PROXY_CLIENT], "client");
	log_leg(s, &s->server, &s->stat[PROXY_SERVER], "server");
}
