/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_AGGREGATION_WORKER_H
#define BP_DATAPLANE_AGGREGATION_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "services/aggregation/aggregator.h"
#include "services/aggregation/disaggregator.h"
#include "services/aggregation/pacer.h"
#include "dataplane/ports/link.h"
#include "dataplane/nodes/edge_batch.h"
#include "dataplane/workers/mbuf_stock.h"
#include "dataplane/workers/worker.h"

struct bp_config;

/*
 * What a worker has for aggregation: both cores, the queues of what waits for its pace, and what
 * nodes aggregate, disaggregate and agg_timer share. Rules change between two bursts, in node
 * agg_timer, which every walk begins with. There a lost link is noticed, too, any port's: nothing
 * is held then, neither aggregates nor what waits for its pace, which would be late when it is
 * back.
 */

/* The burst that node aggregate works on. */
struct bp_agg_burst {
	struct bp_agg_input in[BP_RX_BURST] __rte_cache_aligned; /* two in a line */
	struct rte_mbuf *const *m;
	bool plain;       /* frames as dataplane/workers/mbuf_fast_free.h has it */
	unsigned settled; /* so many of them were sent on, or noted as taken */
	/* Of those settled, the ones whose messages are in aggregates. While that is all of them,
	 * they are as they lie in m[], and not listed. */
	bool listed;
	unsigned n_taken;
	struct rte_mbuf *taken[BP_RX_BURST];
};

struct bp_agg_worker {
	struct bp_worker *worker;
	struct bp_aggregator *aggregator; /* both NULL until bp_agg_worker_begin() */
	struct bp_disaggregator *disaggregator;
	/* edges of what was not taken, by port that it came in on */
	uint8_t after_aggregate[BP_MAX_PORTS], after_disaggregate[BP_MAX_PORTS];
	bool learns;      /* a learning bridge has one of the ports */
	bool draining;    /* nothing is held any more */
	bool releasing;   /* what waits for its pace leaves, a bounded number each walk */
	bool mtu_changed; /* the least of all ports */
	uint16_t min_mtu;
	uint16_t id; /* IPv4 identification of restored messages */
	uint32_t link_losses;
	uint64_t generation; /* of the plan that was taken or found */
	const struct bp_agg_shared_rules *plan;
	struct bp_agg_burst burst;
	struct bp_edge_batch out;
	void *out_frames[BP_EDGE_BATCH_SIZE];
	/* For restored messages, and for aggregates; both empty between bursts. */
	struct bp_mbuf_stock stock, buffers;
	struct bp_disagg_packet packet;
	/* an aggregate that came in several buffers, put together: the longest IP packet there is,
	 * with its Ethernet header and two tags */
	uint8_t whole[UINT16_MAX + BP_ETHER_HDR + 8];
	/* of each entry of `decapsulate`; those with a pacing gap are listed */
	struct bp_pacer pacer[BP_AGG_RULES_MAX];
	uint8_t paced[BP_AGG_RULES_MAX];
	unsigned n_paced;
	uint32_t waiting, waiting_most; /* in all of them */
	uint32_t restored;              /* messages, since node disaggregate was entered */
	struct bp_agg_rules rules, next;
	/* what bp_agg_worker_begin() needs */
	struct bp_aggregator_options options;
	struct bp_disagg_stats *disagg_stats;
};

/*
 * `rules` and bounds are those of the configuration; `tables` this segment's. NULL: no memory. The
 * worker's graph begins it.
 */
struct bp_agg_worker *bp_agg_worker_create(
	const struct bp_config *c, const struct bp_agg_tables *tables, unsigned worker);
void bp_agg_worker_free(struct bp_agg_worker *g); /* NULL is allowed; loses what it still holds */

/* Once the worker's pool, MTUs and `onward` are known: the rules come into force. 0, or -1 with a
 * sentence. */
int bp_agg_worker_begin(struct bp_agg_worker *g, struct bp_worker *w, char *err, size_t err_size);

/* Frames of paced entries that may wait at one time in all of a worker's queues, for whoever sizes
 * pools: rules that come by reload share it. */
uint32_t bp_agg_worker_max_paced(const struct bp_config *c);

/* The edge by which frames of a port enter; `next`: where those go that are not taken. */
rte_edge_t bp_agg_worker_enter(struct bp_agg_worker *g, unsigned port, rte_edge_t next);

/* Every few walks: looks whether the least MTU is another one. */
void bp_agg_worker_tick(struct bp_agg_worker *g);

/* The aggregator's hooks. */
uint8_t *bp_agg_worker_get_buffer(void *arg, void **buffer);
void bp_agg_worker_send(void *arg, const struct bp_agg_output *out);
void bp_agg_worker_count_lost(void *arg, unsigned messages);

/* A frame of an entry with a pacing gap, behind those that wait. */
void bp_agg_worker_pace(struct bp_agg_worker *g, unsigned rule, struct rte_mbuf *m);
/* Sends what has waited its time for its pace; how many. */
unsigned bp_agg_worker_send_due(struct bp_agg_worker *g);
/*
 * Sends all aggregates, and what waits for its pace, due or not: BP_AGG_AT_ONCE of either at most,
 * since a node's stream holds no more than 65,535 and the queue of a port far less. True: that was
 * all. Else there is more for the next walk, and until then queues grow no longer.
 */
bool bp_agg_worker_drain(struct bp_agg_worker *g, enum bp_agg_flush reason);
/* Whether an aggregate is being built or something waits for its pace. */
bool bp_agg_worker_holds(const struct bp_agg_worker *g);
/* What node agg_timer does where bp_agg_worker_config_changed(). */
void bp_agg_worker_apply_pending(struct bp_agg_worker *g);

/* Whether rules, links or MTUs have changed: two loads of lines that seldom do. */
static inline bool bp_agg_worker_config_changed(const struct bp_agg_worker *g)
{
	return atomic_load_explicit(&g->plan->lock.generation, memory_order_relaxed) !=
		       g->generation ||
	       atomic_load_explicit(&bp_link_losses, memory_order_relaxed) != g->link_losses ||
	       g->mtu_changed;
}

/* What a worker has for it; NULL: it has none. */
static inline struct bp_agg_worker *bp_agg_worker_of(const struct bp_worker *w)
{
	return w->service[BP_SERVICE_AGGREGATION];
}

static inline bool bp_agg_port_routes(const struct bp_worker *w, unsigned port)
{
	return w->onward[port] == BP_EDGE_IP4;
}

/* A port that routes and is down takes nothing: the cores may look at no octet of its frames. */
static inline bool bp_agg_port_is_down(const struct bp_worker *w, unsigned port)
{
	return bp_agg_port_routes(w, port) && w->router.rx_mac[port] == BP_RX_MAC_DOWN;
}

/* When node agg_timer next has something to send, by the worker's monotonic clock; UINT64_MAX: not
 * before more comes in. */
uint64_t bp_agg_worker_next_due(const struct bp_agg_worker *g);

#endif
