/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole process: start, reload, kill -9, end. The test plays the data plane. */
#include "tests/unit/controlplane/process/process_rig.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "controlplane/process/control.h"
#include "controlplane/process/controlplane.h"
#include "controlplane/process/segment_open.h"
#include "config/segment.h"

struct fixture {
	struct process p;
	struct test_broker broker;
	struct test_subscriber *subscriber;
	struct bp_config *config;
	uint64_t next_id;
};

static void write_config(
	const struct fixture *f, const char *edge, const char *more, const char *rules)
{
	char text[4096];

	snprintf(text, sizeof(text),
		"version: 1\nname: test\n"
		"runtime: {directory: %s, hugepages: never}\n"
		"workers: 2\n"
		"ports:\n"
		"  - {name: devices, device: net_null0}\n"
		"  - {name: cloud, device: net_null1}\n"
		"bridges: [{name: bridge0, ports: [devices, cloud]}]\n"
		"mqtt:\n"
		"  max_rules: 64\n"
		"  max_connections: 64\n"
		"  max_alarm_states: 64\n"
		"  alarm_queue_size: 256KiB\n"
		"  publisher: {broker: \"mqtt://127.0.0.1:%u\"%s}\n"
		"  spool: {path: %s/spool.db%s}\n"
		"  rules:\n%s",
		f->p.dir, f->broker.port, edge, f->p.dir, more, rules);
	test_write_file(f->p.config_path, text);
}

#define RULE_A "    - {name: a, topic: plant/+, raise: \"> 80\", publish: {topic: alarm/a}}\n"
#define RULE_B "    - {name: b, topic: plant/#, raise: \"< 3\", publish: {topic: alarm/b}}\n"
#define RULE_A2 "    - {name: a, topic: plant/+, raise: \"> 90\", publish: {topic: alarm/a}}\n"

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	process_begin(&f->p);
	test_broker_make(&f->broker, f->p.dir, "");
	test_broker_start(&f->broker);
	write_config(f, "", "", RULE_A RULE_B);
	f->next_id = 1;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->subscriber != NULL)
		test_subscriber_stop(f->subscriber);
	test_broker_stop(&f->broker);
	bp_config_free(f->config);
	process_end(&f->p);
	free(f);
	return 0;
}

static void attach(struct fixture *f)
{
	f->config = process_attach(&f->p);
}

static uint64_t get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void be_dataplane(struct fixture *f)
{
	atomic_store(&f->p.shm.global->dp_heartbeat_ns, (uint64_t)time(NULL) * 1000000000u);
	atomic_store(&f->p.shm.global->dp_pid, (uint64_t)getpid());
}

static json_int_t number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static uint64_t active(const struct fixture *f)
{
	return atomic_load(&f->p.shm.control->rules_active);
}

static void start_and_end(void **state)
{
	struct fixture *f = *state;
	json_t *status;
	int code;

	attach(f); /* the data plane comes first */
	process_start(&f->p);
	status = process_ask(&f->p, "status");
	assert_true(json_is_true(json_object_get(status, "ok")));
	assert_int_equal(number(status, "rules"), 2);
	assert_int_equal(number(status, "generation"), 1);
	assert_int_equal(number(status, "pid"), f->p.pid);
	json_decref(status);
	assert_int_equal(get(&f->p.shm.control->cp_pid), f->p.pid);
	uint64_t beat = get(&f->p.shm.control->cp_heartbeat_ns);

	assert_true(beat >= get(&f->p.shm.control->cp_started_ns));
	WAIT_UNTIL(get(&f->p.shm.control->cp_heartbeat_ns) > beat);
	WAIT_UNTIL(atomic_load(&f->p.shm.control->publisher[BP_TO_MQTT].connected) == 1);
	kill(f->p.pid, SIGTERM);
	code = process_wait(&f->p);
	assert_true(WIFEXITED(code));
	assert_int_equal(WEXITSTATUS(code), 0);
	assert_int_equal(get(&f->p.shm.control->cp_pid), 0);
	assert_int_equal(atomic_load(&f->p.shm.control->publisher[BP_TO_MQTT].connected), 0);
	assert_int_equal(access(f->p.socket_path, F_OK), -1);
}

