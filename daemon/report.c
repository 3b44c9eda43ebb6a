/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/report.h"

#include <dirent.h>
#include <stdio.h>
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
	unsigned long pages = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	fclose(f);
	return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

void report_process(void)
{
	log_info("process", "descriptors=%u resident_bytes=%lu heap_live=%llu heap_allocs=%llu",
		 open_descriptors(), resident_bytes(), (unsigned long long)mem_live(),
		 (unsigned long long)mem_allocs());
}
