/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inject PID THREAD READABLE OTHER: tries from inside what a thread of that process may do. The
 * thread's registers are set for a system call of ours, one step is made, and the registers are
 * restored. The process notices only an interrupted wait. Each call gives a line: its name, and the
 * kernel's answer.
 *
 * READABLE is a file that may be read, OTHER one that may not. With one more argument only harmless
 * calls are tried. Exit status 77: not possible on this machine.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_HERE = 77, ROOM = 1024, BELOW = 16384 };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static bool is_called(const char *pid, const char *thread, const char *name)
{
	char path[300], comm[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/task/%s/comm", pid, thread);
	f = fopen(path, "re");
	if (!f || !fgets(comm, sizeof(comm), f))
		die(path);
	fclose(f);
	comm[strcspn(comm, "\n")] = '\0';
	return strcmp(comm, name) == 0;
}

static pid_t find_thread(const char *pid, const char *name)
{
	char path[64];
	pid_t found = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	dir = opendir(path);
	if (!dir)
		die(path);
	for (const struct dirent *e = readdir(dir); e && !found; e = readdir(dir))
		if (e->d_name[0] != '.' && is_called(pid, e->d_name, name))
			found = (pid_t)strtol(e->d_name, NULL, 10);
	closedir(dir);
	if (!found) {
		fprintf(stderr, "no thread %s\n", name);
		exit(1);
	}
	return found;
}

#ifdef __x86_64__

static pid_t tid;
static struct user_regs_struct before; /* as it waits in a system call */
static uint64_t room;		       /* of its stack, for texts */

static void wait_stop(void)
{
	int status;

	if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		die("waitpid");
}

static void hold(void)
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		perror("ptrace");
		exit(errno == EPERM ? NOT_HERE : 1);
	}
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		die("interrupt");
	wait_stop();
	if (ptrace(PTRACE_GETREGS, tid, NULL, &before))
		die("registers");
	/* The thread is behind the system call in which it waits, and which must be made again. */
	errno = 0;
	if ((ptrace(PTRACE_PEEKTEXT, tid, before.rip - 2, NULL) & 0xffff) != 0x050f || errno) {
		fprintf(stderr, "it does not wait in a system call\n");
		exit(1);
	}
	room = (before.rsp - BELOW) & ~UINT64_C(15);
}

static void let_go(void)
{
	if (ptrace(PTRACE_SETREGS, tid, NULL, &before) || ptrace(PTRACE_DETACH, tid, NULL, NULL))
		die("detach");
}

/* put - @text where the thread can see it. Return: its address there. */
static long put(unsigned slot, const char *text)
{
	uint64_t at = room + (uint64_t)slot * ROOM;

	for (size_t i = 0; i <= strlen(text); i += sizeof(long)) {
		long word = 0;

		memcpy(&word, text + i, strnlen(text + i, sizeof(word)));
		if (ptrace(PTRACE_POKEDATA, tid, at + i, word))
			die("its stack");
	}
	return (long)at;
}

static long call(long number, long a, long b, long c, long d, long e)
{
	struct user_regs_struct regs = before;

	regs.rip -= 2;
	regs.rax = (unsigned long long)number;
	regs.orig_rax = (unsigned long long)-1;
	regs.rdi = (unsigned long long)a;
	regs.rsi = (unsigned long long)b;
	regs.rdx = (unsigned long long)c;
	regs.r10 = (unsigned long long)d;
	regs.r8 = (unsigned long long)e;
	regs.r9 = 0;
	if (ptrace(PTRACE_SETREGS, tid, NULL, &regs) || ptrace(PTRACE_SINGLESTEP, tid, NULL, NULL))
		die("step");
	wait_stop();
	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs))
		die("registers");
	return (long)regs.rax;
}

static void told(const char *name, long result)
{
	printf("%s %s\n", name, result >= 0 ? "OK" : strerrorname_np((int)-result));
}

