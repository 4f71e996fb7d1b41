/* SPDX-License-Identifier: BSD-3-Clause */
/* Resynchronisation after a loss: segments that do not count, and restart the count. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include "resync_steps.h"

/* The count restarts, at a push that begins with a packet if `aligned`. */
static void begins_anew(struct peer *c, bool aligned)
{
	pushes(c, aligned ? PUSHES - 1 : PUSHES, "t/x");
	rig_ack(&rig, c, BROKER);
	assert_false(back());
	pushes(c, 1, "t/x");
	rig_ack(&rig, c, BROKER);
	assert_true(back());
	assert_string_equal(told(), "");
	rig_close(&rig);
}

/* A search that has seen all pushes but one. */
static void nearly(struct peer *c)
{
	open_rig();
	start(c, 1);
	lose(c, 333);
	pushes(c, PUSHES, "t/x");
	rig_ack(&rig, c, BROKER);
	assert_false(back());
}

static void broken_by_hole(void **state)
{
	struct peer c;

	(void)state;
	nearly(&c);
	c.seq[CLIENT] += 9;
	begins_anew(&c, false);
}

static void broken_by_repetition(void **state)
{
	struct peer c;

	(void)state;
	nearly(&c);
	c.seq[CLIENT] -= 9;
	publish(&c, "90");
	begins_anew(&c, false);
}

static void broken_by_overlap(void **state)
{
	struct peer c;
	struct bytes b = {0};

	(void)state;
	nearly(&c);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "90"});
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "90"});
	c.seq[CLIENT] -= 9;
	rig_send_bytes(&rig, &c, CLIENT, &b);
	begins_anew(&c, true);
}

static void broken_by_topic(void **state)
{
	struct peer c;

	(void)state;
	nearly(&c);
	publish_on(&c, "t/never", "90");
	begins_anew(&c, true);
}

/* A push that ends inside a packet; the one that ends it does not begin with one. */
static void broken_by_cut_push(void **state)
{
	struct peer c;
	struct bytes b = {0};

	(void)state;
	nearly(&c);
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t/x", .payload = "90"});
	rig_send(&rig, &c, CLIENT, b.p, 7);
	rig_send(&rig, &c, CLIENT, b.p + 7, b.n - 7);
	bytes_free(&b);
	begins_anew(&c, true);
}

static void broken_by_contradiction(void **state)
{
	struct peer c;

	(void)state;
	nearly(&c);
	rig_send(&rig, &c, CLIENT, "\xff\xff", 2);
	begins_anew(&c, false);
}

/* Packets without a topic say too little: they neither count nor break. */
static void others_in_between(void **state)
{
	struct peer c;
	struct bytes b = {0};

	(void)state;
	nearly(&c);
	for (unsigned i = 0; i < 20; i++) {
		mq_empty(&b, MQ_PINGREQ);
		rig_send_bytes(&rig, &c, CLIENT, &b);
		rig_ack(&rig, &c, BROKER);
	}
	assert_false(back());
	pushes(&c, 1, "t/x");
	rig_ack(&rig, &c, BROKER);
	assert_true(back());
	rig_close(&rig);
}

/* The acknowledgement must cover the last push, and no more than was seen, from the true broker. */
static void acknowledgement_must_cover_the_last_push(void **state)
{
	struct peer c;
	uint32_t end;

	(void)state;
	open_rig();
	start(&c, 1);
	lose(&c, 333);
	pushes(&c, 1 + PUSHES, "t/x");
	end = c.seq[CLIENT];
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], end - 1, NULL, 0);
	assert_false(back());
	/* an attacker does not know the broker's position */
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER] + 1, end, NULL, 0);
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER] - 1, end, NULL, 0);
	rig_segment(&rig, &c, BROKER, TH_SYN | TH_ACK, c.seq[BROKER], end, NULL, 0);
	assert_false(back());
	/* bytes went by unseen: anything may have been in them */
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], end + 5, NULL, 0);
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], end, NULL, 0);
	assert_false(back());
	c.seq[CLIENT] += 5;
	begins_anew(&c, false);
}

/* A connection met in the middle has no topics of before; nor has one that published nothing. */
static void empty_tables(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 7, 9);
	for (unsigned i = 0; i < 50; i++) {
		publish(&c, "99");
		rig_ack(&rig, &c, BROKER);
	}
	peer_init(&c, false, 2, 7, 9);
	rig_connect(&rig, &c, 4, "new");
	lose(&c, 100);
	for (unsigned i = 0; i < 50; i++) {
		publish(&c, "99");
		rig_ack(&rig, &c, BROKER);
	}
	assert_false(back());
	assert_string_equal(told(), "");
	rig_close(&rig);
}

/* Topics of an earlier connection of the same addresses are not known. */
static void forgotten_with_the_connection(void **state)
{
	struct peer c;

	(void)state;
	open_rig();
	start(&c, 1);
	rig_fin_both(&rig, &c);
	c.seq[CLIENT] += 100000;
	c.seq[BROKER] += 100000;
	rig_connect(&rig, &c, 4, "again");
	assert_int_equal(rig_count(&rig, BP_C_CONN_REOPENED), 1);
	lose(&c, 100);
	pushes(&c, 20, "t/x");
	rig_ack(&rig, &c, BROKER);
	assert_false(back());
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_by_hole),
		cmocka_unit_test(broken_by_repetition),
		cmocka_unit_test(broken_by_overlap),
		cmocka_unit_test(broken_by_topic),
		cmocka_unit_test(broken_by_cut_push),
		cmocka_unit_test(broken_by_contradiction),
		cmocka_unit_test(others_in_between),
		cmocka_unit_test(acknowledgement_must_cover_the_last_push),
		cmocka_unit_test(empty_tables),
		cmocka_unit_test(forgotten_with_the_connection),
	};

	return cmocka_run_group_tests_name("resync broken", tests, NULL, NULL);
}
