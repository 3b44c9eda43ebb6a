/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef V2_VERSIONS_H
#define V2_VERSIONS_H

#include "v2/conn.h"

/** Messages with another version number on a connection of version 2, and the answers of peers
 * that do not speak version 2. */

/** v2_versions_other - answer @h, which has another version (sections 7.1.1 and 7.1.2). Return:
 * 0, or an error: close. */
int v2_versions_other(struct v2_conn *c, const struct v2_hdr *h) WARN_UNUSED;

/**
 * v2_versions_is_verdict - whether @in, whose prefix is in @h, reports that the peer does not speak
 * version 2
 *
 * Section 4.3.2, decision 9: such a report answers the first message of this end, and has version 1
 * or version 2 in it. If true, @h has the range of versions.
 */
bool v2_versions_is_verdict(struct v2_conn *c, struct v2_hdr *h, struct view in);

/** v2_versions_verdict - process a message for which v2_versions_is_verdict() is true: it ends this
 * state machine, and @rx gets the result. Return: 0, or an error: close the connection. */
int v2_versions_verdict(struct v2_conn *c, const struct v2_hdr *h, struct rpc_rx *rx) WARN_UNUSED;

#endif