static void bad_configuration(void **state)
{
	struct fixture *f = *state;
	int code;

	test_write_file(f->p.config_path, "ports: 7\n");
	process_start(&f->p);
	code = process_wait(&f->p);
	assert_int_equal(WEXITSTATUS(code), BP_EXIT_CONFIG);
	unlink(f->p.config_path);
	process_start(&f->p);
	code = process_wait(&f->p);
	assert_int_equal(WEXITSTATUS(code), BP_EXIT_CONFIG);
}

/* Missing files of the publisher do not stop the other functions. */
static void a_missing_password_file_is_a_fault(void **state)
{
	struct fixture *f = *state;
	struct bp_fault_record t = {0};

	write_config(f, ", username: u, password_file: /nowhere/password", "", RULE_A);
	attach(f);
	process_start(&f->p);
	WAIT_UNTIL(
		bp_fault_read(
			&f->p.shm.cp_faults[BP_FAULT_EDGE_SETTINGS - BP_FAULT_CONTROLPLANE_FIRST],
			&t) &&
		t.active);
	json_decref(process_ask(&f->p, "status"));
	process_kill(&f->p);
}

static void only_one_at_a_time(void **state)
{
	struct fixture *f = *state;
	pid_t first;
	int code;

	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
	first = f->p.pid;
	process_start(&f->p);
	code = process_wait(&f->p);
	assert_int_equal(WEXITSTATUS(code), 1);
	f->p.pid = first;
	json_decref(process_ask(&f->p, "status")); /* undisturbed */
	/* A killed one leaves socket and lock file behind, and is in no one's way. */
	process_kill(&f->p);
	assert_int_equal(access(f->p.socket_path, F_OK), 0);
	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
}

static void reload_applies_rules(void **state)
{
	struct fixture *f = *state;
	json_t *reply;

	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
	attach(f);
	assert_int_equal(active(f) >> 1, 1);
	write_config(f, "", "", RULE_A2 RULE_B);
	reply = process_ask(&f->p, "reload");
	assert_true(json_is_true(json_object_get(reply, "ok")));
	assert_int_equal(number(reply, "generation"), 2);
	assert_int_equal(number(reply, "rules"), 2);
	assert_int_equal(number(reply, "unchanged"), 1);
	json_decref(reply);
	assert_int_equal(active(f) >> 1, 2);
	assert_int_equal(get(&f->p.shm.control->cp_reloads), 1);
	assert_int_equal(get(&f->p.shm.control->publisher[BP_TO_MQTT].disconnects), 0);
	/* SIGHUP does the same. */
	write_config(f, "", "", RULE_A);
	kill(f->p.pid, SIGHUP);
	WAIT_UNTIL(get(&f->p.shm.control->cp_reloads) == 2);
	assert_int_equal(bp_shm_rules(&f->p.shm, active(f))->n_rules, 1);
	/* New edge settings: the link is made again. */
	WAIT_UNTIL(get(&f->p.shm.control->publisher[BP_TO_MQTT].connects) == 1);
	write_config(f, ", client_id: somebody-else", "", RULE_A);
	json_decref(process_ask(&f->p, "reload"));
	assert_int_equal(get(&f->p.shm.control->publisher[BP_TO_MQTT].disconnects), 1);
	WAIT_UNTIL(get(&f->p.shm.control->publisher[BP_TO_MQTT].connects) == 2);
}

