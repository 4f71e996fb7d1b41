/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/log.h"

static char written[16384];

/* What a process writes whose standard error is a file, and JOURNAL_STREAM names it or, with
 * `off`, another one. */
static void write_as(void (*log)(void), int off)
{
	FILE *file = tmpfile();
	char stream[64];
	struct stat st;
	int status;
	pid_t pid;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino + (unsigned)off);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(fileno(file), STDERR_FILENO);
		setenv("JOURNAL_STREAM", stream, 1);
		bp_log_begin("plane");
		log();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	rewind(file);
	written[fread(written, 1, sizeof(written) - 1, file)] = '\0';
	fclose(file);
}

static void log_each_level(void)
{
	bp_log(BP_LOG_ERROR, "a %d", 1);
	bp_log(BP_LOG_WARNING, "b");
	bp_log(BP_LOG_INFO, "error: c");
	bp_log_plain(BP_LOG_WARNING, "biplane: %s", "d");
}

static void levels_precede_lines_of_the_journal(void **state)
{
	(void)state;
	write_as(log_each_level, 0);
	assert_string_equal(written, "<3>plane: error: a 1\n<4>plane: warning: b\n"
				     "<6>plane: info: error: c\n<4>biplane: d\n");
	write_as(log_each_level, 1);
	assert_string_equal(written, "plane: error: a 1\nplane: warning: b\n"
				     "plane: info: error: c\nbiplane: d\n");
}

static void log_control_characters(void)
{
	bp_log(BP_LOG_INFO, "topic a\n<3>plane: error: b\r\x1b[2J\x7f µs");
}

/* A peer's text makes no line of its own and no terminal sequence. */
static void an_event_is_one_line(void **state)
{
	(void)state;
	write_as(log_control_characters, 0);
	assert_string_equal(written, "<6>plane: info: topic a <3>plane: error: b  [2J  µs\n");
}

static void log_lines(void)
{
	FILE *stream = bp_log_stream(BP_LOG_ERROR);

	bp_log_plain(BP_LOG_INFO, "EAL: a\n b\n");
	fputs("f.yaml:1:1: ", stream);
	fprintf(stream, "%s\n", "c");
	fputs("d\n", bp_log_stream(BP_LOG_ERROR));
	fputs("e\n", bp_log_stream(BP_LOG_WARNING));
}

static void each_line_of_a_text_has_the_level(void **state)
{
	(void)state;
	write_as(log_lines, 0);
	assert_string_equal(written, "<6>EAL: a\n<6> b\n<3>f.yaml:1:1: c\n<3>d\n<4>e\n");
}

static void log_long(void)
{
	char text[9000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	bp_log(BP_LOG_INFO, "%s", text);
	bp_log_plain(BP_LOG_INFO, "%s", text);
}

static void a_long_event_is_cut_and_a_long_text_is_not(void **state)
{
	const char *second;

	(void)state;
	write_as(log_long, 1);
	second = strchr(written, '\n');
	assert_non_null(second);
	assert_int_equal(second - written, strlen("plane: info: ") + 4095);
	assert_int_equal(strlen(second + 1), 9000);
}

static void log_often(void)
{
	struct bp_log_limit limit = {0};

	for (unsigned i = 0; i < 5; i++)
		bp_log_limited(&limit, BP_LOG_WARNING, "f%u", i);
	limit.last_ns = 1;
	bp_log_limited(&limit, BP_LOG_WARNING, "g");
}

static void a_limit_counts_what_it_leaves_out(void **state)
{
	(void)state;
	write_as(log_often, 1);
	assert_string_equal(
		written, "plane: warning: f0\nplane: warning: g (and 4 more such messages)\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_precede_lines_of_the_journal),
		cmocka_unit_test(an_event_is_one_line),
		cmocka_unit_test(each_line_of_a_text_has_the_level),
		cmocka_unit_test(a_long_event_is_cut_and_a_long_text_is_not),
		cmocka_unit_test(a_limit_counts_what_it_leaves_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
