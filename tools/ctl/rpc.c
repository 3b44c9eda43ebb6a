/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ctl/rpc.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include <json-c/json.h>

#include "tools/ctl/names.h"

enum { TEXT = 80, HEAD_EVERY = 200 };

/* A time as "12.34" ms; "-" if the RPC did not reach that step. */
static const char *show_step(struct json_object *rpc, const char *name, char *text)
{
	if (json_object_object_get_ex(rpc, name, NULL))
		snprintf(text, 16, "%.2f", (double)show_number(rpc, name) / 1e6);
	else
		snprintf(text, 16, "-");
	return text;
}

static const char *show_time(uint64_t ns, char *text)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm day;
	size_t n = localtime_r(&seconds, &day) ? strftime(text, 16, "%H:%M:%S", &day) : 0;

	snprintf(text + n, 32 - n, ".%06u", (unsigned)(ns / 1000 % 1000000));
	return text;
}

void rpc_show(struct show *s, struct json_object *rpc)
{
	static const char *const steps[] = {"total_ns", "waiting_ns", "pull_ns", "call_ns",
					    "wait_ns",	"fence_ns",   "push_ns", "reply_ns"};
	char at[32], client[TEXT], name[TEXT], xid[TEXT], outcome[TEXT], error[TEXT], sizes[2][16];
	char text[16];
	bool has_error = json_object_object_get_ex(rpc, "error", NULL);

	if (s->lines++ % HEAD_EVERY == 0)
		fprintf(s->to,
			"%-15s %-10s %-20s %-16s %-8s %9s %8s %8s %8s %9s %8s %8s %8s %7s %7s  "
			"%s\n",
			"TIME", "SESSION", "CLIENT", "RPC", "XID", "TOTAL ms", "WAITING", "PULL",
			"CALL", "WAIT", "FENCE", "PUSH", "REPLY", "OUT", "BACK", "OUTCOME");
	fprintf(s->to, "%-15s %-10" PRIu64 " %-20s %-16s %-8s",
		show_time(show_number(rpc, "time_ns"), at), show_number(rpc, "session"),
		show_text(rpc, "client_host", client, TEXT), names_rpc(rpc, name, TEXT),
		show_text(rpc, "xid", xid, TEXT));
	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		fprintf(s->to, " %*s", i == 0 || i == 4 ? 9 : 8, show_step(rpc, steps[i], text));
	fprintf(s->to, " %7s %7s  %s%s%s\n", show_size(show_number(rpc, "call_bytes"), sizes[0]),
		show_size(show_number(rpc, "reply_bytes"), sizes[1]),
		show_text(rpc, "outcome", outcome, TEXT), has_error ? " " : "",
		has_error ? show_text(rpc, "error", error, TEXT) : "");
}
