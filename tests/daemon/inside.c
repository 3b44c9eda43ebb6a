/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into a gateway: tries from inside what a worker's thread can do to other processes and
 * to files.
 *
 * - Each call of the filter's table (daemon/sandbox_rules.h) must be known here: either it takes no
 *   process, no owner and no path, or there are tries for it. A call in that table that is unknown
 *   here fails the test.
 * - Each system call number that is not in the table is called, and must be refused.
 * - Other calls that are known to reach a process or a file are made with arguments that would do
 *   so.
 *
 * INSIDE_OUT gets a line for each failure, and "done" at the end. Where to try:
 * - INSIDE_VICTIM: a process to reach;
 * - INSIDE_FOLDER: a folder that the configuration does not name, with "file" in it;
 * - INSIDE_LINK: a symbolic link to that file, in the folder of the configuration;
 * - INSIDE_CONFIGURATION and INSIDE_CONTROL: the configuration's file, and the path of the control
 *   socket.
 *
 * With INSIDE_WITHOUT_LANDLOCK the gateway finds a kernel without Landlock. With
 * INSIDE_WITH_RPCBIND it may make local sockets.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "daemon/sandbox_rules.h"
#include "tests/daemon/inside.h"

enum { TEXT = 300, NUMBERS = 600, FDS = 256 };

static int out = -1;
static bool landlock, landlock_is_hidden, with_rpcbind;
static long victim;
static const char *configuration, *control, *folder, *link_to_file;
static char file[TEXT], beside[TEXT], fresh[TEXT];
static char own_memory[4096] __attribute__((aligned(4096)));

static void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void tell(const char *fmt, ...)
{
	char line[TEXT];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	(void)!write(out, line, n < TEXT ? (size_t)n : TEXT - 1);
}

/* refused - @result has to be a failure for want of permission. */
static void refused(const char *what, long result)
{
	int error = errno;

	if (result < 0 && (error == EPERM || error == EACCES))
		return;
	tell("%s: %s\n", what, result >= 0 ? "it is done" : strerrordesc_np(error));
	if (result > 2 && result < FDS && result != out)
		close((int)result);
}

#define REFUSED(call, ...) refused(#call " " #__VA_ARGS__, syscall(SYS_##call, __VA_ARGS__))

/* --- calls of the table that could reach somebody --- */

