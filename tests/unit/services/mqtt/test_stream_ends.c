/* SPDX-License-Identifier: BSD-3-Clause */
/* Start and end of connections, and the fields that identify them. */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <string.h>

#include "stream_steps.h"

/* TCP Fast Open: data comes with the SYN, is taken by the broker or not, is sent again. */
static void data_in_syn(void **state)
{
	(void)state;
	open_rig();
	for (unsigned taken = 0; taken < 3; taken++) {
		struct peer c;
		struct bytes b = {0};
		uint32_t isn = 0xfffffff0u;

		peer_init(&c, false, 10 + taken, isn, 77);
		mq_connect(&b, 4, "fast", 0);
		hot(&b, "81");
		rig_segment(&rig, &c, CLIENT, TH_SYN, isn, 0, b.p, b.n);
		if (taken == 2) /* not answered: the SYN again, alone */
			rig_segment(&rig, &c, CLIENT, TH_SYN, isn, 0, NULL, 0);
		c.seq[CLIENT] = isn + 1 + (taken == 0 ? (uint32_t)b.n : 0);
		rig_segment(&rig, &c, BROKER, TH_SYN | TH_ACK, 77, c.seq[CLIENT], NULL, 0);
		c.seq[BROKER] = 78;
		rig_ack(&rig, &c, CLIENT);
		if (taken != 0)
			rig_send(&rig, &c, CLIENT, b.p, b.n);
		b.n = 0;
		mq_connack(&b, 4, 0, 0, NULL);
		rig_send_bytes(&rig, &c, BROKER, &b);
		hot(&b, "82");
		rig_send_bytes(&rig, &c, CLIENT, &b);
		assert_string_equal(told(), "81 82");
		close_at_end(&c);
	}
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 0);
	assert_int_equal(rig_count(&rig, BP_C_CONN_REOPENED), 0);
	rig_close(&rig);
}

/* A FIN is processed in sequence or waits; data after the close is not read. */
static void fin_closes_in_sequence(void **state)
{
	struct peer c;
	struct bytes b;
	size_t one;

	(void)state;
	open_rig();
	begin(&c, 1, &b);
	one = b.n / 3;
	/* FIN with the last data, ahead of the data before it */
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT] + (uint32_t)one, c.seq[BROKER],
		b.p + one, 2 * one);
	assert_string_equal(told(), "");
	piece(&c, &b, 0, one);
	assert_string_equal(told(), "81 82 83");
	assert_int_equal(rig_count(&rig, BP_C_CONN_FIN), 0);
	rig_segment(&rig, &c, BROKER, TH_ACK | TH_FIN, c.seq[BROKER], c.seq[CLIENT], NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_CONN_FIN), 1);
	assert_int_equal(bp_mqtt_worker_carried(rig.in), 0);
	/* the acknowledgement of a FIN is no lost byte */
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER] + 1, c.seq[CLIENT] + (uint32_t)b.n + 1,
		NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_GAP_LOST), 0);
	piece(&c, &b, 0, b.n);
	assert_string_equal(told(), "");
	bytes_free(&b);
	/* half closed: the broker's direction is still followed, and FINs come again */
	begin(&c, 2, &b);
	piece(&c, &b, 0, one);
	c.seq[CLIENT] += (uint32_t)one;
	for (unsigned i = 0; i < 3; i++)
		rig_segment(
			&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT], c.seq[BROKER], NULL, 0);
	rig_segment(&rig, &c, BROKER, TH_ACK, c.seq[BROKER], c.seq[CLIENT] + 1, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_GAP_LOST), 0);
	assert_int_equal(rig_count(&rig, BP_C_CONN_FIN), 1);
	bytes_free(&b);
	mq_empty(&b, MQ_PINGRESP);
	rig_send_bytes(&rig, &c, BROKER, &b);
	rig_segment(&rig, &c, BROKER, TH_ACK | TH_FIN, c.seq[BROKER], c.seq[CLIENT] + 1, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_CONN_FIN), 2);
	assert_string_equal(told(), "81");
	rig_close(&rig);
}

