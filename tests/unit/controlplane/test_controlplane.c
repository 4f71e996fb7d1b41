/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole process: start, reload, kill -9, end. The test plays the data plane. */
#include "test.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "controlplane/control.h"
#include "controlplane/controlplane.h"
#include "controlplane/segment_open.h"

struct fixture {
	char dir[64], config_path[128], socket_path[128];
	struct test_broker broker;
	struct test_subscriber *subscriber;
	struct bp_config *config;
	struct bp_shm shm;
	pid_t pid;
	uint64_t next_id;
};

static void write_config(
	const struct fixture *f, const char *edge, const char *more, const char *rules)
{
	char text[4096];

	snprintf(text, sizeof(text),
		"name: test\n"
		"runtime: {directory: %s, hugepages: never}\n"
		"workers: 2\n"
		"ports:\n"
		"  - {name: devices, device: net_null0}\n"
		"  - {name: cloud, device: net_null1}\n"
		"bridge: [[devices, cloud]]\n"
		"mqtt:\n"
		"  max_rules: 64\n"
		"  flows: 64\n"
		"  topic_states: 64\n"
		"  alarm_ring: 256KiB\n"
		"  edge: {host: 127.0.0.1, port: %u%s}\n"
		"  spool: {path: %s/spool.db%s}\n"
		"  rules:\n%s",
		f->dir, f->broker.port, edge, f->dir, more, rules);
	test_write_file(f->config_path, text);
}

#define RULE_A "    - {name: a, topic: plant/+, raise: \"> 80\", to: alarm/a}\n"
#define RULE_B "    - {name: b, topic: plant/#, raise: \"< 3\", to: alarm/b}\n"
#define RULE_A2 "    - {name: a, topic: plant/+, raise: \"> 90\", to: alarm/a}\n"

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	test_dir_make(f->dir, sizeof(f->dir));
	snprintf(f->config_path, sizeof(f->config_path), "%s/biplane.yaml", f->dir);
	snprintf(f->socket_path, sizeof(f->socket_path), "%s/test.sock", f->dir);
	test_broker_make(&f->broker, f->dir, "");
	test_broker_start(&f->broker);
	write_config(f, "", "", RULE_A RULE_B);
	f->next_id = 1;
	*state = f;
	return 0;
}

static int wait_for_exit(struct fixture *f)
{
	int status = 0;

	while (waitpid(f->pid, &status, 0) < 0 && errno == EINTR)
		;
	f->pid = 0;
	return status;
}

static void kill_controlplane(struct fixture *f)
{
	kill(f->pid, SIGKILL);
	assert_true(WIFSIGNALED(wait_for_exit(f)));
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->pid != 0) {
		kill(f->pid, SIGKILL);
		wait_for_exit(f);
	}
	if (f->subscriber != NULL)
		test_subscriber_stop(f->subscriber);
	test_broker_stop(&f->broker);
	if (f->shm.segment != NULL)
		bp_segment_close(f->shm.segment);
	bp_config_free(f->config);
	test_dir_remove(f->dir);
	free(f);
	return 0;
}

/*
 * A program of its own, not only a fork: the subscriber is a thread of the test, which may hold the
 * allocator's lock at the moment of the fork, and nobody would give it back in the child.
 */
#define AS_CONTROLPLANE "--controlplane"

static void start(struct fixture *f)
{
	f->pid = fork();
	assert_true(f->pid >= 0);
	if (f->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/proc/self/exe", "controlplane", AS_CONTROLPLANE, f->config_path,
			(char *)NULL);
		_exit(127);
	}
}

/* The data plane's side of the segment. */
static void attach(struct fixture *f)
{
	char err[512];

	f->config = bp_config_load(f->config_path, stderr);
	assert_non_null(f->config);
	if (bp_controlplane_segment(f->config, &f->shm, err, sizeof(err)) != 0)
		fail_msg("%s", err);
}

static uint64_t get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void be_dataplane(struct fixture *f)
{
	atomic_store(&f->shm.global->dp_heartbeat_ns, (uint64_t)time(NULL) * 1000000000u);
	atomic_store(&f->shm.global->dp_pid, (uint64_t)getpid());
}

