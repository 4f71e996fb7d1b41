/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data plane is killed: between two TCP segments, at each instruction of the inspection of one,
 * and with a damaged shared segment. The next process continues inspection at the same position.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "killed.h"
#include "rig.h"
#include "websocket_peer.h"
#include "tests/unit/proto/tls/hellos.h"
#include "tests/unit/times.h"

/* Each instruction of them is a step, and later rounds take paths of earlier ones. */
#ifdef BP_LONG_TESTS
#define ROUNDS 6u
#else
#define ROUNDS 4u
#endif

static struct rig_frames frames;

/* Small tables: all of them are copied for each instruction. */
static void open_rig(struct rig *r, uint32_t batch)
{
	struct bp_rule_spec rule[4];
	struct bp_config_mqtt *m;

	rig_defaults(r);
	m = &r->mqtt;
	m->max_connections = 16;
	m->reassembly_per_connection = 4096;
	m->reassembly_total = 16384;
	m->reorder_buffer = 4096;
	m->max_alarm_states = 16;
	m->max_windows = 4;
	m->max_window_values = 4;
	m->max_watched_topics = 8;
	m->max_rules = 4;
	m->alarm_queue_size = 32768;
	m->max_topic_aliases = 16;
	m->n_websocket_ports = 1;
	m->websocket_ports[0] = WS_PORT;
	rig_open(r);
	rule[0] = rig_rule("r", "plant/#", BP_COND_GT, 80);
	rule[1] = rig_rule("s", "state/#", BP_COND_GT, 80);
	rule[1].has_clear = true;
	rule[1].clear = (struct bp_condition){.op = BP_COND_LT, .a = 81};
	rule[1].hold = BP_HOLD_COUNT;
	rule[1].hold_count = 2;
	rule[1].repeat = BP_REPEAT_ON_CHANGE;
	rule[2] = rig_rule("w", "state/#", BP_COND_GT, 80);
	rule[2].window =
		(struct bp_window_spec){.given = true, .function = BP_WINDOW_MEAN, .values = 3};
	rule[3] = rig_rule("m", "mean/#", BP_COND_GT, 80); /* on the burst path */
	rule[3].window =
		(struct bp_window_spec){.given = true, .function = BP_WINDOW_MEAN, .values = 3};
	rig_rules(r, rule, 4);
	r->bursts = batch != 0;
	r->burst_size = batch;
}

static void text(struct bytes *b, const char *topic, const char *value, uint8_t qos, uint16_t id)
{
	mq_publish(
		b, &(struct mq_publish){
			   .version = 4, .topic = topic, .payload = value, .qos = qos, .id = id});
}

static void alias(struct bytes *b, uint16_t n, const char *topic, const char *value)
{
	mq_publish(b,
		&(struct mq_publish){.version = 5, .topic = topic, .alias = n, .payload = value});
}

/* The bytes of `b` in segments of the given size, then an acknowledgement. */
static void send_cut(struct peer *c, struct bytes *b, size_t piece)
{
	for (size_t at = 0; at < b->n; at += piece)
		rig_send(&rig, c, CLIENT, b->p + at, b->n - at < piece ? b->n - at : piece);
	bytes_free(b);
	rig_ack(&rig, c, BROKER);
}

static const char long_topic[] =
	"plant/a-name-that-takes-more-than-the-smallest-block-of-the-arena-has/"
	"and-so-another-block-is-taken-when-the-alias-is-mapped-to-it-in-place-of-the-short-one";

/* A browser: its request, its messages and their frames are cut; and a client with TLS. */
static void record_browser(void)
{
	struct peer web, tls;
	struct bytes b = {0}, mqtt = {0};
	char value[16];

	peer_init(&web, false, 5, 0xffffff00, 900);
	web.broker_port = WS_PORT;
	rig_handshake(&rig, &web);
	ws_request(&b, "");
	send_cut(&web, &b, 120);
	ws_response(&b, "");
	rig_send_bytes(&rig, &web, BROKER, &b);
	mq_connect(&mqtt, 4, "web", 0);
	ws_message(&b, CLIENT, &mqtt);
	send_cut(&web, &b, 20);
	mq_connack(&mqtt, 4, 0, 0, NULL);
	ws_message(&b, BROKER, &mqtt);
	rig_send_bytes(&rig, &web, BROKER, &b);
	for (unsigned i = 0; i < 3; i++) {
		snprintf(value, sizeof(value), "%u.25", 79 + i);
		text(&mqtt, "plant/web", value, 0, 0);
		text(&mqtt, "state/web", value, 0, 0);
		ws_frame(&b, CLIENT, WS_BINARY, mqtt.p, 9);
		ws_frame(&b, CLIENT, WS_FIN | WS_PING, "p", 1);
		ws_frame(&b, CLIENT, WS_FIN, mqtt.p + 9, mqtt.n - 9);
		bytes_free(&mqtt);
		send_cut(&web, &b, 5 + 9 * i);
	}
	peer_init(&tls, false, 6, 1000, 1100);
	rig_handshake(&rig, &tls);
	rig_send(&rig, &tls, CLIENT, tls_client12, 150);
	rig_send(&rig, &tls, CLIENT, tls_client12 + 150, sizeof(tls_client12) - 150);
	rig_send(&rig, &tls, BROKER, tls_server12, sizeof(tls_server12));
}