/* A FIN from far behind or far ahead changes nothing for the stream. */
static void unexpected_fin(void **state)
{
	struct peer c;
	struct bytes b;
	size_t one;

	(void)state;
	open_rig();
	begin(&c, 1, &b);
	one = b.n / 3;
	piece(&c, &b, 0, one);
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT], c.seq[BROKER], NULL, 0);
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT] - 100, c.seq[BROKER], NULL, 0);
	rig_segment(
		&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT] + 9999, c.seq[BROKER], NULL, 0);
	piece(&c, &b, one, b.n);
	assert_string_equal(told(), "81 82 83");
	rig_segment(&rig, &c, BROKER, TH_ACK | TH_FIN, c.seq[BROKER], c.seq[CLIENT], NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_CONN_FIN), 0);
	c.seq[CLIENT] += (uint32_t)b.n;
	rig_segment(&rig, &c, CLIENT, TH_ACK | TH_FIN, c.seq[CLIENT], c.seq[BROKER], NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_CONN_FIN), 1);
	bytes_free(&b);
	rig_close(&rig);
}

static void rst_needs_the_exact_sequence_number(void **state)
{
	struct peer c;
	struct bytes b;

	(void)state;
	open_rig();
	/* not at the next number, be it by one: the receiver ignores it too (RFC 5961) */
	begin(&c, 1, &b);
	rig_segment(&rig, &c, CLIENT, TH_RST, c.seq[CLIENT] - 1, 0, NULL, 0);
	rig_segment(&rig, &c, CLIENT, TH_RST, c.seq[CLIENT] + 1, 0, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_CONN_RST_IGNORED), 2);
	piece(&c, &b, 0, b.n);
	assert_string_equal(told(), "81 82 83");
	/* the right one */
	c.seq[CLIENT] += (uint32_t)b.n;
	rig_segment(&rig, &c, CLIENT, TH_RST, c.seq[CLIENT], 0, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_CONN_RST), 1);
	assert_int_equal(bp_mqtt_worker_carried(rig.in), 0);
	piece(&c, &b, 0, b.n);
	assert_string_equal(told(), "");
	bytes_free(&b);
	/* a refused SYN: number 0, the ACK fits */
	peer_init(&c, false, 2, 500, 0);
	rig_segment(&rig, &c, CLIENT, TH_SYN, 500, 0, NULL, 0);
	rig_segment(&rig, &c, BROKER, TH_RST | TH_ACK, 0, 77, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_CONN_RST), 1);
	rig_segment(&rig, &c, BROKER, TH_RST | TH_ACK, 0, 501, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_CONN_RST), 2);
	/* the same ports again at once */
	peer_init(&c, false, 2, 9000, 1);
	rig_connect(&rig, &c, 4, "again");
	rig_publish_text(&rig, &c, "plant/a/temperature", "99");
	assert_string_equal(told(), "99");
	assert_int_equal(rig_count(&rig, BP_C_CONN_REOPENED), 1);
	rig_close(&rig);
}

