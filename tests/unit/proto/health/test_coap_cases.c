/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include <stdio.h>

#include <jansson.h>

#include "proto/health/coap.h"
#include "proto/health/onem2m.h"

/*
 * tests/fixtures/coap-onem2m.json: 25 requests to a real CSE (acmecse 2026.5.3) and its responses,
 * as they were on the wire, with what CoAPthon3 decoded of them. Each request is read, written
 * again from what the decoder says, byte for byte, and each response's code and status are read.
 */

static int setup(void **state)
{
	char path[1024];
	json_error_t error;

	snprintf(path, sizeof(path), "%s/coap-onem2m.json", FIXTURES);
	*state = json_load_file(path, 0, &error);
	if (*state == NULL)
		fail_msg("%s: %s", path, error.text);
	return 0;
}

static int teardown(void **state)
{
	json_decref(*state);
	return 0;
}

static const char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	assert_non_null(s);
	return s;
}

/* The bytes of `hex` in a block of exactly that size. */
static uint8_t *unhex(const char *hex, size_t *len)
{
	const size_t n = strlen(hex) / 2;
	uint8_t *p = malloc(n != 0 ? n : 1);

	for (size_t i = 0; i < n; i++) {
		unsigned byte;

		assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
		p[i] = (uint8_t)byte;
	}
	*len = n;
	return p;
}

static unsigned type_of(const json_t *message)
{
	static const char *const names[] = {"CON", "NON", "ACK", "RST"};

	for (unsigned i = 0; i < 4; i++) {
		if (strcmp(text(message, "type"), names[i]) == 0)
			return i;
	}
	fail_msg("type %s", text(message, "type"));
	return 0;
}

static unsigned code_of(const json_t *message)
{
	unsigned class_, detail;

	assert_int_equal(sscanf(text(message, "code"), "%u.%u", &class_, &detail), 2);
	return class_ * 32 + detail;
}

/* The decoded message equals that of the other decoder. */
static void assert_same(const char *title, const struct bp_coap *m, const json_t *message)
{
	const uint8_t *cursor = NULL;
	struct bp_coap_option o;
	const json_t *option;
	size_t i, len;
	uint8_t *bytes = unhex(text(message, "token"), &len);

	if (m->type != type_of(message) || m->code != code_of(message))
		fail_msg("%s: type %u, code %u", title, m->type, m->code);
	assert_int_equal(m->mid, json_integer_value(json_object_get(message, "mid")));
	assert_int_equal(m->token_len, len);
	assert_memory_equal(m->token, bytes, len);
	free(bytes);
	json_array_foreach(json_object_get(message, "opts"), i, option)
	{
		if (!bp_coap_next(m, &cursor, &o))
			fail_msg("%s: option %zu is missing", title, i);
		assert_int_equal(o.number, json_integer_value(json_object_get(option, "num")));
		bytes = unhex(text(option, "hex"), &len);
		assert_int_equal(o.len, len);
		assert_memory_equal(o.value, bytes, len);
		free(bytes);
	}
	assert_false(bp_coap_next(m, &cursor, &o));
	len = strlen(text(message, "payload"));
	assert_int_equal(m->payload_len, len);
	if (len != 0)
		assert_memory_equal(m->payload, text(message, "payload"), len);
}

/* The encoding of the decoded fields. */
static size_t write_again(const json_t *message, uint8_t *out, size_t size)
{
	struct bp_coap_writer w;
	const json_t *option;
	const char *payload = text(message, "payload");
	size_t i, len;
	uint8_t *bytes = unhex(text(message, "token"), &len);

	bp_coap_begin(&w, out, size, (enum bp_coap_type)type_of(message), (uint8_t)code_of(message),
		(uint16_t)json_integer_value(json_object_get(message, "mid")), bytes, (uint8_t)len);
	free(bytes);
	json_array_foreach(json_object_get(message, "opts"), i, option)
	{
		bytes = unhex(text(option, "hex"), &len);
		bp_coap_option(&w, (uint32_t)json_integer_value(json_object_get(option, "num")),
			bytes, (uint32_t)len);
		free(bytes);
	}
	return bp_coap_end(&w, out, payload, (uint32_t)strlen(payload));
}

/* The one whose decode is missing: the decoder did not know option 2049. */
#define UNDECODED "ERR unknown critical option 2049"
/* The one that is no message: a marker without a payload. */
#define NO_MESSAGE "ERR truncated payload marker"

static void each_request_is_read_and_written(void **state)
{
	size_t i, undecoded = 0, refused = 0, same = 0;
	const json_t *item;

	json_array_foreach(*state, i, item)
	{
		const char *title = text(item, "title");
		const json_t *request = json_object_get(item, "request");
		struct bp_coap m;
		uint8_t out[1024], *p;
		size_t len;

		p = unhex(text(item, "request_hex"), &len);
		if (strcmp(title, NO_MESSAGE) == 0) {
			assert_int_equal(bp_coap_read(p, len, &m), BP_COAP_E_MARKER);
			refused++;
		} else if (bp_coap_read(p, len, &m) != BP_COAP_OK) {
			fail_msg("%s: is refused", title);
		} else if (!json_is_object(request)) {
			assert_string_equal(title, UNDECODED);
			undecoded++;
		} else {
			assert_same(title, &m, request);
			if (write_again(request, out, sizeof(out)) != len ||
				memcmp(out, p, len) != 0)
				fail_msg("%s: is written otherwise", title);
			same++;
		}
		free(p);
	}
	assert_int_equal(same, 23);
	assert_int_equal(undecoded, 1);
	assert_int_equal(refused, 1);
}

static void each_response_is_read(void **state)
{
	size_t i, read = 0, with_status = 0;
	const json_t *item;

	json_array_foreach(*state, i, item)
	{
		const json_t *response = json_object_get(item, "response"), *option;
		struct bp_m2m_reply reply;
		struct bp_coap m;
		json_int_t status = 0;
		size_t len, k;
		uint8_t *p;

		if (!json_is_object(response))
			continue; /* the ping, which it does not answer */
		p = unhex(text(item, "response_hex"), &len);
		assert_int_equal(bp_coap_read(p, len, &m), BP_COAP_OK);
		assert_same(text(item, "title"), &m, response);
		json_array_foreach(json_object_get(response, "opts"), k, option)
		{
			if (json_integer_value(json_object_get(option, "num")) == 307)
				status = json_integer_value(json_object_get(option, "value"));
		}
		bp_m2m_reply_read(&m, BP_M2M_R4, &reply);
		assert_int_equal(reply.code, code_of(response));
		assert_int_equal(reply.rsc, status);
		bp_m2m_reply_read(&m, BP_M2M_R2, &reply); /* there it is another option's number */
		assert_int_equal(reply.rsc, 0);
		read++;
		with_status += status != 0;
		free(p);
	}
	assert_int_equal(read, 24);
	assert_int_equal(with_status, 21); /* the three Resets have none */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_request_is_read_and_written),
		cmocka_unit_test(each_response_is_read),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
