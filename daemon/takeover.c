/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/takeover.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/control/protocol.h"
#include "daemon/opsock/opsock.h"

enum { TIMEOUT_S = 20, ANSWER = 4096 };

static int complain(const char *why)
{
	log_error("takeover.failed", "why=\"%s\"", why);
	return ERR_IO;
}

/* A failure to send shows as an error when the answer is read. */
static void ask(const struct takeover *t, const char *what)
{
	(void)!send(t->fd, what, strlen(what), MSG_NOSIGNAL);
}

/* Log the other gateway's reason, with its quotes replaced. */
static int refuse(char *answer)
{
	char why[256];

	for (char *c = answer; *c; c++)
		if (*c == '"')
			*c = '\'';
	snprintf(why, sizeof(why), "the gateway that serves goes on: %.200s", answer);
	return complain(why);
}

/* Add the descriptors of a message. The kernel drops descriptors beyond the room in the buffer. */
static int take_fds(struct msghdr *msg, bool is_lent, struct inherit *in)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		int fds[VISITOR_PASSES];
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(fds, CMSG_DATA(c), bytes);
		if (inherit_add(in, fds, (unsigned)(bytes / sizeof(int)), is_lent))
			return ERR_NOMEM;
	}
	return msg->msg_flags & MSG_CTRUNC ? complain("descriptors are short") : 0;
}

/* Read once, and append to @text, which has room for @room octets and a NUL. Return: octets read;
 * ERR_CLOSED, ERR_TIMEOUT; or another error (logged). */
static int hear(const struct takeover *t, char *text, size_t room, struct inherit *in)
{
	union {
		struct cmsghdr head;
		char octets[CMSG_SPACE(VISITOR_PASSES * sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = text, .iov_len = room};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.octets,
			     .msg_controllen = sizeof(control.octets)};
	ssize_t n;
	int err;

	do
		n = recvmsg(t->fd, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return ERR_CLOSED;
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return ERR_TIMEOUT;
	if (n < 0)
		return complain(strerror(errno));
	/* Descriptors end what one call reads. The call may begin with lines that came without
	 * descriptors; the line of the descriptors is the last. */
	text[n] = '\0';
	err = take_fds(&msg, strstr(text, "\"" CONTROL_LENT "\"") != NULL, in);
	return err ? err : (int)n;
}

/* Read until the line that ends an answer. Return: 0, or as hear(). */
static int hear_all(const struct takeover *t, struct inherit *in)
{
	char text[ANSWER + 1];
	size_t len = 0;

	for (;;) {
		int n = len < ANSWER ? hear(t, text + len, ANSWER - len, in)
				     : complain("its answer is too long");

		if (n < 0)
			return n;
		len += (size_t)n;
		text[len] = '\0';
		if (strstr(text, "{\"error\":")) {
			text[strcspn(text, "\n")] = '\0';
			return refuse(text);
		}
		if (strstr(text, "{\"done\":") && text[len - 1] == '\n')
			return 0;
	}
}

/*
 * State:  the socket's file may be in a folder where other users can place files.
 * Danger: sockets passed by another user's process would be served, and decide where clients' data
 *         go.
 * Rule:   the process that listens there must run as root, or as the user of this process.
 * Pinned: tests/planted/run:case_takeover
 */
static int check_listener(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	char why[128];

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return complain(strerror(errno));
	if (peer.uid == 0 || peer.uid == geteuid())
		return 0;
	snprintf(why, sizeof(why),
		 "user %u listens at the control socket: not the user of this gateway", peer.uid);
	return complain(why);
}

/* Return: 0; 1: no gateway is there; or ERR_IO. */
static int reach(struct takeover *t, const char *path)
{
	const struct timeval timeout = {.tv_sec = TIMEOUT_S};
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int err;

	if (!*path)
		return complain(
			"the configuration has no control, so the other gateway cannot be reached");
	snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	t->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (t->fd < 0)
		return complain(strerror(errno));
	(void)setsockopt(t->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	(void)setsockopt(t->fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(t->fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
		return check_listener(t->fd);
	err = errno;
	takeover_give_up(t);
	return err == ENOENT || err == ECONNREFUSED ? 1 : complain(strerror(err));
}

int takeover_begin(struct takeover *t, const char *path, struct inherit *in)
{
	int err;

	t->fd = -1;
	err = reach(t, path);
	if (err == 1) {
		log_info("takeover", "why=\"no gateway serves: an ordinary start\"");
		return 0;
	}
	if (!err) {
		ask(t, "{\"do\":\"hand_over\"}\n");
		err = hear_all(t, in);
	}
	if (err == ERR_CLOSED || err == ERR_TIMEOUT)
		err = complain(err == ERR_CLOSED ? "it hung up" : "it does not answer");
	if (err)
		takeover_give_up(t);
	else
		log_info("takeover", "sockets=%u", in->n);
	return err;
}

int takeover_end(struct takeover *t)
{
	struct inherit none = {.n = 0};
	int err;

	if (t->fd < 0)
		return 0;
	ask(t, "{\"do\":\"yield\"}\n");
	err = hear_all(t, &none);
	if (err == ERR_TIMEOUT) {
		/* After this the other gateway can no longer send its answer, and then it does not
		 * yield. */
		shutdown(t->fd, SHUT_RDWR);
		err = hear_all(t, &none);
		if (err == ERR_CLOSED)
			err = complain("it does not answer");
	}
	inherit_end(&none);
	if (err != ERR_CLOSED)
		return err;
	/* A gateway that continues has sent a refusal before the end of the connection. */
	log_info("takeover", "why=\"the other gateway has ended\"");
	return 0;
}

void takeover_give_up(struct takeover *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}
