/* SPDX-License-Identifier: BSD-2-Clause */
#include "hostauth/value.h"

#include <string.h>

enum {
	RECORD_HEAD = 5,
	RECORD_HANDSHAKE = 22,
	TLS_MAJOR = 3,
	HELLO_HEAD = 4, /* type and length */
	HELLO_MAX = 16384,
	CLIENT_HELLO = 1,
};

static uint16_t get_u16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static void put_u16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static struct view cut(struct view v, size_t n)
{
	return view_of(v.data + n, v.len - n);
}

static int body_decode(struct hostauth_value *v, struct view body)
{
	switch (v->kind) {
	case HOSTAUTH_MORE:
	case HOSTAUTH_TURN:
		v->tls = body;
		return body.len ? 0 : ERR_SHORT;
	case HOSTAUTH_ACK:
		return body.len ? ERR_XDR : 0;
	case HOSTAUTH_BIND:
		if (body.len < HOSTAUTH_BINDING_BYTES)
			return ERR_SHORT;
		v->binding = view_of(body.data, HOSTAUTH_BINDING_BYTES);
		v->tls = cut(body, HOSTAUTH_BINDING_BYTES);
		return 0;
	case HOSTAUTH_FAIL:
		if (body.len < HOSTAUTH_REASON_BYTES)
			return ERR_SHORT;
		/* Section 6: any other reason counts as OWN. */
		v->reason = HOSTAUTH_REASON_OWN;
		if (get_u16(body.data) >= HOSTAUTH_REASON_VALUE &&
		    get_u16(body.data) < HOSTAUTH_REASON_OWN)
			v->reason = (enum hostauth_reason)get_u16(body.data);
		v->tls = cut(body, HOSTAUTH_REASON_BYTES);
		return 0;
	}
	return ERR_XDR;
}

int hostauth_value_decode(struct hostauth_value *v, struct view in)
{
	*v = (struct hostauth_value){0};
	if (in.len == 0 || in.data[0] != HOSTAUTH_PROFILE)
		return ERR_VERS;
	if (in.len < HOSTAUTH_VALUE_HEAD)
		return ERR_SHORT;
	if (in.data[1] < HOSTAUTH_MORE || in.data[1] > HOSTAUTH_FAIL)
		return ERR_XDR;
	v->kind = (enum hostauth_kind)in.data[1];
	v->sequence = get_u16(in.data + 2);
	return body_decode(v, cut(in, HOSTAUTH_VALUE_HEAD));
}

size_t hostauth_value_head(uint8_t *out, const struct hostauth_value *v)
{
	out[0] = HOSTAUTH_PROFILE;
	out[1] = (uint8_t)v->kind;
	put_u16(out + 2, v->sequence);
	out += HOSTAUTH_VALUE_HEAD;
	if (v->kind == HOSTAUTH_FAIL) {
		put_u16(out, v->reason);
		return HOSTAUTH_VALUE_HEAD + HOSTAUTH_REASON_BYTES;
	}
	if (v->kind != HOSTAUTH_BIND)
		return HOSTAUTH_VALUE_HEAD;
	memset(out, 0, HOSTAUTH_BINDING_BYTES);
	return HOSTAUTH_VALUE_HEAD + HOSTAUTH_BINDING_BYTES;
}

bool hostauth_is_plausible(const struct hostauth_value *v)
{
	const uint8_t *at = v->tls.data;
	size_t record;

	if (v->sequence || (v->kind != HOSTAUTH_TURN && v->kind != HOSTAUTH_MORE) ||
	    v->tls.len < RECORD_HEAD + HELLO_HEAD)
		return false;
	record = get_u16(at + 3);
	return at[0] == RECORD_HANDSHAKE && at[1] == TLS_MAJOR && record > HELLO_HEAD &&
	       record <= HELLO_MAX && at[RECORD_HEAD] == CLIENT_HELLO && at[RECORD_HEAD + 1] == 0;
}
