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
 * The per-worker state of personal health devices: the tables of the segment, and a copy of the
 * plan of the control plane for the CSE, in the form that nodes ip4, phd and cse need per packet.
 */

/* Ethernet, IPv6 and UDP: the maximum length of the headers before a CoAP message, bytes. */
#define BP_PHD_FRAME_HEAD_MAX 62u

/* (port, MID) pairs that were taken from the segment and are not used yet. */
struct bp_phd_worker_ids {
	uint32_t pair; /* the next pair */
	uint32_t left;
	uint32_t taken_s; /* remaining pairs are discarded at the end of this second */
};

/*
 * A validated layout. Workers write by its offsets and lengths, and the control plane may overwrite
 * the layout in the segment at any time: so the worker uses a copy that it validated. `life` shows
 * whether the layout in the segment is still the same.
 */
struct bp_phd_worker_layout {
	uint32_t life; /* of the layout that was copied */
	bool taken;    /* a layout was copied */
	bool valid;
};

struct bp_worker;

struct bp_phd_worker {
	/*
	 * values that node ip4 compares, in network byte order; no packet matches while there is no
	 * plan
	 */
	bool takes;      /* nodes phd and cse receive datagrams */
	bool cse_is_ip6; /* IP version of the CSE */
	uint16_t listen; /* 0: devices use TCP only */
	uint16_t cse_port;
	uint8_t cse[16]; /* IPv4 in the last four bytes */
	/* host byte order: source ports of all workers */
	uint16_t ports_first, ports_last;

	struct bp_worker *worker;
	const struct bp_phd_tables *t;
	struct bp_phd_ids *ids; /* of this worker */
	struct bp_ring *events; /* of this worker */
	struct bp_phd_worker_ids run;
	struct bp_bucket unknown_sessions; /* limits the responses to reports without a session */
	uint64_t generation;               /* of the plan that was copied; 0: none */
	struct bp_phd_settings plan;
	unsigned workers;
	/*
	 * The headers of a request without lengths, checksums, source port and Ethernet addresses,
	 * and their sums: of the IPv4 header, and of the pseudo-header with the port of the CSE.
	 */
	uint8_t head[BP_PHD_FRAME_HEAD_MAX];
	uint16_t head_len;
	uint64_t ip_sum, udp_sum;
	struct bp_phd_conversion conversion; /* of the current report */
	struct bp_phd_template *template;    /* one for each layout, or not set */
	struct bp_phd_worker_layout *layout; /* one for each layout */
	/* BP_PHD_LAYOUT_SIZE bytes for each layout; pages are allocated when a layout is copied */
	uint8_t *copies;
	uint32_t refused;                  /* invalid plans and layouts that are not counted yet */
	struct bp_phd_hash_keys hash_keys; /* for what they take */
};

/*
 * Sets up the source ports and message ids of all workers. Called once, before the first worker
 * runs. 0, or -1 with a message in `err`. No effect without section health_devices.
 */
int bp_phd_worker_setup(const struct bp_config *c, struct bp_phd_tables *t, unsigned workers,
	uint64_t mono_ns, char *err, size_t err_size);
/* Creates the state of one worker; the caller frees it. NULL: no memory. */
struct bp_phd_worker *bp_phd_worker_create(
	const struct bp_phd_tables *t, unsigned workers, unsigned index);
void bp_phd_worker_free(struct bp_phd_worker *h);
/* Called every few walks: applies a new plan. */
void bp_phd_worker_apply_pending(struct bp_phd_worker *h, uint64_t mono_ns);

/*
 * Copies layout n and validates the copy. False: there is none, it is being written, or it is
 * invalid.
 */
bool bp_phd_worker_layout_copy(struct bp_phd_worker *h, uint32_t n);

/* Returns the copy of the layout that a state word names; NULL: there is no valid one. */
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

/* Takes a new run of at least n pairs. */
bool bp_phd_worker_ids_refill(struct bp_phd_worker *h, uint32_t n, uint32_t now_s);

/*
 * Takes n consecutive pairs, at most the maximum number of parts of a report: *pair is the first,
 * bp_phd_pair_at() returns the others. False: none is free (RFC 7252 4.8.2).
 */
static inline bool bp_phd_worker_ids_take(
	struct bp_phd_worker *h, uint32_t n, uint32_t now_s, uint32_t *pair)
{
	struct bp_phd_worker_ids *r = &h->run;

	/*
	 * the start of a run also confirms when the one before it ended, so remaining pairs may
	 * only be used in the same second
	 */
	if (__builtin_expect(r->left < n || r->taken_s != now_s, 0) &&
		!bp_phd_worker_ids_refill(h, n, now_s))
		return false;
	*pair = r->pair;
	r->pair = bp_phd_pair_at(h->ids, r->pair, n);
	r->left -= n;
	return true;
}

/* The state of a worker for health devices; NULL: not configured. */
static inline struct bp_phd_worker *bp_phd_worker_of(const struct bp_worker *w)
{
	return w->service[BP_SERVICE_HEALTH];
}

/*
 * Selects the packets for addresses of this machine that nodes phd and cse process in place of the
 * kernel: UDP in one mbuf, without IP options, extension headers or fragments. BP_EDGE_EXCEPTION:
 * neither node processes it.
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

/* Devices are in the main VRF: the kernel has the other packets. */
static inline bool bp_phd_takes(const struct bp_worker *w, const struct rte_mbuf *m)
{
	return bp_phd_worker_of(w)->takes &&
	       (likely(!w->router.source.any_vrf) ||
		       bp_router_vrf(&w->router, m->port) == BP_VRF_MAIN);
}

/* For a frame with a valid IPv4 header without options. */
static inline rte_edge_t bp_phd_edge_ip4(const struct bp_worker *w, const struct rte_mbuf *m)
{
	const struct bp_phd_worker *h = bp_phd_worker_of(w);
	const uint8_t *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_ETHER_HDR);

	if (!bp_phd_takes(w, m) || ip[BP_IP4_PROTOCOL] != BP_PROTO_UDP || m->nb_segs != 1 ||
		(bp_be16(ip + BP_IP4_FRAGMENT) & BP_NO_FRAGMENT_MASK) != 0 ||
		bp_be16(ip + BP_IP4_TOTAL) < BP_IP4_HDR + 8)
		return BP_EDGE_EXCEPTION;
	return bp_phd_edge_udp(h, ip + BP_IP4_HDR, ip + BP_IP4_SRC, false);
}

/* For a frame with an IPv6 header whose packet is complete. */
static inline rte_edge_t bp_phd_edge_ip6(const struct bp_worker *w, const struct rte_mbuf *m)
{
	const struct bp_phd_worker *h = bp_phd_worker_of(w);
	const uint8_t *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_ETHER_HDR);

	if (!bp_phd_takes(w, m) || ip[BP_IP6_NEXT] != BP_PROTO_UDP || m->nb_segs != 1 ||
		bp_be16(ip + BP_IP6_PAYLOAD) < 8)
		return BP_EDGE_EXCEPTION;
	return bp_phd_edge_udp(h, ip + BP_IP6_HDR, ip + BP_IP6_SRC, true);
}

/* For any IP packet to an address of this machine. */
static inline rte_edge_t bp_phd_edge_ip(const struct bp_worker *w, const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);

	if (bp_be16(frame + 12) == BP_ETHER_IP6)
		return bp_phd_edge_ip6(w, m);
	return (frame[BP_ETHER_HDR] & 0xf) == 5 ? bp_phd_edge_ip4(w, m) : BP_EDGE_EXCEPTION;
}

#endif
