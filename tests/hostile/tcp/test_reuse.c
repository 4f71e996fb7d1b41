/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client ends a connection in a way that its broker does not believe, or connects again from
 * addresses and ports that inspection still holds for another connection; an off-path attacker adds
 * forged segments. The connection that continues is read again, and until then it is shown as
 * unread.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <string.h>

#include "services/mqtt/flow_show.h"
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
	bp_mqtt_worker_tick(rig.in, rig.mono_ns);
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
		rig.bursts = fast;
		connect_and_publish(&c);
		rig_segment(&rig, &c, CLIENT, TH_RST, c.seq[CLIENT], 0, NULL, 0);
		assert_int_equal(rig_count(&rig, BP_C_CONN_RST), 1);
		read_or_shown(&c);
		assert_in_range(rig_count(&rig, BP_C_SEG_AFTER_CLOSE), 1, 5);
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
	assert_int_equal(rig_count(&rig, BP_C_CONN_REOPENED), 0);
	d = again(&c);
	d.seq[CLIENT]++;
	rig_segment(&rig, &d, BROKER, TH_SYN | TH_ACK, d.seq[BROKER]++, d.seq[CLIENT], NULL, 0);
	rig_ack(&rig, &d, CLIENT);
	mqtt_open(&d);
	rig_publish_text(&rig, &d, TOPIC, "81");
	assert_string_equal(told(), "81");
	rig_close(&rig);
}

/* A device that starts again uses the same port and initial sequence number. */
static void same_initial_number(void **state)
{
	(void)state;
	for (unsigned fast = 0; fast < 2; fast++) {
		struct peer c, d;

		open_rig();
		rig.bursts = fast;
		connect_and_publish(&c);
		/* the handshake once more, by a path that repeats, is not another one */
		rig_segment(&rig, &c, CLIENT, TH_SYN, 100, 0, NULL, 0);
		rig_segment(&rig, &c, BROKER, TH_SYN | TH_ACK, 900, 101, NULL, 0);
		assert_int_equal(rig_count(&rig, BP_C_CONN_REOPENED), 0);
		rig_publish_text(&rig, &c, TOPIC, "81");
		assert_string_equal(told(), "81");
		d = c;
		d.seq[CLIENT] = 100;
		d.seq[BROKER] = 777777;
		rig_handshake(&rig, &d);
		mqtt_open(&d);
		assert_int_equal(rig_count(&rig, BP_C_CONN_REOPENED), 1);
		rig_publish_text(&rig, &d, TOPIC, "82");
		assert_string_equal(told(), "82");
		rig_close(&rig);
	}
}

enum begins { FORGED_SYN, NO_SYN, NO_SYN_ACK, FAST_OPEN, BEGINNINGS };

/* A client connects again while its last connection is held, and inspection does not see it all. */
static void held_connection(void **state)
{
	(void)state;
	for (unsigned how = 0; how < BEGINNINGS; how++) {
		struct bytes b = {0};
		struct peer c, d;

		open_rig();
		rig.bursts = how & 1;
		connect_and_publish(&c);
		d = again(&c);
		if (how == FAST_OPEN)
			mq_connect(&b, 4, "x", 0);
		if (how != NO_SYN)
			rig_segment(&rig, &d, CLIENT, TH_SYN, d.seq[CLIENT], 0, b.p, b.n);
		d.seq[CLIENT] += 1 + (uint32_t)b.n;
		if (how == FORGED_SYN)
			rig_segment(&rig, &d, CLIENT, TH_SYN, 0x12345678, 0, NULL, 0);
		if (how != NO_SYN_ACK)
			rig_segment(&rig, &d, BROKER, TH_SYN | TH_ACK, d.seq[BROKER], d.seq[CLIENT],
				NULL, 0);
		d.seq[BROKER]++;
		rig_ack(&rig, &d, CLIENT);
		if (how == FAST_OPEN)
			rig_accept(&rig, &d, 4);
		else
			mqtt_open(&d);
		bytes_free(&b);
		assert_int_equal(
			rig_count(&rig, BP_C_CONN_SYN_UNCONFIRMED), how == FORGED_SYN ? 3 : 1);
		read_or_shown(&d);
		rig_close(&rig);
	}
}

static unsigned faults(uint64_t limit_ns)
{
	struct bp_unread_scan s = {0};

	for (unsigned i = 0; i < 5000; i++)
		bp_unread_scan(&s, rig.shm.flows, rig.shm.flows_len, rig.mono_ns, limit_ns, 4096);
	return s.last.connections;
}

