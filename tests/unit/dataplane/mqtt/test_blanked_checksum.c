/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames with a partial TCP checksum, as a virtual machine sends them, whose topic a policy
 * overwrites: what leaves has one complete checksum, whether the gateway has completed the partial
 * one or left it to the output device. */
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/fixture.h"

#include <string.h>

#include "biplane/counters/general.h"
#include "biplane/counters/mqtt.h"
#include "dataplane/service.h"
#include "proto/net/frame.h"
#include "services/mqtt/enforce.h"
#include "tests/unit/services/mqtt/mqtt_peer.h"

#define BRIDGE                                                                                     \
	"ports: [{name: a, device: net_null0}, {name: b, device: net_null1}]\n"                    \
	"bridges: [{name: bridge0, ports: [a, b]}]\n"                                              \
	"mqtt:\n"                                                                                  \
	"  publisher: {broker: \"mqtt://127.0.0.1\"}\n"                                            \
	"  policy:\n"                                                                              \
	"    rules: [{name: secret, packet: publish, topic: t/secret, action: blank}]\n"
#define TO_BROKER 0u /* input ports of both ends */
#define TO_CLIENT 1u
#define L2 14u
#define L3 20u

/* Frames on the general path; the others were decided by the burst path. */
static unsigned general;

void __real_bp_inspect_enforce(struct bp_mqtt_worker *in, const struct bp_frame *f,
	struct bp_lookup *l, uint8_t *payload, struct bp_enforced *e);
void __wrap_bp_inspect_enforce(struct bp_mqtt_worker *in, const struct bp_frame *f,
	struct bp_lookup *l, uint8_t *payload, struct bp_enforced *e);

void __wrap_bp_inspect_enforce(struct bp_mqtt_worker *in, const struct bp_frame *f,
	struct bp_lookup *l, uint8_t *payload, struct bp_enforced *e)
{
	general++;
	__real_bp_inspect_enforce(in, f, l, payload, e);
}

static uint16_t sum_of(const uint8_t *p, uint32_t n, uint32_t sum)
{
	for (uint32_t i = 0; i < n; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void put_sum(uint8_t *frame, uint16_t sum)
{
	frame[L2 + L3 + 16] = (uint8_t)(sum >> 8);
	frame[L2 + L3 + 17] = (uint8_t)sum;
}

/* With the sum of the pseudo-header for a checksum. */
static void put_partial(struct rig *r, uint8_t *frame, uint32_t len)
{
	put_sum(frame, sum_of(frame + L2 + 12, 8, 6 + len - L2 - L3));
	rig_put_flags(r, TO_BROKER, frame, len, RTE_MBUF_F_RX_L4_CKSUM_NONE);
}

/* As the device does that was asked for it: the sum of all bytes, with what is in the field. */
static void complete_as_device(const struct rte_mbuf *m)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);

	if ((m->ol_flags & RTE_MBUF_F_TX_L4_MASK) == 0)
		return;
	assert_int_equal(m->ol_flags & RTE_MBUF_F_TX_L4_MASK, RTE_MBUF_F_TX_TCP_CKSUM);
	assert_int_equal(m->l2_len, L2);
	assert_int_equal(m->l3_len, L3);
	put_sum(frame, (uint16_t)~sum_of(frame + L2 + L3, m->pkt_len - L2 - L3, 0));
}

static void expect_payload(struct rig *r, const struct bytes *payload)
{
	struct rte_mbuf *m = bp_ring_ports_take(&r->ports, TO_CLIENT);
	struct bp_frame f;

	assert_non_null(m);
	complete_as_device(m);
	assert_int_equal(
		bp_frame_parse(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, m->pkt_len, &f),
		BP_FRAME_TCP);
	assert_true(bp_frame_checksum_ok(&f));
	assert_int_equal(f.payload_len, payload->n);
	assert_memory_equal(f.data + f.payload, payload->p, payload->n);
	rte_pktmbuf_free(m);
}

