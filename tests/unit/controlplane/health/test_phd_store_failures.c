/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/controlplane/health/phd_store_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- killed ---- */

/*
 * A child process writes steps 1, 2, ... and reports through a pipe which ones are committed. Step
 * i: device i % 20 declares the configuration i % 9, then session i % 50 is put with i reports, or
 * closed when i is a multiple of 7.
 */
#define AS_WRITER "--writer"
#define KILL_SESSIONS 50u
#define KILL_DEVICES 20u

static void step(struct rig *r, unsigned i)
{
	assert_true(rig_learn(r, i % KILL_DEVICES, 0x4000, (uint16_t)(i % 9)));
	if (i % 7 == 0)
		rig_drop(r, i % KILL_SESSIONS);
	else
		rig_put(r, i % KILL_SESSIONS, i);
}

static int writer(const char *path, unsigned from, int fd)
{
	struct rig r = {.base = event_base_new(), .max_known = 1000, .max_bytes = 1 << 20};

	snprintf(r.path, sizeof(r.path), "%s", path);
	rig_open(&r);
	for (unsigned i = from;; i++) {
		step(&r, i);
		if (i % 16 != 0)
			continue;
		event_base_loop(r.base, EVLOOP_NONBLOCK);
		if (bp_phd_store_flush(r.store) && write(fd, &i, sizeof(i)) != (ssize_t)sizeof(i))
			return 0;
	}
}

static pid_t start_writer(const struct rig *r, unsigned from, int fd)
{
	char from_text[16], fd_text[16];
	pid_t pid;

	snprintf(from_text, sizeof(from_text), "%u", from);
	snprintf(fd_text, sizeof(fd_text), "%d", fd);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/proc/self/exe", "writer", AS_WRITER, r->path, from_text, fd_text,
			(char *)NULL);
		_exit(127);
	}
	return pid;
}

struct steps {
	unsigned done;
	uint32_t reports[KILL_SESSIONS]; /* 0: not open */
	int code[KILL_DEVICES];          /* -1: not known */
};

static void do_step(struct steps *s)
{
	const unsigned i = ++s->done;

	s->code[i % KILL_DEVICES] = (int)(i % 9);
	s->reports[i % KILL_SESSIONS] = i % 7 == 0 ? 0 : i;
}

/* Whether the sessions that were read are those after these steps; rows are raised for each start
 * since they were written, which shows in their high bits only. */
static bool sessions_are(const struct rig *r, const struct steps *s)
{
	for (unsigned n = 0; n < KILL_SESSIONS; n++) {
		const struct bp_phd_store_session *x = rig_find(r, n);
		struct bp_phd_store_session should = rig_session(n, s->reports[n]);

		if ((x != NULL) != (s->reports[n] != 0))
			return false;
		if (x == NULL)
			continue;
		should.reports = x->reports;
		if ((x->reports & 0xfffff) != s->reports[n] || !rig_equal(x, &should))
			return false;
	}
	return true;
}

/* The store must be as after some step from `committed` on; of the next one the configuration may
 * be there already. */
static void check_killed(struct rig *r, struct steps *s, unsigned committed)
{
	struct steps next;

	while (s->done < committed)
		do_step(s);
	while (!sessions_are(r, s)) {
		assert_true(s->done < committed + 5000);
		do_step(s);
	}
	next = *s;
	do_step(&next);
	for (unsigned d = 0; d < KILL_DEVICES; d++) {
		const int code = rig_known(r, d, 0x4000, NULL);

		assert_true(code == s->code[d] || code == next.code[d]);
	}
}

static void killed_while_writing(void **state)
{
	struct rig *r = *state;
	struct steps s = {0};
	unsigned committed = 0, i;
	uint64_t seed = 3;
	int pipe_fd[2], status;

	memset(s.code, 0xff, sizeof(s.code));
	for (unsigned round = 0; round < 15; round++) {
		const unsigned acks = 2 + (unsigned)(test_random(&seed) % 30);
		pid_t child;

		assert_int_equal(pipe(pipe_fd), 0);
		child = start_writer(r, s.done + 1, pipe_fd[1]);
		close(pipe_fd[1]);
		for (unsigned k = 0; k < acks; k++)
			assert_int_equal(
				read(pipe_fd[0], &committed, sizeof(committed)), sizeof(committed));
		for (uint64_t spin = test_random(&seed) % 1000000; spin > 0; spin--)
			__asm__ __volatile__("");
		kill(child, SIGKILL);
		while (read(pipe_fd[0], &i, sizeof(i)) == (ssize_t)sizeof(i))
			committed = i;
		close(pipe_fd[0]);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		rig_open(r);
		rig_load(r);
		assert_int_equal(rig_counts(r).skipped, 0);
		check_killed(r, &s, committed);
		/* The step that was half done is done whole. */
		do_step(&s);
		step(r, s.done);
		rig_close(r);
	}
	assert_int_equal(rig_files(r, ".damaged-"), 0);
}

