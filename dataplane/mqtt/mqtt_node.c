/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inspects the segments that node ethernet selected, and forwards every one unchanged, unless the
 * policy refuses packets. The results take other paths: alarms the ring, mirrored frames the edge
 * port.
 */
#include <rte_ethdev.h>

#include "biplane/counters/mqtt.h"
#include "services/mqtt/enforce.h"
#include "services/mqtt/mirror_frame.h"
#include "services/mqtt/inspect.h"
#include "dataplane/mqtt/enforced.h"
#include "dataplane/mqtt/ingress.h"
#include "dataplane/nodes/nodes.h"
#include "dataplane/mqtt/reading.h"

static bool send_mirrored(void *arg, const struct bp_mirror_request *r)
{
	struct bp_worker *w = arg;
	const struct bp_mirror_target *to = &w->rules->clone;
	enum bp_mirror_result result;
	struct rte_mbuf *m;
	uint32_t size;
	uint16_t mtu = to->enabled && to->port < BP_MAX_PORTS ? w->mtu[to->port] : 0;
	uint8_t *out;

	if (mtu == 0) {
		bp_count(w, BP_C_MIRROR_NO_TARGET, 1);
		return false;
	}
	size = bp_mirror_frame_size(r, to, mtu, &result);
	if (size == 0) {
		bp_count(w,
			result == BP_MIRROR_E_FAMILY ? BP_C_MIRROR_FAMILY : BP_C_MIRROR_TOO_LARGE,
			1);
		return false;
	}
	m = rte_pktmbuf_alloc(w->pool);
	if (m == NULL) {
		bp_count(w, BP_C_MIRROR_NO_MBUF, 1);
		return false;
	}
	out = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)size);
	if (out == NULL) {
		rte_pktmbuf_free(m);
		bp_count(w, BP_C_MIRROR_TOO_LARGE, 1);
		return false;
	}
	bp_mirror_frame_build(r, to, out, size);
	bp_count(w, BP_C_MIRROR_FRAME, 1);
	rte_node_enqueue_x1(w->graph, w->mqtt_node, (rte_edge_t)(BP_EDGE_PORT + to->port), m);
	return true;
}

static bool is_forwarded(void *arg, const struct bp_frame *f)
{
	return bp_ingress_is_forwarded(arg, (uint16_t)(f->port - 1), f);
}

/* Reads a frame on the general path. */
static void read_any(void *arg, uint32_t i)
{
	struct bp_piece piece[BP_PIECES_MAX];
	struct bp_reading *r = arg;

	if (bp_reading_frame(r, i, piece))
		bp_inspect_segment(bp_mqtt_worker_of(r->w), &r->b.parsed[i], &r->b.l[i]);
}

/* Returns the differences between the input ports in its upper 16 bits. */
static uint64_t read_burst(struct bp_worker *w, struct rte_mbuf **m, uint16_t n)
{
	struct bp_reading r;
	const uint64_t differ = bp_reading_begin(&r, w, m, n);

	bp_mqtt_burst_read(bp_mqtt_worker_of(w), &r.b, read_any, &r);
	return differ;
}

static uint16_t mqtt_process(
	struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t nb_objs)
{
	struct bp_worker *w = bp_node_ctx(node)->worker;
	struct bp_mqtt_worker *in = bp_mqtt_worker_of(w);
	struct rte_mbuf **m = (struct rte_mbuf **)objs;
	uint64_t differ = 0;

	if (unlikely(w->mqtt_node != node)) {
		w->mqtt_node = node;
		bp_mqtt_worker_set_mirror(in, send_mirrored, w);
		bp_mqtt_worker_set_is_forwarded(in, is_forwarded, w);
	}
	bp_mqtt_worker_begin(in, w->rules, w->now_ns, w->mono_ns);
	if (unlikely(bp_mqtt_worker_enforces(in))) {
		bp_mqtt_enforce_frames(w, graph, node, m, nb_objs);
		bp_doorbell_check(&w->doorbell);
		return nb_objs;
	}
	for (uint16_t i = 0; i < nb_objs; i = (uint16_t)(i + BP_MQTT_BURST)) {
		differ |= bp_mbuf_rearm(m[i]) ^ bp_mbuf_rearm(m[0]);
		differ |= read_burst(
			w, m + i, RTE_MIN((uint16_t)(nb_objs - i), (uint16_t)BP_MQTT_BURST));
	}
	bp_doorbell_check(&w->doorbell); /* before the frames are sent, which takes longer */
	if (likely(differ >> BP_MBUF_REARM_PORT == 0)) /* all arrived on one port */
		rte_node_next_stream_move(graph, node, bp_forward_edge(w, m[0]->port));
	else
		bp_forward_runs(graph, node, w, objs, nb_objs);
	return nb_objs;
}

struct rte_node_register bp_node_mqtt = {
	.name = "bp_mqtt",
	.process = mqtt_process,
	.nb_edges = 0,
};
BP_NODE_REGISTER(bp_node_mqtt, BP_EDGE_DROP, BP_NEXT_ONWARD, BP_NEXT_PORTS)
