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
 * The per-worker state of aggregation: both cores, the queues of paced frames, and the state that
 * nodes aggregate, disaggregate and agg_timer share. Rules change between two bursts, in node
 * agg_timer, which begins every walk. That node also detects a lost link of any port. Then no frame
 * is held: neither aggregates nor paced frames, which would be late when the link is up again.
 */

/* The burst that node aggregate works on. */
struct bp_agg_burst {
	struct bp_agg_input in[BP_RX_BURST] __rte_cache_aligned; /* two per cache line */
	struct rte_mbuf *const *m;
	bool plain;       /* all frames are as dataplane/workers/mbuf_fast_free.h requires */
	unsigned settled; /* number of frames that were sent, or recorded as taken */
	/*
	 * The settled frames whose messages are in aggregates. While all settled frames are taken,
	 * they are the first ones of m[] and are not listed.
	 */
	bool listed;
	unsigned n_taken;
	struct rte_mbuf *taken[BP_RX_BURST];
};

struct bp_agg_worker {
	struct bp_worker *worker;
	struct bp_aggregator *aggregator; /* both NULL until bp_agg_worker_begin() */
	struct bp_disaggregator *disaggregator;
	/* edges of the frames that are not taken, by input port */
	uint8_t after_aggregate[BP_MAX_PORTS], after_disaggregate[BP_MAX_PORTS];
	/* edges of restored messages: node transform, or as onward[] of the worker */
	uint8_t after_restored[BP_MAX_PORTS];
	bool learns;      /* a port is in a learning bridge */
	bool draining;    /* no frame is held any more */
	bool releasing;   /* paced frames leave, a limited number in each walk */
	bool mtu_changed; /* the minimum MTU of all ports has changed */
	uint16_t min_mtu;
	uint16_t id; /* IPv4 identification of restored messages */
	uint32_t link_losses;
	uint64_t generation; /* of the last plan that was applied or found */
	const struct bp_agg_shared_rules *plan;
	struct bp_agg_burst burst;
	struct bp_edge_batch out;
	void *out_frames[BP_EDGE_BATCH_SIZE];
	/* For restored messages, and for aggregates; both empty between bursts. */
	struct bp_mbuf_stock stock, buffers;
	struct bp_disagg_packet packet;
	/*
	 * an aggregate that arrived in several buffers, made contiguous: the maximum IP packet with
	 * its Ethernet header and two tags
	 */
	uint8_t whole[UINT16_MAX + BP_ETHER_HDR + 8];
	/* one for each entry of `decapsulate`; entries with a pacing gap are listed */
	struct bp_pacer pacer[BP_AGG_RULES_MAX];
	uint8_t paced[BP_AGG_RULES_MAX];
	unsigned n_paced;
	uint32_t waiting, waiting_most; /* in all queues */
	uint32_t restored;              /* messages restored since node disaggregate was entered */
	struct bp_agg_rules rules, next;
	/* arguments of bp_agg_worker_begin() */
	struct bp_aggregator_options options;
	struct bp_disagg_stats *disagg_stats;
};

/*
 * `rules` and limits are those of the configuration; `tables` those of this segment. The caller
 * frees the result with bp_agg_worker_free(). NULL: no memory. The graph of the worker calls
 * bp_agg_worker_begin().
 */
struct bp_agg_worker *bp_agg_worker_create(
	const struct bp_config *c, const struct bp_agg_tables *tables, unsigned worker);
/* NULL is allowed. Frames that are still held are lost. */
void bp_agg_worker_free(struct bp_agg_worker *g);

/*
 * Called once the pool, the MTUs and `onward` of the worker are known: activates the rules. 0, or
 * -1 with a message in `err`.
 */
int bp_agg_worker_begin(struct bp_agg_worker *g, struct bp_worker *w, char *err, size_t err_size);

/*
 * Maximum number of paced frames in all queues of a worker at one time; used to size the pools.
 * Rules added by a reload share it.
 */
uint32_t bp_agg_worker_max_paced(const struct bp_config *c);

/*
 * The edge by which the frames of a port enter. `next` is the edge of the frames that are not
 * taken.
 */
rte_edge_t bp_agg_worker_enter(struct bp_agg_worker *g, unsigned port, rte_edge_t next);

/*
 * Called after bp_agg_worker_enter() for a port with entries of `transform`. If the port has
 * entries of `decapsulate`, its frames enter by node disaggregate, then pass node transform, and
 * then node aggregate if the port has such entries: *next is the edge after node transform. So
 * restored messages, and messages that were not in an aggregate, pass node transform in order.
 * False: the port has none; nothing was changed. NULL is allowed.
 */
bool bp_agg_worker_enter_before_transform(struct bp_agg_worker *g, unsigned port, rte_edge_t *next);

/* Called every few walks: checks whether the minimum MTU has changed. */
void bp_agg_worker_tick(struct bp_agg_worker *g);

/* The callbacks of the aggregator. */
uint8_t *bp_agg_worker_get_buffer(void *arg, void **buffer);
void bp_agg_worker_send(void *arg, const struct bp_agg_output *out);
void bp_agg_worker_count_lost(void *arg, unsigned messages);

/* Appends a frame of an entry with a pacing gap to the queue of the entry. */
void bp_agg_worker_pace(struct bp_agg_worker *g, unsigned rule, struct rte_mbuf *m);
/* Sends the frames whose pacing gap has passed. Returns their number. */
unsigned bp_agg_worker_send_due(struct bp_agg_worker *g);
/*
 * Sends all aggregates and paced frames, due or not, but at most BP_AGG_AT_ONCE of either, since a
 * stream between nodes holds 65,535 frames and the queue of a port far fewer. True: none is left.
 * False: the rest is sent in the next walk, and the queues do not grow until then.
 */
bool bp_agg_worker_drain(struct bp_agg_worker *g, enum bp_agg_flush reason);
/* Whether an aggregate is being built or a frame waits for its pacing gap. */
bool bp_agg_worker_holds(const struct bp_agg_worker *g);
/* Called by node agg_timer if bp_agg_worker_config_changed(). */
void bp_agg_worker_apply_pending(struct bp_agg_worker *g);

/* Whether rules, links or MTUs have changed: two loads of cache lines that seldom change. */
static inline bool bp_agg_worker_config_changed(const struct bp_agg_worker *g)
{
	return atomic_load_explicit(&g->plan->lock.generation, memory_order_relaxed) !=
		       g->generation ||
	       atomic_load_explicit(&bp_link_losses, memory_order_relaxed) != g->link_losses ||
	       g->mtu_changed;
}

/* The aggregation state of a worker; NULL: aggregation is not configured. */
static inline struct bp_agg_worker *bp_agg_worker_of(const struct bp_worker *w)
{
	return w->service[BP_SERVICE_AGGREGATION];
}

static inline bool bp_agg_port_routes(const struct bp_worker *w, unsigned port)
{
	return w->onward[port] == BP_EDGE_IP4;
}

/* A routed port that is down accepts no frames: the cores must not read their bytes. */
static inline bool bp_agg_port_is_down(const struct bp_worker *w, unsigned port)
{
	return bp_agg_port_routes(w, port) && w->router.rx_mac[port] == BP_RX_MAC_DOWN;
}

/*
 * When node agg_timer next has a frame to send, on the monotonic clock of the worker, ns;
 * UINT64_MAX: not before another frame arrives.
 */
uint64_t bp_agg_worker_next_due(const struct bp_agg_worker *g);

#endif
