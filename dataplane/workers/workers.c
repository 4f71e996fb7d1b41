/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/workers/workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "config/config.h"
#include "dataplane/capture/capture.h"
#include "dataplane/exception/exception.h"
#include "dataplane/workers/graph.h"
#include "dataplane/service.h"
#include "daemon/log.h"
#include "shm/hash.h"

#define QUEUES_MAX 512u

struct bp_worker *bp_worker_create(const struct bp_config *c, struct bp_shm *shm, unsigned index,
	const struct bp_fdb *fdb, bool record_mirrored, char *err, size_t err_size)
{
	struct bp_worker *w = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*w));
	const struct bp_service_setup setup = {c, shm, w, record_mirrored};

	if (!w) {
		snprintf(err, err_size, "no memory for worker %u", index);
		return NULL;
	}
	memset(w, 0, sizeof(*w));
	bp_wakeup_none(&w->wakeup);
	w->index = index;
	w->shm = shm;
	w->doorbell.fd = -1;
	w->counters = &shm->counters[index];
	w->port_stats = &shm->port_stats[(size_t)index * BP_MAX_PORTS];
	w->port_drops = &shm->port_drops[(size_t)index * BP_MAX_PORTS];
	w->fdb = *fdb;
	w->away.limit_ns =
		c->monitoring.poll_gap_warning_ns ? c->monitoring.poll_gap_warning_ns : UINT64_MAX;
	bp_worker_bridges(w, c);
	bp_router_init(w, c);
	w->capture = bp_capture_worker_create(w, shm);
	if (!w->capture) {
		snprintf(err, err_size, "no memory for the captures of worker %u", index);
		bp_worker_free(w);
		return NULL;
	}
	if (bp_services_create(&setup, err, err_size) != 0) {
		bp_worker_free(w);
		return NULL;
	}
	return w;
}

void bp_worker_free(struct bp_worker *w)
{
	if (!w)
		return;
	bp_graph_free(w);
	bp_services_free(w);
	bp_capture_worker_free(w->capture);
	free(w);
}

/* Lists the queues that a worker polls. */
static unsigned list_queues(const struct bp_config *c, const struct bp_port *ports,
	const struct bp_queue_plan *plan, unsigned worker, struct bp_rx_queue *out)
{
	unsigned n = 0;

	for (unsigned p = 0; p < c->n_ports; p++) {
		const struct bp_port_queues *q = &plan->port[p];

		for (unsigned i = 0; i < q->n_rx && n < QUEUES_MAX; i++)
			if (q->rx_worker[i] == worker)
				out[n++] = (struct bp_rx_queue){.port = (uint16_t)p,
					.queue = (uint16_t)i,
					.partial_checksums = ports[p].offloads.partials,
					.qinq_fix = ports[p].driver->qinq_fix,
					.set_port = ports[p].driver->set_port,
					.restore_tags = ports[p].offloads.restore_tags,
					.distrust = ports[p].offloads.distrust,
					.chains = bp_port_chains(&ports[p])};
	}
	return n;
}

/* A stream that begins after a restart must not look like one from before. */
static uint64_t new_seed(const struct bp_shm *shm, unsigned worker)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return bp_mix64(shm->global->hash_key[0] ^ bp_mix64((uint64_t)now.tv_sec * 1000000000u +
							    (uint64_t)now.tv_nsec + worker));
}

/* An operator who expects an idle core must know why it is not. */
static void log_naps(const struct bp_sleep *s, unsigned worker, const struct bp_config *c)
{
	if (s->napping_port >= 0)
		bp_log_event(BP_LOG_INFO,
			BP_LOG_FIELDS(BP_LOG_STR("port", c->port[s->napping_port].name),
				BP_LOG_NUM("worker", worker)),
			"driver of the port reports no received frames: the worker polls it "
			"every 30 us to 250 us while it is idle (poll_mode: adaptive)");
}

static int create_one(struct bp_workers *ws, unsigned i, const struct bp_config *c,
	const struct bp_port *ports, const struct bp_queue_plan *plan, const struct bp_pools *pools,
	struct bp_exception *exception, struct bp_shm *shm, char *err, size_t err_size)
{
	struct bp_rx_queue *queues = calloc(QUEUES_MAX, sizeof(*queues));
	struct bp_worker *w;
	unsigned n;
	char name[32];
	int rc;

