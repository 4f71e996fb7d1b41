/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/controlplane/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "controlplane/alarms/backlog.h"
#include "controlplane/alarms/spool.h"

#define HOUR 3600000000000ull
#define ROW(a) (bp_alarm_size(a) + BP_SPOOL_ROW_OVERHEAD)

struct fixture {
	char dir[64], path[128];
	struct bp_spool *spool;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	test_dir_make(f->dir, sizeof(f->dir));
	snprintf(f->path, sizeof(f->path), "%s/a/b/spool.db", f->dir);
	f->spool = bp_spool_new(f->path, 1 << 20, HOUR);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	bp_spool_free(f->spool);
	test_dir_remove(f->dir);
	free(f);
	return 0;
}

static void reopen(struct fixture *f, uint64_t max_bytes)
{
	bp_spool_free(f->spool);
	f->spool = bp_spool_new(f->path, max_bytes, HOUR);
}

static struct bp_alarm *alarm_at(uint64_t id, uint64_t time_ns, const char *payload)
{
	return test_alarm_make(&(struct test_alarm){.id = id,
		.time_ns = time_ns,
		.state = BP_ALARM_RAISED,
		.to = "alarm",
		.payload = payload});
}

static enum bp_spool_added add(struct bp_spool *s, uint64_t id, uint64_t time_ns)
{
	struct bp_alarm *a = alarm_at(id, time_ns, "payload");
	enum bp_spool_added r = bp_spool_add(s, a);

	free(a);
	return r;
}

static void add_range(struct bp_spool *s, uint64_t from, uint64_t to)
{
	assert_true(bp_spool_begin(s));
	for (uint64_t id = from; id <= to; id++)
		assert_int_equal(add(s, id, id), BP_SPOOL_ADDED);
	assert_true(bp_spool_commit(s));
}

struct read {
	uint64_t id[8192];
	unsigned n, stop_after, damaged;
};

static bool on_row(void *arg, uint64_t id, const struct bp_alarm *a)
{
	struct read *r = arg;

	r->damaged += a == NULL;
	if (a != NULL) {
		assert_int_equal(a->id, id);
		assert_int_equal((uintptr_t)a % 8, 0);
	}
	r->id[r->n++] = id;
	return r->n != r->stop_after;
}

static bool read_from(struct bp_spool *s, uint64_t from, unsigned stop_after, struct read *r)
{
	bool end;

	memset(r, 0, sizeof(*r));
	r->stop_after = stop_after;
	assert_true(bp_spool_read(s, from, on_row, r, &end));
	return end;
}

static void id_order_and_reopen(void **state)
{
	struct fixture *f = *state;
	static const uint64_t shuffled[] = {5, 3, 9, 1, 7};
	struct bp_alarm *a = alarm_at(1, 1, "payload");
	struct read r;

	assert_true(bp_spool_begin(f->spool));
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(add(f->spool, shuffled[i], 1), BP_SPOOL_ADDED);
	assert_int_equal(bp_spool_rows(f->spool), 0); /* not before it is committed */
	assert_true(bp_spool_commit(f->spool));
	assert_int_equal(bp_spool_rows(f->spool), 5);
	assert_int_equal(bp_spool_bytes(f->spool), 5 * ROW(a));
	reopen(f, 1 << 20);
	assert_int_equal(bp_spool_max_id(f->spool), 9);
	assert_int_equal(bp_spool_rows(f->spool), 5);
	assert_int_equal(bp_spool_bytes(f->spool), 5 * ROW(a));
	assert_true(read_from(f->spool, 0, 0, &r));
	assert_int_equal(r.n, 5);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(r.id[i], 2 * i + 1);
	assert_false(read_from(f->spool, 4, 2, &r));
	assert_int_equal(r.n, 2);
	assert_int_equal(r.id[0], 5);
	free(a);
}

static void same_and_conflicting_ids(void **state)
{
	struct fixture *f = *state;
	struct bp_alarm *other = alarm_at(7, 1, "another payload");

	add_range(f->spool, 7, 7);
	assert_true(bp_spool_begin(f->spool));
	assert_int_equal(add(f->spool, 7, 7), BP_SPOOL_PRESENT);
	assert_int_equal(bp_spool_add(f->spool, other), BP_SPOOL_CONFLICT);
	assert_true(bp_spool_commit(f->spool));
	assert_int_equal(bp_spool_rows(f->spool), 1);
	free(other);
}

