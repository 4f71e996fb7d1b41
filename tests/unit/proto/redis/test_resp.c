/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include <stdio.h>

#include "proto/redis/resp.h"

static struct bp_resp v[BP_RESP_VALUES_MAX];

static ssize_t read_all(const char *text, size_t len)
{
	uint8_t *copy = exact_copy(text, len);
	const ssize_t n = bp_resp_read((const char *)copy, len, v);

	/* the texts are compared by their offsets, in the original */
	for (unsigned i = 0; n > 0 && i < v[0].skip; i++)
		if (v[i].text != NULL)
			v[i].text = text + (v[i].text - (const char *)copy);
	free(copy);
	return n;
}

static bool is_text(const struct bp_resp *r, const char *text)
{
	return r->len == strlen(text) && memcmp(r->text, text, r->len) == 0;
}

static void each_type_is_read(void **state)
{
	static const char all[] = "*7\r\n+OK\r\n-ERR no\r\n:-42\r\n$3\r\na\r\n\r\n$-1\r\n*-1\r\n"
				  "*2\r\n$0\r\n\r\n:999999999999999999\r\n";

	(void)state;
	assert_int_equal(read_all(all, strlen(all)), strlen(all));
	assert_int_equal(v[0].type, BP_RESP_ARRAY);
	assert_int_equal(v[0].n, 7);
	assert_int_equal(v[0].skip, 10);
	assert_true(v[1].type == BP_RESP_STATUS && is_text(&v[1], "OK"));
	assert_true(v[2].type == BP_RESP_ERROR && is_text(&v[2], "ERR no"));
	assert_true(v[3].type == BP_RESP_INTEGER && v[3].integer == -42);
	assert_true(v[4].type == BP_RESP_TEXT && is_text(&v[4], "a\r\n"));
	assert_int_equal(v[5].type, BP_RESP_NIL);
	assert_int_equal(v[6].type, BP_RESP_NIL);
	assert_true(v[7].type == BP_RESP_ARRAY && v[7].n == 2 && v[7].skip == 3);
	assert_true(v[8].type == BP_RESP_TEXT && v[8].len == 0);
	assert_int_equal(v[9].integer, 999999999999999999);
}

/* Each beginning of a reply needs more; nothing behind it is read. */
static void a_beginning_needs_more_bytes(void **state)
{
	static const char reply[] = "*3\r\n$5\r\nhello\r\n:12\r\n+PONG\r\n";

	(void)state;
	for (size_t len = 0; len < strlen(reply); len++)
		assert_int_equal(read_all(reply, len), 0);
	assert_int_equal(read_all("+OK\r\n+OK\r\n", 10), 5);
}

static void invalid_replies_are_refused(void **state)
{
	static const char *const bad[] = {"hello\r\n", "?\r\n", ":\r\n", ":-\r\n", ":1a\r\n",
		":1000000000000000000\r\n", "$-2\r\n", "$1048577\r\n", "$3\r\nabcd\r\n",
		"$999999999999999999\r\n", "*-2\r\n", "*4097\r\n", "+OK\n", ":\n",
		"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "*1\r\n?"};
	char line[BP_RESP_LINE_MAX + 2] = "+";

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (read_all(bad[i], strlen(bad[i])) != -1)
			fail_msg("read: %s", bad[i]);
	memset(line + 1, 'x', sizeof(line) - 1);
	assert_int_equal(read_all(line, BP_RESP_LINE_MAX), 0);
	assert_int_equal(read_all(line, BP_RESP_LINE_MAX + 1), -1);
}

/* The bound counts the values of all arrays together. */
static void too_many_values_are_refused(void **state)
{
	char text[4 * BP_RESP_VALUES_MAX + 64];
	int n = snprintf(text, sizeof(text), "*2\r\n*%u\r\n", BP_RESP_VALUES_MAX - 3);

	(void)state;
	for (unsigned i = 0; i < BP_RESP_VALUES_MAX - 3; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ":1\r\n");
	n += snprintf(text + n, sizeof(text) - (size_t)n, ":2\r\n");
	assert_int_equal(read_all(text, (size_t)n), n);
	assert_int_equal(v[0].skip, BP_RESP_VALUES_MAX);
	text[1] = '3';
	n += snprintf(text + n, sizeof(text) - (size_t)n, ":3\r\n");
	assert_int_equal(read_all(text, (size_t)n), -1);
}

static void any_bytes_are_survived(void **state)
{
	static const char alphabet[] = "*$:+-0123456789\r\n\r\nax";
	uint64_t seed = 7;
	char text[64];

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		const size_t len = next_random(&seed) % sizeof(text);
		ssize_t n;

		for (size_t k = 0; k < len; k++)
			text[k] = alphabet[next_random(&seed) % (sizeof(alphabet) - 1)];
		n = read_all(text, len);
		assert_true(n >= -1 && n <= (ssize_t)len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_is_read),
		cmocka_unit_test(a_beginning_needs_more_bytes),
		cmocka_unit_test(invalid_replies_are_refused),
		cmocka_unit_test(too_many_values_are_refused),
		cmocka_unit_test(any_bytes_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
