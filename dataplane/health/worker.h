/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_HEALTH_WORKER_H
#define BP_DATAPLANE_HEALTH_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/exception/bucket.h"
#include "dataplane/workers/worker.h"
#include "proto/net/ip.h"
#include "services/health/convert.h"
#include "services/health/last_report.h"
#include "services/health/template.h"
#include "shm/health/phd.h"

struct bp_config;

/*
 * What a worker has for personal health devices: the segment's tables, and its own copy of what the
 * control plane says of the CSE, in the form in which nodes ip4, phd and cse need it per packet.
 */

/* Ethernet, IPv6 and UDP: the most that stands before a CoAP message. */
#define BP_PHD_FRAME_HEAD_MAX 62u

/* (port, MID) pairs that were taken from the segment's and not used yet. */
struct bp_phd_worker_ids {
	uint32_t pair; /* the next */
	uint32_t left;
	uint32_t taken_s; /* what is left at the end of this second is given up */
};

/*
 * A layout as it was validated. Workers write by its offsets and lengths, and the control plane may
 * write anything into the segment's at any time: so what was validated is what is used, a copy. The
 * life tells whether the segment's is still the same.
 */
struct bp_phd_worker_layout {
	uint32_t life; /* of the layout that was copied */
	bool taken;    /* one was */
	bool valid;
};

struct bp_worker;

struct bp_phd_worker {
	/* what node ip4 compares, in network order; nothing matches while there is no plan */
	bool takes;      /* datagrams for node phd, and for node cse */
	bool cse_is_ip6; /* the CSE's family */
	uint16_t listen; /* 0: devices come by TCP only */
	uint16_t cse_port;
	uint8_t cse[16]; /* IPv4 in the last four octets */
	/* in this machine's order: source ports of all workers */
	uint16_t ports_first, ports_last;

	struct bp_worker *worker;
	const struct bp_phd_tables *t;
	struct bp_phd_ids *ids; /* this worker's */
	struct bp_ring *events; /* this worker's */
	struct bp_phd_worker_ids run;
	struct bp_bucket unknown_sessions; /* reports without a session that may be answered */
	uint64_t generation;               /* of the plan that was copied; 0: none */
	struct bp_phd_settings plan;
	unsigned workers;
	/*
	 * The head of a request but for lengths, checksums, source port and Ethernet addresses, and
	 * the sums over it: of the IPv4 header, and of the pseudo header with the CSE's port.
	 */
	uint8_t head[BP_PHD_FRAME_HEAD_MAX];
	uint16_t head_len;
	uint64_t ip_sum, udp_sum;
	struct bp_phd_conversion conversion; /* of the report at hand */
	struct bp_phd_template *template;    /* of each layout, or none */
	struct bp_phd_worker_layout *layout; /* of each layout */
	uint8_t *copies; /* of each layout BP_PHD_LAYOUT_SIZE bytes; memory only where one was taken
			  */
	uint32_t refused; /* plans and layouts that were not valid, since that was counted last */
	struct bp_phd_octets_keys octets; /* for what they take */
};

/*
 * Sets up the source ports and message ids of all workers: once, before the first of them runs.
 * 0, or -1 with a sentence. Nothing is to be done without a section health_devices.
 */
int bp_phd_worker_setup(const struct bp_config *c, struct bp_phd_tables *t, unsigned workers,
	uint64_t mono_ns, char *err, size_t err_size);
/* Of one worker; NULL without memory. */
struct bp_phd_worker *bp_phd_worker_create(
	const struct bp_phd_tables *t, unsigned workers, unsigned index);
void bp_phd_worker_free(struct bp_phd_worker *h);
/* Every few walks: takes another plan over. */
void bp_phd_worker_apply_pending(struct bp_phd_worker *h, uint64_t mono_ns);

/* Copies layout n and validates the copy. False: there is none, it is being written right now, or
 * it is not valid. */
bool bp_phd_worker_layout_copy(struct bp_phd_worker *h, uint32_t n);

/* The worker's own copy of the layout that a word names; NULL: there is none that can be used. */
static inline const struct bp_phd_layout *bp_phd_worker_layout_of(
	struct bp_phd_worker *h, uint64_t word)
{
	const struct bp_phd_layout *l = bp_phd_layout_of(h->t, word);
	const uint16_t n = bp_phd_word_layout(word);

