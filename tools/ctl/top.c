/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operation
 *
 *   sample --> pause, keys --> sample --> draw --> pause, keys --> ...
 *
 * A screen is composed in memory and written at once over the previous one, line by line, so that
 * nothing flickers. The terminal is restored at the end, whatever ends the program.
 */
#include "tools/ctl/top.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "tools/ctl/ask.h"
#include "tools/ctl/follow.h"
#include "tools/ctl/top_view.h"

#define SECOND 1000000000U

enum { LIST_MOST = 2000 /* sessions, unless the user chose some */, ROWS = 24 };

#define SCREEN_ON "\033[?1049h\033[?25l"
#define SCREEN_OFF "\033[?25h\033[?1049l"

struct top {
	const struct ctl_options *o;
	struct sample before, now;
	struct top_view view;
	struct termios was;
	bool has_screen;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static void on_line(void *arg, const char *name, struct json_object *value, const char *line)
{
	(void)line;
	sample_take(arg, name, value);
}

static int ask_all(struct top *t, struct ask_link *link, char *why)
{
	const struct ctl_options *o = t->o;
	int status = ask_say(link, CONTROL_STATUS, on_line, &t->now, why);

	if (status == ASK_DONE)
		status = ask_say(link, CONTROL_ROUTES, on_line, &t->now, why);
	t->view.has_list = t->now.sessions <= LIST_MOST || o->route || o->client || o->name;
	if (status == ASK_DONE && t->view.has_list)
		status = ask_say(link, CONTROL_SESSIONS, on_line, &t->now, why);
	return status;
}

/* Each sample has a connection of its own, because the gateway ends a connection that waits for its
 * next request for long. */
static int take_sample(struct top *t, char *why)
{
	struct ask_link link;
	int status = ask_open(&link, t->o, why);

	sample_free(&t->before);
	t->before = t->now;
	t->now = (struct sample){.at_ns = 0};
	if (status == ASK_DONE)
		status = ask_all(t, &link, why);
	ask_close(&link);
	sample_end(&t->now, now_ns());
	return status;
}

static void leave_screen(struct top *t)
{
	if (!t->has_screen)
		return;
	fputs(SCREEN_OFF, stdout);
	fflush(stdout);
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &t->was);
	t->has_screen = false;
}

static int enter_screen(struct top *t, char *why)
{
	struct termios raw;

	if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &t->was) < 0) {
		snprintf(why, CTL_WHY, "this is no terminal: --once prints a single screen");
		return ASK_REFUSED;
	}
	raw = t->was;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	fputs(SCREEN_ON, stdout);
	t->has_screen = true;
	return ASK_DONE;
}

static void draw_line(const char *line, size_t len, unsigned columns)
{
	if (len > columns)
		len = columns;
	fwrite(line, 1, len, stdout);
	fputs("\033[K\n", stdout);
}

/* Draw each line of @text on a row, and clear the rest of the row. */
static void draw_text(const char *text, enum top_order order)
{
	struct winsize size = {.ws_row = 0};
	unsigned rows, columns;

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	rows = size.ws_row ? size.ws_row : ROWS;
	columns = size.ws_col ? size.ws_col : UINT16_MAX;
	fputs("\033[H", stdout);
	for (unsigned i = 1; i < rows && *text; i++) {
		size_t len = strcspn(text, "\n");

		draw_line(text, len, columns);
		text += len + (text[len] == '\n');
	}
	printf("\033[J q ends; s: another order than by %s\033[K", top_order_name(order));
	fflush(stdout);
}

static int draw(struct top *t, char *why)
{
	struct winsize size = {.ws_row = 0};
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f) {
		snprintf(why, CTL_WHY, "out of memory");
		return ASK_REFUSED;
	}
	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	t->view.rows = !t->has_screen ? 0 : size.ws_row ? size.ws_row : ROWS;
	top_view(f, &t->view, &t->before, &t->now);
	if (fclose(f) == 0 && text) {
		if (t->has_screen)
			draw_text(text, t->view.order);
		else
			fputs(text, stdout);
	}
	free(text);
	return ASK_DONE;
}

/* Return: whether to continue. */
static bool take_keys(struct top *t)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	char key;

	while (poll(&input, 1, 0) == 1) {
		if (read(STDIN_FILENO, &key, 1) != 1) /* the terminal is gone */
			return false;
		if (key == 'q' || key == 'Q')
			return false;
		if (key == 's')
			t->view.order = (t->view.order + 1) % TOP_ORDERS;
	}
	return true;
}

/* Wait for the next sample. Return: whether to continue. */
static bool pause_for(struct top *t, uint64_t ns)
{
	uint64_t end = now_ns() + ns, now;

	if (!t->has_screen)
		return follow_sleep(ns, -1);
	for (now = now_ns(); now < end; now = now_ns()) {
		if (!follow_sleep(end - now, STDIN_FILENO) || !take_keys(t))
			return false;
	}
	return true;
}

static int run(struct top *t, char *why)
{
	uint64_t pause = t->o->time_ns ? t->o->time_ns : SECOND;
	int status = take_sample(t, why);

	if (status == ASK_DONE && !t->o->once)
		status = enter_screen(t, why);
	while (status == ASK_DONE && pause_for(t, pause)) {
		status = take_sample(t, why);
		if (status == ASK_DONE)
			status = draw(t, why);
		if (t->o->once)
			break;
	}
	leave_screen(t);
	return status;
}

int top(const struct ctl_options *o, char *why)
{
	struct top t = {.o = o, .view.order = o->order};
	int status;

	follow_catch();
	status = run(&t, why);
	sample_free(&t.before);
	sample_free(&t.now);
	return status;
}