static json_t *ask(struct fixture *f, const char *command)
{
	char err[512];
	json_t *reply = NULL;

	/* Until the socket is there. */
	WAIT_UNTIL(bp_control_request(f->socket_path, command, &reply, err, sizeof(err)) == 0);
	return reply;
}

static json_int_t number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static uint64_t active(const struct fixture *f)
{
	return atomic_load(&f->shm.global->rules_active);
}

static void start_and_end(void **state)
{
	struct fixture *f = *state;
	json_t *status;
	int code;

	attach(f); /* the data plane comes first */
	start(f);
	status = ask(f, "status");
	assert_true(json_is_true(json_object_get(status, "ok")));
	assert_int_equal(number(status, "rules"), 2);
	assert_int_equal(number(status, "generation"), 1);
	assert_int_equal(number(status, "pid"), f->pid);
	json_decref(status);
	assert_int_equal(get(&f->shm.global->cp_pid), f->pid);
	uint64_t beat = get(&f->shm.global->cp_heartbeat_ns);

	assert_true(beat >= get(&f->shm.global->cp_started_ns));
	WAIT_UNTIL(get(&f->shm.global->cp_heartbeat_ns) > beat);
	WAIT_UNTIL(atomic_load(&f->shm.global->cp_edge_connected) == 1);
	kill(f->pid, SIGTERM);
	code = wait_for_exit(f);
	assert_true(WIFEXITED(code));
	assert_int_equal(WEXITSTATUS(code), 0);
	assert_int_equal(get(&f->shm.global->cp_pid), 0);
	assert_int_equal(atomic_load(&f->shm.global->cp_edge_connected), 0);
	assert_int_equal(access(f->socket_path, F_OK), -1);
}

static void bad_configuration(void **state)
{
	struct fixture *f = *state;
	int code;

	test_write_file(f->config_path, "ports: 7\n");
	start(f);
	code = wait_for_exit(f);
	assert_int_equal(WEXITSTATUS(code), BP_EXIT_CONFIG);
	write_config(f, ", username: u, password_file: /nowhere/password", "", RULE_A);
	start(f);
	code = wait_for_exit(f);
	assert_int_equal(WEXITSTATUS(code), BP_EXIT_CONFIG);
	unlink(f->config_path);
	start(f);
	code = wait_for_exit(f);
	assert_int_equal(WEXITSTATUS(code), BP_EXIT_CONFIG);
}

static void only_one_at_a_time(void **state)
{
	struct fixture *f = *state;
	pid_t first;
	int code;

	start(f);
	json_decref(ask(f, "status"));
	first = f->pid;
	start(f);
	code = wait_for_exit(f);
	assert_int_equal(WEXITSTATUS(code), 1);
	f->pid = first;
	json_decref(ask(f, "status")); /* undisturbed */
	/* A killed one leaves socket and lock file behind, and is in nobody's way. */
	kill_controlplane(f);
	assert_int_equal(access(f->socket_path, F_OK), 0);
	start(f);
	json_decref(ask(f, "status"));
}

static void reload_takes_rules_over(void **state)
{
	struct fixture *f = *state;
	json_t *reply;

	start(f);
	json_decref(ask(f, "status"));
	attach(f);
	assert_int_equal(active(f) >> 1, 1);
	write_config(f, "", "", RULE_A2 RULE_B);
	reply = ask(f, "reload");
	assert_true(json_is_true(json_object_get(reply, "ok")));
	assert_int_equal(number(reply, "generation"), 2);
	assert_int_equal(number(reply, "rules"), 2);
	assert_int_equal(number(reply, "unchanged"), 1);
	json_decref(reply);
	assert_int_equal(active(f) >> 1, 2);
	assert_int_equal(get(&f->shm.global->cp_reloads), 1);
	assert_int_equal(get(&f->shm.global->cp_edge_disconnects), 0);
	/* SIGHUP does the same. */
	write_config(f, "", "", RULE_A);
	kill(f->pid, SIGHUP);
	WAIT_UNTIL(get(&f->shm.global->cp_reloads) == 2);
	assert_int_equal(bp_shm_rules(&f->shm, active(f))->n_rules, 1);
	/* New edge settings: the link is made anew. */
	WAIT_UNTIL(get(&f->shm.global->cp_edge_connects) == 1);
	write_config(f, ", client_id: somebody-else", "", RULE_A);
	json_decref(ask(f, "reload"));
	assert_int_equal(get(&f->shm.global->cp_edge_disconnects), 1);
	WAIT_UNTIL(get(&f->shm.global->cp_edge_connects) == 2);
}