static void config_is_the_active_one(void **state)
{
	struct fixture *f = *state;
	char *before = NULL, err[512], *path = realpath(f->p.config_path, NULL);
	size_t size = 0;
	FILE *out = open_memstream(&before, &size);
	const char *now;
	json_t *reply;

	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
	attach(f);
	bp_config_dump(f->config, out);
	fclose(out);
	/* The file is another by now, and then none at all. */
	write_config(f, "", "", RULE_A2);
	reply = process_ask(&f->p, "config");
	assert_true(json_is_true(json_object_get(reply, "ok")));
	assert_string_equal(json_string_value(json_object_get(reply, "file")), path);
	assert_string_equal(json_string_value(json_object_get(reply, "config")), before);
	json_decref(reply);
	json_decref(process_ask(&f->p, "reload"));
	unlink(f->p.config_path);
	reply = process_ask(&f->p, "config");
	now = json_string_value(json_object_get(reply, "config"));
	assert_string_not_equal(now, before);
	assert_non_null(strstr(now, "above: 90"));
	json_decref(reply);
	assert_int_equal(
		bp_control_request(f->p.socket_path, "nothing", &reply, err, sizeof(err)), 0);
	assert_true(json_is_false(json_object_get(reply, "ok")));
	json_decref(reply);
	free(before);
	free(path);
}

static void expect_report_error(struct fixture *f, const char *text)
{
	json_t *reply = process_ask(&f->p, "fleet-report");

	assert_non_null(strstr(
		json_string_value(json_array_get(json_object_get(reply, "errors"), 0)), text));
	json_decref(reply);
}

/* Another user in the group of the socket. */
static void report_of_another_user_is_refused(void **state)
{
	struct fixture *f = *state;
	char folder[PATH_MAX];

	if (geteuid() != 0)
		skip();
	process_start(&f->p);
	expect_report_error(f, "a member of the report is missing");
	snprintf(folder, sizeof(folder), "%s", f->p.socket_path);
	*strrchr(folder, '/') = '\0';
	assert_int_equal(
		chmod(f->p.dir, 0755) | chmod(folder, 0755) | chmod(f->p.socket_path, 0666), 0);
	assert_int_equal(seteuid(65534), 0);
	expect_report_error(f, "this user may not report");
	assert_int_equal(seteuid(0), 0);
}

/* The complete visible state of the rules. */
static uint8_t *banks(const struct fixture *f)
{
	uint8_t *copy = malloc(f->p.shm.rules.bank_size * 2);

	memcpy(copy, f->p.shm.rules.banks, f->p.shm.rules.bank_size * 2);
	return copy;
}

static void rejected_reload_has_no_effect(void **state)
{
	struct fixture *f = *state;
	uint64_t before_active;
	uint8_t *before, *after;
	json_t *reply, *errors;
	unsigned refused = 0;

	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
	attach(f);
	WAIT_UNTIL(atomic_load(&f->p.shm.control->publisher[BP_TO_MQTT].connected) == 1);
	before_active = active(f);
	before = banks(f);
	for (unsigned kind = 0; kind < 5; kind++) {
		switch (kind) {
		case 0: /* one rule of two is wrong: both are refused */
			write_config(f, "", "",
				RULE_A2 "    - {name: b, topic: \"x#\", raise: \"> 1\"}\n");
			break;
		case 1: /* a setting that needs a restart, next to good rules */
			write_config(f, "", "", RULE_A2 "  reorder_buffer: 8KiB\n");
			break;
		case 2:
			write_config(
				f, ", username: u, password_file: /nowhere/password", "", RULE_A2);
			break;
		case 3:
			test_write_file(f->p.config_path, "\xff\xfe: [");
			break;
		case 4:
			unlink(f->p.config_path);
			break;
		}
		reply = process_ask(&f->p, "reload");
		assert_true(json_is_false(json_object_get(reply, "ok")));
		assert_true(json_is_false(json_object_get(reply, "retry")));
		errors = json_object_get(reply, "errors");
		assert_true(json_array_size(errors) >= 1);
		assert_true(json_string_length(json_array_get(errors, 0)) > 10);
		if (kind == 1)
			assert_non_null(strstr(
				json_string_value(json_array_get(errors, 0)), "reorder_buffer"));
		json_decref(reply);
		assert_int_equal(get(&f->p.shm.control->cp_reloads_refused), ++refused);
		assert_int_equal(active(f), before_active);
		after = banks(f);
		assert_memory_equal(before, after, f->p.shm.rules.bank_size * 2);
		free(after);
	}
	assert_int_equal(get(&f->p.shm.control->cp_reloads), 0);
	assert_int_equal(get(&f->p.shm.control->publisher[BP_TO_MQTT].disconnects), 0);
	free(before);
	/* And afterwards a good one is taken. */
	write_config(f, "", "", RULE_A2);
	reply = process_ask(&f->p, "reload");
	assert_true(json_is_true(json_object_get(reply, "ok")));
	json_decref(reply);
}

