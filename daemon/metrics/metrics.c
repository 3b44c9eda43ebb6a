/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/metrics/metrics.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/opsock/opsock.h"
#include "daemon/loop.h"
#include "daemon/metrics/page.h"
#include "daemon/metrics/request.h"

enum { VISITORS = 16, REQUEST_BYTES = 8 << 10, ANSWER_BYTES = 64 << 20 };
#define RETRY (1 * NSEC_PER_SEC)

static const char open_type[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";
static const char older_type[] = "text/plain; version=0.0.4; charset=utf-8";

/* The page may load only its own files and figures from here, and no other page may frame it. */
#define POLICY                                                                                     \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "            \
	"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "             \
	"require-trusted-types-for 'script'"

/* One client. */
struct scrape {
	struct visitor v; /* first member */
	struct http_request request;
	struct stats_collect collect;
};

struct metrics {
	struct metrics_config cfg;
	char own_name[HOST_NAME_MAX + 1]; /* host name of this machine */
	struct opsock *opsock;		  /* NULL: the address does not exist yet */
	nsec_t again;			  /* without .opsock: when to try the address again */
	int error;			  /* without .opsock: errno of the last try */
	int early;			  /* bound to an address that does not exist yet; or -1 */
	bool is_closed;			  /* metrics_close() was called */
};

static void answer(struct scrape *s, const char *type, const char *body, size_t len)
{
	unsigned status = s->request.status;
	char head[1024];
	int n = snprintf(head, sizeof(head),
			 "HTTP/1.1 %u %s\r\n"
			 "Content-Type: %s\r\n"
			 "Content-Length: %zu\r\n"
			 "%s"
			 "Cache-Control: no-store\r\n"
			 "X-Content-Type-Options: nosniff\r\n"
			 "Cross-Origin-Resource-Policy: same-origin\r\n"
			 "Content-Security-Policy: " POLICY "\r\n"
			 "Referrer-Policy: no-referrer\r\n"
			 "Connection: close\r\n"
			 "\r\n",
			 status, http_reason(status), type, len,
			 status == 405 ? "Allow: GET, HEAD\r\n" : "");

	visitor_say(&s->v, head, (size_t)n);
	if (!s->request.is_head)
		visitor_say(&s->v, body, len);
	visitor_done(&s->v);
}

static const char *hint(unsigned status)
{
	switch (status) {
	case 404:
		return ": what there is, is at / and /metrics";
	case 421:
		return ": give names of metrics this name, or use an address";
	default:
		return "";
	}
}

static void refuse(struct scrape *s, unsigned status)
{
	char body[128];
	int n = snprintf(body, sizeof(body), "%s%s\n", http_reason(status), hint(status));

	s->request.status = status;
	answer(s, "text/plain; charset=utf-8", body, (size_t)n);
}

static void on_figures(struct stats_collect *collected, const struct stats_table *sum)
{
	struct scrape *s = container_of(collected, struct scrape, collect);
	struct metrics *m = opsock_user(s->v.opsock);
	struct text t = {.is_open = s->request.wants_open};

	text_figures(&t, &m->cfg.process, sum);
	if (t.is_broken)
		refuse(s, 500);
	else
		answer(s, t.is_open ? open_type : older_type, t.at, t.len);
	mem_free(t.at);
	visitor_release(&s->v);
}

static void on_cancel(struct visitor *v)
{
	collect_cancel(&((struct scrape *)v)->collect);
}

static void host_of(const struct sockaddr_storage *peer, uint8_t *host)
{
	const struct fabric_addr addr = {.ss = *peer};

	_Static_assert((int)OPSOCK_HOST == (int)FABRIC_ADDR_KEY, "a key fits");
	fabric_addr_key(&addr, host);
}

static bool is_ours(const struct metrics *m, const char *host)
{
	return !host || http_host_is(host, m->own_name, 1) ||
	       http_host_is(host, m->cfg.names->text, m->cfg.names->n);
}

static void on_asked(struct visitor *v, char *request, size_t len)
{
	struct scrape *s = (struct scrape *)v;
	struct metrics *m = opsock_user(v->opsock);

	s->request = http_parse(request, len);
	if (s->request.status == 200 && !is_ours(m, s->request.host))
		s->request.status = 421;
	s->request.host = NULL; /* it points into the request, which is over */
	if (s->request.status != 200) {
		refuse(s, s->request.status);
		return;
	}
	if (s->request.target != HTTP_METRICS) {
		struct view page = page_of(s->request.target);

		answer(s, page_type(s->request.target), (const char *)page.data, page.len);
		return;
	}
	visitor_hold(v);
	s->collect.collected = on_figures;
	collect(m->cfg.stats_collector, &s->collect);
}

static void on_too_long(struct visitor *v)
{
	refuse((struct scrape *)v, 431);
}

/* The kernel's queue is as long as possible: while it is full, the kernel drops connections of all
 * clients. Return: a listening socket, or -1 with errno. */
static int end_socket(int fd)
{
	int error = errno;

	close(fd);
	errno = error;
	return -1;
}

/* Return: a socket; or -1 with errno. @early: the address need not exist. */
static int bind_at(const struct fabric_addr *at, int type, bool early)
{
	bool is_v6 = at->ss.ss_family == AF_INET6;
	socklen_t len = is_v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	int fd = socket(at->ss.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		return -1;
	if (early)
		setsockopt(fd, is_v6 ? IPPROTO_IPV6 : IPPROTO_IP,
			   is_v6 ? IPV6_FREEBIND : IP_FREEBIND, &one, sizeof(one));
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
	    bind(fd, (const struct sockaddr *)&at->ss, len) == 0)
		return fd;
	return end_socket(fd);
}

/* Whether this machine has the address now; if not, errno is set. */
static bool has_come(const struct fabric_addr *at)
{
	struct fabric_addr any_port = *at;
	int fd;

	((struct sockaddr_in *)&any_port.ss)->sin_port = 0; /* at the same place in sockaddr_in6 */
	fd = bind_at(&any_port, SOCK_DGRAM, false);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The kernel's queue is as long as possible: while it is full, the kernel drops connections of all
 * clients. Return: a listening socket; or -1 with errno. */
static int listen_at(struct metrics *m, const struct fabric_addr *at)
{
	int fd = m->early;

	if (fd >= 0 && !has_come(at))
		return -1;
	m->early = -1;
	if (fd < 0)
		fd = bind_at(at, SOCK_STREAM, false);
	if (fd < 0 || listen(fd, SOMAXCONN) == 0)
		return fd;
	return end_socket(fd);
}

/* Return: 0 and @at; or ERR_IO with errno. ENODEV: there is no such interface. */
static int find_address(const struct metrics_config *cfg, struct fabric_addr *at)
{
	int err = fabric_addr_parse(cfg->address, cfg->port, at);

	if (err)
		errno = ENODEV;
	return err ? ERR_IO : 0;
}

/* Return: 0; ERR_IO with errno; ERR_NOMEM. */
static int serve(struct metrics *m)
{
	const struct opsock_config opsock = {.most = VISITORS,
					     .visitor_bytes = sizeof(struct scrape),
					     .request_bytes = REQUEST_BYTES,
					     .answer_bytes = ANSWER_BYTES,
					     .once = true,
					     .now = loop_now,
					     .host_of = host_of,
					     .whole = http_whole,
					     .asked = on_asked,
					     .too_long = on_too_long,
					     .cancel = on_cancel,
					     .user = m};
	struct fabric_addr at;
	char text[FABRIC_ADDR_TEXT];
	int fd;

	if (find_address(&m->cfg, &at))
		return ERR_IO;
	fd = inherit_take(m->cfg.inherit, &at);
	if (fd < 0)
		fd = listen_at(m, &at);
	if (fd < 0)
		return ERR_IO;
	m->opsock = opsock_open(m->cfg.loop, fd, &opsock);
	if (!m->opsock)
		return ERR_NOMEM;
	log_info("metrics", "address=%s path=/metrics", fabric_addr_format(&at, text));
	return 0;
}

static const char *remedy(const struct metrics *m, int error)
{
	switch (error) {
	case ENODEV:
		return ": name one that ip link lists";
	case EADDRNOTAVAIL:
		return ": give an address of this machine, see ip address";
	case EACCES:
		return m->error ? ": the gateway gave up its privileges at its start: give a port "
				  "above 1023, or restart it"
				: ": give a port above 1023";
	case EADDRINUSE:
		return ": give an address and a port of this machine that are free";
	default:
		return "";
	}
}

static void log_failure(const struct metrics *m, enum log_level level, const char *event, int error)
{
	const char *at = m->cfg.address;
	const char *why = error == ENODEV ? "there is no such interface" : strerror(error);
	char text[FABRIC_ADDR_TEXT];
	struct fabric_addr addr;

	if (!find_address(&m->cfg, &addr))
		at = fabric_addr_format(&addr, text);
	log_event(level, event, "address=%s why=\"%s%s\"", at, why, remedy(m, error));
}

/*
 * State:  at boot the network comes up while the gateway starts. The address of the metrics, or its
 *         interface, may come later than those of the routes.
 * Danger: the gateway ends, and the clients of all routes wait for an address that only operators
 *         use.
 * Rule:   if the address does not exist yet, the gateway serves without metrics, and tries the
 *         address again once a second. Other errors end the gateway at its start, because they do
 *         not go away by themselves. After the start all errors only delay the metrics. A port
 *         below 1024 needs privileges, and the gateway has them only at its start. So a socket is
 *         bound at the start (.early). Exception: a link-local address, because its interface may
 *         be missing, or may be made again with another number.
 * Pinned: tests/operators/run.sh:case_metrics_later
 */
static bool may_come(int error)
{
	return error == EADDRNOTAVAIL || error == ENODEV;
}

/* Return: an errno that does not go away by itself (EACCES); otherwise 0. */
static int bind_early(struct metrics *m)
{
	struct fabric_addr at;

	if (strchr(m->cfg.address, '%') || find_address(&m->cfg, &at))
		return 0;
	m->early = bind_at(&at, SOCK_STREAM, true);
	return m->early < 0 && errno == EACCES ? EACCES : 0;
}

static void try_later(struct metrics *m, int error)
{
	m->again = loop_now() + RETRY;
	if (error != m->error)
		log_failure(m, LOG_LEVEL_WARN, "metrics.waiting", error);
	m->error = error;
}

/* Return: 0, also if the address may come; ERR_IO (logged) or ERR_NOMEM. */
static int serve_or_wait(struct metrics *m)
{
	int err = serve(m), error = errno;

	if (err != ERR_IO)
		return err;
	if (may_come(error)) {
		err = bind_early(m);
		if (!err) {
			try_later(m, error);
			return 0;
		}
		error = err;
	}
	log_failure(m, LOG_LEVEL_ERROR, "metrics.failed", error);
	return ERR_IO;
}

int metrics_open(const struct metrics_config *cfg, struct metrics **out)
{
	struct metrics *m = mem_zalloc(sizeof(*m));
	int err;

	if (!m)
		return ERR_NOMEM;
	m->cfg = *cfg;
	m->early = -1;
	(void)gethostname(m->own_name, sizeof(m->own_name) - 1);
	err = serve_or_wait(m);
	if (err)
		mem_free(m);
	else
		*out = m;
	return err;
}

void metrics_close(struct metrics *m)
{
	m->is_closed = true;
	if (m->early >= 0)
		close(m->early);
	m->early = -1;
	if (m->opsock)
		opsock_close(m->opsock);
}

int metrics_fd(const struct metrics *m)
{
	return m->opsock ? opsock_fd(m->opsock) : -1;
}

nsec_t metrics_tick(struct metrics *m)
{
	if (!m->opsock && !m->is_closed && loop_now() >= m->again) {
		int err = serve(m);

		if (err)
			try_later(m, err == ERR_IO ? errno : ENOMEM);
	}
	return m->opsock ? opsock_tick(m->opsock) : m->is_closed ? NSEC_NEVER : m->again;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	if (m->early >= 0)
		close(m->early);
	opsock_free(m->opsock);
	mem_free(m);
}
