/* SPDX-License-Identifier: BSD-3-Clause */
/* Resynchronisation after a loss: payload bytes and forged segments that must not be taken for
 * packets, and random losses. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdio.h>

#include "resync_steps.h"

/*
 * A payload that is all PUBLISH packets on a known topic, in segments that begin with one each and
 * consist of whole ones. One write, so that its segments are not pushed; or some are, when half of
 * the window is full; or each is, by a small stack that knows no better.
 */
static void one_write(void **state)
{
	struct bytes fake = {0};
	struct peer c;

	(void)state;
	while (fake.n + 9 <= 536)
		mq_publish(
			&fake, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "99"});
	for (unsigned every = 1; every <= 1000; every *= 10) {
		open_rig();
		start(&c, 1);
		/* its head is lost; the payload is seen from its first byte */
		lose(&c, 20);
		for (unsigned i = 1; i <= 200; i++) {
			rig_segment(&rig, &c, CLIENT, i % every == 0 ? TH_ACK | TH_PSH : TH_ACK,
				c.seq[CLIENT], c.seq[BROKER], fake.p, fake.n);
			c.seq[CLIENT] += (uint32_t)fake.n;
			rig_ack(&rig, &c, BROKER);
		}
		/* its end is short, and pushed: it counts, after a push. The guess is now correct
		 */
		rig_send(&rig, &c, CLIENT, fake.p, 27);
		assert_string_equal(told(), "");
		for (unsigned i = every > 200 ? 0 : 1; i < PUSHES; i++) {
			rig_ack(&rig, &c, BROKER);
			assert_false(back());
			pushes(&c, 1, "t/x");
		}
		rig_ack(&rig, &c, BROKER);
		assert_true(back());
		assert_string_equal(told(), "");
		publish(&c, "82");
		assert_string_equal(told(), "82");
		rig_close(&rig);
	}
	bytes_free(&fake);
}

/* Headers and payloads in separate writes: every second push looks like a packet. */
static void header_and_payload_in_separate_segments(void **state)
{
	struct peer c;
	struct bytes b = {0}, fake = {0};
	size_t head;

	(void)state;
	open_rig();
	start(&c, 1);
	mq_publish(&fake, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "99"});
	mq_publish(&b,
		&(struct mq_publish){
			.version = 4, .topic = "t/x", .payload = fake.p, .payload_len = fake.n});
	head = b.n - fake.n;
	lose(&c, 50 + (uint32_t)head);
	rig_send(&rig, &c, CLIENT, fake.p, fake.n);
	for (unsigned i = 0; i < 50; i++) {
		rig_send(&rig, &c, CLIENT, b.p, head);
		rig_ack(&rig, &c, BROKER);
		rig_send(&rig, &c, CLIENT, fake.p, fake.n);
		rig_ack(&rig, &c, BROKER);
	}
	assert_false(back());
	assert_string_equal(told(), "");
	bytes_free(&b);
	bytes_free(&fake);
	rig_close(&rig);
}

/*
 * A known limit: a client writes one payload in pieces with PSH, and the author of the payload has
 * filled it with complete packets, on a topic of this client. Inspection takes the stream as
 * synchronised; it evaluates only a topic that was used before, and the contradiction at the
 * payload's end starts a resynchronisation.
 */
static void pushed_pieces(void **state)
{
	struct peer c;
	struct bytes fake = {0};

	(void)state;
	open_rig();
	start(&c, 1);
	lose(&c, 20);
	pushes(&c, 100, "t/other"); /* not a topic of this client */
	rig_ack(&rig, &c, BROKER);
	assert_false(back());
	pushes(&c, 1 + PUSHES, "t/x");
	rig_ack(&rig, &c, BROKER);
	assert_true(back());
	publish_on(&c, "t/other", "99");
	publish_on(&c, "t/door", "98");
	assert_string_equal(told(), "");
	assert_int_equal(rig_count(&rig, BP_C_TOPIC_UNCONFIRMED), 2);
	mq_publish(&fake, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "97"});
	/* the payload ends inside a fake packet, and the next true packet is inside it too */
	rig_send(&rig, &c, CLIENT, fake.p, 5);
	bytes_free(&fake);
	publish(&c, "78");
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_REVERTED), 1);
	assert_string_equal(told(), "");
	for (unsigned r = BP_C_NOT_INSPECTED_NOT_MQTT; r <= BP_C_NOT_INSPECTED_LAST; r++)
		assert_int_equal(rig_count(&rig, r), 0);
	/* and it comes back once more */
	come_back(&c);
	publish(&c, "82");
	assert_string_equal(told(), "82");
	rig_close(&rig);
}

