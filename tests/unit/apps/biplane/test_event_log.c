/* SPDX-License-Identifier: BSD-3-Clause */
/* The log of events: files that are rotated, truncated and full, sockets whose readers stop and
 * return, and what is lost meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "apps/biplane/events/event_reader.h"
#include "apps/biplane/monitor/event_log.h"
#include "apps/biplane/monitor/event_sink.h"
#include "shm/events/plane_events.h"
#include "show_view.h"

#define S 1000000000ull
#define T0 (1767225599 * S)

static char dir[64], path[128], other[128];
static struct bp_event_ring ring;
static struct bp_event_log *event_log;
static uint64_t now, mono, written;

static int begin(void **state)
{
	if (set_up(state) != 0)
		return -1;
	snprintf(dir, sizeof(dir), "/tmp/biplane-test-XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/events", dir);
	snprintf(other, sizeof(other), "%s/events.1", dir);
	ring = bp_shm_events_of(&shm, BP_EVENTS_CONTROLPLANE);
	bp_event_ring_open(&ring);
	now = T0;
	mono = S;
	written = 0;
	return 0;
}

static int end(void **state)
{
	bp_event_log_free(event_log);
	event_log = NULL;
	unlink(path);
	unlink(other);
	if (rmdir(dir) != 0)
		return -1;
	return tear_down(state);
}

static void open_log(enum bp_event_log_kind kind)
{
	const struct bp_event_reader_options o = {.types = BP_EVENTS_ALL};
	struct bp_config_event_log c = {.kind = (uint8_t)kind};
	struct bp_event_reader *r = bp_event_reader_of("test", &shm, &o);

	memcpy(c.path, path, sizeof(path));
	assert_non_null(r);
	event_log = bp_event_log_of("test", r, &c);
	assert_non_null(event_log);
}

/* Events with numbers from 0, as generation. */
static void write_events(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		bp_config_event(&ring, BP_EVENT_CONFIG_RELOADED, written++, NULL, now);
}

static void tick(void)
{
	now += S;
	mono += 2 * S;
	bp_event_log_tick(event_log, now, mono);
}

static char *text_of_file(const char *name)
{
	static char text[4 << 20];
	const int fd = open(name, O_RDONLY);
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, text, sizeof(text) - 1);
	assert_true(n >= 0);
	close(fd);
	text[n] = '\0';
	return text;
}

/* Reads numbered events out of lines, which must all be JSON; the number of lines. */
struct sum {
	unsigned lines, config;
	uint64_t next, lost; /* the number expected next; what lost events say */
};

static void add_line(struct sum *s, const char *line, size_t n)
{
	json_t *event = json_loadb(line, n, 0, NULL);
	const json_t *c, *lost;

	if (event == NULL)
		fail_msg("no JSON: %.*s", (int)n, line);
	s->lines++;
	c = json_object_get(event, "config");
	lost = json_object_get(event, "lost");
	if (lost != NULL)
		s->lost += (uint64_t)json_integer_value(json_object_get(lost, "events"));
	if (c != NULL) {
		const uint64_t number =
			(uint64_t)json_integer_value(json_object_get(c, "generation"));

		/* a gap is what the lost events before it said */
		assert_int_equal(number, s->next + s->lost);
		s->next = number + 1 - s->lost;
		s->config++;
	}
	json_decref(event);
}

static void add_lines(struct sum *s, const char *text)
{
	for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1)
		add_line(s, text, (size_t)(end - text));
	assert_string_equal(text, ""); /* whole lines only */
}

static struct sum sum_of(const char *name)
{
	struct sum s = {0};

	add_lines(&s, text_of_file(name));
	return s;
}

/* ---- files ---- */

static void a_file_is_appended_and_rotated(void **state)
{
	struct sum s = {0};
	struct stat st;

	umask(0022);
	open_log(BP_EVENT_LOG_FILE);
	write_events(3);
	tick();
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	/* logrotate: rename, create, SIGHUP; until then the old file is written */
	assert_int_equal(rename(path, other), 0);
	write_events(2);
	tick();
	assert_int_equal(sum_of(other).config, 5);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	bp_event_log_reopen(event_log);
	write_events(4);
	tick();
	add_lines(&s, text_of_file(other));
	add_lines(&s, text_of_file(path));
	assert_int_equal(s.config, 9);
	assert_int_equal(s.lost, 0);
	assert_int_equal(bp_event_log_counts(event_log).events, 9);
	assert_int_equal(bp_event_log_counts(event_log).lost, 0);
	/* copytruncate: no hole of zeros, no half line */
	assert_int_equal(truncate(path, 0), 0);
	write_events(1);
	tick();
	assert_int_equal(text_of_file(path)[0], '{');
	add_lines(&s, text_of_file(path));
	assert_int_equal(s.config, 10);
}

