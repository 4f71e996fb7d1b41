/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_WORKERS_WORKER_H
#define BP_DATAPLANE_WORKERS_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_graph.h>
#include <rte_graph_worker.h>
#include <rte_mbuf.h>

#include "biplane/counters.h"
#include "biplane/limits.h"
#include "biplane/services.h"
#include "dataplane/forwarding/fdb.h"
#include "dataplane/forwarding/router.h"
#include "dataplane/wakeup.h"
#include "dataplane/workers/ruleset_copies.h"
#include "shm/doorbell.h"
#include "shm/layout.h"

/*
 * State of one worker lcore. Nothing here is shared with other workers except the MAC table (single
 * 64-bit atomics) and the state of rules.
 *
 * docs/developer/graph.md shows its graph. With section lcl, lcl-P (a port with a scheduler) or
 * lcl_plain-P replaces port_tx-P.
 *
 * An edge has the same number in every node, and leads to a node if it is in the table of the node
 * that takes it (dataplane/nodes/next.h). The edges to port_tx-P follow at BP_EDGE_PORT + P.
 */
#define BP_EDGES_OF_SERVICE 2
enum bp_edge {
	BP_EDGE_DROP,
	BP_EDGE_BRIDGE,
	BP_EDGE_CHECKSUM,
	BP_EDGE_IP4,
	BP_EDGE_IP6,
	BP_EDGE_FORWARD,
	BP_EDGE_EXCEPTION,
	BP_EDGE_ANSWER,
	BP_EDGE_VLAN,
	BP_EDGE_SERVICE, /* entry nodes of the services, as in their descriptors */
	BP_EDGE_PORT = BP_EDGE_SERVICE + BP_EDGES_OF_SERVICE * BP_SERVICE_COUNT, /* + port index */
#define BP_EDGE_OF(service, n) (BP_EDGE_SERVICE + BP_EDGES_OF_SERVICE * BP_SERVICE_##service + (n))
	BP_EDGE_LCL_IN = BP_EDGE_OF(LCL, 0),
	BP_EDGE_TRANSFORM = BP_EDGE_OF(TRANSFORM, 0),
	BP_EDGE_AGGREGATE = BP_EDGE_OF(AGGREGATION, 0),
	BP_EDGE_DISAGGREGATE = BP_EDGE_OF(AGGREGATION, 1),
	BP_EDGE_ETHERNET = BP_EDGE_OF(MQTT, 0),
	BP_EDGE_MQTT = BP_EDGE_OF(MQTT, 1),
	BP_EDGE_PHD = BP_EDGE_OF(HEALTH, 0),
	BP_EDGE_CSE = BP_EDGE_OF(HEALTH, 1),
};

#define BP_NO_PORT 0xff
/* As many as mqtt/batch.h reads together. */
#define BP_RX_BURST 64

struct bp_exception;
struct bp_capture_worker;

/*
 * Poll gaps of a worker: the time between two readings of the clock before a walk, which are 1 to
 * 16 walks apart. The worker writes long ones; the main thread reads them, and mono_ns as the
 * worker's heartbeat.
 */
struct bp_poll_gap {
	uint64_t notable_ns; /* shorter gaps are ignored: the only comparison in the loop */
	uint64_t limit_ns;   /* a longer gap is an overrun */
	uint64_t longest_ns; /* since the start */
	uint64_t overrun_ns; /* total of all overruns; counter poll_gaps counts them */
	uint64_t resumed_ns; /* end of the last gap of BP_PAUSE_NS; 0: none */
};
/* In such a time, routers send the traffic through another gateway. */
#define BP_PAUSE_NS 200000000ull

/* A change that a service of a worker applies between two walks: when *word differs from *seen,
 * apply(state) is called, which makes them equal. */
struct bp_pending {
	const _Atomic uint64_t *word; /* in shared memory, or written by the main thread */
	const uint64_t *seen;         /* owned by the worker */
	void (*apply)(void *state);
	void *state;
};

/* A function that a service of a worker runs after every node of its walks. */
struct bp_after_node {
	unsigned (*run)(void *state); /* returns the number of sent frames; NULL: no such service */
	void *state;
	struct rte_node *node; /* node for which its frames and cycles are counted */
};

