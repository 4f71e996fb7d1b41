/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HEALTH_CONTROL_PHD_H
#define BP_BENCH_HEALTH_CONTROL_PHD_H

#include <event2/event.h>

#include "bench/harness/control.h"
#include "controlplane/health/phd_service.h"
#include "shm/layout.h"

/*
 * Messages that are associations and configurations, in turn: each device that comes is a new one,
 * and the product's own service takes it up, store and all, on the tables that the worker reads.
 * The CSE does not answer it.
 */
struct bench_control_phd {
	struct event_base *base;
	struct bp_phd_service *service;
	const struct bp_phd_tables *t;
	uint32_t before;                /* sessions that were there */
	uint8_t aarq[256], config[256]; /* frames */
	uint32_t aarq_len, config_len;
};

/* Before bench_control_start(), after bench_phd_sessions(). `store`: path of the store's file. Ends
 * the process when something is refused. */
void bench_control_phd(struct bench_control *c, struct bench_control_phd *p, struct bp_shm *shm,
	const struct bp_config *config, struct rte_mempool *pool);
void bench_control_phd_end(struct bench_control_phd *p);

#endif
