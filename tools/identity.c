/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/identity.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "daemon/auth_files.h"

static const char *add_name(struct config_names *names, const char *value)
{
	size_t len = strlen(value) + 1, at = 0;

	for (uint32_t i = 0; i < names->n; i++)
		at += strlen(names->text + at) + 1;
	if (names->n == CONFIG_NAMES_MAX || len > sizeof(names->text) - at)
		return "too many names";
	memcpy(names->text + at, value, len);
	names->n++;
	return NULL;
}

const char *identity_set(struct identity *id, int opt, const char *value)
{
	struct config_file *files[] = {&id->files.certificate, &id->files.key, &id->files.ca,
				       &id->files.crl, &id->files.psk};
	size_t which = (size_t)(opt - IDENTITY_OPT), len = strlen(value);

	id->is_given = true;
	if (which >= sizeof(files) / sizeof(files[0]))
		return add_name(&id->files.names, value);
	if (len == 0 || len >= sizeof(files[which]->path))
		return "a path of 1 to 255 octets is needed";
	memcpy(files[which]->path, value, len + 1);
	return NULL;
}

static struct hostauth_creds *creds_of(const struct leg_auth *auth)
{
	return hostauth_creds_get(((const struct identity *)auth)->creds);
}

static int64_t now_of(const struct leg_auth *auth)
{
	(void)auth;
	return time(NULL);
}

int identity_load(struct identity *id, enum hostauth_role role, nsec_t timeout, char *why)
{
	const struct config_hostauth *f = &id->files;
	bool psk = f->psk.path[0], all = f->certificate.path[0] && f->key.path[0] && f->ca.path[0];
	bool any = f->certificate.path[0] || f->key.path[0] || f->ca.path[0] || f->crl.path[0];
	struct auth_problem p = {.key = "", .why = ""};

	if (!id->is_given)
		return 0;
	if (psk ? any : !all) {
		snprintf(why, IDENTITY_WHY,
			 "--hostauth-cert, -key and -ca are needed, or --hostauth-psk alone");
		return ERR_CONFIG;
	}
	id->creds = auth_files_load(role, f, &p);
	if (!id->creds) {
		snprintf(why, IDENTITY_WHY, "%s: %s: %s", p.path ? p.path : p.key, p.why, p.remedy);
		return p.err;
	}
	id->auth = (struct leg_auth){
		.required = true, .timeout = timeout, .creds = creds_of, .now = now_of};
	return 0;
}

void identity_drop(struct identity *id)
{
	hostauth_creds_put(id->creds);
	id->creds = NULL;
}
