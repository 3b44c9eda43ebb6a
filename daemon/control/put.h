/* SPDX-License-Identifier: BSD-2-Clause */
/* Adding members to a JSON object. */
#ifndef DAEMON_CONTROL_PUT_H
#define DAEMON_CONTROL_PUT_H

#include <stdint.h>

#include <json-c/json.h>

/* Takes @value. If @o is NULL for want of memory, @value is freed. */
static inline void put(struct json_object *o, const char *name, struct json_object *value)
{
	if (o)
		json_object_object_add(o, name, value);
	else
		json_object_put(value);
}

static inline void put_text(struct json_object *o, const char *name, const char *text)
{
	put(o, name, json_object_new_string(text));
}

static inline void put_number(struct json_object *o, const char *name, uint64_t number)
{
	put(o, name, json_object_new_uint64(number));
}

#endif
