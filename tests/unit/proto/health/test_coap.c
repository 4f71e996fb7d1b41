/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include "proto/health/coap.h"
#include "tests/unit/proto/health/coap_plain.h"

static struct plain plain;

static enum bp_coap_error read_checked(const void *message, size_t len)
{
	uint8_t *p = exact_copy(message, len);
	struct bp_coap m;
	enum bp_coap_error e = bp_coap_read(p, len, &m);

	if (e == BP_COAP_OK) {
		struct bp_coap_option o;
		const uint8_t *cursor = NULL;
		uint32_t nonzero = 0;

		while (bp_coap_next(&m, &cursor, &o)) {
			assert_true(o.number <= 65535);
			for (uint32_t i = 0; i < o.len; i++)
				nonzero += o.value[i] != 0;
		}
		assert_true(nonzero <= m.options_len);
		assert_ptr_equal(cursor, m.options + m.options_len);
	}
	free(p);
	return e;
}

struct bad {
	const char *bytes;
	size_t len;
	enum bp_coap_error error;
};
#define BAD(error, bytes)                                                                          \
	{                                                                                          \
		bytes, sizeof(bytes) - 1, error                                                    \
	}

static const struct bad malformed[] = {
	BAD(BP_COAP_E_SHORT, ""), BAD(BP_COAP_E_SHORT, "\x40"),
	BAD(BP_COAP_E_SHORT, "\x40\x01\x00"),
	BAD(BP_COAP_E_SHORT, "\x42\x01\x00\x01"),     /* a token of two, none there */
	BAD(BP_COAP_E_SHORT, "\x42\x01\x00\x01\xaa"), /* half of it */
	BAD(BP_COAP_E_SHORT, "\x48\x01\x00\x01\1\2\3\4\5\6\7"),
	BAD(BP_COAP_E_VERSION, "\x00\x01\x00\x01"), BAD(BP_COAP_E_VERSION, "\x80\x01\x00\x01"),
	BAD(BP_COAP_E_VERSION, "\xc0\x01\x00\x01"),
	BAD(BP_COAP_E_TOKEN, "\x49\x01\x00\x01\1\2\3\4\5\6\7\x08\x09"),
	BAD(BP_COAP_E_TOKEN, "\x4f\x01\x00\x01\1\2\3\4\5\6\7\x08\x09\1\2\3\4\5\6"),
	BAD(BP_COAP_E_EMPTY, "\x41\x00\x00\x01\xaa"),
	BAD(BP_COAP_E_EMPTY, "\x60\x00\x00\x01\xff\x61"), BAD(BP_COAP_E_EMPTY, "\x41\x00\x00\x01"),
	BAD(BP_COAP_E_MARKER, "\x40\x01\x00\x01\xff"),
	BAD(BP_COAP_E_MARKER, "\x40\x01\x00\x01\xb1\x61\xff"),
	BAD(BP_COAP_E_OPTION, "\x40\x01\x00\x01\xf0"),         /* delta 15 is reserved */
	BAD(BP_COAP_E_OPTION, "\x40\x01\x00\x01\xf1\x61\x61"), /* and is no payload marker */
	BAD(BP_COAP_E_OPTION, "\x40\x01\x00\x01\x1f\x61\x61"), /* length 15 is reserved */
	BAD(BP_COAP_E_OPTION, "\x40\x01\x00\x01\xb1"),         /* value cut off */
	BAD(BP_COAP_E_OPTION, "\x40\x01\x00\x01\xb3\x61\x62"),
	BAD(BP_COAP_E_OPTION, "\x40\x01\x00\x01\xd0"), /* extended delta cut off */
	BAD(BP_COAP_E_OPTION, "\x40\x01\x00\x01\xe0\x00"),
	BAD(BP_COAP_E_OPTION, "\x40\x01\x00\x01\x0d"), /* extended length cut off */
	BAD(BP_COAP_E_OPTION, "\x40\x01\x00\x01\x0e\x00"),
	BAD(BP_COAP_E_OPTION, "\x40\x01\x00\x01\x0d\x00"),         /* 13 bytes, none there */
	BAD(BP_COAP_E_OPTION, "\x40\x01\x00\x01\x0e\xff\xff"),     /* 65,804 bytes */
	BAD(BP_COAP_E_OPTION, "\x40\x01\x00\x01\xe0\xff\xff"),     /* number 65,804 */
	BAD(BP_COAP_E_OPTION, "\x40\x01\x00\x01\xe0\xfe\xf2\x10"), /* 65,535 and one more */
};

