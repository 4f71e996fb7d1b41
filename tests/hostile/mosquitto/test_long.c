/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

/*
 * A client that hides a value by what is around it: in a publication longer than inspection may
 * keep of it, or in a JSON text that one parser reads and another one does not.
 */

static struct rig rig;

static void open_rig(uint64_t per_flow, enum bp_value_kind kind)
{
	struct bp_rule_spec rule = rig_rule("r", "t/#", BP_COND_GT, 80);
	const char *error;
	size_t at;

	rig_defaults(&rig);
	rig.mqtt.reassembly_per_connection = per_flow;
	rig_open(&rig);
	rule.value.kind = kind;
	if (kind == BP_VALUE_JSON)
		assert_int_equal(
			bp_json_path_compile("$.celsius", &rule.value.json, &error, &at), 0);
	if (kind == BP_VALUE_BINARY) {
		rule.value.binary.type = BP_BIN_UINT16;
		rule.value.binary.offset = 1000;
	}
	rig_rules(&rig, &rule, 1);
}

/* `size` bytes of a document, its member at about `where`; freed by the caller. */
static uint8_t *document(size_t size, size_t where, const char *member, size_t *len)
{
	uint8_t *doc = malloc(size + 200);
	size_t n = (size_t)sprintf((char *)doc, "{\"pad\":\"");

	memset(doc + n, 'x', where);
	n += where;
	n += (size_t)sprintf((char *)doc + n, "\",%s,\"rest\":\"", member);
	if (n < size) {
		memset(doc + n, 'y', size - n);
		n = size;
	}
	n += (size_t)sprintf((char *)doc + n, "\"}");
	*len = n;
	return doc;
}

static void publish(struct peer *c, const uint8_t *payload, size_t n, size_t segment)
{
	struct bytes b = {0};

	mq_publish(&b, &(struct mq_publish){
			       .version = 4, .topic = "t/x", .payload = payload, .payload_len = n});
	for (size_t at = 0; at < b.n; at += segment)
		rig_send(&rig, c, CLIENT, b.p + at, b.n - at < segment ? b.n - at : segment);
	bytes_free(&b);
}

/* 300 kB and 1 MB with the value early give an alarm; with the value late they are counted. */
static void by_the_beginning(void **state)
{
	static const size_t sizes[] = {300000, 1000000, 1 << 20};
	static const size_t segments[] = {1460, 9000, 60000};

	(void)state;
	for (unsigned i = 0; i < 9; i++) {
		struct told_list told;
		struct peer c;
		uint8_t *doc;
		size_t n;

		open_rig(256 * 1024, BP_VALUE_JSON);
		peer_init(&c, false, 1, 1, 2);
		rig_connect(&rig, &c, 4, "long");
		doc = document(sizes[i % 3], 500, "\"celsius\":91", &n);
		publish(&c, doc, n, segments[i / 3]);
		free(doc);
		told = rig_told(&rig);
		assert_int_equal(told.n, 1);
		assert_true(told.a[0].value == 91);
		assert_int_equal(told.a[0].payload_len, 0); /* an envelope: not all is at hand */
		assert_true(told.a[0].flags & BP_ALARM_F_ENVELOPE);
		told_free(&told);
		assert_int_equal(rig_count(&rig, BP_C_PUBLISH_TRUNCATED), 1);
		assert_int_equal(rig_count(&rig, BP_C_PUBLISH_VALUE_TRUNCATED), 0);
		/* in step behind it, and nothing kept */
		rig_publish_text(&rig, &c, "t/x", "{\"celsius\":92}");
		assert_string_equal(rig_told_values(&rig), "92");
		doc = document(sizes[i % 3], sizes[i % 3] - 1000, "\"celsius\":91", &n);
		publish(&c, doc, n, segments[i / 3]);
		free(doc);
		assert_string_equal(rig_told_values(&rig), "");
		assert_int_equal(rig_count(&rig, BP_C_PUBLISH_VALUE_TRUNCATED), 1);
		rig_publish_text(&rig, &c, "t/x", "{\"celsius\":93}");
		assert_string_equal(rig_told_values(&rig), "93");
		rig_close(&rig);
	}
}

