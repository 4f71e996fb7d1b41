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

#include "daemon/journal.h"

static char written[4096];

/* What a process writes whose standard error is a file, and JOURNAL_STREAM names it or, with
 * `off`, another one. */
static void write_as(const char *text, int off)
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
		if (!bp_journal_begin())
			_exit(1);
		fputs(text, stderr);
		fflush(stderr);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	rewind(file);
	written[fread(written, 1, sizeof(written) - 1, file)] = '\0';
	fclose(file);
}

static void test_levels_in_front(void **state)
{
	(void)state;
	write_as("biplane dataplane: no\nwarning: a\ncontrolplane: info: b\n", 0);
	assert_string_equal(
		written, "<3>biplane dataplane: no\n<4>warning: a\n<6>controlplane: info: b\n");
}

static void test_not_the_journal(void **state)
{
	(void)state;
	write_as("warning: a\n", 1);
	assert_string_equal(written, "warning: a\n");
}

/* A line longer than any buffer is not lost. */
static void test_long_line(void **state)
{
	char line[3000];

	(void)state;
	memset(line, 'x', sizeof(line));
	memcpy(line, "warning: ", 9);
	line[sizeof(line) - 2] = '\n';
	line[sizeof(line) - 1] = '\0';
	write_as(line, 0);
	assert_memory_equal(written, "<4>warning: ", 12);
	assert_int_equal(strlen(written), strlen(line) + 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels_in_front),
		cmocka_unit_test(test_not_the_journal),
		cmocka_unit_test(test_long_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
