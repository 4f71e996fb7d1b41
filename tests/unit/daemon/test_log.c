/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/log.h"

static char written[1u << 20];

enum journal { NO_JOURNAL, JOURNAL };

/* Output of a process whose standard error is a file, with and without JOURNAL_STREAM. */
static void write_as(void (*log)(void), enum journal journal)
{
	FILE *file = tmpfile();
	char stream[64];
	struct stat st;
	int status;
	pid_t pid;

	assert_non_null(file);
	assert_int_equal(fstat(fileno(file), &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		(unsigned long long)st.st_ino + (journal == NO_JOURNAL));
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(fileno(file), STDERR_FILENO);
		setenv("JOURNAL_STREAM", stream, 1);
		if (bp_log_journal_socket == NULL)
			unsetenv("INVOCATION_ID");
		else
			setenv("INVOCATION_ID", "0123456789abcdef", 1);
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

/* Replaces what the clock said, after a check of its form, so that lines can be compared. */
static void hide_times(void)
{
	static const char form[] = "0000-00-00T00:00:00.000Z";
	char *line = written;

	while (*line != '\0') {
		char *time = line[0] == '{' ? line + strlen("{\"timestamp\": \"") : line;
		char *end = strchr(line, '\n');

		for (unsigned i = 0; form[i] != '\0'; i++) {
			if (form[i] == '0')
				assert_true(isdigit((unsigned char)time[i]));
			else
				assert_int_equal(time[i], form[i]);
		}
		memmove(time + 1, time + strlen(form), strlen(time + strlen(form)) + 1);
		time[0] = 'T';
		end = strchr(line, '\n');
		assert_non_null(end);
		line = end + 1;
	}
}

static void log_each_level(void)
{
	bp_log(BP_LOG_ERROR, "a %d", 1);
	bp_log(BP_LOG_WARNING, "b");
	bp_log(BP_LOG_INFO, "error: c");
	bp_log(BP_LOG_DEBUG, "not written");
}

static void the_level_follows_the_time(void **state)
{
	(void)state;
	write_as(log_each_level, NO_JOURNAL);
	hide_times();
	assert_string_equal(written, "T error plane: a 1\nT warning plane: b\n"
				     "T info plane: error: c\n");
}

/* Where the socket of the journal cannot be reached: the prefixes of sd-daemon(3), and no time. */
static void priorities_precede_lines_of_the_journal(void **state)
{
	(void)state;
	bp_log_journal_socket = "/nonexistent/socket";
	write_as(log_each_level, JOURNAL);
	assert_string_equal(written, "<3>error plane: a 1\n<4>warning plane: b\n"
				     "<6>info plane: error: c\n");
	bp_log_journal_socket = NULL;
	write_as(log_each_level, JOURNAL);
	assert_string_equal(written, "<3>error plane: a 1\n<4>warning plane: b\n"
				     "<6>info plane: error: c\n");
}

static void log_control_characters(void)
{
	bp_log(BP_LOG_INFO, "topic a\n<3>error plane: b\r\x1b[2J\x7f µs");
	bp_log_event(BP_LOG_INFO, BP_LOG_FIELDS(BP_LOG_STR("peer", "a\nb\x1b")), "c");
}

/* A peer's text makes no line of its own and no terminal sequence. */
static void an_event_is_one_line(void **state)
{
	(void)state;
	write_as(log_control_characters, JOURNAL);
	assert_string_equal(written, "<6>info plane: topic a <3>error plane: b  [2J  µs\n"
				     "<6>info plane: c peer=\"a b \"\n");
}

static void log_fields(void)
{
	bp_log_event(BP_LOG_WARNING,
		BP_LOG_FIELDS(BP_LOG_STR("port", "cloud"), BP_LOG_NUM("count", 12),
			BP_LOG_STR("topic", "plant/a b"), BP_LOG_STR("client", ""),
			BP_LOG_STR("rule", "a\"b\\")),
		"link down");
}

static void fields_follow_the_message(void **state)
{
	(void)state;
	write_as(log_fields, NO_JOURNAL);
	hide_times();
	assert_string_equal(written, "T warning plane: link down port=cloud count=12 "
				     "topic=\"plant/a b\" client=\"\" rule=\"a\\\"b\\\\\"\n");
}

static void log_fields_as_json(void)
{
	bp_log_set(BP_LOG_INFO, BP_LOG_JSON);
	log_fields();
}

static void an_event_is_a_json_object(void **state)
{
	(void)state;
	write_as(log_fields_as_json, NO_JOURNAL);
	hide_times();
	assert_string_equal(written,
		"{\"timestamp\": \"T\", \"level\": \"warning\", \"component\": \"plane\", "
		"\"message\": \"link down\", \"port\": \"cloud\", \"count\": 12, "
		"\"topic\": \"plant/a b\", \"client\": \"\", \"rule\": \"a\\\"b\\\\\"}\n");
}

static void log_at_levels(void)
{
	bp_log_set(BP_LOG_WARNING, BP_LOG_TEXT);
	log_each_level();
	bp_log_set(BP_LOG_DEBUG, BP_LOG_TEXT);
	bp_log(BP_LOG_DEBUG, "written");
}

static void events_below_the_level_are_suppressed(void **state)
{
	(void)state;
	write_as(log_at_levels, JOURNAL);
	assert_string_equal(
		written, "<3>error plane: a 1\n<4>warning plane: b\n<7>debug plane: written\n");
}

/* With a socket that takes datagrams as the journal does. */
static void the_journal_gets_fields(void **state)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char dir[] = "/tmp/log-test-XXXXXX", got[4096];
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	ssize_t n;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/s", dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	bp_log_journal_socket = at.sun_path;
	write_as(log_fields, JOURNAL);
	bp_log_journal_socket = NULL;
	assert_string_equal(written, "");
	n = recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT);
	assert_true(n > 0);
	got[n] = '\0';
	assert_string_equal(got,
		"PRIORITY=4\nCOMPONENT=plane\nSYSLOG_IDENTIFIER=biplane\nPORT=cloud\nCOUNT=12\n"
		"TOPIC=plant/a b\nCLIENT=\nRULE=a\"b\\\nMESSAGE=link down\n");
	close(fd);
	unlink(at.sun_path);
	rmdir(dir);
}

