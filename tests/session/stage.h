/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_STAGE_H
#define TESTS_SESSION_STAGE_H

#include "tests/session/world.h"

/**
 * stage - a session with a hostile peer on one side, and a session of well-behaved peers (the
 * bystander) beside it. Whatever happens to the first, the second must keep working, and the log
 * has one line about each end.
 */

extern struct world stage;

/* Values for the next stage, as in struct setup. */
extern uint32_t stage_cut_through_bytes;
extern nsec_t stage_reply_timeout;
extern bool stage_no_written;

/** stage_client - set up a raw client that has begun to speak @version, and a server of @server. */
void stage_client(unsigned version, unsigned server);

/** stage_server - set up a raw server, and a client of @version that is not connected yet. The raw
 * peer's .on_message must act as the server, from its first message on. */
void stage_server(unsigned version, void (*on_message)(struct raw *r, struct view in, void *arg),
		  void *arg);

/** stage_run - run one second of virtual time, and @s more. */
void stage_run(unsigned s);

/** stage_is_over - check that the hostile session has ended, with one line, which names the leg of
 * the hostile peer, and one count of a fault. */
void stage_is_over(bool counted);

/** stage_goes_on - check that the hostile session continues. */
void stage_goes_on(void);

/** stage_end - check that the bystander works, tear everything down, and check that all is
 * returned. */
void stage_end(void);

/** stage_lines - number of log lines with @event since the stage was set up. */
unsigned stage_lines(const char *event);

/** stage_reported - whether a log line has these @words. */
bool stage_reported(const char *words);

#endif
