/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "daemon/report.h"

static char logged[8192];

static void keep_line(const char *line)
{
	snprintf(logged, sizeof(logged), "%s", line);
}

/* The last counter of the line is whole, however large all counters are. */
static void large_counters_fit_their_line(void **state)
{
	const struct provider_counter *table;
	unsigned n = provider_counters(PROVIDER_IWARP, &table);
	struct stats_table *f = stats_table_new(0);
	const struct report r = {.figures = f, .worker = 255};
	char last[128];

	(void)state;
	assert_non_null(f);
	f->sessions = UINT64_MAX;
	memset(&f->total, 0xff, sizeof(f->total));
	memset(f->fabric, 0xff, sizeof(f->fabric));
	log_set_sink(keep_line);
	report_counters(&r, "worker.counters");
	log_set_sink(NULL);
	snprintf(last, sizeof(last), " %s=18446744073709551615", table[n - 1].name);
	assert_string_equal(logged + strlen(logged) - strlen(last), last);
	mem_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_counters_fit_their_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
