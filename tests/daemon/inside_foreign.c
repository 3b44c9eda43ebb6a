/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A separate thread makes each call: the filter ends a thread that uses system call numbers of
 * another ABI, and a kernel without that ABI may answer with SIGSEGV.
 */
#include "tests/daemon/inside.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__

enum { PATH_BYTES = 4096, X32 = 0x40000000, KILL_I386 = 37, UNLINK_I386 = 10 };

struct call {
	const char *name;
	bool is_i386;
	long number, arg1, arg2, result; /* result: as the kernel returns it */
};

static void end_thread(int signal)
{
	(void)signal;
	syscall(SYS_exit, 0);
}

static void *make(void *arg)
{
	struct call *c = arg;
	sigset_t fault;

	sigemptyset(&fault);
	sigaddset(&fault, SIGSEGV);
	pthread_sigmask(SIG_UNBLOCK, &fault, NULL);
	if (c->is_i386)
		__asm__ volatile("int $0x80"
				 : "=a"(c->result)
				 : "a"(c->number), "b"(c->arg1), "c"(c->arg2)
				 : "memory", "r8", "r9", "r10", "r11");
	else
		__asm__ volatile("syscall"
				 : "=a"(c->result)
				 : "a"(c->number), "D"(c->arg1), "S"(c->arg2)
				 : "memory", "rcx", "r11");
	return NULL;
}

void inside_foreign(void (*tell)(const char *fmt, ...), long victim, const char *file)
{
	struct sigaction ends = {.sa_handler = end_thread}, was;
	/* i386 sees the lower half of an address. */
	char *path = mmap(NULL, PATH_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct call calls[] = {
		{"kill of i386", true, KILL_I386, victim, SIGTERM, -1},
		{"unlink of i386", true, UNLINK_I386, (long)(intptr_t)path, 0, -1},
		{"kill of x32", false, X32 | SYS_kill, victim, SIGTERM, -1},
		{"unlink of x32", false, X32 | SYS_unlink, (long)(intptr_t)path, 0, -1},
	};

	if (path == MAP_FAILED) {
		tell("no memory below 2 GiB for a path\n");
		return;
	}
	snprintf(path, PATH_BYTES, "%s", file);
	sigaction(SIGSEGV, &ends, &was);
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, make, &calls[i]) || pthread_join(thread, NULL))
			tell("%s: no thread to make it\n", calls[i].name);
		else if ((int)calls[i].result >= 0)
			tell("%s: it is done\n", calls[i].name);
	}
	sigaction(SIGSEGV, &was, NULL);
	munmap(path, PATH_BYTES);
}

#else

void inside_foreign(void (*tell)(const char *fmt, ...), long victim, const char *file)
{
	(void)tell;
	(void)victim;
	(void)file;
}

#endif