/* A datagram to itself, so that the owner of the socket hears of it. */
static int listening_to_itself(struct sockaddr_in *at)
{
	socklen_t len = sizeof(*at);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*at = (struct sockaddr_in){.sin_family = AF_INET,
				   .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
	if (bind(fd, (struct sockaddr *)at, sizeof(*at)) ||
	    getsockname(fd, (struct sockaddr *)at, &len))
		tell("no datagrams: %s\n", strerrordesc_np(errno));
	return fd;
}

static void hear_oneself(int fd, const struct sockaddr_in *at)
{
	(void)!sendto(fd, "x", 1, 0, (const struct sockaddr *)at, sizeof(*at));
	close(fd);
}

static bool is_allowed(int call, unsigned arg, uint64_t value)
{
	for (unsigned i = 0; i < sandbox_nrules; i++)
		if (sandbox_rules[i].call == call && sandbox_rules[i].args[0].number == arg &&
		    sandbox_rules[i].args[0].value == value)
			return true;
	return false;
}

static void try_fcntl(void)
{
	struct sockaddr_in at;
	int fd = listening_to_itself(&at);
	struct {
		int type;
		pid_t pid;
	} owner = {.type = 1 /* F_OWNER_PID */, .pid = (pid_t)victim};

	REFUSED(fcntl, fd, 15 /* F_SETOWN_EX */, &owner);
	REFUSED(fcntl, fd, F_SETOWN, victim);
	REFUSED(fcntl, fd, 10 /* F_SETSIG */, SIGKILL);
	REFUSED(fcntl, fd, F_SETFL, O_NONBLOCK | O_ASYNC);
	hear_oneself(fd, &at);
	for (int command = 0; command < 2000; command++)
		if (!is_allowed(SYS_fcntl, 1, (uint64_t)command) &&
		    (syscall(SYS_fcntl, out, command, 0) >= 0 || errno != EPERM))
			tell("fcntl: command %d is let through\n", command);
}

static void try_ioctl(void)
{
	/* Direction and size are the upper half of a request. */
	static const unsigned shapes[] = {0,	      0x40040000, 0x80040000, 0xc0040000,
					  0x40080000, 0x80080000, 0xc0080000};
	struct sockaddr_in at;
	int fd = listening_to_itself(&at), pid = (int)victim, on = 1;

	REFUSED(ioctl, fd, FIOSETOWN, &pid);
	REFUSED(ioctl, fd, SIOCSPGRP, &pid);
	REFUSED(ioctl, fd, FIOASYNC, &on);
	hear_oneself(fd, &at);
	for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (unsigned request = shapes[i]; request <= (shapes[i] | 0xffff); request++)
			if (!is_allowed(SYS_ioctl, 1, request) &&
			    (syscall(SYS_ioctl, -1, request, 0) >= 0 || errno != EPERM))
				tell("ioctl: request %#x is let through\n", request);
}

/* A futex for priorities holds the number of the thread that owns it: that thread then inherits priorities. */
static void try_futex(void)
{
	const struct timespec past = {.tv_sec = 1};
	uint32_t owned = (uint32_t)victim, other = 0;

	REFUSED(futex, &owned, FUTEX_LOCK_PI, 0, &past, 0, 0);
	REFUSED(futex, &owned, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, 0, &past, 0, 0);
	REFUSED(futex, &owned, FUTEX_TRYLOCK_PI, 0, 0, 0, 0);
	REFUSED(futex, &other, FUTEX_CMP_REQUEUE_PI, 1, 1, &owned, 0);
	for (int op = 0; op < FUTEX_PRIVATE_FLAG; op++)
		if (!is_allowed(SYS_futex, 1, (uint64_t)op) &&
		    (syscall(SYS_futex, &other, op, 0, &past, 0, 0) >= 0 || errno != EPERM))
			tell("futex: operation %d is let through\n", op);
}

static void try_opening(const char *what, long call, bool at)
{
	static const int flags[] = {
		O_RDONLY | O_DIRECTORY,	       O_RDONLY, O_WRONLY,	    O_RDWR, O_PATH,
		O_WRONLY | O_APPEND | O_CREAT, O_TRUNC,	 O_TMPFILE | O_RDWR};
	char environment[TEXT], words[TEXT];
	const char *const paths[] = {folder, file, fresh, beside, link_to_file, environment, words};

	snprintf(environment, sizeof(environment), "/proc/%ld/environ", victim);
	snprintf(words, sizeof(words), "/proc/%ld/cmdline", victim);
	for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		for (unsigned f = 0; f < sizeof(flags) / sizeof(flags[0]); f++) {
			long fd = at ? syscall(call, AT_FDCWD, paths[i], flags[f], 0600)
				     : syscall(call, paths[i], flags[f], 0600);
			int error = errno;

			if (fd >= 0)
				close((int)fd);
			/* The filter keeps no file from being read: Landlock does. */
			if (fd < 0 && (error == EPERM || error == EACCES))
				continue;
			if (!(flags[f] & ~O_DIRECTORY) && (!landlock || fd < 0))
				continue;
			tell("%s %s %#o: %s\n", what, paths[i], (unsigned)flags[f],
			     fd >= 0 ? "it is open" : strerrordesc_np(error));
		}
}

/* By what is open already: folders, and the links to what is open that a process finds of itself. */
static void try_opening_from(int from)
{
	char way[TEXT], own[TEXT];

	snprintf(way, sizeof(way), "../../%ld/environ", victim);
	snprintf(own, sizeof(own), "/proc/self/fd/%d", from);
	for (int fd = 0; fd < FDS; fd++) {
		char number[TEXT];

		snprintf(number, sizeof(number), "%d", fd);
		if (syscall(SYS_openat, from, number, O_WRONLY) >= 0)
			tell("openat: what is open as %d is open to write, from %d\n", fd, from);
	}
	if (syscall(SYS_openat, from, way, O_RDONLY) >= 0)
		tell("openat %d %s: it is open\n", from, way);
	if (syscall(SYS_openat, from, "fresh", O_WRONLY | O_CREAT, 0600) >= 0)
		tell("openat %d: a file was made\n", from);
	if (syscall(SYS_openat, AT_FDCWD, own, O_RDWR) >= 0)
		tell("openat %s: it is open to write\n", own);
}

#ifdef SYS_open
static void try_open(void)
{
	try_opening("open", SYS_open, false);
}
#endif

static void try_openat(void)
{
	try_opening("openat", SYS_openat, true);
	REFUSED(openat, AT_FDCWD, configuration, O_WRONLY);
	REFUSED(openat, AT_FDCWD, configuration, O_RDONLY | O_TRUNC);
	for (int fd = 0; fd < FDS; fd++)
		try_opening_from(fd);
}

/* Reading a link to a file changes nothing; for a process it must be refused. */
static void try_readlink(void)
{
	char exe[TEXT], to[TEXT];

	snprintf(exe, sizeof(exe), "/proc/%ld/exe", victim);
	REFUSED(readlinkat, AT_FDCWD, exe, to, sizeof(to));
}

static void try_socket(void)
{
	if (!with_rpcbind)
		REFUSED(socket, AF_UNIX, SOCK_STREAM, 0);
	REFUSED(socket, AF_UNIX, SOCK_DGRAM, 0);
	REFUSED(socket, AF_UNIX, SOCK_SEQPACKET, 0);
	REFUSED(socket, AF_INET, SOCK_RAW, 6);
	REFUSED(socket, AF_PACKET, SOCK_DGRAM, 0);
	REFUSED(socket, AF_NETLINK, SOCK_RAW, 9 /* audit */);
	REFUSED(socket, AF_VSOCK, SOCK_STREAM, 0);
	REFUSED(socket, AF_ALG, SOCK_SEQPACKET, 0);
}

static bool is_local(int fd)
{
	struct sockaddr_un is = {.sun_family = AF_UNSPEC};
	socklen_t len = sizeof(is);

	return getsockname(fd, (struct sockaddr *)&is, &len) == 0 && is.sun_family == AF_UNIX;
}

static struct sockaddr_un at_path(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	snprintf(at.sun_path, sizeof(at.sun_path), "%.100s", path);
	return at;
}

/* Each local socket that the process has, such as that to the service manager; and one that it makes, if it may. */
static void try_local(const char *what, int (*reach)(int fd))
{
	int made = with_rpcbind ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
	unsigned tried = 0;

	if (with_rpcbind && made < 0)
		tell("%s: no local socket can be made\n", what);
	for (int fd = 0; fd < FDS; fd++) {
		if (!is_local(fd))
			continue;
		tried++;
		if (reach(fd) >= 0)
			tell("%s: it is done, by descriptor %d\n", what, fd);
	}
	if (!tried)
		tell("%s: the process has no local socket to try with\n", what);
	if (made >= 0)
		close(made);
}

static int make_file(int fd)
{
	const struct sockaddr_un at = at_path(fresh);

	return bind(fd, (const struct sockaddr *)&at, sizeof(at));
}

static void try_bind(void)
{
	try_local("bind", make_file);
}

static int reach_file(int fd)
{
	const struct sockaddr_un at = at_path(file), none = at_path(fresh);

	if (connect(fd, (const struct sockaddr *)&none, sizeof(none)) == 0)
		return 0;
	return connect(fd, (const struct sockaddr *)&at, sizeof(at));
}

static void try_connect(void)
{
	try_local("connect", reach_file);
}

static int send_to_file(int fd)
{
	const struct sockaddr_un at = at_path(file), none = at_path(fresh);
	const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;

	if (sendto(fd, "x", 1, flags, (const struct sockaddr *)&none, sizeof(none)) >= 0)
		return 0;
	return (int)sendto(fd, "x", 1, flags, (const struct sockaddr *)&at, sizeof(at));
}

static void try_sendto(void)
{
	try_local("sendto", send_to_file);
}

/* As somebody else: what a service manager goes by. */
static int send_as_another(int fd)
{
	const struct ucred other = {.pid = (pid_t)victim, .uid = getuid(), .gid = getgid()};
	union {
		struct cmsghdr head;
		char octets[CMSG_SPACE(sizeof(other))];
	} c = {.head = {.cmsg_len = CMSG_LEN(sizeof(other)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_CREDENTIALS}};
	struct sockaddr_un to = at_path(fresh);
	struct iovec iov = {.iov_base = own_memory, .iov_len = 1};
	struct msghdr msg = {.msg_name = &to,
			     .msg_namelen = sizeof(to),
			     .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = c.octets,
			     .msg_controllen = sizeof(c.octets)};
	int type = 0, sent;
	socklen_t len = sizeof(type);

	memcpy(CMSG_DATA(&c.head), &other, sizeof(other));
	sent = (int)sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_DGRAM)
		refused("sendmsg with the credentials of another", sent);
	return sent;
}

static void try_credentials(void)
{
	try_local("sendmsg", send_as_another);
}

static void try_clone(void)
{
	static const unsigned long thread[] = {CLONE_VM, CLONE_THREAD, CLONE_SIGHAND};
	const unsigned long all = CLONE_VM | CLONE_THREAD | CLONE_SIGHAND;

	REFUSED(clone, SIGCHLD, 0, 0, 0, 0);
	REFUSED(clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0, 0, 0, 0);
	REFUSED(clone, CLONE_PARENT | SIGKILL, 0, 0, 0, 0);
	for (unsigned i = 0; i < 3; i++)
		REFUSED(clone, all & ~thread[i], 0, 0, 0, 0);
}

static void try_tgkill(void)
{
	REFUSED(tgkill, victim, victim, SIGTERM);
	REFUSED(tgkill, -1, victim, SIGTERM);
	/* Another's thread is none of this process. */
	if (syscall(SYS_tgkill, getpid(), victim, SIGTERM) == 0)
		tell("tgkill: a thread of another process was signalled\n");
}

static void try_prctl(void)
{
	for (int option = 0; option < 256; option++)
		if (option != PR_SET_NAME &&
		    (syscall(SYS_prctl, option, victim, 0, 0, 0) >= 0 || errno != EPERM))
			tell("prctl: option %d is let through\n", option);
	REFUSED(prctl, 0x59616d61 /* PR_SET_PTRACER */, victim, 0, 0, 0);
}

static void try_affinity(void)
{
	cpu_set_t set;

	REFUSED(sched_getaffinity, victim, sizeof(set), &set);
}

static void try_priority(void)
{
	REFUSED(setpriority, PRIO_PROCESS, victim, 19);
	REFUSED(setpriority, PRIO_PGRP, 0, 19);
	REFUSED(setpriority, PRIO_USER, 0, 19);
}

static void try_limits(void)
{
	struct rlimit limit = {1, 1};

	REFUSED(prlimit64, victim, RLIMIT_NOFILE, 0, &limit);
	REFUSED(prlimit64, victim, RLIMIT_CPU, &limit, 0);
	REFUSED(prlimit64, 0, RLIMIT_CPU, &limit, 0);
}

static void try_mmap(void)
{
	REFUSED(mmap, 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void try_mprotect(void)
{
	REFUSED(mprotect, own_memory, sizeof(own_memory), PROT_READ | PROT_EXEC);
}

/* --- the table: each call is here --- */

static const struct known {
	const char *name;
	void (*run)(void); /* NULL: takes no process, no owner and no path that it could change */
} known[] = {
	{"read", NULL},
	{"readv", NULL},
	{"pread64", NULL},
	{"write", NULL},
	{"writev", NULL},
	{"lseek", NULL},
	{"close", NULL},
	{"dup", NULL},
	{"dup3", NULL},
	{"fcntl", try_fcntl},
	{"ioctl", try_ioctl},
#ifdef SYS_open
	{"open", try_open},
#endif
	{"openat", try_openat},
	/* these tell of a file what its folder lets everybody know */
	{"access", NULL},
	{"faccessat", NULL},
	{"faccessat2", NULL},
	{"stat", NULL},
	{"fstat", NULL},
	{"lstat", NULL},
	{"newfstatat", NULL},
	{"statx", NULL},
	{"readlink", try_readlink},
	{"readlinkat", try_readlink},
	{"getdents64", NULL},
	{"socket", try_socket},
	{"bind", try_bind},
	{"listen", NULL},
	{"accept", NULL},
	{"accept4", NULL},
	{"connect", try_connect},
	{"shutdown", NULL},
	{"getsockname", NULL},
	{"getpeername", NULL},
	{"getsockopt", NULL},
	{"setsockopt", NULL},
	{"sendto", try_sendto},
	{"recvfrom", NULL},
	{"sendmsg", try_credentials},
	{"recvmsg", NULL},
	{"sendmmsg", try_credentials},
	{"recvmmsg", NULL},
	{"epoll_create1", NULL},
	{"epoll_ctl", NULL},
	{"epoll_wait", NULL},
	{"epoll_pwait", NULL},
	{"epoll_pwait2", NULL},
	{"eventfd2", NULL},
	{"timerfd_create", NULL},
	{"timerfd_settime", NULL},
	{"poll", NULL},
	{"ppoll", NULL},
	{"select", NULL},
	{"pselect6", NULL},
	{"pipe2", NULL},
	{"nanosleep", NULL},
	{"clock_nanosleep", NULL},
	{"restart_syscall", NULL},
	{"clock_gettime", NULL},
	{"clock_getres", NULL},
	{"gettimeofday", NULL},
	{"time", NULL},
	{"getrandom", NULL},
	{"clone", try_clone},
	{"clone3", NULL}, /* see refuses_what_is_not_in_the_table() */
	{"tgkill", try_tgkill},
	{"prctl", try_prctl},
	{"futex", try_futex},
	{"set_robust_list", NULL},
	{"rseq", NULL},
	{"gettid", NULL},
	{"getpid", NULL},
	{"sched_yield", NULL},
	{"sched_getaffinity", try_affinity},
	{"setpriority", try_priority},
	{"membarrier", NULL},
	{"rt_sigaction", NULL},
	{"rt_sigprocmask", NULL},
	{"rt_sigreturn", NULL},
	{"sigaltstack", NULL},
	{"getrusage", NULL},
	{"prlimit64", try_limits},
	{"getrlimit", NULL},
	{"exit", NULL},
	{"exit_group", NULL},
	{"brk", NULL},
	{"munmap", NULL},
	{"mremap", NULL},
	{"madvise", NULL},
	{"mmap", try_mmap},
	{"mprotect", try_mprotect},
	{"getuid", NULL},
	{"geteuid", NULL},
	{"getgid", NULL},
	{"getegid", NULL},
	{"uname", NULL},
	{"sysinfo", NULL},
};

static const struct known *find(const char *name)
{
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, name) == 0)
			return &known[i];
	return NULL;
}

static bool is_first_of_its_call(unsigned rule)
{
	for (unsigned i = 0; i < rule; i++)
		if (sandbox_rules[i].call == sandbox_rules[rule].call)
			return false;
	return true;
}

static void tries_what_is_in_the_table(void)
{
	for (unsigned i = 0; i < sandbox_nrules; i++) {
		const struct known *k = find(sandbox_rules[i].name);

		if (!k)
			tell("%s: the filter allows a call that this test does not know\n",
			     sandbox_rules[i].name);
		else if (k->run && is_first_of_its_call(i))
			k->run();
	}
}

/* The kernel lets these two pass every filter: they act on the thread alone that a tracer has put them into. */
static bool passes_filters(int number)
{
#ifdef __x86_64__
	return number == 335 /* uretprobe */ || number == 336 /* uprobe */;
#else
	(void)number;
	return false;
#endif
}

static void refuses_what_is_not_in_the_table(void)
{
	for (int number = 0; number < NUMBERS; number++) {
		int want = EPERM;
		bool allowed = passes_filters(number);

		for (unsigned i = 0; i < sandbox_nrules; i++)
			if (sandbox_rules[i].call == number) {
				allowed |= !sandbox_rules[i].is_absent;
				want = ENOSYS;
			}
		if (!allowed && (syscall(number, 0, 0, 0, 0, 0, 0) >= 0 || errno != want))
			tell("system call %d: it is not in the table, and let through\n", number);
	}
}

/* --- calls that are in no table, with arguments that would do it --- */

static void reach_processes(void)
{
	struct iovec iov = {.iov_base = own_memory, .iov_len = 8};
	siginfo_t info = {.si_signo = SIGTERM, .si_code = SI_QUEUE};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGKILL};
	unsigned long mask = 1;
	int timer;

	info.si_pid = getpid();
	event._sigev_un._tid = (pid_t)victim;
	REFUSED(kill, victim, SIGTERM);
	REFUSED(kill, -victim, SIGTERM);
	REFUSED(tkill, victim, SIGTERM);
	REFUSED(rt_sigqueueinfo, victim, SIGTERM, &info);
	REFUSED(rt_tgsigqueueinfo, victim, victim, SIGTERM, &info);
	REFUSED(pidfd_open, victim, 0);
	REFUSED(pidfd_send_signal, out, SIGTERM, 0, 0);
	REFUSED(pidfd_getfd, out, 0, 0);
	REFUSED(timer_create, CLOCK_MONOTONIC, &event, &timer);
	REFUSED(ptrace, PTRACE_SEIZE, victim, 0, 0);
	REFUSED(process_vm_readv, victim, &iov, 1, &iov, 1, 0);
	REFUSED(process_vm_writev, victim, &iov, 1, &iov, 1, 0);
	REFUSED(process_madvise, out, &iov, 1, 4, 0);
	REFUSED(kcmp, victim, getpid(), 0, 0, 0);
	REFUSED(perf_event_open, own_memory, victim, -1, -1, 0);
	REFUSED(sched_setaffinity, victim, sizeof(mask), &mask);
	REFUSED(sched_setscheduler, victim, 0, own_memory);
	REFUSED(sched_setattr, victim, own_memory, 0);
	REFUSED(ioprio_set, 1, victim, 3 << 13);
	REFUSED(setpgid, victim, victim);
	REFUSED(move_pages, victim, 0, 0, 0, 0, 0);
	REFUSED(migrate_pages, victim, 0, 0, 0);
	REFUSED(get_robust_list, victim, own_memory, own_memory);
	REFUSED(mq_notify, out, &event);
	REFUSED(bpf, 0, own_memory, 0);
	REFUSED(io_uring_setup, 1, own_memory);
	REFUSED(setns, out, 0);
	REFUSED(unshare, CLONE_NEWUSER);
	REFUSED(reboot, 0, 0, 0, 0);
	REFUSED(execve, "/bin/true", 0, 0);
	REFUSED(execveat, AT_FDCWD, "/bin/true", 0, 0, 0);
}

