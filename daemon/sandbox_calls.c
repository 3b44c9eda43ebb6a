/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/sandbox_calls.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/sandbox_rules.h"

struct filter {
	scmp_filter_ctx ctx;
	bool devices, rpcbind; /* the configuration uses devices; uses rpcbind */
	int err;	       /* sticky */
};

static bool applies(const struct filter *f, const struct sandbox_rule *rule)
{
	switch (rule->when) {
	case SANDBOX_ALWAYS:
		return true;
	case SANDBOX_WITHOUT_DEVICES:
		return !f->devices;
	case SANDBOX_WITH_DEVICES:
		return f->devices;
	case SANDBOX_WITH_RPCBIND:
		return f->rpcbind;
	}
	return false;
}

static void add(struct filter *f, const struct sandbox_rule *rule)
{
	struct scmp_arg_cmp args[SANDBOX_ARGS + 1];
	unsigned n = 0;

	for (; n < rule->nargs; n++)
		args[n] = SCMP_CMP64(rule->args[n].number, SCMP_CMP_MASKED_EQ, rule->args[n].mask,
				     rule->args[n].value);
	if (rule->own_process)
		args[n++] = SCMP_CMP64(0, SCMP_CMP_EQ, (uint64_t)getpid(), 0);
	if (!f->err && applies(f, rule))
		f->err = seccomp_rule_add_array(
			f->ctx, rule->is_absent ? SCMP_ACT_ERRNO(ENOSYS) : SCMP_ACT_ALLOW,
			rule->call, n, args);
}

static int set(struct filter *f, enum scmp_filter_attr attr, uint32_t value)
{
	return seccomp_attr_set(f->ctx, attr, value);
}

static int load(struct filter *f)
{
	int err = set(f, SCMP_FLTATR_CTL_TSYNC, 1);

	/*
	 * Options of libseccomp; an older library lacks some.
	 * - CTL_OPTIMIZE: a tree, not a list.
	 * - API_SYSRAWRC: errno of the system call.
	 * - CTL_SSB: without the mitigation of Speculative Store Bypass, which slows the processor.
	 *   No foreign code runs in this process, so the mitigation is not needed.
	 */
	(void)set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	(void)set(f, SCMP_FLTATR_API_SYSRAWRC, 1);
	(void)set(f, SCMP_FLTATR_CTL_SSB, 1);
	return err ? err : seccomp_load(f->ctx);
}

static bool kernel_has_filters(void)
{
	uint32_t action = SECCOMP_RET_ERRNO;

	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

bool sandbox_uses_devices(const struct config *cfg)
{
	for (uint32_t i = 0; i < cfg->nroutes; i++)
		if (strcmp(cfg->routes[i].listen.fabric, "verbs") == 0 ||
		    strcmp(cfg->routes[i].upstream.fabric, "verbs") == 0)
			return true;
	return false;
}

static bool uses_rpcbind(const struct config *cfg)
{
	for (uint32_t i = 0; i < cfg->nroutes; i++)
		if (cfg->routes[i].listen.rpcbind)
			return true;
	return false;
}

int sandbox_calls(const struct config *cfg)
{
	struct filter f = {.devices = sandbox_uses_devices(cfg), .rpcbind = uses_rpcbind(cfg)};
	int err;

	if (!kernel_has_filters())
		return 0;
	f.ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!f.ctx)
		return -ENOMEM;
	for (unsigned i = 0; i < sandbox_nrules; i++)
		add(&f, &sandbox_rules[i]);
	err = f.err ? f.err : load(&f);
	seccomp_release(f.ctx);
	return err ? err : 1;
}
