/* SPDX-License-Identifier: BSD-3-Clause */
/* Action close: connections that are not read, or that were begun before the policy
 * (mqtt.policy.fail). */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <string.h>

#include "policy_ends.h"

static void met_midstream(void **state)
{
	(void)state;
	for (unsigned fail = BP_POLICY_FAIL_OPEN; fail <= BP_POLICY_FAIL_CLOSED; fail++) {
		struct peer c;

		open_rig((uint8_t)fail);
		rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
		load();
		c = open_peer();
		c.seq[CLIENT]++;
		c.seq[BROKER]++;
		publish(&c, 4, "t/x");
		assert_int_equal(received(&broker) != 0, fail == BP_POLICY_FAIL_OPEN);
		assert_int_equal(broker.resets, fail);
		assert_int_equal(client.resets, fail);
		if (fail == BP_POLICY_FAIL_CLOSED)
			assert_int_equal(client.reset_at, c.seq[BROKER]);
		publish(&c, 4, "t/secret");
		assert_int_equal(received(&broker) != 0, fail == BP_POLICY_FAIL_OPEN);
		rig_close(&rig);
	}
}

static void another_protocol(void **state)
{
	(void)state;
	for (unsigned fail = BP_POLICY_FAIL_OPEN; fail <= BP_POLICY_FAIL_CLOSED; fail++) {
		struct peer c;

		open_rig((uint8_t)fail);
		rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
		load();
		c = open_peer();
		rig_handshake(&rig, &c);
		rig_send(&rig, &c, CLIENT, "GET / HTTP/1.1\r\n\r\n", 18);
		assert_int_equal(received(&broker), fail == BP_POLICY_FAIL_OPEN ? 18 : 0);
		assert_int_equal(client.resets, fail);
		rig_close(&rig);
	}
}

static void unknown_identity(void **state)
{
	(void)state;
	for (unsigned fail = BP_POLICY_FAIL_OPEN; fail <= BP_POLICY_FAIL_CLOSED; fail++) {
		struct bytes b = {0};
		struct peer c;
		uint32_t n;

		open_rig((uint8_t)fail);
		rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/#")->has_size = true;
		rules[0].larger_than = 100;
		load();
		c = connected(5);
		n = received(&broker);
		/* an alias that was never defined */
		mq_publish(&b, &(struct mq_publish){
				       .version = 5, .topic = "", .alias = 1, .payload = "1"});
		rig_send_bytes(&rig, &c, CLIENT, &b);
		assert_int_equal(received(&broker) > n, fail == BP_POLICY_FAIL_OPEN);
		rig_close(&rig);
	}
}

/* A new process continues with the bytes of the former one. */
static void restart(void **state)
{
	struct bytes good = {0}, bad = {0};
	struct mq_publish p = {.version = 4, .topic = "t/x12345", .payload = "81"};
	struct peer c;
	uint32_t at;

	(void)state;
	open_rig(BP_POLICY_FAIL_CLOSED);
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	mq_publish(&good, &p);
	p.topic = "t/secret";
	mq_publish(&bad, &p);
	at = c.seq[CLIENT];
	broker.deaf = true;
	rig_send(&rig, &c, CLIENT, good.p, good.n);
	broker.deaf = false;
	rig_restart(&rig);
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_PSH, at, c.seq[BROKER], bad.p, bad.n);
	assert_memory_equal(broker.byte + (at - broker.first), good.p, good.n);
	publish(&c, 4, "t/x");
	assert_int_equal(received(&broker), c.seq[CLIENT] - broker.first);
	publish(&c, 4, "t/secret");
	assert_int_equal(broker.resets, 1);
	bytes_free(&good);
	bytes_free(&bad);
	rig_close(&rig);
}

/* A frame in several buffers cannot be kept: it is not read either, so that other bytes in its
 * place are judged. */
static void frame_in_pieces(void **state)
{
	struct bytes b = {0};
	struct peer c;
	uint32_t n;

	(void)state;
	open_rig(BP_POLICY_FAIL_CLOSED);
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	n = received(&broker);
	for (unsigned i = 0; i < 15; i++)
		mq_empty(&b, MQ_PINGREQ);
	rig.no_payload = true;
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT], c.seq[BROKER], b.p, b.n);
	rig.no_payload = false;
	bytes_free(&b);
	assert_int_equal(rig_count(&rig, BP_C_DROP_POLICY_PIECES), 1);
	publish(&c, 4, "t/secret");
	assert_int_equal(received(&broker), n);
	assert_int_equal(broker.resets, 1);
	rig_close(&rig);
}

/* A SYN-ACK whose SYN was not seen begins nothing: the client may have sent it. */
static void syn_ack_without_syn(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig(BP_POLICY_FAIL_CLOSED);
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = open_peer();
	c.seq[CLIENT]++;
	rig_segment(&rig, &c, BROKER, TH_SYN | TH_ACK, c.seq[BROKER]++, c.seq[CLIENT], NULL, 0);
	rig_ack(&rig, &c, CLIENT);
	mq_connect(&b, 4, "pump-1", 0);
	rig_send_bytes(&rig, &c, CLIENT, &b);
	assert_int_equal(received(&broker), 0);
	assert_int_equal(broker.resets, 1);
	rig_close(&rig);
}

/* The broker acknowledges the rest of a SUBSCRIBE that took another path, in a segment with data.
 */
