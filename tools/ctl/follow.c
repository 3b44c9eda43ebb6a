/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ctl/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "base/mem.h"
#include "tools/ctl/ask.h"
#include "tools/ctl/pcapng.h"
#include "tools/ctl/rpc.h"
#include "tools/ctl/show.h"

#define SECOND 1000000000U
enum { PAUSE_NS = 100000000, TAIL_S = 3 };

static volatile sig_atomic_t enough;
static sigset_t heard; /* signal mask of follow_sleep() */

static void on_signal(int signo)
{
	(void)signo;
	enough = 1;
}

void follow_catch(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &heard);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

bool follow_sleep(uint64_t ns, int fd)
{
	struct timespec pause = {.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)};
	struct pollfd input = {.fd = fd, .events = POLLIN};

	if (!enough)
		(void)ppoll(&input, 1, &pause, &heard);
	return !enough;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

struct follow {
	const struct ctl_options *o;
	struct show show;
	struct pcapng file; /* used by "capture" */
	uint64_t count, lost;
	uint64_t ends; /* when .is_last is set: the end of the tail */
	bool has_more, is_over, is_last;
	int failed; /* errno of the write that failed; 0: none */
};

/* After a signal, or at the end of the time, records that are already there are still fetched: for
 * several answers, but with a limit, because new ones may arrive all the time. */
static void look_at_time(struct follow *f, uint64_t now)
{
	if (f->is_last || (now < f->ends && follow_sleep(0, -1)))
		return;
	f->is_last = true;
	f->ends = now + (uint64_t)TAIL_S * SECOND;
}

/* A write failed: errno has the reason. If errno is 0, memory is short. */
static void fail_write(struct follow *f)
{
	f->failed = f->failed ? f->failed : errno ? errno : ENOMEM;
	f->is_over = true;
}

static int refuse_write(const struct follow *f, char *why)
{
	snprintf(why, CTL_WHY, "the output cannot be written: %s", strerror(f->failed));
	return ASK_REFUSED;
}

static int run(struct follow *f, ask_line *told, char *why)
{
	struct ask_link link;
	int status = ask_open(&link, f->o, why);

	f->ends = f->o->time_ns ? now_ns() + f->o->time_ns : UINT64_MAX;
	follow_catch();
	if (status == ASK_DONE)
		status = ask_say(&link, f->o->command, told, f, why);
	while (status == ASK_DONE && !f->is_over) {
		uint64_t now = now_ns(), pause;

		look_at_time(f, now);
		f->has_more = false;
		status = ask_say(&link, CONTROL_MORE, told, f, why);
		if (fflush(stdout))
			fail_write(f);
		if (f->is_last && (!f->has_more || now >= f->ends))
			break;
		pause = f->has_more ? 0 : f->ends - now < PAUSE_NS ? f->ends - now : PAUSE_NS;
		(void)follow_sleep(pause, -1);
	}
	ask_close(&link);
	if (status == ASK_DONE && !f->is_over && f->has_more)
		fprintf(stderr,
			"rpcrdma-gwctl: there were more records than could be read in %d s\n",
			TAIL_S);
	if (status != ASK_DONE || !f->failed)
		return status;
	return refuse_write(f, why);
}

static void take_done(struct follow *f, struct json_object *done)
{
	struct json_object *left = NULL;

	f->lost = show_number(done, "lost");
	f->has_more =
		json_object_object_get_ex(done, "left", &left) && json_object_get_boolean(left);
}

static void on_rpc(void *arg, const char *name, struct json_object *value, const char *line)
{
	struct follow *f = arg;

	if (strcmp(name, "done") == 0)
		take_done(f, value);
	if (strcmp(name, "rpc") != 0 || f->is_over)
		return;
	if (f->o->json)
		puts(line);
	else
		rpc_show(&f->show, value);
	f->count++;
	f->is_over = f->count == f->o->count || ferror(stdout);
}