/* Clients: QoS 0, aliases of version 5, QoS 1 in cut packets, IPv6, a window. No one pings. */
static void record(void)
{
	struct peer plain, aliases, cut, six, mean;
	struct bytes b = {0};
	char value[16];

	rig.record = &frames;
	peer_init(&plain, false, 1, 100, 200);
	peer_init(&aliases, false, 2, 0xfffffff0, 300);
	peer_init(&cut, false, 3, 400, 500);
	peer_init(&six, true, 4, 600, 700);
	rig_connect(&rig, &plain, 4, "plain");
	rig_connect_alias(&rig, &aliases, "aliases", 8, 8);
	rig_connect(&rig, &cut, 4, "cut");
	rig_connect(&rig, &six, 4, "six");
	peer_init(&mean, false, 7, 800, 850);
	rig_connect(&rig, &mean, 4, "mean");
	for (unsigned i = 0; i < ROUNDS; i++) {
		snprintf(value, sizeof(value), "%u.5", 79 + i);
		/* a batch needs many */
		for (unsigned k = 0; k < (rig.bursts ? 20 : 4); k++) {
			text(&b, "plant/plain", k % 4 == 0 ? "81.5" : "79.5", 0, 0);
			rig_send_bytes(&rig, &plain, CLIENT, &b);
		}
		for (unsigned k = 0; k < 4; k++) {
			text(&b, "mean/m", k == 0 ? "83.5" : value, 0, 0);
			rig_send_bytes(&rig, &mean, CLIENT, &b);
		}
		text(&b, "state/a", value, 0, 0);
		text(&b, "state/a", i % 3 == 0 ? "70" : "90", 0, 0);
		rig_send_bytes(&rig, &six, CLIENT, &b);
		alias(&b, 1 + i % 2, i < 2 ? "plant/short" : i == 3 ? long_topic : "", value);
		alias(&b, 1, "", value);
		rig_send_bytes(&rig, &aliases, CLIENT, &b);
		text(&b, "plant/cut", value, 1, (uint16_t)(i + 1));
		text(&b, "other/cut", value, 1, (uint16_t)(i + 101));
		text(&b, "plant/again", value, 0, 0);
		send_cut(&cut, &b, 1 + 8 * i);
		mq_ack(&b, MQ_PUBACK, (uint16_t)(i + 1));
		rig_send_bytes(&rig, &cut, BROKER, &b);
		text(&b, "plant/six", value, 0, 0);
		rig_send_bytes(&rig, &six, CLIENT, &b);
		rig_ack(&rig, &six, BROKER);
	}
	/* none of its frames is a plain one of a batch */
	if (!rig.bursts)
		record_browser();
	rig.record = NULL;
}

static void read_from(struct rig *r, size_t first)
{
	for (size_t i = first; i < frames.n; i++)
		rig_frame(r, frames.frame[i].p, frames.frame[i].n);
	rig_flush(r);
}

static struct told_list due;

static bool same(const struct told *a, const struct told *b)
{
	return strcmp(a->rule, b->rule) == 0 && a->state == b->state &&
	       strcmp(a->topic, b->topic) == 0 && strcmp(a->client, b->client) == 0 &&
	       a->value == b->value && a->client_port == b->client_port;
}

static size_t times_in(const struct told_list *l, const struct told *one)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += same(&l->a[i], one);
	return n;
}

static void open_all(uint32_t batch)
{
	open_rig(&rig, batch);
	open_rig(&next, batch);
	record();
	read_from(&next, 0);
	due = rig_told(&next);
	assert_true(due.n > 10);
	if (batch != 0)
		assert_true(next.n_numbers > 0 && next.n_general < next.n_in_bursts / 2 + 40);
}

static void close_all(void)
{
	told_free(&due);
	rig_frames_free(&frames);
	rig_close(&rig);
	rig_close(&next);
}

