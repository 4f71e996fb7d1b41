/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An off-path attacker sends both ends' segments: a host behind one port sends the SYN, SYN-ACK,
 * CONNECT and CONNACK of a connection that does not exist, and publishes on it. It guesses no
 * sequence number, but the gateway forwards none of its frames. Another attacker runs a server of
 * its own on an inspected TCP port.
 */
#include "config/config.h"
#include "biplane/counters/mqtt.h"
#include "tests/unit/dataplane/forwarding/routing_rig.h"
#include "tests/unit/services/mqtt/mqtt_peer.h"

#define MQTT "mqtt: {publisher: {broker: \"mqtt://127.0.0.1\"}}\n"
#define WIRE_PORTS ROUTER_PORTS("", ", routed: {}") "bridges: [{name: bridge0, ports: [a, b]}]\n"
#define WIRE WIRE_PORTS MQTT
#define SWITCH ROUTER_PORTS("", "") "bridges: [{name: bridge0, ports: [a, b, c]}]\n" MQTT

static void begin(struct rig *r, const char *yaml)
{
	rig_start(r, yaml, false, false);
	r->worker->checks_ingress = true;
}

static void begin_routed(struct rig *r, uint32_t settings, const char *yaml)
{
	start_with(r, yaml);
	for (unsigned i = A; i <= B; i++)
		set_interface(r, i,
			BP_IF_PRESENT | BP_IF_UP | BP_IF_CARRIER | BP_IF_KERNEL | settings, 1500);
	r->worker->checks_ingress = true;
}

/* Between 10.1.0.2 behind port a and 10.9.1.1 behind port b. */
static struct peer between(unsigned number)
{
	static const uint8_t client[4] = {10, 1, 0, 2}, broker[4] = {10, 9, 1, 1};
	struct peer c;

	peer_init(&c, false, number, 1000 * number, 9);
	memcpy(c.client_ip, client, 4);
	memcpy(c.broker_ip, broker, 4);
	return c;
}

struct line {
	struct rig *r;
	unsigned client, broker; /* the ports on which their frames come in */
	uint8_t ttl;
	bool strange_mac;
};

static void frame(struct line *l, const struct peer *c, unsigned from, uint8_t flags, uint32_t seq,
	const void *payload, size_t n)
{
	static uint8_t out[PEER_FRAME_MAX];
	const unsigned port = from == CLIENT ? l->client : l->broker;
	const size_t len = peer_frame(c, from, flags, seq, c->seq[!from], payload, n, out);

	memcpy(out, mac_of[port], 6);
	out[5] ^= l->strange_mac;
	memcpy(out + 6, from == CLIENT ? host_a : host_b, 6);
	if (l->ttl != 0) {
		out[14 + BP_IP4_TTL] = l->ttl;
		checksum4(out + 14);
	}
	rig_put(l->r, port, out, (uint32_t)len);
	rig_walk(l->r);
}

static void say(struct line *l, struct peer *c, unsigned from, const struct bytes *b)
{
	frame(l, c, from, TH_ACK | TH_PSH, c->seq[from], b->p, b->n);
	c->seq[from] += (uint32_t)b->n;
}

static void connect_and_publish(struct line *l, struct peer c)
{
	struct bytes b = {0};

	frame(l, &c, CLIENT, TH_SYN, c.seq[CLIENT]++, NULL, 0);
	frame(l, &c, BROKER, TH_SYN | TH_ACK, c.seq[BROKER]++, NULL, 0);
	frame(l, &c, CLIENT, TH_ACK, c.seq[CLIENT], NULL, 0);
	mq_connect(&b, 4, "x", 0);
	say(l, &c, CLIENT, &b);
	b.n = 0;
	mq_connack(&b, 4, 0, 0, NULL);
	say(l, &c, BROKER, &b);
	b.n = 0;
	mq_publish(&b, &(struct mq_publish){.version = 4, .topic = "t", .payload = "99"});
	say(l, &c, CLIENT, &b);
	bytes_free(&b);
}

/* Output frames, and frames for the kernel. */
static void drain(struct rig *r)
{
	void *m;

	for (unsigned p = A; p <= C; p++)
		while ((m = bp_ring_ports_take(&r->ports, p)) != NULL)
			rte_pktmbuf_free(m);
	for (unsigned i = A; bp_config_routes(r->config) && i <= C; i++) {
		struct rte_ring *to = r->exception->to_kernel[BP_EX_OTHER][i];

		for (; to != NULL && rte_ring_dequeue(to, &m) == 0; r->to_kernel++)
			rte_pktmbuf_free(m);
	}
}