/* Segments that do not fit are a fault when they last, and no longer than until one fits. */
static void reused_uninspected_connection_is_a_fault(void **state)
{
	struct peer c, d;

	(void)state;
	open_rig();
	connect_and_publish(&c);
	d = again(&c);
	for (unsigned i = 0; i < 4; i++) {
		pass(11 * SECOND);
		rig_publish_text(&rig, &d, TOPIC, "99");
		assert_int_equal(shown().unread, 1);
		assert_int_equal(faults(20 * SECOND), i >= 2);
	}
	rig_publish_text(&rig, &c, TOPIC, "81");
	assert_int_equal(shown().unread, 0);
	assert_int_equal(faults(20 * SECOND), 0);
	assert_string_equal(told(), "81");
	rig_close(&rig);
}

/* An attacker's frames with any numbers do not keep a connection that is dead. */
static void unproven_connections_hold_no_memory(void **state)
{
	static const uint8_t flags[] = {
		0, TH_ACK, TH_SYN, TH_RST, TH_ACK | TH_FIN, TH_SYN | TH_ACK};

	(void)state;
	for (unsigned k = 0; k < 2 * sizeof(flags); k++) {
		struct peer c;

		open_rig();
		connect_and_publish(&c);
		for (unsigned i = 0; i < 20; i++) {
			pass(4 * SECOND);
			rig_segment(
				&rig, &c, k & 1, flags[k / 2], 0x77777777, 0x55555555, "x", i & 1);
		}
		assert_int_equal(rig_count(&rig, BP_C_CONN_EXPIRED), 1);
		rig_close(&rig);
	}
}

/* A SYN or SYN-ACK with MSS 1460 and this window scale. */
static void syn_with_options(struct peer *c, unsigned from, uint8_t scale)
{
	const uint8_t options[] = {2, 4, 0x05, 0xb4, 1, 3, 3, scale};
	const size_t len =
		peer_frame(c, from, from == CLIENT ? TH_SYN : TH_SYN | TH_ACK, c->seq[from],
			from == CLIENT ? 0 : c->seq[CLIENT], options, sizeof(options), rig.frame);

	rig.frame[peer_l4(c) + 12] = (20 + sizeof(options)) / 4 << 4;
	peer_checksums(c, rig.frame, len);
	rig_frame(&rig, rig.frame, len);
	c->seq[from]++;
}

/* How far from the right one, as a power of two, an acknowledgement is believed. */
static uint32_t believed(const struct peer *c, uint32_t sign)
{
	uint32_t furthest = 0;

	for (uint32_t d = 1; d <= 0x40000000; d *= 2) {
		const uint64_t before = rig_count(&rig, BP_C_SEG_ACK_INVALID);

		rig_segment(&rig, c, CLIENT, TH_ACK, c->seq[CLIENT] + 40000,
			c->seq[BROKER] + sign * d, "x", 1);
		if (rig_count(&rig, BP_C_SEG_ACK_INVALID) == before)
			furthest = d;
	}
	return furthest;
}

/* A forged segment before the connection begins does not widen the windows of that. */
static void windows_stay(void **state)
{
	uint32_t ahead[2], behind[2];

	(void)state;
	for (unsigned forged = 0; forged < 2; forged++) {
		struct peer c;

		open_rig();
		peer_init(&c, false, 1, 100, 900);
		if (forged)
			rig_segment(&rig, &c, CLIENT, TH_ACK, 1, 1, "x", 1);
		syn_with_options(&c, CLIENT, 2);
		syn_with_options(&c, BROKER, 7);
		rig_ack(&rig, &c, CLIENT);
		mqtt_open(&c);
		assert_int_equal(rig_count(&rig, BP_C_CONN_ESTABLISHED), 1);
		ahead[forged] = believed(&c, 1);
		behind[forged] = believed(&c, UINT32_MAX);
		rig_close(&rig);
	}
	assert_int_equal(ahead[0], ahead[1]);
	assert_int_equal(behind[0], behind[1]);
	assert_true(ahead[0] < 1 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_rst),
		cmocka_unit_test(syn_unseen_after_close),
		cmocka_unit_test(same_initial_number),
		cmocka_unit_test(held_connection),
		cmocka_unit_test(reused_uninspected_connection_is_a_fault),
		cmocka_unit_test(unproven_connections_hold_no_memory),
		cmocka_unit_test(windows_stay),
	};

	return cmocka_run_group_tests_name("reuse", tests, NULL, NULL);
}
