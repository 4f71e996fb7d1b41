/* SPDX-License-Identifier: BSD-3-Clause */
/* Which packets are evaluated valid, and what is wrong with the others. */
#include "tests/unit/proto/mqtt/mqtt_vectors.h"

static void valid_packets_are_accepted(void **state)
{
	for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++) {
		const struct packet *p = &valid[i];
		enum bp_mqtt_error e = judge_exact(p->version, p->bytes, p->len);

		if (e != BP_MQTT_OK)
			fail_msg("packet %zu: %s", i, bp_mqtt_error_text(e));
	}
}

static void cut_messages_are_rejected(void **state)
{
	for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++)
		assert_cut_is_never_ok(valid[i].version, (const uint8_t *)valid[i].bytes,
			valid[i].len, valid[i].shorter);
}

/* One byte too many is left over, in every type that has a fixed end. */
static void bytes_left_over_are_an_error(void **state)
{
	for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++) {
		const struct packet *p = &valid[i];
		uint8_t type = (uint8_t)p->bytes[0] >> 4, *longer = malloc(p->len + 1);
		enum bp_mqtt_error e;

		memcpy(longer, p->bytes, p->len);
		longer[1]++;
		longer[p->len] = 0;
		e = evaluate(p->version, longer, p->len + 1);
		free(longer);
		/* payload, further codes, and the forms that the next byte makes longer */
		if (type == BP_MQTT_PUBLISH || type == BP_MQTT_SUBACK ||
			(p->version == V5 && (type == BP_MQTT_UNSUBACK || p->shorter)) ||
			(p->version == V5 && type == BP_MQTT_CONNACK && p->len == 4))
			continue;
		if (e == BP_MQTT_OK)
			fail_msg("packet %zu takes one byte more", i);
	}
}

static void each_fault_has_its_error(void **state)
{
	bool reached[BP_MQTT_E_CONNECT + 1] = {[BP_MQTT_OK] = true};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		const struct fault *f = &faults[i];
		enum bp_mqtt_error e = judge_exact(f->version, f->bytes, f->len);

		if (e != f->error)
			fail_msg("fault %zu (%02x %02x...): \"%s\", expected \"%s\"", i,
				(uint8_t)f->bytes[0], (uint8_t)f->bytes[f->len > 1],
				bp_mqtt_error_text(e), bp_mqtt_error_text(f->error));
		reached[e] = true;
	}
	for (size_t i = 0; i < sizeof(reached); i++)
		assert_true(reached[i]);
}

static void only_types_with_a_checker_are_taken(void **state)
{
	uint16_t id = 7;

	assert_int_equal(
		bp_mqtt_other(NULL, V5, 0, 0, (const uint8_t *)"", 0, &id), BP_MQTT_E_TYPE);
	assert_int_equal(id, 0);
	assert_int_equal(
		bp_mqtt_other(NULL, V5, 16, 0, (const uint8_t *)"", 0, &id), BP_MQTT_E_TYPE);
	assert_int_equal(bp_mqtt_other(NULL, V5, BP_MQTT_PUBLISH, 0, (const uint8_t *)"", 0, &id),
		BP_MQTT_E_TYPE);
	assert_int_equal(
		bp_mqtt_other(NULL, V311, BP_MQTT_PUBACK, 0, (const uint8_t *)"\x12\x34", 2, &id),
		BP_MQTT_OK);
	assert_int_equal(id, 0x1234);
}

static void errors_have_sentences_of_their_own(void **state)
{
	for (int i = 0; i <= BP_MQTT_E_CONNECT; i++) {
		assert_non_null(bp_mqtt_error_text((enum bp_mqtt_error)i));
		for (int k = 0; k < i; k++)
			assert_string_not_equal(bp_mqtt_error_text((enum bp_mqtt_error)i),
				bp_mqtt_error_text((enum bp_mqtt_error)k));
	}
	assert_non_null(bp_mqtt_error_text((enum bp_mqtt_error)99));
}

/* The first byte, as section 2.1 says it in words. */
static void first_bytes_follow_the_table(void **state)
{
	for (unsigned i = 0; i < 256; i++) {
		unsigned type = i >> 4, flags = i & 15, expected = BP_MQTT_OK;

		if (type == 0)
			expected = BP_MQTT_E_TYPE;
		else if (type == BP_MQTT_PUBLISH)
			expected = (flags & 6) == 6 ? BP_MQTT_E_QOS : BP_MQTT_OK;
		else if (flags != (type == BP_MQTT_PUBREL || type == BP_MQTT_SUBSCRIBE ||
							  type == BP_MQTT_UNSUBSCRIBE
						  ? 2
						  : 0))
			expected = BP_MQTT_E_FLAGS;
		assert_int_equal(bp_mqtt_first_byte[i], expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_packets_are_accepted),
		cmocka_unit_test(cut_messages_are_rejected),
		cmocka_unit_test(bytes_left_over_are_an_error),
		cmocka_unit_test(each_fault_has_its_error),
		cmocka_unit_test(only_types_with_a_checker_are_taken),
		cmocka_unit_test(errors_have_sentences_of_their_own),
		cmocka_unit_test(first_bytes_follow_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
