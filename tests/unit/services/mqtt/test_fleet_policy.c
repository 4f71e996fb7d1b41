/* SPDX-License-Identifier: BSD-3-Clause */
/* A fleet whose policy refuses packets: what the gateway to which a connection moves forwards. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

#include "biplane/policy.h"
#include "fleet_steps.h"

#define STREAM_MAX 4096u

static struct bp_policy_rule_spec rules[] = {{.name = "anna",
	.packet = BP_POLICY_PUBLISH,
	.client = "pump",
	.user = "anna",
	.topic = "t/#",
	.action = BP_POLICY_ALLOW}};

/* What has left to the broker, at either gateway, and which of it. */
static struct {
	uint32_t first; /* sequence number of byte 0 */
	uint8_t byte[STREAM_MAX];
	bool has[STREAM_MAX];
	unsigned resets;
	uint32_t reset_at;
} broker;

static void receive(void *arg, const uint8_t *frame, uint32_t len, bool to_client)
{
	struct bp_frame f;

	(void)arg;
	assert_int_equal(bp_frame_parse(frame, len, len, &f), BP_FRAME_TCP);
	if (to_client)
		return;
	if (f.tcp_flags & TH_RST) {
		broker.resets++;
		broker.reset_at = f.seq;
	}
	for (uint32_t i = 0; i < f.payload_len; i++) {
		const uint32_t at = f.seq + i - broker.first;

		assert_true(at < STREAM_MAX);
		if (!broker.has[at])
			broker.byte[at] = frame[f.payload + i];
		broker.has[at] = true;
	}
}

static uint32_t received(void)
{
	uint32_t n = 0;

	while (n < STREAM_MAX && broker.has[n])
		n++;
	return n;
}

static void use_policy(struct rig *r, uint8_t fail)
{
	r->mqtt.policy = (struct bp_policy_spec){.given = true,
		.preset = BP_POLICY_CLOSE,
		.fail = fail,
		.n_rules = 1,
		.rules = rules};
	r->forwarded = receive;
	rig_rules(r, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
}

static void connect_as_anna(struct peer *c)
{
	static const uint8_t connect[] = "\x10\x16\0\4MQTT\4\x82\0\x3c\0\4pump\0\4anna";

	peer_init(c, false, 1, 100, 200);
	rig_handshake(&one, c);
	rig_send(&one, c, CLIENT, connect, sizeof(connect) - 1);
	rig_accept(&one, c, 4);
	rig_ack(&one, c, CLIENT);
	rest_and_scan();
	assert_int_equal(stored.puts, 1);
}

/* A connection at `one`, before the policy is active there, with its record. */
static void begin(struct peer *c, uint8_t fail)
{
	memset(&broker, 0, sizeof(broker));
	open_fleet();
	use_policy(&two, fail);
	connect_as_anna(c);
	use_policy(&one, fail);
	broker.first = c->seq[CLIENT];
}

static struct bytes publication(const char *topic)
{
	struct bytes b = {0};

	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = topic, .payload = "81"});
	return b;
}

static void send_at(struct rig *r, const struct peer *c, uint32_t at, const struct bytes *b)
{
	rig_segment(r, c, CLIENT, TH_ACK | TH_PSH, at, c->seq[BROKER], b->p, b->n);
}

/* Nothing leaves until the fleet has answered; then what the client sends again is judged by the
 * record: who it is, and where its stream is. */
