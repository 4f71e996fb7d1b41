/* SPDX-License-Identifier: BSD-3-Clause */
/* `show health`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/biplane/show/status_view.h"
#include "apps/biplane/show/show.h"
#include "shm/layout.h"
#include "config/segment.h"

#define S 1000000000ull
#define UNIX (1700000000 * S)

static struct bp_shm shm;
static struct bp_show_source source;
static char err[512];

static int begin(void **state)
{
	static struct bp_config config;
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_segment *s;

	(void)state;
	config.n_workers = 2;
	config.n_ports = 2;
	s = bp_segment_anonymous(specs, bp_shm_specs(&config, specs), err, sizeof(err));
	if (!s || bp_shm_map(&shm, s, err, sizeof(err)))
		return -1;
	source = (struct bp_show_source){.shm = &shm, .unix_ns = UNIX};
	return 0;
}

static int end(void **state)
{
	(void)state;
	bp_segment_close(shm.segment);
	return 0;
}

static void row(unsigned i, enum bp_fault_kind kind, const char *subject, struct bp_fault_record t)
{
	t.kind = kind;
	snprintf(t.subject, sizeof(t.subject), "%s", subject);
	bp_fault_write(&shm.faults[i], &t);
}

static json_t *view(void)
{
	json_t *v = bp_show_health.collect(&source, err, sizeof(err));

	assert_non_null(v);
	return v;
}

/* The output; the caller frees it. */
static char *text(bool all)
{
	json_t *v = view();
	char *out;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	bp_show_health.print(v, all, f);
	assert_int_equal(fclose(f), 0);
	json_decref(v);
	return out;
}

static void says(bool all, const char *what, bool does)
{
	char *out = text(all);

	if ((strstr(out, what) != NULL) != does)
		fail_msg("%s '%s' in:\n%s", does ? "no" : "there is", what, out);
	free(out);
}

/* As the watch leaves them: all rows, most of which were never in trouble. */
static void some_trouble(void)
{
	row(0, BP_FAULT_LINK_DOWN, "lan", (struct bp_fault_record){0});
	row(1, BP_FAULT_NIC_MISSED, "lan",
		(struct bp_fault_record){.began_ns = UNIX - 60 * S,
			.ended_ns = UNIX - 50 * S,
			.spells = 2,
			.total = 6912});
	row(2, BP_FAULT_LINK_DOWN, "wan",
		(struct bp_fault_record){.active = 1,
			.began_ns = UNIX - 3200000000,
			.spells = 1,
			.total = 3200000000,
			.worst = 3200000000});
	row(3, BP_FAULT_MBUFS_LOW, "mbufs-0", (struct bp_fault_record){.worst = 203});
	row(4, BP_FAULT_WORKER_OVERRUN, "worker 0", (struct bp_fault_record){.worst = 7000000});
	row(5, BP_FAULT_NIC_ERRORS, "wan", (struct bp_fault_record){.total = 1});
}

static void no_faults_are_reported(void **state)
{
	json_t *v = view();

	(void)state;
	assert_int_equal(json_array_size(json_object_get(v, "faults")), 0);
	assert_int_equal(bp_show_int(v, "active"), 0);
	json_decref(v);
	says(false, "no faults since the planes started\n", true);
	row(0, BP_FAULT_LINK_DOWN, "lan", (struct bp_fault_record){0});
	says(false, "no faults since the planes started\n", true);
}

static void active_faults_come_first(void **state)
{
	static const char *const order[][2] = {{"link_down", "wan"}, {"nic_missed", "lan"},
		{"link_down", "lan"}, {"mbufs_low", "mbufs-0"}, {"poll_gaps", "worker 0"},
		{"nic_errors", "wan"}};
	json_t *v, *list;

	(void)state;
	some_trouble();
	v = view();
	list = json_object_get(v, "faults");
	assert_int_equal(bp_show_int(v, "active"), 1);
	assert_int_equal(json_array_size(list), 6);
	for (unsigned i = 0; i < 6; i++) {
		const json_t *r = json_array_get(list, i);

		assert_string_equal(json_string_value(json_object_get(r, "fault")), order[i][0]);
		assert_string_equal(json_string_value(json_object_get(r, "object")), order[i][1]);
	}
	json_decref(v);
}

static void its_figures_are_in_the_json(void **state)
{
	json_t *v, *r;

	(void)state;
	some_trouble();
	v = view();
	r = json_array_get(json_object_get(v, "faults"), 0);
	assert_true(json_is_true(json_object_get(r, "active")));
	assert_string_equal(
		json_string_value(json_object_get(r, "since")), "2023-11-14T22:13:16.800000000Z");
	assert_true(json_is_null(json_object_get(r, "until")));
	assert_true(bp_show_int(r, "duration_ns") == 3200000000);
	assert_int_equal(bp_show_int(r, "occurrences"), 1);
	r = json_array_get(json_object_get(v, "faults"), 1);
	assert_true(json_is_false(json_object_get(r, "active")));
	assert_true(bp_show_int(r, "duration_ns") == (json_int_t)(10 * S));
	assert_int_equal(bp_show_int(json_object_get(r, "total"), "count"), 6912);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(r, "total"), "unit")), "frames");
	assert_true(json_is_null(json_object_get(r, "max")));
	r = json_array_get(json_object_get(v, "faults"), 2);
	assert_true(json_is_null(json_object_get(r, "since")));
	assert_true(json_is_null(json_object_get(r, "duration_ns")));
	json_decref(v);
}

