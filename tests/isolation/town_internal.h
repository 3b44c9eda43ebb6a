/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ISOLATION_TOWN_INTERNAL_H
#define TESTS_ISOLATION_TOWN_INTERNAL_H

#include "tests/cmocka_all.h"
#include "tests/isolation/town.h"

/** Shared by town.c and town_build.c only. */

/* Fails the test: with the seed everything is as it was. */
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

/** town_draw - one chance in @n. */
static inline bool town_draw(struct town *t, uint32_t n)
{
	return rng_below(&t->rng, n) == 0;
}

/** town_free_mark - sessions have these; each is one session's at a time. */
unsigned town_free_mark(const struct town *t);

/** town_moved - the taint oracle: what a struct net_watcher hears; @arg is the town. */
void town_moved(void *arg, struct fabric_conn *to, enum fabric_ev_type kind, const uint8_t *octets,
		uint32_t len, bool last);

/** town_counted - the same of what a peer is said to have written: it may be believed to the octet. */
void town_counted(void *arg, struct fabric_conn *by, const uint8_t *octets, uint32_t len);

/** town_leave - everybody goes, and some time passes. */
void town_leave(struct town *t);

#endif
