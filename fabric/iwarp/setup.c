/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/iwarp/setup.h"
#include "fabric/iwarp/conn.h"
#include "fabric/iwarp/iwarp_internal.h"
#include "fabric/iwarp/reject.h"
#include "fabric/iwarp/sock.h"
#include "fabric/iwarp/stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/pause.h"

/*
 * Operation
 *
 * Set-up reads exactly one MPA frame, first its header and then what the header announces, so that
 * no octet of the stream behind it is read.
 *
 * State:  a client has connected, and its MPA Request has not arrived whole.
 * Danger: connections that send nothing use up descriptors and memory, and a client that speaks
 *         cannot connect.
 * Rule:   a set-up is bounded in time (setup_timeout_ms), in size (MPA_FRAME_MAX) and in number
 *         (max_setups). At the limit the oldest set-up of the client address that has the most of
 *         them ends. The time has SETUP_LOOKS looks (base/pause.h).
 * Pinned: tests/iwarp/test_iwarp_setups.c:silent_connections_do_not_keep_out_one_that_speaks,
 *         :another_hosts_push_out_their_own, tests/iwarp/test_iwarp_faults.c:test_slow_loris,
 *         decision 66.
 *
 * A failure before the REQUEST event is only counted, and logged at level info if the peer speaks
 * another protocol than MPA. A later failure is a DISCONNECTED event.
 */

enum { TOLD_OCTETS = 16 };

/* Logs a client that has connected to the wrong port, or without RDMA, with its first octets as hex
 * digits. */
static void log_stranger(struct iwarp_conn *c, int status, const char *why)
{
	char peer[FABRIC_ADDR_TEXT], host[FABRIC_ADDR_TEXT], first[2 * TOLD_OCTETS + 1] = "";

	for (size_t i = 0; i < c->frames->in_have && i < TOLD_OCTETS; i++)
		snprintf(first + 2 * i, 3, "%02x", c->frames->in[i]);
	log_peer(LOG_LEVEL_INFO, "iwarp.setup", fabric_addr_host(&c->base.peer, host),
		 "peer=%s cause=%s why=\"%s\" first=%s", fabric_addr_format(&c->base.peer, peer),
		 err_name(status), why, first);
}

/* Ends a connection that the user knows, or frees one that the user does not know. */
static void setup_fail(struct iwarp_conn *c, int status, const char *why)
{
	const char *stranger = mpa_stranger(c->frames->in, c->frames->in_have);

	c->iw->counters.setup_failures++;
	if (stranger)
		why = stranger;
	if (c->state == IWARP_AWAITING) {
		if (stranger)
			log_stranger(c, status, why);
		else
			log_debug("iwarp.setup", "cause=%s why=\"%s\"", err_name(status), why);
		iwarp_conn_free(c);
		return;
	}
	iwarp_conn_end(c, status, why);
}

/* Sends the rest of the frame. Return: 0: all of it was sent; ERR_AGAIN; or another error. */
static int push_frame(struct iwarp_conn *c)
{
	while (c->frames->out_at < c->frames->out_len) {
		ssize_t n = send(c->fd, c->frames->out + c->frames->out_at,
				 c->frames->out_len - c->frames->out_at, MSG_NOSIGNAL);

		if (n >= 0)
			c->frames->out_at += (size_t)n;
		else if (errno == EAGAIN)
			return ERR_AGAIN;
		else if (errno != EINTR)
			return sock_error(errno);
	}
	return 0;
}

/* Reads the peer's frame. Return: 0: the frame is complete; ERR_AGAIN; or another error. */
static int pull_frame(struct iwarp_conn *c, enum mpa_kind kind)
{
	while (c->frames->in_have < c->frames->in_need) {
		ssize_t n = recv(c->fd, c->frames->in + c->frames->in_have,
				 c->frames->in_need - c->frames->in_have, 0);
		size_t body;
		int rc;

		if (n == 0)
			return ERR_CLOSED;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? ERR_AGAIN : sock_error(errno);
		c->frames->in_have += (size_t)n;
		if (c->frames->in_have != MPA_HEADER_BYTES ||
		    c->frames->in_need != MPA_HEADER_BYTES)
			continue;
		rc = mpa_header_check(kind, c->frames->in, &body);
		if (rc)
			return rc;
		c->frames->in_need += body;
	}
	return 0;
}

