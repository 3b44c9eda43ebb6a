/* SPDX-License-Identifier: BSD-2-Clause */
/* Any octets at the metrics listener: one head at a time, never read beyond the received octets. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/metrics/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len = http_whole((const char *)data, size);
	struct http_request r;
	char *head;

	if (len == 0)
		return 0;
	if (len > size)
		abort();
	head = malloc(len + 1);
	if (!head)
		abort();
	memcpy(head, data, len);
	head[len] = '\0';
	r = http_parse(head, len);
	if (!*http_reason(r.status) || (r.status == 200 && memchr(data, 0, len)))
		abort();
	/* A name that is not ours is never accepted, whatever surrounds it. */
	if (r.host && http_host_is(r.host, "gw", 1) && !strcasestr(r.host, "gw") &&
	    !strcasestr(r.host, "localhost") && !strpbrk(r.host, ".:"))
		abort();
	free(head);
	return 0;
}