int follow_trace(const struct ctl_options *o, char *why)
{
	struct follow f = {.o = o, .show = {.to = stdout, .o = o}};
	int status = run(&f, on_rpc, why);

	if (status == ASK_DONE && o->json)
		printf("{\"done\":{\"rpcs\":%" PRIu64 ",\"lost\":%" PRIu64 "}}\n", f.count, f.lost);
	else if (status == ASK_DONE)
		printf("%" PRIu64 " RPC%s%s\n", f.count, f.count == 1 ? "" : "s",
		       f.lost ? "; others came too fast to be told" : "");
	return status;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decode in place. Return: octets, or 0. */
static size_t unhex(const char *text, size_t len, uint8_t *to)
{
	for (size_t i = 0; i + 1 < len; i += 2) {
		int high = digit(text[i]), low = digit(text[i + 1]);

		if (high < 0 || low < 0)
			return 0;
		to[i / 2] = (uint8_t)(high << 4 | low);
	}
	return len / 2;
}

static const char *text_of(struct json_object *o, const char *name)
{
	struct json_object *value = NULL;
	const char *text = NULL;

	if (json_object_object_get_ex(o, name, &value))
		text = json_object_get_string(value);
	return text ? text : "";
}

static enum pcapng_result add_message(struct follow *f, struct json_object *o)
{
	const char *hex = text_of(o, "octets");
	size_t len = strlen(hex);
	uint8_t *octets = mem_zalloc(len / 2 + 1);
	struct pcapng_message m = {.session = show_number(o, "session"),
				   .time_ns = show_number(o, "time_ns"),
				   .route = text_of(o, "route"),
				   .peer = text_of(o, "peer"),
				   .local = text_of(o, "local"),
				   .is_server_leg = strcmp(text_of(o, "leg"), "server") == 0,
				   .is_sent = strcmp(text_of(o, "from"), "gateway") == 0,
				   .octets = octets};
	enum pcapng_result result;

	if (!octets)
		return PCAPNG_FAILED;
	m.len = unhex(hex, len, octets);
	m.whole = show_number(o, "length");
	result = m.len ? pcapng_add(&f->file, &m) : PCAPNG_OK;
	mem_free(octets);
	return result;
}

static void on_message(void *arg, const char *name, struct json_object *value, const char *line)
{
	struct follow *f = arg;

	(void)line;
	if (strcmp(name, "done") == 0)
		take_done(f, value);
	if (strcmp(name, "message") != 0 || f->is_over)
		return;
	errno = 0;
	switch (add_message(f, value)) {
	case PCAPNG_OK:
		f->count++;
		break;
	case PCAPNG_FULL:
		f->is_over = true;
		break;
	case PCAPNG_FAILED:
		fail_write(f);
		break;
	}
}

/*
 * State:  a capture holds contents and names of files.
 * Danger: a file that already exists may belong to another user, may be open in another user's
 *         program whatever its mode becomes, or may be a link to a file that must not change.
 * Rule:   the file is created here, and only this user can read it.
 * Pinned: tests/planted/run:case_capture
 */
static FILE *open_file(const char *path, const char **why)
{
	int fd;
	FILE *f;

	if (strcmp(path, "-") == 0)
		return stdout;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		*why = errno == EEXIST ? "it is there already: remove it, or name another file"
				       : strerror(errno);
	if (!f && fd >= 0)
		close(fd);
	return f;
}

int follow_capture(const struct ctl_options *o, char *why)
{
	struct follow f = {.o = o};
	const char *problem = NULL;
	FILE *to = open_file(o->file, &problem);
	int status = ASK_REFUSED;

	if (!to) {
		snprintf(why, CTL_WHY, "%.150s: %.80s", o->file, problem);
		show_clean(why);
		return status;
	}
	if (pcapng_begin(&f.file, to, o->size ? o->size : UINT64_MAX))
		status = run(&f, on_message, why);
	else
		snprintf(why, CTL_WHY, "%.150s: it cannot be written, or has no room", o->file);
	if (fflush(to) && status == ASK_DONE) {
		fail_write(&f);
		status = refuse_write(&f, why);
	}
	if (status == ASK_DONE)
		fprintf(stderr, "%" PRIu64 " messages of %zu legs, %" PRIu64 " octets%s%s\n",
			f.count, f.file.nlegs, f.file.bytes,
			f.is_over ? ": the size that was set" : "",
			f.lost ? "; others came too fast to be kept" : "");
	pcapng_end(&f.file);
	if (to != stdout)
		fclose(to);
	/* An empty file is removed, so that the next try can create it again. */
	if (to != stdout && status != ASK_DONE && !f.count)
		unlink(o->file);
	return status;
}