static void refused_by_a_segment_of_the_broker(void **state)
{
	struct bytes b = {0}, answer = {0};
	struct peer c;

	(void)state;
	open_rig(BP_POLICY_FAIL_CLOSED);
	rule(BP_POLICY_CLOSE, BP_POLICY_SUBSCRIBE, "plant/secret");
	load();
	c = connected(4);
	mq_subscribe(&b, 4, 1, "plant/open");
	rig_send(&rig, &c, CLIENT, b.p, b.n - 2);
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] + 2, c.seq[BROKER], NULL, 0);
	mq_ack(&answer, MQ_PUBACK, 1);
	rig_segment(&rig, &c, BROKER, TH_ACK | TH_PSH, c.seq[BROKER], c.seq[CLIENT] + 2, answer.p,
		answer.n);
	assert_int_equal(rig_count(&rig, BP_C_POLICY_FAILED_CLOSED), 1);
	assert_int_equal(broker.resets, 1);
	bytes_free(&b);
	bytes_free(&answer);
	rig_close(&rig);
}

/* An RST with payload: the broker gets the same RST, and what comes after it is not forwarded. */
static void reset_with_payload(void **state)
{
	struct peer c;
	uint32_t n;

	(void)state;
	open_rig(BP_POLICY_FAIL_OPEN);
	rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	n = received(&broker);
	rig_segment(&rig, &c, CLIENT, TH_RST | TH_ACK, c.seq[CLIENT], c.seq[BROKER], "x", 1);
	assert_int_equal(broker.resets, 1);
	assert_int_equal(broker.reset_at, c.seq[CLIENT]);
	publish(&c, 4, "t/secret");
	publish(&c, 4, "t/x");
	assert_int_equal(received(&broker), n);
	rig_close(&rig);
}

/* What is held when the policy comes into force was forwarded, and is not skipped. */
static void held_before_a_reload(void **state)
{
	struct bytes b = {0};
	struct peer c;
	uint32_t at, n;

	(void)state;
	open_rig(BP_POLICY_FAIL_CLOSED);
	rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "t/secret");
	load();
	c = connected(4);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x12345", .payload = "81"});
	at = c.seq[CLIENT];
	n = (uint32_t)b.n;
	rig_segment(&rig, &c, CLIENT, TH_ACK, at + n, c.seq[BROKER], b.p, n);
	rules[0].action = BP_POLICY_CLOSE;
	load();
	broker.first = at;
	rig_segment(&rig, &c, CLIENT, TH_ACK, at, c.seq[BROKER], b.p, n);
	assert_int_equal(received(&broker), n);
	memcpy(b.p + 4, "t/secret", 8);
	rig_segment(&rig, &c, CLIENT, TH_ACK, at + n, c.seq[BROKER], b.p, n);
	assert_int_equal(received(&broker), n);
	bytes_free(&b);
	rig_close(&rig);
}

/* Old bytes in front of a refused packet; and, of a client that is honest, alone. */
static void bytes_from_before_a_reload(void **state)
{
	(void)state;
	for (unsigned fail = BP_POLICY_FAIL_OPEN; fail <= BP_POLICY_FAIL_CLOSED; fail++) {
		struct bytes b = {0};
		struct peer c;
		uint32_t n;

		open_rig((uint8_t)fail);
		rule(BP_POLICY_OBSERVE, BP_POLICY_PUBLISH, "t/secret");
		load();
		c = connected(4);
		publish(&c, 4, "t/x");
		rules[0].action = BP_POLICY_CLOSE;
		load();
		broker.first = c.seq[CLIENT] - 1;
		broker.has[0] = true;
		broker.byte[0] = '1';
		/* a keep-alive probe, and its answer */
		rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] - 1, c.seq[BROKER], "1", 1);
		assert_int_equal(client.resets, 0);
		rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], c.seq[CLIENT], NULL, 0);
		rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] - 1, c.seq[BROKER], "1", 1);
		assert_int_equal(client.resets, 0);
		publish(&c, 4, "t/x");
		n = received(&broker);
		assert_int_equal(n, c.seq[CLIENT] - broker.first);
		bytes_u8(&b, '1');
		mq_publish(&b,
			&(struct mq_publish){.version = 4, .topic = "t/secret", .payload = "1"});
		rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] - 1, c.seq[BROKER], b.p, b.n);
		assert_int_equal(received(&broker), n);
		assert_int_equal(broker.resets, 1);
		bytes_free(&b);
		rig_close(&rig);
	}
}

/* A tag with identifier 0 is in front of that of the VLAN, or behind it: a receiver strips it, so
 * the segments are those of the same connection. */
static void priority_tag(void **state)
{
	static const uint16_t tags[][2] = {{0, 5}, {5, 0}};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct peer c;
		uint32_t n;

		open_rig(BP_POLICY_FAIL_OPEN);
		rule(BP_POLICY_CLOSE, BP_POLICY_PUBLISH, "t/secret");
		load();
		c = open_peer();
		c.n_vlan = 1;
		c.vlan[0] = 5;
		rig_connect(&rig, &c, 4, "pump-1");
		publish(&c, 4, "t/x");
		c.n_vlan = 2;
		memcpy(c.vlan, tags[i], sizeof(c.vlan));
		publish(&c, 4, "t/x");
		n = received(&broker);
		assert_int_equal(n, c.seq[CLIENT] - broker.first);
		publish(&c, 4, "t/secret");
		assert_int_equal(received(&broker), n);
		assert_int_equal(rig_count(&rig, BP_C_POLICY_FAILED_OPEN), 0);
		assert_int_equal(broker.resets, 1);
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(met_midstream),
		cmocka_unit_test(another_protocol),
		cmocka_unit_test(unknown_identity),
		cmocka_unit_test(restart),
		cmocka_unit_test(frame_in_pieces),
		cmocka_unit_test(syn_ack_without_syn),
		cmocka_unit_test(refused_by_a_segment_of_the_broker),
		cmocka_unit_test(reset_with_payload),
		cmocka_unit_test(held_before_a_reload),
		cmocka_unit_test(bytes_from_before_a_reload),
		cmocka_unit_test(priority_tag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
