/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/load.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/addr.h"

enum { ANY_PORT = 9 };

static bool is_same_host(const struct fabric_addr *a, const struct fabric_addr *b)
{
	if (a->ss.ss_family != b->ss.ss_family)
		return false;
	if (a->ss.ss_family == AF_INET)
		return ((const struct sockaddr_in *)&a->ss)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)&b->ss)->sin_addr.s_addr;
	return memcmp(&((const struct sockaddr_in6 *)&a->ss)->sin6_addr,
		      &((const struct sockaddr_in6 *)&b->ss)->sin6_addr,
		      sizeof(struct in6_addr)) == 0;
}

/* A connection to one of this machine's addresses has that address as its source (RFC 6724 5, rule
 * 1, and the same for IPv4). Listing all addresses would need netlink, which the unit does not
 * allow. */
static bool is_own(const char *host)
{
	struct fabric_addr to, from = {.len = sizeof(from.ss)};
	bool same;
	int fd;

	if (fabric_addr_parse(host, ANY_PORT, &to))
		return false;
	fd = socket(to.ss.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	same = connect(fd, (const struct sockaddr *)&to.ss, to.len) == 0 &&
	       getsockname(fd, (struct sockaddr *)&from.ss, &from.len) == 0 &&
	       is_same_host(&to, &from);
	close(fd);
	return same;
}

int load_config(const char *path, struct config **out, FILE *errors)
{
	int err = config_load(path, out, errors);

	if (err || !config_check_loops(*out, path, is_own, errors))
		return err;
	config_free(*out);
	*out = NULL;
	return ERR_CONFIG;
}

static bool is_printable(char c)
{
	return c >= ' ' && c <= '~';
}

const char *load_show(const char *path, char *text, size_t size)
{
	snprintf(text, size, "%s", path);
	for (char *c = text; *c; c++)
		if (!is_printable(*c) || *c == '"' || *c == '\\')
			*c = '?';
	return text;
}

void load_clean(char *problems)
{
	for (char *c = problems; *c; c++)
		if (!is_printable(*c) && *c != '\n')
			*c = '?';
}

void load_warn(const struct config *cfg, const char *path, FILE *warnings)
{
	const char *control = cfg->control.path, *slash = strrchr(control, '/');
	char folder[PATH_MAX];
	struct stat st;

	if (!slash)
		return;
	snprintf(folder, sizeof(folder), "%.*s", (int)(slash - control) + 1, control);
	if (stat(folder, &st))
		fprintf(warnings,
			"%s:%u: warning: control's folder %s: %s: see that it is there before the "
			"start, as RuntimeDirectory= of a unit does\n",
			path, cfg->control.line, folder, strerror(errno));
	else if (lstat(control, &st) == 0 && !S_ISSOCK(st.st_mode))
		fprintf(warnings,
			"%s:%u: warning: control is %s, where another file is: move it away, or "
			"give another path\n",
			path, cfg->control.line, control);
}
