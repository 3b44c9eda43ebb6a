/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_STDFDS_H
#define BASE_STDFDS_H

#include "base/err.h"

/**
 * stdfds_fill - descriptors 0, 1 and 2 are open from now on: those that the caller of the program
 * closed are /dev/null
 *
 * State:  the kernel gives the least free number to the next socket, file or pipe.
 * Danger: a program without standard error writes its messages to the file that got number 2. Log
 *         lines then go to the control socket of another gateway, as commands.
 * Rule:   main() calls this first.
 * Pinned: tests/operators/run.sh:case_closed_output
 *
 * Writes to descriptor 1 fail (EBADF), as when it was closed; writes to 2 are dropped.
 *
 * Return: 0, or ERR_IO: there is no /dev/null.
 */
int stdfds_fill(void) WARN_UNUSED;

/**
 * stdfds_flush - write what standard output still has buffered
 * @program: begins the message on standard error, if that or an earlier write failed
 *
 * A program calls this last, so that lost output does not end with status 0.
 *
 * Return: 0, or ERR_IO.
 */
int stdfds_flush(const char *program) WARN_UNUSED;

#endif
