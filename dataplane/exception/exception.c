/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/exception/exception.h"

#include "biplane/counters/general.h"
#include "config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

static struct rte_ring *make_ring(const char *what, unsigned i, unsigned count, unsigned flags)
{
	static unsigned made; /* makes names unique in a process; written by the main thread only */
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "bp-%s%u-%u", what, i, made++);
	return rte_ring_create(name, RTE_MAX(count, 1u), SOCKET_ID_ANY, flags | RING_F_EXACT_SZ);
}

static bool needs_kernel_interface(const struct bp_config *c, unsigned interface)
{
	const char *name;
	const struct bp_config_interface *k = bp_config_interface(c, interface, &name);

	return k && k->backend != BP_BACKEND_OFF;
}

/* The first worker that may send on the port and polls a queue, so that it walks. */
static unsigned worker_of_port(
	const struct bp_config *c, const struct bp_queue_plan *p, unsigned port)
{
	uint64_t polling = 0;
	int sends = -1;

	for (unsigned i = 0; i < c->n_ports; i++)
		polling |= bp_queue_plan_workers(p, i);
	for (unsigned w = 0; w < p->n_workers; w++) {
		if (p->port[port].tx_queue[w] == UINT16_MAX)
			continue;
		if (polling >> w & 1)
			return w;
		if (sends < 0)
			sends = (int)w;
	}
	return sends < 0 ? 0 : (unsigned)sends;
}

static void choose_workers(
	struct bp_exception *x, const struct bp_config *c, const struct bp_queue_plan *plan)
{
	for (unsigned i = 0; plan && i < c->n_ports; i++)
		x->worker_of[i] = (uint8_t)worker_of_port(c, plan, i);
	for (unsigned b = 0; plan && b < c->n_bridges; b++)
		if (!plan->bridge[b].spread)
			x->worker_of[BP_MAX_PORTS + b] = plan->bridge[b].worker;
}

struct bp_exception *bp_exception_create(
	const struct bp_config *c, const struct bp_queue_plan *plan, char *err, size_t err_size)
{
	struct bp_exception *x = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*x));
	bool complete = true;
	unsigned producers;

	if (!x) {
		snprintf(err, err_size, "no memory");
		return NULL;
	}
	memset(x, 0, sizeof(*x));
	bp_wakeup_none(&x->thread_wakeup);
	x->n_workers = plan ? plan->n_workers : 1;
	x->originated_counter = BP_C_FROM_KERNEL;
	/* a worker that is preempted during an enqueue does not delay the others */
	producers = x->n_workers == 1 ? RING_F_SP_ENQ : RING_F_MP_RTS_ENQ;
	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++) {
		if (!needs_kernel_interface(c, i))
			continue;
		for (unsigned e = 0; e < BP_EX_CLASSES; e++) {
			x->to_kernel[e][i] = make_ring(
				"exc", i, c->punt.policer[e].queue_len, producers | RING_F_SC_DEQ);
			complete &= x->to_kernel[e][i] != NULL;
		}
	}
	for (unsigned w = 0; w < x->n_workers; w++) {
		x->from_kernel[w] =
			make_ring("krx", w, BP_EXCEPTION_FROM_QUEUE, RING_F_SP_ENQ | RING_F_SC_DEQ);
		complete &= x->from_kernel[w] != NULL;
	}
	choose_workers(x, c, plan);
	if (complete)
		return x;
	snprintf(err, err_size,
		"no memory for the queues towards the kernel (%s); lower "
		"punt.policers.*.queue_len, or give DPDK more memory",
		rte_strerror(rte_errno));
	bp_exception_free(x);
	return NULL;
}

bool bp_exception_stand_in(struct bp_exception *x, bp_counter_t originated_counter)
{
	x->stand_in = make_ring("own", 0, BP_EXCEPTION_FROM_QUEUE, RING_F_SP_ENQ | RING_F_SC_DEQ);
	x->originated_counter = originated_counter;
	return x->stand_in != NULL;
}

static void free_ring(struct rte_ring *r)
{
	void *m;

	while (r && rte_ring_dequeue(r, &m) == 0)
		rte_pktmbuf_free(m);
	rte_ring_free(r);
}

void bp_exception_free(struct bp_exception *x)
{
	if (!x)
		return;
	for (unsigned e = 0; e < BP_EX_CLASSES; e++)
		for (unsigned i = 0; i < BP_MAX_INTERFACES; i++)
			free_ring(x->to_kernel[e][i]);
	for (unsigned w = 0; w < x->n_workers; w++)
		free_ring(x->from_kernel[w]);
	free_ring(x->stand_in);
	free(x);
}

uint32_t bp_exception_mbufs(const struct bp_config *c)
{
	uint64_t interfaces = 0, mbufs = 0;

	for (unsigned i = 0; i < BP_MAX_INTERFACES; i++)
		interfaces += needs_kernel_interface(c, i);
	if (interfaces == 0)
		return 0;
	for (unsigned e = 0; e < BP_EX_CLASSES; e++)
		mbufs += interfaces * c->punt.policer[e].queue_len;
	/* frames that the backend of an interface holds, and the queues to the workers */
	mbufs += interfaces * BP_EXCEPTION_FROM_QUEUE;
	mbufs += (uint64_t)c->n_workers * BP_EXCEPTION_FROM_QUEUE;
	return (uint32_t)RTE_MIN(mbufs, (uint64_t)INT32_MAX);
}
