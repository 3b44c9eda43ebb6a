/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * Landlock's rules apply to files, not to names. A file that editors or certbot replace under the
 * same name is another file. So the rules allow reading the folders of the configuration and of the
 * credentials, and the folders that links in them lead to. For the same reason a reload may name a
 * new file beside an old one. Folders of the system (/etc, and other folders in the root) are not
 * allowed as a whole: there only the files themselves are.
 */
#include "daemon/sandbox_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/load.h"
#include "daemon/sandbox_calls.h"

/* Number of access rights in each Landlock version. Each right is the next bit. */
enum { RIGHTS_1 = 13, RIGHTS_2, RIGHTS_3, RIGHTS_5 };
#define FS_TRUNCATE (UINT64_C(1) << 14)
#define FS_IOCTL_DEV (UINT64_C(1) << 15)

#define FS_READ ((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR))
#define FS_USE (FS_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | FS_IOCTL_DEV)
#define FS_OF_FILES                                                                                \
	((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |                 \
		    LANDLOCK_ACCESS_FS_EXECUTE) |                                                  \
	 FS_TRUNCATE | FS_IOCTL_DEV)

/* struct landlock_ruleset_attr of version 6. An older kernel accepts it if the fields it does not
 * know are zero. */
struct ruleset_attr {
	uint64_t fs, net, scoped;
};
enum { SIGNALS_FROM = 6 /* first Landlock version that confines signals to the process */ };
#define SCOPE_SIGNAL (UINT64_C(1) << 1)

struct rules {
	int fd;
	uint64_t handled;
	int err; /* sticky */
};

/* All rights that this kernel can withdraw. */
static uint64_t rights_of(int version)
{
	unsigned n = version >= 5   ? RIGHTS_5
		     : version >= 3 ? RIGHTS_3
		     : version >= 2 ? RIGHTS_2
				    : RIGHTS_1;

	return (UINT64_C(1) << n) - 1;
}

static int add_rule(const struct rules *r, int fd, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = {.parent_fd = fd};
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	rule.allowed_access = rights & r->handled;
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= FS_OF_FILES;
	if (!rule.allowed_access)
		return 0; /* without any right the kernel would return an error */
	return syscall(SYS_landlock_add_rule, r->fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) ? -errno
											   : 0;
}

/* A path that does not exist needs no rule. */
static void allow(struct rules *r, const char *path, uint64_t rights)
{
	int fd = r->err ? -1 : open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return;
	r->err = add_rule(r, fd, rights);
	close(fd);
}

/* The folder of @path. */
static void folder_of(const char *path, char dir[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t len = slash == path ? 1 : slash ? (size_t)(slash - path) : 0;

	if (len == 0 || len >= PATH_MAX) {
		path = ".";
		len = 1;
	}
	memcpy(dir, path, len);
	dir[len] = '\0';
}

/* Whether @dir is the root or a folder in it: a folder of the system, with files of all kinds. */
static bool is_systems(const char *dir)
{
	char real[PATH_MAX];

	return realpath(dir, real) && strchr(real + 1, '/') == NULL;
}

/* Allow the folder of @path; if that is a folder of the system, @path alone. */
static void allow_around(struct rules *r, const char *path)
{
	char dir[PATH_MAX], shown[PATH_MAX];

	if (!*path)
		return;
	folder_of(path, dir);
	if (!is_systems(dir)) {
		allow(r, dir, FS_READ);
		return;
	}
	allow(r, path, FS_READ);
	log_warn("sandbox.file",
		 "file=\"%s\" why=\"a reload can read it only if it was overwritten in place, not "
		 "if another file was put there: keep it in a folder of its own\"",
		 load_show(path, shown, sizeof(shown)));
}

/* Also allow the folder that a link leads to: tools for certificates keep all versions in one
 * folder and move the link to the newest. */
static void allow_beside(struct rules *r, const char *path)
{
	char real[PATH_MAX];
	struct stat st;

	allow_around(r, path);
	if (*path && lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && realpath(path, real))
		allow_around(r, real);
}

static void allow_credentials(struct rules *r, const struct config_hostauth *h)
{
	const struct config_file *files[] = {&h->certificate, &h->key, &h->ca, &h->crl, &h->psk};

	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		allow_beside(r, files[i]->path);
}

/* A resolver's daemon may keep resolv.conf elsewhere, and replace it. */
static void allow_resolver(struct rules *r)
{
	char path[PATH_MAX], dir[PATH_MAX];

	allow(r, "/etc/hosts", FS_READ);
	allow(r, "/etc/resolv.conf", FS_READ);
	if (!realpath("/etc/resolv.conf", path))
		return;
	folder_of(path, dir);
	if (!is_systems(dir))
		allow(r, dir, FS_READ);
}

/* Devices are found and opened after this, by libraries that are loaded later. They are opened
 * again if a device appears at run time. */
static void allow_devices(struct rules *r)
{
	static const char *const places[] = {
		"/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/libibverbs.d", "/sys", "/proc"};

	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		allow(r, places[i], FS_READ);
	allow(r, "/dev/infiniband", FS_USE);
	allow(r, "/dev/null", FS_USE);
}

static void allow_all(struct rules *r, const struct config *cfg, const char *file)
{
	allow_beside(r, file);
	for (uint32_t i = 0; i < cfg->nroutes; i++) {
		allow_credentials(r, &cfg->routes[i].listen.hostauth);
		allow_credentials(r, &cfg->routes[i].upstream.hostauth);
	}
	allow_resolver(r);
	allow(r, "/etc/ssl/openssl.cnf", FS_READ); /* OpenSSL reads it at first use */
	if (sandbox_uses_devices(cfg))
		allow_devices(r);
}

int sandbox_files(const struct config *cfg, const char *file)
{
	int version =
		(int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	const struct ruleset_attr attr = {.fs = rights_of(version),
					  .scoped = version >= SIGNALS_FROM ? SCOPE_SIGNAL : 0};
	struct rules r = {.handled = attr.fs};

	if (version <= 0)
		return 0;
	r.fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (r.fd < 0)
		return -errno;
	allow_all(&r, cfg, file);
	if (!r.err && syscall(SYS_landlock_restrict_self, r.fd, 0))
		r.err = -errno;
	close(r.fd);
	return r.err ? r.err : version;
}