static void config_is_what_is_in_force(void **state)
{
	struct fixture *f = *state;
	char *before = NULL, err[512], *path = realpath(f->config_path, NULL);
	size_t size = 0;
	FILE *out = open_memstream(&before, &size);
	const char *now;
	json_t *reply;

	start(f);
	json_decref(ask(f, "status"));
	attach(f);
	bp_config_dump(f->config, out);
	fclose(out);
	/* The file is another by now, and then none at all. */
	write_config(f, "", "", RULE_A2);
	reply = ask(f, "config");
	assert_true(json_is_true(json_object_get(reply, "ok")));
	assert_string_equal(json_string_value(json_object_get(reply, "file")), path);
	assert_string_equal(json_string_value(json_object_get(reply, "config")), before);
	json_decref(reply);
	json_decref(ask(f, "reload"));
	unlink(f->config_path);
	reply = ask(f, "config");
	now = json_string_value(json_object_get(reply, "config"));
	assert_string_not_equal(now, before);
	assert_non_null(strstr(now, "> 90"));
	json_decref(reply);
	assert_int_equal(
		bp_control_request(f->socket_path, "nothing", &reply, err, sizeof(err)), 0);
	assert_true(json_is_false(json_object_get(reply, "ok")));
	json_decref(reply);
	free(before);
	free(path);
}

/* Everything that anybody can see of the rules. */
static uint8_t *banks(const struct fixture *f)
{
	uint8_t *copy = malloc(f->shm.rules_bank_size * 2);

	memcpy(copy, f->shm.rules, f->shm.rules_bank_size * 2);
	return copy;
}

static void refused_reload_changes_nothing(void **state)
{
	struct fixture *f = *state;
	uint64_t before_active;
	uint8_t *before, *after;
	json_t *reply, *errors;
	unsigned refused = 0;

	start(f);
	json_decref(ask(f, "status"));
	attach(f);
	WAIT_UNTIL(atomic_load(&f->shm.global->cp_edge_connected) == 1);
	before_active = active(f);
	before = banks(f);
	for (unsigned kind = 0; kind < 5; kind++) {
		switch (kind) {
		case 0: /* one rule of two is wrong: both are refused */
			write_config(f, "", "",
				RULE_A2 "    - {name: b, topic: \"x#\", raise: \"> 1\"}\n");
			break;
		case 1: /* a setting that needs a restart, beside good rules */
			write_config(f, "", "", RULE_A2 "  reorder_bytes: 8KiB\n");
			break;
		case 2:
			write_config(
				f, ", username: u, password_file: /nowhere/password", "", RULE_A2);
			break;
		case 3:
			test_write_file(f->config_path, "\xff\xfe: [");
			break;
		case 4:
			unlink(f->config_path);
			break;
		}
		reply = ask(f, "reload");
		assert_true(json_is_false(json_object_get(reply, "ok")));
		errors = json_object_get(reply, "errors");
		assert_true(json_array_size(errors) >= 1);
		assert_true(json_string_length(json_array_get(errors, 0)) > 10);
		if (kind == 1)
			assert_non_null(strstr(
				json_string_value(json_array_get(errors, 0)), "reorder_bytes"));
		json_decref(reply);
		assert_int_equal(get(&f->shm.global->cp_reloads_refused), ++refused);
		assert_int_equal(active(f), before_active);
		after = banks(f);
		assert_memory_equal(before, after, f->shm.rules_bank_size * 2);
		free(after);
	}
	assert_int_equal(get(&f->shm.global->cp_reloads), 0);
	assert_int_equal(get(&f->shm.global->cp_edge_disconnects), 0);
	free(before);
	/* And afterwards a good one is taken. */
	write_config(f, "", "", RULE_A2);
	reply = ask(f, "reload");
	assert_true(json_is_true(json_object_get(reply, "ok")));
	json_decref(reply);
}

