/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/exception/serve.h"

#include "biplane/counters/general.h"
#include "dataplane/workers/worker.h"

static const bp_counter_t kernel_counter[BP_EX_CLASSES] = {
	[BP_EX_ROUTING] = BP_C_PUNTED_ROUTING,
	[BP_EX_PHD] = BP_C_PUNTED_PHD,
	[BP_EX_LOCAL] = BP_C_PUNTED_LOCAL,
	[BP_EX_OTHER] = BP_C_PUNTED_OTHER,
};

void bp_serve_init(struct bp_serve *s, struct bp_exception *x,
	struct bp_kernel_if *const interface[BP_MAX_INTERFACES], struct bp_counters *counters,
	const struct bp_config_punt *config, uint64_t now_ns)
{
	*s = (struct bp_serve){.x = x, .interface = interface, .counters = counters};
	for (unsigned c = 0; c < BP_EX_CLASSES; c++)
		bp_bucket_init(&s->bucket[c], config->policer[c].rate_pps, config->policer[c].burst,
			now_ns);
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++)
		if (x->to_kernel[0][i])
			s->queued[s->n_queued++] = (uint8_t)i;
}

/* Writes frames of one class to one interface. */
static void deliver(
	struct bp_serve *s, unsigned class, unsigned interface, struct rte_mbuf **m, unsigned n)
{
	struct bp_kernel_if *k = s->interface[interface];
	uint64_t *v = s->counters->v;
	unsigned taken;

	if (!k) {
		v[BP_C_DROP_NO_HOST_INTERFACE] += n;
		rte_pktmbuf_free_bulk(m, n);
		return;
	}
	taken = k->ops->write(k, m, n);
	v[kernel_counter[class]] += taken;
	v[BP_C_DROP_HOST_TX_FULL] += n - taken;
}

static unsigned serve_queue(struct bp_serve *s, unsigned class, unsigned interface, unsigned most)
{
	struct rte_mbuf *m[BP_SERVE_BATCH];
	unsigned n = rte_ring_sc_dequeue_burst(
		s->x->to_kernel[class][interface], (void **)m, most, NULL);

	if (n)
		deliver(s, class, interface, m, n);
	return n;
}

/*
 * Serves the interfaces once, round-robin: at most `part` frames of each and at most `most` in
 * total.
 */
static unsigned go_around(
	struct bp_serve *s, unsigned class, unsigned first, unsigned part, unsigned most)
{
	unsigned all = 0;

	for (unsigned k = 0; k < s->n_queued && all < most; k++) {
		unsigned at = first + k < s->n_queued ? first + k : first + k - s->n_queued;
		unsigned n = serve_queue(s, class, s->queued[at], RTE_MIN(part, most - all));

		if (n != 0 && all == 0)
			s->turn[class] = (uint8_t)(at + 1 < s->n_queued ? at + 1 : 0);
		all += n;
	}
	return all;
}

static unsigned serve_class(struct bp_serve *s, unsigned class, unsigned most)
{
	unsigned first = s->turn[class], part, n;

	if (most == 0 || s->n_queued == 0)
		return 0;
	part = RTE_MAX(most / s->n_queued, 1u);
	n = go_around(s, class, first, part, most);
	if (n != 0 && n < most)
		n += go_around(s, class, first, most, most - n);
	return n;
}

unsigned bp_serve_to_kernel(struct bp_serve *s, uint64_t now_ns)
{
	unsigned all = 0;

	for (unsigned c = 0; c < BP_EX_CLASSES; c++) {
		unsigned n =
			serve_class(s, c, bp_bucket_tokens(&s->bucket[c], now_ns, BP_SERVE_BATCH));

		bp_bucket_take(&s->bucket[c], n);
		all += n;
	}
	return all;
}

bool bp_serve_has_frames(const struct bp_serve *s)
{
	for (unsigned c = 0; c < BP_EX_CLASSES; c++)
		for (unsigned k = 0; k < s->n_queued; k++)
			if (!rte_ring_empty(s->x->to_kernel[c][s->queued[k]]))
				return true;
	return false;
}

static void lose(struct bp_serve *s, bp_counter_t reason, uint64_t n)
{
	s->counters->v[BP_C_FROM_KERNEL] += n;
	s->counters->v[reason] += n;
}

unsigned bp_serve_from_kernel(struct bp_serve *s, unsigned interface)
{
	struct bp_kernel_if *k = s->interface[interface];
	const unsigned worker = s->x->worker_of[interface];
	struct rte_ring *to = s->x->from_kernel[worker];
	struct rte_mbuf *m[BP_SERVE_BATCH];
	uint64_t lost = 0;
	unsigned n = k->ops->read(k, m, BP_SERVE_BATCH, &lost), put;

	for (unsigned i = 0; i < n; i++) {
		m[i]->port = (uint16_t)(interface < BP_MAX_PORTS ? interface : BP_NO_PORT);
		bp_exception_interface_set(m[i], interface);
	}
	put = rte_ring_sp_enqueue_burst(to, (void *const *)m, n, NULL);
	if (put != 0 && s->x->worker_wakeup[worker])
		bp_wakeup_ring(s->x->worker_wakeup[worker]);
	if (put < n)
		rte_pktmbuf_free_bulk(&m[put], n - put);
	lose(s, BP_C_DROP_HOST_RX_FULL, lost + n - put);
	return n + (unsigned)lost;
}

void bp_serve_finish(struct bp_serve *s)
{
	struct rte_mbuf *m[BP_SERVE_BATCH];
	unsigned n;

	for (unsigned c = 0; c < BP_EX_CLASSES; c++)
		while (serve_class(s, c, BP_SERVE_BATCH) != 0)
			;
	for (unsigned w = 0; w < s->x->n_workers; w++) {
		while ((n = bp_exception_take(s->x, w, m, BP_SERVE_BATCH)) != 0) {
			rte_pktmbuf_free_bulk(m, n);
			lose(s, BP_C_DROP_DRAINED_AT_SHUTDOWN, n);
		}
	}
}