static void end(struct rig *r, uint64_t proven)
{
	assert_int_equal(rig_counter(r, BP_C_CONN_ESTABLISHED), proven);
	assert_int_equal(rig_counter(r, BP_C_MQTT_PUBLISH), proven);
	drain(r);
}

static void both_ends_of_a_bridge_on_one_port(void **state)
{
	static const char *const yaml[] = {WIRE, SWITCH};
	struct rig r;

	for (unsigned i = 0; i < 2; i++) {
		struct line l = {.r = &r, .client = A, .broker = A};
		struct peer c = between(1);

		begin(&r, yaml[i]);
		connect_and_publish(&l, c);
		end(&r, 0);
		assert_true(rig_counter(&r, BP_C_SEG_SAME_PORT) >= 2);
		/* also from the broker's side, and after a search for packets has begun */
		l.client = l.broker = B;
		connect_and_publish(&l, between(2));
		end(&r, 0);
		/* nor does what was forged stay in the way of the true one */
		l.client = A;
		c.first[CLIENT] = c.seq[CLIENT] = 77;
		connect_and_publish(&l, c);
		end(&r, 1);
		rig_stop(&r);
	}
}

/* The attacker's SYN comes between the true one and its answer. */
static void spoofed_syn_of_another_port(void **state)
{
	struct peer c = between(1);
	struct bytes b = {0};
	struct line l, forged;
	struct rig r;

	begin(&r, SWITCH);
	l = (struct line){.r = &r, .client = A, .broker = B};
	forged = (struct line){.r = &r, .client = B, .broker = B};
	frame(&forged, &c, CLIENT, TH_SYN, 4711, NULL, 0);
	frame(&l, &c, CLIENT, TH_SYN, c.seq[CLIENT]++, NULL, 0);
	frame(&l, &c, BROKER, TH_SYN | TH_ACK, c.seq[BROKER]++, NULL, 0);
	frame(&l, &c, CLIENT, TH_ACK, c.seq[CLIENT], NULL, 0);
	mq_connect(&b, 4, "x", 0);
	say(&l, &c, CLIENT, &b);
	b.n = 0;
	mq_connack(&b, 4, 0, 0, NULL);
	say(&l, &c, BROKER, &b);
	assert_int_equal(rig_counter(&r, BP_C_CONN_ESTABLISHED), 1);
	bytes_free(&b);
	drain(&r);
	rig_stop(&r);
}

static void dropped_segments_prove_no_connection(void **state)
{
	struct line l;
	struct rig r;

	/* its source leads elsewhere */
	begin_routed(&r, BP_IF_RPF_STRICT, ROUTER MQTT);
	l = (struct line){.r = &r, .client = A, .broker = A};
	connect_and_publish(&l, between(1));
	end(&r, 0);
	assert_true(rig_counter(&r, BP_C_SEG_NOT_FORWARDED) >= 2);
	/* with TTL 1 it is not forwarded, from any sender */
	l = (struct line){.r = &r, .client = A, .broker = B, .ttl = 1};
	connect_and_publish(&l, between(2));
	end(&r, 0);
	/* it is for another station */
	l = (struct line){.r = &r, .client = A, .broker = B, .strange_mac = true};
	connect_and_publish(&l, between(3));
	end(&r, 0);
	/* there is no way to there */
	struct peer c = between(4);

	c.broker_ip[1] = 77;
	l = (struct line){.r = &r, .client = A, .broker = B};
	connect_and_publish(&l, c);
	end(&r, 0);
	c.broker_ip[1] = 66; /* a blackhole */
	connect_and_publish(&l, c);
	end(&r, 0);
	/* the true one */
	l = (struct line){.r = &r, .client = A, .broker = B};
	connect_and_publish(&l, between(5));
	end(&r, 1);
	rig_stop(&r);
}

/* By an operator who says which brokers there are. */
static void other_servers_are_no_brokers(void **state)
{
	struct line l;
	struct rig r;

	begin(&r, WIRE_PORTS
		"mqtt: {publisher: {broker: \"mqtt://127.0.0.1\"}, brokers: [10.9.1.0/24, "
		"\"fd09::1\"]}\n");
	l = (struct line){.r = &r, .client = A, .broker = B};
	struct peer c = between(1);

	c.broker_ip[2] = 2;
	connect_and_publish(&l, c);
	end(&r, 0);
	assert_int_equal(rig_counter(&r, BP_C_SEG_OTHER_BROKER), 6);
	assert_int_equal(rig_counter(&r, BP_C_CONN_OPENED), 0);
	connect_and_publish(&l, between(2));
	end(&r, 1);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_of_a_bridge_on_one_port),
		cmocka_unit_test(spoofed_syn_of_another_port),
		cmocka_unit_test(dropped_segments_prove_no_connection),
		cmocka_unit_test(other_servers_are_no_brokers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
