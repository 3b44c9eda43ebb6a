/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ctl/names.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "tools/ctl/show.h"

enum { NFS = 100003, NFS3 = 3, NFS4 = 4 };

/* The first match is used; version 0: any version. */
static const struct {
	const char *name;
	uint32_t program, version;
} programs[] = {
	{"nfs2", NFS, 2},	  {"nfs3", NFS, NFS3},	{"nfs4", NFS, NFS4}, {"nfs", NFS, 0},
	{"mount3", 100005, 3},	  {"mount", 100005, 0}, {"nlm4", 100021, 4}, {"nlm", 100021, 0},
	{"nsm", 100024, 0},	  {"acl3", 100227, 3},	{"acl", 100227, 0},  {"rpcbind", 100000, 0},
	{"callback", 1 << 30, 0},
};

/* RFC 1813 section 3.3, indexed by procedure number. */
static const char *const nfs3[] = {
	"null",	   "getattr",	  "setattr", "lookup", "access",   "readlink", "read",	 "write",
	"create",  "mkdir",	  "symlink", "mknod",  "remove",   "rmdir",    "rename", "link",
	"readdir", "readdirplus", "fsstat",  "fsinfo", "pathconf", "commit",
};

static const char *const nfs4[] = {"null", "compound"};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static bool is_number(const char *word, uint32_t *number)
{
	unsigned long long n;
	char *end;

	if (!isdigit((unsigned char)word[0]))
		return false;
	errno = 0;
	n = strtoull(word, &end, 10);
	*number = (uint32_t)n;
	return !errno && !*end && n <= UINT32_MAX;
}

static bool choose_program(const char *word, struct ctl_rpcs *want)
{
	want->has_program = true;
	if (is_number(word, &want->program))
		return true;
	for (size_t i = 0; i < LENGTH(programs); i++)
		if (strcmp(word, programs[i].name) == 0) {
			want->program = programs[i].program;
			want->version = programs[i].version;
			want->has_version = want->version != 0;
			return true;
		}
	return false;
}

static bool find(const char *const *names, size_t n, const char *word, struct ctl_rpcs *want)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(word, names[i]) == 0) {
			want->procedure = (uint32_t)i;
			want->has_procedure = true;
			return true;
		}
	return false;
}

/* Kinds of COMPOUNDs that the gateway distinguishes. */
static bool choose_nfs4(const char *word, struct ctl_rpcs *want)
{
	static const char *const kinds[] = {"nfs4 read", "nfs4 write", "nfs4 other"};

	for (size_t i = 0; i < LENGTH(kinds); i++)
		if (strcmp(word, kinds[i] + 5) == 0) {
			want->kind = kinds[i];
			return true;
		}
	return find(nfs4, LENGTH(nfs4), word, want);
}

static bool choose_procedure(const char *word, struct ctl_rpcs *want)
{
	want->has_procedure = is_number(word, &want->procedure);
	if (want->has_procedure)
		return true;
	if (want->has_program &&
	    (want->program != NFS || (want->has_version && want->version < NFS3)))
		return false;
	if (want->has_version && want->version == NFS4)
		return choose_nfs4(word, want);
	want->version = NFS3;
	if (!find(nfs3, LENGTH(nfs3), word, want)) {
		want->version = NFS4;
		if (want->has_version || !find(nfs4, LENGTH(nfs4), word, want))
			return false;
	}
	want->program = NFS;
	want->has_program = want->has_version = true;
	return true;
}

const char *names_choose(const char *program, const char *procedure, struct ctl_rpcs *want)
{
	if (program && !choose_program(program, want))
		return program;
	if (procedure && !choose_procedure(procedure, want))
		return procedure;
	return NULL;
}

static const char *name_of(uint32_t program, uint32_t version)
{
	for (size_t i = 0; i < LENGTH(programs); i++)
		if (programs[i].program == program &&
		    (programs[i].version == version || programs[i].version == 0))
			return programs[i].name;
	return NULL;
}

const char *names_rpc(struct json_object *rpc, char *text, size_t size)
{
	uint32_t program = (uint32_t)show_number(rpc, "program");
	uint32_t version = (uint32_t)show_number(rpc, "version");
	uint64_t procedure = show_number(rpc, "procedure");
	const char *name = name_of(program, version);
	char kind[32];

	if (!program)
		return show_text(rpc, "kind", text, size);
	(void)show_text(rpc, "kind", kind, sizeof(kind));
	if (program == NFS && version == NFS3 && procedure < LENGTH(nfs3))
		snprintf(text, size, "nfs3 %s", nfs3[procedure]);
	else if (strcmp(kind, "nfs4 read") == 0 || strcmp(kind, "nfs4 write") == 0)
		snprintf(text, size, "%s", kind);
	else if (program == NFS && version == NFS4 && procedure < LENGTH(nfs4))
		snprintf(text, size, "nfs4 %s", nfs4[procedure]);
	else if (name)
		snprintf(text, size, "%s %llu", name, (unsigned long long)procedure);
	else
		snprintf(text, size, "%u.%u %llu", program, version, (unsigned long long)procedure);
	return text;
}
