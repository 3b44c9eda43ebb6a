/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SESSION_STAGE_H
#define TESTS_SESSION_STAGE_H

#include "tests/session/world.h"

/**
 * stage - a session with a hostile peer on one side, and a bystander's beside
 * it: whatever happens to the first, the second goes on, and the log says one
 * line about each end.
 */

extern struct world stage;

/* Of the next one, as struct setup has them. */
extern uint32_t stage_pass_bytes;
extern nsec_t stage_reply_timeout;

/** stage_client - a raw client that has begun to speak @version; a server of @server. */
void stage_client(unsigned version, unsigned server);

/** stage_server - a raw server; a client of @version, not connected yet. The raw peer's
 * .on_message has to play the server's part, from its first message on. */
void stage_server(unsigned version, void (*on_message)(struct raw *r, struct view in, void *arg),
		  void *arg);

/** stage_run - a second of virtual time; @s more. */
void stage_run(unsigned s);

/** stage_is_over - the hostile session has ended, with one line and one count of a fault. */
void stage_is_over(bool counted);

/** stage_goes_on - the hostile session lives. */
void stage_goes_on(void);

/** stage_end - the bystander is found well, everything comes down, all is given back. */
void stage_end(void);

/** stage_lines - how many lines of the log said @event since the stage was set. */
unsigned stage_lines(const char *event);

/** stage_told - whether a line of the log has these @words. */
bool stage_told(const char *words);

#endif