static void malformed_messages_are_refused(void **state)
{
	for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
		enum bp_coap_error e = read_checked(malformed[i].bytes, malformed[i].len);

		if (e != malformed[i].error)
			fail_msg("message %zu: error %d, not %d", i, e, malformed[i].error);
	}
}

static void limits_of_allowed_values(void **state)
{
	struct bp_coap m;

	assert_int_equal(read_checked("\x40\x00\x12\x34", 4), BP_COAP_OK); /* ping */
	assert_int_equal(read_checked("\x70\x80\x12\x34", 4), BP_COAP_OK); /* a Reset with a code */
	assert_int_equal(
		read_checked("\x40\x01\x00\x01\xe0\xfe\xf2", 7), BP_COAP_OK); /* number 65,535 */
	assert_int_equal(
		read_checked("\x40\x01\x00\x01\xe0\xfe\xf2\x00", 8), BP_COAP_OK); /* twice */
	assert_int_equal(read_checked("\x48\x01\x00\x01\1\2\3\4\5\6\7\x08", 12), BP_COAP_OK);

	/* the output is not written for a refused message */
	memset(&m, 0x5a, sizeof(m));
	assert_int_equal(
		bp_coap_read((const uint8_t *)"\x40\x01\x00\x01\xff", 5, &m), BP_COAP_E_MARKER);
	for (size_t i = 0; i < sizeof(m); i++)
		assert_int_equal(((const uint8_t *)&m)[i], 0x5a);
}

/* Deltas and lengths on both sides of each step of the encoding (3.1). */
static const unsigned steps[] = {0, 1, 11, 12, 13, 14, 254, 255, 256, 267, 268, 269, 270, 524, 525,
	65534 - 269, 65535 - 269, 65535};
#define N_STEPS (sizeof(steps) / sizeof(steps[0]))

static void option_deltas_and_lengths_at_their_edges(void **state)
{
	static uint8_t value[65535], out[70000];

	memset(value, 'v', sizeof(value));
	for (size_t i = 0; i < N_STEPS; i++) {
		for (size_t k = 0; k < N_STEPS; k++) {
			const unsigned number = steps[i], len = steps[k];
			struct bp_coap_writer w;
			struct bp_coap_option o;
			struct bp_coap m;
			const uint8_t *cursor = NULL;
			uint8_t *exact;

			plain_begin(&plain, 0, 1, 7, "t", 1);
			plain_option(&plain, number, value, len);
			plain_option(&plain, number, "x", 1);
			plain_payload(&plain, "pay", 3);

			bp_coap_begin(&w, out, sizeof(out), BP_COAP_CON, BP_COAP_GET, 7,
				(const uint8_t *)"t", 1);
			bp_coap_option(&w, number, value, len);
			bp_coap_option(&w, number, "x", 1);
			assert_int_equal(bp_coap_end(&w, out, "pay", 3), plain.len);
			assert_memory_equal(out, plain.bytes, plain.len);

			exact = exact_copy(plain.bytes, plain.len);
			assert_int_equal(bp_coap_read(exact, plain.len, &m), BP_COAP_OK);
			assert_true(bp_coap_next(&m, &cursor, &o));
			assert_int_equal(o.number, number);
			assert_int_equal(o.len, len);
			assert_memory_equal(o.value, value, len);
			assert_true(bp_coap_next(&m, &cursor, &o));
			assert_int_equal(o.number, number);
			assert_int_equal(o.len, 1);
			assert_int_equal(o.value[0], 'x');
			assert_false(bp_coap_next(&m, &cursor, &o));
			assert_int_equal(m.payload_len, 3);
			assert_memory_equal(m.payload, "pay", 3);
			free(exact);
		}
	}
}