static void pass(struct rig *r, struct peer *c, unsigned from, uint8_t flags, struct bytes *b)
{
	uint8_t frame[256];
	const size_t n =
		peer_frame(c, from, flags, c->seq[from], c->seq[1 - from], b->p, b->n, frame);
	struct rte_mbuf *m;

	rig_put(r, from == CLIENT ? TO_BROKER : TO_CLIENT, frame, (uint32_t)n);
	rig_walk(r);
	m = bp_ring_ports_take(&r->ports, from == CLIENT ? TO_CLIENT : TO_BROKER);
	assert_non_null(m);
	rte_pktmbuf_free(m);
	c->seq[from] += (uint32_t)b->n + (flags & TH_SYN ? 1 : 0);
	bytes_free(b);
}

static struct peer connect_client(struct rig *r)
{
	struct bytes none = {0}, connect = {0}, connack = {0};
	struct peer c;

	peer_init(&c, false, 1, 1000, 2000);
	pass(r, &c, CLIENT, TH_SYN, &none);
	pass(r, &c, BROKER, TH_SYN | TH_ACK, &none);
	pass(r, &c, CLIENT, TH_ACK, &none);
	mq_connect(&connect, 4, "pump", 0);
	pass(r, &c, CLIENT, TH_ACK | TH_PSH, &connect);
	mq_connack(&connack, 4, 0, 0, NULL);
	pass(r, &c, BROKER, TH_ACK | TH_PSH, &connack);
	pass(r, &c, CLIENT, TH_ACK, &none);
	return c;
}

static void publish(struct rig *r, struct peer *c, const char *topic, const char *forwarded)
{
	struct bytes sent = {0}, expected = {0};
	uint8_t frame[256];
	size_t n;

	mq_publish(&sent, &(struct mq_publish){.version = 4, .topic = topic, .payload = "81"});
	mq_publish(
		&expected, &(struct mq_publish){.version = 4, .topic = forwarded, .payload = "81"});
	n = peer_frame(
		c, CLIENT, TH_ACK | TH_PSH, c->seq[CLIENT], c->seq[BROKER], sent.p, sent.n, frame);
	c->seq[CLIENT] += (uint32_t)sent.n;
	put_partial(r, frame, (uint32_t)n);
	rig_walk(r);
	expect_payload(r, &expected);
	bytes_free(&sent);
	bytes_free(&expected);
}

static void checksum_is_complete_once(bool left)
{
	const bp_counter_t counted = left ? BP_C_CHECKSUM_OFFLOADED : BP_C_CHECKSUM_COMPLETED;
	char err[256];
	struct rig r;
	struct peer c;

	rig_start(&r, BRIDGE, true, false);
	assert_int_equal(bp_services_publish(r.config, &r.shm, err, sizeof(err)), 0);
	if (left)
		r.worker->leaves_checksums = r.worker->sends_checksums = 3;
	c = connect_client(&r);
	publish(&r, &c, "t/other", "t/other");
	general = 0;
	publish(&r, &c, "t/secret", "$refused");
	assert_int_equal(general, 1);
	for (unsigned i = 0; i < 2; i++)
		publish(&r, &c, "t/secret", "$refused");
	assert_int_equal(general, 1);
	assert_int_equal(rig_counter(&r, BP_C_POLICY_BLANKED), 3);
	assert_int_equal(rig_counter(&r, counted), 4);
	assert_int_equal(rig_counter(&r, BP_C_SEG_BAD_CHECKSUM), 0);
	rig_stop(&r);
}

static void left_to_the_output_device(void **state)
{
	(void)state;
	checksum_is_complete_once(true);
}

static void completed_by_the_gateway(void **state)
{
	(void)state;
	checksum_is_complete_once(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(left_to_the_output_device),
		cmocka_unit_test(completed_by_the_gateway),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
