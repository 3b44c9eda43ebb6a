/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 * Calls that are not in the table fail with EPERM: an unknown call of a newer C library must not
 * end the gateway. If a call does both needed and unneeded things, its arguments decide. Three
 * kinds of arguments are never allowed:
 * - Another process, or a thread of one, to signal, to schedule or to inspect: a worker that runs
 *   as root could do that to any process of root's. A priority-inheritance futex names the thread
 *   that owns it.
 * - An owner of a descriptor: the kernel signals the owner on behalf of the process (F_SETOWN,
 *   FIOSETOWN).
 * - A path to write to, to make or to remove.
 */
#include "daemon/sandbox_rules.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define SOCK_KIND 0xf	 /* mask of socket(2)'s type; the other bits are flags */
#define NETLINK_RDMA_ 20 /* netlink family of linux/rdma, through which libibverbs finds devices */
#define CALLS_OF_DEVICES 0xc0181b01 /* RDMA_VERBS_IOCTL */
#define OPEN_MAKES (O_CREAT | O_TRUNC)
#define OPEN_WRITES (OPEN_MAKES | O_ACCMODE | O_PATH)
/* mask of the operation; the other bits are flags */
#define FUTEX_OPERATION ((uint32_t)FUTEX_CMD_MASK)
#define A_THREAD (CLONE_VM | CLONE_THREAD | CLONE_SIGHAND)

/* If an argument is an int, the upper half of its register is undefined. */
#define INT UINT32_MAX
#define ALL UINT64_MAX

#define CALL(c) .name = #c, .call = SCMP_SYS(c)
/* clang-format off */
#define ALLOW(c) {CALL(c)}
#define ALLOW_IF(c, arg, bits, are) {CALL(c), .nargs = 1, .args = {{arg, bits, are}}}
#define ALLOW_IF_BOTH(c, arg1, bits1, are1, arg2, bits2, are2) \
	{CALL(c), .nargs = 2, .args = {{arg1, bits1, are1}, {arg2, bits2, are2}}}
#define ALLOW_FOR(c, for, arg, bits, are) \
	{CALL(c), .when = for, .nargs = 1, .args = {{arg, bits, are}}}
/* clang-format on */
#define A_SOCKET(family, kind) ALLOW_IF_BOTH(socket, 0, INT, family, 1, SOCK_KIND, kind)