/* A killed and restarted control plane leaves what is active alone. */
static void restart_leaves_the_rules(void **state)
{
	struct fixture *f = *state;
	uint64_t before_active;
	uint8_t *before, *after;

	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
	attach(f);
	write_config(f, "", "", RULE_B RULE_A);
	json_decref(process_ask(&f->p, "reload"));
	before_active = active(f);
	before = banks(f);
	process_kill(&f->p);
	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
	assert_int_equal(active(f), before_active);
	after = banks(f);
	assert_memory_equal(before, after, f->p.shm.rules.bank_size * 2);
	free(after);
	free(before);
	/* With another file the next start does change them. */
	process_kill(&f->p);
	write_config(f, "", "", RULE_A2);
	process_start(&f->p);
	WAIT_UNTIL(active(f) != before_active);
	assert_int_equal(active(f) >> 1, 3);
}

static void segment_of_another_shape(void **state)
{
	struct fixture *f = *state;
	int code;

	attach(f);
	be_dataplane(f);
	/* The file now asks for other tables; the data plane lives: refused. */
	write_config(f, "", "", RULE_A "  max_alarm_states: 4096\n");
	char text[4096], *states;
	FILE *file = fopen(f->p.config_path, "r");
	size_t n = fread(text, 1, sizeof(text) - 1, file);

	fclose(file);
	text[n] = '\0';
	states = strstr(text, "  max_alarm_states: 64\n");
	memmove(states, states + strlen("  max_alarm_states: 64\n"),
		strlen(states + strlen("  max_alarm_states: 64\n")) + 1);
	test_write_file(f->p.config_path, text);
	process_start(&f->p);
	code = process_wait(&f->p);
	assert_int_equal(WEXITSTATUS(code), 1);
	/* It is dead: a fresh segment is made. */
	atomic_store(&f->p.shm.global->dp_pid, 0);
	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
	kill(f->p.pid, SIGTERM);
	assert_int_equal(WEXITSTATUS(process_wait(&f->p)), 0);
}

/* The data plane replaced the segment under a running control plane: it ends, to begin again. */
static void segment_replaced(void **state)
{
	struct fixture *f = *state;
	int code;

	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
	attach(f);
	assert_int_equal(unlink(bp_segment_path(f->p.shm.segment)), 0);
	code = process_wait(&f->p);
	assert_int_equal(WEXITSTATUS(code), 1);
}

/* ---- alarms and kill -9 ---- */

/* Writes n alarms to the rings, waiting where they are full, as no data plane would. */
/* As a data plane opens it. */
static void open_as_dataplane(struct fixture *f, struct bp_shm *shm)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	char err[512];
	struct bp_segment *s = bp_segment_open("test", NULL, f->p.dir, specs,
		bp_shm_specs(f->config, specs), BP_SEG_OWNER | BP_SEG_HOLD, err, sizeof(err));

	if (s == NULL || bp_shm_map(shm, s, err, sizeof(err)) != 0)
		fail_msg("%s", err);
}

/* A starting data plane replaces a part with invalid contents after the control plane has opened
 * it: the control plane works with the new one, without another start. */