static const char *frame_words(int err)
{
	switch (err) {
	case ERR_CLOSED:
		return "peer closed the connection during set-up: perhaps it speaks no RDMA (MPA) "
		       "there";
	case ERR_VERS:
		return "peer speaks another MPA revision";
	case ERR_TOOBIG:
		return "MPA private data too long";
	case ERR_PROTO:
	case ERR_SHORT:
		return "not an MPA set-up frame";
	default:
		return "connection failed during set-up";
	}
}

/* Initiator: the Reply has arrived. */
static void conclude(struct iwarp_conn *c)
{
	struct mpa_frame reply;
	int rc = mpa_decode(MPA_REPLY, view_of(c->frames->in, c->frames->in_have), &reply);

	if (rc) {
		setup_fail(c, rc, frame_words(rc));
		return;
	}
	c->private_data = reply.private_data;
	rc = mpa_conclude(&c->offer, &reply, &c->agreed);
	if (rc == ERR_TOOBIG) {
		c->iw->counters.setup_failures++;
		stream_refuse(c, ERR_PROTO, TERM_MPA_DEPTH);
	} else if (rc) {
		setup_fail(c, rc,
			   rc == ERR_REJECTED ? "peer rejected the connection"
					      : "peer wants markers");
	} else {
		stream_open(c);
	}
}

/* Initiator: connect() has succeeded or failed. */
static void connected(struct iwarp_conn *c)
{
	int err = sock_take_error(c->fd);

	if (err) {
		setup_fail(c, sock_error(err), strerrordesc_np(err));
		return;
	}
	sock_addresses(c->fd, &c->base);
	if (c->base.peer.len) /* otherwise the wake-up was spurious */
		c->state = IWARP_REQUESTING;
}

static void request_ready(struct iwarp_conn *c)
{
	int rc = push_frame(c);

	if (!rc)
		rc = pull_frame(c, MPA_REPLY);
	if (!rc)
		conclude(c);
	else if (rc != ERR_AGAIN)
		setup_fail(c, rc, frame_words(rc));
}

/* Sends the rejection in one call: nothing was sent before, so the socket has room for the frame.
 * Takes @c. */
static void setup_send_rejection(struct iwarp_conn *c, struct view private_data)
{
	struct mpa_frame reply;
	struct mpa_agreed agreed;
	int n;

	mpa_answer(&c->offer, &c->request, private_data, &reply, &agreed);
	reply.reject = true;
	n = mpa_encode(MPA_REPLY, &reply, c->frames->out, sizeof(c->frames->out));
	c->frames->out_len = n > 0 ? (size_t)n : 0;
	if (push_frame(c))
		iwarp_conn_free(c);
	else
		reject_begin(c);
}

static void leave_setups(struct iwarp_conn *c)
{
	list_del(&c->setup);
	preauth_queue_leave(&c->iw->preauth_queue, &c->silent);
	c->iw->base.arrived = c->iw->preauth_queue.count;
}

/* Acceptor: reads the Request. When it is complete, queues REQUEST. */
static void await_ready(struct iwarp_conn *c)
{
	int rc = pull_frame(c, MPA_REQUEST);

	if (!rc)
		rc = mpa_decode(MPA_REQUEST, view_of(c->frames->in, c->frames->in_have),
				&c->request);
	if (rc == ERR_AGAIN)
		return;
	if (rc) {
		setup_fail(c, rc, frame_words(rc));
		return;
	}
	/* RFC 5044 section 7.1.1: the peer REQUIRES markers, which are never sent here */
	if (c->request.markers) {
		c->iw->counters.setup_failures++;
		log_debug("iwarp.setup", "cause=%s why=\"peer wants markers\"",
			  err_name(ERR_PROTO));
		leave_setups(c);
		setup_send_rejection(c, view_of(NULL, 0));
		return;
	}
	sock_addresses(c->fd, &c->base);
	c->state = IWARP_OFFERED;
	leave_setups(c);
	iwarp_conn_deadline(c, 0);
	c->private_data = c->request.private_data;
	c->request_due = true;
	iwarp_conn_activate(c);
}