/* ---- damaged ---- */

static void fill(struct rig *r, unsigned n)
{
	rig_open(r);
	rig_load(r);
	for (unsigned i = 0; i < n; i++) {
		assert_true(rig_learn(r, i, 0x4000, (uint16_t)(i % 100)));
		rig_put(r, i, i);
	}
	rig_close(r);
}

static off_t file_size(const struct rig *r)
{
	struct stat st;

	assert_int_equal(stat(r->path, &st), 0);
	return st.st_size;
}

/* Opens the damaged file: it is moved aside, said, all is asked for, and the fresh one is good. */
static void check_moved_aside(struct rig *r, unsigned files)
{
	rig_catch_stderr(r);
	rig_open(r);
	rig_load(r);
	RUN_UNTIL(r, r->retry == 1);
	assert_int_equal(rig_said(r, "is not a valid store of health devices"), 1);
	assert_int_equal(r->n, 0);
	assert_int_equal(rig_files(r, ".damaged-"), files);
	rig_put(r, 3, 30);
	assert_true(rig_learn(r, 3, 0x4000, 5));
	rig_reopen(r);
	assert_int_equal(r->n, 1);
	assert_int_equal(rig_find(r, 3)->reports, 30 + (1 << 20));
	assert_int_equal(rig_known(r, 3, 0x4000, NULL), 5);
	rig_close(r);
}

static void non_database_is_quarantined(void **state)
{
	struct rig *r = *state;
	uint64_t seed = 5, junk[512];
	int fd;

	fill(r, 1);
	for (unsigned i = 0; i < 512; i++)
		junk[i] = test_random(&seed);
	fd = open(r->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_int_equal(write(fd, junk, sizeof(junk)), sizeof(junk));
	close(fd);
	check_moved_aside(r, 1);
}

static void a_truncated_file_is_moved_aside(void **state)
{
	struct rig *r = *state;

	fill(r, 5000);
	assert_int_equal(truncate(r->path, file_size(r) / 2 / 4096 * 4096), 0);
	check_moved_aside(r, 1);
}

static void other_formats_are_quarantined(void **state)
{
	struct rig *r = *state;
	static const char *const commands[] = {
		"PRAGMA user_version = 99",
		"DROP TABLE sessions",
		"DROP TABLE store",
		"DELETE FROM store",
		"ALTER TABLE known RENAME COLUMN spec TO other",
	};

	for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		fill(r, 3);
		rig_sql(r, commands[i]);
		check_moved_aside(r, i + 1);
	}
}

/* Bytes changed at any position: a detected fault sets the file aside, an undetected one gives no
 * invalid row. */
static void random_damage(void **state)
{
	struct rig *r = *state;
	uint64_t seed = 9;

	for (unsigned round = 0; round < 40; round++) {
		int fd;

		fill(r, 60);
		fd = open(r->path, O_WRONLY | O_CLOEXEC);
		for (unsigned k = 1 + (unsigned)(test_random(&seed) % 20); k > 0; k--) {
			const uint8_t junk = (uint8_t)test_random(&seed);
			const off_t at = (off_t)(test_random(&seed) % (uint64_t)file_size(r));

			assert_int_equal(pwrite(fd, &junk, 1, at), 1);
		}
		close(fd);
		rig_open(r);
		rig_load(r);
		for (unsigned i = 0; i < r->n && i < RIG_SESSIONS; i++)
			assert_true(r->session[i].transport == 6 || r->session[i].transport == 17);
		for (unsigned d = 0; d < 60; d++)
			rig_known(r, d, 0x4000, NULL);
		rig_close(r);
	}
}

/* More than sqlite caches. */
#define DAMAGE_SESSIONS 300000u

