/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/replay/replay_internal.h"

#include <stdio.h>

#include <rte_errno.h>
#include <rte_mbuf.h>

#include "dataplane/exception/exception.h"
#include "dataplane/workers/graph.h"
#include "dataplane/ports/link.h"
#include "dataplane/service.h"
#include "dataplane/forwarding/mac_table.h"
#include "dataplane/workers/workers.h"
#include "config/fib_static.h"
#include "shm/layout.h"
#include "config/segment.h"

/* One jumbo frame can contain thousands of publications, each of which may be mirrored. */
#define DEPTH 8192
#define MBUFS 8191
#define DATA_ROOM (9216 + RTE_PKTMBUF_HEADROOM)
#define MBUF_BYTES (DATA_ROOM + 512u) /* with what DPDK adds */
/*
 * Buffers for frames that services hold. At this limit aggregation flushes early, and schedulers
 * end the replay.
 */
#define MAX_QUEUED 32768ull

/* There is no kernel in a replay: routes and neighbors are those of the configuration file. */
static int load_routes(struct bp_replay *r)
{
	if (!bp_config_routes(r->config))
		return 0;
	r->writer = bp_fib_writer_new(&r->shm.fib, NULL, NULL, r->err, sizeof(r->err));
	if (!r->writer)
		return -1;
	return bp_fib_static_apply(r->writer, r->config, false, NULL, r->err, sizeof(r->err));
}

/* Fills the segment as the planes of a live gateway would, for commands that show its tables. */
static void name_ports(struct bp_replay *r)
{
	for (unsigned p = 0; p < r->config->n_ports; p++)
		snprintf(r->shm.ports[p].name, sizeof(r->shm.ports[p].name), "%s",
			r->config->port[p].name);
	atomic_store(&r->shm.global->dp_ports, r->config->n_ports);
}

static int map_segment(struct bp_replay *r)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	unsigned n = bp_shm_specs(r->config, specs);
	struct bp_segment *s = bp_segment_anonymous(specs, n, r->err, sizeof(r->err));

	if (!s)
		return -1;
	if (bp_shm_map(&r->shm, s, r->err, sizeof(r->err)) == 0) {
		name_ports(r);
		return bp_services_publish(r->config, &r->shm, r->err, sizeof(r->err)) != 0
			       ? -1
			       : load_routes(r);
	}
	bp_segment_close(s);
	r->shm.segment = NULL;
	return -1;
}

static int make_worker(struct bp_replay *r)
{
	const struct bp_config *c = r->config;
	struct bp_rx_queue queues[BP_MAX_PORTS] = {0};

	if (bp_fdb_create(&r->fdb, c, r->err, sizeof(r->err)) != 0)
		return -1;
	/* the same input gives the same output */
	for (unsigned b = 0; b < c->n_bridges; b++) {
		if (!r->fdb.of[b])
			continue;
		r->fdb.of[b]->key[0] = 0;
		r->fdb.of[b]->key[1] = 0x9e3779b97f4a7c15;
	}
	r->worker = bp_worker_create(c, &r->shm, 0, &r->fdb, true, r->err, sizeof(r->err));
	if (!r->worker)
		return -1;
	r->worker->pool = r->pool;
	r->worker->mono_ns = bp_captures_time(r->captures);
	if (r->writer) {
		r->exception = bp_exception_create(c, NULL, r->err, sizeof(r->err));
		if (!r->exception)
			return -1;
		r->worker->exception = r->exception;
	}
	if (r->worker->service[BP_SERVICE_HEALTH]) {
		r->phd = bp_replay_phd_new(c, &r->shm, r->worker, r->err, sizeof(r->err));
		if (!r->phd)
			return -1;
	}
	for (unsigned p = 0; p < c->n_ports; p++)
		queues[p] = (struct bp_rx_queue){.port = (uint16_t)p, .set_port = true};
	return bp_graph_build(r->worker, "biplane-replay", c->n_ports, queues, c->n_ports, r->err,
		sizeof(r->err));
}

int bp_replay_start(struct bp_replay *r)
{
	struct bp_event_ring ring;
	unsigned more;

	/* one worker, regardless of the live gateway: the order of frames must be unique */
	r->config->n_workers = 1;
	more = (unsigned)RTE_MIN(bp_services_mbufs(r->config), MAX_QUEUED);
	if (bp_ring_eal_more(
		    (unsigned)((uint64_t)more * MBUF_BYTES >> 20), r->err, sizeof(r->err)) != 0 ||
		map_segment(r) != 0)
		return -1;
	bp_link_reset();
	r->pool = rte_pktmbuf_pool_create(
		"biplane-replay", MBUFS + more, 0, 0, DATA_ROOM, SOCKET_ID_ANY);
	if (!r->pool) {
		snprintf(r->err, sizeof(r->err), "no memory for packet buffers: %s",
			rte_strerror(rte_errno));
		return -1;
	}
	if (bp_ring_ports_create(&r->ports, r->config, DEPTH, r->pool, r->err, sizeof(r->err)) != 0)
		return -1;
	if (make_worker(r) != 0)
		return -1;
	r->alarm_cursor = bp_ring_tail(bp_shm_ring(&r->shm, 0));
	r->alarms = json_array();
	ring = bp_shm_events(&r->shm, 0);
	bp_event_cursor_open(&r->events, ring.slot, sizeof(*ring.slot), ring.size, 0);
	return 0;
}
