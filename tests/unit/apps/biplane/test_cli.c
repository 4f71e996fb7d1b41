/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "apps/biplane/cli.h"
#include "apps/biplane/exit_status.h"

enum { OPT_SLOW = BP_CLI_LONG };

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "a file"},
	{OPT_SLOW, "slow", NULL, "slowly"},
	{OPT_SLOW + 1, "hidden", NULL, NULL},
	{0, NULL, NULL, NULL},
};

static int no_main(const struct bp_cli_command *command, int argc, char **argv)
{
	return 0;
}

static const struct bp_cli_command plain = {
	.name = "plain",
	.summary = "s",
	.synopsis = "-c FILE",
	.text = "Text.",
	.example = "  example",
	.options = options,
	.main = no_main,
};

static const struct bp_cli_command with_rest = {
	.name = "rest",
	.summary = "s",
	.synopsis = "-c FILE [-- REST]",
	.text = "Text.",
	.example = "  example",
	.options = options,
	.takes_rest = true,
	.main = no_main,
};

#define ARGV(...)                                                                                  \
	char *argv[] = {__VA_ARGS__, NULL};                                                        \
	int argc = (int)(sizeof(argv) / sizeof(argv[0])) - 1

static void options_and_operands_in_any_order(void **state)
{
	ARGV("plain", "one", "--slow", "-c", "x.yaml", "two");
	struct bp_cli c;
	char **words;

	bp_cli_begin(&c, &plain, argc, argv);
	assert_int_equal(bp_cli_next(&c), OPT_SLOW);
	assert_int_equal(bp_cli_next(&c), 'c');
	assert_string_equal(c.value, "x.yaml");
	assert_int_equal(bp_cli_next(&c), BP_CLI_END);
	assert_int_equal(bp_cli_operands(&c, &words), 2);
	assert_string_equal(words[0], "one");
	assert_string_equal(words[1], "two");
	assert_int_equal(bp_cli_no_operands(&c), BP_EX_USAGE);
	assert_null(c.rest);
}

static void the_rest_is_unchanged(void **state)
{
	ARGV("rest", "-c", "x.yaml", "--", "-l", "0", "--", "--slow");
	struct bp_cli c;

	bp_cli_begin(&c, &with_rest, argc, argv);
	assert_int_equal(bp_cli_next(&c), 'c');
	assert_int_equal(bp_cli_next(&c), BP_CLI_END);
	assert_int_equal(bp_cli_no_operands(&c), 0);
	assert_int_equal(c.rest_argc, 4);
	assert_string_equal(c.rest[0], "-l");
	assert_string_equal(c.rest[2], "--");
	assert_string_equal(c.rest[3], "--slow");
}

static void a_word_before_the_rest_is_an_error(void **state)
{
	ARGV("rest", "word", "--", "-l");
	struct bp_cli c;

	bp_cli_begin(&c, &with_rest, argc, argv);
	assert_int_equal(bp_cli_next(&c), BP_CLI_END);
	assert_int_equal(bp_cli_no_operands(&c), BP_EX_USAGE);
}

static void wrong_options_stop(void **state)
{
	{
		ARGV("plain", "--nonsense");
		struct bp_cli c;

		bp_cli_begin(&c, &plain, argc, argv);
		assert_int_equal(bp_cli_next(&c), BP_CLI_STOP);
		assert_int_equal(c.status, BP_EX_USAGE);
	}
	{
		ARGV("plain", "-c");
		struct bp_cli c;

		bp_cli_begin(&c, &plain, argc, argv);
		assert_int_equal(bp_cli_next(&c), BP_CLI_STOP);
		assert_int_equal(c.status, BP_EX_USAGE);
	}
	{
		ARGV("plain", "--slow=1");
		struct bp_cli c;

		bp_cli_begin(&c, &plain, argc, argv);
		assert_int_equal(bp_cli_next(&c), BP_CLI_STOP);
		assert_int_equal(c.status, BP_EX_USAGE);
	}
}

static void help_lists_what_is_for_people(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	bp_cli_help(&plain, out);
	fclose(out);
	assert_non_null(strstr(text, "Usage: biplane plain -c FILE"));
	assert_non_null(strstr(text, "-c, --config FILE"));
	assert_non_null(strstr(text, "--slow"));
	assert_non_null(strstr(text, "-h, --help"));
	assert_null(strstr(text, "hidden"));
	free(text);
}

static void numbers_are_decimal_and_bounded(void **state)
{
	uint64_t v = 7;

	assert_true(bp_cli_number("0", 0, 10, &v));
	assert_int_equal(v, 0);
	assert_true(bp_cli_number("18446744073709551615", 0, UINT64_MAX, &v));
	assert_true(v == UINT64_MAX);
	v = 7;
	assert_false(bp_cli_number("18446744073709551616", 0, UINT64_MAX, &v));
	assert_false(bp_cli_number("11", 0, 10, &v));
	assert_false(bp_cli_number("0", 1, 10, &v));
	assert_false(bp_cli_number("-1", 0, UINT64_MAX, &v));
	assert_false(bp_cli_number("+1", 0, 10, &v));
	assert_false(bp_cli_number(" 1", 0, 10, &v));
	assert_false(bp_cli_number("1s", 0, 10, &v));
	assert_false(bp_cli_number("", 0, 10, &v));
	assert_int_equal(v, 7);
}

static const char *guess(const char *word)
{
	static const char *const words[] = {"ports", "nodes", "drops", "alarms", "dataplane"};

	return bp_cli_suggest(word, words, 5);
}

static void durations_are_whole_and_bounded(void **state)
{
	static const char *const wrong[] = {"", "s", "10", "-1s", "1.5m", "1 m", "1d", "10ms", "0s",
		"25h", "99999999s", "18446744073709551617s", "1mm", " 1s"};
	uint64_t ns = 7;

	assert_true(bp_cli_duration("90s", 1, 86400, &ns));
	assert_true(ns == 90 * 1000000000ull);
	assert_true(bp_cli_duration("10m", 1, 86400, &ns));
	assert_true(ns == 600 * 1000000000ull);
	assert_true(bp_cli_duration("24h", 1, 86400, &ns));
	assert_true(ns == 86400 * 1000000000ull);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(bp_cli_duration(wrong[i], 1, 86400, &ns));
}

static void suggestions_are_near_or_none(void **state)
{
	assert_string_equal(guess("port"), "ports");
	assert_string_equal(guess("ponts"), "ports");
	assert_string_equal(guess("alamrs"), "alarms");
	assert_null(guess("data")); /* an abbreviation, not a typing error */
	assert_string_equal(guess("data-plane"), "dataplane");
	assert_null(guess("weather"));
	assert_null(guess(""));
	assert_null(guess("x"));
	assert_null(guess("a-word-that-is-much-longer-than-any-subcommand-ever-will-be"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_and_operands_in_any_order),
		cmocka_unit_test(the_rest_is_unchanged),
		cmocka_unit_test(a_word_before_the_rest_is_an_error),
		cmocka_unit_test(wrong_options_stop),
		cmocka_unit_test(help_lists_what_is_for_people),
		cmocka_unit_test(numbers_are_decimal_and_bounded),
		cmocka_unit_test(durations_are_whole_and_bounded),
		cmocka_unit_test(suggestions_are_near_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