static void damage_while_open(void **state)
{
	struct rig *r = *state;
	static char junk[1 << 16];
	off_t size;
	int fd;

	fill(r, 1000);
	rig_open(r);
	rig_load(r);
	for (unsigned i = 0; i < DAMAGE_SESSIONS; i++)
		rig_put(r, i, i);
	rig_reopen(r);
	memset(junk, 0x5a, sizeof(junk));
	size = file_size(r);
	fd = open(r->path, O_WRONLY | O_CLOEXEC);
	for (off_t at = 0; at < size; at += (off_t)sizeof(junk))
		assert_int_equal(pwrite(fd, junk, sizeof(junk), at), sizeof(junk));
	close(fd);
	assert_true(rig_learn(r, 7, 0x4000, 77));
	for (unsigned i = 0; r->retry == 0; i++) {
		assert_true(i < 10000);
		rig_put(r, (i * 7919) % DAMAGE_SESSIONS, i);
		event_base_loop(r->base, EVLOOP_NONBLOCK);
		bp_phd_store_flush(r->store);
	}
	assert_int_equal(rig_files(r, ".damaged-"), 1);
	/* The new file has the known configurations of the memory. */
	rig_reopen(r);
	assert_int_equal(rig_counts(r).known, 1000);
	assert_int_equal(rig_known(r, 7, 0x4000, NULL), 77);
}

static void rows_that_make_no_sense_are_skipped(void **state)
{
	struct rig *r = *state;

	fill(r, 10); /* device i has its own report, of code i */
	rig_sql(r, "UPDATE configs SET report = zeroblob(5) WHERE rowid ="
		   " (SELECT content FROM known WHERE system_id = x'abababab01000000');"
		   "UPDATE configs SET report = (SELECT c.report FROM configs c, known k WHERE"
		   "  c.content = k.content AND k.system_id = x'abababab02000000') WHERE rowid ="
		   " (SELECT content FROM known WHERE system_id = x'abababab03000000');"
		   "UPDATE configs SET report = 'text' WHERE rowid ="
		   " (SELECT content FROM known WHERE system_id = x'abababab04000000');"
		   "UPDATE known SET config_id = 16385 WHERE system_id = x'abababab05000000';"
		   "UPDATE known SET spec = 65536 WHERE system_id = x'abababab06000000';"
		   "UPDATE known SET system_id = x'01' WHERE system_id = x'abababab07000000';"
		   "UPDATE sessions SET transport = 9 WHERE reports = 1;"
		   "UPDATE sessions SET address = x'01' WHERE reports = 2;"
		   "UPDATE sessions SET port = -1 WHERE reports = 3;"
		   "UPDATE sessions SET port = 'x' WHERE reports = 4;"
		   "UPDATE sessions SET own = 5 WHERE reports = 5;"
		   "UPDATE sessions SET epoch = 1000 WHERE reports = 6;");
	rig_open(r);
	rig_load(r);
	/* three reports and their three pairs, three pairs, six sessions */
	assert_int_equal(rig_counts(r).skipped, 15);
	assert_int_equal(r->n, 4);
	for (unsigned i = 0; i < 10; i++) {
		const bool good = i == 0 || i > 6;

		assert_int_equal(rig_find(r, i) != NULL, good);
		assert_int_equal(
			rig_known(r, i, 0x4000, NULL), i == 0 || i == 2 || i > 7 ? (int)i : -1);
	}
	assert_int_equal(rig_known(r, 5, 0x4001, NULL), -1);
	assert_int_equal(rig_files(r, ".damaged-"), 0);
}

/* ---- a disk that would not ---- */

/* The store's file is in a file system of 1 MiB, mounted at dir[]. */
static void open_on_small_disk(struct rig *r, char *dir, size_t size)
{
	snprintf(dir, size, "%s/a", r->dir);
	assert_int_equal(mkdir(dir, 0755), 0);
	if (mount("none", dir, "tmpfs", 0, "size=1m") != 0) {
		print_message("no right to mount a small file system here\n");
		skip();
	}
	rig_open(r);
	rig_load(r);
}

