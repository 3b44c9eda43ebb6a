/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/report.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

static unsigned open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	if (!dir)
		return 0;
	for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
		n += e->d_name[0] != '.';
	closedir(dir);
	return n ? n - 1 : 0; /* but for the one that looked */
}

static unsigned long resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	char line[128], *second = NULL;

	if (!f)
		return 0;
	if (fgets(line, sizeof(line), f))
		second = strchr(line, ' ');
	fclose(f);
	return second ? strtoul(second, NULL, 10) * (unsigned long)sysconf(_SC_PAGESIZE) : 0;
}

void report_process(void)
{
	log_info("process", "descriptors=%u resident_bytes=%lu heap_live=%llu heap_allocs=%llu",
		 open_descriptors(), resident_bytes(), (unsigned long long)mem_live(),
		 (unsigned long long)mem_allocs());
}