	w = bp_worker_create(c, shm, i, &ws->fdb, false, err, err_size);
	if (w)
		w->checks_ingress = true;
	ws->worker[i] = w;
	if (!w || !queues) {
		free(queues);
		return -1;
	}
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++)
		if (ws->shared[s])
			bp_dataplane_services[s]->shared->join(w->service[s], ws->shared[s], i);
	w->lcore = i + 1;
	w->seed = new_seed(shm, i);
	w->exception = exception;
	w->ruleset_copies = ws->ruleset_copies;
	w->capture->sets = ws->captures;
	w->pool = bp_pools_near(pools, (int)rte_lcore_to_socket_id(w->lcore));
	for (unsigned p = 0; p < c->n_ports; p++) {
		w->tx_queue[p] = plan->port[p].tx_queue[i];
		bp_worker_offloads(w, p, ports[p].leaves_checksums,
			ports[p].offloads.send_checksums, ports[p].tx_segments);
	}
	n = list_queues(c, ports, plan, i, queues);
	snprintf(name, sizeof(name), "biplane-worker-%u", i);
	rc = bp_graph_build(w, name, c->n_ports, queues, n, err, err_size);
	if (rc == 0 && w->graph && c->poll_mode == BP_POLL_ADAPTIVE) {
		ws->sleep[i] = bp_sleep_create(w, ports, queues, n, err, err_size);
		rc = ws->sleep[i] ? 0 : -1;
		if (rc == 0)
			log_naps(ws->sleep[i], i, c);
		if (exception)
			exception->worker_wakeup[i] = &w->wakeup;
	}
	free(queues);
	return rc;
}

static int create_shared(struct bp_workers *ws, const struct bp_config *c,
	const struct bp_queue_plan *plan, char *err, size_t err_size)
{
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++) {
		const struct bp_service_shared_ops *ops = bp_dataplane_services[s]->shared;

		if (ops && ops->create(&ws->shared[s], c, plan, err, err_size) != 0)
			return -1;
	}
	return 0;
}

int bp_workers_create(struct bp_workers *ws, const struct bp_config *c, const struct bp_port *ports,
	const struct bp_queue_plan *plan, const struct bp_pools *pools,
	struct bp_exception *exception, struct bp_shm *shm, char *err, size_t err_size)
{
	memset(ws, 0, sizeof(*ws));
	if (bp_fdb_create(&ws->fdb, c, err, err_size) != 0)
		return -1;
	ws->ruleset_copies = bp_ruleset_copies_create(shm, c->n_workers);
	if (!ws->ruleset_copies) {
		snprintf(err, err_size,
			"no memory for the rules: two banks of %llu bytes; lower "
			"mqtt.max_rules",
			(unsigned long long)shm->rules.bank_size);
		return -1;
	}
	ws->captures = bp_capture_sets_create(shm, c->n_workers);
	if (!ws->captures) {
		snprintf(err, err_size, "no memory for captures");
		return -1;
	}
	if (create_shared(ws, c, plan, err, err_size) != 0)
		return -1;
	for (unsigned i = 0; i < c->n_workers; i++) {
		ws->n = i + 1;
		if (create_one(ws, i, c, ports, plan, pools, exception, shm, err, err_size) != 0)
			return -1;
	}
	return 0;
}

static void set_running(struct bp_workers *ws, unsigned i, bool runs)
{
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++)
		if (ws->shared[s])
			bp_dataplane_services[s]->shared->running(ws->shared[s], i, runs);
}

void bp_workers_launch(struct bp_workers *ws, const struct bp_clock *clock, const cpu_set_t *cpus)
{
	/* set for all workers before the first of them can stop */
	for (unsigned i = 0; i < ws->n; i++) {
		set_running(ws, i, ws->worker[i]->graph != NULL);
		if (!ws->worker[i]->graph)
			continue;
		bp_ruleset_copies_begin(ws->ruleset_copies, i);
		bp_capture_sets_begin(ws->captures, i);
	}
	for (unsigned i = 0; i < ws->n; i++) {
		ws->args[i] = (struct bp_worker_args){ws->worker[i], clock, ws->sleep[i], cpus};
		if (rte_eal_remote_launch(bp_worker_run, &ws->args[i], ws->worker[i]->lcore) == 0)
			continue;
		bp_log_event(BP_LOG_ERROR, BP_LOG_FIELDS(BP_LOG_NUM("worker", i)),
			"worker cannot be started: its thread is busy");
		/* it hands no frames over: the other workers must not wait for it */
		set_running(ws, i, false);
		bp_worker_release_rules(ws->worker[i]);
		bp_capture_end(ws->worker[i]);
	}
}

void bp_workers_ring(struct bp_workers *ws)
{
	for (unsigned i = 0; i < ws->n; i++)
		bp_wakeup_ring(&ws->worker[i]->wakeup);
}

void bp_workers_stop(struct bp_workers *ws)
{
	for (unsigned i = 0; i < ws->n; i++)
		atomic_store(&ws->worker[i]->stop, true);
	bp_workers_ring(ws);
	for (unsigned i = 0; i < ws->n; i++)
		rte_eal_wait_lcore(ws->worker[i]->lcore);
}

void bp_workers_free(struct bp_workers *ws)
{
	for (unsigned i = 0; i < ws->n; i++) {
		bp_sleep_free(ws->sleep[i]);
		bp_worker_free(ws->worker[i]);
	}
	for (unsigned s = 0; s < BP_SERVICE_COUNT; s++)
		if (ws->shared[s])
			bp_dataplane_services[s]->shared->free(ws->shared[s]);
	bp_fdb_free(&ws->fdb);
	bp_ruleset_copies_free(ws->ruleset_copies);
	bp_capture_sets_free(ws->captures);
	memset(ws, 0, sizeof(*ws));
}