static void log_long_text(void)
{
	char *text = malloc(100000);

	memset(text, 'x', 99999);
	text[99999] = '\0';
	bp_log(BP_LOG_INFO, "%s", text);
	bp_log_event(BP_LOG_INFO, BP_LOG_FIELDS(BP_LOG_STR("peer", text), BP_LOG_STR("port", text)),
		"y");
	free(text);
}

static void long_events_are_cut(void **state)
{
	(void)state;
	write_as(log_long_text, JOURNAL);
	assert_int_equal(strchr(written, '\n') - written, strlen("<6>info plane: ") + 4095);
	assert_non_null(strstr(written, "\n<6>info plane: y peer=xxx"));
	assert_int_equal(strlen(strrchr(written, '=')), 1 + 511 + 1);
}

static void log_what_fills_a_line(void)
{
	char quotes[5000];

	memset(quotes, '"', sizeof(quotes));
	quotes[sizeof(quotes) - 1] = '\0';
	bp_log_set(BP_LOG_INFO, BP_LOG_JSON);
	bp_log_event(BP_LOG_INFO,
		BP_LOG_FIELDS(BP_LOG_STR("a", quotes), BP_LOG_STR("b", quotes),
			BP_LOG_STR("c", quotes), BP_LOG_STR("d", quotes), BP_LOG_STR("e", quotes),
			BP_LOG_STR("f", quotes), BP_LOG_STR("g", quotes),
			BP_LOG_STR("last", quotes)),
		"%s", quotes);
}

/* However long its parts are, a JSON object is whole. */
static void long_objects_are_whole(void **state)
{
	static const char end[] = "\\\"\"}\n";

	(void)state;
	write_as(log_what_fills_a_line, JOURNAL);
	assert_true(strlen(written) > 2 * 4095 + 8 * 2 * 511);
	assert_non_null(strstr(written, ", \"last\": \""));
	assert_string_equal(written + strlen(written) - strlen(end), end);
}

static void log_no_utf8(void)
{
	bp_log(BP_LOG_INFO,
		"a\xff\xc3 \xc3\xa4\xe2\x82\xac\xed\xa0\x80\xf0\x9f\x98\x80\xf5\xc2\x9b z");
	bp_log(BP_LOG_INFO, "%4094s\xc3\xa4", "");
}

/* A peer's bytes make no invalid JSON, and no terminal sequence by C1. */
static void invalid_utf8_is_replaced(void **state)
{
	(void)state;
	write_as(log_no_utf8, JOURNAL);
	assert_memory_equal(written,
		"<6>info plane: a?? \xc3\xa4\xe2\x82\xac???\xf0\x9f\x98\x80?  z\n",
		strlen("<6>info plane: a?? aaeee???ffff?  z\n"));
	/* vsnprintf() has cut the character in two */
	assert_string_equal(written + strlen(written) - 3, " ?\n");
}

static void log_a_stream(void)
{
	fprintf(bp_log_stream(BP_LOG_WARNING), "f.yaml:1:1: one\nf.yaml:2:1: two\n");
	fflush(bp_log_stream(BP_LOG_WARNING));
}

static void lines_of_a_stream_are_events(void **state)
{
	(void)state;
	write_as(log_a_stream, JOURNAL);
	assert_string_equal(
		written, "<4>warning plane: f.yaml:1:1: one\n<4>warning plane: f.yaml:2:1: two\n");
}

static void log_often(void)
{
	struct bp_log_limit limit = {0};

	for (unsigned i = 0; i < 5; i++)
		bp_log_limited(
			&limit, BP_LOG_INFO, BP_LOG_FIELDS(BP_LOG_STR("port", "cloud")), "again");
	limit.last_ns = 1; /* long ago */
	bp_log_limited(&limit, BP_LOG_INFO, BP_LOG_FIELDS(BP_LOG_STR("port", "cloud")), "again");
}