static void reply_ready(struct iwarp_conn *c)
{
	int rc = push_frame(c);

	if (!rc)
		stream_open(c);
	else if (rc != ERR_AGAIN)
		setup_fail(c, rc, frame_words(rc));
}

void setup_ready(struct iwarp_conn *c, unsigned events)
{
	(void)events;
	if (c->state == IWARP_CONNECTING)
		connected(c);
	if (c->state == IWARP_REQUESTING)
		request_ready(c);
	else if (c->state == IWARP_AWAITING)
		await_ready(c);
	else if (c->state == IWARP_REPLYING)
		reply_ready(c);
	else if (c->state == IWARP_REJECTED)
		reject_ready(c);
}

static nsec_t setup_look(const struct iwarp *iw)
{
	return iw->cfg.setup_timeout_ms * NSEC_PER_MS / SETUP_LOOKS;
}

void setup_begin_time(struct iwarp_conn *c)
{
	nsec_t look = setup_look(c->iw);

	c->setup_looks = 0;
	timer_arm(&c->iw->timers, &c->deadline, look ? iwarp_now() + look : NSEC_NEVER);
}

void setup_expired(struct iwarp_conn *c, nsec_t now)
{
	if (c->state == IWARP_REJECTED) {
		iwarp_conn_free(c);
		return;
	}
	if (++c->setup_looks < SETUP_LOOKS) {
		timer_arm(&c->iw->timers, &c->deadline, now + setup_look(c->iw));
		return;
	}
	setup_fail(c, ERR_TIMEOUT,
		   c->state == IWARP_CONNECTING ? "no answer to the TCP connect"
						: "no MPA frame in time");
}

static int watch(struct iwarp_conn *c)
{
	int rc = c->iw->loop->ops->add(c->iw->loop, &c->watch, c->fd, LOOP_READ | LOOP_WRITE, 1);

	c->watched = !rc;
	return rc;
}

/* Encodes the Request; it is sent when TCP is connected. */
static int write_request(struct iwarp_conn *c, const struct fabric_conn_params *p)
{
	struct mpa_frame request;
	int n;

	mpa_request(&c->offer, view_of(p->private_data, p->private_data_len), &request);
	n = mpa_encode(MPA_REQUEST, &request, c->frames->out, sizeof(c->frames->out));
	if (n < 0)
		return ERR_TOOBIG;
	c->frames->out_len = (size_t)n;
	return 0;
}

/*
 * connect() fails with EADDRNOTAVAIL in two cases. All ports toward @to are in use, which says
 * nothing about the peer. Or, without @from, there is no local address of that family (IPv6 is
 * switched off), so the peer cannot be reached from here.
 */
static int connect_error(int err, const struct fabric_addr *from, const struct fabric_addr *to,
			 const char **why)
{
	*why = strerrordesc_np(err);
	if (err == EADDRNOTAVAIL && !from && !sock_has_address_for(to))
		return ERR_REFUSED;
	if (err == EADDRNOTAVAIL)
		*why = "no source port is left toward it (net.ipv4.ip_local_port_range)";
	else if (err == EPERM || err == EACCES)
		*why = "this machine's security policy forbids it";
	return sock_error(err);
}

