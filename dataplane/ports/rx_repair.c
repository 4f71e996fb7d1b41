/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/ports/rx_repair.h"

#include <rte_byteorder.h>
#include <rte_ether.h>

#include "biplane/counters/general.h"
#include "dataplane/capture/capture_points.h"
#include "dataplane/ports/port_count.h"

/*
 * net_af_packet restores every VLAN tag that the kernel stripped as 0x8100. If a second tag
 * follows, the outer one was a service tag. The flag that the driver sets on such frames
 * distinguishes them from frames that it did not modify.
 */
static void restore_service_tag(struct rte_mbuf *m)
{
	struct rte_ether_hdr *eth;
	const struct rte_vlan_hdr *outer;

	if (!(m->ol_flags & RTE_MBUF_F_RX_VLAN) || m->data_len < sizeof(*eth) + sizeof(*outer))
		return;
	eth = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	outer = (const struct rte_vlan_hdr *)(eth + 1);
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_VLAN) &&
		outer->eth_proto == RTE_BE16(RTE_ETHER_TYPE_VLAN))
		eth->ether_type = RTE_BE16(RTE_ETHER_TYPE_QINQ);
}

static bool put_tag(struct rte_mbuf *m, uint16_t tci)
{
	m->vlan_tci = tci;
	return rte_vlan_insert(&m) == 0;
}

/*
 * Restores the tags that the device stripped: one tag, or both of two. The device does not report
 * the type of the outer one of two: it becomes a service tag, as in IEEE 802.1Q.
 */
static bool restore_tags(struct rte_mbuf *m)
{
	const bool both = (m->ol_flags & RTE_MBUF_F_RX_QINQ_STRIPPED) != 0;
	const uint16_t outer = m->vlan_tci_outer;

	if (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED && !put_tag(m, m->vlan_tci))
		return false;
	if (both && !put_tag(m, outer))
		return false;
	m->ol_flags |= RTE_MBUF_F_RX_VLAN;
	restore_service_tag(m);
	m->ol_flags &= ~(RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ |
			 RTE_MBUF_F_RX_QINQ_STRIPPED);
	return true;
}

/* Drops a frame that cannot be repaired, which counts as received. */
static void lose(const struct bp_node_ctx *ctx, struct rte_mbuf *m, bp_counter_t reason)
{
	struct bp_worker *w = ctx->worker;
	struct bp_port_stats *st = &w->port_stats[ctx->port];
	const uint32_t len = m->pkt_len;

	bp_capture_loss(w, BP_CAPTURE_INPUT_PORT, reason, &m, 1);
	rte_pktmbuf_free(m);
	bp_stat_add(&st->rx_packets, 1);
	bp_stat_add(&st->rx_bytes, len);
	w->rx_frames++;
	bp_count_drops(w, ctx->port, reason, 1);
}

static uint16_t restore_all_tags(const struct bp_node_ctx *ctx, struct rte_mbuf **m, uint16_t n)
{
	uint16_t kept = 0;
	uint64_t restored = 0;

	for (uint16_t i = 0; i < n; i++) {
		if (m[i]->ol_flags & (RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_QINQ_STRIPPED)) {
			if (!restore_tags(m[i])) {
				lose(ctx, m[i], BP_C_DROP_VLAN_NO_HEADROOM);
				continue;
			}
			restored++;
		}
		m[kept++] = m[i];
	}
	bp_count(ctx->worker, BP_C_VLAN_RESTORED, restored);
	return kept;
}

/*
 * Headers that the first buffer of a frame must contain: Ethernet with tags and a label, IP with
 * options or extension headers, TCP with options.
 */
#define HEADERS 256u
/* Inspection reads a frame in that many buffers. */
#define BUFFERS 8u

/* Whether the nodes can read the frame, which has several buffers. `room`: bytes of a buffer. */
static bool is_readable(const struct rte_mbuf *m, uint32_t room)
{
	return m->pkt_len > room && m->data_len >= HEADERS &&
	       (m->nb_segs <= BUFFERS || m->pkt_len > BUFFERS * room);
}

/*
 * Most nodes read a frame only if it is in one buffer, and headers only in the first buffer. So a
 * frame that fits in one buffer is copied into one; a longer frame only if its headers are in
 * several, or if it has far more buffers than it needs. The time is linear in its bytes and
 * buffers.
 */
static uint16_t linearize(const struct bp_node_ctx *ctx, struct rte_mbuf **m, uint16_t n)
{
	struct rte_mempool *pool = ctx->worker->pool;
	const uint32_t room = rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM;
	uint16_t kept = 0;
	uint64_t copied = 0;

	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *copy;

		if (likely(m[i]->nb_segs == 1) || is_readable(m[i], room)) {
			m[kept++] = m[i];
			continue;
		}
		copy = rte_pktmbuf_copy(m[i], pool, 0, UINT32_MAX);
		if (unlikely(copy == NULL)) {
			lose(ctx, m[i], BP_C_DROP_RX_NO_MBUF);
			continue;
		}
		rte_pktmbuf_free(m[i]);
		m[kept++] = copy;
		copied++;
	}
	bp_count(ctx->worker, BP_C_RX_LINEARIZED, copied);
	return kept;
}

/*
 * The device reports whether a checksum is right or wrong. It does not report that the checksum of
 * a local sender is partial, if frames can have such.
 */
static void distrust(struct rte_mbuf *m, bool partial)
{
	const uint64_t l4 = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;

	m->ol_flags &= ~(RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK);
	if (partial && l4 == RTE_MBUF_F_RX_L4_CKSUM_NONE)
		m->ol_flags |= l4;
}

uint16_t bp_rx_repair(const struct bp_node_ctx *ctx, struct rte_mbuf **m, uint16_t n)
{
	if (ctx->flags & BP_RX_F_SET_PORT)
		for (uint16_t i = 0; i < n; i++)
			m[i]->port = ctx->port;
	/* if nothing reads headers, frames leave as they arrived */
	if ((ctx->flags & BP_RX_F_CHAINS) &&
		(ctx->flags & (BP_RX_F_PREFETCH | BP_RX_F_QINQ | BP_RX_F_TAGS)))
		n = linearize(ctx, m, n);
	if (ctx->flags & BP_RX_F_QINQ)
		for (uint16_t i = 0; i < n; i++)
			restore_service_tag(m[i]);
	if (ctx->flags & BP_RX_F_DISTRUST)
		for (uint16_t i = 0; i < n; i++)
			distrust(m[i], ctx->flags & BP_RX_F_CHECKSUM);
	if (ctx->flags & BP_RX_F_TAGS)
		n = restore_all_tags(ctx, m, n);
	return n;
}
