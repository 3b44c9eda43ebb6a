/* SPDX-License-Identifier: BSD-2-Clause */
/* Any line on the control socket is a request within its bounds, or refused with a reason. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct control_request r;
	char why[REQUEST_WHY];

	if (request_parse((const char *)data, size, &r, why) != 0) {
		if (!*why || strlen(why) >= REQUEST_WHY)
			abort();
		return 0;
	}
	if (r.command >= CONTROL_COMMANDS || strlen(r.route) >= REQUEST_TEXT ||
	    strlen(r.client) >= REQUEST_TEXT || strlen(r.name) >= REQUEST_TEXT)
		abort();
	if ((r.command == CONTROL_KILL || r.command == CONTROL_SHOW) && r.session == 0)
		abort();
	return 0;
}