/*
 * An attacker who knows the addresses sends segments of its own, somewhere ahead of the stream: the
 * broker drops them, and must never be taken to have acknowledged them.
 */
static void injected_segments_are_not_acknowledged(void **state)
{
	struct peer c, attacker;

	(void)state;
	open_rig();
	for (uint32_t ahead = 1; ahead < 400; ahead += 7) {
		start(&c, ahead);
		lose(&c, 20);
		attacker = c;
		attacker.seq[CLIENT] += ahead;
		pushes(&attacker, 1 + PUSHES, "t/x");
		/* the true stream continues, past the attacker's */
		for (unsigned i = 0; i < 60; i++) {
			rig_publish_text(&rig, &c, "q", "1");
			rig_ack(&rig, &c, BROKER);
			if (i % 3 == 0)
				publish(&attacker, "99");
		}
		assert_false(back());
		assert_string_equal(told(), "");
	}
	rig_close(&rig);
}

/* The next write of the client: a measurement, or a payload with fake packets. */
static void next_write(struct bytes *b, uint64_t *s, unsigned *value)
{
	struct bytes fake = {0};
	char text[16];

	snprintf(text, sizeof(text), "%u", 100 + (*value)++);
	if (test_below(s, 4) != 0) {
		mq_publish(b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = text});
		return;
	}
	for (unsigned n = 1 + test_below(s, 60); n != 0; n--)
		mq_publish(&fake,
			&(struct mq_publish){.version = 4, .topic = "t/x", .payload = "1000000"});
	mq_publish(b,
		&(struct mq_publish){
			.version = 4, .topic = "t/file", .payload = fake.p, .payload_len = fake.n});
	bytes_free(&fake);
}

/* Segments of a write pass by or are lost, in MSS-long pieces of which the last one is pushed. The
 * fake packets are 14 bytes, so that many segments consist of whole ones. */
static void lost_segments_give_no_false_alarm(void **state)
{
	uint64_t s = 11, told_in_all = 0;
	unsigned resyncs;

	(void)state;
	open_rig();
	for (unsigned round = 0; round < 60; round++) {
		uint32_t mss = round & 1 ? 14 * (1 + test_below(&s, 8)) : 20 + test_below(&s, 100);
		unsigned value = 0;
		struct peer c;

		start(&c, 1 + round);
		publish_on(&c, "t/file", "none");
		for (unsigned i = 0; i < 300; i++) {
			struct bytes b = {0};
			uint32_t n;

			next_write(&b, &s, &value);
			for (size_t at = 0; at < b.n; at += n) {
				bool last = b.n - at <= mss;

				n = last ? (uint32_t)(b.n - at) : mss;
				if (test_below(&s, 100) >= 3)
					rig_segment(&rig, &c, CLIENT,
						last ? TH_ACK | TH_PSH : TH_ACK, c.seq[CLIENT],
						c.seq[BROKER], b.p + at, n);
				c.seq[CLIENT] += n;
				if (test_below(&s, 2) == 0)
					rig_ack(&rig, &c, BROKER);
			}
			bytes_free(&b);
		}
		for (struct told_list l = rig_told(&rig);; l = rig_told(&rig)) {
			size_t n = l.n;

			for (size_t i = 0; i < n; i++) {
				assert_true(l.a[i].value < 1000);
				assert_string_equal(l.a[i].topic, "t/x");
			}
			told_in_all += n;
			told_free(&l);
			if (n == 0)
				break;
		}
	}
	resyncs = (unsigned)rig_count(&rig, BP_C_RESYNC_UNCONFIRMED);
	/* most connections came back, more than once each; none of it was wrong */
	assert_true(resyncs > 60);
	assert_true(told_in_all > 60 * 300 / 4);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_REVERTED), 0);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_write),
		cmocka_unit_test(header_and_payload_in_separate_segments),
		cmocka_unit_test(pushed_pieces),
		cmocka_unit_test(injected_segments_are_not_acknowledged),
		cmocka_unit_test(lost_segments_give_no_false_alarm),
	};

	return cmocka_run_group_tests_name("resync hostile", tests, NULL, NULL);
}