static void reach_files(const char *path)
{
	REFUSED(unlinkat, AT_FDCWD, path, 0);
	REFUSED(unlinkat, AT_FDCWD, folder, AT_REMOVEDIR);
	REFUSED(renameat2, AT_FDCWD, path, AT_FDCWD, fresh, 0);
	REFUSED(linkat, AT_FDCWD, path, AT_FDCWD, fresh, 0);
	REFUSED(symlinkat, path, AT_FDCWD, fresh);
	REFUSED(mkdirat, AT_FDCWD, fresh, 0700);
	REFUSED(mknodat, AT_FDCWD, fresh, S_IFIFO | 0600, 0);
	REFUSED(mknodat, AT_FDCWD, fresh, S_IFREG | 0600, 0);
	REFUSED(truncate, path, 0);
	REFUSED(fchmodat, AT_FDCWD, path, 0777);
	REFUSED(fchownat, AT_FDCWD, path, 1, 1, 0);
	REFUSED(utimensat, AT_FDCWD, path, 0, 0);
	REFUSED(setxattr, path, "user.x", "x", 1, 0);
	REFUSED(removexattr, path, "user.x");
	REFUSED(openat2, AT_FDCWD, path, own_memory, 24);
	REFUSED(name_to_handle_at, AT_FDCWD, path, own_memory, out, 0);
	REFUSED(open_by_handle_at, out, own_memory, O_RDONLY);
	REFUSED(inotify_init1, 0);
	REFUSED(fanotify_init, 0, 0);
	REFUSED(memfd_create, "x", 0);
	REFUSED(mq_open, "/x", O_CREAT, 0600, 0);
	REFUSED(mq_unlink, "/x");
	REFUSED(mount, path, path, 0, 4096 /* MS_BIND */, 0);
	REFUSED(umount2, folder, 2);
	REFUSED(chroot, folder);
	REFUSED(chdir, folder);
	REFUSED(acct, path);
	REFUSED(swapon, path, 0);
#ifdef SYS_unlink /* these, and others, some machines have by newer names alone */
	REFUSED(unlink, path);
	REFUSED(rename, path, fresh);
	REFUSED(link, path, fresh);
	REFUSED(symlink, path, fresh);
	REFUSED(mkdir, fresh, 0700);
	REFUSED(rmdir, folder);
	REFUSED(mknod, fresh, S_IFIFO | 0600, 0);
	REFUSED(creat, fresh, 0600);
	REFUSED(chmod, path, 0777);
	REFUSED(chown, path, 1, 1);
	REFUSED(utimes, path, 0);
#endif
}