/* A second SYN on a living connection counts only with the broker's answer. */
static void syn_again(void **state)
{
	struct peer c, fresh;
	struct bytes b;

	(void)state;
	open_rig();
	begin(&c, 1, &b);
	rig_segment(&rig, &c, CLIENT, TH_SYN, 0x12345678, 0, NULL, 0);
	rig_segment(&rig, &c, CLIENT, TH_SYN | TH_ACK, 0x12345678, 0x12345679, NULL, 0);
	rig_segment(&rig, &c, BROKER, TH_SYN | TH_ACK, 7, 0x999, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_CONN_REOPENED), 0);
	piece(&c, &b, 0, b.n / 3);
	assert_string_equal(told(), "81");
	/* now in earnest: the client has lost its memory, the broker agrees */
	peer_init(&fresh, false, 1, 0x87654321, 0xabcdef01);
	rig_connect(&rig, &fresh, 5, "reborn");
	assert_int_equal(rig_count(&rig, BP_C_CONN_REOPENED), 1);
	rig_publish(&rig, &fresh, CLIENT,
		&(struct mq_publish){
			.version = 5, .topic = "plant/b/temperature", .payload = "85"});
	assert_string_equal(told(), "85");
	bytes_free(&b);
	/* a SYN that is sent again before the broker answers is the same connection */
	peer_init(&c, false, 2, 100, 200);
	for (unsigned i = 0; i < 3; i++)
		rig_segment(&rig, &c, CLIENT, TH_SYN, 100, 0, NULL, 0);
	assert_int_equal(rig_count(&rig, BP_C_CONN_REOPENED), 1);
	/* without its SYN: known from the answer */
	peer_init(&c, false, 3, 100, 200);
	c.seq[CLIENT]++;
	rig_segment(&rig, &c, BROKER, TH_SYN | TH_ACK, c.seq[BROKER]++, c.seq[CLIENT], NULL, 0);
	memset(&b, 0, sizeof(b));
	mq_connect(&b, 4, "half", 0);
	hot(&b, "86");
	rig_send_bytes(&rig, &c, CLIENT, &b);
	rig_accept(&rig, &c, 4);
	assert_string_equal(told(), "86");
	rig_close(&rig);
}

/* VLAN identifiers and address families distinguish connections. */
static void connections_differ_by_vlan_and_family(void **state)
{
	struct peer c[4];

	(void)state;
	open_rig();
	for (unsigned i = 0; i < 4; i++) {
		peer_init(&c[i], i == 3, 1, 1000 * i, 5);
		c[i].n_vlan = i % 3;
		c[i].vlan[0] = 10;
		c[i].vlan[1] = 20;
		rig_connect(&rig, &c[i], 4, "same");
	}
	assert_int_equal(bp_mqtt_worker_flows(rig.in), 4);
	for (unsigned i = 0; i < 4; i++)
		rig_publish_text(&rig, &c[i], "plant/x/temperature", "91");
	assert_string_equal(told(), "91 91 91 91");
	rig_close(&rig);
}

static void only_its_ports(void **state)
{
	struct peer c;
	bool to_broker;

	(void)state;
	rig_defaults(&rig);
	rig.mqtt.n_tcp_ports = 2;
	rig.mqtt.tcp_ports[1] = 11883;
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "#", BP_COND_GT, 80)}, 1);
	peer_init(&c, false, 1, 1, 1);
	c.broker_port = 8883;
	rig_connect(&rig, &c, 4, "no");
	assert_int_equal(rig_count(&rig, BP_C_SEG_INSPECTED), 0);
	c.broker_port = 11883;
	peer_init(&c, false, 1, 1, 1);
	c.broker_port = 11883;
	rig_connect(&rig, &c, 4, "yes");
	rig_publish_text(&rig, &c, "t", "81");
	assert_string_equal(told(), "81");
	assert_true(bp_mqtt_worker_inspects(rig.in, 50000, 1883, &to_broker));
	assert_true(to_broker);
	assert_true(bp_mqtt_worker_inspects(rig.in, 1883, 50000, &to_broker));
	assert_false(to_broker);
	assert_false(bp_mqtt_worker_inspects(rig.in, 1884, 50000, &to_broker));
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_in_syn),
		cmocka_unit_test(fin_closes_in_sequence),
		cmocka_unit_test(unexpected_fin),
		cmocka_unit_test(rst_needs_the_exact_sequence_number),
		cmocka_unit_test(syn_again),
		cmocka_unit_test(connections_differ_by_vlan_and_family),
		cmocka_unit_test(only_its_ports),
	};

	return cmocka_run_group_tests_name("stream ends", tests, NULL, NULL);
}
