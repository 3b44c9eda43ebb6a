/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ctl/ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <json-c/json.h>

#include "base/mem.h"
#include "tools/ctl/show.h"

enum { TIMEOUT_S = 30, LINE_FIRST = 4096 };

static const char stranger[] = "the process that answers there is not rpcrdma-gw";

static int no_gateway(const struct ctl_options *o, char *why, const char *what)
{
	snprintf(why, CTL_WHY, "%.100s: %.100s", o->socket, what);
	show_clean(why);
	return ASK_NO_GATEWAY;
}

/* Return: a stream, or NULL with errno. */
static FILE *open_gateway(const char *path)
{
	const struct timeval timeout = {.tv_sec = TIMEOUT_S};
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	FILE *f = NULL;
	int fd, err;

	if (strlen(path) >= sizeof(to.sun_path)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	memcpy(to.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return NULL;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
		f = fdopen(fd, "r+");
	if (f)
		return f;
	err = errno;
	close(fd);
	errno = err;
	return NULL;
}

static void put_text(struct json_object *o, const char *name, const char *text)
{
	if (text)
		json_object_object_add(o, name, json_object_new_string(text));
}

static void put_number(struct json_object *o, const char *name, uint64_t number)
{
	json_object_object_add(o, name, json_object_new_uint64(number));
}

/* Filters for RPCs. */
static void put_rpcs(struct json_object *o, const struct ctl_rpcs *want)
{
	if (want->slow_ns)
		put_number(o, "slow_ns", want->slow_ns);
	if (want->has_program)
		put_number(o, "program", want->program);
	if (want->has_version)
		put_number(o, "version", want->version);
	if (want->has_procedure)
		put_number(o, "procedure", want->procedure);
	put_text(o, "kind", want->kind);
}

static void put_options(struct json_object *request, const struct ctl_options *o)
{
	put_text(request, "route", o->route);
	put_text(request, "client", o->client);
	put_text(request, "name", o->name);
	put_text(request, "level", o->level);
	if (o->session)
		put_number(request, "session", o->session);
	put_rpcs(request, &o->rpcs);
}

static int send_request(FILE *f, const struct ctl_options *o, enum control_command command)
{
	static const char *const words[CONTROL_COMMANDS] = CONTROL_WORDS;
	struct json_object *request = json_object_new_object();
	int err;

	if (!request)
		return -1;
	put_text(request, "do", words[command]);
	if (command == o->command)
		put_options(request, o);
	err = fprintf(f, "%s\n", json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN)) <
	      0;
	json_object_put(request);
	return fflush(f) || err ? -1 : 0;
}

/*
 * State:  with --json, @line goes to a terminal unchanged.
 * Danger: another user's program may answer at the socket's path, and a terminal obeys control
 *         characters.
 * Rule:   JSON escapes control characters (RFC 8259 7). A line that contains one is not from a
 *         gateway and is refused.
 * Pinned: tests/planted/run:case_answers
 */
static bool is_text(const char *line)
{
	for (const unsigned char *at = (const unsigned char *)line; *at; at++)
		if (*at < ' ' || *at == 0x7f || (*at == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0))
			return false;
	return true;
}

/* Return: NULL: no JSON, or no UTF-8. In other encodings an octet from 0x80 to 0x9f alone is a
 * control character for some terminals. */
static struct json_object *parse(const char *line)
{
	struct json_tokener *tok = is_text(line) ? json_tokener_new() : NULL;
	struct json_object *all;

	if (!tok)
		return NULL;
	json_tokener_set_flags(tok, JSON_TOKENER_VALIDATE_UTF8);
	all = json_tokener_parse_ex(tok, line, (int)strlen(line) + 1);
	json_tokener_free(tok);
	return all;
}

/* Return: whether the answer continues; if not, *@status is its result. */
static bool take_line(const struct ctl_options *o, const char *line, ask_line *told, void *arg,
		      int *status, char *why)
{
	struct json_object *all = parse(line);
	bool is_last = true;

	*status = no_gateway(o, why, stranger);
	if (json_object_is_type(all, json_type_object)) {
		json_object_object_foreach(all, name, value)
		{
			is_last = strcmp(name, "done") == 0;
			*status = ASK_DONE;
			if (strcmp(name, "error") == 0) {
				show_text(all, name, why, CTL_WHY);
				*status = ASK_REFUSED;
				is_last = true;
				break;
			}
			told(arg, name, value, line);
			break;
		}
	}
	json_object_put(all);
	return !is_last;
}

int ask_open(struct ask_link *link, const struct ctl_options *o, char *why)
{
	*link = (struct ask_link){.o = o, .f = open_gateway(o->socket)};
	return link->f ? ASK_DONE : no_gateway(o, why, strerror(errno));
}

static bool grow(struct ask_link *link)
{
	size_t cap = link->cap ? link->cap * 2 : LINE_FIRST;
	char *line = cap <= CONTROL_ANSWER_BYTES ? mem_zalloc(cap) : NULL;

	if (!line)
		return false;
	if (link->line)
		memcpy(line, link->line, link->cap);
	mem_free(link->line);
	link->line = line;
	link->cap = cap;
	return true;
}

/* Return: NULL, and .line holds the next line without its end; or the reason why there is none. */
static const char *read_line(struct ask_link *link)
{
	size_t n = 0, more;

	do {
		if (link->cap - n < 2 && !grow(link))
			return stranger;
		if (!fgets(link->line + n, (int)(link->cap - n), link->f))
			return feof(link->f) ? "the gateway ended the connection before its answer "
					       "was complete: it waits 60 s for its reader"
					     : "no answer in time";
		more = strlen(link->line + n);
		if (more == 0) /* the line begins with NUL */
			return stranger;
		n += more;
	} while (link->line[n - 1] != '\n');
	link->line[n - 1] = '\0';
	return NULL;
}

int ask_say(struct ask_link *link, enum control_command command, ask_line *told, void *arg,
	    char *why)
{
	const struct ctl_options *o = link->o;
	int status;

	if (send_request(link->f, o, command) < 0)
		return no_gateway(o, why,
				  errno == EPIPE || errno == ECONNRESET
					  ? "the gateway has ended the connection"
					  : strerror(errno));
	do {
		const char *problem = read_line(link);

		if (problem)
			return no_gateway(o, why, problem);
	} while (take_line(o, link->line, told, arg, &status, why));
	return status;
}

void ask_close(struct ask_link *link)
{
	mem_free(link->line);
	if (link->f)
		fclose(link->f);
}

int ask(const struct ctl_options *o, ask_line *told, void *arg, char *why)
{
	struct ask_link link;
	int status = ask_open(&link, o, why);

	if (status == ASK_DONE)
		status = ask_say(&link, o->command, told, arg, why);
	ask_close(&link);
	return status;
}
