/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_FABRIC_CONTRACT_H
#define TESTS_FABRIC_CONTRACT_H

#include "tests/cmocka_all.h"

#include "fabric/fabric.h"
#include "tests/rng.h"

/**
 * contract - one suite for every provider of fabric/fabric.h
 *
 * A test holds two instances and up to CONTRACT_PAIRS connections between them.
 * Everything posted through here is followed: it completes exactly once, in
 * order, with the right kind, nothing after DISCONNECTED, and at DISCONNECTED
 * nothing is left. Each breach of that fails the test wherever it shows.
 *
 * Where Receives are shared they are a pool's (one an instance), which keeps the queue filled,
 * and a test says messages instead of sending them: each is checked when it is heard, against
 * the order and the octets of what its peer said.
 */
enum {
	CONTRACT_PAIRS = 2,
	CONTRACT_OPS = 8192,
	CONTRACT_MEMORY =
		20 * 1024 * 1024, /* registered, of each instance: devices pin all of it */
	CONTRACT_DEPTH = 64,	  /* of queues in default_params */
	CONTRACT_EXPOSURES = 16,
	POOL_RECVS = 1024,
	POOL_LEN = 1024,	    /* of each */
	POOL_AT = 16 * 1024 * 1024, /* where they lie in the memory of an instance */
	SAY_AT = 17 * 1024 * 1024,  /* and where what is said lies */
	SAY_MEMORY = 2048,	    /* lengths remembered */
};

struct contract;

/** struct pool - the shared Receives of an instance. */
struct pool {
	struct fabric *f;
	uint8_t *mem;
	bool is_posted[POOL_RECVS];
	uint32_t posted;
	uint32_t allow;	    /* how many more may be posted; UINT32_MAX: all that are wanted */
	uint32_t came_back; /* without a message */
};

/** struct contract_provider - what differs between providers. */
struct contract_provider {
	const char *name;
	/* Fills .fabric, .addr and listens there; .impl is the provider's. */
	void (*start)(struct contract *t);
	void (*stop)(struct contract *t); /* after all connections are destroyed */
	/* Lets time pass. Return: 0 when nothing more is going to happen (mem) or nothing
	 * happened for a while (sockets). */
	int (*step)(struct contract *t);
	unsigned patience; /* how many times in a row step() must return 0 to give up */
	bool exact_pdata;  /* private data come with their length, not with zeros behind */
	bool tells_both;   /* of a breach, not only the end that found it */
	bool shares;	   /* Receives of all connections, when started with contract.shares */
	bool sends_early;  /* a Send completes when it left, wherever it waits then */
	bool access_alone; /* what is not said there is said of another one, which is the same */
	bool hands_back;   /* shared Receives that quiet times need no more come back */
};

/** struct op - one posted operation and what became of it. */
struct op {
	enum fabric_ev_type type;
	bool done;
	int status;
	uint32_t len, invalidated, withdrawn;
};

/** struct side - one end of a connection. */
struct side {
	struct contract *t;
	struct fabric *f;
	uint8_t *mem; /* CONTRACT_MEMORY octets */
	struct fabric_conn *conn;
	bool requested, connected, disconnected;
	int status;	 /* of DISCONNECTED */
	uint8_t pd[256]; /* private data received */
	size_t pd_len;
	struct op ops[CONTRACT_OPS];
	int nops, ndone;
	int last[FABRIC_EV_WITHDRAWN + 1]; /* newest op of each type that completed */
	uint32_t written;		   /* through the exposure withdrawn last */
	/* do_stream(): */
	uint32_t streamed; /* no PLACED event may come but of this handle */
	uint32_t stream_len;
	size_t shadow; /* what is told goes there, each octet to its place */
	bool keeps;    /* what is told is not given back, but by give_back() */
	uint32_t held[FABRIC_STREAM_PIECES];
	const uint8_t *held_at[FABRIC_STREAM_PIECES];
	unsigned nheld;
	uint32_t placed;    /* octets so far */
	unsigned nplaced;   /* events */
	int stop_at;	    /* number of an operation, and one: when it completes ... */
	uint32_t placed_at; /* ... this is .placed */
	bool has_own;	    /* Receives, though others share theirs */
	/* Where Receives are shared: */
	struct side *peer;
	int pair;
	uint32_t said, heard; /* messages */
	uint32_t said_len[SAY_MEMORY];
	int said_op[CONTRACT_DEPTH]; /* the Sends, by where their octets lie */
	uint32_t awaited;
	bool heard_all;	      /* that are awaited */
	uint32_t invalidated; /* by the message heard last */
};

struct pair {
	struct side a, b; /* initiator, acceptor */
};

struct contract {
	const struct contract_provider *provider;
	void *impl;
	struct fabric *fabric[2];
	struct fabric_listener *listener;
	struct fabric_addr addr;
	uint8_t *mem[2];
	struct pair *pair[CONTRACT_PAIRS];
	int next_request; /* pair that gets the next request */
	bool shares;	  /* for the provider's start(): fabric_share_receives() will be called */
	struct pool *pool[2];
	bool deaf[2]; /* do not poll this instance */
	uint64_t heap_live;
};

/** contract_providers - supplied by each program, ends with NULL; main() in contract.c runs every
 * case with each of them. */
extern const struct contract_provider *const contract_providers[];