static void rollback_restores_the_state(void **state)
{
	struct fixture *f = *state;

	add_range(f->spool, 1, 3);
	assert_true(bp_spool_begin(f->spool));
	assert_int_equal(add(f->spool, 4, 4), BP_SPOOL_ADDED);
	bp_spool_rollback(f->spool);
	assert_int_equal(bp_spool_rows(f->spool), 3);
	assert_int_equal(bp_spool_max_id(f->spool), 3);
	assert_false(bp_spool_commit(f->spool));
	assert_int_equal(add(f->spool, 4, 4), BP_SPOOL_FAILED); /* outside a batch */
}

static void bounded_by_size(void **state)
{
	struct fixture *f = *state;
	struct bp_alarm *a = alarm_at(1, 1, "payload");
	uint64_t ten = 10 * ROW(a);
	struct read r;

	bp_spool_set_bounds(f->spool, ten, HOUR);
	add_range(f->spool, 1, 10);
	assert_int_equal(bp_spool_take_events(f->spool).dropped_size, 0); /* exactly full */
	add_range(f->spool, 11, 11);
	assert_int_equal(bp_spool_take_events(f->spool).dropped_size, 1);
	add_range(f->spool, 12, 40);
	assert_int_equal(bp_spool_take_events(f->spool).dropped_size, 29);
	assert_int_equal(bp_spool_take_events(f->spool).dropped_size, 0); /* taken */
	assert_int_equal(bp_spool_bytes(f->spool), ten);
	assert_true(read_from(f->spool, 0, 0, &r));
	assert_int_equal(r.n, 10);
	assert_int_equal(r.id[0], 31); /* the oldest went */
	/* A smaller bound holds from the next batch on, one byte short of a row counts. */
	bp_spool_set_bounds(f->spool, 3 * ROW(a) - 1, HOUR);
	add_range(f->spool, 41, 41);
	assert_int_equal(bp_spool_rows(f->spool), 2);
	/* An alarm larger than the spool is dropped together with all others. */
	bp_spool_set_bounds(f->spool, ROW(a) - 1, HOUR);
	add_range(f->spool, 50, 50);
	assert_int_equal(bp_spool_rows(f->spool), 0);
	assert_int_equal(bp_spool_bytes(f->spool), 0);
	free(a);
}

static void bounded_by_age(void **state)
{
	struct fixture *f = *state;
	const uint64_t start = 1000 * HOUR;
	struct read r;

	assert_true(bp_spool_begin(f->spool));
	for (uint64_t i = 0; i < 10; i++)
		add(f->spool, 100 + i, start + i);
	assert_true(bp_spool_commit(f->spool));
	assert_true(bp_spool_expire(f->spool, start + HOUR)); /* the first is exactly max_age old */
	assert_int_equal(bp_spool_take_events(f->spool).dropped_age, 0);
	assert_true(bp_spool_expire(f->spool, start + HOUR + 4));
	assert_int_equal(bp_spool_take_events(f->spool).dropped_age, 4);
	assert_true(read_from(f->spool, 0, 0, &r));
	assert_int_equal(r.n, 6);
	assert_int_equal(r.id[0], 104);
	/* A clock that was set back makes nothing old. */
	assert_true(bp_spool_expire(f->spool, 0));
	assert_int_equal(bp_spool_rows(f->spool), 6);
	assert_true(bp_spool_expire(f->spool, start + 3 * HOUR));
	assert_int_equal(bp_spool_rows(f->spool), 0);
	assert_int_equal(bp_spool_bytes(f->spool), 0);
}

static void delete_removes_given_ids_only(void **state)
{
	struct fixture *f = *state;
	static const uint64_t ids[] = {2, 99, 1, 2};
	uint64_t deleted;

	add_range(f->spool, 1, 5);
	assert_true(bp_spool_delete(f->spool, ids, 4, &deleted));
	assert_int_equal(deleted, 2); /* 99 was never there, the second 2 no more */
	reopen(f, 1 << 20);
	assert_true(bp_spool_ready(f->spool));
	assert_int_equal(bp_spool_rows(f->spool), 3);
}

static unsigned files_like(const struct fixture *f, const char *part)
{
	char dir[128];
	unsigned n = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/a/b", f->dir);
	d = opendir(dir);
	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		n += strstr(e->d_name, part) != NULL;
	closedir(d);
	return n;
}

