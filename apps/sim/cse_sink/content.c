/* SPDX-License-Identifier: BSD-3-Clause */
/* Format of a measurement in an instance. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "apps/sim/cse_sink/sink.h"

/* "2026-01-01T12:00:00.00", with an offset such as "+05:00" after it if the device knows its
 * zone. */
static bool is_time(const char *t)
{
	static const char shape[] = "dddd-dd-ddTdd:dd:dd.dd";
	size_t n = sizeof(shape) - 1;

	if (strlen(t) < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (shape[i] == 'd' ? t[i] < '0' || t[i] > '9' : t[i] != shape[i])
			return false;
	return t[n] == '\0' ||
	       ((t[n] == '+' || t[n] == '-') && strlen(t + n) == 6 && t[n + 3] == ':');
}

static const char *check_values(const json_t *v)
{
	for (size_t i = 0; i < json_array_size(v); i++) {
		const json_t *one = json_array_get(v, i);

		if (!json_is_number(one) && !json_is_null(one))
			return "a compound value with a member that is not a number";
	}
	return json_array_size(v) > 0 ? NULL : "a compound value without values";
}

static const char *check_value(const json_t *o)
{
	const json_t *v = json_object_get(o, "v"), *t = json_object_get(o, "t");
	const json_t *u = json_object_get(o, "u");

	if (!json_is_object(o))
		return "a measurement that is not an object";
	if (v == NULL)
		return "a measurement without a value";
	if (json_is_null(v) && !json_is_string(json_object_get(o, "why")))
		return "a measurement without a number and without a reason";
	if (json_is_array(v) && check_values(v) != NULL)
		return check_values(v);
	if (!json_is_null(v) && !json_is_array(v) && !json_is_number(v) && !json_is_string(v))
		return "a value of an unexpected kind";
	if (u != NULL && !json_is_string(u) && !json_is_null(u))
		return "a unit that is not a string";
	if (t == NULL)
		return "a measurement without a time, which may be null";
	if (!json_is_null(t) && (!json_is_string(t) || !is_time(json_string_value(t))))
		return "a time in an unexpected format";
	return NULL;
}

const char *sink_check_content(const char *con)
{
	json_t *o = json_loads(con, JSON_REJECT_DUPLICATES, NULL);
	const char *wrong = NULL;

	if (o == NULL)
		return "a content that is not JSON";
	if (json_is_array(o)) {
		for (size_t i = 0; i < json_array_size(o) && wrong == NULL; i++) {
			const json_t *one = json_array_get(o, i);

			wrong = check_value(one);
			if (wrong == NULL && !json_is_string(json_object_get(one, "o")))
				wrong = "one of several measurements without its object's name";
		}
		if (json_array_size(o) == 0)
			wrong = "a content without measurements";
	} else {
		wrong = check_value(o);
	}
	json_decref(o);
	return wrong;
}