static void try_all(void)
{
	landlock_is_hidden = false;
	tries_what_is_in_the_table();
	reach_processes();
	reach_files(file);
	reach_files(beside);
	reach_files(control);
	reach_files(configuration);
	reach_files(link_to_file);
	inside_foreign(tell, victim, file);
	refuses_what_is_not_in_the_table();
	tell("done landlock=%d\n", landlock);
	close(out);
}

__attribute__((constructor)) static void prepare(void)
{
	const char *to = getenv("INSIDE_OUT"), *pid = getenv("INSIDE_VICTIM");

	folder = getenv("INSIDE_FOLDER");
	link_to_file = getenv("INSIDE_LINK");
	configuration = getenv("INSIDE_CONFIGURATION");
	control = getenv("INSIDE_CONTROL");
	if (!to || !pid || !folder || !link_to_file || !configuration || !control)
		return;
	victim = strtol(pid, NULL, 10);
	snprintf(file, sizeof(file), "%s/file", folder);
	snprintf(fresh, sizeof(fresh), "%s/fresh", folder);
	snprintf(beside, sizeof(beside), "%s.beside", control);
	with_rpcbind = getenv("INSIDE_WITH_RPCBIND");
	landlock_is_hidden = getenv("INSIDE_WITHOUT_LANDLOCK");
	landlock = syscall(SYS_landlock_create_ruleset, NULL, 0, 1 /* its version */) > 0;
	out = open(to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* All of the gateway's own calls to Landlock come this way, and here their absence can be feigned. */
long syscall(long number, ...)
{
	static long (*real)(long, ...);
	va_list ap;
	long a[6];

	if (landlock_is_hidden && number == SYS_landlock_create_ruleset) {
		errno = ENOSYS;
		return -1;
	}
	va_start(ap, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* A worker's first deed, in its own thread. */
int pthread_setname_np(pthread_t thread, const char *name)
{
	int (*real)(pthread_t, const char *) = dlsym(RTLD_NEXT, "pthread_setname_np");

	if (out >= 0 && strcmp(name, "worker-0") == 0)
		try_all();
	return real(thread, name);
}