	if (__builtin_expect(l == NULL, 0))
		return NULL;
	if (__builtin_expect(!h->layout[n].taken ||
				     h->layout[n].life !=
					     atomic_load_explicit(&l->life, memory_order_acquire),
		    0) &&
		!bp_phd_worker_layout_copy(h, n))
		return NULL;
	return h->layout[n].valid
		       ? (const struct bp_phd_layout *)(h->copies + (size_t)n * BP_PHD_LAYOUT_SIZE)
		       : NULL;
}

/* A new run of at least n pairs. */
bool bp_phd_worker_ids_refill(struct bp_phd_worker *h, uint32_t n, uint32_t now_s);

/*
 * n pairs in a row, at most as many as a report has parts: *pair is the first, bp_phd_pair_at() are
 * the others. False: none is free (RFC 7252 4.8.2).
 */
static inline bool bp_phd_worker_ids_take(
	struct bp_phd_worker *h, uint32_t n, uint32_t now_s, uint32_t *pair)
{
	struct bp_phd_worker_ids *r = &h->run;

	/* a row that was begun says when the one before it was over, so that what is left may be
	 * used in the same second only */
	if (__builtin_expect(r->left < n || r->taken_s != now_s, 0) &&
		!bp_phd_worker_ids_refill(h, n, now_s))
		return false;
	*pair = r->pair;
	r->pair = bp_phd_pair_at(h->ids, r->pair, n);
	r->left -= n;
	return true;
}

/* What a worker has for it; NULL: it has none. */
static inline struct bp_phd_worker *bp_phd_worker_of(const struct bp_worker *w)
{
	return w->service[BP_SERVICE_HEALTH];
}

/*
 * Which packets for our own addresses nodes phd and cse take from the kernel: UDP in one mbuf,
 * without IP options, extension headers or fragments. BP_EDGE_EXCEPTION: none of theirs.
 */

#define BP_NO_FRAGMENT_MASK 0x3fffu /* offset and "more fragments" */

static inline rte_edge_t bp_phd_edge_udp(
	const struct bp_phd_worker *h, const uint8_t *udp, const uint8_t *from, bool ip6)
{
	uint16_t ports[2];

	memcpy(ports, udp, sizeof(ports));
	if (likely(ports[1] == h->listen && h->listen != 0))
		return BP_EDGE_PHD;
	if (ports[0] == h->cse_port && ip6 == h->cse_is_ip6 &&
		memcmp(from, ip6 ? h->cse : h->cse + 12, ip6 ? 16 : 4) == 0) {
		const uint16_t to = __builtin_bswap16(ports[1]);

		if (to >= h->ports_first && to <= h->ports_last)
			return BP_EDGE_CSE;
	}
	return BP_EDGE_EXCEPTION;
}

/* Of a frame with an IPv4 header that is right in every field and has no options. */
static inline rte_edge_t bp_phd_edge_ip4(const struct bp_phd_worker *h, const struct rte_mbuf *m)
{
	const uint8_t *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_ETHER_HDR);

	if (!h->takes || ip[BP_IP4_PROTOCOL] != BP_PROTO_UDP || m->nb_segs != 1 ||
		(bp_be16(ip + BP_IP4_FRAGMENT) & BP_NO_FRAGMENT_MASK) != 0 ||
		bp_be16(ip + BP_IP4_TOTAL) < BP_IP4_HDR + 8)
		return BP_EDGE_EXCEPTION;
	return bp_phd_edge_udp(h, ip + BP_IP4_HDR, ip + BP_IP4_SRC, false);
}

/* Of a frame with an IPv6 header whose packet is whole. */
static inline rte_edge_t bp_phd_edge_ip6(const struct bp_phd_worker *h, const struct rte_mbuf *m)
{
	const uint8_t *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_ETHER_HDR);

	if (!h->takes || ip[BP_IP6_NEXT] != BP_PROTO_UDP || m->nb_segs != 1 ||
		bp_be16(ip + BP_IP6_PAYLOAD) < 8)
		return BP_EDGE_EXCEPTION;
	return bp_phd_edge_udp(h, ip + BP_IP6_HDR, ip + BP_IP6_SRC, true);
}

/* Of any IP packet for one of our addresses. */
static inline rte_edge_t bp_phd_edge_ip(const struct bp_phd_worker *h, const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

	if (bp_be16(frame + 12) == BP_ETHER_IP6)
		return bp_phd_edge_ip6(h, m);
	return (frame[BP_ETHER_HDR] & 0xf) == 5 ? bp_phd_edge_ip4(h, m) : BP_EDGE_EXCEPTION;
}

#endif