static void the_last_line_is_repaired(void **state)
{
	static const char before[] = "{\"timestamp\":\"2025-12-31T23:59:58.000001+00:00\"}\n";
	const char *text;
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "%s{\"timestamp\":\"2025-12-31T23:5", before);
	fclose(f);
	open_log(BP_EVENT_LOG_FILE);
	write_events(1);
	tick();
	text = text_of_file(path);
	assert_memory_equal(text, before, sizeof(before) - 1);
	assert_memory_equal(text + sizeof(before) - 1, "{\"timestamp\":\"2025-12-31T23:59:59.", 34);
	bp_event_log_free(event_log);
	/* what is not ours is kept */
	f = fopen(path, "w");
	fputs("something else", f);
	fclose(f);
	open_log(BP_EVENT_LOG_FILE);
	write_events(1);
	tick();
	assert_memory_equal(text_of_file(path), "something else\n{", 16);
}

static void reading_continues_after_the_last_line(void **state)
{
	struct bp_event_sink s = {.to = {.kind = BP_EVENT_LOG_FILE}, .fd = -1};

	memcpy(s.to.path, path, sizeof(path));
	assert_int_equal(bp_event_sink_open(&s), 0);
	assert_int_equal(bp_event_sink_last(&s), 0);
	assert_true(dprintf(s.fd,
			    "{\"timestamp\":\"2025-12-31T23:59:58.000000+00:00\",\"a\":1}\n"
			    "{\"timestamp\":\"2025-12-31T23:59:59.000012+00:00\",\"a\":2}\n") > 0);
	assert_int_equal(bp_event_sink_last(&s), T0 + 12999);
	assert_true(dprintf(s.fd, "something else\n") > 0);
	assert_int_equal(bp_event_sink_last(&s), 0);
	bp_event_sink_close(&s);
}

/* A limit of the size of files acts as a full disk: writes are short, and then fail. */
static void a_full_disk_loses_nothing_that_fits_in_memory(void **state)
{
	struct rlimit before, full = {3000, RLIM_INFINITY};
	struct sum s;

	signal(SIGXFSZ, SIG_IGN);
	open_log(BP_EVENT_LOG_FILE);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	for (unsigned i = 0; i < 40; i++) {
		write_events(10);
		tick();
	}
	s = sum_of(path); /* whole lines while the disk is full */
	assert_true(s.config > 0 && s.config < 400);
	assert_false(bp_event_log_counts(event_log).open);
	assert_true(bp_event_log_counts(event_log).buffered > 0);
	full.rlim_cur = before.rlim_cur;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	tick();
	s = sum_of(path);
	assert_int_equal(s.config, 400);
	assert_int_equal(s.lost, 0);
	assert_true(bp_event_log_counts(event_log).open);
}

static void what_does_not_fit_in_memory_is_counted(void **state)
{
	struct sum s;

	snprintf(path, sizeof(path), "%s/no/events", dir);
	open_log(BP_EVENT_LOG_FILE);
	while (bp_event_log_counts(event_log).buffered + 10000 < BP_EVENT_LOG_BUFFER) {
		write_events(50);
		tick();
	}
	assert_int_equal(bp_event_log_counts(event_log).lost, 0);
	write_events(1000);
	tick();
	write_events(1000);
	tick();
	assert_true(bp_event_log_counts(event_log).buffered <= BP_EVENT_LOG_BUFFER);
	*strrchr(path, '/') = '\0';
	assert_int_equal(mkdir(path, 0700), 0);
	tick();
	tick();
	snprintf(path, sizeof(path), "%s/no/events", dir);
	s = sum_of(path);
	assert_true(s.lost > 0);
	assert_int_equal(s.config + s.lost, written);
	assert_int_equal(bp_event_log_counts(event_log).lost, s.lost);
	unlink(path);
	snprintf(path, sizeof(path), "%s/no", dir);
	rmdir(path);
}

/* A FIFO would block its writer, and /dev/full is no file. */
static void only_a_regular_file_is_written(void **state)
{
	assert_int_equal(mkfifo(path, 0600), 0);
	open_log(BP_EVENT_LOG_FILE);
	write_events(1);
	tick();
	assert_false(bp_event_log_counts(event_log).open);
	assert_true(bp_event_log_counts(event_log).failures > 0);
}

static void a_symbolic_link_is_not_followed(void **state)
{
	struct stat st;

	assert_int_equal(symlink(other, path), 0);
	open_log(BP_EVENT_LOG_FILE);
	write_events(1);
	tick();
	assert_false(bp_event_log_counts(event_log).open);
	assert_int_equal(stat(other, &st), -1);
}

static bool no_memory;

/* The first buffer of json_dumps() has 16 bytes, and no value of these events has. */
static void *allocate(size_t n)
{
	return no_memory && n == 16 ? NULL : malloc(n);
}

