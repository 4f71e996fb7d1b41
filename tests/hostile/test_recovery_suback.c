/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data plane is killed at each instruction, while topic filters are refused. The next process
 * forwards the same SUBACKs, also where the broker sends again what was forwarded before.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "killed.h"
#include "rig.h"
#include "tests/unit/times.h"

/* What both ends send, and what leaves of it. */
static const struct segment {
	unsigned from;
	uint8_t n;
	const char *sent, *leaves;
	bool acked; /* the sender of this segment has received all that was sent before */
} segment[] = {
	/* the second filter and the third one are refused */
	{CLIENT, 21, "\x82\x13\0\7\0\0\3t/x\0\0\1#\0\0\3t/#\0",
		"\x82\x13\0\7\0\0\3t/x\0\0\1$\0\0\3$--\0", false},
	/* cut behind the first of them */
	{BROKER, 7, "\x90\6\0\7\0\0\1", "\x90\6\0\7\0\0\x87", false},
	{BROKER, 3, "\1\xd0\0", "\x87\xd0\0", false},
	{CLIENT, 2, "\xc0\0", "\xc0\0", false},
	{CLIENT, 9, "\x82\7\0\x08\0\0\1#\0", "\x82\7\0\x08\0\0\1$\0", true},
	{BROKER, 6, "\x90\4\0\x08\0\0", "\x90\4\0\x08\0\x87", true},
};
#define SEGMENTS (sizeof(segment) / sizeof(segment[0]))

static struct peer peer;

static struct bp_policy_rule_spec rules[] = {{.name = "secret",
	.action = BP_POLICY_BLANK,
	.packet = BP_POLICY_SUBSCRIBE,
	.topic = "t/secret"}};

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
		.quarantine = "$refused",
		.n_rules = 1,
		.rules = rules};
	rig_open(r);
	rig_rules(r, &alarm, 1);
}

/* Where segment i begins in the stream of its sender. */
static uint32_t position(unsigned from, unsigned i)
{
	uint32_t at = peer.seq[from];

	while (i-- != 0)
		at += segment[i].from == from ? segment[i].n : 0;
	return at;
}

static void send_segment(struct rig *r, unsigned i)
{
	const struct segment *s = &segment[i];

	rig_segment(r, &peer, s->from, TH_ACK | TH_PSH, position(s->from, i),
		s->acked ? position(!s->from, i) : peer.seq[!s->from], s->sent, s->n);
}

static unsigned left; /* bit i: segment i */

static void receive(void *arg, const uint8_t *frame, uint32_t len, bool to_client)
{
	struct bp_frame f;

	(void)arg;
	assert_int_equal(bp_frame_parse(frame, len, len, &f), BP_FRAME_TCP);
	if (f.payload_len == 0)
		return;
	for (unsigned i = 0; i < SEGMENTS; i++) {
		const struct segment *s = &segment[i];

		if (s->from != (to_client ? BROKER : CLIENT) || f.seq != position(s->from, i))
			continue;
		assert_int_equal(f.payload_len, s->n);
		assert_memory_equal(frame + f.payload, s->leaves, s->n);
		left |= 1u << i;
	}
}

/* Killed while segment `at` was read. */
static void continues(unsigned at)
{
	killed_begin_next();
	next.forwarded = receive;
	left = 0;
	/* the client has nothing of this yet */
	for (unsigned i = 0; i < at && at < 4; i++)
		if (segment[i].from == BROKER)
			send_segment(&next, i);
	for (unsigned i = at; i < SEGMENTS; i++)
		send_segment(&next, i);
	assert_int_equal(left >> at, ((1u << SEGMENTS) - 1) >> at);
	assert_int_equal(rig_count(&next, BP_C_CONN_MIDSTREAM), 0);
	assert_int_equal(rig_count(&next, BP_C_POLICY_FAILED_CLOSED), 0);
}

static void killed_at_every_instruction(void **state)
{
	size_t kills;

	(void)state;
	if (TEST_SANITIZED) {
		printf("not run: a sanitizer's own instructions take minutes to step through\n");
		return;
	}
	open_rig(&rig);
	open_rig(&next);
	peer_init(&peer, false, 1, 0xffffffe0, 0xfffffff0);
	rig_connect(&rig, &peer, 5, "pump");
	kills = killed_after_each_store(SEGMENTS, send_segment, continues);
	printf("killed after each of %zu stores\n", kills);
	assert_true(kills > 50);
	rig_close(&rig);
	rig_close(&next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_at_every_instruction),
	};

	return cmocka_run_group_tests_name("recovery_suback", tests, NULL, NULL);
}