/* Overwrites bytes [from, to) of the file. */
static void damage(const struct fixture *f, off_t from, off_t to)
{
	int fd = open(f->path, O_RDWR | O_CLOEXEC);
	char junk[512];

	assert_true(fd >= 0);
	memset(junk, 0x5a, sizeof(junk));
	for (off_t at = from; at < to; at += (off_t)sizeof(junk))
		assert_int_equal(pwrite(fd, junk, sizeof(junk), at), sizeof(junk));
	close(fd);
}

static off_t file_size(const struct fixture *f)
{
	struct stat st;

	assert_int_equal(stat(f->path, &st), 0);
	return st.st_size;
}

static void non_database_is_quarantined(void **state)
{
	struct fixture *f = *state;

	assert_true(bp_spool_ready(f->spool));
	bp_spool_free(f->spool);
	test_write_file(f->path, "this is no database, but is long enough to look at its header");
	f->spool = bp_spool_new(f->path, 1 << 20, HOUR);
	add_range(f->spool, 1, 3);
	assert_int_equal(bp_spool_rows(f->spool), 3);
	assert_int_equal(files_like(f, ".damaged-"), 1);
}

static void damaged_pages_are_found(void **state)
{
	struct fixture *f = *state;

	add_range(f->spool, 1, 2000);
	bp_spool_free(f->spool); /* the log goes into the file */
	f->spool = NULL;
	damage(f, 4096, file_size(f));
	f->spool = bp_spool_new(f->path, 1 << 20, HOUR);
	assert_true(bp_spool_ready(f->spool));
	assert_int_equal(bp_spool_rows(f->spool), 0);
	add_range(f->spool, 5, 6);
	assert_int_equal(files_like(f, ".damaged-"), 1);
	reopen(f, 1 << 20);
	assert_int_equal(bp_spool_max_id(f->spool), 6);
	assert_int_equal(files_like(f, ".damaged-"), 1);
}

static void damage_while_open(void **state)
{
	struct fixture *f = *state;
	struct read r;
	bool end;

	char *payload = calloc(1, 4001);

	/* More than sqlite caches. */
	memset(payload, 'x', 4000);
	reopen(f, 1 << 26);
	assert_true(bp_spool_begin(f->spool));
	for (uint64_t id = 1; id <= 4000; id++) {
		struct bp_alarm *a = alarm_at(id, id, payload);

		assert_int_equal(bp_spool_add(f->spool, a), BP_SPOOL_ADDED);
		free(a);
	}
	assert_true(bp_spool_commit(f->spool));
	free(payload);
	reopen(f, 1 << 26);
	assert_true(bp_spool_ready(f->spool));
	damage(f, 0, file_size(f));
	/* Whichever call meets it fails once; then there is a fresh file. */
	memset(&r, 0, sizeof(r));
	for (unsigned tries = 0; files_like(f, ".damaged-") == 0; tries++) {
		assert_true(tries < 3);
		memset(&r, 0, sizeof(r));
		bp_spool_read(f->spool, 0, on_row, &r, &end);
		if (bp_spool_begin(f->spool)) {
			add(f->spool, 100000 + tries, 1);
			bp_spool_commit(f->spool);
		}
	}
	add_range(f->spool, 200000, 200001);
	assert_true(bp_spool_rows(f->spool) >= 2);
}

/* Changes the file behind the spool's back. */
static void change(const struct fixture *f, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* A spool of another version, and databases that are none of ours: whose rows cannot be found or
 * deleted by their ids, come again when they are deleted, or have no sum of bytes. */
static void other_formats_are_quarantined(void **state)
{
	struct fixture *f = *state;
	static const char *const commands[] = {
		"PRAGMA user_version = 99",
		"PRAGMA user_version = 1; DROP TABLE alarm; CREATE TABLE alarm(id INTEGER)",
		"DROP TABLE alarm; CREATE TABLE alarm(id, time_ns, bytes, record);"
		"INSERT INTO alarm VALUES('x', 1, 1099511627776, x'00')",
		"UPDATE alarm SET bytes = 9223372036854775807",
		"UPDATE alarm SET bytes = -1 WHERE id = 2",
		"UPDATE alarm SET id = -1 WHERE id = 1",
		"CREATE TRIGGER again AFTER DELETE ON alarm BEGIN"
		" INSERT INTO alarm VALUES(old.id, 1, old.bytes, old.record); END",
	};

	for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		add_range(f->spool, 1, 3);
		bp_spool_free(f->spool);
		change(f, commands[i]);
		f->spool = bp_spool_new(f->path, 1 << 20, HOUR);
		assert_true(bp_spool_ready(f->spool));
		assert_int_equal(bp_spool_rows(f->spool), 0);
		assert_int_equal(files_like(f, ".damaged-"), i + 1);
	}
}

