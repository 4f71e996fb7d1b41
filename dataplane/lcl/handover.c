/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/lcl/handover.h"

#include <stdio.h>
#include <stdlib.h>

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

struct bp_lcl_shared *bp_lcl_shared_create(
	const struct bp_config *c, const uint8_t *owner, char *err, size_t err_size)
{
	struct bp_lcl_shared *s = calloc(1, sizeof(*s));

	if (!s) {
		snprintf(err, err_size, "no memory for what workers share of LCL ports");
		return NULL;
	}
	for (unsigned i = 0; i < c->lcl.n_ports; i++) {
		struct bp_lcl_handover *h = &s->port[i];
		char name[RTE_RING_NAMESIZE];

		s->n = i + 1;
		h->owner = owner[i];
		snprintf(name, sizeof(name), "bp-lcl-%u", i);
		h->ring = rte_ring_create(name, c->lcl.port[i].handover, (int)rte_socket_id(),
			RING_F_SC_DEQ | RING_F_EXACT_SZ);
		if (!h->ring) {
			snprintf(err, err_size, "no ring of %u frames for LCL port %s: %s",
				c->lcl.port[i].handover, c->port[c->lcl.port[i].port].name,
				rte_strerror(rte_errno));
			bp_lcl_shared_free(s);
			return NULL;
		}
	}
	return s;
}

void bp_lcl_shared_free(struct bp_lcl_shared *s)
{
	void *m;

	if (!s)
		return;
	for (unsigned i = 0; i < s->n; i++) {
		while (s->port[i].ring && rte_ring_dequeue(s->port[i].ring, &m) == 0)
			rte_pktmbuf_free(m);
		rte_ring_free(s->port[i].ring);
	}
	free(s);
}

void bp_lcl_shared_producing(struct bp_lcl_shared *s, unsigned worker, bool on)
{
	atomic_store_explicit(&s->producing[worker], on, memory_order_release);
}

bool bp_lcl_shared_busy(const struct bp_lcl_shared *s)
{
	for (unsigned w = 0; w < BP_MAX_WORKERS; w++)
		if (atomic_load_explicit(&s->producing[w], memory_order_acquire))
			return true;
	return false;
}
