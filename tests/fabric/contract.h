/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_FABRIC_CONTRACT_H
#define TESTS_FABRIC_CONTRACT_H

#include "tests/cmocka_all.h"

#include "fabric/fabric.h"
#include "tests/rng.h"

/**
 * contract - one suite for every provider of fabric/fabric.h
 *
 * A test has two instances and up to CONTRACT_PAIRS connections between them. Every operation
 * posted through these functions is followed: it completes exactly once, in order, with the right
 * kind, nothing comes after DISCONNECTED, and at DISCONNECTED nothing is left. A breach of that
 * fails the test.
 *
 * With shared Receives each instance has a pool, which keeps the queue filled. A test then calls
 * say() instead of do_send(): each message is checked on arrival against the order and the octets
 * of what its peer said.
 */
enum {
	CONTRACT_PAIRS = 2,
	CONTRACT_OPS = 8192,
	CONTRACT_MEMORY =
		20 * 1024 * 1024, /* octets; registered, of each instance: devices pin all of it */
	CONTRACT_DEPTH = 64,	  /* depth of queues in default_params */
	CONTRACT_EXPOSURES = 16,
	POOL_RECVS = 1024,
	POOL_LEN = 1024,	    /* octets of each */
	POOL_AT = 16 * 1024 * 1024, /* offset of shared Receives in the memory of an instance */
	SAY_AT = 17 * 1024 * 1024,  /* offset of said messages */
	SAY_MEMORY = 2048,	    /* how many lengths are remembered */
};

struct contract;

/** struct pool - the shared Receives of an instance. */
struct pool {
	struct fabric *f;
	uint8_t *mem;
	bool is_posted[POOL_RECVS];
	uint32_t posted;
	uint32_t allow;	    /* how many more Receives may be posted; UINT32_MAX: no limit */
	uint32_t came_back; /* Receives returned without a message */
};

/** struct contract_provider - differences between providers. */
struct contract_provider {
	const char *name;
	/* Set .fabric and .addr, and listen there; .impl belongs to the provider. */
	void (*start)(struct contract *t);
	void (*stop)(struct contract *t); /* after all connections are destroyed */
	/* Let time pass. Return: 0 if nothing more is going to happen (mem), or if nothing happened
	 * for a while (sockets). */
	int (*step)(struct contract *t);
	unsigned timeout; /* number of steps in a row that must return 0 before a test gives up */
	bool exact_pdata; /* private data arrive with their exact length, without padding */
	bool tells_both;  /* a breach is reported at both ends, not only where it was found */
	bool shares;	  /* contract.shares makes connections share Receives */
	bool sends_early; /* a Send completes when it has left, even if it then waits elsewhere */
	/* only the group "access" is run: another provider, otherwise the same, runs all groups */
	bool access_alone;
	/* shared Receives that are no longer needed come back after a quiet period */
	bool hands_back;
};

/** struct op - one posted operation and its result. */
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
	int status;	 /* status of DISCONNECTED */
	uint8_t pd[256]; /* private data received */
	size_t pd_len;
	struct op ops[CONTRACT_OPS];
	int nops, ndone;
	int last[FABRIC_EV_WITHDRAWN + 1]; /* number of the newest op of each type that completed */
	uint32_t written;		   /* octets written through the exposure withdrawn last */
	/* For do_stream(): */
	/* handle of the stream; a PLACED event for another handle fails the test */
	uint32_t streamed;
	uint32_t stream_len;
	size_t shadow; /* offset to which placed octets are copied, each to its place */
	bool keeps;    /* pieces are only returned by give_back() */
	uint32_t held[FABRIC_STREAM_PIECES];
	const uint8_t *held_at[FABRIC_STREAM_PIECES];
	unsigned nheld;
	uint32_t placed;    /* octets placed so far */
	unsigned nplaced;   /* number of events */
	int stop_at;	    /* number of an operation, plus one: when it completes ... */
	uint32_t placed_at; /* ... .placed is stored here */
	bool has_own;	    /* this side has its own Receives while others share theirs */
	/* With shared Receives: */
	struct side *peer;
	int pair;
	uint32_t said, heard; /* numbers of messages */
	uint32_t said_len[SAY_MEMORY];
	/* numbers of the Sends, indexed by the place of their octets */
	int said_op[CONTRACT_DEPTH];
	uint32_t awaited;
	bool heard_all;	      /* all awaited messages have arrived */
	uint32_t invalidated; /* handle that the last message invalidated */
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
	int next_request; /* index of the pair that gets the next connection request */
	bool shares; /* for the provider's start(): the test will call fabric_share_receives() */
	struct pool *pool[2];
	bool deaf[2]; /* do not poll this instance */
	uint64_t heap_live;
};