/* A full file system of 1 MiB: no row is lost, and writing continues when there is space. */
static void full_disk(void **state)
{
	struct rig *r = *state;
	char dir[128];
	unsigned n = 0;

	open_on_small_disk(r, dir, sizeof(dir));
	rig_catch_stderr(r);
	do {
		assert_true(n < 100000);
		for (unsigned i = 0; i < 500; i++, n++)
			rig_put(r, n, n);
	} while (bp_phd_store_flush(r->store));
	for (unsigned i = 0; i < 3; i++) /* each attempt fails, and is counted */
		assert_false(bp_phd_store_flush(r->store));
	assert_true(rig_counts(r).failures >= 4);
	event_base_loop(r->base, EVLOOP_NONBLOCK);
	assert_true(rig_learn(r, 1, 0x4000, 9)); /* known configurations remain */
	assert_int_equal(rig_known(r, 1, 0x4000, NULL), 9);
	assert_false(bp_phd_store_flush(r->store));
	event_base_loop(r->base, EVLOOP_NONBLOCK);
	assert_int_equal(rig_said(r, "full; sessions continue"), 1); /* once a minute */
	assert_int_equal(rig_counts(r).lost, 0);
	assert_int_equal(mount("none", dir, "tmpfs", MS_REMOUNT, "size=64m"), 0);
	while (!bp_phd_store_flush(r->store))
		test_nap();
	rig_reopen(r);
	assert_int_equal(r->n, n);
	assert_int_equal(rig_known(r, 1, 0x4000, NULL), 9);
	assert_int_equal(rig_files(r, ".damaged-"), 0);
	rig_close(r);
	umount(dir);
}

/* No file can be made, for longer than the queue has room: then everything is written again. */
static void lost_rows_are_written_anew(void **state)
{
	struct rig *r = *state;
	unsigned lost = 0;

	snprintf(r->path, sizeof(r->path), "%s/a", r->dir);
	assert_int_equal(mkdir(r->path, 0755), 0);
	rig_open(r);
	RUN_UNTIL(r, r->not_whole == 1);
	assert_true(rig_learn(r, 1, 0x4000, 9));
	for (unsigned i = 0; i < BP_PHD_STORE_QUEUE + 10; i++) {
		const struct bp_phd_store_session s = rig_session(i % 1000, i);

		lost += !bp_phd_store_put(r->store, &s);
	}
	assert_int_equal(lost, 12); /* a report and a pair are queued, too */
	assert_int_equal(rig_counts(r).lost, 12);
	assert_int_equal(bp_phd_store_capacity(r->store), 0);
	assert_int_equal(rmdir(r->path), 0);
	RUN_UNTIL(r, r->retry == 1);
	assert_int_equal(r->whole, 1);
	rig_put(r, 5, 50); /* all that is open now */
	rig_reopen(r);
	assert_int_equal(r->n, 1);
	assert_int_equal(rig_find(r, 5)->reports, 50 + (1 << 20));
	assert_int_equal(rig_known(r, 1, 0x4000, NULL), 9);
}

/* The same where the disk is full, and reports are as long as they can be: the queue is also
 * limited in bytes. */
static void long_reports_are_written_anew(void **state)
{
	enum { LEN = 60000, MOST = 2 * BP_PHD_STORE_QUEUE_BYTES / LEN };
	struct rig *r = *state;
	uint8_t system_id[8];
	char dir[128];
	unsigned n = 0;

	open_on_small_disk(r, dir, sizeof(dir));
	while (rig_counts(r).lost == 0) {
		assert_true(n++ < MOST);
		rig_system_id(n, system_id);
		assert_true(bp_phd_store_learn(
			r->store, system_id, rig_report(0x4000, (uint16_t)n, LEN)));
		assert_int_equal(rig_known(r, n, 0x4000, NULL), (int)n);
	}
	assert_true(n >= BP_PHD_STORE_QUEUE_BYTES / (LEN + 1000));
	assert_int_equal(mount("none", dir, "tmpfs", MS_REMOUNT, "size=64m"), 0);
	RUN_UNTIL(r, r->retry == 1);
	rig_reopen(r);
	assert_int_equal(rig_known(r, n, 0x4000, NULL), (int)n);
	rig_close(r);
	umount(dir);
}

/* No file can be made, and there is no room for another configuration: no one else's is forgotten
 * for one that cannot be kept. */
static void nobody_goes_in_vain(void **state)
{
	struct rig *r = *state;
	uint8_t system_id[8];
	unsigned n = 0;
	bool kept;

	snprintf(r->path, sizeof(r->path), "%s/a", r->dir);
	assert_int_equal(mkdir(r->path, 0755), 0);
	rig_open(r);
	RUN_UNTIL(r, r->not_whole == 1);
	do {
		assert_true(n++ < 100);
		rig_system_id(n, system_id);
		kept = bp_phd_store_learn(
			r->store, system_id, rig_report(0x4000, (uint16_t)n, 60000));
	} while (kept);
	assert_int_equal(n, r->max_bytes / 60000 + 1);
	for (unsigned i = 1; i <= n; i++)
		assert_int_equal(rig_known(r, i, 0x4000, NULL), i < n ? (int)i : -1);
	assert_int_equal(rig_counts(r).evicted, 0);
}

