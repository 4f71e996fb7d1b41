/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include <stdio.h>

#include <jansson.h>

#include "proto/aggregation/agg_lin2018.h"

/*
 * tests/fixtures/aggregate.json: frames that scapy made from the paper's Figure 6 and section 3.
 * The expected values are read from the frame by offsets, and from the vector.
 */
#define AT_UDP_LENGTH 38
#define AT_PAYLOAD 42

static struct bp_agg_lin2018 untouched;

static enum bp_agg_lin2018_error evaluate(
	const uint8_t *p, size_t len, unsigned most, struct bp_agg_lin2018 *out)
{
	uint8_t *exact = exact_copy(p, len);
	enum bp_agg_lin2018_error e;

	memset(out, 0x5a, sizeof(*out));
	untouched = *out;
	e = bp_agg_lin2018_read(exact, len, most, out);
	if (e == BP_AGG_LIN2018_OK) {
		assert_ptr_equal(out->messages, exact + 6);
		assert_int_equal(6 + 16 * out->count, len);
	} else {
		assert_memory_equal(out, &untouched, sizeof(*out));
	}
	free(exact);
	return e;
}

static size_t unhex(const char *hex, uint8_t *p, size_t room)
{
	const size_t n = strlen(hex) / 2;

	assert_true(n <= room);
	for (size_t i = 0; i < n; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		p[i] = (uint8_t)byte;
	}
	return n;
}

static void vectors_are_read_and_written(void **state)
{
	json_error_t error;
	json_t *vectors = json_load_file(FIXTURES "/aggregate.json", 0, &error), *v;
	size_t i;

	if (vectors == NULL)
		fail_msg("aggregate.json: %s", error.text);
	assert_int_equal(json_array_size(vectors), 3);
	json_array_foreach(vectors, i, v)
	{
		uint8_t frame[256], again[256];
		const size_t len = unhex(
			json_string_value(json_object_get(v, "frame_hex")), frame, sizeof(frame));
		const size_t n = (size_t)json_integer_value(json_object_get(v, "messages"));
		const size_t payload = len - AT_PAYLOAD;
		struct bp_agg_lin2018 m;

		assert_int_equal(len, 48 + 16 * n); /* equation 2 */
		assert_int_equal(frame[AT_UDP_LENGTH + 1], 14 + 16 * n);
		assert_int_equal(evaluate(frame + AT_PAYLOAD, payload, 8, &m), BP_AGG_LIN2018_OK);
		assert_int_equal(m.count, n);
		assert_int_equal(m.type,
			strstr(json_string_value(json_object_get(v, "name")), "0xfa") ? 0xfa
										      : 0xfc);

		memset(again, 0xee, sizeof(again));
		for (size_t k = n; k-- != 0;)
			bp_agg_lin2018_put(again, (unsigned)k, frame + 48 + 16 * k);
		bp_agg_lin2018_put_header(again, m.type);
		assert_memory_equal(again, frame + AT_PAYLOAD, payload);
		assert_int_equal(again[payload], 0xee);
		assert_int_equal(BP_AGG_LIN2018_LEN(n), payload);

		for (size_t cut = 0; cut < payload; cut++) {
			const enum bp_agg_lin2018_error e =
				evaluate(frame + AT_PAYLOAD, cut, 8, &m);

			if (cut < 6)
				assert_int_equal(e, BP_AGG_LIN2018_E_SHORT);
			else if (cut == 6)
				assert_int_equal(e, BP_AGG_LIN2018_E_EMPTY);
			else if ((cut - 6) % 16 != 0)
				assert_int_equal(e, BP_AGG_LIN2018_E_LENGTH);
			else /* fewer messages: the format has no other indication */
				assert_int_equal(m.count, (cut - 6) / 16);
		}
	}
	json_decref(vectors);
}

static void unknown_types_are_rejected(void **state)
{
	uint8_t p[BP_AGG_LIN2018_LEN(2)] = {0};
	struct bp_agg_lin2018 m;

	for (unsigned type = 0; type < 256; type++) {
		enum bp_agg_lin2018_error one, two;

		p[0] = (uint8_t)type;
		one = evaluate(p, 22, 8, &m);
		two = evaluate(p, 38, 8, &m);
		if (type == 0xfc) {
			assert_int_equal(one, BP_AGG_LIN2018_OK);
			assert_int_equal(two, BP_AGG_LIN2018_OK);
		} else if (type == 0xfa) {
			assert_int_equal(one, BP_AGG_LIN2018_OK);
			assert_int_equal(two, BP_AGG_LIN2018_E_SINGLE);
		} else {
			assert_int_equal(one, BP_AGG_LIN2018_E_TYPE);
			assert_int_equal(two, BP_AGG_LIN2018_E_TYPE);
		}
	}
}

static void padding_may_be_anything(void **state)
{
	uint8_t p[BP_AGG_LIN2018_LEN(3)] = {0xfc, 0xff, 1, 0x80, 0xfa, 0x7f};
	struct bp_agg_lin2018 m;

	assert_int_equal(evaluate(p, sizeof(p), 8, &m), BP_AGG_LIN2018_OK);
	assert_int_equal(m.count, 3);
}

static void counts_at_their_bounds(void **state)
{
	static uint8_t p[BP_AGG_LIN2018_LEN(65537)] = {0xfc};
	struct bp_agg_lin2018 m;

	for (unsigned n = 1; n < 100; n++) {
		assert_int_equal(evaluate(p, BP_AGG_LIN2018_LEN(n), n, &m), BP_AGG_LIN2018_OK);
		assert_int_equal(m.count, n);
		assert_int_equal(
			evaluate(p, BP_AGG_LIN2018_LEN(n), n - 1, &m), BP_AGG_LIN2018_E_MANY);
	}
	/* lengths that no UDP payload has */
	assert_int_equal(evaluate(p, BP_AGG_LIN2018_LEN(65535), 100000, &m), BP_AGG_LIN2018_OK);
	assert_int_equal(m.count, 65535);
	assert_int_equal(evaluate(p, BP_AGG_LIN2018_LEN(65536), 100000, &m), BP_AGG_LIN2018_E_MANY);
	assert_int_equal(evaluate(p, BP_AGG_LIN2018_LEN(65537), 100000, &m), BP_AGG_LIN2018_E_MANY);

	assert_int_equal(bp_agg_lin2018_max_messages(1500 - 28), 91);
	assert_int_equal(bp_agg_lin2018_max_messages(22), 1);
	assert_int_equal(bp_agg_lin2018_max_messages(21), 0);
	assert_int_equal(bp_agg_lin2018_max_messages(6), 0);
	assert_int_equal(bp_agg_lin2018_max_messages(5), 0);
	assert_int_equal(bp_agg_lin2018_max_messages(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_are_read_and_written),
		cmocka_unit_test(unknown_types_are_rejected),
		cmocka_unit_test(padding_may_be_anything),
		cmocka_unit_test(counts_at_their_bounds),
	};

	return cmocka_run_group_tests_name("agg_lin2018", tests, NULL, NULL);
}
