/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAEMON_HOSTSFILE_H
#define DAEMON_HOSTSFILE_H

#include <stdio.h>

#include "fabric/addr.h"

/**
 * hostsfile_find - the addresses of @name in a file like /etc/hosts (hosts(5)), into @addrs of @most
 *
 * Letters are alike whether large or small, and a dot at the end of @name is nothing. What is no address, or a
 * line longer than a screen, is passed over.
 *
 * Return: how many; 0: the file does not have it.
 */
unsigned hostsfile_find(FILE *f, const char *name, struct fabric_addr *addrs, unsigned most);

#endif
