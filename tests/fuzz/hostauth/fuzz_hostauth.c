/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole handshake, in either role, with a peer that sends anything: it never succeeds.
 *
 * Input: an octet of set-up (bit 0: role), then records with an octet of kind and two of length:
 *   0     a message in a MIDDLE, with that many octets of value
 *   1     the same in a FINAL
 *   2     a message without a value
 *   3     as 0, behind the head that is due: TURN, in sequence
 */
#include <stdlib.h>
#include <string.h>

#include "hostauth/hostauth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what))                                                                       \
			abort();                                                                   \
	} while (0)

static const char psk[] = "pair-1:000102030405060708090a0b0c0d0e0f";

enum { MESSAGE = 4096 };

static void drain(struct hostauth *h)
{
	static uint8_t message[MESSAGE];
	struct hostauth_out out;
	unsigned n = 0;

	hostauth_work(h);
	while (hostauth_next(h, 992, 60, &out)) {
		CHECK(out.value.len <= 992 && n++ < 2);
		memcpy(message, out.value.data, out.value.len);
		hostauth_sent(h, message, out.value.len, 0);
		hostauth_work(h);
	}
}

static struct hostauth_creds *creds[2];

static void begin(void)
{
	struct hostauth_refusal no;
	const struct hostauth_material m = {.psk = view_of(psk, sizeof(psk) - 1)};

	for (unsigned i = 0; i < 2 && !creds[i]; i++)
		creds[i] = hostauth_creds_new((enum hostauth_role)i, &m, &no);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t message[MESSAGE];
	struct hostauth *h;
	uint16_t sequence = 0;

	begin();
	if (size < 1)
		return 0;
	h = hostauth_new(&(struct hostauth_params){.role = (enum hostauth_role)(data[0] & 1),
						   .creds = creds[data[0] & 1],
						   .now = 1800000000});
	if (!h)
		return 0;
	data++;
	size--;
	drain(h);
	while (size >= 3) {
		unsigned kind = data[0] & 3;
		size_t len = (size_t)(data[1] << 8 | data[2]) % (MESSAGE - 4), head = 0;
		struct hostauth_in in = {.has_value = kind != 2, .final = kind == 1};

		data += 3;
		size -= 3;
		if (len > size)
			len = size;
		if (kind == 3) {
			const uint8_t due[4] = {1, 2, (uint8_t)(sequence >> 8), (uint8_t)sequence};

			memcpy(message, due, head = sizeof(due));
			sequence++;
		}
		memcpy(message + head, data, len);
		in.message = in.value = view_of(message, head + len);
		CHECK(hostauth_recv(h, &in) != HOSTAUTH_DONE);
		drain(h);
		CHECK(hostauth_status(h) != HOSTAUTH_DONE);
		data += len;
		size -= len;
	}
	hostauth_free(h);
	return 0;
}