/* A killed and restarted control plane leaves what is in force alone. */
static void restart_leaves_the_rules(void **state)
{
	struct fixture *f = *state;
	uint64_t before_active;
	uint8_t *before, *after;

	start(f);
	json_decref(ask(f, "status"));
	attach(f);
	write_config(f, "", "", RULE_B RULE_A);
	json_decref(ask(f, "reload"));
	before_active = active(f);
	before = banks(f);
	kill_controlplane(f);
	start(f);
	json_decref(ask(f, "status"));
	assert_int_equal(active(f), before_active);
	after = banks(f);
	assert_memory_equal(before, after, f->shm.rules_bank_size * 2);
	free(after);
	free(before);
	/* With another file the next start does change them. */
	kill_controlplane(f);
	write_config(f, "", "", RULE_A2);
	start(f);
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
	write_config(f, "", "", RULE_A "  topic_states: 4096\n");
	char text[4096], *states;
	FILE *file = fopen(f->config_path, "r");
	size_t n = fread(text, 1, sizeof(text) - 1, file);

	fclose(file);
	text[n] = '\0';
	states = strstr(text, "  topic_states: 64\n");
	memmove(states, states + strlen("  topic_states: 64\n"),
		strlen(states + strlen("  topic_states: 64\n")) + 1);
	test_write_file(f->config_path, text);
	start(f);
	code = wait_for_exit(f);
	assert_int_equal(WEXITSTATUS(code), 1);
	/* It is dead: a fresh segment is made. */
	atomic_store(&f->shm.global->dp_pid, 0);
	start(f);
	json_decref(ask(f, "status"));
	kill(f->pid, SIGTERM);
	assert_int_equal(WEXITSTATUS(wait_for_exit(f)), 0);
}

/* The data plane replaced the segment under a running control plane: it ends, to begin anew. */
static void segment_replaced(void **state)
{
	struct fixture *f = *state;
	int code;

	start(f);
	json_decref(ask(f, "status"));
	attach(f);
	assert_int_equal(unlink(bp_segment_path(f->shm.segment)), 0);
	code = wait_for_exit(f);
	assert_int_equal(WEXITSTATUS(code), 1);
}

/* ---- alarms and kill -9 ---- */

/* Writes n alarms to the rings, waiting where they are full, as no data plane would. */
static void produce(struct fixture *f, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct bp_alarm *a = test_alarm_number(f->next_id, "alarm/k", 100);

		WAIT_UNTIL(test_ring_put(bp_shm_ring(&f->shm, i % 2), a));
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
	start(f);
	for (unsigned round = 0; round < 25; round++) {
		uint64_t acked = get(&f->shm.global->cp_alarms_acked);
		uint64_t stop_at = acked + 1 + test_random(&seed) % 900;

		produce(f, 1000);
		/* Somewhere while they are on their way; a kill may have cost some of the count. */
		WAIT_UNTIL(get(&f->shm.global->cp_alarms_acked) >= stop_at ||
			   test_subscriber_has_all(f->subscriber, 1, f->next_id - 1));
		kill_controlplane(f);
		start(f);
	}
	WAIT_UNTIL(test_subscriber_has_all(f->subscriber, 1, f->next_id - 1));
	WAIT_UNTIL(bp_ring_used(bp_shm_ring(&f->shm, 0)) == 0 &&
		   bp_ring_used(bp_shm_ring(&f->shm, 1)) == 0);
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
	start(f);
	for (unsigned round = 0; round < 8; round++) {
		uint64_t spooled, unspooled;

		WAIT_UNTIL(atomic_load(&f->shm.global->cp_edge_connected) == 1);
		test_broker_stop(&f->broker);
		spooled = get(&f->shm.global->cp_alarms_spooled);
		produce(f, 2000);
		WAIT_UNTIL(get(&f->shm.global->cp_alarms_spooled) >
			   spooled + test_random(&seed) % 1500);
		kill_controlplane(f);
		start(f);
		produce(f, 500);
		test_broker_start(&f->broker);
		unspooled = get(&f->shm.global->cp_alarms_unspooled);
		WAIT_UNTIL(get(&f->shm.global->cp_alarms_unspooled) >
			   unspooled + test_random(&seed) % 500);
		kill_controlplane(f);
		start(f);
	}
	WAIT_UNTIL(test_subscriber_has_all(f->subscriber, 1, f->next_id - 1));
	WAIT_UNTIL(get(&f->shm.global->cp_spool_rows) == 0 &&
		   bp_ring_used(bp_shm_ring(&f->shm, 0)) == 0 &&
		   bp_ring_used(bp_shm_ring(&f->shm, 1)) == 0);
	assert_int_equal(get(&f->shm.global->cp_alarms_dropped_size), 0);
	assert_int_equal(get(&f->shm.global->cp_alarms_invalid), 0);
}

