/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_STDFDS_H
#define BASE_STDFDS_H

#include "base/err.h"

/**
 * stdfds_fill - descriptors 0, 1 and 2 are open from now on: /dev/null, where whoever ran the program closed them
 *
 * State: the kernel gives the least free number to the next socket, file or pipe.
 * Danger: a program without its standard error writes its messages to whatever got number 2: log lines went to the
 * control socket of another gateway, as commands.
 * Rule: this is the first that main() calls.
 * Pinned: tests/operators/run.sh:case_closed_output
 *
 * What is written to descriptor 1 fails (EBADF), as when it was closed; on 2 it is dropped.
 *
 * Return: 0, or ERR_IO: there is no /dev/null.
 */
int stdfds_fill(void) WARN_UNUSED;

#endif