static void events_without_memory_are_counted(void **state)
{
	struct sum s;

	open_log(BP_EVENT_LOG_FILE);
	write_events(2);
	tick();
	json_set_alloc_funcs(allocate, free);
	no_memory = true;
	write_events(3);
	tick();
	no_memory = false;
	tick();
	tick();
	json_set_alloc_funcs(malloc, free);
	s = sum_of(path);
	assert_int_equal(s.config, 2);
	assert_int_equal(s.lost, 3);
	assert_int_equal(bp_event_log_counts(event_log).lost, 3);
}

/* ---- sockets ---- */

static int listen_on(int type)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0), small = 4096;

	memcpy(a.sun_path, path, strlen(path) + 1);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 1), 0);
	return fd;
}

/* What the socket has now. */
static size_t take(int fd, char *text, size_t size)
{
	size_t n = 0;
	ssize_t got;

	while (n < size - 1 && (got = recv(fd, text + n, size - 1 - n, MSG_DONTWAIT)) > 0)
		n += (size_t)got;
	text[n] = '\0';
	return n;
}

static void a_stream_whose_reader_stops_loses_nothing(void **state)
{
	static char text[2 << 20];
	const int server = listen_on(SOCK_STREAM);
	struct sum s = {0};
	size_t n = 0;
	int fd;

	open_log(BP_EVENT_LOG_UNIX);
	fd = accept(server, NULL, NULL);
	for (unsigned i = 0; i < 60; i++) { /* more than the socket has room for */
		write_events(50);
		tick();
	}
	assert_true(bp_event_log_counts(event_log).buffered > 0);
	for (unsigned i = 0; i < 2000 && bp_event_log_counts(event_log).buffered > 0; i++) {
		n += take(fd, text + n, sizeof(text) - n);
		tick();
	}
	n += take(fd, text + n, sizeof(text) - n);
	add_lines(&s, text);
	assert_int_equal(s.config, 3000);
	assert_int_equal(s.lost, 0);
	close(fd);
	close(server);
}

static void a_reader_that_returns_gets_whole_lines(void **state)
{
	static char text[2 << 20];
	const int server = listen_on(SOCK_STREAM);
	json_t *event;
	char *end;
	int fd;

	open_log(BP_EVENT_LOG_UNIX);
	fd = accept(server, NULL, NULL);
	for (unsigned i = 0; i < 60; i++) {
		write_events(50);
		tick();
	}
	/* it ends in the middle of a line */
	take(fd, text, 1000);
	end = strrchr(text, '\n');
	assert_non_null(end);
	close(fd);
	tick();
	tick();
	tick();
	fd = accept(server, NULL, NULL);
	assert_true(fd >= 0);
	take(fd, text, sizeof(text));
	assert_int_equal(text[0], '{');
	end = strchr(text, '\n');
	assert_non_null(end);
	event = json_loadb(text, (size_t)(end - text), 0, NULL);
	assert_non_null(event); /* whole */
	json_decref(event);
	close(fd);
	close(server);
}

static void datagrams_have_an_event_each(void **state)
{
	const int fd = listen_on(SOCK_DGRAM);
	char text[4096];
	unsigned n = 0;
	ssize_t got;

	open_log(BP_EVENT_LOG_UNIX);
	write_events(30); /* more than the queue of the socket holds */
	for (unsigned i = 0; i < 100 && n < 30; i++) {
		tick();
		while ((got = recv(fd, text, sizeof(text), MSG_DONTWAIT)) > 0) {
			struct sum s = {.next = n};

			add_line(&s, text, (size_t)got);
			n++;
		}
	}
	assert_int_equal(n, 30);
	close(fd);
}

/* Started before the reader of its socket. */
static void a_socket_that_comes_later_is_found(void **state)
{
	int server, fd;
	char text[4096];

	open_log(BP_EVENT_LOG_UNIX);
	write_events(1);
	tick();
	assert_false(bp_event_log_counts(event_log).open);
	server = listen_on(SOCK_STREAM);
	tick();
	fd = accept(server, NULL, NULL);
	assert_true(take(fd, text, sizeof(text)) > 0);
	assert_non_null(strstr(text, "\"generation\":0"));
	close(fd);
	close(server);
}

#define TEST(name_) cmocka_unit_test_setup_teardown(name_, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_appended_and_rotated),
		TEST(the_last_line_is_repaired),
		TEST(reading_continues_after_the_last_line),
		TEST(a_full_disk_loses_nothing_that_fits_in_memory),
		TEST(what_does_not_fit_in_memory_is_counted),
		TEST(only_a_regular_file_is_written),
		TEST(a_symbolic_link_is_not_followed),
		TEST(events_without_memory_are_counted),
		TEST(a_stream_whose_reader_stops_loses_nothing),
		TEST(a_reader_that_returns_gets_whole_lines),
		TEST(datagrams_have_an_event_each),
		TEST(a_socket_that_comes_later_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