/** contract_cases - one group a file. */
int contract_run_setup(void);
int contract_run_message(void);
int contract_run_pieces(void);
int contract_run_rdma(void);
int contract_run_written(void);
int contract_run_placed(void);
int contract_run_access(void);
int contract_run_end(void);
int contract_run_soak(void);
int contract_run_shared(void);
int contract_run_shared_end(void);
int contract_run_shared_soak(void);

/** contract_start, contract_stop - cmocka set-up and tear-down: *state is a struct contract. */
int contract_start(void **state);
int contract_start_shared(void **state);
int contract_stop(void **state);

#define contract_test(f) cmocka_unit_test_setup_teardown(f, contract_start, contract_stop)
#define contract_test_shared(f)                                                                    \
	cmocka_unit_test_setup_teardown(f, contract_start_shared, contract_stop)

/** contract_provider_now - whose turn it is. */
const struct contract_provider *contract_provider_now(void);

/** start_pair - destroy its connection and forget all about it. */
void start_pair(struct contract *t, int i);

/** default_params - CONTRACT_DEPTH everywhere, no private data. */
struct fabric_conn_params default_params(void);

/** pump - flush, poll and record until nothing is queued. */
void pump(struct contract *t);

/** settle - let everything happen that is going to. */
void settle(struct contract *t);

/** until - let things happen until *@flag; fails the test when it never comes. */
void until(struct contract *t, const bool *flag);

/** begin - connect pair @i until the request is at the acceptor. */
struct pair *begin(struct contract *t, int i, const struct fabric_conn_params *params);

/** establish - begin() and accept, until both ends are connected. */
struct pair *establish(struct contract *t, int i);

/** establish_prepared - begin(), and accept with a Receive of @len octets at 0 posted before; until
 * the initiator is connected. @recv: number of the Receive. */
struct pair *establish_prepared(struct contract *t, int i, uint32_t len, int *recv);

/** greet - the initiator's first message, before which the acceptor may not be able to send. */
void greet(struct pair *p);

/** both_end - let things happen until both sides saw DISCONNECTED. */
void both_end(struct contract *t, struct pair *p);

/** drop - fabric_destroy() and forget. */
void drop(struct side *s);

/*
 * Posting. @off is an offset in the side's memory. Return: number of the op, or the error.
 */
int do_recv(struct side *s, size_t off, uint32_t len);
int do_send(struct side *s, size_t off, uint32_t len);
int do_send_inv(struct side *s, size_t off, uint32_t len, uint32_t handle);
int do_send_sge(struct side *s, const struct fabric_sge *sge, unsigned n, uint32_t handle);
int do_write(struct side *s, size_t off, uint32_t len, const struct segment *to);
int do_write_sge(struct side *s, const struct fabric_sge *sge, unsigned n,
		 const struct segment *to);
int do_read(struct side *s, size_t off, const struct segment *from);
int do_withdraw(struct side *s, uint32_t handle); /* number, or -1: fenced now */
struct segment do_expose(struct side *s, size_t off, uint32_t len, unsigned access);

/** do_stream - a stream of @len octets with @window at @off; what comes goes to @shadow, and is given back. */
struct segment do_stream(struct side *s, size_t off, uint32_t window, uint32_t len, size_t shadow);

/** give_back - the oldest piece that is held. */
void give_back(struct side *s);

/*
 * Shared Receives.
 */

/** pool_new - @f shares Receives from now on. */
struct pool *pool_new(struct fabric *f, uint8_t *mem);

/** pool_free - and no more, and all their memory is ours. */
void pool_free(struct pool *pool);

/** pool_refill - post what is wanted, as far as allowed. */
void pool_refill(struct pool *pool);

/** pool_record - a message, or a Receive that comes back. */
void pool_record(struct pool *pool, const struct fabric_event *ev);

/** say - the next message of @s, at most POOL_LEN octets. Return: number of the Send, or the error. */
int say(struct side *s, uint32_t len);
int say_inv(struct side *s, uint32_t len, uint32_t handle);

/** talk - @n messages of @s, which are heard. */
void talk(struct side *s, uint32_t n);

/** run_dry - @p talks until no Receive is left at the acceptors, and none follows until the pool,
 * returned, allows it. */
struct pool *run_dry(struct contract *t, struct pair *p);

/** hear - let things happen until @s heard @n messages in all. */
void hear(struct side *s, uint32_t n);

/** done - let things happen until op @n is done; its record. */
const struct op *done(struct side *s, int n);

/** succeed - done(), and with status 0. */
const struct op *succeed(struct side *s, int n);

/** fence - withdraw, and wait until it is in force. Return: what was written there. */
uint32_t fence(struct side *s, uint32_t handle);

/** barrier - a message from @from to @to: what was posted before it has happened when it is there. */
void barrier(struct contract *t, struct side *from, struct side *to);

/** fill, check - a pattern drawn from @key over memory of a side. */
void fill(struct side *s, size_t off, size_t len, uint64_t key);
void check(const struct side *s, size_t off, size_t len, uint64_t key);

/** check_byte - memory is all @byte. */
void check_byte(const struct side *s, size_t off, size_t len, uint8_t byte);

/** part - a segment within @seg. */
struct segment part(struct segment seg, uint64_t skip, uint32_t len);

#endif
