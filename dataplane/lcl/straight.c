/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/lcl/straight.h"

#include "dataplane/lcl/measure.h"
#include "dataplane/ports/port_send.h"
#include "proto/frame.h"

#define BATCH 64u
_Static_assert(BATCH % 8 == 0 && BP_LCL_PUT_OK == 0, "verdicts are looked at eight at a time");
/* So many frames further on, what will be read is asked for: drivers copy, and a burst is as large
 * as the first-level cache. */
#define AHEAD 4u

/* Frames that are put together. */
struct batch {
	struct bp_lcl_out *out; /* NULL: frames of this port go the general way */
	uint64_t in_ns;
	uint32_t most;  /* octets that the port takes */
	uint64_t begin; /* of a good label: EtherType and version */
	unsigned n;
	struct bp_lcl_arrival arrival[BATCH];
};

/* The port that a port's frames go straight to, where both are this worker's. */
static struct bp_lcl_out *way_out(const struct bp_lcl *l, uint16_t port)
{
	const unsigned edge = l->after[port];
	struct bp_lcl_out *o;

	if (!l->trust[port] || edge < BP_EDGE_PORT)
		return NULL;
	o = l->of[edge - BP_EDGE_PORT];
	return o && o->scheduler ? o : NULL;
}

static void put_batch(struct batch *b)
{
	struct bp_lcl_out *o = b->out;
	uint8_t put[BATCH];

	if (b->n == 0)
		return;
	bp_lcl_put_burst(o->scheduler, o->lcl->now_ns, b->arrival, b->n, put);
	memset(put + b->n, BP_LCL_PUT_OK, RTE_ALIGN_CEIL(b->n, 8u) - b->n);
	for (unsigned i = 0; i < b->n; i++) {
		struct rte_mbuf *m = b->arrival[i].frame;
		uint64_t eight;

		if (i % 8 == 0) { /* mostly there is nothing to tell of any of them */
			memcpy(&eight, put + i, sizeof(eight));
			if (eight == 0) {
				i += 7;
				continue;
			}
		}
		if (put[i] == BP_LCL_PUT_OK)
			continue;
		bp_lcl_count_put(o, &o->row[m->hash.fdir.lo], (enum bp_lcl_put)put[i]);
		if (unlikely(put[i] == BP_LCL_PUT_FULL))
			bp_port_drop(o->lcl->worker, o->port, BP_C_DROP_LCL_FULL, &m, 1);
	}
	b->n = 0;
}

static void turn_to(struct batch *b, struct bp_lcl *l, uint16_t port)
{
	put_batch(b);
	b->out = way_out(l, port);
	if (b->out)
		b->most = bp_lcl_frame_most(b->out);
}

/* A label, and what is behind it, as two numbers: EtherType, version, n, d; flow, sequence number,
 * EtherType behind it. */
struct words {
	uint64_t a, b;
};

static inline struct words read_words(const struct rte_mbuf *m)
{
	const uint8_t *at = rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_LCL_AT);
	struct words v;

	memcpy(&v.a, at, sizeof(v.a));
	memcpy(&v.b, at + sizeof(v.a), sizeof(v.b));
	return (struct words){rte_be_to_cpu_64(v.a), rte_be_to_cpu_64(v.b)};
}

/* Or may be in pieces. */
static inline bool may_be_labelled(const struct rte_mbuf *m, uint16_t ethertype)
{
	if (unlikely(m->data_len < BP_LCL_FRAME_MIN && m->nb_segs > 1))
		return true;
	return m->data_len >= BP_LCL_AT + sizeof(uint16_t) &&
	       bp_be16(rte_pktmbuf_mtod_offset(m, const uint8_t *, BP_LCL_AT)) == ethertype;
}

/* Whether a frame has a good label that it keeps, with no other behind it, and may be changed. */
static inline bool is_usual(const struct batch *b, const struct rte_mbuf *m, struct words *v)
{
	uint8_t n;
	int32_t d;

	if (unlikely(m->data_len < BP_LCL_FRAME_MIN || m->pkt_len > b->most))
		return false;
	*v = read_words(m);
	n = (uint8_t)(v->a >> 32);
	d = (int32_t)v->a;
	return v->a >> 40 == b->begin && (uint8_t)(n - 2) <= BP_LCL_HOPS_MAX - 2 &&
	       (uint32_t)d + BP_LCL_DELAY_MAX_NS <= 2u * BP_LCL_DELAY_MAX_NS &&
	       (uint16_t)v->b != (uint16_t)(b->begin >> 8) && bp_lcl_is_writable(m);
}

static inline void add(
	struct batch *b, struct bp_lcl_out *o, struct rte_mbuf *m, const struct words *v)
{
	const uint16_t flow = (uint16_t)(v->b >> 48);
	const uint8_t n = (uint8_t)(v->a >> 32);
	struct bp_lcl_row *r = bp_lcl_row_of(o, flow);
	struct bp_lcl_followed *f = &o->followed[flow];

	if (likely(f->row != 0)) /* not those of many flows together */
		bp_lcl_measure_sequence(r, (uint32_t)(v->b >> 16));
	bp_lcl_measure_last(r, false);
	m->hash.fdir.lo = f->row;
	*rte_pktmbuf_mtod_offset(m, uint8_t *, BP_LCL_AT + 3) = (uint8_t)(n - 1);
	b->arrival[b->n++] = (struct bp_lcl_arrival){.frame = m,
		.in_ns = b->in_ns,
		.d = (int32_t)v->a,
		.octets = m->pkt_len,
		.n = n,
		.last_slot = &f->last_slot};
	if (unlikely(b->n == BATCH))
		put_batch(b);
}

unsigned bp_lcl_go_straight(struct bp_lcl *l, struct rte_mbuf **m, unsigned n)
{
	struct batch b;                /* its arrays are large: they are not cleared */
	struct bp_lcl_out *out = NULL; /* as in b, until one must go the general way */
	uint32_t port = UINT32_MAX;
	bool behind = false; /* such a one */
	unsigned left = 0;

	b.in_ns = RTE_MIN(l->worker->mono_ns, l->now_ns);
	b.begin = (uint64_t)l->ethertype << 8 | BP_LCL_VERSION;
	b.out = NULL;
	b.n = 0;
	for (unsigned i = 0; i < n; i++) {
		struct words v;

		rte_prefetch0(rte_pktmbuf_mtod(m[RTE_MIN(i + AHEAD, n - 1)], void *));
		if (unlikely(m[i]->port != port)) {
			port = m[i]->port;
			turn_to(&b, l, m[i]->port);
			out = behind ? NULL : b.out;
		}
		if (out && likely(is_usual(&b, m[i], &v))) {
			add(&b, out, m[i], &v);
			continue;
		}
		if (out && may_be_labelled(m[i], l->ethertype)) {
			behind = true;
			out = NULL;
		}
		m[left++] = m[i];
	}
	put_batch(&b);
	return left;
}