static void all_are_told(struct rig *r, size_t frame, size_t step)
{
	struct told_list got = rig_told(r);

	for (size_t i = 0; i < due.n; i++) {
		size_t n = times_in(&got, &due.a[i]), want = times_in(&due, &due.a[i]);

		if (n != want)
			fail_msg("frame %zu, step %zu: %zu alarms of %s, %g, not %zu", frame, step,
				n, due.a[i].topic, due.a[i].value, want);
	}
	assert_int_equal(got.n, due.n);
	told_free(&got);
}

/* Killed between two segments, each time. */
static void inspection_continues_after_restart(void **state)
{
	(void)state;
	open_all(0);
	for (size_t i = 0; i < frames.n; i++) {
		uint32_t flows = bp_mqtt_worker_flows(rig.in);
		uint64_t carried = bp_mqtt_worker_carried(rig.in);

		rig_restart(&rig);
		assert_int_equal(bp_mqtt_worker_flows(rig.in), flows);
		assert_int_equal(bp_mqtt_worker_carried(rig.in), carried);
		rig_frame(&rig, frames.frame[i].p, frames.frame[i].n);
	}
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 0);
	assert_int_equal(rig_count(&rig, BP_C_CONN_MIDSTREAM), 0);
	assert_int_equal(rig_count(&rig, BP_C_CONN_NOT_ADOPTED), 0);
	all_are_told(&rig, 0, 0);
	close_all();
}

/* The segment that was being read is sent again. */
static void read_on(size_t frame, size_t step)
{
	killed_begin_next();
	read_from(&next, frame);
	if (rig_count(&next, BP_C_RESYNC_STARTED) != 0 ||
		rig_count(&next, BP_C_NOT_INSPECTED_WEBSOCKET_MIDSTREAM) != 0 ||
		rig_count(&next, BP_C_CONN_MIDSTREAM) != 0)
		fail_msg("frame %zu, step %zu: a connection is not read on", frame, step);
	all_are_told(&next, frame, step);
}

static void child(size_t unit)
{
	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (size_t i = 0; i < frames.n; i++) {
		if (i % unit == 0)
			raise(SIGSTOP);
		rig_frame(&rig, frames.frame[i].p, frames.frame[i].n);
	}
	rig_flush(&rig);
	_exit(0);
}

/* Batches of the given number of frames; 0: each by the general path. A batch is forwarded once all
 * of it was read.
 */
static void kill_at_every_instruction(uint32_t batch)
{
	size_t unit = batch != 0 ? batch : 1, units = 0, step = 0, kills = 0;
	pid_t pid;
	int sig;

	if (TEST_SANITIZED) {
		printf("not run: a sanitizer's own instructions take minutes to step through\n");
		return;
	}
	open_all(batch);
	killed_watch();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child(unit);
	while (killed_stopped_by(pid, &sig)) {
		if (sig == SIGSTOP) {
			step = 0;
			units++;
		}
		if (units != 0 && killed_look_at(pid)) {
			read_on((units - 1) * unit, step);
			kills++;
		}
		step++;
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0)
			break;
	}
	printf("killed after each of %zu stores\n", kills);
	assert_int_equal(units, (frames.n + unit - 1) / unit);
	assert_true(kills > 1000);
	killed_unwatch();
	close_all();
}

static void killed_at_every_instruction(void **state)
{
	(void)state;
	kill_at_every_instruction(0);
}

static void killed_at_every_instruction_of_batches(void **state)
{
	(void)state;
	kill_at_every_instruction(16);
}

/* ---- rules with absent ---- */

#define SECOND 1000000000ull
#define ABSENT_UNITS 4u

/* The unit of work, before which the process stops: a publication on a new topic, one on a topic
 * whose alarm is raised, the raises of three topics, and a call without work. */
static void do_absent_unit(struct rig *r, size_t unit)
{
	if (unit < frames.n) {
		rig_frame(r, frames.frame[unit].p, frames.frame[unit].n);
		return;
	}
	if (unit == frames.n)
		rig_advance(r, 30 * SECOND);
	bp_mqtt_worker_tick(r->in, r->mono_ns);
}

static void open_absent(struct rig *r)
{
	struct bp_rule_spec rule = rig_rule("dead", "plant/#", BP_COND_GE, 30);

	open_rig(r, 0);
	rule.absent_ns = 30 * SECOND;
	rule.repeat = BP_REPEAT_ON_CHANGE;
	rig_rules(r, &rule, 1);
	bp_mqtt_worker_tick(r->in, r->mono_ns);
}

static void absent_child(void)
{
	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (size_t i = 0; i < ABSENT_UNITS; i++) {
		raise(SIGSTOP);
		do_absent_unit(&rig, i);
	}
	_exit(0);
}

/* Whatever was interrupted: each topic that became silent raised once, and the one that spoke again
 * cleared once in between. */