static void uint_options(void **state)
{
	static const struct {
		uint32_t value, len;
		const char *bytes;
	} cases[] = {{0, 0, ""}, {1, 1, "\x01"}, {50, 1, "\x32"}, {255, 1, "\xff"},
		{256, 2, "\x01\x00"}, {2001, 2, "\x07\xd1"}, {10001, 2, "\x27\x11"},
		{65536, 3, "\x01\x00\x00"}, {16777216, 4, "\x01\x00\x00\x00"},
		{UINT32_MAX, 4, "\xff\xff\xff\xff"}};
	struct bp_coap_option five = {.value = (const uint8_t *)"\0\0\0\0\1", .len = 5};
	uint32_t value = 77;
	uint8_t out[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct bp_coap_option o = {
			.value = (const uint8_t *)cases[i].bytes, .len = cases[i].len};
		struct bp_coap_writer w;

		assert_true(bp_coap_uint(&o, &value));
		assert_int_equal(value, cases[i].value);
		plain_begin(&plain, 1, 69, 65535, "", 0);
		plain_option(&plain, 12, cases[i].bytes, cases[i].len);
		bp_coap_begin(
			&w, out, sizeof(out), BP_COAP_NON, BP_COAP_CODE(2, 5), 65535, NULL, 0);
		bp_coap_option_uint(&w, 12, cases[i].value);
		assert_int_equal(bp_coap_end(&w, out, NULL, 0), plain.len);
		assert_memory_equal(out, plain.bytes, plain.len);
	}
	value = 77;
	assert_false(bp_coap_uint(&five, &value));
	assert_int_equal(value, 77);
	assert_true(
		bp_coap_uint(&(struct bp_coap_option){.value = five.value + 1, .len = 4}, &value));
	assert_int_equal(value, 1); /* leading zeros are allowed to be there */
}

static size_t write_sample(uint8_t *out, size_t size)
{
	struct bp_coap_writer w;

	bp_coap_begin(&w, out, size, BP_COAP_CON, BP_COAP_POST, 1, (const uint8_t *)"token678", 8);
	bp_coap_option(&w, 11, "cse-in", 6);
	bp_coap_option(&w, 11, "a segment of more than twelve", 29);
	bp_coap_option_uint(&w, 12, 10001);
	bp_coap_option_uint(&w, 267, 4);
	bp_coap_option(&w, 600, NULL, 0);
	return bp_coap_end(&w, out, "payload", 7);
}

static void oversized_value_is_not_written(void **state)
{
	uint8_t whole[256];
	const size_t len = write_sample(whole, sizeof(whole));

	assert_int_equal(len, 4 + 8 + 7 + 2 + 29 + 3 + 3 + 3 + 8);
	for (size_t size = 0; size <= len; size++) {
		uint8_t *exact = malloc(size); /* NOLINT(*UnixAPI) */
		const size_t n = write_sample(exact, size);

		assert_int_equal(n, size == len ? len : 0);
		if (n != 0)
			assert_memory_equal(exact, whole, len);
		free(exact);
	}
}

static void disallowed_fields_are_not_written(void **state)
{
	static uint8_t out[70000], value[70000];
	struct bp_coap_writer w;

	bp_coap_begin(&w, out, sizeof(out), BP_COAP_CON, BP_COAP_GET, 1, value, 9);
	assert_int_equal(bp_coap_end(&w, out, NULL, 0), 0);

	bp_coap_begin(&w, out, sizeof(out), BP_COAP_CON, BP_COAP_GET, 1, NULL, 0);
	bp_coap_option(&w, 12, "x", 1);
	bp_coap_option(&w, 11, "x", 1); /* goes down */
	bp_coap_option(&w, 13, "x", 1);
	assert_int_equal(bp_coap_end(&w, out, NULL, 0), 0);

	bp_coap_begin(&w, out, sizeof(out), BP_COAP_CON, BP_COAP_GET, 1, NULL, 0);
	bp_coap_option(&w, 65536, "x", 1);
	assert_int_equal(bp_coap_end(&w, out, NULL, 0), 0);

	bp_coap_begin(&w, out, sizeof(out), BP_COAP_CON, BP_COAP_GET, 1, NULL, 0);
	bp_coap_option(&w, 1, value, 65805); /* one more than the longest */
	assert_int_equal(bp_coap_end(&w, out, NULL, 0), 0);
}

/* A message with anything in it, by the plain encoder; up to five options and a payload. */
struct made {
	struct {
		unsigned number, len, at;
	} option[5];
	unsigned n, type, code, mid, token_len, payload_len;
	uint8_t token[8], stuff[4096];
};