/* Not before the last byte: a publication that never ends is never delivered. */
static void not_before_its_end(void **state)
{
	struct bytes b = {0};
	struct peer c;
	uint8_t *doc;
	size_t n;

	(void)state;
	open_rig(64 * 1024, BP_VALUE_JSON);
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&rig, &c, 4, "long");
	doc = document(200000, 10, "\"celsius\":91", &n);
	mq_publish(&b, &(struct mq_publish){
			       .version = 4, .topic = "t/x", .payload = doc, .payload_len = n});
	for (size_t at = 0; at < b.n - 1; at += 1000)
		rig_send(&rig, &c, CLIENT, b.p + at, b.n - 1 - at < 1000 ? b.n - 1 - at : 1000);
	assert_string_equal(rig_told_values(&rig), "");
	rig_send(&rig, &c, CLIENT, b.p + b.n - 1, 1);
	assert_string_equal(rig_told_values(&rig), "91");
	/* bytes that the broker has, and inspection missed, behind the beginning */
	for (size_t at = 0; at < b.n; at += 1000) {
		size_t m = b.n - at < 1000 ? b.n - at : 1000;

		if (at >= 100000 && at < 150000)
			c.seq[CLIENT] += (uint32_t)m;
		else
			rig_send(&rig, &c, CLIENT, b.p + at, m);
		if (at == 149000)
			rig_ack(&rig, &c, BROKER);
	}
	assert_string_equal(rig_told_values(&rig), "91");
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 0);
	free(doc);
	bytes_free(&b);
	rig_close(&rig);
}

static void text_and_binary(void **state)
{
	static uint8_t payload[200000];
	struct peer c;

	(void)state;
	memset(payload, ' ', sizeof(payload));
	payload[1001] = 91;
	payload[1000] = 0;
	for (unsigned kind = 0; kind < 2; kind++) {
		open_rig(64 * 1024, kind == 0 ? BP_VALUE_BINARY : BP_VALUE_TEXT);
		peer_init(&c, false, 1, 1, 2);
		rig_connect(&rig, &c, 4, "long");
		publish(&c, payload, sizeof(payload), 1460);
		assert_string_equal(rig_told_values(&rig), kind == 0 ? "91" : "");
		assert_int_equal(rig_count(&rig, BP_C_PUBLISH_VALUE_TRUNCATED), kind);
		rig_close(&rig);
	}
}

/* The value in the beginning of a text, truncated at any position. */
static void truncated_text_gives_complete_values_only(void **state)
{
	static const struct {
		const char *text, *path;
		double value; /* 0: none */
	} cases[] = {
		{"{\"a\":1,", "$.a", 1},
		{"{\"a\":1", "$.a", 0}, /* it may continue */
		{"{\"a\":1 ", "$.a", 1},
		{"\xef\xbb\xbf{ \"a\" : -1e400 , \"b\"", "$.a", -1.7976931348623157e308},
		{"{\"a\":1,\"a\":2,\"c", "$.a", 2},
		{"{\"a\":1,\"a\":\"x\",\"c", "$.a", 0},
		{"{\"a\":1,\"a\":{\"b\":3},\"c", "$.a", 0},
		{"{\"b\":{\"a\":5},\"a\":6,", "$.a", 6},
		{"{\"b\":{\"a\":5},\"c\":6,", "$.a", 0},
		{"{\"b\":[{\"a\":5}],\"x\":{\"a\":7},", "$.x.a", 7},
		{"{\"x\":[1,2,[3],4,", "$.x[3]", 4},
		{"{\"x\":[1,2,[3],4,", "$.x[2][0]", 3},
		{"{\"x\":[[9,8],[7,6],", "$.x[1][1]", 6},
		{"[[],{},\"]\\\"\",null,true,false,12.5e1,", "$[6]", 125},
		{"{\"\\u0061\":4,", "$.a", 4},
		{"{\"\\ud800\":1,\"a\":4,", "$.a", 4},
		{"{\"s\":\"\\\\\",\"a\":4,", "$.a", 4},
		{"{\"s\":\"\\\",\"a\":4,", "$.a", 0},
		{"{\"x\" 1,\"a\":4,", "$.a", 0},
		{"{\"x\":1 \"a\":4,", "$.a", 0},
		{"{\"x\":01,\"a\":4,", "$.a", 0},
		{"[1}", "$[0]", 1}, /* found before the fault, as before a fault behind the cut */
		{"{\"a\":4}", "$.a", 4},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bp_value_source source = {.kind = BP_VALUE_JSON};
		size_t n = strlen(cases[i].text), at;
		const char *error;
		double v = 0;

		assert_int_equal(bp_json_path_compile(cases[i].path, &source.json, &error, &at), 0);
		for (size_t cut = 0; cut <= n; cut++) {
			uint8_t *exact = malloc(cut + (cut == 0));

			memcpy(exact, cases[i].text, cut);
			v = 0;
			(void)bp_value_beginning(exact, cut, &source, &v);
			free(exact);
		}
		if (v != cases[i].value)
			fail_msg("%s of %s is %g", cases[i].path, cases[i].text, v);
	}
}

