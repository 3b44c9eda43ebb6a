/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_OPSOCK_OPSOCK_H
#define DAEMON_OPSOCK_OPSOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/list.h"
#include "base/loop.h"

/**
 * opsock - a bounded server for operators' programs: a listening socket of the main thread and its
 * connections
 *
 * State:  a connection ("visitor") has one place of .most, memory for a request and an answer, and
 *         a deadline.
 * Danger: a program that connects without end, sends half a request, or does not read its answers,
 *         would use up descriptors and memory of the gateway, and lock all other operators out.
 * Rule:   numbers, octets and times are limited (struct opsock_config). If all places are taken, a
 *         new connection displaces a connection of the client address that has the most, the new
 *         one counted. The first of these that exists is displaced:
 *         - a connection that has its whole answer;
 *         - the connection whose request has been awaited longest;
 *         - the connection that has read nothing of its answer for the longest time.
 *         Connections that are kept (visitor_keep()), or held without .cancel (visitor_hold()),
 *         stay. If all are of these kinds, the new connection waits in the kernel's queue.
 * Pinned: tests/operators/test_opsock.c:a_host_displaces_its_own,
 *         a_new_visitor_displaces_the_longest_silent, the_slowest_reader_is_displaced,
 *         the_next_waits, a_slow_visitor_leaves, a_visitor_that_does_not_read_leaves,
 *         a_kept_visitor_keeps_its_place
 *
 * One thread only. Nothing is logged here.
 */
struct opsock;

/* Length of a client address (fabric_addr_key()), which the names of this file call a host. */
enum { OPSOCK_HOST = 20 };

/** struct visitor - one connection; first member of the user's structure. */
struct visitor {
	struct list link; /* all private */
	struct opsock *opsock;
	struct loop_watch watch;
	unsigned watched; /* events in use: LOOP_READ, LOOP_WRITE */
	int fd;
	uint8_t host[OPSOCK_HOST];
	nsec_t deadline;
	nsec_t timeout;	  /* time limit set by visitor_keep(); 0: not kept */
	bool is_answered; /* the answer is complete once .out has been sent */
	bool is_asking;	  /* the user has its request, and has not answered yet */
	bool is_last;	  /* octets that it sends after this request are no request */
	bool is_held;	  /* visitor_hold() was called */
	bool is_gone;	  /* its connection is over; only its memory remains */
	char *in;	  /* room for one request */
	size_t in_len;
	char *out;
	size_t out_at, out_len, out_cap;
};

/* Time limits. For a request to arrive, counted from the connection or from the last answer. For
 * the peer to read its answer. */
#define OPSOCK_ASK_TIME (20 * NSEC_PER_SEC)
#define OPSOCK_ANSWER_TIME (60 * NSEC_PER_SEC)

struct opsock_config {
	unsigned most;	      /* limit of connections */
	size_t visitor_bytes; /* size of the user's structure, which is zero at first */
	size_t request_bytes; /* octets of the longest request */
	size_t answer_bytes;  /* limit of octets of answers that were not sent yet */
	bool once;	      /* one request for each connection */
	nsec_t (*now)(void);
	/** Set @host to octets that are equal for peers of the same client address. NULL: all
	 * connections are of one. */
	void (*host_of)(const struct sockaddr_storage *peer, uint8_t *host);
	/** Length of the first request in @in; 0: incomplete. */
	size_t (*whole)(const char *in, size_t len);
	/** Called with a request of @len octets, which the user may change. The user calls
	 * visitor_say(), now or later, and at the end visitor_done(). */
	void (*asked)(struct visitor *v, char *request, size_t len);
	/** Called when all of .out was sent, visitor_done() was not called, and the visitor is not
	 * held: the user may say more. NULL: not used. */
	void (*more)(struct visitor *v);
	/** Called when a request is longer than .request_bytes, for a last message before the
	 * connection ends. NULL: no message. */
	void (*too_long)(struct visitor *v);
	/** Called when a kept visitor has sent no request in its time, for a last message before
	 * the connection ends. NULL: no message. */
	void (*late)(struct visitor *v);
	/** Called when the connection of a held visitor ends: no other code has a pointer to the
	 * visitor any more, and visitor_release() need not be called. NULL: the visitor stays until
	 * visitor_release(). */
	void (*cancel)(struct visitor *v);
	/** Called before the memory of a visitor is freed. NULL: not used. */
	void (*forget)(struct visitor *v);
	void *user;
};

/** opsock_open - accept connections on @fd, which listens, is non-blocking, and is taken, also on
 * failure. @cfg is copied. Return: owned, or NULL. */
struct opsock *opsock_open(struct loop *loop, int fd, const struct opsock_config *cfg);

/** opsock_close - stop accepting; connections stay. Idempotent. */
void opsock_close(struct opsock *d);

/** opsock_tick - end connections past their deadline, and free ended ones. Return: when to call
 * again. */
nsec_t opsock_tick(struct opsock *d);

/** opsock_user - .user of struct opsock_config. */
void *opsock_user(const struct opsock *d);

/** opsock_visitors - number of connections. */
unsigned opsock_visitors(const struct opsock *d);

/** opsock_free - takes @d, which may be NULL; frees all connections, held ones too. */
void opsock_free(struct opsock *d);

/** visitor_say - append @len octets to the answer. If the limit is passed, or memory is short, the
 * connection ends. */
void visitor_say(struct visitor *v, const char *text, size_t len);

/** visitor_pass - send @text at once with @n descriptors, which are borrowed. All earlier answers
 * must have been sent. Return: 0; or ERR_IO: the connection is over. */
int visitor_pass(struct visitor *v, const char *text, size_t len, const int *fds,
		 unsigned n) WARN_UNUSED;
enum { VISITOR_PASSES = 64 /* descriptors in one call */ };

/** opsock_fd - its listening socket, borrowed; -1: closed. */
int opsock_fd(const struct opsock *d);

/** visitor_done - the answer is complete. */
void visitor_done(struct visitor *v);

/** visitor_deliver - send all of the answer so far at once, or end the connection. So a peer that
 * has given up cannot read it later. Return: whether it was sent. */
bool visitor_deliver(struct visitor *v) WARN_UNUSED;

/** visitor_keep - a new connection no longer displaces @v, and each of its requests may take @time
 * to arrive. If none arrives, .late() is called and the connection ends. */
void visitor_keep(struct visitor *v, nsec_t time);

/** visitor_is_gone - the connection of @v is over. */
static inline bool visitor_is_gone(const struct visitor *v)
{
	return v->is_gone;
}

/** visitor_hold - keep the memory of @v until visitor_release() or .cancel, even if its connection
 * ends: other code has a pointer to it. */
void visitor_hold(struct visitor *v);
void visitor_release(struct visitor *v);

#endif
