/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_TRANSFORM_FIXTURE_H
#define TESTS_TRANSFORM_FIXTURE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/*
 * tests/fixtures/transform.json: results of the authors' server, in both of its builds, for nine
 * readings, without a matrix and with three; and the loader's messages for these.
 */
static json_t *fixture_load(void)
{
	json_error_t error;
	json_t *fixture = json_load_file(FIXTURES "/transform.json", 0, &error);

	if (fixture == NULL)
		fail_msg("transform.json: %s", error.text);
	return fixture;
}

static size_t fixture_unhex(json_t *object, const char *key, uint8_t *out, size_t most)
{
	const char *text = json_string_value(json_object_get(object, key));
	size_t n = 0;

	assert_non_null(text);
	for (unsigned v; n < most && sscanf(text + 2 * n, "%2x", &v) == 1; n++)
		out[n] = (uint8_t)v;
	return n;
}

#endif