static void invalid_part_is_replaced_by_the_dataplane(void **state)
{
	struct fixture *f = *state;
	struct inotify_event opened;
	struct bp_shm dataplane = {0}, again = {0};
	int notes = inotify_init1(IN_CLOEXEC);
	uint64_t beat;

	attach(f);
	open_as_dataplane(f, &dataplane);
	atomic_store(&dataplane.shared->next_alarm_id, 0);
	assert_true(inotify_add_watch(notes, bp_segment_part_path(dataplane.segment, BP_SEG_SHARED),
			    IN_OPEN) >= 0);
	process_start(&f->p);
	assert_int_equal(read(notes, &opened, sizeof(opened)), sizeof(opened));
	bp_segment_condemn(dataplane.segment, BP_SEG_SHARED);
	open_as_dataplane(f, &again);
	assert_int_equal(bp_segment_quarantined(again.segment), 1);
	assert_true(bp_segment_replaced(dataplane.segment));
	be_dataplane(f);
	json_decref(process_ask(&f->p, "status"));
	for (unsigned beats = 0; beats < 3; beats++) {
		beat = get(&again.control->cp_heartbeat_ns);
		WAIT_UNTIL(get(&again.control->cp_heartbeat_ns) > beat || process_has_ended(&f->p));
	}
	assert_false(process_has_ended(&f->p));
	bp_segment_close(dataplane.segment);
	bp_segment_close(again.segment);
	close(notes);
}

static void produce(struct fixture *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct bp_alarm *a = test_alarm_number(f->next_id, "alarm/k", 100);

		WAIT_UNTIL(test_ring_put(bp_shm_ring(&f->p.shm, i % 2), a));
		f->next_id++;
		free(a);
	}
}

/* Ids of their own, from 1, so that the subscriber can count them. */
static void attach_for_alarms(struct fixture *f)
{
	f->subscriber = test_subscriber_start(&f->broker);
	attach(f);
	be_dataplane(f);
}

static void killed_again_and_again(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 20261121, repeated = 0;

	attach_for_alarms(f);
	process_start(&f->p);
	for (unsigned round = 0; round < 25; round++) {
		uint64_t acked = get(&f->p.shm.control->publisher[BP_TO_MQTT].acked);
		uint64_t stop_at = acked + 1 + test_random(&seed) % 900;

		produce(f, 1000);
		/* Somewhere while they are on their way; a kill may have cost some of the count. */
		WAIT_UNTIL(get(&f->p.shm.control->publisher[BP_TO_MQTT].acked) >= stop_at ||
			   test_subscriber_has_all(f->subscriber, 1, f->next_id - 1));
		process_kill(&f->p);
		process_start(&f->p);
	}
	WAIT_UNTIL(test_subscriber_has_all(f->subscriber, 1, f->next_id - 1));
	WAIT_UNTIL(bp_ring_used(bp_shm_ring(&f->p.shm, 0)) == 0 &&
		   bp_ring_used(bp_shm_ring(&f->p.shm, 1)) == 0);
	for (uint64_t id = 1; id < f->next_id; id++)
		repeated += test_subscriber_times(f->subscriber, id) > 1;
	print_message("%" PRIu64 " alarms, %" PRIu64 " of them more than once\n", f->next_id - 1,
		repeated);
}

/* The same while the broker comes and goes, so that kills meet the spool too. */
static void killed_with_the_spool_in_use(void **state)
{
	struct fixture *f = *state;
	uint64_t seed = 4711;

	attach_for_alarms(f);
	process_start(&f->p);
	for (unsigned round = 0; round < 8; round++) {
		uint64_t spooled, unspooled;

		WAIT_UNTIL(atomic_load(&f->p.shm.control->publisher[BP_TO_MQTT].connected) == 1);
		test_broker_stop(&f->broker);
		spooled = get(&f->p.shm.control->publisher[BP_TO_MQTT].spooled);
		produce(f, 2000);
		WAIT_UNTIL(get(&f->p.shm.control->publisher[BP_TO_MQTT].spooled) >
			   spooled + test_random(&seed) % 1500);
		process_kill(&f->p);
		process_start(&f->p);
		produce(f, 500);
		test_broker_start(&f->broker);
		unspooled = get(&f->p.shm.control->publisher[BP_TO_MQTT].unspooled);
		WAIT_UNTIL(get(&f->p.shm.control->publisher[BP_TO_MQTT].unspooled) >
			   unspooled + test_random(&seed) % 500);
		process_kill(&f->p);
		process_start(&f->p);
	}
	WAIT_UNTIL(test_subscriber_has_all(f->subscriber, 1, f->next_id - 1));
	WAIT_UNTIL(get(&f->p.shm.control->publisher[BP_TO_MQTT].spool_rows) == 0 &&
		   bp_ring_used(bp_shm_ring(&f->p.shm, 0)) == 0 &&
		   bp_ring_used(bp_shm_ring(&f->p.shm, 1)) == 0);
	assert_int_equal(get(&f->p.shm.control->publisher[BP_TO_MQTT].dropped_size), 0);
	assert_int_equal(get(&f->p.shm.control->publisher[BP_TO_MQTT].invalid), 0);
}

