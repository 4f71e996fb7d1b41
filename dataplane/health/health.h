/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_HEALTH_HEALTH_H
#define BP_DATAPLANE_HEALTH_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "dataplane/exception/bucket.h"
#include "services/health/convert.h"
#include "services/health/quick.h"
#include "services/health/repeat.h"
#include "shm/health/phd.h"

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
	struct bp_bucket strays; /* reports without a session that may be answered */
	uint64_t generation;     /* of the plan that was copied; 0: none */
	struct bp_phd_plan plan;
	unsigned workers;
	/*
	 * The head of a request but for lengths, checksums, source port and Ethernet addresses, and
	 * the sums over it: of the IPv4 header, and of the pseudo header with the CSE's port.
	 */
	uint8_t head[BP_PHD_FRAME_HEAD_MAX];
	uint16_t head_len;
	uint64_t ip_sum, udp_sum;
	struct bp_phd_conversion conversion; /* of the report at hand */
	struct bp_phd_quick *quick;          /* of each layout, or none */
	struct bp_phd_worker_layout *layout; /* of each layout */
	uint8_t *copies; /* of each layout BP_PHD_LAYOUT_SIZE bytes; memory only where one was taken
			  */
	uint32_t refused; /* plans and layouts that were not valid, since that was counted last */
	struct bp_phd_octets_keys octets; /* for what they take */
};

/*
 * Sets up the source ports and message ids of all workers: once, before the first of them runs.
 * 0, or -1 with a sentence. Nothing is to be done without a section phd.
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

#endif
