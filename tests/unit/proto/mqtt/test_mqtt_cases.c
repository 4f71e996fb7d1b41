/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/mqtt/mqtt_packet.h"

#include <stdio.h>

#include <jansson.h>

/*
 * tests/fixtures/mqtt.json: packets with the verdict of the standard and what mosquitto 2.0.11 did
 * with them. The codec must evaluate each as `valid` says, but for those whose fault is not in the
 * bytes of one packet.
 */

struct exception {
	const char *id, *reason;
};

static const struct exception exceptions[] = {
	{"MQ12", "DUP with QoS 0 is illegal, but brokers let it pass, so its value must be read"},
	{"MQ20", "a second CONNECT is right by itself: the session counts them"},
	{"MQ22", "the alias maximum stands in the CONNACK: the session compares"},
	{"MQ23", "which aliases were set is known to the session"},
};

static const struct exception *exception_for(const char *id)
{
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++) {
		if (strcmp(exceptions[i].id, id) == 0)
			return &exceptions[i];
	}
	return NULL;
}

static json_t *load(void)
{
	char path[1024];
	json_error_t error;
	json_t *root;

	snprintf(path, sizeof(path), "%s/mqtt.json", FIXTURES);
	root = json_load_file(path, 0, &error);
	if (root == NULL)
		fail_msg("%s: %s", path, error.text);
	return root;
}

static int setup(void **state)
{
	*state = load();
	return 0;
}

static int teardown(void **state)
{
	json_decref(*state);
	return 0;
}

/* Bytes of `hex` in a block of exactly that size. */
static uint8_t *unhex(const char *hex, size_t *len)
{
	size_t n = strspn(hex, "0123456789abcdef") / 2;
	uint8_t *p = malloc(n);

	for (size_t i = 0; i < n; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		p[i] = (uint8_t)byte;
	}
	*len = n;
	return p;
}

static const char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	assert_non_null(s);
	return s;
}

static uint8_t version_of(const json_t *item)
{
	return strcmp(text(item, "version"), "5.0") == 0 ? BP_MQTT_V5 : BP_MQTT_V311;
}

static enum bp_mqtt_error judge_hex(uint8_t version, const char *hex)
{
	size_t len;
	uint8_t *p = unhex(hex, &len);
	enum bp_mqtt_error e = evaluate(version, p, len);

	free(p);
	return e;
}

static void each_case_is_evaluated_as_described(void **state)
{
	json_t *item;
	size_t i, judged = 0, excepted = 0;

	json_array_foreach(json_object_get(*state, "packets"), i, item)
	{
		const char *id = text(item, "id");
		bool expected = json_is_true(json_object_get(item, "valid")), ok = true;
		uint8_t version = version_of(item);
		json_t *packet;
		size_t k;

		/* MQ29 and MQ30 have their fault in the CONNECT and no packet after it */
		if (json_array_size(json_object_get(item, "packets_hex")) == 0)
			ok = judge_hex(version, text(item, "connect_hex")) == BP_MQTT_OK;
		json_array_foreach(json_object_get(item, "packets_hex"), k, packet)
		{
			if (judge_hex(version, json_string_value(packet)) != BP_MQTT_OK)
				ok = false;
		}
		if (exception_for(id) != NULL) {
			assert_false(expected);
			expected = true;
			excepted++;
		}
		if (ok != expected)
			fail_msg("%s, %s", id, text(item, "title"));
		judged++;
	}
	assert_int_equal(judged, 30);
	assert_int_equal(excepted, sizeof(exceptions) / sizeof(exceptions[0]));
}

/* The earlier packets and the answers of mosquitto are all valid. */
static void connections_and_answers_are_valid(void **state)
{
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(*state, "packets"), i, item)
	{
		const char *connack = text(item, "connack_hex"), *id = text(item, "id");
		size_t len, at = 0;
		uint8_t *reply = unhex(text(item, "mosquitto_reply_hex"), &len);

		if (strcmp(id, "MQ29") != 0 && strcmp(id, "MQ30") != 0) {
			assert_int_equal(
				judge_hex(version_of(item), text(item, "connect_hex")), BP_MQTT_OK);
		}
		if (*connack != '\0')
			assert_int_equal(judge_hex(version_of(item), connack), BP_MQTT_OK);
		while (at < len) {
			struct bp_mqtt_fixed f = {0};

			assert_int_equal(bp_mqtt_fixed(reply + at, len - at, &f), BP_MQTT_OK);
			assert_true(len - at >= f.header_len + f.remaining);
			assert_int_equal(judge_exact(version_of(item), reply + at,
						 f.header_len + f.remaining),
				BP_MQTT_OK);
			at += f.header_len + f.remaining;
		}
		free(reply);
	}
}

static void valid_packets_are_not_when_cut(void **state)
{
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(*state, "packets"), i, item)
	{
		json_t *packet;
		size_t k;

		if (!json_is_true(json_object_get(item, "valid")))
			continue;
		json_array_foreach(json_object_get(item, "packets_hex"), k, packet)
		{
			size_t len = 0;
			uint8_t *p = unhex(json_string_value(packet), &len);
			uint8_t type = p[0] >> 4;

			assert_cut_is_never_ok(version_of(item), p, len,
				type == BP_MQTT_PUBLISH || version_of(item) == BP_MQTT_V5);
			free(p);
		}
	}
}

static void remaining_lengths_are_read(void **state)
{
	json_t *pair, *bad;
	size_t i, pairs = 0;

	json_array_foreach(json_object_get(*state, "remaining_length"), i, pair)
	{
		size_t len = 0;
		uint8_t *bytes = unhex(json_string_value(json_array_get(pair, 1)), &len), used = 0;
		uint32_t v = 0;

		assert_int_equal(bp_mqtt_varint(bytes, len, &v, &used), BP_MQTT_OK);
		assert_int_equal(v, json_integer_value(json_array_get(pair, 0)));
		assert_int_equal(used, len);
		for (size_t n = 0; n < len; n++) {
			uint8_t *cut = exact_copy(bytes, n);

			assert_int_equal(bp_mqtt_varint(cut, n, &v, &used), BP_MQTT_MORE);
			free(cut);
		}
		free(bytes);
		pairs++;
	}
	assert_int_equal(pairs, 10);
	json_array_foreach(json_object_get(*state, "remaining_length_bad"), i, bad)
	{
		const char *hex = json_string_value(bad);
		size_t len = 0;
		uint8_t *bytes = unhex(hex, &len), used = 0;
		uint32_t v = 0;
		enum bp_mqtt_error e = bp_mqtt_varint(bytes, len, &v, &used);

		if (strncmp(hex, "8000", 4) == 0) {
			/*
			 * Over-long: version 5 forbids it, 3.1.1 does not, and the fixed header is
			 * read before the version matters. Where version 5 alone has such integers,
			 * in properties, it is refused.
			 */
			assert_int_equal(e, BP_MQTT_OK);
			assert_int_equal(judge_exact(BP_MQTT_V5, "\x30\5\0\1a\x80\0", 7),
				BP_MQTT_E_PROPERTY);
		} else if (len >= 4) {
			assert_int_equal(e, BP_MQTT_E_LENGTH);
		} else {
			assert_int_equal(e, BP_MQTT_MORE);
		}
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_case_is_evaluated_as_described),
		cmocka_unit_test(connections_and_answers_are_valid),
		cmocka_unit_test(valid_packets_are_not_when_cut),
		cmocka_unit_test(remaining_lengths_are_read),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
