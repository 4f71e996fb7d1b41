/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An attacker who knows the addresses and ports of a connection, but not its position, sends forged
 * segments: their effect on inspection, and that it is temporary.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include "rig.h"

#define PUSHES 4

static struct rig rig;

static const char *told(void)
{
	return rig_told_values(&rig);
}

static void publish(struct peer *c, const char *value)
{
	rig_publish_text(&rig, c, "t/x", value);
}

/* A connection that published, and then lost bytes: it is searched. */
static void searched(struct peer *c, uint32_t number)
{
	peer_init(c, false, number, 0xfffffd00u, 0xffffff00u);
	rig_connect(&rig, c, 4, "stranger");
	publish(c, "81");
	assert_string_equal(told(), "81");
	rig_ack(&rig, c, BROKER);
	c->seq[CLIENT] += 333;
	rig_ack_all(&rig, c, CLIENT);
}

/* The true stream continues: it is read again when it wrote so often. */
static void comes_back(struct peer *c, unsigned pushes)
{
	for (unsigned i = 0; i < pushes; i++) {
		publish(c, "90");
		rig_ack(&rig, c, BROKER);
	}
	assert_string_equal(told(), "");
	publish(c, "91");
	assert_string_equal(told(), "91");
}

static void open_rig(void)
{
	rig_defaults(&rig);
	rig.mqtt.resync_packets = PUSHES;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
}

static const uint32_t far[] = {
	0x20000, 0x100000, 0x3fffff00, 0x40000000, 0x7ffff000, 0x80001000, 0xc0000000, 0xfff00000};

/* A segment of the client's, far from where the stream is. */
static void segment_on_another_worker(void **state)
{
	struct peer c;

	(void)state;
	for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
		open_rig();
		searched(&c, 1);
		publish(&c, "90");
		rig_segment(&rig, &c, CLIENT, TH_ACK | TH_PSH, c.seq[CLIENT] + far[i],
			c.seq[BROKER], "\x30\x03\x00\x01t", 5);
		/* from ahead, the first true one must lead the search back */
		comes_back(&c, (far[i] >> 31 ? 1 : 2) + PUSHES);
		rig_close(&rig);
	}
}

/*
 * A search returns to the current position of the real stream, never to an earlier one: the next
 * answer of the broker would seem to confirm a forged request there.
 */
static void off_path_segment_does_not_rewind(void **state)
{
	struct peer c, attacker;
	struct bytes b = {0};

	(void)state;
	for (uint32_t back = 12; back < 0x70000000; back *= 3) {
		open_rig();
		searched(&c, 1);
		publish(&c, "90");
		rig_ack(&rig, &c, BROKER);
		attacker = c;
		attacker.seq[CLIENT] -= back;
		for (unsigned i = 0; i < 3; i++) {
			mq_empty(&b, MQ_PINGREQ);
			rig_send_bytes(&rig, &attacker, CLIENT, &b);
			publish(&attacker, "99");
			rig_ack(&rig, &c, BROKER);
		}
		mq_empty(&b, MQ_PINGRESP);
		rig_send_bytes(&rig, &c, BROKER, &b);
		for (unsigned i = 0; i < 2 * PUSHES; i++) {
			publish(&attacker, "99");
			rig_ack(&rig, &c, BROKER);
		}
		assert_string_equal(told(), "");
		assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 0);
		rig_close(&rig);
	}
}

/*
 * Nor does it begin there: where biplane meets a connection in the middle, the first segment may be
 * an attacker's. The broker's answer to the true client is to a question that biplane has not seen,
 * for it acknowledges more.
 */
static void begun_behind(void **state)
{
	struct peer c, attacker;
	struct bytes b = {0};

	(void)state;
	for (uint32_t back = 3; back < 0x70000000; back *= 3) {
		open_rig();
		peer_init(&c, false, 1, 0x50000000, 9);
		attacker = c;
		attacker.seq[CLIENT] -= back + 11;
		publish(&attacker, "99");
		mq_empty(&b, MQ_PINGREQ);
		rig_send_bytes(&rig, &attacker, CLIENT, &b);
		mq_empty(&b, MQ_PINGRESP);
		rig_send_bytes(&rig, &c, BROKER, &b);
		publish(&attacker, "99");
		assert_string_equal(told(), "");
		assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 0);
		/* the true client's question is answered, too */
		publish(&c, "90");
		for (unsigned i = 0; i < 2; i++) {
			rig_advance(&rig, 20000000000ull);
			mq_empty(&b, MQ_PINGREQ);
			rig_send_bytes(&rig, &c, CLIENT, &b);
			mq_empty(&b, MQ_PINGRESP);
			rig_send_bytes(&rig, &c, BROKER, &b);
		}
		publish(&c, "91");
		assert_string_equal(told(), "91");
		rig_close(&rig);
	}
}