static void make(struct made *m, uint64_t *random)
{
	unsigned number = 0;

	m->n = (unsigned)(next_random(random) % 6);
	m->type = (unsigned)(next_random(random) % 4);
	m->code = 1 + (unsigned)(next_random(random) % 255);
	m->mid = (unsigned)(next_random(random) % 65536);
	m->token_len = (unsigned)(next_random(random) % 9);
	m->payload_len = (unsigned)(next_random(random) % 3 * 40);
	for (size_t i = 0; i < sizeof(m->stuff); i++)
		m->stuff[i] = (uint8_t)next_random(random);
	memcpy(m->token, m->stuff, sizeof(m->token));
	plain_begin(&plain, m->type, m->code, m->mid, m->token, m->token_len);
	for (unsigned i = 0; i < m->n; i++) {
		const unsigned most[] = {2, 20, 300, 12000};

		number += (unsigned)(next_random(random) % most[next_random(random) % 4]);
		m->option[i].number = number;
		m->option[i].len = (unsigned)(next_random(random) % most[next_random(random) % 3]);
		m->option[i].at = (unsigned)(next_random(random) % 1000);
		plain_option(&plain, number, m->stuff + m->option[i].at, m->option[i].len);
	}
	if (m->payload_len != 0)
		plain_payload(&plain, m->stuff, m->payload_len);
}

static void assert_reads_as(const struct made *m)
{
	uint8_t *exact = exact_copy(plain.bytes, plain.len);
	const uint8_t *cursor = NULL;
	struct bp_coap_option o;
	struct bp_coap c;

	assert_int_equal(bp_coap_read(exact, plain.len, &c), BP_COAP_OK);
	assert_int_equal(c.type, m->type);
	assert_int_equal(c.code, m->code);
	assert_int_equal(c.mid, m->mid);
	assert_int_equal(c.token_len, m->token_len);
	assert_memory_equal(c.token, m->token, m->token_len);
	for (unsigned i = 0; i < m->n; i++) {
		assert_true(bp_coap_next(&c, &cursor, &o));
		assert_int_equal(o.number, m->option[i].number);
		assert_int_equal(o.len, m->option[i].len);
		assert_memory_equal(o.value, m->stuff + m->option[i].at, o.len);
	}
	assert_false(bp_coap_next(&c, &cursor, &o));
	assert_int_equal(c.payload_len, m->payload_len);
	if (m->payload_len != 0)
		assert_memory_equal(c.payload, m->stuff, m->payload_len);
	else
		assert_null(c.payload);
	free(exact);
}

static void assert_writes_as(const struct made *m)
{
	uint8_t *exact = malloc(plain.len);
	struct bp_coap_writer w;

	bp_coap_begin(&w, exact, plain.len, (enum bp_coap_type)m->type, (uint8_t)m->code,
		(uint16_t)m->mid, m->token, (uint8_t)m->token_len);
	for (unsigned i = 0; i < m->n; i++)
		bp_coap_option(
			&w, m->option[i].number, m->stuff + m->option[i].at, m->option[i].len);
	assert_int_equal(bp_coap_end(&w, exact, m->stuff, m->payload_len), plain.len);
	assert_memory_equal(exact, plain.bytes, plain.len);
	free(exact);
}

static void any_message_is_read_and_written(void **state)
{
	static struct made m;
	uint64_t random = 0x252;

	for (int i = 0; i < 3000; i++) {
		make(&m, &random);
		assert_reads_as(&m);
		assert_writes_as(&m);
	}
}

/* Cut or damaged in any place: an error or another message, but never a read outside. */
static void any_bytes_are_safe(void **state)
{
	static struct made m;
	uint64_t random = 0x7252;

	for (int i = 0; i < 60; i++) {
		make(&m, &random);
		for (size_t len = 0; len < plain.len && len < 300; len++)
			read_checked(plain.bytes, len);
		for (int k = 0; k < 100; k++) {
			const size_t at = next_random(&random) % plain.len;
			const uint8_t was = plain.bytes[at];

			plain.bytes[at] = (uint8_t)next_random(&random);
			read_checked(plain.bytes, plain.len);
			plain.bytes[at] = was;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(malformed_messages_are_refused),
		cmocka_unit_test(limits_of_allowed_values),
		cmocka_unit_test(option_deltas_and_lengths_at_their_edges),
		cmocka_unit_test(uint_options),
		cmocka_unit_test(oversized_value_is_not_written),
		cmocka_unit_test(disallowed_fields_are_not_written),
		cmocka_unit_test(any_message_is_read_and_written),
		cmocka_unit_test(any_bytes_are_safe),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