/* A call that is meant to succeed; it leaves nothing behind. */
static void try_open(const char *name, long number, long a, long b, long c)
{
	long fd = call(number, a, b, c, 0, 0);

	told(name, fd);
	if (fd >= 0)
		(void)call(SYS_close, fd, 0, 0, 0, 0);
}

static void try_files(const char *readable, const char *other)
{
	long path = put(0, readable), elsewhere = put(1, other);

	try_open("open_readable", SYS_openat, AT_FDCWD, path, O_RDONLY);
	try_open("open_other", SYS_openat, AT_FDCWD, elsewhere, O_RDONLY);
	try_open("open_to_write", SYS_openat, AT_FDCWD, path, O_WRONLY);
	try_open("open_to_append", SYS_openat, AT_FDCWD, elsewhere, O_RDWR | O_APPEND);
}

static void try_sockets(void)
{
	try_open("socket_tcp", SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	try_open("socket_udp6", SYS_socket, AF_INET6, SOCK_DGRAM, 0);
	try_open("socket_routes", SYS_socket, AF_NETLINK, SOCK_RAW, 0);
	try_open("socket_unix", SYS_socket, AF_UNIX, SOCK_STREAM, 0);
	try_open("socket_raw", SYS_socket, AF_INET, SOCK_RAW, 6);
	try_open("socket_packet", SYS_socket, AF_PACKET, SOCK_DGRAM, 0);
	try_open("socket_audit", SYS_socket, AF_NETLINK, SOCK_RAW, 9);
}

/* Calls whose effect could not be undone if nothing prevented them. */
static void try_deeds(const char *readable, const char *other)
{
	long path = put(0, readable), elsewhere = put(1, other);

	told("rename", call(SYS_rename, path, elsewhere, 0, 0, 0));
	told("chmod", call(SYS_chmod, path, 0777, 0, 0, 0));
	told("mount", call(SYS_mount, path, path, 0, 4096 /* MS_BIND */, 0));
	path = put(0, "/bin/true");
	told("exec", call(SYS_execve, path, 0, 0, 0, 0));
	told("execveat", call(SYS_execveat, AT_FDCWD, path, 0, 0, 0));
	told("fork", call(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	told("vfork", call(SYS_vfork, 0, 0, 0, 0, 0));
	told("clone3", call(SYS_clone3, (long)room, 64, 0, 0, 0));
	told("ptrace", call(SYS_ptrace, PTRACE_SEIZE, getpid(), 0, 0, 0));
	told("process_vm_readv",
	     call(SYS_process_vm_readv, getpid(), (long)room, 1, (long)room, 1));
	told("kill", call(SYS_kill, getpid(), 0, 0, 0, 0));
	told("tgkill", call(SYS_tgkill, getpid(), getpid(), 0, 0, 0));
	told("prlimit", call(SYS_prlimit64, getpid(), 7, 0, (long)room, 0));
	told("setuid", call(SYS_setuid, 0, 0, 0, 0, 0));
	told("unshare", call(SYS_unshare, CLONE_NEWUSER, 0, 0, 0, 0));
	told("bpf", call(SYS_bpf, 0, (long)room, 0, 0, 0));
	told("io_uring_setup", call(SYS_io_uring_setup, 1, (long)room, 0, 0, 0));
	told("keyctl", call(SYS_keyctl, 0, 0, 0, 0, 0));
	told("code",
	     call(SYS_mmap, 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1));
	told("stack_as_code",
	     call(SYS_mprotect, (long)(room & ~UINT64_C(4095)), 4096, PROT_READ | PROT_EXEC, 0, 0));
}

int main(int argc, char **argv)
{
	if (argc < 5 || argc > 6 || strlen(argv[3]) >= ROOM || strlen(argv[4]) >= ROOM)
		return 2;
	tid = find_thread(argv[1], argv[2]);
	hold();
	try_files(argv[3], argv[4]);
	try_sockets();
	if (argc == 5)
		try_deeds(argv[3], argv[4]);
	let_go();
	return 0;
}

#else

int main(int argc, char **argv)
{
	if (argc >= 3)
		(void)find_thread(argv[1], argv[2]);
	return NOT_HERE;
}

#endif