/* SIGTERM while the broker is away: what is in the rings goes to the disk. */
static void sigterm_saves_alarms(void **state)
{
	struct fixture *f = *state;

	attach_for_alarms(f);
	test_broker_stop(&f->broker);
	start(f);
	json_decref(ask(f, "status"));
	produce(f, 300);
	kill(f->pid, SIGTERM);
	assert_int_equal(WEXITSTATUS(wait_for_exit(f)), 0);
	assert_int_equal(bp_ring_used(bp_shm_ring(&f->shm, 0)), 0);
	assert_int_equal(bp_ring_used(bp_shm_ring(&f->shm, 1)), 0);
	assert_int_equal(get(&f->shm.global->cp_alarms_spooled), 300);
	test_broker_start(&f->broker);
	start(f);
	WAIT_UNTIL(test_subscriber_has_all(f->subscriber, 1, 300));
}

/* A disk that fails is seen by anybody, and is not forgotten when the process dies. */
static void spool_errors_are_counted(void **state)
{
	struct fixture *f = *state;
	char path[128];
	json_t *status;
	uint64_t before;

	snprintf(path, sizeof(path), "%s/spool.db", f->dir);
	assert_int_equal(mkdir(path, 0755), 0);
	attach(f);
	start(f);
	WAIT_UNTIL(get(&f->shm.global->cp_spool_errors) >= 1);
	status = ask(f, "status");
	assert_true(number(status, "spool_errors") >= 1);
	json_decref(status);
	kill_controlplane(f);
	before = get(&f->shm.global->cp_spool_errors);
	start(f);
	WAIT_UNTIL(get(&f->shm.global->cp_spool_errors) > before);
	status = ask(f, "status");
	assert_true((uint64_t)number(status, "spool_errors") > before);
	json_decref(status);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(start_and_end, setup, teardown),
		cmocka_unit_test_setup_teardown(bad_configuration, setup, teardown),
		cmocka_unit_test_setup_teardown(only_one_at_a_time, setup, teardown),
		cmocka_unit_test_setup_teardown(reload_takes_rules_over, setup, teardown),
		cmocka_unit_test_setup_teardown(config_is_what_is_in_force, setup, teardown),
		cmocka_unit_test_setup_teardown(refused_reload_changes_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(restart_leaves_the_rules, setup, teardown),
		cmocka_unit_test_setup_teardown(segment_of_another_shape, setup, teardown),
		cmocka_unit_test_setup_teardown(segment_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(killed_again_and_again, setup, teardown),
		cmocka_unit_test_setup_teardown(killed_with_the_spool_in_use, setup, teardown),
		cmocka_unit_test_setup_teardown(sigterm_saves_alarms, setup, teardown),
		cmocka_unit_test_setup_teardown(spool_errors_are_counted, setup, teardown),
	};

	signal(SIGPIPE, SIG_IGN);
	if (argc == 3 && strcmp(argv[1], AS_CONTROLPLANE) == 0)
		return bp_controlplane_run(argv[2]);
	return cmocka_run_group_tests_name("controlplane", tests, NULL, NULL);
}