static void damaged_record_is_reported(void **state)
{
	struct fixture *f = *state;
	struct read r;

	add_range(f->spool, 1, 4);
	bp_spool_free(f->spool);
	change(f, "UPDATE alarm SET record = zeroblob(5) WHERE id = 2;"
		  "UPDATE alarm SET record = (SELECT record FROM alarm WHERE id = 4) WHERE id = 3");
	f->spool = bp_spool_new(f->path, 1 << 20, HOUR);
	assert_true(read_from(f->spool, 0, 0, &r));
	assert_int_equal(r.n, 4);
	assert_int_equal(r.damaged, 2);
}

static void one_process_at_a_time(void **state)
{
	struct fixture *f = *state;
	struct bp_spool *second = bp_spool_new(f->path, 1 << 20, HOUR);

	add_range(f->spool, 1, 3);
	assert_false(bp_spool_begin(second));
	assert_non_null(strstr(bp_spool_error(second), f->path));
	assert_int_equal(files_like(f, ".damaged-"), 0); /* locked is not damaged */
	bp_spool_free(f->spool);
	f->spool = NULL;
	add_range(second, 4, 4);
	assert_int_equal(bp_spool_rows(second), 4);
	bp_spool_free(second);
}

/* kill -9 at any instant: each batch whose commit was reported is there, none in part. */
static void killed_while_writing(void **state)
{
	struct fixture *f = *state;
	uint64_t committed = 0, id;
	int pipe_fd[2], status;

	for (unsigned round = 0; round < 10; round++) {
		assert_int_equal(pipe(pipe_fd), 0);
		pid_t child = fork();

		assert_true(child >= 0);
		if (child == 0) {
			struct bp_spool *s = bp_spool_new(f->path, 1 << 24, HOUR);

			for (uint64_t at = bp_spool_max_id(s) + 1;; at += 10) {
				add_range(s, at, at + 9);
				id = at + 9;
				if (write(pipe_fd[1], &id, sizeof(id)) != (ssize_t)sizeof(id))
					_exit(0);
			}
		}
		close(pipe_fd[1]);
		for (unsigned i = 0; i < 3 + 7 * round; i++)
			assert_int_equal(read(pipe_fd[0], &committed, sizeof(committed)), 8);
		kill(child, SIGKILL);
		while (read(pipe_fd[0], &id, sizeof(id)) == (ssize_t)sizeof(id))
			committed = id;
		close(pipe_fd[0]);
		assert_int_equal(waitpid(child, &status, 0), child);
		reopen(f, 1 << 24);
		assert_true(bp_spool_ready(f->spool));
		assert_true(bp_spool_max_id(f->spool) >= committed);
		assert_int_equal(bp_spool_rows(f->spool) % 10, 0);
		assert_int_equal(bp_spool_max_id(f->spool), bp_spool_rows(f->spool));
		bp_spool_free(f->spool);
		f->spool = NULL;
	}
}