/*
 * A forged position ahead of the real stream is not confirmed when the stream reaches it: the
 * segments between were of another stream.
 */
static void begun_ahead(void **state)
{
	struct peer c, attacker;
	struct bytes b = {0};

	(void)state;
	for (unsigned first = 0; first < 2; first++) { /* the order of arrival */
		open_rig();
		peer_init(&c, false, 1, 0x50000000, 9);
		attacker = c;
		attacker.seq[CLIENT] += 500;
		if (first)
			publish(&c, "90");
		mq_empty(&b, MQ_PINGREQ);
		rig_send_bytes(&rig, &attacker, CLIENT, &b);
		for (unsigned i = 0; i < 200; i++)
			publish(&attacker, "99");
		while ((int32_t)(attacker.seq[CLIENT] - c.seq[CLIENT]) > 1000)
			publish(&c, "90");
		mq_empty(&b, MQ_PINGREQ);
		rig_send_bytes(&rig, &c, CLIENT, &b);
		mq_empty(&b, MQ_PINGRESP);
		rig_send_bytes(&rig, &c, BROKER, &b);
		publish(&attacker, "99");
		assert_string_equal(told(), "");
		assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 0);
		rig_close(&rig);
	}
}

/* Packets in flight at the same time; acknowledged one by one, and with an answer, or not at all.
 */
static void window(struct peer *c, bool ping, struct peer *broker)
{
	struct bytes b = {0};

	for (unsigned i = 0; i < 10; i++) {
		if (ping && i == 1) {
			mq_empty(&b, MQ_PINGREQ);
			rig_send_bytes(&rig, c, CLIENT, &b);
		} else {
			publish(c, i < 9 ? "84" : "89");
		}
		if (broker == NULL)
			continue;
		broker->seq[CLIENT] = c->seq[CLIENT];
		if (ping && i == 1) {
			mq_empty(&b, MQ_PINGRESP);
			rig_send_bytes(&rig, broker, BROKER, &b);
		} else {
			rig_ack(&rig, broker, BROKER);
		}
	}
}

/*
 * An acknowledgement of what was never sent does not lead a stream in step ahead, and what is sent
 * again, as the receiver has not got it, raises no second alarm.
 */
static void evaluated_once(void **state)
{
	struct peer c, again;

	(void)state;
	for (unsigned ping = 0; ping < 2; ping++) {
		open_rig();
		searched(&c, 1);
		comes_back(&c, 1 + PUSHES);
		rig_ack(&rig, &c, BROKER);
		again = c;
		window(&c, ping, NULL);
		assert_int_equal(rig_told_count(&rig), 10 - ping);
		rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER] + 12345,
			c.seq[CLIENT] + 0x20000, NULL, 0);
		assert_int_equal(rig_count(&rig, BP_C_SEG_ACK_INVALID), 1);
		/* none of them had reached the broker */
		window(&again, ping, &c);
		assert_string_equal(told(), "");
		assert_int_equal(again.seq[CLIENT], c.seq[CLIENT]);
		publish(&c, "91");
		assert_string_equal(told(), "91");
		assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 1);
		rig_close(&rig);
	}
}

/* An acknowledgement of bytes that were never sent has no effect, at any distance: the client does
 * not continue from there. */
