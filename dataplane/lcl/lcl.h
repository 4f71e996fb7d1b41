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

/*
 * What a worker has for LCL scheduling. Labels of what comes in are taken off by node lcl_in, and
 * what leaves by an LCL port comes to node lcl, which finds its label, or its flow, and puts it
 * into the port's scheduler, where this worker owns that; else into a ring to the worker that does.
 * The owner looks at its schedulers after every node that it processes (dataplane/workers/walk.h):
 * it takes over what others handed over, takes out what is due, writes what each frame has really
 * waited into its label and hands it to the driver. Plans change in node lcl_timer, between two
 * others.
 */

/* A flow, by its number in the label. */
struct bp_lcl_followed {
	uint64_t last_slot; /* see struct bp_lcl_arrival */
	uint32_t sequence;  /* of the next frame that gets its label here */
	uint16_t row;       /* 0: none of its own */
	bool known;         /* it has come before, so that `row` is decided */
};
#define BP_LCL_FLOW_NUMBERS 65536u

/* What the owner knows of a row of lcl_flows beside what is in it. */
struct bp_lcl_row {
	struct bp_lcl_flow_stats *stats;
	int64_t deviation;   /* of its last frame */
	uint32_t expected;   /* sequence number of the next that comes labelled */
	bool in_known, left; /* whether these are known; of row 0 `left` is not */
	bool last;           /* as in `stats`, which is far away */
	/* Between the least and the greatest that there are in `stats`: so many numbers from there
	 * on; 0 before the first frame. */
	uint64_t waited_from, waited_within;
	int64_t deviation_from;
	uint64_t deviation_within;
	uint64_t unused; /* 64 octets: rows are found by a shift */
};

/* The second that statistics of a port are being collected for. */
struct bp_lcl_second {
	struct bp_lcl_interval *row; /* NULL: none yet */
	uint64_t begin_ns;           /* Unix time */
	uint64_t late_ns, gap_ns;    /* as in the row */
	bool counted, broken;        /* in the port's sums of such seconds */
};

/* An LCL port. */
struct bp_lcl_out {
	struct bp_matcher *matcher;         /* NULL: no entry of lcl.flows leaves by it */
	struct bp_lcl_handover *handover;   /* NULL: there are no other workers */
	struct bp_lcl_scheduler *scheduler; /* NULL: another worker's */
	struct bp_lcl_followed *followed;   /* BP_LCL_FLOW_NUMBERS; the owner's, as all below */
	struct bp_lcl_row *row;             /* as many as the segment has for a port */
	struct bp_lcl_port_stats *stats;
	struct bp_lcl *lcl;
	uint64_t tau_ns;
	uint64_t per_sixteenth; /* 2^64 / (tau / 16), rounded up: multiplied for divided */
	uint32_t rows, rows_used;
	uint16_t port; /* index in the configuration */
	uint8_t index; /* in lcl.ports */
	bool slots;    /* one has begun */
	struct bp_lcl_second second;
	struct bp_lcl_port configured;
};

struct bp_lcl {
	struct bp_worker *worker;
	const struct bp_clock *clock; /* NULL: time is the worker's, as replay has it */
	struct bp_lcl_field field;
	uint16_t ethertype;
	bool draining;                /* nothing is held any more */
	uint64_t now_ns;              /* the last time that was read; never goes back */
	uint64_t real_ns;             /* Unix time then */
	uint64_t polled_ns;           /* when the schedulers were last looked at; 0: not yet */
	struct bp_lcl_shared *shared; /* NULL: one worker */
	uint8_t after[BP_MAX_PORTS];  /* edge of a port's frames behind lcl_in */
	bool trust[BP_MAX_PORTS];
	struct bp_lcl_out *of[BP_MAX_PORTS];  /* by port; NULL: no LCL port */
	struct bp_lcl_out *own[BP_MAX_PORTS]; /* those that this worker owns */
	unsigned n_own, n_out;
	struct bp_lcl_out out[BP_MAX_PORTS]; /* as lcl.ports */
	const struct bp_lcl_shared_rules *plan;
	uint64_t generation; /* of the plan that was taken or found */
	struct bp_lcl_rules rules, next;
};

/* For a worker, which owns all LCL ports unless bp_lcl_join() says otherwise. NULL: no memory, or
 * none in the mbuf. */
struct bp_lcl *bp_lcl_create(const struct bp_config *c, const struct bp_lcl_tables *tables);
void bp_lcl_free(struct bp_lcl *l); /* NULL is allowed; frees frames that it still holds */
/* Before bp_lcl_begin(): who owns which; this is worker `index`. */
void bp_lcl_join(struct bp_lcl *l, struct bp_lcl_shared *shared, unsigned index);
/* Once the worker has its graph: the schedulers are made. 0, or -1 with a sentence. */
int bp_lcl_begin(struct bp_lcl *l, struct bp_worker *w, char *err, size_t err_size);

/* mbufs that schedulers and rings may hold at one time, for whoever sizes pools. */
uint64_t bp_lcl_max_queued(const struct bp_config *c);

/* Whether there is a plan that was not taken yet. */
static inline bool bp_lcl_has_pending(const struct bp_lcl *l)
{
	return atomic_load_explicit(&l->plan->lock.generation, memory_order_relaxed) !=
	       l->generation;
}
/* Takes it. Flows that were there before go on as they are. */
void bp_lcl_apply_pending(struct bp_lcl *l);

/*
 * For a worker that has taken its last frame: whatever is held leaves, due or not, time-sensitive
 * frames first, and so does what others still hand over. Ends when all of them have said here that
 * they have handed over their last.
 */
void bp_lcl_drain(struct bp_lcl *l);
/* When its schedulers next have something to send, by the worker's monotonic clock; UINT64_MAX: not
 * before more comes in. */
uint64_t bp_lcl_due(const struct bp_lcl *l);

/* ---- lcl_node.c ---- */

/* Octets of the longest frame that a port takes, without checksum: its MTU, the Ethernet header and
 * two VLAN tags; no more than a scheduler takes. */
uint32_t bp_lcl_frame_most(const struct bp_lcl_out *o);
/* Frames that are to leave by an LCL port of this worker, which came in at `in_ns`, at most
 * l->now_ns. Each is in the scheduler or was dropped afterwards. */
void bp_lcl_put_frames(struct bp_lcl_out *o, struct rte_mbuf *const *m, unsigned n, uint64_t in_ns);
/* The same of a port that another worker owns: into the ring to that. */
void bp_lcl_hand_over(struct bp_lcl_out *o, struct rte_mbuf *const *m, unsigned n, uint64_t in_ns);
/* Takes out of that ring. */
void bp_lcl_take_over(struct bp_lcl_out *o);

/* What the scheduler said of a frame. */
void bp_lcl_count_put(struct bp_lcl_out *o, struct bp_lcl_row *r, enum bp_lcl_put put);

/* Sends what is due on all ports that the worker owns; when draining, all that is held. Frames that
 * were taken out. `lcl`: a struct bp_lcl, since a worker's walk calls it (struct bp_after_node). */
unsigned bp_lcl_tick(void *lcl);

/* What a worker has for it; NULL: it has none. */
static inline struct bp_lcl *bp_lcl_of(const struct bp_worker *w)
{
	return w->service[BP_SERVICE_LCL];
}

/*
 * Labels end here: of frames that a service or the kernel takes in, and of frames whose buffers
 * become the answer to what was in them. Whatever leaves for them is another frame, of another
 * flow, and must not go out with their sequence numbers.
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
