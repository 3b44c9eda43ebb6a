/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   in hosts --> answered at once
 *   else A and AAAA are asked for together:
 *     both came ----------------------------------------------> answered
 *     one has addresses, the other does not come within GRACE -> answered
 *     neither has addresses before TIMEOUT has passed ---------> failed
 *
 * Search domains: libevent searches the domains of resolv.conf for each family alone. So a host
 * without IPv6 could get the AAAA of another host, at name.domain. Therefore a name with a dot is
 * first asked for as it stands, and searched only if neither family has an address there.
 *
 * Name servers: libevent sends, repeats, matches answers by number, question and sender, and parses
 * them. It takes answers over UDP only, so a truncated answer counts as none.
 * - libevent probes a name server that it has given up with a name of its own ("google.com"). So no
 *   name server is ever given up ("max-timeouts").
 * - After a failure, or when resolv.conf has changed, the next query uses a new evdns_base. The old
 *   one is freed when its last query ends.
 *
 * Files that the sandbox does not permit to read, because they were renamed over the files of the
 * start: the name servers stay as they were. A name that no name server has may be in the new hosts
 * file, so its look-up counts as failed, and its last known addresses stay in use.
 */
#include "daemon/resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/dns.h>
#include <event2/event.h>

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/hostsfile.h"

#define GRACE (300 * NSEC_PER_MS)
#define TIMEOUT (30 * NSEC_PER_SEC)
/* how long an entry of the hosts file is used before the file is read again */
#define HOSTS_TTL (5 * NSEC_PER_SEC)

enum { FAMILIES = 2 };

struct lookup;

/* An evdns_base, with the name servers of the time it was made. */
struct dns {
	struct list link; /* member of resolver.old */
	struct evdns_base *base;
	struct stat read; /* resolv.conf as it was read */
	unsigned lookups;
	bool is_worn; /* a query failed: the next look-up gets a new evdns_base */
};

/* One query: one family of one name. */
struct question {
	struct lookup *of;
	struct evdns_request *request; /* NULL: answered, or never asked */
};

struct lookup {
	struct list link;
	struct dns *dns;
	struct name *name;
	struct question questions[FAMILIES];
	struct names_answer answer; /* addresses found so far */
	bool failed;		    /* one query of the look-up failed */
	bool unsure;		    /* a query failed, and the name may still exist */
	bool no_hosts;		    /* the hosts file, which may have the name, cannot be read */
	bool searches;		    /* the queries also search the domains of resolv.conf */
	bool is_over; /* the name was answered, but a query is still to be returned by libevent */
	nsec_t end;
};

struct resolver {
	struct resolver_config cfg;
	struct dns *dns; /* for the next look-up; NULL: to be made */
	struct list old; /* struct dns that are used only by earlier look-ups */
	struct list lookups;
};

struct resolver *resolver_new(const struct resolver_config *cfg)
{
	struct resolver *r = mem_zalloc(sizeof(*r));

	if (!r)
		return NULL;
	r->cfg = *cfg;
	list_init(&r->old);
	list_init(&r->lookups);
	return r;
}

static void free_dns(struct dns *dns)
{
	if (!dns)
		return;
	evdns_base_free(dns->base, 0);
	mem_free(dns);
}

/* Must not be called from a callback of libevent: the callback may be of a base that is freed
 * here. */
