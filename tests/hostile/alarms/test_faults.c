/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attack: an edge broker that disconnects repeatedly, or is unreachable for a long time: the
 * operator must see it, and the log must stay small.
 */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controlplane/alarms/faults.h"

#define S 1000000000ull
#define UNIX (1700000000 * S)

struct fixture {
	struct bp_fault_row *rows;
	struct bp_faults faults;
	char dir[64], log[128];
	int stderr_fd;
	uint64_t now;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	int fd;

	test_dir_make(f->dir, sizeof(f->dir));
	f->rows = aligned_alloc(64, BP_FAULT_OF_CONTROLPLANE * sizeof(*f->rows));
	memset(f->rows, 0, BP_FAULT_OF_CONTROLPLANE * sizeof(*f->rows));
	snprintf(f->log, sizeof(f->log), "%s/log", f->dir);
	f->stderr_fd = dup(STDERR_FILENO);
	fd = open(f->log, O_CREAT | O_APPEND | O_RDWR, 0600);
	dup2(fd, STDERR_FILENO);
	close(fd);
	f->now = 1000 * S;
	bp_faults_init(&f->faults, f->rows, "publisher", 10 * S, f->now);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	dup2(f->stderr_fd, STDERR_FILENO);
	close(f->stderr_fd);
	test_dir_remove(f->dir);
	free(f->rows);
	free(f);
	return 0;
}

/* Lines of the log that have this in them. */
static unsigned lines(const struct fixture *f, const char *what)
{
	FILE *log = fopen(f->log, "r");
	char line[2048];
	unsigned n = 0;

	while (fgets(line, sizeof(line), log) != NULL)
		n += strstr(line, what) != NULL;
	fclose(log);
	return n;
}

static struct bp_fault_record row(const struct fixture *f, enum bp_fault_kind kind)
{
	struct bp_fault_record t;

	assert_true(bp_fault_read(&f->rows[kind - BP_FAULT_CONTROLPLANE_FIRST], &t));
	assert_int_equal(t.kind, kind);
	return t;
}

static void edge(struct fixture *f, bool bad)
{
	f->now += S;
	bp_faults_at(&f->faults, f->now, UNIX + f->now);
	bp_fault_lasts(&f->faults, BP_FAULT_EDGE_UNREACHABLE, bad, 0, 0,
		BP_LOG_FIELDS(BP_LOG_STR("broker", "192.0.2.1")));
}

static void begins_and_ends_once(void **state)
{
	struct fixture *f = *state;

	edge(f, false);
	assert_int_equal(row(f, BP_FAULT_EDGE_UNREACHABLE).spells, 0);
	assert_int_equal(lines(f, ""), 0);
	for (unsigned i = 0; i <= 30; i++)
		edge(f, true);
	assert_int_equal(row(f, BP_FAULT_EDGE_UNREACHABLE).active, 1);
	assert_int_equal(row(f, BP_FAULT_EDGE_UNREACHABLE).total, 30 * S);
	assert_int_equal(lines(f, "error biplane: no connection to the edge broker; alarms "
				  "wait in the spool broker=192.0.2.1 duration_ms=0 "
				  "fault=edge_unreachable\n"),
		1);
	edge(f, false);
	assert_int_equal(row(f, BP_FAULT_EDGE_UNREACHABLE).active, 0);
	assert_int_equal(row(f, BP_FAULT_EDGE_UNREACHABLE).worst, 31 * S);
	assert_int_equal(lines(f, "info biplane: connected to the edge broker broker=192.0.2.1 "
				  "duration_ms=31000 fault=edge_unreachable\n"),
		1);
	assert_int_equal(lines(f, ""), 2);
	edge(f, false);
	assert_int_equal(lines(f, ""), 2);
}

/* A day: after 1, 3, 7, 15, 31 and 63 minutes, and each hour. */
static void is_not_forgotten(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 86400; i++)
		edge(f, true);
	assert_int_equal(lines(f, ""), 1 + 6 + 22);
	assert_int_equal(row(f, BP_FAULT_EDGE_UNREACHABLE).spells, 1);
}

static void flaps_in_few_lines(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 10000; i++)
		edge(f, i % 2 == 0);
	assert_int_equal(row(f, BP_FAULT_EDGE_UNREACHABLE).spells, 5000);
	assert_true(lines(f, "") <= BP_PACE_BURST + 10000 / 10 + 1);
}

static void event_fault_is_logged_once(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 100; i++) {
		f->now += S;
		bp_faults_at(&f->faults, f->now, UNIX + f->now);
		bp_fault_happens(&f->faults, BP_FAULT_ALARMS_DROPPED, i < 50 ? 7 : 0);
	}
	assert_int_equal(row(f, BP_FAULT_ALARMS_DROPPED).active, 0);
	assert_int_equal(row(f, BP_FAULT_ALARMS_DROPPED).total, 350);
	assert_int_equal(row(f, BP_FAULT_ALARMS_DROPPED).spells, 1);
	assert_int_equal(
		lines(f, "they are not delivered count=7 total=7 fault=alarms_dropped\n"), 1);
	assert_int_equal(lines(f, "info biplane: no more alarms dropped total=350 "
				  "fault=alarms_dropped\n"),
		1);
	assert_true(lines(f, "") <= 2 + 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(begins_and_ends_once, setup, teardown),
		cmocka_unit_test_setup_teardown(is_not_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(flaps_in_few_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(event_fault_is_logged_once, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
