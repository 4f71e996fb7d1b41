/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data plane is killed at each instruction, while a policy refuses packets. What the next
 * process forwards agrees with what was forwarded before, also if the client sends other bytes.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "killed.h"
#include "rig.h"
#include "tests/unit/times.h"

#define STREAM_MAX 2000u
#define SEGMENTS_MAX 100u

/* What the client sends after its CONNECT was accepted, in segments of any length. */
static struct peer peer;
static struct bytes stream;
static struct {
	uint32_t at, n;
	bool ack; /* the broker acknowledges all of it */
} segment[SEGMENTS_MAX];
static unsigned n_segments;
static uint32_t refused; /* where the first refused packet begins */

static struct bp_policy_rule_spec rules[] = {{.name = "secret",
	.action = BP_POLICY_CLOSE,
	.packet = BP_POLICY_PUBLISH,
	.topic = "secret/#"}};

static void open_rig(struct rig *r)
{
	struct bp_rule_spec alarm = rig_rule("alarm", "plant/#", BP_COND_GT, 80);
	struct bp_config_mqtt *m = &r->mqtt;

	rig_defaults(r);
	m->max_connections = 4;
	m->reassembly_per_connection = 4096;
	m->reassembly_total = 16384;
	m->max_alarm_states = m->max_windows = m->max_window_values = m->max_watched_topics = 4;
	m->max_rules = 4;
	m->alarm_queue_size = 32768;
	m->policy = (struct bp_policy_spec){
		.given = true, .fail = BP_POLICY_FAIL_CLOSED, .n_rules = 1, .rules = rules};
	rig_open(r);
	rig_rules(r, &alarm, 1);
}

static void packet(const char *topic, uint8_t qos)
{
	mq_publish(&stream,
		&(struct mq_publish){
			.version = 4, .topic = topic, .payload = "81.5", .qos = qos, .id = 7});
}

static void make_segments(void)
{
	for (unsigned i = 0; i < 6; i++)
		packet(i % 2 == 0 ? "plant/a" : "other/b", i % 3);
	refused = (uint32_t)stream.n;
	packet("secret/c", 0);
	packet("plant/d", 0);
	for (uint32_t at = 0, i = 0; at < stream.n; i++) {
		uint32_t n = i % 3 == 0 ? 5 : 19;

		if (n > stream.n - at)
			n = (uint32_t)stream.n - at;
		segment[n_segments].at = at;
		segment[n_segments].n = n;
		segment[n_segments++].ack = i % 4 == 3;
		at += n;
	}
}

static void send_segment(struct rig *r, unsigned i)
{
	const uint32_t at = peer.seq[CLIENT] + segment[i].at;

	rig_segment(r, &peer, CLIENT, TH_ACK | TH_PSH, at, peer.seq[BROKER],
		stream.p + segment[i].at, segment[i].n);
	if (segment[i].ack)
		rig_segment(r, &peer, BROKER, TH_ACK, peer.seq[BROKER], at + segment[i].n, NULL, 0);
}

static uint32_t leaves; /* position behind the last byte that left */

/* Each byte has the value that it had when the undisturbed process forwarded it. */
static void receive(void *arg, const uint8_t *frame, uint32_t len, bool to_client)
{
	struct bp_frame f;

	(void)arg;
	assert_int_equal(bp_frame_parse(frame, len, len, &f), BP_FRAME_TCP);
	if (to_client || f.payload_len == 0)
		return;
	f.seq -= peer.seq[CLIENT];
	assert_true(f.seq + f.payload_len <= refused + 11); /* not all of the topic */
	assert_memory_equal(frame + f.payload, stream.p + f.seq, f.payload_len);
	if (f.seq + f.payload_len > leaves)
		leaves = f.seq + f.payload_len;
}

/* Killed while segment `from` was read. */
static void continues(unsigned from)
{
	uint8_t other[32];

	killed_begin_next();
	next.forwarded = receive;
	leaves = 0;
	if (from != 0) {
		const unsigned i = from - 1;

		for (uint32_t k = 0; k < segment[i].n; k++)
			other[k] = stream.p[segment[i].at + k] ^ 0x55;
		rig_segment(&next, &peer, CLIENT, TH_ACK | TH_PSH, peer.seq[CLIENT] + segment[i].at,
			peer.seq[BROKER], other, segment[i].n);
	}
	for (unsigned i = from; i < n_segments; i++)
		send_segment(&next, i);
	/* the refused segment may have ended the connection before */
	if (segment[from].at + segment[from].n <= refused)
		assert_true(leaves >= refused);
	assert_int_equal(rig_count(&next, BP_C_CONN_MIDSTREAM), 0);
	assert_int_equal(rig_count(&next, BP_C_POLICY_FAILED_CLOSED), 0);
	(void)rig_told_count(&next);
}

static void child(void)
{
	(void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (unsigned i = 0; i < n_segments; i++) {
		raise(SIGSTOP);
		send_segment(&rig, i);
	}
	_exit(0);
}

static void killed_at_every_instruction(void **state)
{
	size_t kills = 0;
	unsigned at = 0;
	pid_t pid;
	int sig;

	(void)state;
	if (TEST_SANITIZED) {
		printf("not run: a sanitizer's own instructions take minutes to step through\n");
		return;
	}
	make_segments();
	open_rig(&rig);
	open_rig(&next);
	peer_init(&peer, false, 1, 0xffffffc0, 300);
	rig_connect(&rig, &peer, 4, "pump");
	killed_watch();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child();
	while (killed_stopped_by(pid, &sig)) {
		at += sig == SIGSTOP;
		if (at != 0 && killed_look_at(pid)) {
			continues(at - 1);
			kills++;
		}
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0)
			break;
	}
	printf("killed after each of %zu stores\n", kills);
	assert_int_equal(at, n_segments);
	assert_true(kills > 300);
	killed_unwatch();
	bytes_free(&stream);
	rig_close(&rig);
	rig_close(&next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_at_every_instruction),
	};

	return cmocka_run_group_tests_name("recovery_policy", tests, NULL, NULL);
}
