/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_LCL_LABEL_H
#define BP_DATAPLANE_LCL_LABEL_H

#include <string.h>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "proto/lcl.h"

/*
 * A frame's label inside the gateway: not in the frame, where whoever reads Ethernet would stumble
 * over it, but in a dynamic field of the mbuf, while its flag is set. Copies take it along.
 */
struct bp_lcl_mark {
	int32_t d;
	uint32_t sequence;
	uint16_t flow;
	uint8_t n;
	uint8_t fresh; /* it was found here, by an entry of lcl.flows: no sequence number yet */
};

struct bp_lcl_field {
	int at;        /* in the mbuf */
	uint64_t flag; /* in ol_flags */
};

/* Registers it, or finds it again. 0, or -1: no room in the mbuf. */
int bp_lcl_field_get(struct bp_lcl_field *f);

static inline struct bp_lcl_mark *bp_lcl_mark_of(const struct bp_lcl_field *f, struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, f->at, struct bp_lcl_mark *);
}

static inline bool bp_lcl_is_marked(const struct bp_lcl_field *f, const struct rte_mbuf *m)
{
	return (m->ol_flags & f->flag) != 0;
}

/* Whether the frame's first buffer is this mbuf's own and nobody else's: it may be changed. */
static inline bool bp_lcl_is_writable(const struct rte_mbuf *m)
{
	return rte_mbuf_refcnt_read(m) == 1 && RTE_MBUF_DIRECT(m);
}

/* The frame itself, or a copy in its place that may be changed. NULL: there is no mbuf, and the
 * frame is as it was. */
static inline struct rte_mbuf *bp_lcl_writable(struct rte_mbuf *m, struct rte_mempool *pool)
{
	struct rte_mbuf *copy;

	if (likely(bp_lcl_is_writable(m)))
		return m;
	copy = rte_pktmbuf_copy(m, pool, 0, UINT32_MAX);
	if (copy)
		rte_pktmbuf_free(m);
	return copy;
}

/* Moves both MAC addresses. */
static inline void bp_lcl_move_macs(const uint8_t *from, uint8_t *to)
{
	uint64_t a;
	uint32_t b;

	memcpy(&a, from, sizeof(a));
	memcpy(&b, from + sizeof(a), sizeof(b));
	memcpy(to, &a, sizeof(a));
	memcpy(to + sizeof(a), &b, sizeof(b));
}

/* Takes the label off a frame that is writable and has one in its first buffer. */
static inline void bp_lcl_strip(struct rte_mbuf *m)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);

	bp_lcl_move_macs(frame, frame + BP_LCL_LABEL);
	m->data_off += BP_LCL_LABEL;
	m->data_len -= BP_LCL_LABEL;
	m->pkt_len -= BP_LCL_LABEL;
}

/* Writes one into a frame that is writable, has headroom for it and both addresses in its first
 * buffer. */
static inline void bp_lcl_insert(
	struct rte_mbuf *m, uint16_t ethertype, const struct bp_lcl_label *label)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);

	m->data_off -= BP_LCL_LABEL;
	m->data_len += BP_LCL_LABEL;
	m->pkt_len += BP_LCL_LABEL;
	bp_lcl_move_macs(frame, frame - BP_LCL_LABEL);
	bp_lcl_write(frame - BP_LCL_LABEL + BP_LCL_AT, ethertype, label);
}

#endif
