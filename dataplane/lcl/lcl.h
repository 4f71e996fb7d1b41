/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_LCL_LCL_H
#define BP_DATAPLANE_LCL_LCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "biplane/counters/lcl.h"
#include "dataplane/lcl/handover.h"
#include "dataplane/process/clock.h"
#include "dataplane/workers/worker.h"
#include "proto/lcl/lcl.h"
#include "services/lcl/match.h"
#include "services/lcl/scheduler.h"
#include "shm/lcl/lcl.h"

struct bp_config;

/*
 * The label of a frame inside the gateway. It is stored in a dynamic field of the mbuf and not in
 * the frame, because nodes that parse Ethernet headers do not expect it there. It is valid while
 * the dynamic flag is set. Copies of the mbuf have it too.
 */
struct bp_lcl_mark {
	int32_t d;
	uint32_t sequence;
	uint16_t flow;
	uint8_t n;
	uint8_t fresh; /* classified here by an entry of lcl.flows: no sequence number yet */
};

struct bp_lcl_field {
	int at;        /* offset in the mbuf, bytes */
	uint64_t flag; /* bit in ol_flags */
};

/*
 * Registers the dynamic field and flag, or finds them if they are registered. 0, or -1: no space in
 * the mbuf.
 */
int bp_lcl_field_get(struct bp_lcl_field *f);

static inline struct bp_lcl_mark *bp_lcl_mark_of(const struct bp_lcl_field *f, struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, f->at, struct bp_lcl_mark *);
}

static inline bool bp_lcl_is_marked(const struct bp_lcl_field *f, const struct rte_mbuf *m)
{
	return (m->ol_flags & f->flag) != 0;
}

/* Whether the first buffer of the frame belongs to this mbuf alone, so that it may be modified. */
static inline bool bp_lcl_is_writable(const struct rte_mbuf *m)
{
	return rte_mbuf_refcnt_read(m) == 1 && RTE_MBUF_DIRECT(m);
}

/*
 * Returns the frame itself, or a copy that replaces it and may be modified. NULL: no mbuf, and the
 * frame is unchanged.
 */
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

/* Removes the label from a frame that is writable and has one in its first buffer. */
static inline void bp_lcl_strip(struct rte_mbuf *m)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);

	bp_lcl_move_macs(frame, frame + BP_LCL_LABEL);
	m->data_off += BP_LCL_LABEL;
	m->data_len -= BP_LCL_LABEL;
	m->pkt_len -= BP_LCL_LABEL;
}

/*
 * Inserts a label into a frame that is writable, has headroom for the label, and has both addresses
 * in its first buffer.
 */
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

/*
 * The per-worker state of LCL scheduling. Node lcl_in removes the labels of received frames. Frames
 * that leave by an LCL port reach node lcl, which finds their label or flow and puts them into the
 * scheduler of the port if this worker owns it, or else into a ring to the owner. The owner polls
 * its schedulers after every node that it processes (dataplane/workers/walk.h): it takes frames
 * from the rings, dequeues the frames that are due, writes the measured delay of each frame into
 * its label, and hands the frames to the driver. Plans change in node lcl_timer, between two other
 * nodes.
 */

/* A flow, by its number in the label. */
struct bp_lcl_followed {
	uint64_t last_slot; /* see struct bp_lcl_arrival */
	uint32_t sequence;  /* of the next frame that is labelled here */
	uint16_t row;       /* 0: the flow has no row of its own */
	bool known;         /* a frame of it was received, and `row` is assigned */
};
#define BP_LCL_FLOW_NUMBERS 65536u

/* State that the owner keeps for a row of lcl_flows in addition to the shared row. */
struct bp_lcl_row {
	struct bp_lcl_flow_stats *stats;
	int64_t deviation;   /* of the last frame */
	uint32_t expected;   /* sequence number expected in the next labelled frame */
	bool in_known, left; /* whether these are known; row 0 has no `left` */
	bool last;           /* copy of the value in `stats`, in a line that is hot */
	/*
	 * Delays within the minimum and maximum in `stats`: `waited_within` is the size of the
	 * range that starts at `waited_from`; 0 before the first frame.
	 */
	uint64_t waited_from, waited_within;
	int64_t deviation_from;
	uint64_t deviation_within;
	uint64_t unused; /* row size 64 bytes: rows are addressed by a shift */
};

/* The second for which the statistics of a port are collected. */
struct bp_lcl_second {
	struct bp_lcl_interval *row; /* NULL: none yet */
	uint64_t begin_ns;           /* Unix time */
	uint64_t late_ns, gap_ns;    /* as in the row */
	bool counted, broken;        /* in the port's sums of such seconds */
};

/* An LCL port. */
struct bp_lcl_out {
	struct bp_matcher *matcher;         /* NULL: no entry of lcl.flows leaves by this port */
	struct bp_lcl_handover *handover;   /* NULL: there is only one worker */
	struct bp_lcl_scheduler *scheduler; /* NULL: another worker owns the port */
	struct bp_lcl_followed *followed; /* BP_LCL_FLOW_NUMBERS entries; used by the owner only, as
					     are all fields below */
	struct bp_lcl_row *row;           /* one entry for each row of the port in the segment */
	struct bp_lcl_port_stats *stats;
	struct bp_lcl *lcl;
	uint64_t tau_ns;
	uint64_t per_sixteenth; /* 2^64 / (tau / 16), rounded up: a multiplication replaces the
				   division */
	uint32_t rows, rows_used;
	uint16_t port; /* index in the configuration */
	uint8_t index; /* in lcl.ports */
	bool slots;    /* a slot has begun */
	struct bp_lcl_second second;
	struct bp_lcl_port configured;
};