static void free_old(struct resolver *r)
{
	list_for_each_safe(it, tmp, &r->old)
	{
		struct dns *dns = container_of(it, struct dns, link);

		if (dns->lookups > 0)
			continue;
		list_del(&dns->link);
		free_dns(dns);
	}
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Whether permission to read @path is missing. The sandbox denies it if another file was renamed
 * over one that it permits. */
static bool is_denied(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == EACCES;
}

static void log_kept(const char *path)
{
	log_warn("name.servers",
		 "file=%s why=\"it was replaced, and the sandbox does not permit to read the new "
		 "file: the gateway asks the name servers of the old one until it is restarted\"",
		 path);
}

/* If resolv.conf has changed or a query failed, only look-ups under way keep the evdns_base.
 * Exception: the file can no longer be read. */
static void retire_dns(struct resolver *r)
{
	struct stat now = {.st_size = 0};
	bool is_same;

	if (!r->dns)
		return;
	(void)stat(r->cfg.resolv_conf, &now);
	is_same = is_same_file(&now, &r->dns->read);
	if (!r->dns->is_worn && is_same)
		return;
	if (is_denied(r->cfg.resolv_conf)) {
		if (!is_same)
			log_kept(r->cfg.resolv_conf);
		r->dns->read = now;
		return;
	}
	list_add_tail(&r->old, &r->dns->link);
	r->dns = NULL;
	free_old(r);
}

/* Without a readable file: the name server on this machine. */
static struct dns *new_dns(const struct resolver *r)
{
	struct dns *dns = mem_zalloc(sizeof(*dns));
	int err;

	if (dns)
		dns->base = evdns_base_new(loop_base(r->cfg.loop), 0);
	if (!dns || !dns->base) {
		mem_free(dns);
		return NULL;
	}
	list_init(&dns->link);
	(void)stat(r->cfg.resolv_conf, &dns->read);
	err = evdns_base_resolv_conf_parse(
		dns->base, DNS_OPTION_SEARCH | DNS_OPTION_NAMESERVERS | DNS_OPTION_MISC,
		r->cfg.resolv_conf);
	if (err)
		log_warn("name.servers",
			 "file=%s why=\"cannot be used (%d): the gateway asks the name servers "
			 "that it could read from the file, or this machine\"",
			 r->cfg.resolv_conf, err);
	/* No name server is given up: see Operation. */
	(void)evdns_base_set_option(dns->base, "max-timeouts:", "255");
	return dns;
}

static bool open_dns(struct resolver *r)
{
	retire_dns(r);
	if (!r->dns)
		r->dns = new_dns(r);
	return r->dns;
}

static bool is_answered(const struct lookup *l)
{
	return !l->questions[0].request && !l->questions[1].request;
}

/* libevent calls back for a cancelled query, too, a little later. */
static void stop(struct lookup *l)
{
	l->is_over = true;
	l->end = NSEC_NEVER;
	for (unsigned i = 0; i < FAMILIES; i++)
		if (l->questions[i].request)
			evdns_cancel_request(l->dns->base, l->questions[i].request);
}

static void end_if_answered(struct lookup *l)
{
	if (!l->is_over || !is_answered(l))
		return;
	l->dns->lookups--;
	list_del(&l->link);
	mem_free(l);
}

static void conclude(struct lookup *l)
{
	struct names_answer *a = &l->answer;

	if (l->no_hosts && !l->failed) {
		l->failed = true;
		a->why = "no name server has it, and /etc/hosts was replaced: restart the gateway, "
			 "so that the sandbox permits to read the new file";
	}
	a->result = a->n ? NAMES_FOUND : l->failed ? NAMES_FAILED : NAMES_NONE;
	if (a->result == NAMES_NONE)
		a->why = "there is no such name, or it has no address";
	names_answer(l->name, a, loop_now());
	stop(l);
}

static void add(struct names_answer *a, int family, const uint8_t *octets)
{
	struct fabric_addr *addr = &a->addrs[a->n];

	if (a->n == NAMES_ADDRS)
		return;
	*addr = (struct fabric_addr){.ss.ss_family = (sa_family_t)family};
	if (family == AF_INET) {
		memcpy(&((struct sockaddr_in *)&addr->ss)->sin_addr, octets, 4);
		addr->len = sizeof(struct sockaddr_in);
	} else {
		memcpy(&((struct sockaddr_in6 *)&addr->ss)->sin6_addr, octets, 16);
		addr->len = sizeof(struct sockaddr_in6);
	}
	a->n++;
}

/* A TTL with its first bit set counts as 0 (RFC 2181 8). libevent reports the TTL as an int. */
static void take(struct names_answer *a, int type, int count, int ttl, const void *addresses)
{
	bool is_v4 = type == DNS_IPv4_A;
	nsec_t holds = ttl > 0 ? (nsec_t)ttl * NSEC_PER_SEC : 0;

	if (a->n == 0 || holds < a->ttl)
		a->ttl = holds;
	for (int i = 0; i < count; i++)
		add(a, is_v4 ? AF_INET : AF_INET6,
		    (const uint8_t *)addresses + (size_t)i * (is_v4 ? 4 : 16));
}

static const char *reason(int result)
{
	switch (result) {
	case DNS_ERR_TRUNCATED:
		return "the answer is longer than UDP carries";
	case DNS_ERR_TIMEOUT:
		return "no name server answers";
	default:
		return "no name server has an answer";
	}
}

static void on_answer(int result, char type, int count, int ttl, void *addresses, void *arg);

/* Return: whether a query is under way. */
static bool ask(struct lookup *l)
{
	int flags = l->searches ? 0 : DNS_QUERY_NO_SEARCH;

	l->questions[0].request = evdns_base_resolve_ipv4(l->dns->base, l->name->text, flags,
							  on_answer, &l->questions[0]);
	l->questions[1].request = evdns_base_resolve_ipv6(l->dns->base, l->name->text, flags,
							  on_answer, &l->questions[1]);
	return !is_answered(l);
}

/* Query again with the search domains, because the name as it stands has no address. A name with a
 * final dot is not searched. Return: as ask(). */
static bool search(struct lookup *l)
{
	const char *text = l->name->text;

	if (l->searches || l->unsure || l->answer.n || text[strlen(text) - 1] == '.')
		return false;
	l->searches = true;
	if (ask(l))
		return true;
	l->failed = true;
	return false;
}

static void take_answer(struct lookup *l, int result, char type, int count, int ttl,
			const void *addresses)
{
	if (result == DNS_ERR_NONE && (type == DNS_IPv4_A || type == DNS_IPv6_AAAA)) {
		take(&l->answer, type, count, ttl, addresses);
	} else if (result != DNS_ERR_NOTEXIST && result != DNS_ERR_NODATA) {
		l->failed = true;
		/* A name server that serves only its own zones refuses other names. Such a refusal
		 * says that it does not have the name. */
		l->unsure |= result != DNS_ERR_REFUSED && result != DNS_ERR_NOTIMPL;
		l->answer.why = reason(result);
		l->dns->is_worn = true;
	}
	if (!is_answered(l) && l->answer.n)
		l->end = nsec_min(l->end, loop_now() + GRACE);
	if (is_answered(l) && !search(l))
		conclude(l);
}

static void on_answer(int result, char type, int count, int ttl, void *addresses, void *arg)
{
	struct question *q = arg;

	q->request = NULL;
	if (!q->of->is_over)
		take_answer(q->of, result, type, count, ttl, addresses);
	end_if_answered(q->of);
}

/* Return: 1: @name was in the file and is answered; 0: it is not in the file; ERR_LOCAL: the file
 * cannot be read; ERR_NOMEM: descriptors or memory are short, so the file was not read. */
static int in_hosts(struct resolver *r, struct name *name)
{
	struct names_answer a = {.result = NAMES_FOUND, .ttl = HOSTS_TTL};
	FILE *f = fopen(r->cfg.hosts, "re");

	if (!f && errno == EACCES)
		return ERR_LOCAL;
	if (!f)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? ERR_NOMEM : 0;
	a.n = hostsfile_find(f, name->text, a.addrs, NAMES_ADDRS);
	fclose(f);
	if (a.n)
		names_answer(name, &a, loop_now());
	return a.n > 0;
}

bool resolver_ask(struct resolver *r, struct name *name)
{
	int known = in_hosts(r, name);
	struct lookup *l;

	if (known && known != ERR_LOCAL)
		return known > 0;
	if (!open_dns(r) || !(l = mem_zalloc(sizeof(*l))))
		return false;
	l->dns = r->dns;
	l->dns->lookups++;
	l->name = name;
	l->end = loop_now() + TIMEOUT;
	l->answer.why = "no name server answers";
	l->no_hosts = known == ERR_LOCAL;
	list_add_tail(&r->lookups, &l->link);
	l->questions[0].of = l->questions[1].of = l;
	l->searches = !strchr(name->text, '.');
	if (ask(l))
		return true;
	l->is_over = true;
	end_if_answered(l);
	return false;
}

nsec_t resolver_tick(struct resolver *r, nsec_t now)
{
	nsec_t at = NSEC_NEVER;

	for (struct list *it = r->lookups.next; it != &r->lookups; it = it->next) {
		struct lookup *l = container_of(it, struct lookup, link);

		if (l->end > now) {
			at = nsec_min(at, l->end);
			continue;
		}
		l->failed = true;
		l->dns->is_worn = true;
		conclude(l);
	}
	free_old(r);
	return at;
}

void resolver_free(struct resolver *r)
{
	if (!r)
		return;
	for (struct list *it = r->lookups.next; it != &r->lookups; it = it->next)
		stop(container_of(it, struct lookup, link));
	while (!list_is_empty(&r->lookups) && loop_run_once(r->cfg.loop, 0) == 0)
		;
	free_old(r);
	free_dns(r->dns);
	mem_free(r);
}