/*
 * Binds @fd to @from.
 *
 * IP_BIND_ADDRESS_NO_PORT: the port is chosen with the connection, so each local address can have
 * as many connections to one server as there are ports. A network routed to loopback is local, for
 * IPv6 as for IPv4. But bind() accepts such an address for IPv4 alone; for IPv6 only with
 * IPV6_FREEBIND, otherwise an interface must have it. With IPV6_FREEBIND bind() accepts any
 * address, and the server's answers would be lost: the connection would end by a time-out, and the
 * server would count as down.
 * Return: whether it succeeded; if not, errno is set.
 */
static bool bind_from(int fd, const struct fabric_addr *from)
{
	int yes = 1;

	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof(yes));
	if (!bind(fd, (const struct sockaddr *)&from->ss, from->len))
		return true;
	if (errno != EADDRNOTAVAIL || from->ss.ss_family != AF_INET6)
		return false;
	if (!sock_is_local(from)) {
		errno = EADDRNOTAVAIL;
		return false;
	}
	setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &yes, sizeof(yes));
	return !bind(fd, (const struct sockaddr *)&from->ss, from->len);
}

/* Connects @fd from @from, if given. Return: 0, or an error with @why. ERR_CONFIG: @from is no
 * address of this machine; that says nothing about the peer. */
static int connect_socket(int fd, const struct fabric_addr *from, const struct fabric_addr *to,
			  const char **why)
{
	if (from && !bind_from(fd, from)) {
		*why = errno == EADDRNOTAVAIL
			       ? "its source is no address of this machine, see ip address"
			       : strerrordesc_np(errno);
		return ERR_CONFIG;
	}
	if (connect(fd, (const struct sockaddr *)&to->ss, to->len) == 0 || errno == EINPROGRESS)
		return 0;
	return connect_error(errno, from, to, why);
}

int setup_connect(struct fabric *f, const struct fabric_addr *to,
		  const struct fabric_conn_params *params, void *owner, struct fabric_conn **conn)
{
	struct iwarp *iw = iwarp_of(f);
	int fd = socket(to->ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct iwarp_conn *c;
	const char *why = NULL;
	int rc, failed = 0;

	fd = sock_within(fd, iw->cfg.descriptors);
	if (fd < 0)
		return sock_error(errno);
	c = iwarp_conn_new(iw, fd, IWARP_CONNECTING, owner);
	if (!c)
		return ERR_NOMEM;
	sock_unpace(fd);
	c->initiator = true;
	c->resets = params->resets;
	c->base.peer = *to;
	rc = iwarp_conn_queues(c, params);
	if (!rc)
		rc = write_request(c, params);
	if (!rc)
		failed = connect_socket(fd, params->from, to, &why);
	if (failed)
		setup_fail(c, failed, why);
	else if (!rc)
		rc = watch(c);
	if (rc) {
		iwarp_conn_free(c);
		return rc;
	}
	if (c->state == IWARP_CONNECTING)
		setup_begin_time(c);
	*conn = &c->base;
	return 0;
}

int setup_accept(struct fabric_conn *fc, const struct fabric_conn_params *p, void *owner)
{
	struct iwarp_conn *c = conn_of(fc);
	struct mpa_frame reply;
	int rc;

	if (c->state != IWARP_OFFERED)
		return ERR_CLOSED;
	c->base.owner = owner;
	rc = iwarp_conn_queues(c, p);
	if (rc)
		return rc;
	mpa_answer(&c->offer, &c->request, view_of(p->private_data, p->private_data_len), &reply,
		   &c->agreed);
	rc = mpa_encode(MPA_REPLY, &reply, c->frames->out, sizeof(c->frames->out));
	if (rc < 0)
		return ERR_TOOBIG;
	c->frames->out_len = (size_t)rc;
	c->private_data = view_of(NULL, 0);
	c->state = IWARP_REPLYING;
	setup_begin_time(c);
	reply_ready(c);
	return 0;
}

void setup_reject(struct fabric_conn *fc, struct view private_data)
{
	struct iwarp_conn *c = conn_of(fc);

	if (c->state == IWARP_OFFERED)
		setup_send_rejection(c, private_data);
	else
		iwarp_conn_free(c);
}
