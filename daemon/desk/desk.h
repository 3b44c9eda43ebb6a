/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_DESK_DESK_H
#define DAEMON_DESK_DESK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/list.h"
#include "base/loop.h"

/**
 * desk - where programs of the operator's come with requests: a listening socket of the main
 * thread, and those who came
 *
 * Everything is bounded, whoever they are: how many there are, how much memory each has for what it
 * asks and is told, how long a request may take to come, and its answer to be taken. When all
 * places are taken whoever has asked nothing for longest makes room for the next; those who are
 * being answered, or kept, keep theirs, and the next waits in the socket's queue.
 *
 * One thread only. Nothing is logged here.
 */
struct desk;

/** struct visitor - one who came; the first member of its user's structure. */
struct visitor {
	struct list link; /* all private */
	struct desk *desk;
	struct loop_watch watch;
	unsigned watched; /* LOOP_READ, LOOP_WRITE */
	int fd;
	nsec_t deadline;
	nsec_t patience;  /* see visitor_keep(); 0: as any other */
	bool is_answered; /* what is due is all there, once .out is empty */
	bool is_asking;	  /* its request is at its user's */
	bool is_last;	  /* nothing it says after that is a request */
	bool is_held;	  /* see visitor_hold() */
	bool is_gone;	  /* its connection is over: it is only to be released */
	char *in;	  /* as many octets as a request may have */
	size_t in_len;
	char *out;
	size_t out_at, out_len, out_cap;
};

struct desk_config {
	unsigned most;	      /* visitors at once */
	size_t visitor_bytes; /* of the user's structure, zero at first */
	size_t request_bytes; /* longest request */
	size_t answer_bytes;  /* most octets said and not taken yet */
	nsec_t ask_time;      /* a request has to be there by then, since the last answer */
	nsec_t answer_time;   /* its answer has to be taken by then */
	bool once;	      /* one request each */
	nsec_t (*now)(void);
	/** How long the first request in @in is; 0: not all of it is there. */
	size_t (*whole)(const char *in, size_t len);
	/** A request of @len octets, the visitor's to change. Now or later visitor_say() and, at last,
	 * visitor_done(). */
	void (*asked)(struct visitor *v, char *request, size_t len);
	/** All that was said was taken, visitor_done() was not called, and nothing is held: more may
	 * be said. NULL: never of use. */
	void (*more)(struct visitor *v);
	/** What came is longer than a request may be: the last word to it, for it leaves. NULL: none. */
	void (*too_long)(struct visitor *v);
	/** It was kept, and has asked nothing in its time: the last word to it, for it leaves. NULL: none. */
	void (*late)(struct visitor *v);
	/** Its memory is about to go. NULL: never of use. */
	void (*forget)(struct visitor *v);
	void *user;
};

/** desk_open - take in visitors at @fd, which listens, does not block, and is taken, also on failure.
 * @cfg is copied. Return: owned, or NULL. */
struct desk *desk_open(struct loop *loop, int fd, const struct desk_config *cfg);

/** desk_close - nobody comes in any more; those who are there stay. Idempotent. */
void desk_close(struct desk *d);

/** desk_tick - ends what took too long, frees what is over. Return: when it is due again. */
nsec_t desk_tick(struct desk *d);

/** desk_user - of struct desk_config. */
void *desk_user(const struct desk *d);

/** desk_visitors - how many there are. */
unsigned desk_visitors(const struct desk *d);

/** desk_free - takes @d, which may be NULL; also visitors that are held. */
void desk_free(struct desk *d);

/** visitor_say - @len octets more of the answer. What is too much, or finds no memory, ends the
 * connection. */
void visitor_say(struct visitor *v, const char *text, size_t len);

/** visitor_pass - @text at once, and with it @n descriptors, borrowed; to one whose every answer was taken.
 * Return: 0; or ERR_IO: its connection is over. */
int visitor_pass(struct visitor *v, const char *text, size_t len, const int *fds,
		 unsigned n) WARN_UNUSED;
enum { VISITOR_PASSES = 64 /* at most in one go */ };

/** desk_fd - its listening socket, borrowed; -1: closed. */
int desk_fd(const struct desk *d);

/** visitor_done - that was the answer. */
void visitor_done(struct visitor *v);

/** visitor_deliver - what was said so far is taken at once, or the connection is over: a peer that has given up hears
 * nothing. Return: whether it was taken. */
bool visitor_deliver(struct visitor *v) WARN_UNUSED;

/** visitor_keep - it keeps its place, whoever wants one, and each request of its has @time to come; if none comes,
 * it leaves, not before .late() was called. */
void visitor_keep(struct visitor *v, nsec_t time);

/** visitor_is_gone - nobody hears what is said to @v any more. */
static inline bool visitor_is_gone(const struct visitor *v)
{
	return v->is_gone;
}

/** visitor_hold - somebody else knows of @v now, who will say visitor_release(). Until then it stays
 * where it is, though its connection may end. */
void visitor_hold(struct visitor *v);
void visitor_release(struct visitor *v);

#endif
