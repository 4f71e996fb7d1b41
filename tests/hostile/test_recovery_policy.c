/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data plane is killed at each instruction, while a policy refuses packets. What the next
 * process forwards agrees with what was forwarded before, also if the client sends other bytes.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "killed.h"
#include "rig.h"
#include "tests/unit/times.h"

#define STREAM_MAX 2000u
#define SEGMENTS_MAX 100u

/* What the client sends after its CONNECT was accepted, in segments of any length. */
static struct peer peer;
static struct bytes stream;
static struct bytes expected; /* that stream, as the broker receives it */
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
	m->policy = (struct bp_policy_spec){.given = true,
		.fail = BP_POLICY_FAIL_CLOSED,
		.n_rules = 1,
		.rules = rules,
		.quarantine = "$refused"};
	rig_open(r);
	rig_rules(r, &alarm, 1);
}

static void packet(const char *topic, uint8_t qos)
{
	const bool blanked = rules[0].action == BP_POLICY_BLANK && strcmp(topic, "secret/c") == 0;
	struct mq_publish p = {
		.version = 4, .topic = topic, .payload = "81.5", .qos = qos, .id = 7};

	mq_publish(&stream, &p);
	if (blanked)
		p.topic = "$refused";
	mq_publish(&expected, &p);
}

static void begin_stream(uint8_t action)
{
	rules[0].action = action;
	memset(&stream, 0, sizeof(stream));
	memset(&expected, 0, sizeof(expected));
	n_segments = 0;
}

static void end_stream(void)
{
	bytes_free(&stream);
	bytes_free(&expected);
	rig_close(&rig);
	rig_close(&next);
}

static void make_segments(void)
{
	begin_stream(BP_POLICY_CLOSE);
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
	assert_memory_equal(frame + f.payload, expected.p + f.seq, f.payload_len);
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

/* ---- bursts ---- */

#define IN_BURST 3u

/* A packet for each segment, on one topic, as the burst path reads them. */
static void make_bursts(void)
{
	begin_stream(BP_POLICY_CLOSE);
	for (unsigned i = 0; i < 4 * IN_BURST; i++) {
		const bool allowed = i < 3 * IN_BURST;

		segment[n_segments].at = (uint32_t)stream.n;
		if (i == 3 * IN_BURST)
			refused = (uint32_t)stream.n;
		packet(allowed ? "plant/a" : "secret/c", 0);
		segment[n_segments].n = (uint32_t)stream.n - segment[n_segments].at;
		segment[n_segments++].ack = false;
	}
}

/* The burst path overwrites the first one of each burst, but for the first burst. */
static void make_blanked_bursts(void)
{
	begin_stream(BP_POLICY_BLANK);
	for (unsigned i = 0; i < 4 * IN_BURST; i++) {
		segment[n_segments].at = (uint32_t)stream.n;
		packet(i % IN_BURST == 0 ? "secret/c" : "plant/a", 0);
		segment[n_segments].n = (uint32_t)stream.n - segment[n_segments].at;
		segment[n_segments++].ack = false;
	}
	refused = (uint32_t)stream.n;
}

static uint64_t on_the_burst_path;

static void send_burst(struct rig *r, unsigned burst)
{
	for (unsigned i = 0; i < IN_BURST; i++)
		send_segment(r, burst * IN_BURST + i);
	rig_flush(r);
}

/* Killed while burst `from` was read: the client sends other bytes for the one before again, all of
 * which was forwarded. */
static void continues_in_bursts(unsigned from)
{
	const unsigned first = from * IN_BURST;
	uint8_t other[64];

	killed_begin_next();
	next.forwarded = receive;
	next.bursts = true;
	next.burst_size = IN_BURST;
	leaves = 0;
	for (unsigned i = from == 0 ? 0 : first - IN_BURST; i < first; i++) {
		assert_true(segment[i].n <= sizeof(other));
		for (uint32_t k = 0; k < segment[i].n; k++)
			other[k] = stream.p[segment[i].at + k] ^ 0x55;
		rig_segment(&next, &peer, CLIENT, TH_ACK | TH_PSH, peer.seq[CLIENT] + segment[i].at,
			peer.seq[BROKER], other, segment[i].n);
	}
	rig_flush(&next);
	for (unsigned i = from; i < n_segments / IN_BURST; i++)
		send_burst(&next, i);
	if (segment[first].at < refused)
		assert_true(leaves >= refused);
	assert_int_equal(rig_count(&next, BP_C_CONN_MIDSTREAM), 0);
	assert_int_equal(rig_count(&next, BP_C_POLICY_FAILED_CLOSED), 0);
	on_the_burst_path += next.n_in_bursts - next.n_general;
	next.n_in_bursts = next.n_general = 0;
	(void)rig_told_count(&next);
}

static void in_bursts(void)
{
	size_t kills;

	open_rig(&rig);
	open_rig(&next);
	peer_init(&peer, false, 1, 0xffffffc0, 300);
	rig_connect(&rig, &peer, 4, "pump");
	rig.bursts = true;
	rig.burst_size = IN_BURST;
	on_the_burst_path = 0;
	kills = killed_after_each_store(n_segments / IN_BURST, send_burst, continues_in_bursts);
	printf("killed after each of %zu stores\n", kills);
	assert_true(kills > 100);
	assert_true(on_the_burst_path > kills);
	end_stream();
}

static void killed_in_bursts(void **state)
{
	(void)state;
	if (TEST_SANITIZED)
		return;
	make_bursts();
	in_bursts();
	assert_int_equal(next.n_blanked, 0);
}

static void killed_in_blanked_bursts(void **state)
{
	(void)state;
	if (TEST_SANITIZED)
		return;
	make_blanked_bursts();
	in_bursts();
	assert_true(next.n_blanked > 300);
}

static void killed_at_every_instruction(void **state)
{
	size_t kills;

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
	kills = killed_after_each_store(n_segments, send_segment, continues);
	printf("killed after each of %zu stores\n", kills);
	assert_true(kills > 300);
	end_stream();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_at_every_instruction),
		cmocka_unit_test(killed_in_bursts),
		cmocka_unit_test(killed_in_blanked_bursts),
	};

	return cmocka_run_group_tests_name("recovery_policy", tests, NULL, NULL);
}