/* A file system of 1 MiB that fills: refused whole, and it continues once there is room. */
static void full_disk(void **state)
{
	struct fixture *f = *state;
	char dir[128], path[160];
	struct bp_spool *s;
	uint64_t id = 1, deleted, ids[64], rows;

	snprintf(dir, sizeof(dir), "%s/small", f->dir);
	assert_int_equal(mkdir(dir, 0755), 0);
	if (mount("none", dir, "tmpfs", 0, "size=1m") != 0) {
		print_message("no right to mount a small file system here\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/spool.db", dir);
	s = bp_spool_new(path, 64 << 20, HOUR);
	for (bool ok = true; ok;) {
		assert_true(id < 1000000);
		rows = bp_spool_rows(s);
		ok = bp_spool_begin(s);
		for (unsigned i = 0; ok && i < 64; i++)
			ok = add(s, id++, 1) == BP_SPOOL_ADDED;
		ok = ok && bp_spool_commit(s);
		if (ok)
			assert_int_equal(bp_spool_rows(s), rows + 64);
	}
	assert_true(rows > 500);
	assert_non_null(strstr(bp_spool_error(s), "full"));
	assert_true(bp_spool_ready(s));
	assert_int_equal(bp_spool_rows(s), rows);
	/* More space, as after a cleanup of the disk. */
	assert_int_equal(mount("none", dir, "tmpfs", MS_REMOUNT, "size=8m"), 0);
	for (unsigned i = 0; i < 64; i++)
		ids[i] = i + 1;
	assert_true(bp_spool_delete(s, ids, 64, &deleted));
	assert_int_equal(deleted, 64);
	add_range(s, id, id + 63);
	assert_int_equal(bp_spool_rows(s), rows);
	bp_spool_free(s);
	umount(dir);
}

/* ---- backlog ---- */

struct sent {
	uint64_t id[64];
	unsigned n, max;
};

static enum bp_backlog_sent send_row(void *arg, uint64_t id, const struct bp_alarm *a)
{
	struct sent *s = arg;

	assert_non_null(a);
	if (s->n == s->max)
		return BP_BACKLOG_STOP;
	s->id[s->n++] = id;
	return BP_BACKLOG_SENT;
}

static void backlog_sends_each_row_once(void **state)
{
	struct fixture *f = *state;
	struct bp_backlog b;
	struct sent s = {.max = 3};
	uint64_t deleted;

	bp_backlog_init(&b, f->spool);
	add_range(f->spool, 10, 15);
	assert_true(bp_backlog_offer(&b, send_row, &s));
	assert_int_equal(s.n, 3);
	assert_int_equal(s.id[0], 10);
	bp_backlog_acked(&b, 10);
	bp_backlog_acked(&b, 11);
	/* 12 is under way when a row with a lower id is added (another worker's). */
	add_range(f->spool, 5, 5);
	assert_true(bp_backlog_added(&b, 5, false));
	s = (struct sent){.max = 64};
	assert_true(bp_backlog_offer(&b, send_row, &s));
	assert_int_equal(s.n, 4);
	assert_int_equal(s.id[0], 5);
	assert_int_equal(s.id[1], 13);
	assert_int_equal(s.id[3], 15);
	/* The link is lost: alarms without acknowledgement are sent again, in order. */
	static const uint64_t returned[] = {14, 5, 15, 12, 13};

	for (unsigned i = 0; i < 5; i++)
		bp_backlog_returned(&b, returned[i]);
	s = (struct sent){.max = 64};
	assert_true(bp_backlog_offer(&b, send_row, &s));
	assert_int_equal(s.n, 5);
	assert_int_equal(s.id[0], 5);
	assert_int_equal(s.id[1], 12);
	assert_true(bp_backlog_delete_done(&b, &deleted));
	assert_int_equal(deleted, 2);
	assert_int_equal(bp_spool_rows(f->spool), 5);
	/* An alarm that was spooled while in flight is not sent again. */
	add_range(f->spool, 20, 20);
	assert_true(bp_backlog_added(&b, 20, true));
	s = (struct sent){.max = 64};
	b.end = false;
	assert_true(bp_backlog_offer(&b, send_row, &s));
	assert_int_equal(s.n, 0);
	bp_backlog_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(id_order_and_reopen, setup, teardown),
		cmocka_unit_test_setup_teardown(same_and_conflicting_ids, setup, teardown),
		cmocka_unit_test_setup_teardown(rollback_restores_the_state, setup, teardown),
		cmocka_unit_test_setup_teardown(bounded_by_size, setup, teardown),
		cmocka_unit_test_setup_teardown(bounded_by_age, setup, teardown),
		cmocka_unit_test_setup_teardown(delete_removes_given_ids_only, setup, teardown),
		cmocka_unit_test_setup_teardown(non_database_is_quarantined, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged_pages_are_found, setup, teardown),
		cmocka_unit_test_setup_teardown(damage_while_open, setup, teardown),
		cmocka_unit_test_setup_teardown(other_formats_are_quarantined, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged_record_is_reported, setup, teardown),
		cmocka_unit_test_setup_teardown(one_process_at_a_time, setup, teardown),
		cmocka_unit_test_setup_teardown(killed_while_writing, setup, teardown),
		cmocka_unit_test_setup_teardown(full_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(backlog_sends_each_row_once, setup, teardown),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("spool", tests, NULL, NULL);
}
