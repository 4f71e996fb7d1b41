/* SPDX-License-Identifier: BSD-3-Clause */
/* Action close: what follows the end of a connection, and what is acknowledged or has no memory. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <string.h>

#include "policy_ends.h"

static unsigned ends; /* frames with RST */
static void receive_end(void *arg, const uint8_t *frame, uint32_t len, bool to_client)
{
	struct bp_frame f;

	(void)arg;
	(void)to_client;
	assert_int_equal(bp_frame_parse(frame, len, len, &f), BP_FRAME_TCP);
	ends += (f.tcp_flags & TH_RST) != 0;
}

/* Data that crosses the FIN of the broker is behind the end of the stream: nothing was refused. */
static void behind_the_end(void **state)
{
	(void)state;
	for (unsigned disconnects = 0; disconnects < 2; disconnects++) {
		struct peer c;
		uint32_t n;

		open_rig(BP_POLICY_FAIL_CLOSED);
		rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
		load();
		c = connected(5);
		publish(&c, 5, "t/x");
		if (disconnects)
			rig_send(&rig, &c, CLIENT, "\xe0\0", 2);
		else
			rig_segment(&rig, &c, BROKER, TH_ACK | TH_FIN, c.seq[BROKER], c.seq[CLIENT],
				NULL, 0);
		n = received(&broker);
		publish(&c, 5, "t/x");
		assert_int_equal(received(&broker), n);
		assert_int_equal(broker.resets, 1);
		assert_int_equal(broker.reset_at, broker.first + n);
		assert_int_equal(client.resets, 1);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_CLOSED), 0);
		assert_int_equal(rig_count(&rig, BP_C_CONN_RST), 1);
		assert_int_equal(rig_count(&rig, BP_C_DROP_POLICY_REFUSED), 0);
		assert_int_equal(rig_count(&rig, BP_C_DROP_POLICY_AFTER_CLOSE), 1);
		assert_int_equal(rig_count(&rig, BP_C_AFTER_DISCONNECT), 1);
		rig_close(&rig);
	}
}

/* The broker has not the byte before those that were judged, and there is no memory for more. */
static void one_end_without_memory(void **state)
{
	static const char zeros[1200];
	struct bytes b = {0};
	struct peer c;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.reassembly_per_connection = 700;
	rig.mqtt.policy.given = true;
	rig.mqtt.policy.rules = rules;
	rig.mqtt.policy.n_rules = 0;
	rig.mqtt.policy.fail = BP_POLICY_FAIL_CLOSED;
	rig_open(&rig);
	rig.forwarded = receive_end;
	rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	rules[0].action = BP_POLICY_CLOSE;
	load();
	bytes_u8(&b, '1');
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "1"});
	rig_send(&rig, &c, CLIENT, b.p + 1, b.n - 1);
	/* a byte of the CONNECT again: the broker is asked, and has it not */
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] - (uint32_t)b.n, c.seq[BROKER], b.p, 1);
	rig_segment(
		&rig, &c, BROKER, TH_ACK, c.seq[BROKER], c.seq[CLIENT] - (uint32_t)b.n, NULL, 0);
	mq_publish(&b, &(struct mq_publish){.version = 4,
			       .topic = "t/x",
			       .payload = zeros,
			       .payload_len = sizeof(zeros)});
	ends = 0;
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] - (uint32_t)(b.n - sizeof(zeros) - 8),
		c.seq[BROKER], b.p, b.n);
	assert_int_equal(ends, 2);
	bytes_free(&b);
	rig_close(&rig);
}

/* A connection ends once: also if an old byte and a refused packet are in one segment. */
static void one_end(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig(BP_POLICY_FAIL_CLOSED);
	rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	publish(&c, 4, "t/x");
	rules[0].action = BP_POLICY_CLOSE;
	load();
	broker.first = c.seq[CLIENT] - 1;
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] - 1, c.seq[BROKER], "1", 1);
	/* the broker has not got it */
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], c.seq[CLIENT] - 1, NULL, 0);
	bytes_u8(&b, '1');
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/secret", .payload = "1"});
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] - 1, c.seq[BROKER], b.p, b.n);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_CLOSED), 1);
	assert_int_equal(broker.resets, 1);
	assert_int_equal(client.resets, 1);
	assert_int_equal(broker.reset_at, c.seq[CLIENT]);
	bytes_free(&b);
	rig_close(&rig);
}

/* As long as the broker has not answered it, a SYN does not make the ended connection another one.
 */
