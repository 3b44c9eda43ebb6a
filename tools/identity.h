/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_IDENTITY_H
#define TOOLS_IDENTITY_H

#include <getopt.h>

#include "config/config.h"
#include "proxy/leg/leg_auth.h"

/**
 * identity - credentials of a tool for host authentication (docs/hostauth-profile.md): the options
 * --hostauth-cert, -key, -ca, -crl, -psk and -name, the same for all tools
 */
enum { IDENTITY_OPT = 2000, IDENTITY_WHY = 400 };

#define IDENTITY_OPTIONS                                                                           \
	{"hostauth-cert", required_argument, NULL, IDENTITY_OPT},                                  \
		{"hostauth-key", required_argument, NULL, IDENTITY_OPT + 1},                       \
		{"hostauth-ca", required_argument, NULL, IDENTITY_OPT + 2},                        \
		{"hostauth-crl", required_argument, NULL, IDENTITY_OPT + 3},                       \
		{"hostauth-psk", required_argument, NULL, IDENTITY_OPT + 4},                       \
	{                                                                                          \
		"hostauth-name", required_argument, NULL, IDENTITY_OPT + 5                         \
	}

struct identity {
	struct leg_auth auth; /* first member; legs require authentication once it is loaded */
	struct config_hostauth files;
	bool is_given; /* the command line has one of the options */
	struct hostauth_creds *creds;
};

/** identity_set - option @opt, from IDENTITY_OPT on, with its @value. Return: NULL, or the reason
 * of an error. */
const char *identity_set(struct identity *id, int opt, const char *value);

/** identity_load - read the files. Return: 0, or an error and @why, IDENTITY_WHY octets. */
int identity_load(struct identity *id, enum hostauth_role role, nsec_t timeout,
		  char *why) WARN_UNUSED;

/** identity_drop - free the credentials, if identity_load() was called; no leg uses them any
 * more. */
void identity_drop(struct identity *id);

#endif