static void repetitions_are_counted(void **state)
{
	(void)state;
	write_as(log_often, JOURNAL);
	assert_string_equal(written,
		"<6>info plane: again port=cloud\n<6>info plane: again port=cloud suppressed=4\n");
}

/* ---- readers that do not read ---- */

#define STALLED_LINES 3000u

/* A process whose standard error is `to` logs more than a pipe or a socket can hold, says so, and
 * logs once more when it may. */
static pid_t log_to(int to, int done, int again)
{
	const pid_t pid = fork();
	char byte = 0;

	if (pid != 0)
		return pid;
	dup2(to, STDERR_FILENO);
	bp_log_begin("plane");
	for (unsigned i = 0; i < STALLED_LINES; i++)
		bp_log(BP_LOG_INFO, "%060u", i);
	if (write(done, &byte, 1) != 1 || read(again, &byte, 1) != 1)
		_exit(1);
	bp_log(BP_LOG_INFO, "it reads again");
	_exit(0);
}

static void read_all(int from)
{
	size_t n = strlen(written);
	ssize_t got;

	while ((got = recv(from, written + n, sizeof(written) - 1 - n, MSG_DONTWAIT)) > 0 ||
		(got < 0 && errno == ENOTSOCK &&
			(got = read(from, written + n, sizeof(written) - 1 - n)) > 0))
		n += (size_t)got;
	written[n] = '\0';
}

static void lines_are_lost_but_the_process_goes_on(const int ends[2])
{
	unsigned lines = 0;
	int done[2], again[2], status;
	const char *lost;
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(done), 0);
	assert_int_equal(pipe(again), 0);
	unsetenv("JOURNAL_STREAM");
	pid = log_to(ends[1], done[1], again[0]);
	close(ends[1]);
	assert_int_equal(read(done[0], &byte, 1), 1); /* it did not wait for us */
	written[0] = '\0';
	read_all(ends[0]);
	assert_int_equal(write(again[1], &byte, 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	read_all(ends[0]);
	for (const char *at = written; (at = strstr(at, "info plane: 0000")) != NULL; at++)
		lines++;
	assert_non_null(strstr(written, "it reads again\n"));
	lost = strstr(
		written, "warning plane: log lines are lost: their reader did not read lines=");
	assert_non_null(lost);
	assert_in_range(lines, 1, STALLED_LINES - 1);
	assert_int_equal(atoi(strstr(lost, "lines=") + 6), STALLED_LINES - lines);
	close(ends[0]);
	for (unsigned i = 0; i < 2; i++) {
		close(done[i]);
		close(again[i]);
	}
}

static void a_pipe_that_nobody_reads(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	lines_are_lost_but_the_process_goes_on(ends);
}

/* As under systemd. */
static void a_socket_that_nobody_reads(void **state)
{
	const int size = 16384;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	assert_int_equal(setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)), 0);
	lines_are_lost_but_the_process_goes_on(ends);
}

static void log_many(void)
{
	for (unsigned i = 0; i < 1000; i++)
		bp_log(BP_LOG_INFO, "%u", i);
}

/* Its datagrams become lines on standard error, which the journal reads, too. */
static void a_journal_that_does_not_read(void **state)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	char dir[] = "/tmp/log-test-XXXXXX", got[4096];
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	unsigned datagrams = 0, lines = 0;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(at.sun_path, sizeof(at.sun_path), "%s/s", dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	bp_log_journal_socket = at.sun_path;
	write_as(log_many, JOURNAL);
	bp_log_journal_socket = NULL;
	while (recv(fd, got, sizeof(got), MSG_DONTWAIT) > 0)
		datagrams++;
	for (const char *c = written; *c != '\0'; c++)
		lines += *c == '\n';
	assert_in_range(datagrams, 1, 999);
	assert_int_equal(datagrams + lines, 1000);
	close(fd);
	unlink(at.sun_path);
	rmdir(dir);
}

int main(void)
{
	bp_log_journal_socket = NULL;

	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_level_follows_the_time),
		cmocka_unit_test(priorities_precede_lines_of_the_journal),
		cmocka_unit_test(an_event_is_one_line),
		cmocka_unit_test(fields_follow_the_message),
		cmocka_unit_test(an_event_is_a_json_object),
		cmocka_unit_test(events_below_the_level_are_suppressed),
		cmocka_unit_test(the_journal_gets_fields),
		cmocka_unit_test(long_events_are_cut),
		cmocka_unit_test(long_objects_are_whole),
		cmocka_unit_test(invalid_utf8_is_replaced),
		cmocka_unit_test(lines_of_a_stream_are_events),
		cmocka_unit_test(repetitions_are_counted),
		cmocka_unit_test(a_pipe_that_nobody_reads),
		cmocka_unit_test(a_socket_that_nobody_reads),
		cmocka_unit_test(a_journal_that_does_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