static void syn_after_a_refusal(void **state)
{
	struct bytes b = {0};
	struct peer c;
	uint32_t at, n;

	(void)state;
	open_rig(BP_POLICY_FAIL_OPEN);
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	n = received(&broker);
	at = c.seq[CLIENT];
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/secret", .payload = "1"});
	rig_segment(&rig, &c, CLIENT, TH_ACK, at, c.seq[BROKER], b.p, b.n);
	assert_int_equal(broker.resets, 1);
	rig_segment(&rig, &c, CLIENT, TH_SYN, at - 1, 0, NULL, 0);
	rig_segment(&rig, &c, CLIENT, TH_ACK, at, c.seq[BROKER], b.p, b.n);
	assert_int_equal(received(&broker), n);
	/* its answer to the SYN, on the connection that it still has */
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], at, NULL, 0);
	assert_int_equal(broker.reset_at, at);
	bytes_free(&b);
	rig_close(&rig);
}

/* Acknowledgements count also while the stream of the broker is searched. */
static void acknowledged_while_the_broker_is_searched(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig(BP_POLICY_FAIL_OPEN);
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	/* what the broker has sent took another path; the client has it */
	c.seq[BROKER] += 100;
	rig_ack(&rig, &c, CLIENT);
	rig_ack(&rig, &c, BROKER);
	for (unsigned i = 0; i < 500; i++) {
		static const char text[] = "81 and some more text so that memory is needed for it";

		for (unsigned k = 0; k < 16; k++)
			mq_publish(&b, &(struct mq_publish){
					       .version = 4, .topic = "t/x", .payload = text});
		rig_send_bytes(&rig, &c, CLIENT, &b);
		rig_ack(&rig, &c, BROKER);
		broker.acked = received(&broker);
		if (i % 8 == 7) { /* the model has a bound */
			memset(&broker, 0, sizeof(broker));
			broker.first = c.seq[CLIENT];
		}
	}
	assert_int_equal(rig_count(&rig, BP_C_DROP_POLICY_MEMORY), 0);
	assert_int_equal(client.resets, 0);
	rig_close(&rig);
}

/* Without memory a publication of the burst path is not forwarded, and other bytes are judged. */
static void burst_without_memory(void **state)
{
	struct bytes good = {0}, bad = {0};
	struct mq_publish p = {.version = 4, .topic = "t/x12345", .payload = "81"};
	struct peer c;
	uint32_t sent = 0, at;

	(void)state;
	open_rig(BP_POLICY_FAIL_OPEN);
	rig.bursts = true;
	rig.burst_size = 4;
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	rig_flush(&rig);
	mq_publish(&good, &p);
	p.topic = "t/secret";
	mq_publish(&bad, &p);
	at = c.seq[CLIENT];
	/* the broker acknowledges nothing */
	for (unsigned i = 0; i < 6000 && rig_count(&rig, BP_C_DROP_POLICY_MEMORY) == 0;
		i++, sent++) {
		broker.deaf = true;
		rig_send(&rig, &c, CLIENT, good.p, good.n);
	}
	rig_flush(&rig);
	broker.deaf = false;
	assert_true(rig_count(&rig, BP_C_DROP_POLICY_MEMORY) > 0);
	/* the first one is still known */
	rig_segment(&rig, &c, CLIENT, TH_ACK, at, c.seq[BROKER], bad.p, bad.n);
	rig_flush(&rig);
	assert_memory_equal(broker.byte + (at - broker.first), good.p, good.n);
	/* the first one that was not kept, too: it is judged again */
	for (unsigned i = 0; i < 8; i++) {
		at = c.seq[CLIENT] - (i + 1) * (uint32_t)good.n;
		rig_segment(&rig, &c, CLIENT, TH_ACK, at, c.seq[BROKER], bad.p, bad.n);
		rig_flush(&rig);
	}
	assert_int_equal(rig_count(&rig, BP_C_POLICY_FAILED_OPEN), 0);
	bytes_free(&good);
	bytes_free(&bad);
	rig_close(&rig);
}

/* There is no record yet, and no memory for one, when old bytes come again. */
static void old_bytes_without_memory(void **state)
{
	struct peer c;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.reassembly_per_connection = 200; /* less than the first record needs */
	rig.mqtt.policy.given = true;
	rig.mqtt.policy.rules = rules;
	rig.mqtt.policy.n_rules = 0;
	rig.mqtt.policy.fail = BP_POLICY_FAIL_CLOSED;
	rig_open(&rig);
	rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	publish(&c, 4, "t/x");
	rules[0].action = BP_POLICY_CLOSE;
	load();
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] - 1, c.seq[BROKER], "1", 1);
	assert_int_equal(rig_count(&rig, BP_C_DROP_POLICY_MEMORY), 1);
	rig_close(&rig);
}