struct bp_lcl {
	struct bp_worker *worker;
	const struct bp_clock *clock; /* NULL: the time of the worker, as in a replay */
	struct bp_lcl_field field;
	uint16_t ethertype;
	bool draining;                /* no frame is held any more */
	uint64_t now_ns;              /* the last time that was read; never decreases */
	uint64_t real_ns;             /* Unix time then */
	uint64_t polled_ns;           /* when the schedulers were last polled; 0: not yet */
	struct bp_lcl_shared *shared; /* NULL: one worker */
	uint8_t after[BP_MAX_PORTS];  /* edge that the frames of a port take after lcl_in */
	bool trust[BP_MAX_PORTS];
	struct bp_lcl_out *of[BP_MAX_PORTS];  /* by port; NULL: no LCL port */
	struct bp_lcl_out *own[BP_MAX_PORTS]; /* those that this worker owns */
	unsigned n_own, n_out;
	struct bp_lcl_out out[BP_MAX_PORTS]; /* as lcl.ports */
	const struct bp_lcl_shared_rules *plan;
	uint64_t generation; /* of the last plan that was applied or found */
	struct bp_lcl_rules rules, next;
};

/*
 * Creates the state of a worker, which owns all LCL ports unless bp_lcl_join() assigns them
 * otherwise. The caller frees it with bp_lcl_free(). NULL: no memory, or no space for the dynamic
 * field in the mbuf.
 */
struct bp_lcl *bp_lcl_create(const struct bp_config *c, const struct bp_lcl_tables *tables);
void bp_lcl_free(struct bp_lcl *l); /* NULL is allowed; frees the frames that are still held */
/*
 * Called before bp_lcl_begin(): sets the owner of each port. `index` is the index of this worker.
 */
void bp_lcl_join(struct bp_lcl *l, struct bp_lcl_shared *shared, unsigned index);
/*
 * Called after the graph of the worker is created; creates the schedulers. 0, or -1 with a message
 * in `err`.
 */
int bp_lcl_begin(struct bp_lcl *l, struct bp_worker *w, char *err, size_t err_size);

/* Maximum number of mbufs that schedulers and rings hold at one time; used to size the pools. */
uint64_t bp_lcl_max_queued(const struct bp_config *c);

/* Whether there is a plan that is not applied yet. */
static inline bool bp_lcl_has_pending(const struct bp_lcl *l)
{
	return atomic_load_explicit(&l->plan->lock.generation, memory_order_relaxed) !=
	       l->generation;
}
/* Applies the pending plan. Flows that are in both plans keep their state. */
void bp_lcl_apply_pending(struct bp_lcl *l);

/*
 * For a worker that has received its last frame. All held frames leave, due or not, time-sensitive
 * frames first, and so do frames that other workers still hand over. It returns when all other
 * workers have called it and have handed over their last frame.
 */
void bp_lcl_drain(struct bp_lcl *l);
/*
 * When the schedulers next have a frame to send, on the monotonic clock of the worker, ns;
 * UINT64_MAX: not before another frame arrives.
 */
uint64_t bp_lcl_due(const struct bp_lcl *l);

/* ---- lcl_node.c ---- */

/*
 * Maximum length of a frame on the port in bytes, without the checksum: its MTU, the Ethernet
 * header and two VLAN tags, limited to the maximum of the scheduler.
 */
uint32_t bp_lcl_frame_most(const struct bp_lcl_out *o);
/*
 * Enqueues frames that leave by an LCL port of this worker and were received at `in_ns`, which is
 * not after l->now_ns. It takes ownership: each frame is in the scheduler or dropped afterwards.
 */
void bp_lcl_put_frames(struct bp_lcl_out *o, struct rte_mbuf *const *m, unsigned n, uint64_t in_ns);
/* The same for a port that another worker owns: puts the frames into the ring to the owner. */
void bp_lcl_hand_over(struct bp_lcl_out *o, struct rte_mbuf *const *m, unsigned n, uint64_t in_ns);
/* Takes frames from that ring. */
void bp_lcl_take_over(struct bp_lcl_out *o);

/* Counts the result of bp_lcl_put for a frame. */
void bp_lcl_count_put(struct bp_lcl_out *o, struct bp_lcl_row *r, enum bp_lcl_put put);

/*
 * Sends the frames that are due on all ports that the worker owns; while draining, all frames.
 * Returns the number of frames that were dequeued. `lcl` is a struct bp_lcl; the type is void
 * because the walk calls it (struct bp_after_node).
 */
unsigned bp_lcl_tick(void *lcl);

/* The LCL state of a worker; NULL: LCL is not configured. */
static inline struct bp_lcl *bp_lcl_of(const struct bp_worker *w)
{
	return w->service[BP_SERVICE_LCL];
}

/*
 * Removes the labels of frames that a service or the kernel terminates, and of frames whose buffers
 * are reused for the reply. The frames that are sent instead belong to another flow and must not
 * have these sequence numbers.
 */
static inline void bp_lcl_consume(struct bp_worker *w, struct rte_mbuf *const *m, unsigned n)
{
	const struct bp_lcl *l = bp_lcl_of(w);
	uint64_t flag, labels = 0;

	if (likely(!l))
		return;
	flag = l->field.flag;
	for (unsigned i = 0; i < n; i++) {
		labels += (m[i]->ol_flags & flag) != 0;
		m[i]->ol_flags &= ~flag;
	}
	bp_count(w, BP_C_LCL_TERMINATED, labels);
}

#endif
