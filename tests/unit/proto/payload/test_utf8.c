/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/exact.h"

#include "proto/payload/utf8.h"

struct sample {
	const char *bytes;
	size_t len;
};
#define S(text)                                                                                    \
	{                                                                                          \
		text, sizeof(text) - 1                                                             \
	}

static const struct sample good[] = {S(""), S("a"), S("plant/7"), S("\x7f"), S("\xc2\x80"),
	S("\xdf\xbf"), S("\xe0\xa0\x80"), S("\xec\xbf\xbf"), S("\xed\x9f\xbf"), S("\xee\x80\x80"),
	S("\xef\xbf\xbf"), S("\xf0\x90\x80\x80"), S("\xf3\xbf\xbf\xbf"), S("\xf4\x8f\xbf\xbf"),
	S("temp \xc2\xb0"
	  "C"),
	S("sixteen bytes...\xe2\x82\xac and more than sixteen after it")};

static const struct sample bad[] = {S("\x80"), S("\xbf"), S("\xc0\x80"), S("\xc1\xbf"), S("\xc2"),
	S("\xc2"
	  "a"),
	S("\xe0\x9f\xbf"), S("\xe0\x80\x80"), S("\xe1\x80"),
	S("\xe1\x80"
	  "a"),
	S("\xed\xa0\x80"), S("\xed\xbf\xbf"), S("\xf0\x8f\xbf\xbf"), S("\xf0\x90\x80"),
	S("\xf4\x90\x80\x80"), S("\xf5\x80\x80\x80"), S("\xff"), S("\xfe"),
	S("sixteen bytes...\xff"), S("fifteen bytes..\xe2\x82")};

static bool valid(const struct sample *s, bool (*check)(const uint8_t *, size_t))
{
	uint8_t *p = exact_copy(s->bytes, s->len);
	bool r = check(p, s->len);

	free(p);
	return r;
}

static void well_formed_text_is_valid(void **state)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(valid(&good[i], bp_utf8_valid));
		assert_true(valid(&good[i], bp_utf8_valid_mqtt));
	}
}

static void ill_formed_text_is_not(void **state)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(valid(&bad[i], bp_utf8_valid));
		assert_false(valid(&bad[i], bp_utf8_valid_mqtt));
	}
}

static void nul_is_for_json_only(void **state)
{
	for (size_t len = 1; len < 70; len++) {
		char text[70];

		memset(text, 'x', sizeof(text));
		for (size_t at = 0; at < len; at++) {
			struct sample s = {text, len};

			text[at] = 0;
			assert_true(valid(&s, bp_utf8_valid));
			assert_false(valid(&s, bp_utf8_valid_mqtt));
			text[at] = 'x';
		}
	}
}

/* One bad byte or one good character, at every place of texts of every length. */
static void every_position_is_checked(void **state)
{
	char text[70];

	memset(text, 'x', sizeof(text));
	for (size_t len = 1; len < sizeof(text); len++) {
		for (size_t at = 0; at < len; at++) {
			struct sample s = {text, len};

			text[at] = '\x80';
			assert_false(valid(&s, bp_utf8_valid));
			text[at] = '\xc3'; /* right when its second byte is there */
			if (at + 1 < sizeof(text))
				text[at + 1] = '\xa4';
			assert_int_equal(valid(&s, bp_utf8_valid), at + 1 < len);
			text[at] = 'x';
			if (at + 1 < sizeof(text))
				text[at + 1] = 'x';
		}
	}
}

/* Straight from the definition: decode, then ask whether the shortest form gives the same bytes. */
static bool reference(const uint8_t *s, size_t len)
{
	while (len > 0) {
		static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
		size_t n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : 4;
		uint32_t c;

		if (s[0] >= 0x80 && (s[0] < 0xc0 || s[0] >= 0xf8 || n > len))
			return false;
		c = n == 1 ? s[0] : s[0] & (0x7fu >> n);
		for (size_t i = 1; i < n; i++) {
			if (s[i] >> 6 != 2)
				return false;
			c = c << 6 | (s[i] & 0x3f);
		}
		if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
			return false;
		s += n;
		len -= n;
	}
	return true;
}

static void agrees_with_the_definition(void **state)
{
	uint8_t b[4];

	for (unsigned first = 0x80; first < 0x100; first++) {
		for (unsigned second = 0; second < 0x100; second++) {
			for (unsigned third = 0x70; third < 0xd0; third += 5) {
				b[0] = (uint8_t)first;
				b[1] = (uint8_t)second;
				b[2] = (uint8_t)third;
				b[3] = 0x85;
				for (size_t n = 1; n <= 4; n++)
					assert_int_equal(bp_utf8_valid(b, n), reference(b, n));
			}
		}
	}
}

static void truncated_character_differs_from_invalid(void **state)
{
	assert_int_equal(bp_utf8_char((const uint8_t *)"a", 1), 1);
	assert_int_equal(bp_utf8_char((const uint8_t *)"\xe2\x82\xac", 3), 3);
	assert_int_equal(bp_utf8_char((const uint8_t *)"\xe2\x82", 2), -1);
	assert_int_equal(bp_utf8_char((const uint8_t *)"\xe2", 1), -1);
	assert_int_equal(bp_utf8_char((const uint8_t *)"\xf0\x9f\x98", 3), -1);
	assert_int_equal(bp_utf8_char((const uint8_t *)"\xed\xa0", 2), 0);
	assert_int_equal(bp_utf8_char((const uint8_t *)"\xc0", 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(well_formed_text_is_valid),
		cmocka_unit_test(ill_formed_text_is_not),
		cmocka_unit_test(nul_is_for_json_only),
		cmocka_unit_test(every_position_is_checked),
		cmocka_unit_test(agrees_with_the_definition),
		cmocka_unit_test(truncated_character_differs_from_invalid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
