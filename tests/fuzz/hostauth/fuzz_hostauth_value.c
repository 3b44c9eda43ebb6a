/* SPDX-License-Identifier: BSD-2-Clause */
/* One value of the property: what is parsed encodes to the same octets. */
#include <stdlib.h>
#include <string.h>

#include "hostauth/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what))                                                                       \
			abort();                                                                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t head[HOSTAUTH_VALUE_HEAD + HOSTAUTH_BINDING_BYTES];
	struct hostauth_value v;
	size_t len;

	if (hostauth_value_decode(&v, view_of(data, size)))
		return 0;
	(void)hostauth_is_plausible(&v);
	len = hostauth_value_head(head, &v);
	CHECK(len + v.tls.len == size);
	CHECK(!v.tls.len || v.tls.data == data + len);
	if (v.kind == HOSTAUTH_BIND)
		memcpy(head + HOSTAUTH_VALUE_HEAD, v.binding.data, v.binding.len);
	/* Reasons that do not exist became one that does. */
	CHECK(memcmp(head, data, v.kind == HOSTAUTH_FAIL ? HOSTAUTH_VALUE_HEAD : len) == 0);
	return 0;
}