/* Nesting deeper than any stack, before and behind the value. */
static void deep_nesting_does_not_hide_a_value(void **state)
{
	struct peer c;

	(void)state;
	for (unsigned way = 0; way < 4; way++) {
		static char text[100000];
		unsigned levels = 20000;
		char *p = text;

		open_rig(way < 2 ? 256 * 1024 : 32 * 1024, BP_VALUE_JSON);
		peer_init(&c, false, 1, 1, 2);
		rig_connect(&rig, &c, 4, "deep");
		p += sprintf(p, "{%s\"x\":", way % 2 ? "\"celsius\":91," : "");
		if (way == 2)
			levels = 5000; /* the value is in the first 32 KiB */
		for (unsigned i = 0; i < levels; i++)
			*p++ = '[';
		for (unsigned i = 0; i < levels; i++)
			*p++ = ']';
		if (way % 2 == 0)
			p += sprintf(p, ",\"celsius\":91");
		p += sprintf(p, ",\"y\":\"");
		while (p < text + 60000)
			*p++ = 'y';
		p += sprintf(p, "\"}");
		publish(&c, (uint8_t *)text, (size_t)(p - text), 1460);
		assert_string_equal(rig_told_values(&rig), "91");
		rig_close(&rig);
	}
}

static void examples_of_the_rfc(void **state)
{
	static const struct {
		const char *payload, *told;
	} cases[] = {
		{"{\"celsius\":1e400}", "1.79769e+308"},
		{"{\"celsius\":-1e400}", ""},
		{"\xef\xbb\xbf{\"celsius\":91}", "91"},
		{"{\"name\":\"\\udead\",\"celsius\":91}", "91"},
		{"{\"celsius\":20,\"celsius\":91}", "91"},
		{"{\"celsius\":91,\"celsius\":20}", ""},
		{"{\"\\u0063elsius\":91}", "91"},
		{"{\"celsius\":91", ""},
	};
	struct peer c;

	(void)state;
	open_rig(64 * 1024, BP_VALUE_JSON);
	peer_init(&c, false, 1, 1, 2);
	rig_connect(&rig, &c, 4, "json");
	for (unsigned round = 0; round < 3; round++) { /* by the whole walk, and by a layout */
		for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			rig_publish_text(&rig, &c, "t/x", cases[i].payload);
			assert_string_equal(rig_told_values(&rig), cases[i].told);
		}
	}
	rig_close(&rig);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_the_beginning),
		cmocka_unit_test(not_before_its_end),
		cmocka_unit_test(text_and_binary),
		cmocka_unit_test(truncated_text_gives_complete_values_only),
		cmocka_unit_test(deep_nesting_does_not_hide_a_value),
		cmocka_unit_test(examples_of_the_rfc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
