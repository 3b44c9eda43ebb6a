/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_HOSTSFILE_H
#define DAEMON_HOSTSFILE_H

#include <stdio.h>

#include "fabric/addr.h"

/**
 * hostsfile_find - find the addresses of @name in a file like /etc/hosts (hosts(5))
 * @addrs: gets up to @most addresses
 *
 * Case does not matter, nor does a dot at the end of @name. Entries without a valid address are
 * skipped.
 *
 * Return: number of addresses; 0: the file does not have the name.
 */
unsigned hostsfile_find(FILE *f, const char *name, struct fabric_addr *addrs, unsigned most);

#endif