/** contract_providers - supplied by each program, ends with NULL. main() in contract.c runs every
 * case with each provider. */
extern const struct contract_provider *const contract_providers[];

/** contract_cases - one group for each file. */
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

/** contract_provider_now - the provider under test. */
const struct contract_provider *contract_provider_now(void);

/** start_pair - destroy the connection of pair @i and clear its record. */
void start_pair(struct contract *t, int i);

/** default_params - CONTRACT_DEPTH everywhere, no private data. */
struct fabric_conn_params default_params(void);

/** pump - flush, poll and record until no event is queued. */
void pump(struct contract *t);

/** settle - step until nothing more happens. */
void settle(struct contract *t);

/** until - step until *@flag is set; fails the test if that does not happen. */
void until(struct contract *t, const bool *flag);

/** begin - connect pair @i until the request is at the acceptor. */
struct pair *begin(struct contract *t, int i, const struct fabric_conn_params *params);

/** establish - begin() and accept, until both ends are connected. */
struct pair *establish(struct contract *t, int i);

/** establish_prepared - begin(), post a Receive of @len octets at offset 0, accept, and step until
 * the initiator is connected. *@recv: number of the Receive. */
struct pair *establish_prepared(struct contract *t, int i, uint32_t len, int *recv);

/** greet - send the initiator's first message, before which the acceptor may not be able to
 * send. */
void greet(struct pair *p);

/** both_end - step until both sides got DISCONNECTED. */
void both_end(struct contract *t, struct pair *p);

/** drop - call fabric_destroy() and clear the record. */
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
/* Return: number of the op, or -1: fenced at once */
int do_withdraw(struct side *s, uint32_t handle);
struct segment do_expose(struct side *s, size_t off, uint32_t len, unsigned access);

/** do_stream - expose a stream of @len octets with @window at @off. Placed octets are copied to
 * @shadow, and then given back. */
struct segment do_stream(struct side *s, size_t off, uint32_t window, uint32_t len, size_t shadow);

/** give_back - give back the oldest piece that is held. */
void give_back(struct side *s);

/*
 * Shared Receives.
 */

/** pool_new - make @f share Receives. */
struct pool *pool_new(struct fabric *f, uint8_t *mem);

/** pool_free - stop sharing; all memory of the pool has come back. */
void pool_free(struct pool *pool);

/** pool_refill - post as many Receives as are wanted and allowed. */
void pool_refill(struct pool *pool);

/** pool_record - record a message, or a Receive that came back. */
void pool_record(struct pool *pool, const struct fabric_event *ev);

/** say - send the next message of @s, at most POOL_LEN octets. Return: number of the Send, or the
 * error. */
int say(struct side *s, uint32_t len);
int say_inv(struct side *s, uint32_t len, uint32_t handle);

/** talk - say @n messages, and wait until they arrive. */
void talk(struct side *s, uint32_t n);

/** run_dry - let @p talk until the acceptors have no Receive left. Return: the pool; it posts no
 * Receive until the test allows it. */
struct pool *run_dry(struct contract *t, struct pair *p);

/** hear - step until @s has received @n messages in all. */
void hear(struct side *s, uint32_t n);

/** done - step until op @n has completed. Return: its record. */
const struct op *done(struct side *s, int n);

/** succeed - done(), and check for status 0. */
const struct op *succeed(struct side *s, int n);

/** fence - withdraw, and wait until it is in force. Return: octets written there. */
uint32_t fence(struct side *s, uint32_t handle);

/** barrier - send a message from @from to @to: when it has arrived, all that was posted before has
 * happened. */
void barrier(struct contract *t, struct side *from, struct side *to);

/** fill, check - a pattern drawn from @key over memory of a side. */
void fill(struct side *s, size_t off, size_t len, uint64_t key);
void check(const struct side *s, size_t off, size_t len, uint64_t key);

/** check_byte - check that all octets are @byte. */
void check_byte(const struct side *s, size_t off, size_t len, uint8_t byte);

/** part - a segment within @seg. */
struct segment part(struct segment seg, uint64_t skip, uint32_t len);

#endif
