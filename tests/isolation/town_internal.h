/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_TOWN_INTERNAL_H
#define TESTS_ISOLATION_TOWN_INTERNAL_H

#include "tests/cmocka_all.h"
#include "tests/isolation/town.h"

/** Shared by town.c and town_build.c only. */

/* Fail the test, and print the seed, with which the run repeats. */
#define DEFECT(t, ...)                                                                             \
	do {                                                                                       \
		print_error("defect: %s SEED=%llu ops=%llu now=%llu.%03llus: ", (t)->on->name,     \
			    (unsigned long long)(t)->seed, (unsigned long long)(t)->ops,           \
			    (unsigned long long)(town_clock(t) / NSEC_PER_SEC),                    \
			    (unsigned long long)(town_clock(t) / NSEC_PER_MS % 1000));             \
		print_error(__VA_ARGS__);                                                          \
		print_error("\n");                                                                 \
		fail();                                                                            \
	} while (0)

/** town_draw - true with a chance of one in @n. */
static inline bool town_draw(struct town *t, uint32_t n)
{
	return rng_below(&t->rng, n) == 0;
}

/** town_free_mark - a mark that no session has. */
unsigned town_free_mark(const struct town *t);

/** town_moved - the taint oracle: struct net_watcher's .moved; @arg is the town. */
void town_moved(void *arg, struct fabric_conn *to, enum fabric_ev_type kind, const uint8_t *octets,
		uint32_t len, bool last);

/** town_counted - the taint oracle for octets that a peer is reported to have written; the report
 * must be exact. */
void town_counted(void *arg, struct fabric_conn *by, const uint8_t *octets, uint32_t len);

/** town_leave - end all connections, and let some time pass. */
void town_leave(struct town *t);

#endif
