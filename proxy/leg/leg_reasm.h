/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_LEG_REASM_H
#define PROXY_LEG_LEG_REASM_H

#include "proxy/leg/internal.h"

/** leg_reasm_begin - a continued message of @total octets begins, or a group of @total octets is
 * complete. Takes no memory yet. */
void leg_reasm_begin(struct leg *leg, uint32_t total, enum rpc_dir dir);

/** leg_reasm_begin_reverse - as leg_reasm_begin(), for a server's call: it gets its memory now or
 * is refused; the leg never waits for its memory. */
void leg_reasm_begin_reverse(struct leg *leg, uint32_t total);

/**
 * leg_reasm_make_room - make room for @part, which is not the last part, and for the part behind it
 *
 * Return: whether there is room; else the leg waits for leg_resume() and tries again then.
 */
bool leg_reasm_make_room(struct leg *leg, struct view part);

/** leg_reasm_append - append @part, for which there is room, unless the message is being
 * discarded. */
void leg_reasm_append(struct leg *leg, struct view part);

/** leg_reasm_drop - drop the continued message in progress. */
void leg_reasm_drop(struct leg *leg);

/** leg_give_block - takes @block, of a continued message or of a copied call; @block may be
 * NULL. */
void leg_give_block(struct leg *leg, void *block);

/** leg_reasm_alloc_all - take memory (.reasm) for the whole message that leg_reasm_begin() began.
 * Return: whether it has memory; else the leg waits for leg_resume(). */
bool leg_reasm_alloc_all(struct leg *leg);

/** leg_reasm_alloc_nowait - as leg_reasm_alloc_all(), for a server's call, which does not wait.
 * Return: 0, or an error: the call was refused. */
int leg_reasm_alloc_nowait(struct leg *leg);

#endif
