/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PROXY_LEG_LEG_ASSEMBLY_H
#define PROXY_LEG_LEG_ASSEMBLY_H

#include "proxy/leg/internal.h"

/** leg_begin_assembly - a continued message of @total octets begins, or a group of that many is
 * complete: it has no memory yet. */
void leg_begin_assembly(struct leg *leg, uint32_t total, enum rpc_dir dir);

/** leg_begin_reverse_call - as leg_begin_assembly(), for a server's call: it gets its memory now or
 * is refused; the leg never waits for its memory. */
void leg_begin_reverse_call(struct leg *leg, uint32_t total);

/**
 * leg_make_room - make room for @part, which is not the last part, and for the part behind it
 *
 * Return: whether there is room; else the leg waits for leg_resume() and tries again then.
 */
bool leg_make_room(struct leg *leg, struct view part);

/** leg_append_part - append @part, for which there is room, unless the message is being
 * discarded. */
void leg_append_part(struct leg *leg, struct view part);

/** leg_drop_assembly - drop the continued message in progress. */
void leg_drop_assembly(struct leg *leg);

/** leg_give_block - takes @block, of a continued message or of a copied call; @block may be NULL. */
void leg_give_block(struct leg *leg, void *block);

/** leg_take_whole - take memory (.assembly) for the whole message that leg_begin_assembly() began.
 * Return: whether it has memory; else the leg waits for leg_resume(). */
bool leg_take_whole(struct leg *leg);

/** leg_take_whole_unwaited - as leg_take_whole(), for a server's call, which does not wait. Return:
 * 0, or an error: the call was refused. */
int leg_take_whole_unwaited(struct leg *leg);

#endif
