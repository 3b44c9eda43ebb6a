/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/sock.h"
#include "fabric/iwarp/iwarp_internal.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static void set(int fd, int level, int option, int value)
{
	/* Best effort: a connection without one of these options still works. */
	(void)setsockopt(fd, level, option, &value, sizeof(value));
}

/*
 * Options of a connection's socket. Buffer sizes are left to the kernel's autotuning: setting them
 * would switch it off.
 *
 * State:  the peer's machine is gone, or its kernel takes no more octets because its program does
 *         not read.
 * Danger: the connection keeps its memory for ever.
 * Rule:   the kernel ends the connection if an idle peer does not answer TCP keepalive for
 *         .stall_timeout_ms, or if the peer acknowledges none of the octets sent for as long
 *         (TCP_USER_TIMEOUT).
 * Pinned: tests/iwarp/test_iwarp_faults.c:test_stops_reading
 */
void sock_options(int fd, const struct iwarp_config *cfg)
{
	enum { PROBES = 3 };
	int quiet_s = (int)(cfg->stall_timeout_ms / 2000);
	int interval_s = (int)(cfg->stall_timeout_ms / 2000) / PROBES;

	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, quiet_s > 0 ? quiet_s : 1);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, interval_s > 0 ? interval_s : 1);
	set(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
	if (cfg->stall_timeout_ms && cfg->stall_timeout_ms < INT32_MAX)
		set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)cfg->stall_timeout_ms);
}

void sock_addresses(int fd, struct fabric_conn *c)
{
	c->local.len = sizeof(c->local.ss);
	c->peer.len = sizeof(c->peer.ss);
	if (getsockname(fd, (struct sockaddr *)&c->local.ss, &c->local.len))
		c->local.len = 0;
	if (getpeername(fd, (struct sockaddr *)&c->peer.ss, &c->peer.len))
		c->peer.len = 0;
}

/* Whether the path is loopback, whose MTU is 65536. No path between machines has such an MTU. */
static bool is_loopback(const struct tcp_info *info)
{
	enum { HUGE_PATH = 65535 };

	return info->tcpi_pmtu >= HUGE_PATH;
}

static bool get_info(int fd, struct tcp_info *info)
{
	socklen_t len = sizeof(*info);

	*info = (struct tcp_info){0};
	return !getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &len);
}

/*
 * The effective maximum segment size (EMSS): what one TCP segment carries. On a fresh connection it
 * is limited to half the peer's first window, which matters on loopback only: there the path's own
 * size is taken.
 */
uint32_t sock_emss(int fd)
{
	enum { DEFAULT = 1448 };
	struct tcp_info info;

	if (!get_info(fd, &info) || !info.tcpi_snd_mss)
		return DEFAULT;
	if (is_loopback(&info) && info.tcpi_advmss > info.tcpi_snd_mss)
		return info.tcpi_advmss;
	return info.tcpi_snd_mss;
}

static bool get_congestion(int fd, char name[SOCK_CONGESTION])
{
	socklen_t len = SOCK_CONGESTION - 1;

	memset(name, 0, SOCK_CONGESTION);
	return !getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len);
}

static void set_congestion(int fd, const char *name)
{
	(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name));
}

/* Every kernel has Reno, and any user may select it. */
void sock_unpace(int fd)
{
	char name[SOCK_CONGESTION];

	if (get_congestion(fd, name) && strncmp(name, "bbr", strlen("bbr")) == 0)
		set_congestion(fd, "reno");
}

/* The congestion control of a new socket. */
static bool get_usual(char name[SOCK_CONGESTION])
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool got = fd >= 0 && get_congestion(fd, name);

	if (fd >= 0)
		close(fd);
	return got;
}

void sock_pace(int fd, char usual[SOCK_CONGESTION])
{
	char name[SOCK_CONGESTION];
	struct tcp_info info;

	if (!get_info(fd, &info) || is_loopback(&info) || !get_congestion(fd, name))
		return;
	if (strcmp(name, "reno") != 0 || (!usual[0] && !get_usual(usual)))
		return;
	if (strcmp(name, usual) != 0)
		set_congestion(fd, usual);
}

uint32_t sock_backlog(int fd)
{
	int octets;

	return ioctl(fd, SIOCOUTQ, &octets) ? 0 : (uint32_t)octets;
}

bool sock_peer_ended(int fd)
{
	struct tcp_info info;

	return !get_info(fd, &info) ||
	       (info.tcpi_state != TCP_ESTABLISHED && info.tcpi_state != TCP_FIN_WAIT1 &&
		info.tcpi_state != TCP_FIN_WAIT2);
}

bool sock_has_failed(int fd)
{
	struct tcp_info info;

	return get_info(fd, &info) && info.tcpi_state == TCP_CLOSE;
}

int sock_take_error(int fd)
{
	int err = 0;
	socklen_t len = sizeof(err);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) ? errno : err;
}

bool sock_has_address_for(const struct fabric_addr *to)
{
	int fd = socket(to->ss.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	/* UDP's ports are not TCP's. So if connect() fails, an address is missing, not a port. */
	bool has = fd < 0 || !connect(fd, (const struct sockaddr *)&to->ss, to->len);

	if (fd >= 0)
		close(fd);
	return has;
}

/* Return: the MTU of the path to @addr; 0: there is no path. */
static int path_mtu(const struct sockaddr_in6 *addr)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), mtu = 0;
	socklen_t len = sizeof(mtu);

	if (fd < 0)
		return 0;
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) ||
	    getsockopt(fd, IPPROTO_IPV6, IPV6_MTU, &mtu, &len))
		mtu = 0;
	close(fd);
	return mtu;
}

/* The kernel sends to local addresses over loopback. No other path has an MTU as large as
 * loopback's usual one. */
bool sock_is_local(const struct fabric_addr *addr)
{
	const struct sockaddr_in6 loopback = {
		.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT, .sin6_port = htons(1)};
	struct sockaddr_in6 to = *(const struct sockaddr_in6 *)&addr->ss;
	int usual = path_mtu(&loopback);

	to.sin6_port = htons(1);
	return !usual || path_mtu(&to) == usual;
}

void sock_free_port(int fd)
{
	const struct linger at_once = {.l_onoff = 1};

	if (!sock_peer_ended(fd) && sock_backlog(fd) == 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

/* The kernel gives the least free number. So if @fd is not below @descriptors, as many are in
 * use. */
int sock_within(int fd, uint32_t descriptors)
{
	if (fd < 0 || descriptors == 0 || (uint32_t)fd < descriptors)
		return fd;
	close(fd);
	errno = EMFILE;
	return -1;
}

int sock_error(int err)
{
	switch (err) {
	case ECONNREFUSED:
	case EHOSTUNREACH:
	case ENETUNREACH:
		return ERR_REFUSED;
	case ETIMEDOUT:
		return ERR_TIMEOUT;
	case ECONNRESET:
	case EPIPE:
		return ERR_CLOSED;
	case ENOMEM:
		return ERR_NOMEM;
	/*
	 * Shortages and rules of this machine; they say nothing about the peer. EPERM, EACCES: its
	 * security policy, or a route that prohibits. A firewall that drops packets causes a
	 * time-out, as a silent server does.
	 */
	case EADDRNOTAVAIL:
	case EADDRINUSE:
	case EAGAIN:
	case EMFILE:
	case ENFILE:
	case ENOBUFS:
	case EPERM:
	case EACCES:
		return ERR_LOCAL;
	default:
		return ERR_IO;
	}
}