static void one_process_at_a_time(void **state)
{
	struct rig *r = *state;
	struct rig second = {.base = event_base_new(), .max_known = 10, .max_bytes = 1000};

	memcpy(second.path, r->path, sizeof(second.path));
	rig_open(r);
	rig_load(r);
	rig_put(r, 1, 1);
	assert_true(bp_phd_store_flush(r->store));
	rig_catch_stderr(r);
	rig_open(&second);
	RUN_UNTIL(&second, second.not_whole == 1);
	assert_int_equal(rig_said(r, "locked"), 1);
	rig_put(&second, 2, 2);
	assert_int_equal(rig_files(r, ".damaged-"), 0); /* locked is not damaged */
	rig_close(r);
	rig_load(&second);
	assert_int_equal(second.n, 1);
	rig_close(&second);
	event_base_free(second.base);
	rig_open(r);
	rig_load(r);
	assert_int_equal(r->n, 2);
}

/* Known configurations and open sessions after the file was replaced. */
static void check_written_anew(struct rig *r)
{
	RUN_UNTIL(r, r->retry == 1);
	rig_put(r, 1, 10);
	assert_true(bp_phd_store_flush(r->store));
	event_base_loop(r->base, EVLOOP_NONBLOCK);
	assert_int_equal(rig_said(r, "was removed or replaced while it was in use"), 1);
	assert_int_equal(rig_files(r, ".damaged-"), 0);
	rig_reopen(r);
	assert_int_equal(r->n, 1);
	assert_int_equal(rig_find(r, 1)->reports, 10 + (1 << 20));
	assert_int_equal(rig_known(r, 1, 0x4000, NULL), 9);
	assert_int_equal(rig_counts(r).known, 1);
}

/* A file in use, which has a session and a configuration: all that is known. */
static void in_use(struct rig *r)
{
	rig_open(r);
	rig_load(r);
	rig_learn(r, 1, 0x4000, 9);
	rig_put(r, 1, 1);
	assert_true(bp_phd_store_flush(r->store));
	RUN_UNTIL(r, r->retry == 1); /* as it is new */
	r->retry = 0;
	rig_catch_stderr(r);
}

static void remove_log(const struct rig *r)
{
	char wal[160];

	snprintf(wal, sizeof(wal), "%s-wal", r->path);
	assert_int_equal(unlink(wal), 0);
}

/* The file is removed while no write is pending: the store notices it nevertheless. */
static void the_file_is_removed(void **state)
{
	struct rig *r = *state;

	in_use(r);
	remove_log(r);
	assert_int_equal(unlink(r->path), 0);
	check_written_anew(r);
}

/* Of the write-ahead log sqlite would continue with what no one finds after a kill. */
static void the_log_is_removed(void **state)
{
	struct rig *r = *state;

	in_use(r);
	remove_log(r);
	check_written_anew(r);
}

/* By a copy of an earlier day, which has other sessions and other configurations. */
static void the_file_is_replaced(void **state)
{
	struct rig *r = *state;
	char copy[160];

	rig_open(r);
	rig_load(r);
	rig_learn(r, 2, 0x4000, 5);
	rig_put(r, 2, 2);
	rig_close(r);
	snprintf(copy, sizeof(copy), "%s.copy", r->path);
	assert_int_equal(rename(r->path, copy), 0);
	in_use(r);
	assert_int_equal(rename(copy, r->path), 0);
	check_written_anew(r);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
		TEST(killed_while_writing),
		TEST(non_database_is_quarantined),
		TEST(a_truncated_file_is_moved_aside),
		TEST(other_formats_are_quarantined),
		TEST(random_damage),
		TEST(damage_while_open),
		TEST(rows_that_make_no_sense_are_skipped),
		TEST(full_disk),
		TEST(lost_rows_are_written_anew),
		TEST(long_reports_are_written_anew),
		TEST(nobody_goes_in_vain),
		TEST(one_process_at_a_time),
		TEST(the_file_is_removed),
		TEST(the_log_is_removed),
		TEST(the_file_is_replaced),
	};

	if (argc == 5 && strcmp(argv[1], AS_WRITER) == 0)
		return writer(argv[2], (unsigned)strtoul(argv[3], NULL, 10),
			(int)strtol(argv[4], NULL, 10));
	return cmocka_run_group_tests_name("phd store failures", tests, NULL, NULL);
}