static void absent_on(size_t unit, size_t step, uint64_t now_ns, uint64_t mono_ns)
{
	struct told_list l;
	char got[256] = "";

	next.now_ns = now_ns + (unit >= frames.n ? 30 * SECOND : 0);
	next.mono_ns = mono_ns + (unit >= frames.n ? 30 * SECOND : 0) + 1; /* it takes a time */
	killed_begin_next();
	for (size_t i = unit; i < ABSENT_UNITS; i++)
		do_absent_unit(&next, i);
	for (unsigned i = 0; i < 3; i++) {
		rig_advance(&next, 30 * SECOND);
		bp_mqtt_worker_tick(next.in, next.mono_ns);
	}
	l = rig_told(&next);
	for (const char *topic = "abc"; *topic != '\0'; topic++) {
		uint64_t transition = 0;

		for (size_t i = 0; i < l.n; i++) {
			if (l.a[i].topic[strlen("plant/")] != *topic)
				continue;
			snprintf(got + strlen(got), sizeof(got) - strlen(got), "%c%c", *topic,
				l.a[i].state == BP_ALARM_RAISED ? '+' : '-');
			if (l.a[i].state == BP_ALARM_CLEARED)
				assert_int_equal(l.a[i].transition, transition);
			transition = l.a[i].transition;
		}
	}
	told_free(&l);
	if (strcmp(got, "a+a-a+b+c+") != 0)
		fail_msg("unit %zu, step %zu: %s", unit, step, got);
}

static void killed_at_every_instruction_of_absence(void **state)
{
	size_t units = 0, step = 0, kills = 0;
	struct peer c;
	pid_t pid;
	int sig;

	(void)state;
	if (TEST_SANITIZED)
		return;
	open_absent(&rig);
	open_absent(&next);
	peer_init(&c, false, 1, 100, 200);
	rig_connect(&rig, &c, 4, "sensor");
	rig_publish_text(&rig, &c, "plant/a", "1");
	rig_advance(&rig, 30 * SECOND);
	bp_mqtt_worker_tick(rig.in, rig.mono_ns);
	rig_publish_text(&rig, &c, "plant/b", "1");
	rig.record = &frames;
	rig_publish_text(&rig, &c, "plant/c", "1");
	rig_publish_text(&rig, &c, "plant/a", "1");
	rig.record = NULL;
	assert_int_equal(frames.n, ABSENT_UNITS - 2);
	killed_watch();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		absent_child();
	while (killed_stopped_by(pid, &sig)) {
		if (sig == SIGSTOP) {
			step = 0;
			units++;
		}
		if (units != 0 && killed_look_at(pid)) {
			absent_on(units - 1, step, rig.now_ns, rig.mono_ns);
			kills++;
		}
		step++;
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0)
			break;
	}
	printf("killed after each of %zu stores\n", kills);
	assert_int_equal(units, ABSENT_UNITS);
	assert_true(kills > 100);
	killed_unwatch();
	rig_frames_free(&frames);
	rig_close(&rig);
	rig_close(&next);
}

/* Bits of the flow table and of the journal are flipped while no process runs: the next one neither
 * crashes nor loses memory, and reads new connections. */
static void damaged_entries_are_harmless(void **state)
{
	(void)state;
	open_all(0);
	for (uint64_t seed = 1; seed <= TEST_TIMES(800); seed++) {
		uint64_t s = seed * 0x9e3779b97f4a7c15ull;
		size_t at = test_below(&s, (uint32_t)frames.n);

		memset(rig.shm.flows, 0, rig.shm.flows_len);
		rig_restart(&rig);
		for (size_t i = 0; i < at; i++)
			rig_frame(&rig, frames.frame[i].p, frames.frame[i].n);
		for (unsigned n = 1 + test_below(&s, 40); n != 0; n--) {
			bool flow = test_below(&s, 4) != 0;
			uint8_t *of = flow ? rig.shm.flows : rig.shm.reassembly;
			size_t len = flow ? rig.shm.flows_len : rig.shm.reassembly_len;

			of[test_below(&s, (uint32_t)len)] ^= (uint8_t)(1 << test_below(&s, 8));
		}
		rig_restart(&rig);
		read_from(&rig, at);
		rig_expire_all(&rig);
		assert_int_equal(bp_mqtt_worker_carried(rig.in), 0);
		(void)rig_told_count(&rig);
	}
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inspection_continues_after_restart),
		cmocka_unit_test(damaged_entries_are_harmless),
		cmocka_unit_test(killed_at_every_instruction),
		cmocka_unit_test(killed_at_every_instruction_of_batches),
		cmocka_unit_test(killed_at_every_instruction_of_absence),
	};

	return cmocka_run_group_tests_name("recovery", tests, NULL, NULL);
}