static void planes_say_how_much_there_is(void **state)
{
	json_t *v;

	(void)state;
	some_trouble();
	v = bp_status_view.collect(&source, err, sizeof(err));
	assert_non_null(v);
	assert_int_equal(json_array_size(json_object_get(v, "faults")), 3);
	json_decref(v);
}

/* A process whose program an upgrade replaced. */
static pid_t start_and_replace(void)
{
	char program[] = "/tmp/bp-replaced-XXXXXX", command[64];
	char *argv[] = {program, "1000", NULL}, *env[] = {NULL};
	pid_t pid;

	close(mkstemp(program));
	snprintf(command, sizeof(command), "cp -L \"$(command -v sleep)\" %s", program);
	assert_int_equal(system(command), 0);
	assert_int_equal(chmod(program, 0700), 0);
	assert_int_equal(posix_spawn(&pid, program, NULL, NULL, argv, env), 0);
	unlink(program);
	return pid;
}

static void replaced_program_is_a_fault(void **state)
{
	const pid_t pids[] = {start_and_replace(), getpid()};

	(void)state;
	atomic_store(&shm.control->cp_heartbeat_ns, UNIX);
	for (unsigned i = 0; i < 2; i++) {
		unsigned found = 0;
		size_t k;
		json_t *v, *fault;

		atomic_store(&shm.control->cp_pid, (uint64_t)pids[i]);
		v = bp_status_view.collect(&source, err, sizeof(err));
		assert_non_null(v);
		json_array_foreach(json_object_get(v, "faults"), k, fault)
		{
			if (strcmp(json_string_value(json_object_get(fault, "fault")),
				    "program_replaced") != 0)
				continue;
			assert_string_equal(json_string_value(json_object_get(fault, "object")),
				"control plane");
			found++;
		}
		assert_int_equal(found, i == 0);
		json_decref(v);
	}
	kill(pids[0], SIGKILL);
	waitpid(pids[0], NULL, 0);
}

static void text_shows_past_faults_and_all_with_option(void **state)
{
	(void)state;
	some_trouble();
	says(false, "FAULT", true);
	says(false, "3.2 s", true);
	says(false, "6912 frames", true);
	says(false, "1 active\n", true);
	says(false, "mbufs_low", false);
	says(false, "worker 0", false);
	says(true, "203 free mbufs", true);
	says(true, " 1 frame ", true);
	says(true, "7 ms", true);
	says(true, "0 us", false);
}

/* A row that its writer left half written, and one of a kind that there is not. */
static void rows_that_are_not_whole_are_passed_over(void **state)
{
	json_t *v;

	(void)state;
	some_trouble();
	atomic_fetch_add(&shm.faults[2].seq, 1);
	shm.faults[1].is.kind = BP_FAULT_KINDS;
	v = view();
	assert_int_equal(json_array_size(json_object_get(v, "faults")), 4);
	assert_int_equal(bp_show_int(v, "active"), 0);
	json_decref(v);
}

/* Foreign memory: a name without an end, times that are yet to come. */
static void invalid_rows_are_shown_safely(void **state)
{
	struct bp_fault_record t = {.active = 7,
		.began_ns = UINT64_MAX,
		.ended_ns = 1,
		.spells = UINT64_MAX,
		.total = UINT64_MAX,
		.worst = UINT64_MAX};
	json_t *v, *r;

	(void)state;
	memset(t.subject, 0xff, sizeof(t.subject));
	bp_fault_write(&shm.faults[0], &t);
	v = view();
	r = json_array_get(json_object_get(v, "faults"), 0);
	assert_int_equal(bp_show_int(r, "duration_ns"), 0);
	assert_non_null(json_string_value(json_object_get(r, "object")));
	json_decref(v);
	free(text(true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_faults_are_reported, begin, end),
		cmocka_unit_test_setup_teardown(active_faults_come_first, begin, end),
		cmocka_unit_test_setup_teardown(its_figures_are_in_the_json, begin, end),
		cmocka_unit_test_setup_teardown(planes_say_how_much_there_is, begin, end),
		cmocka_unit_test_setup_teardown(replaced_program_is_a_fault, begin, end),
		cmocka_unit_test_setup_teardown(
			text_shows_past_faults_and_all_with_option, begin, end),
		cmocka_unit_test_setup_teardown(
			rows_that_are_not_whole_are_passed_over, begin, end),
		cmocka_unit_test_setup_teardown(invalid_rows_are_shown_safely, begin, end),
	};

	return cmocka_run_group_tests_name("show_health", tests, NULL, NULL);
}