struct bp_worker {
	/* read for every burst */
	struct bp_counters *counters;     /* this worker's, in the segment */
	struct bp_port_stats *port_stats; /* this worker's row: [BP_MAX_PORTS] */
	/* Unix time of this walk; the time of the captures in a replay */
	uint64_t now_ns;
	uint64_t mono_ns;               /* never decreases; the time of the captures in a replay */
	const struct bp_ruleset *rules; /* active during this walk */
	uint16_t mqtt_port;             /* the first of mqtt.tcp_ports */
	struct bp_exception *exception; /* NULL: no port is routed */
	/*
	 * The state of each service of dataplane/service.h; NULL: the worker does not have the
	 * service. The headers of the services have functions that return the typed pointer:
	 * bp_lcl_of() and so on.
	 */
	void *service[BP_SERVICE_COUNT];
	/*
	 * Frames, and their bytes, that were enqueued for port_tx-P in this walk by a node that
	 * counted them: they must not be counted again.
	 */
	struct {
		uint32_t frames, bytes;
	} tx_precounted[BP_MAX_PORTS];
	struct bp_router router;
	struct bp_pending pending[BP_SERVICE_COUNT];
	unsigned n_pending;
	struct bp_after_node after_node; /* set by a service's begin() */
	bool needs_time;                 /* a service needs the time in every walk */
	/* wakes the control plane; nodes that write records call bp_doorbell_check() */
	struct bp_doorbell doorbell;
	/* by DPDK port id, which is the index in the configuration */
	uint8_t onward[BP_MAX_PORTS]; /* edge of its received frames */
	uint8_t enter[BP_MAX_PORTS];  /* edge of its frames after checksum completion */
	uint8_t inner[BP_MAX_PORTS];  /* the same, of the frames that node transform did not take */
	uint8_t network[BP_MAX_PORTS]; /* of its connections, for inspection */
	uint32_t prepare;              /* bit per port whose frames need bp_port_prepare() */
	uint32_t capture_tx;           /* bit per port whose sent frames are captured */
	/* Bit per port whose frames may be aggregates, each of which becomes many frames; and the
	 * burst size of such a port. */
	uint32_t small_burst;
	uint16_t small_burst_size;
	bool capture_drops; /* dropped frames are captured */
	bool tracing;       /* the frame that is processed is traced */
	/*
	 * Bit per port: partial checksums of its frames are left to the output device; its device
	 * completes them.
	 */
	uint32_t leaves_checksums, sends_checksums;
	/* maximum number of buffers of an output frame; 0: unlimited */
	uint8_t tx_segments[BP_MAX_PORTS];
	uint8_t bridge_of[BP_MAX_INTERFACES]; /* index of its bridge, or BP_NO_PORT */
	uint16_t mtu[BP_MAX_PORTS];           /* 0: no such port */
	uint16_t tx_queue[BP_MAX_PORTS]; /* queue of this worker on each port; UINT16_MAX: none */
	/* bridges: members as port ids */
	bool trust_checksum; /* mqtt.verify_checksums: false */
	/*
	 * Inspection checks ingress ports; false in a replay, where one port has both directions,
	 * and inspection knows the port of the client only.
	 */
	bool checks_ingress;
	uint8_t n_bridges;
	struct bp_fdb fdb; /* by bridge */
	uint8_t bridge_n[BP_MAX_BRIDGES];
	uint8_t bridge_port[BP_MAX_BRIDGES][BP_MAX_PORTS];
	uint8_t bridge_host[BP_MAX_BRIDGES];       /* number of its host interface, or BP_NO_PORT */
	uint8_t sub_network[BP_MAX_SUBINTERFACES]; /* as `network` */
	struct rte_mempool *pool;                  /* for copies and mirrored frames */
	struct rte_node *mqtt_node;                /* source of mirrored frames; set by that node */
	/* start and stop */
	unsigned index; /* 0.. */
	unsigned lcore;
	struct rte_graph *graph;
	struct bp_shm *shm;
	struct bp_port_drops *port_drops; /* this worker's row: [BP_MAX_PORTS] */
	/* NULL: the worker uses the rules of the segment itself */
	struct bp_ruleset_copies *ruleset_copies;
	uint64_t rules_active;
	uint64_t rx_frames; /* frames received from all ports; shows an empty walk */
	struct bp_poll_gap away;
	struct bp_capture_worker *capture; /* NULL: no captures */
	uint64_t seed; /* for values that must be unpredictable, and differ after a restart */
	_Atomic bool stop;
	/* Rung by other threads when they have work for the worker; not in a line it writes often.
	 */
	struct bp_wakeup wakeup __rte_cache_aligned;
} __rte_cache_aligned;

/* The 16 bytes of private data of a node. */
struct bp_node_ctx {
	struct bp_worker *worker;
	uint16_t port;  /* port_rx, port_tx */
	uint16_t queue; /* port_rx, port_tx */
	uint16_t next;  /* port_rx: the edge of its frames */
	uint16_t flags;
};
_Static_assert(sizeof(struct bp_node_ctx) <= RTE_NODE_CTX_SZ, "node context");

static inline struct bp_node_ctx *bp_node_ctx(struct rte_node *node)
{
	return (struct bp_node_ctx *)node->ctx;
}

/* Adds to one of this worker's counters; the only writer is this worker. */
static inline void bp_count(struct bp_worker *w, bp_counter_t c, uint64_t n)
{
	w->counters->v[c] += n;
}

/* Counts n dropped frames, by a counter of group DROP, for all ports and for one: the input port,
 * or the output port if its queue or driver is the reason. port >= BP_MAX_PORTS: none. */
static inline void bp_count_drops(
	struct bp_worker *w, unsigned port, bp_counter_t reason, uint64_t n)
{
	bp_count(w, reason, n);
	if (port < BP_MAX_PORTS)
		w->port_drops[port].n[bp_drop_slot[reason]] += n;
}

/* For begin() of a service: registers a change that the worker applies between walks. */
static inline void bp_worker_pending(struct bp_worker *w, const _Atomic uint64_t *word,
	const uint64_t *seen, void (*apply)(void *state), void *state)
{
	w->pending[w->n_pending++] = (struct bp_pending){word, seen, apply, state};
}

/* Edge of nodes ethernet, mqtt and checksum for a frame received on `port`. */
static inline rte_edge_t bp_forward_edge(const struct bp_worker *w, uint16_t port)
{
	return w->onward[port];
}

/* Stores the reason in a dropped frame: a bp_counter_t of group DROP. */
static inline void bp_drop_reason_set(struct rte_mbuf *m, bp_counter_t reason)
{
	m->hash.fdir.hi = reason;
}

#endif