static void judged_by_the_record(void **state)
{
	(void)state;
	for (unsigned fail = BP_POLICY_FAIL_OPEN; fail <= BP_POLICY_FAIL_CLOSED; fail++) {
		struct bytes good = publication("t/x"), bad = publication("x/y");
		struct peer c;

		begin(&c, (uint8_t)fail);
		for (unsigned i = 0; i < 2; i++)
			send_at(&two, &c, c.seq[CLIENT], &good);
		assert_int_equal(received(), 0);
		assert_int_equal(broker.resets, 0);
		offer();
		assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
		send_at(&two, &c, c.seq[CLIENT], &good);
		assert_int_equal(received(), good.n);
		assert_memory_equal(broker.byte, good.p, good.n);
		assert_string_equal(rig_told_values(&two), "81");
		/* and a refused one, whole or in pieces, leaves at no gateway */
		rig_segment(&two, &c, CLIENT, TH_ACK, c.seq[CLIENT] + (uint32_t)good.n,
			c.seq[BROKER], bad.p, 5);
		send_at(&two, &c, c.seq[CLIENT] + (uint32_t)good.n, &bad);
		assert_true(received() < good.n + bad.n);
		assert_int_equal(broker.resets, 1);
		assert_int_equal(broker.reset_at, broker.first + received());
		assert_int_equal(rig_count(&two, BP_C_POLICY_CLOSED), 1);
		assert_int_equal(rig_count(&two, BP_C_POLICY_UNDECIDED), 0);
		assert_int_equal(rig_count(&two, BP_C_POLICY_FAILED_OPEN), 0);
		assert_int_equal(rig_count(&two, BP_C_POLICY_FAILED_CLOSED), 0);
		bytes_free(&good);
		bytes_free(&bad);
		close_fleet();
	}
}

/* `one` has forwarded a publication behind its record, to a broker that has all of it, or has not
 * acknowledged it. The client sends it again to `two`, in front of a refused packet. */
static void repeated_at_the_second_gateway(void **state)
{
	(void)state;
	for (uint32_t cut = 1; cut < 9; cut++) {
		struct bytes good = publication("t/x"), all = publication("t/x"),
			     bad = publication("x/y");
		struct peer c;

		begin(&c, BP_POLICY_FAIL_CLOSED);
		bytes_add(&all, bad.p, bad.n);
		send_at(&one, &c, c.seq[CLIENT], &good);
		assert_int_equal(received(), good.n);
		send_at(&two, &c, c.seq[CLIENT], &good);
		offer();
		assert_int_equal(rig_count(&two, BP_C_FLEET_ADOPTED), 1);
		/* from each byte of what `one` forwarded on */
		rig_segment(&two, &c, CLIENT, TH_ACK, c.seq[CLIENT], c.seq[BROKER], all.p, cut);
		rig_segment(&two, &c, CLIENT, TH_ACK | TH_PSH, c.seq[CLIENT] + cut, c.seq[BROKER],
			all.p + cut, all.n - cut);
		assert_int_equal(received(), good.n);
		assert_memory_equal(broker.byte, good.p, good.n);
		assert_int_equal(broker.resets, 1);
		assert_int_equal(broker.reset_at, broker.first + (uint32_t)good.n);
		/* at neither gateway, also not by what comes late at the first */
		send_at(&two, &c, c.seq[CLIENT] + (uint32_t)good.n, &bad);
		send_at(&one, &c, c.seq[CLIENT] + (uint32_t)good.n, &bad);
		assert_int_equal(received(), good.n);
		bytes_free(&good);
		bytes_free(&all);
		bytes_free(&bad);
		close_fleet();
	}
}

/* The fleet does not know it: mqtt.policy.fail decides, and nothing was lost meanwhile. */
static void unknown_to_the_fleet(void **state)
{
	(void)state;
	for (unsigned fail = BP_POLICY_FAIL_OPEN; fail <= BP_POLICY_FAIL_CLOSED; fail++) {
		struct bytes good = publication("t/x");
		struct bp_connection_key k;
		struct peer c;

		begin(&c, (uint8_t)fail);
		send_at(&two, &c, c.seq[CLIENT], &good);
		assert_true(request(&k));
		offer_bytes(BP_ADOPT_NOT_FOUND, &k, NULL, 0);
		assert_int_equal(received(), 0);
		send_at(&two, &c, c.seq[CLIENT], &good);
		assert_int_equal(received(), fail == BP_POLICY_FAIL_OPEN ? good.n : 0);
		assert_int_equal(broker.resets, fail == BP_POLICY_FAIL_CLOSED);
		bytes_free(&good);
		close_fleet();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(judged_by_the_record),
		cmocka_unit_test(repeated_at_the_second_gateway),
		cmocka_unit_test(unknown_to_the_fleet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