/* Nothing in a retransmission of acknowledged bytes is read by the broker; its answer is wanted. */
static void acknowledged_bytes(void **state)
{
	struct peer c;
	uint32_t at;

	(void)state;
	open_rig(BP_POLICY_FAIL_CLOSED);
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	at = c.seq[CLIENT];
	publish(&c, 4, "t/x");
	rig_ack(&rig, &c, BROKER);
	broker.empty = 0;
	rig_segment(&rig, &c, CLIENT, TH_ACK, at, c.seq[BROKER], "other", 5);
	assert_int_equal(broker.empty, 1);
	assert_int_equal(received(&broker), c.seq[CLIENT] - broker.first);
	rig_close(&rig);
}

/* The last segment of a connection that both ends have closed is sent again. */
static void last_segment_again(void **state)
{
	struct bytes b = {0};
	struct peer c;
	uint32_t at;

	(void)state;
	open_rig(BP_POLICY_FAIL_CLOSED);
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	mq_empty(&b, MQ_DISCONNECT);
	at = c.seq[CLIENT];
	broker.deaf = true;
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_FIN, at, c.seq[BROKER], b.p, b.n);
	broker.deaf = false;
	rig_segment(&rig, &c, BROKER, TH_ACK | TH_FIN, c.seq[BROKER], at, NULL, 0);
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_FIN, at, c.seq[BROKER], b.p, b.n);
	assert_int_equal(received(&broker), at + 2 - broker.first);
	assert_int_equal(broker.fins, 1);
	assert_int_equal(broker.resets, 0);
	bytes_free(&b);
	rig_close(&rig);
}

/* The broker ignores a RST with a number ahead of what it has received: its answer ends it. */
static void reset_ahead_of_the_broker(void **state)
{
	(void)state;
	for (unsigned ahead = 0; ahead < 2; ahead++) {
		struct peer c;
		uint32_t at;

		open_rig(BP_POLICY_FAIL_OPEN);
		rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
		load();
		c = connected(4);
		publish(&c, 4, "t/x");
		rig_ack(&rig, &c, BROKER);
		at = c.seq[CLIENT];
		if (ahead) /* read behind an acknowledged byte, and not forwarded */
			rig_segment(&rig, &c, CLIENT, TH_ACK, at - 1, c.seq[BROKER], "1\300\0", 3);
		assert_int_equal(received(&broker), at - broker.first);
		rig_segment(&rig, &c, CLIENT, TH_RST, at + 2 * ahead, 0, NULL, 0);
		assert_int_equal(broker.resets, 1);
		assert_int_equal(broker.reset_at, at + 2 * ahead);
		rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], at, NULL, 0);
		assert_int_equal(broker.resets, 2);
		assert_int_equal(broker.reset_at, at);
		/* the client's own answer to it, which biplane did not forward to the client */
		rig_segment(&rig, &c, CLIENT, TH_RST, at, 0, NULL, 0);
		publish(&c, 4, "t/secret");
		assert_int_equal(received(&broker), at - broker.first);
		/* nothing was refused */
		assert_int_equal(rig_count(&rig, BP_C_CONN_RST), 1);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_CLOSED), 0);
		assert_int_equal(rig_count(&rig, BP_C_DROP_POLICY_REFUSED), 0);
		rig_close(&rig);
	}
}

/* The ports of a connection that its client has reset are used again. */
static void ports_of_a_reset_connection(void **state)
{
	struct peer c;
	uint32_t at;

	(void)state;
	open_rig(BP_POLICY_FAIL_CLOSED);
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	publish(&c, 4, "t/x");
	rig_segment(&rig, &c, CLIENT, TH_RST, c.seq[CLIENT], 0, NULL, 0);
	c = open_peer();
	c.first[CLIENT] = c.seq[CLIENT] = 900000;
	c.first[BROKER] = c.seq[BROKER] = 700000;
	broker.first = 900001;
	client.first = 700001;
	rig_connect(&rig, &c, 4, "pump-1");
	publish(&c, 4, "t/x");
	at = c.seq[CLIENT];
	assert_int_equal(received(&broker), at - broker.first);
	publish(&c, 4, "t/secret");
	assert_int_equal(received(&broker), at - broker.first);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_CLOSED), 1);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behind_the_end),
		cmocka_unit_test(one_end_without_memory),
		cmocka_unit_test(one_end),
		cmocka_unit_test(syn_after_a_refusal),
		cmocka_unit_test(acknowledged_while_the_broker_is_searched),
		cmocka_unit_test(burst_without_memory),
		cmocka_unit_test(old_bytes_without_memory),
		cmocka_unit_test(acknowledged_bytes),
		cmocka_unit_test(last_segment_again),
		cmocka_unit_test(reset_ahead_of_the_broker),
		cmocka_unit_test(ports_of_a_reset_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