const struct sandbox_rule sandbox_rules[] = {
	/* input and output */
	ALLOW(read),
	ALLOW(readv),
	ALLOW(pread64),
	ALLOW(write),
	ALLOW(writev),
	ALLOW(lseek),
	ALLOW(close),
	ALLOW(dup),
	ALLOW(dup3),
	/* descriptors; not allowed: owner, signal, lock, lease */
	ALLOW_IF(fcntl, 1, INT, F_GETFD),
	ALLOW_IF(fcntl, 1, INT, F_SETFD),
	ALLOW_IF(fcntl, 1, INT, F_GETFL),
	ALLOW_IF_BOTH(fcntl, 1, INT, F_SETFL, 2, O_ASYNC, 0),
	ALLOW_IF(fcntl, 1, INT, F_DUPFD),
	ALLOW_IF(fcntl, 1, INT, F_DUPFD_CLOEXEC),
	ALLOW_IF(ioctl, 1, INT, SIOCOUTQ),
	ALLOW_IF(ioctl, 1, INT, FIONREAD),
	ALLOW_IF(ioctl, 1, INT, FIONBIO),
	ALLOW_IF(ioctl, 1, INT, SIOCGIFINDEX),
	ALLOW_IF(ioctl, 1, INT, SIOCGIFNAME),
	ALLOW_FOR(ioctl, SANDBOX_WITH_DEVICES, 1, INT, CALLS_OF_DEVICES),
	/* files to read; Landlock restricts which */
	ALLOW_FOR(open, SANDBOX_WITHOUT_DEVICES, 1, OPEN_WRITES, 0),
	ALLOW_FOR(openat, SANDBOX_WITHOUT_DEVICES, 2, OPEN_WRITES, 0),
	ALLOW_FOR(open, SANDBOX_WITH_DEVICES, 1, OPEN_MAKES, 0),
	ALLOW_FOR(openat, SANDBOX_WITH_DEVICES, 2, OPEN_MAKES, 0),
	ALLOW(access),
	ALLOW(faccessat),
	ALLOW(faccessat2),
	ALLOW(stat),
	ALLOW(fstat),
	ALLOW(lstat),
	ALLOW(newfstatat),
	ALLOW(statx),
	ALLOW(readlink),
	ALLOW(readlinkat),
	ALLOW(getdents64),
	/* sockets; a local one for rpcbind, which closes the connection between registration and
	 * removal */
	A_SOCKET(AF_INET, SOCK_STREAM),
	A_SOCKET(AF_INET, SOCK_DGRAM),
	A_SOCKET(AF_INET6, SOCK_STREAM),
	A_SOCKET(AF_INET6, SOCK_DGRAM),
	{CALL(socket), .when = SANDBOX_WITH_RPCBIND, .nargs = 2,
	 .args = {{0, INT, AF_UNIX}, {1, SOCK_KIND, SOCK_STREAM}}},
	/* the kernel's lists of addresses and devices */
	ALLOW_IF_BOTH(socket, 0, INT, AF_NETLINK, 2, INT, NETLINK_ROUTE),
	ALLOW_IF_BOTH(socket, 0, INT, AF_NETLINK, 2, INT, NETLINK_RDMA_),
	ALLOW(bind),
	ALLOW(listen),
	ALLOW(accept),
	ALLOW(accept4),
	ALLOW(connect),
	ALLOW(shutdown),
	ALLOW(getsockname),
	ALLOW(getpeername),
	ALLOW(getsockopt),
	ALLOW(setsockopt),
	ALLOW(sendto),
	ALLOW(recvfrom),
	ALLOW(sendmsg),
	ALLOW(recvmsg),
	ALLOW(sendmmsg),
	ALLOW(recvmmsg),
	/* waiting */
	ALLOW(epoll_create1),
	ALLOW(epoll_ctl),
	ALLOW(epoll_wait),
	ALLOW(epoll_pwait),
	ALLOW(epoll_pwait2),
	ALLOW(eventfd2),
	ALLOW(timerfd_create),
	ALLOW(timerfd_settime),
	ALLOW(poll),
	ALLOW(ppoll),
	ALLOW(select),
	ALLOW(pselect6),
	ALLOW(pipe2),
	ALLOW(nanosleep),
	ALLOW(clock_nanosleep),
	ALLOW(restart_syscall),
	/* time, if the vDSO cannot tell; random numbers */
	ALLOW(clock_gettime),
	ALLOW(clock_getres),
	ALLOW(gettimeofday),
	ALLOW(time),
	ALLOW(getrandom),
	/* threads and signals, of this process */
	ALLOW_IF(clone, 0, A_THREAD, A_THREAD),
	{CALL(clone3),
	 /* a filter cannot see its arguments; after ENOSYS the C library uses clone */
	 .is_absent = true},
	{CALL(tgkill), .own_process = true},
	ALLOW_IF(prctl, 0, INT, PR_SET_NAME),
	ALLOW_IF(futex, 1, FUTEX_OPERATION, FUTEX_WAIT),
	ALLOW_IF(futex, 1, FUTEX_OPERATION, FUTEX_WAKE),
	ALLOW_IF(futex, 1, FUTEX_OPERATION, FUTEX_REQUEUE),
	ALLOW_IF(futex, 1, FUTEX_OPERATION, FUTEX_CMP_REQUEUE),
	ALLOW_IF(futex, 1, FUTEX_OPERATION, FUTEX_WAKE_OP),
	ALLOW_IF(futex, 1, FUTEX_OPERATION, FUTEX_WAIT_BITSET),
	ALLOW_IF(futex, 1, FUTEX_OPERATION, FUTEX_WAKE_BITSET),
	ALLOW(set_robust_list),
	ALLOW(rseq),
	ALLOW(gettid),
	ALLOW(getpid),
	ALLOW(sched_yield),
	ALLOW_IF(sched_getaffinity, 0, INT, 0),
	ALLOW_IF_BOTH(setpriority, 0, INT, PRIO_PROCESS, 1, INT, 0),
	ALLOW(membarrier),
	ALLOW(rt_sigaction),
	ALLOW(rt_sigprocmask),
	ALLOW(rt_sigreturn),
	ALLOW(sigaltstack),
	ALLOW(getrusage),
	ALLOW_IF_BOTH(prlimit64, 0, INT, 0, 2, ALL, 0),
	ALLOW(getrlimit),
	ALLOW(exit),
	ALLOW(exit_group),
	/* memory that is not executable: all libraries were loaded before */
	ALLOW(brk),
	ALLOW(munmap),
	ALLOW(mremap),
	ALLOW(madvise),
	ALLOW_IF(mmap, 2, PROT_EXEC, 0),
	ALLOW_IF(mprotect, 2, PROT_EXEC, 0),
	/* names and numbers of the process and of the machine */
	ALLOW(getuid),
	ALLOW(geteuid),
	ALLOW(getgid),
	ALLOW(getegid),
	ALLOW(uname),
	ALLOW(sysinfo),
};

const unsigned sandbox_nrules = sizeof(sandbox_rules) / sizeof(sandbox_rules[0]);
