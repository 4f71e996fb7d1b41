/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_SERVICE_H
#define BP_DATAPLANE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_graph.h>

#include "biplane/services.h"
#include "dataplane/process/clock.h"
#include "dataplane/workers/worker.h"
#include "shm/layout.h"

struct bp_config;

struct bp_queue_plan;

/*
 * A service's half in the data plane. Everything that is done for each service walks the array of
 * these; nothing per packet goes through it: nodes access their worker's state directly, and what a
 * worker does in every walk is resolved when its graph is built (struct bp_pending).
 *
 * The life of a service in a worker:
 *
 *   create         allocates memory; the worker has its bridges, router and counters
 *   begin          the worker's graph is built: nodes, MTUs and the buffer pool are known
 *   start          the worker runs, with this clock
 *   apply_pending  the control plane has published another generation; between two walks
 *   tick           every few walks: aging, refresh
 *   drain          the worker receives its last frames: queued frames are sent early
 *   holds          whether frames would be lost if the worker ended now
 *   end            after the last walk: nothing shared is used afterwards
 *   free           NULL is never passed
 *
 * Members that are NULL are not needed by the service. `state` is the result of create().
 */

/* Arguments of create(). */
struct bp_service_setup {
	const struct bp_config *config;
	struct bp_shm *shm;
	struct bp_worker *worker;
	/* mirrored frames go into the log of alarms as if published: replay and tests, which have
	 * no edge port */
	bool record_mirrored;
};

/* State that the workers of a process share for a service. */
struct bp_service_shared_ops {
	/* *shared stays NULL where one worker needs none. 0, or -1 with a sentence. */
	int (*create)(void **shared, const struct bp_config *c, const struct bp_queue_plan *plan,
		char *err, size_t err_size);
	/* Between create() and begin() of worker `index`. */
	void (*join)(void *state, void *shared, unsigned index);
	/* Before the first worker starts, of each; and again where one could not be started. */
	void (*running)(void *shared, unsigned index, bool runs);
	void (*free)(void *shared);
};

struct bp_dataplane_service {
	const char *name;
	enum bp_service_id id;

	/* ---- before the workers ---- */

	/* mbufs that it may hold at one time, in all workers together. */
	uint64_t (*mbufs)(const struct bp_config *c);
	/* Bytes of the longest frame that it builds in one buffer; min_mtu: of all ports. */
	uint32_t (*frame_size)(const struct bp_config *c, uint32_t min_mtu);
	/* Publishes the configuration in a segment without a control plane: replay, the benchmark.
	 * 0, or -1 with a sentence. */
	int (*publish)(const struct bp_config *c, struct bp_shm *shm, char *err, size_t err_size);
	/* Prepares tables that the workers share. 0, or -1 with a sentence. */
	int (*setup)(const struct bp_config *c, struct bp_shm *shm, uint64_t mono_ns, char *err,
		size_t err_size);
	/* Statistics of an earlier run, and what workers that were killed left as in use. */
	void (*reset)(struct bp_shm *shm);
	const struct bp_service_shared_ops *shared;

	/* ---- in a worker ---- */

	/* Whether a worker of this configuration has it. */
	bool (*enabled)(const struct bp_service_setup *s);
	/* NULL: with a sentence, or without one where there is no memory. */
	void *(*create)(const struct bp_service_setup *s, char *err, size_t err_size);
	/* 0, or -1 with a sentence. */
	int (*begin)(void *state, struct bp_worker *w, char *err, size_t err_size);
	void (*start)(void *state, const struct bp_clock *clock);
	void (*apply_pending)(void *state);
	void (*tick)(void *state, uint64_t mono_ns);
	void (*drain)(void *state);
	bool (*holds)(const void *state);
	void (*end)(void *state);
	void (*free)(void *state);
	/* Whether the worker must not sleep: it has work that due() does not report. */
	bool (*needs_polling)(const void *state);
	/* When it next does something without a received frame, on the monotonic clock of the
	 * worker; UINT64_MAX: never. The worker sleeps at most until then, and replay, whose clock
	 * does not run, sets its clock to this time. */
	uint64_t (*due)(const void *state);
	/* When its tick next has a result that depends on the time alone, monotonic; UINT64_MAX:
	 * never. A worker ticks often, and does not ask. Replay sets its clock to this time, but
	 * not after the last frame. */
	uint64_t (*timer)(const void *state);
	bool needs_time; /* in every walk, not in one of 16 */

	/* ---- in the graph ---- */

	/* The nodes behind its edges, BP_EDGE_OF(NAME, 0) and so on. */
	struct rte_node_register *entry[BP_EDGES_OF_SERVICE];
	/* enter() leads to one of this number of first nodes, in the order of the packet path. */
	unsigned n_entered;
	/* A node that begins walks; NULL: none. */
	struct rte_node_register *source;
	/* The node by which frames leave by a port; NULL: bp_node_port_tx. */
	struct rte_node_register *(*port_node)(const void *state, unsigned port);
	/* All nodes that port_node() may return; ends with NULL. */
	struct rte_node_register *const *port_nodes;
	/* The edge by which the frames of a port enter; `next` is their edge without this service.
	 */
	rte_edge_t (*enter)(void *state, struct bp_worker *w, unsigned port, rte_edge_t next);
	/* enter() applies to frames as the driver delivers them, whose checksums may be partial. */
	bool before_checksum;
};

/* By enum bp_service_id. */
extern const struct bp_dataplane_service *const bp_dataplane_services[BP_SERVICE_COUNT];

/* Over all services. */
uint64_t bp_services_mbufs(const struct bp_config *c);
uint32_t bp_services_frame_size(const struct bp_config *c, uint32_t min_mtu);
int bp_services_publish(const struct bp_config *c, struct bp_shm *shm, char *err, size_t err_size);
int bp_services_setup(const struct bp_config *c, struct bp_shm *shm, uint64_t mono_ns, char *err,
	size_t err_size);
void bp_services_reset(struct bp_shm *shm);

/* Over all services of a worker. */
int bp_services_create(const struct bp_service_setup *s, char *err, size_t err_size);
int bp_services_begin(struct bp_worker *w, char *err, size_t err_size);
void bp_services_start(struct bp_worker *w, const struct bp_clock *clock);
void bp_services_tick(struct bp_worker *w);
void bp_services_drain(struct bp_worker *w);
bool bp_services_hold(const struct bp_worker *w);
bool bp_services_need_polling(const struct bp_worker *w);
uint64_t bp_services_due(const struct bp_worker *w);
uint64_t bp_services_timer(const struct bp_worker *w);
void bp_services_end(struct bp_worker *w);
void bp_services_free(struct bp_worker *w);

#endif
