/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_PROTO_HEALTH_PHD_VECTORS_H
#define BP_TESTS_UNIT_PROTO_HEALTH_PHD_VECTORS_H

#include "tests/unit/proto/exact.h"

#include <stdio.h>

#include <jansson.h>

/* tests/fixtures/phd-apdus.json: 74 APDUs, 44 of them valid, with their meaning or their fault. */

#define VECTORS 74

/* Bytes of `hex` in a block of exactly that size. */
static inline uint8_t *unhex(const char *hex, size_t *len)
{
	size_t n = strspn(hex, "0123456789abcdef") / 2;
	uint8_t *p = malloc(n);

	assert_non_null(p);
	for (size_t i = 0; i < n; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		p[i] = (uint8_t)byte;
	}
	*len = n;
	return p;
}

static inline const char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	assert_non_null(s);
	return s;
}

static inline uint8_t *vector_bytes(const json_t *item, size_t *len)
{
	uint8_t *p = unhex(text(item, "hex"), len);

	assert_int_equal(*len, json_integer_value(json_object_get(item, "octets")));
	return p;
}

static inline json_t *vector_named(const json_t *root, const char *id)
{
	json_t *item;
	size_t i;

	json_array_foreach((json_t *)root, i, item)
	{
		if (strcmp(text(item, "id"), id) == 0)
			return item;
	}
	fail_msg("no vector %s", id);
	return NULL;
}

/* For cmocka_run_group_tests(): *state is the array. */
static inline int vectors_setup(void **state)
{
	json_error_t error;

	*state = json_load_file(FIXTURES "/phd-apdus.json", 0, &error);
	if (*state == NULL)
		fail_msg("%s: %s", error.source, error.text);
	assert_int_equal(json_array_size(*state), VECTORS);
	return 0;
}

static inline int vectors_teardown(void **state)
{
	json_decref(*state);
	return 0;
}

#endif
