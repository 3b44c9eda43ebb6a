/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * - Privileges go first, and no_new_privs prevents getting them back.
 * - Then files, by Landlock (sandbox_files.c).
 * - Then system calls, by a filter (sandbox_calls.c, from the table in sandbox_rules.c). The filter
 *   also removes the calls of the first two steps.
 *
 * The three layers are independent: each holds if another is missing or has a hole.
 */
#include "daemon/sandbox.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/sandbox_calls.h"
#include "daemon/sandbox_files.h"

static int complain(const char *what, int error)
{
	log_error("sandbox.failed", "what=%s why=\"%s: --no-sandbox starts without a sandbox\"",
		  what, strerror(error));
	return ERR_IO;
}

static bool has_privileges(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];

	memset(has, 0, sizeof(has));
	return syscall(SYS_capget, &head, has) || has[0].permitted || has[1].permitted;
}

/* The service manager may have removed the privileges, and capset(2) with them. */
static int drop_privileges(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];
	int error;

	memset(none, 0, sizeof(none));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return complain("no_new_privs", errno);
	if (syscall(SYS_capset, &head, none) == 0)
		return 0;
	error = errno;
	return has_privileges() ? complain("capabilities", error) : 0;
}

#ifdef GW_INSTRUMENTED

/* Sanitizers and gcov open files, start programs and trace processes, so only privileges are
 * dropped. */
static int settle(struct sandbox *s)
{
	(void)s;
	return drop_privileges();
}

static int filter_calls(const struct sandbox *s)
{
	(void)s;
	log_info("sandbox", "landlock=0 seccomp=no why=\"a build for tests\"");
	return 0;
}

#else

static int settle(struct sandbox *s)
{
	int err = drop_privileges();

	if (err)
		return err;
	s->landlock = sandbox_files(s->cfg, s->file);
	return s->landlock < 0 ? complain("landlock", -s->landlock) : 0;
}

static int filter_calls(const struct sandbox *s)
{
	int calls = sandbox_calls(s->cfg);

	if (calls < 0)
		return complain("seccomp", -calls);
	log_event(s->landlock && calls ? LOG_LEVEL_INFO : LOG_LEVEL_WARN, "sandbox",
		  "landlock=%d seccomp=%s", s->landlock, calls ? "yes" : "no");
	return 0;
}

#endif

int sandbox_before_devices(struct sandbox *s)
{
	return sandbox_uses_devices(s->cfg) ? settle(s) : 0;
}

int sandbox_before_threads(struct sandbox *s)
{
	int err = sandbox_uses_devices(s->cfg) ? 0 : settle(s);

	return err ? err : filter_calls(s);
}