static void unexpected_acknowledgement_is_ignored(void **state)
{
	struct peer c;

	(void)state;
	for (uint32_t ahead = 1; ahead <= 0x40000000; ahead *= 2) {
		open_rig();
		searched(&c, 1);
		comes_back(&c, 1 + PUSHES);
		for (unsigned exact = 0; exact < 2; exact++)
			rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER] + (exact ? 0 : 12345),
				c.seq[CLIENT] + ahead, NULL, 0);
		assert_int_equal(rig_count(&rig, BP_C_SEG_ACK_UNSEEN) +
					 rig_count(&rig, BP_C_SEG_ACK_INVALID),
			3); /* the loss itself was a claim */
		for (unsigned i = 0; i < 20; i++) {
			publish(&c, "91");
			assert_string_equal(told(), "91");
		}
		assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 1);
		rig_close(&rig);
	}
}

/* While it is searched, a stream ends near where it is, or not at all. */
static void end_on_another_worker(void **state)
{
	struct peer c;

	(void)state;
	for (size_t i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
		open_rig();
		searched(&c, 1);
		publish(&c, "90");
		rig_segment(&rig, &c, CLIENT, TH_RST, c.seq[CLIENT] + far[i], 0, NULL, 0);
		assert_int_equal(rig_count(&rig, BP_C_CONN_RST_IGNORED), 1);
		comes_back(&c, PUSHES);
		/* its true end is believed: bytes before it may have gone by unseen */
		c.seq[CLIENT] += 500;
		rig_ack_all(&rig, &c, CLIENT);
		c.seq[CLIENT] += 700;
		rig_segment(&rig, &c, CLIENT, TH_RST, c.seq[CLIENT], 0, NULL, 0);
		assert_int_equal(rig_count(&rig, BP_C_CONN_RST), 1);
		rig_close(&rig);
	}
}

static void fin(struct peer *c, unsigned from, uint32_t at)
{
	rig_segment(&rig, c, from, TH_FIN | TH_ACK, at, c->seq[!from], NULL, 0);
}

/* The same of a FIN, whether it comes before the search or while that lasts. */
static void fin_on_another_worker(void **state)
{
	struct peer c;

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(far) / sizeof(far[0]); i++) {
		const uint32_t at = far[i / 2];

		open_rig();
		searched(&c, 1);
		if (i & 1) {
			comes_back(&c, 1 + PUSHES);
			fin(&c, CLIENT, c.seq[CLIENT] + at);
			c.seq[CLIENT] += 333;
			rig_ack(&rig, &c, BROKER);
		} else {
			publish(&c, "90");
			fin(&c, CLIENT, c.seq[CLIENT] + at);
		}
		publish(&c, "90");
		fin(&c, BROKER, c.seq[BROKER]);
		assert_int_equal(rig_count(&rig, BP_C_CONN_FIN), 0);
		c.seq[CLIENT] += 700;
		fin(&c, CLIENT, c.seq[CLIENT]);
		assert_int_equal(rig_count(&rig, BP_C_CONN_FIN), 1);
		rig_close(&rig);
	}
}

/* Segments beyond the window of the real stream are not buffered: an attacker can use neither the
 * memory nor the space for a real hole. */
static void far_ahead(void **state)
{
	static const char junk[1200];
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig();
	searched(&c, 1);
	comes_back(&c, 1 + PUSHES);
	for (uint32_t i = 0; i < 100; i++)
		rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] + 100000 + i * 10000000,
			c.seq[BROKER], junk, sizeof(junk));
	assert_int_equal(rig_count(&rig, BP_C_SEG_OUT_OF_ORDER), 0);
	assert_int_equal(rig_count(&rig, BP_C_SEG_OUT_OF_WINDOW), 100);
	assert_in_range(bp_mqtt_worker_carried(rig.in), 0, 1024);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "92"});
	rig_segment(&rig, &c, CLIENT, TH_ACK, c.seq[CLIENT] + 9, c.seq[BROKER], b.p, b.n);
	publish(&c, "91");
	assert_string_equal(told(), "91 92");
	bytes_free(&b);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segment_on_another_worker),
		cmocka_unit_test(off_path_segment_does_not_rewind),
		cmocka_unit_test(begun_behind),
		cmocka_unit_test(begun_ahead),
		cmocka_unit_test(evaluated_once),
		cmocka_unit_test(unexpected_acknowledgement_is_ignored),
		cmocka_unit_test(end_on_another_worker),
		cmocka_unit_test(fin_on_another_worker),
		cmocka_unit_test(far_ahead),
	};

	return cmocka_run_group_tests_name("off_path", tests, NULL, NULL);
}
