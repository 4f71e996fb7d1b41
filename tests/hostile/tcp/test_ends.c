/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client sends on behind its own FIN, or behind the broker's: no broker reads that, and it raises
 * no alarm. What was sent before, in whatever order it comes, is read.
 */
#include "test.h"

#include <string.h>

#include "stream_steps.h"

#define TOPIC "plant/oven0/temperature"

static void start(struct peer *c, bool fast)
{
	open_rig();
	rig.fast = fast;
	peer_init(c, false, 1, 0xffffff00u, 0xfffffff0u);
	rig_connect(&rig, c, 4, "x");
	for (unsigned i = 0; i < 2; i++) {
		rig_publish_text(&rig, c, TOPIC, "81");
		rig_ack(&rig, c, BROKER);
	}
	assert_int_equal(rig_told_count(&rig), 2);
}

/* Publications at the number of the client's FIN, and at the next one. */
static void behind_client_fin(void **state)
{
	(void)state;
	for (unsigned k = 0; k < 4; k++) {
		struct peer c;

		start(&c, k & 1);
		rig_segment(
			&rig, &c, CLIENT, TH_FIN | TH_ACK, c.seq[CLIENT], c.seq[BROKER], NULL, 0);
		c.seq[CLIENT] += k / 2;
		for (unsigned i = 0; i < 5; i++)
			rig_publish_text(&rig, &c, TOPIC, "99");
		assert_string_equal(told(), "");
		assert_true(rig_count(&rig, BP_C_AFTER_DISCONNECT) >= 1);
		rig_close(&rig);
	}
}

/* Publications behind the broker's FIN, which are answered with RST. */
static void behind_broker_fin(void **state)
{
	(void)state;
	for (unsigned fast = 0; fast < 2; fast++) {
		struct peer c;

		start(&c, fast);
		rig_segment(
			&rig, &c, BROKER, TH_FIN | TH_ACK, c.seq[BROKER], c.seq[CLIENT], NULL, 0);
		c.seq[BROKER]++;
		for (unsigned i = 0; i < 5; i++)
			rig_publish_text(&rig, &c, TOPIC, "99");
		assert_string_equal(told(), "");
		assert_int_equal(rig_count(&rig, BP_C_AFTER_DISCONNECT), 5);
		/* and the client's end is still seen */
		rig_segment(
			&rig, &c, CLIENT, TH_FIN | TH_ACK, c.seq[CLIENT], c.seq[BROKER], NULL, 0);
		assert_int_equal(rig_count(&rig, BP_C_FLOW_FIN), 1);
		rig_close(&rig);
	}
}

/* The FIN overtakes what was sent before it, up to all of it. */
static void fin_overtakes(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	start(&c, false);
	hot(&b, "82");
	hot(&b, "83");
	rig_segment(&rig, &c, CLIENT, TH_FIN | TH_ACK, c.seq[CLIENT] + (uint32_t)b.n, c.seq[BROKER],
		NULL, 0);
	piece(&c, &b, b.n / 2, b.n);
	piece(&c, &b, 0, b.n / 2);
	assert_string_equal(told(), "82 83");
	c.seq[CLIENT] += (uint32_t)b.n;
	bytes_free(&b);
	rig_publish_text(&rig, &c, TOPIC, "99");
	assert_string_equal(told(), "");
	/* the broker has all of it, and answers: it is no gap */
	rig_segment(&rig, &c, BROKER, TH_FIN | TH_ACK, c.seq[BROKER], c.seq[CLIENT], NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_FLOW_FIN), 1);
	rig_close(&rig);
}

/* A client publishes and closes before the broker has answered its CONNECT. */
static void closed_before_connack(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 100, 900);
	rig_handshake(&rig, &c);
	mq_connect(&b, 4, "x", 0);
	hot(&b, "82");
	rig_send_bytes(&rig, &c, CLIENT, &b);
	rig_segment(&rig, &c, CLIENT, TH_FIN | TH_ACK, c.seq[CLIENT], c.seq[BROKER], NULL, 0);
	memset(&b, 0, sizeof(b));
	hot(&b, "99");
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT], c.seq[BROKER], b.p, b.n);
	bytes_free(&b);
	rig_accept(&rig, &c, 4);
	assert_string_equal(told(), "82");
	rig_close(&rig);
}

/* A FIN near a stream that is searched is not exact: the stream is read on where it is proven. */
static void fin_in_a_search(void **state)
{
	(void)state;
	for (unsigned off = 0; off < 2; off++) {
		struct bytes b = {0};
		struct peer c;

		open_rig();
		peer_init(&c, false, 1, 1000, 9);
		rig_publish(&rig, &c, CLIENT,
			&(struct mq_publish){
				.version = 4, .qos = 1, .id = 7, .topic = TOPIC, .payload = "99"});
		rig_segment(&rig, &c, CLIENT, TH_FIN | TH_ACK, c.seq[CLIENT] + 999 * off,
			c.seq[BROKER], NULL, 0);
		mq_ack(&b, MQ_PUBACK, 7);
		rig_send_bytes(&rig, &c, BROKER, &b);
		assert_int_equal(rig_count(&rig, BP_C_FLOW_PROVEN), 1);
		rig_publish_text(&rig, &c, TOPIC, "81");
		assert_string_equal(told(), off ? "81" : "");
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behind_client_fin),
		cmocka_unit_test(behind_broker_fin),
		cmocka_unit_test(fin_overtakes),
		cmocka_unit_test(closed_before_connack),
		cmocka_unit_test(fin_in_a_search),
	};

	return cmocka_run_group_tests_name("ends", tests, NULL, NULL);
}