/* SIGTERM while the broker is unreachable: alarms in the rings are written to the disk. */
static void sigterm_saves_alarms(void **state)
{
	struct fixture *f = *state;

	attach_for_alarms(f);
	test_broker_stop(&f->broker);
	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
	produce(f, 300);
	kill(f->p.pid, SIGTERM);
	assert_int_equal(WEXITSTATUS(process_wait(&f->p)), 0);
	assert_int_equal(bp_ring_used(bp_shm_ring(&f->p.shm, 0)), 0);
	assert_int_equal(bp_ring_used(bp_shm_ring(&f->p.shm, 1)), 0);
	assert_int_equal(get(&f->p.shm.control->publisher[BP_TO_MQTT].spooled), 300);
	test_broker_start(&f->broker);
	process_start(&f->p);
	WAIT_UNTIL(test_subscriber_has_all(f->subscriber, 1, 300));
}

/* A disk failure is visible to readers, and remains so after the process dies. */
static void spool_errors_are_counted(void **state)
{
	struct fixture *f = *state;
	char path[128];
	json_t *status;
	uint64_t before;

	snprintf(path, sizeof(path), "%s/spool.db", f->p.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	attach(f);
	process_start(&f->p);
	WAIT_UNTIL(get(&f->p.shm.control->publisher[BP_TO_MQTT].spool_errors) >= 1);
	status = process_ask(&f->p, "status");
	assert_true(number(status, "spool_errors") >= 1);
	json_decref(status);
	process_kill(&f->p);
	before = get(&f->p.shm.control->publisher[BP_TO_MQTT].spool_errors);
	process_start(&f->p);
	WAIT_UNTIL(get(&f->p.shm.control->publisher[BP_TO_MQTT].spool_errors) > before);
	status = process_ask(&f->p, "status");
	assert_true((uint64_t)number(status, "spool_errors") > before);
	json_decref(status);
}

int main(int argc, char **argv)
{
	int status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(start_and_end, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_configuration, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_missing_password_file_is_a_fault, setup, teardown),
		cmocka_unit_test_setup_teardown(only_one_at_a_time, setup, teardown),
		cmocka_unit_test_setup_teardown(reload_applies_rules, setup, teardown),
		cmocka_unit_test_setup_teardown(config_is_the_active_one, setup, teardown),
		cmocka_unit_test_setup_teardown(report_of_another_user_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(rejected_reload_has_no_effect, setup, teardown),
		cmocka_unit_test_setup_teardown(restart_leaves_the_rules, setup, teardown),
		cmocka_unit_test_setup_teardown(segment_of_another_shape, setup, teardown),
		cmocka_unit_test_setup_teardown(segment_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(
			invalid_part_is_replaced_by_the_dataplane, setup, teardown),
		cmocka_unit_test_setup_teardown(killed_again_and_again, setup, teardown),
		cmocka_unit_test_setup_teardown(killed_with_the_spool_in_use, setup, teardown),
		cmocka_unit_test_setup_teardown(sigterm_saves_alarms, setup, teardown),
		cmocka_unit_test_setup_teardown(spool_errors_are_counted, setup, teardown),
	};

	if (process_is_controlplane(argc, argv, &status))
		return status;
	return cmocka_run_group_tests_name("controlplane", tests, NULL, NULL);
}
