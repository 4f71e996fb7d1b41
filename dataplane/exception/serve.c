/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/exception/serve.h"

#include "dataplane/worker.h"

static const enum bp_counter kernel_counter[BP_EX_CLASSES] = {
	[BP_EX_ROUTING] = BP_C_KERNEL_ROUTING,
	[BP_EX_PHD] = BP_C_KERNEL_PHD,
	[BP_EX_LOCAL] = BP_C_KERNEL_LOCAL,
	[BP_EX_OTHER] = BP_C_KERNEL_OTHER,
};

void bp_serve_init(struct bp_serve *s, struct bp_exception *x,
	struct bp_kernel_if *const interface[BP_MAX_INTERFACES], struct bp_counters *counters,
	const struct bp_config_exception *config, uint64_t now_ns)
{
	*s = (struct bp_serve){.x = x, .interface = interface, .counters = counters};
	for (unsigned c = 0; c < BP_EX_CLASSES; c++)
		bp_bucket_init(
			&s->bucket[c], config->class[c].rate, config->class[c].burst, now_ns);
}

static struct bp_kernel_if *find(const struct bp_serve *s, const struct rte_mbuf *m)
{
	unsigned i = bp_exception_interface(m);

	return i < BP_MAX_INTERFACES ? s->interface[i] : NULL;
}

/* Frames of one class: those that follow each other to the same interface go together. */
static void deliver(struct bp_serve *s, unsigned class, struct rte_mbuf **m, unsigned n)
{
	uint64_t *v = s->counters->v;

	for (unsigned i = 0, end; i < n; i = end) {
		struct bp_kernel_if *k = find(s, m[i]);
		unsigned taken;

		for (end = i + 1; end < n && find(s, m[end]) == k; end++)
			;
		if (!k) {
			v[BP_C_DROP_NO_KERNEL] += end - i;
			rte_pktmbuf_free_bulk(&m[i], end - i);
			continue;
		}
		taken = k->ops->write(k, &m[i], end - i);
		v[kernel_counter[class]] += taken;
		v[BP_C_DROP_KERNEL_TX] += end - i - taken;
	}
}

static unsigned serve_class(struct bp_serve *s, unsigned class, unsigned most)
{
	struct rte_mbuf *m[BP_SERVE_BATCH];
	unsigned n = rte_ring_sc_dequeue_burst(s->x->to_kernel[class], (void **)m, most, NULL);

	if (n)
		deliver(s, class, m, n);
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

static void lose(struct bp_serve *s, enum bp_counter reason, uint64_t n)
{
	s->counters->v[BP_C_FROM_KERNEL] += n;
	s->counters->v[reason] += n;
}

unsigned bp_serve_from_kernel(struct bp_serve *s, unsigned interface)
{
	struct bp_kernel_if *k = s->interface[interface];
	struct rte_ring *to = s->x->from_kernel[s->x->worker_of[interface]];
	struct rte_mbuf *m[BP_SERVE_BATCH];
	uint64_t lost = 0;
	unsigned n = k->ops->read(k, m, BP_SERVE_BATCH, &lost), put;

	for (unsigned i = 0; i < n; i++) {
		m[i]->port = (uint16_t)(interface < BP_MAX_PORTS ? interface : BP_NO_PORT);
		bp_exception_interface_set(m[i], interface);
	}
	put = rte_ring_sp_enqueue_burst(to, (void *const *)m, n, NULL);
	if (put < n)
		rte_pktmbuf_free_bulk(&m[put], n - put);
	lose(s, BP_C_DROP_KERNEL_RX, lost + n - put);
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
			lose(s, BP_C_DROP_FLUSHED, n);
		}
	}
}
