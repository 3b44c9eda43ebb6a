/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/auth_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "hostauth/hostauth.h"
#include "hostauth/names.h"

enum { FILE_MOST = 1024 * 1024, NFILES = 5 };

/* One of the files, with its name in hostauth/. */
struct part {
	enum hostauth_part part;
	bool is_secret;
	const char *key;
	const char *remedy;
};

static const struct part parts[NFILES] = {
	{HOSTAUTH_PART_CERTIFICATE, false, "certificate",
	 "give PEM: the certificate, then those between it and its authority"},
	{HOSTAUTH_PART_KEY, true, "key",
	 "give PEM: the private key that the certificate was made for, without a password"},
	{HOSTAUTH_PART_CA, false, "ca", "give PEM: the certificates of the authorities to trust"},
	{HOSTAUTH_PART_CRL, false, "crl", "give PEM: revocation lists of these authorities"},
	{HOSTAUTH_PART_PSK, true, "psk_file",
	 "write lines IDENTITY:KEY, the key 16 to 64 octets in hexadecimal"},
};

static const struct config_file *file_of(const struct config_hostauth *cfg, const struct part *p)
{
	switch (p->part) {
	case HOSTAUTH_PART_CERTIFICATE:
		return &cfg->certificate;
	case HOSTAUTH_PART_KEY:
		return &cfg->key;
	case HOSTAUTH_PART_CA:
		return &cfg->ca;
	case HOSTAUTH_PART_CRL:
		return &cfg->crl;
	default:
		return &cfg->psk;
	}
}

static struct auth_problem problem_of(const struct config_hostauth *cfg, enum hostauth_part part)
{
	struct auth_problem problem = {.key = "hostauth",
				       .line = cfg->line,
				       .err = ERR_CONFIG,
				       .remedy = "look at its files"};

	for (unsigned i = 0; i < NFILES; i++) {
		const struct config_file *file = file_of(cfg, &parts[i]);

		if (parts[i].part != part)
			continue;
		problem.key = parts[i].key;
		problem.path = file->path;
		problem.line = file->line;
		problem.remedy = parts[i].remedy;
	}
	return problem;
}

static int set_problem(struct auth_problem *problem, const char *why, const char *remedy)
{
	snprintf(problem->why, sizeof(problem->why), "%s", why);
	if (remedy)
		problem->remedy = remedy;
	return problem->err;
}

/* Read all of @fd. A file with a key must not be readable for others, nor writable. */
static int read_open(int fd, bool is_secret, struct view *out, struct auth_problem *problem)
{
	struct stat st;
	uint8_t *octets;
	ssize_t n;

	if (fstat(fd, &st))
		return set_problem(problem, strerror(errno), NULL);
	if (!S_ISREG(st.st_mode))
		return set_problem(problem, "it is no regular file", NULL);
	if (is_secret && st.st_mode & (S_IRWXG | S_IRWXO))
		return set_problem(problem, "users other than its owner may read or write it",
				   "chmod 600, and make a new one if somebody may have read it");
	if (st.st_size > FILE_MOST)
		return set_problem(problem, "it is longer than 1 MiB", NULL);
	octets = mem_zalloc((size_t)st.st_size + 1);
	if (!octets) {
		problem->err = ERR_NOMEM;
		return set_problem(problem, "no memory", "");
	}
	*out = view_of(octets, (size_t)st.st_size);
	n = read(fd, octets, out->len);
	if (n != (ssize_t)out->len)
		return set_problem(problem,
				   n < 0 ? strerror(errno) : "it changed while it was read", NULL);
	if (n == 0)
		return set_problem(problem, "it is empty", NULL);
	return 0;
}

static int read_file(const struct config_hostauth *cfg, const struct part *p, struct view *out,
		     struct auth_problem *problem)
{
	const struct config_file *file = file_of(cfg, p);
	int fd, err;

	if (!file->path[0])
		return 0;
	*problem = problem_of(cfg, p->part);
	/* without O_NONBLOCK, open() of a FIFO would block */
	fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return set_problem(
			problem, strerror(errno),
			errno == EACCES
				? "give a file that the gateway's user can read; at a reload, "
				  "one in a folder that it read from at start"
				: "give a file that the gateway's user can read");
	err = read_open(fd, p->is_secret, out, problem);
	close(fd);
	return err;
}

