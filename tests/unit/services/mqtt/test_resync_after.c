/* SPDX-License-Identifier: BSD-3-Clause */
/* Evaluation after a resynchronisation. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include "resync_steps.h"

/* Topics that are new are evaluated once an answer has proven the stream. */
static void proven_later(void **state)
{
	struct peer c;
	struct bytes b = {0};

	(void)state;
	for (unsigned by_ping = 0; by_ping < 2; by_ping++) {
		open_rig();
		start(&c, 1);
		lose(&c, 333);
		come_back(&c);
		publish_on(&c, "t/new", "91");
		assert_string_equal(told(), "");
		/* an answer to nothing */
		mq_ack(&b, MQ_PUBACK, 7);
		rig_send_bytes(&rig, &c, BROKER, &b);
		publish_on(&c, "t/new", "91");
		assert_string_equal(told(), "");
		if (by_ping) {
			mq_empty(&b, MQ_PINGREQ);
			rig_send_bytes(&rig, &c, CLIENT, &b);
			mq_empty(&b, MQ_PINGRESP);
		} else {
			rig_publish(&rig, &c, CLIENT,
				&(struct mq_publish){.version = 4,
					.qos = 1,
					.id = 7,
					.topic = "t/x",
					.payload = "1"});
			mq_ack(&b, MQ_PUBACK, 7);
		}
		publish_on(&c, "t/new", "92");
		assert_string_equal(told(), "");
		rig_send_bytes(&rig, &c, BROKER, &b);
		assert_int_equal(rig_count(&rig, BP_C_RESYNC_CONFIRMED), 1);
		publish_on(&c, "t/new", "93");
		assert_string_equal(told(), "93");
		/* a contradiction is one now */
		rig_send(&rig, &c, CLIENT, "\x36\xff", 2);
		assert_int_equal(rig_count(&rig, BP_C_NOT_INSPECTED_QOS), 1);
		rig_close(&rig);
	}
}

/*
 * Both directions are evaluated, and one of them was resynchronised by pushes alone: publications
 * of the other one are evaluated with any topic, and add no known topic to the first.
 */
static void other_direction(void **state)
{
	struct mq_publish p = {.version = 4, .topic = "t/x", .payload = "86"};
	struct peer c;

	(void)state;
	open_with(PUSHES, BP_DIRECTIONS_BOTH, false);
	start(&c, 1);
	lose(&c, 333);
	come_back(&c);
	publish_on(&c, "t/new", "91");
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_TOPIC_UNCONFIRMED), 1);
	p.topic = "t/new";
	p.payload = "92";
	rig_publish(&rig, &c, BROKER, &p);
	p.topic = "t/down";
	p.payload = "93";
	rig_publish(&rig, &c, BROKER, &p);
	assert_string_equal(told(), "92 93");
	publish_on(&c, "t/down", "94");
	publish_on(&c, "t/new", "95");
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_TOPIC_UNCONFIRMED), 3);
	/* nor does a judgement of before the contradiction last */
	rig_send(&rig, &c, CLIENT, "\xff\xff", 2);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_REVERTED), 1);
	p.topic = "t/new";
	p.payload = "96";
	rig_publish(&rig, &c, BROKER, &p);
	assert_string_equal(told(), "96");
	rig_close(&rig);
}

/* A reload looks topics up again: topics known before are still known, others are not. */
static void known_topics_survive_a_reload(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	start(&c, 1);
	publish_on(&c, "u/x", "95");
	lose(&c, 333);
	come_back(&c);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("s", "#", BP_COND_GT, 80)}, 1);
	publish(&c, "82");
	publish_on(&c, "u/x", "83");
	publish_on(&c, "u/y", "84");
	assert_string_equal(told(), "82 83");
	rig_close(&rig);
}

/* A packet that segments cut is carried or left by the same rule. */
static void cut_afterwards(void **state)
{
	static const char *const topic[] = {"t/new", "t/x"};
	struct peer c;

	(void)state;
	open_rig();
	start(&c, 1);
	lose(&c, 333);
	come_back(&c);
	for (unsigned i = 0; i < 2; i++) {
		struct bytes b = {0};

		mq_publish(&b,
			&(struct mq_publish){.version = 4, .topic = topic[i], .payload = "81.5"});
		rig_send(&rig, &c, CLIENT, b.p, 8);
		rig_send(&rig, &c, CLIENT, b.p + 8, b.n - 8);
		assert_string_equal(told(), i == 0 ? "" : "81.5");
		bytes_free(&b);
	}
	rig_close(&rig);
}

/* A contradiction found in what waited, and in what was carried, gives all of it back. */
static void refuted_while_queued(void **state)
{
	struct peer c;
	struct bytes b = {0};
	uint32_t at;

	(void)state;
	open_rig();
	start(&c, 1);
	lose(&c, 333);
	come_back(&c);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "82"});
	at = c.seq[CLIENT];
	c.seq[CLIENT] += (uint32_t)b.n;
	rig_send(&rig, &c, CLIENT, "\xff\xff", 2);
	c.seq[CLIENT] += 4;
	publish(&c, "99");
	rig_segment(&rig, &c, CLIENT, TH_ACK, at, c.seq[BROKER], b.p, b.n);
	assert_string_equal(told(), "82");
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_REVERTED), 1);
	come_back(&c);
	rig_send(&rig, &c, CLIENT, "\x30\x90", 2);
	rig_send(&rig, &c, CLIENT, "\x90\x90\x90", 3);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_REVERTED), 2);
	come_back(&c);
	publish(&c, "83");
	assert_string_equal(told(), "83");
	bytes_free(&b);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(proven_later),
		cmocka_unit_test(other_direction),
		cmocka_unit_test(known_topics_survive_a_reload),
		cmocka_unit_test(cut_afterwards),
		cmocka_unit_test(refuted_while_queued),
	};

	return cmocka_run_group_tests_name("resync after", tests, NULL, NULL);
}
