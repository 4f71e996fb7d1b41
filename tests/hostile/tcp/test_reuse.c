/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client ends a connection in a way that its broker does not believe, or connects again from
 * addresses and ports that inspection still holds for another connection; an off-path attacker adds
 * forged segments. The connection that goes on is read again, and until then it is shown as unread.
 */
#include "test.h"

#include <string.h>

#include "dataplane/mqtt/flow_show.h"
#include "stream_steps.h"

#define SECOND 1000000000ull
#define TOPIC "plant/oven0/temperature"

struct shown {
	unsigned flows, unread;
};

static int visit(const struct bp_flow_view *v, void *arg)
{
	struct shown *s = arg;

	s->flows++;
	s->unread += v->unread;
	return 0;
}

static struct shown shown(void)
{
	struct shown s = {0};

	assert_int_equal(
		bp_flow_visit(rig.shm.flows, rig.shm.flows_len, 1, rig.mono_ns, visit, &s), 0);
	return s;
}

static void pass(uint64_t ns)
{
	rig_advance(&rig, ns);
	bp_inspector_tick(rig.in, rig.mono_ns);
}

static void connect_and_publish(struct peer *c)
{
	peer_init(c, false, 1, 100, 900);
	rig_connect(&rig, c, 4, "x");
	rig_publish_text(&rig, c, TOPIC, "20");
	rig_ack(&rig, c, BROKER);
}

/* The next connection of the same addresses and ports: other initial sequence numbers. */
static struct peer again(const struct peer *c)
{
	struct peer d = *c;

	d.seq[CLIENT] = 0x40000000;
	d.seq[BROKER] = 0x90000000;
	return d;
}

static void mqtt_open(struct peer *c)
{
	struct bytes b = {0};

	mq_connect(&b, 4, "x", 0);
	rig_send_bytes(&rig, c, CLIENT, &b);
	rig_accept(&rig, c, 4);
}

static void ping(struct peer *c)
{
	struct bytes b = {0};

	mq_empty(&b, MQ_PINGREQ);
	rig_send_bytes(&rig, c, CLIENT, &b);
	mq_empty(&b, MQ_PINGRESP);
	rig_send_bytes(&rig, c, BROKER, &b);
	rig_ack(&rig, c, CLIENT);
}

/*
 * Half an hour of publications over the threshold, each 5 s, and some pings. From 20 s on each
 * raises, or the connection is shown as unread; in the end all raise.
 */
static void read_or_shown(struct peer *c)
{
	for (unsigned i = 0; i < 360; i++) {
		size_t n;

		pass(5 * SECOND);
		rig_publish_text(&rig, c, TOPIC, "99");
		rig_ack(&rig, c, BROKER);
		n = rig_told_count(&rig);
		if (i >= 4)
			assert_int_equal(n + shown().unread, 1);
		if (i >= 300)
			assert_int_equal(n, 1);
		if (i % 10 == 0)
			ping(c);
	}
}

/* A RST with the exact number that the broker drops, for a reason that biplane does not see. */
static void exact_rst(void **state)
{
	(void)state;
	for (unsigned fast = 0; fast < 2; fast++) {
		struct peer c;

		open_rig();
		rig.fast = fast;
		connect_and_publish(&c);
		rig_segment(&rig, &c, CLIENT, TH_RST, c.seq[CLIENT], 0, NULL, 0);
		assert_int_equal(rig_count(&rig, BP_C_FLOW_RST), 1);
		read_or_shown(&c);
		assert_in_range(rig_count(&rig, BP_C_SEG_CLOSED), 1, 5);
		rig_close(&rig);
	}
}

/* After both FINs the addresses and ports are used again, and the SYN was not seen. */
static void syn_unseen_after_close(void **state)
{
	struct peer c, d;

	(void)state;
	open_rig();
	connect_and_publish(&c);
	rig_fin_both(&rig, &c);
	/* the last connection's SYN-ACK once more is not the next one's */
	rig_segment(&rig, &c, BROKER, TH_SYN | TH_ACK, 900, 101, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_FLOW_REOPENED), 0);
	d = again(&c);
	d.seq[CLIENT]++;
	rig_segment(&rig, &d, BROKER, TH_SYN | TH_ACK, d.seq[BROKER]++, d.seq[CLIENT], NULL, 0);
	rig_ack(&rig, &d, CLIENT);
	mqtt_open(&d);
	rig_publish_text(&rig, &d, TOPIC, "81");
	assert_string_equal(told(), "81");
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_rst),
		cmocka_unit_test(syn_unseen_after_close),
	};

	return cmocka_run_group_tests_name("reuse", tests, NULL, NULL);
}
