/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects the frames to inspect: TCP segments to or from an inspected port, under VLAN tags, and in
 * LLC, PPPoE and MPLS. Other frames are forwarded immediately, also frames that cannot be parsed;
 * but a policy that refuses packets drops those that may be a part of an inspected connection.
 */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/enforce.h"
#include "services/mqtt/inspect.h"
#include "dataplane/nodes/edge_batch.h"
#include "dataplane/nodes/frame_mark.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/mqtt/tcp_hint.h"
#include "proto/net/vec16.h"

#define ETHER_IP4_HDRS (BP_ETHER_HDR + 20u + 20u)
#define AT_TOTAL 16u
#define AT_SPORT 34u
#define AT_DPORT 36u
#define AT_DATA_OFFSET 46u

/*
 * Matches untagged IPv4 without options, not fragmented, with TCP, which almost all sensors send:
 * the masked bytes of the frame from its EtherType.
 */
#define AT_TYPE 12u
static const bp_v16 template_mask = {
	0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0x3f, 0xff, 0, 0xff, 0, 0, 0, 0};
static const bp_v16 template_value = {0x08, 0x00, 0x45, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0};

/* Of a datagram whose first fragment is missing, nothing is read. */
static bool is_refused_fragment(const struct bp_worker *w, const struct bp_frame *f)
{
	bool to_broker;

	return f->is_first && bp_policy_refuses(w->rules) &&
	       (!f->has_ports || bp_mqtt_worker_inspects(
					 bp_mqtt_worker_of(w), f->sport, f->dport, &to_broker));
}

static bool fails_closed(const struct bp_worker *w, const struct rte_mbuf *m)
{
	return bp_policy_refuses(w->rules) && bp_policy_fails_closed(w->rules, m->port + 1u);
}

enum treatment { FORWARDED, INSPECTED, REFUSED };

static enum treatment wanted(struct bp_worker *w, struct rte_mbuf *m, const struct bp_frame *f)
{
	bool to_broker;

	if (!bp_mqtt_worker_inspects(bp_mqtt_worker_of(w), f->sport, f->dport, &to_broker))
		return FORWARDED;
	if (!bp_hint_encodable(f->l3, f->l4)) {
		bp_count(w, BP_C_SEG_BAD_HEADER, 1);
		return bp_policy_refuses(w->rules) ? REFUSED : FORWARDED;
	}
	bp_hint_set(m, f->l3, f->l4, f->ip6, to_broker);
	return INSPECTED;
}

/* For tags, options, IPv6, protocols other than TCP, and lengths that contradict the frame. */
static __rte_noinline enum treatment classify_any(struct bp_worker *w, struct rte_mbuf *m)
{
	struct bp_frame f;

	switch (bp_frame_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len, &f)) {
	case BP_FRAME_TCP:
		return wanted(w, m, &f);
	case BP_FRAME_FRAGMENT:
		bp_count(w, BP_C_SEG_FRAGMENT, 1);
		return is_refused_fragment(w, &f) ? REFUSED : FORWARDED;
	case BP_FRAME_BAD:
		bp_count(w, BP_C_SEG_BAD_HEADER, 1);
		return fails_closed(w, m) ? REFUSED : FORWARDED;
	case BP_FRAME_UNREAD:
		bp_count(w, BP_C_NOT_INSPECTED_VLAN + f.unread, 1);
		return fails_closed(w, m) ? REFUSED : FORWARDED;
	case BP_FRAME_OTHER:
		break;
	}
	return FORWARDED;
}

/*
 * Whether the lengths of a plain frame agree; at least both headers are in the buffer. The
 * comparison is unsigned, relative to the shortest headers, so that a smaller value becomes a very
 * large one.
 */
static inline bool lengths_agree(const uint8_t *p, uint32_t data_len)
{
	const uint32_t more = (uint32_t)bp_be16(p + AT_TOTAL) - 40;
	const uint32_t options = (uint32_t)(p[AT_DATA_OFFSET] >> 4) * 4 - 20;

	return options <= more && more <= data_len - ETHER_IP4_HDRS;
}

/* For plain frames from the broker, or with a port other than the first one. */
static __rte_noinline enum treatment classify_ports(struct bp_worker *w, struct rte_mbuf *m)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	bool to_broker;

	if (!bp_mqtt_worker_inspects(
		    bp_mqtt_worker_of(w), bp_be16(p + AT_SPORT), bp_be16(p + AT_DPORT), &to_broker))
		return FORWARDED;
	if (!lengths_agree(p, m->data_len))
		return classify_any(w, m);
	if (to_broker)
		bp_hint_set_default(m);
	else
		bp_hint_set(m, BP_ETHER_HDR, BP_ETHER_HDR + 20, false, false);
	return INSPECTED;
}

static inline enum treatment classify(struct bp_worker *w, struct rte_mbuf *m)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);

	if (unlikely(m->data_len < ETHER_IP4_HDRS ||
		     !bp_v16_same(bp_v16_load(p + AT_TYPE) & template_mask, template_value)))
		return classify_any(w, m);
	if (unlikely(bp_be16(p + AT_DPORT) != w->mqtt_port || !lengths_agree(p, m->data_len)))
		return classify_ports(w, m);
	bp_hint_set_default(m);
	return INSPECTED;
}

static uint16_t ethernet_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct bp_edge_batch out;

	bp_edge_batch_begin(&out, w, graph, node, objs, nb_objs, BP_EDGE_MQTT);
	for (uint16_t i = 0; i < nb_objs; i++) {
		struct rte_mbuf *m = objs[i];
		const enum treatment t = classify(w, m);
		rte_edge_t edge = BP_EDGE_MQTT;

		if (t == FORWARDED)
			edge = bp_forward_edge(w, m->port);
		else if (unlikely(t == REFUSED))
			edge = bp_drop(m, BP_C_DROP_POLICY_NOT_INSPECTED);
		bp_edge_batch_add(&out, edge, m);
	}
	bp_edge_batch_end(&out);
	return nb_objs;
}

struct rte_node_register bp_node_ethernet = {
	.name = "bp_ethernet",
	.process = ethernet_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_ethernet, BP_EDGE_DROP, BP_EDGE_MQTT, BP_NEXT_ONWARD)