static void drop(struct view octets)
{
	if (octets.data)
		explicit_bzero((void *)octets.data, octets.len);
	mem_free((void *)octets.data);
}

static int check_names(const struct config_hostauth *cfg, const char *names[CONFIG_NAMES_MAX],
		       struct auth_problem *problem)
{
	const char *at = cfg->names.text;

	for (uint32_t i = 0; i < cfg->names.n; i++, at += strlen(at) + 1) {
		const char *why = hostauth_name_check(at);

		names[i] = at;
		if (!why)
			continue;
		*problem = (struct auth_problem){
			.key = "names", .line = cfg->names.line, .err = ERR_CONFIG};
		snprintf(problem->why, sizeof(problem->why), "\"%.200s\" matches nothing", at);
		problem->remedy = why;
		return ERR_CONFIG;
	}
	return 0;
}

static struct hostauth_creds *make(enum hostauth_role role, const struct config_hostauth *cfg,
				   const struct view files[NFILES], const char *const *names,
				   struct auth_problem *problem)
{
	const struct hostauth_material m = {.certificate = files[0],
					    .key = files[1],
					    .ca = files[2],
					    .crl = files[3],
					    .psk = files[4],
					    .names = names,
					    .nnames = cfg->names.n};
	struct hostauth_refusal no = {.why = ""};
	struct hostauth_creds *creds = hostauth_creds_new(role, &m, &no);

	if (creds)
		return creds;
	*problem = problem_of(cfg, no.part);
	set_problem(problem, no.why, NULL);
	return NULL;
}

struct hostauth_creds *auth_files_load(enum hostauth_role role, const struct config_hostauth *cfg,
				       struct auth_problem *problem)
{
	_Static_assert((int)CONFIG_NAMES_MAX <= (int)HOSTAUTH_NAMES_MAX, "names fit");
	struct view files[NFILES] = {{0}};
	const char *names[CONFIG_NAMES_MAX];
	struct hostauth_creds *creds = NULL;
	int err = check_names(cfg, names, problem);

	for (unsigned i = 0; i < NFILES && !err; i++)
		err = read_file(cfg, &parts[i], &files[i], problem);
	if (!err)
		creds = make(role, cfg, files, names, problem);
	for (unsigned i = 0; i < NFILES; i++)
		drop(files[i]);
	return creds;
}

const char *auth_files_time(int64_t seconds, char *text)
{
	time_t at = (time_t)seconds;
	struct tm tm;

	if (seconds == INT64_MAX || !gmtime_r(&at, &tm) ||
	    !strftime(text, AUTH_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(text, AUTH_TIME_BYTES, "never");
	return text;
}

static bool is_past(const struct config_hostauth *cfg, enum hostauth_part part, int64_t end,
		    int64_t now, struct auth_problem *problem)
{
	char at[AUTH_TIME_BYTES];

	if (end > now)
		return false;
	*problem = problem_of(cfg, part);
	snprintf(problem->why, sizeof(problem->why), "it expired at %s", auth_files_time(end, at));
	problem->remedy = "renew it, then send SIGHUP";
	return true;
}

bool auth_files_is_current(const struct hostauth_creds *creds, const struct config_hostauth *cfg,
			   int64_t now, struct auth_problem *problem)
{
	struct hostauth_times t;
	char at[AUTH_TIME_BYTES];

	hostauth_creds_times(creds, &t);
	if (is_past(cfg, HOSTAUTH_PART_CERTIFICATE, t.end, now, problem) ||
	    is_past(cfg, HOSTAUTH_PART_CA, t.ca_last, now, problem) ||
	    is_past(cfg, HOSTAUTH_PART_CRL, t.crl_last, now, problem))
		return false;
	if (t.begin <= now)
		return true;
	*problem = problem_of(cfg, HOSTAUTH_PART_CERTIFICATE);
	snprintf(problem->why, sizeof(problem->why), "it is valid from %s on",
		 auth_files_time(t.begin, at));
	problem->remedy = "check this machine's clock, or use the file later";
	return false;
}
