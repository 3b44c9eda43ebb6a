/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * What is not in the tables is refused, with EPERM: a call that the next C library makes must not take a
 * gateway down at night. Where a call does both what is needed and what is not its arguments decide.
 * The C library's way back from clone3(2), whose arguments no filter can see, is ENOSYS.
 *
 * No memory becomes code any more: libraries were loaded before.
 */
#include "daemon/sandbox_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	SOCK_KIND = 0xf,		    /* of socket(2)'s type, the rest are flags */
	NETLINK_RDMA_ = 20,		    /* linux/rdma: where libibverbs finds devices */
	CALLS_OF_DEVICES = (int)0xc0181b01, /* RDMA_VERBS_IOCTL */
	OPEN_WRITES = O_ACCMODE | O_CREAT | O_TRUNC,
	OPEN_MAKES = O_CREAT | O_TRUNC,
};

/* These, whatever their arguments. */
static const int allowed[] = {
	/* octets */
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(pread64),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	SCMP_SYS(fcntl),
	SCMP_SYS(dup),
	SCMP_SYS(dup3),
	/* files, as far as there are any */
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(stat),
	SCMP_SYS(fstat),
	SCMP_SYS(lstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getdents64),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	/* sockets; which ones, see below */
	SCMP_SYS(bind),
	SCMP_SYS(listen),
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(connect),
	SCMP_SYS(shutdown),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt),
	SCMP_SYS(sendto),
	SCMP_SYS(recvfrom),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendmmsg),
	SCMP_SYS(recvmmsg),
	/* waiting */
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_pwait2),
	SCMP_SYS(eventfd2),
	SCMP_SYS(timerfd_create),
	SCMP_SYS(timerfd_settime),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(select),
	SCMP_SYS(pselect6),
	SCMP_SYS(pipe2),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(restart_syscall),
	/* time, where the vDSO does not tell; random numbers */
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(getrandom),
	/* threads and signals, but for how they come into being, and for others' */
	SCMP_SYS(futex),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(gettid),
	SCMP_SYS(getpid),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(membarrier),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(setpriority),
	SCMP_SYS(getrusage),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	/* memory that is no code */
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	/* who and where it is */
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(uname),
	SCMP_SYS(sysinfo),
	SCMP_SYS(getrlimit),
};

struct filter {
	scmp_filter_ctx ctx;
	int err; /* sticky */
};

static void allow(struct filter *f, int call, unsigned n, const struct scmp_arg_cmp *args)
{
	if (!f->err)
		f->err = seccomp_rule_add_array(f->ctx, SCMP_ACT_ALLOW, call, n, args);
}

/* allow_bits - where @bits of that argument are @are; of an int's register the upper half is anybody's. */
static void allow_bits(struct filter *f, int call, unsigned arg, uint64_t bits, uint64_t are)
{
	const struct scmp_arg_cmp only = SCMP_CMP64(arg, SCMP_CMP_MASKED_EQ, bits, are);

	allow(f, call, 1, &only);
}

static void allow_value(struct filter *f, int call, unsigned arg, uint32_t is)
{
	allow_bits(f, call, arg, UINT32_MAX, is);
}

static void allow_sockets(struct filter *f)
{
	static const int families[] = {AF_INET, AF_INET6};
	static const int kinds[] = {SOCK_STREAM, SOCK_DGRAM};

	for (unsigned i = 0; i < 2; i++)
		for (unsigned k = 0; k < 2; k++) {
			const struct scmp_arg_cmp both[] = {
				SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, UINT32_MAX,
					   (uint64_t)families[i]),
				SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, SOCK_KIND, (uint64_t)kinds[k])};

			allow(f, SCMP_SYS(socket), 2, both);
		}
}

/* rpcbind is at a local socket, and hangs up between registering and taking back. */
static void allow_rpcbind(struct filter *f, const struct config *cfg)
{
	const struct scmp_arg_cmp both[] = {
		SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, UINT32_MAX, AF_UNIX),
		SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, SOCK_KIND, SOCK_STREAM)};
	bool any = false;

	for (uint32_t i = 0; i < cfg->nroutes; i++)
		any |= cfg->routes[i].listen.rpcbind;
	if (any)
		allow(f, SCMP_SYS(socket), 2, both);
}

/* The kernel's lists of addresses and of devices. */
static void allow_netlink(struct filter *f, int protocol)
{
	const struct scmp_arg_cmp both[] = {
		SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, UINT32_MAX, AF_NETLINK),
		SCMP_CMP64(2, SCMP_CMP_MASKED_EQ, UINT32_MAX, (uint64_t)protocol)};

	allow(f, SCMP_SYS(socket), 2, both);
}

/* Threads; no other process, and none to signal, trace or look into. */
static void allow_threads(struct filter *f)
{
	const uint64_t thread = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;
	const struct scmp_arg_cmp own = SCMP_CMP64(0, SCMP_CMP_EQ, (uint64_t)getpid(), 0);
	const struct scmp_arg_cmp read_own[] = {
		SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, UINT32_MAX, 0),
		SCMP_CMP64(2, SCMP_CMP_EQ, 0, 0),
	};

	allow_bits(f, SCMP_SYS(clone), 0, thread, thread);
	allow(f, SCMP_SYS(tgkill), 1, &own);
	allow(f, SCMP_SYS(prlimit64), 2, read_own);
	allow_value(f, SCMP_SYS(prctl), 0, PR_SET_NAME);
	if (!f->err)
		f->err = seccomp_rule_add(f->ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

static void allow_files(struct filter *f, bool devices)
{
	const uint64_t never = devices ? OPEN_MAKES : OPEN_WRITES;

	allow_bits(f, SCMP_SYS(open), 1, never, 0);
	allow_bits(f, SCMP_SYS(openat), 2, never, 0);
	allow_bits(f, SCMP_SYS(mmap), 2, PROT_EXEC, 0);
	allow_bits(f, SCMP_SYS(mprotect), 2, PROT_EXEC, 0);
	allow_value(f, SCMP_SYS(ioctl), 1, SIOCOUTQ);
	allow_value(f, SCMP_SYS(ioctl), 1, FIONREAD);
	allow_value(f, SCMP_SYS(ioctl), 1, FIONBIO);
	allow_value(f, SCMP_SYS(ioctl), 1, SIOCGIFINDEX);
	allow_value(f, SCMP_SYS(ioctl), 1, SIOCGIFNAME);
	if (devices)
		allow_value(f, SCMP_SYS(ioctl), 1, (uint32_t)CALLS_OF_DEVICES);
}

static int set(struct filter *f, enum scmp_filter_attr attr, uint32_t value)
{
	return seccomp_attr_set(f->ctx, attr, value);
}

static int load(struct filter *f)
{
	int err = set(f, SCMP_FLTATR_CTL_TSYNC, 1);

	/* A tree, not a list; errno as it was. Nobody else's code runs here that processors had to be slowed
	 * down for. An older library lacks the one or the other. */
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

int sandbox_calls(const struct config *cfg)
{
	struct filter f = {.err = 0};
	int err;

	if (!kernel_has_filters())
		return 0;
	f.ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!f.ctx)
		return -ENOMEM;
	for (unsigned i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		allow(&f, allowed[i], 0, NULL);
	allow_threads(&f);
	allow_files(&f, sandbox_uses_devices(cfg));
	allow_sockets(&f);
	allow_rpcbind(&f, cfg);
	allow_netlink(&f, NETLINK_ROUTE);
	allow_netlink(&f, NETLINK_RDMA_);
	err = f.err ? f.err : load(&f);
	seccomp_release(f.ctx);
	return err ? err : 1;
}
