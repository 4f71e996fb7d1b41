/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HEALTH_CONTROL_PHD_H
#define BP_BENCH_HEALTH_CONTROL_PHD_H

#include <event2/event.h>

#include "bench/harness/control.h"
#include "controlplane/health/phd_service.h"
#include "shm/layout.h"

/*
 * Control messages of health devices: associations and configurations in turn. Each device is new,
 * and the service of the control plane registers it, including its store, on the tables that the
 * worker reads. The CSE does not answer.
 */
struct bench_control_phd {
	struct event_base *base;
	struct bp_phd_service *service;
	const struct bp_phd_tables *t;
	uint32_t before;                /* sessions at the start */
	uint8_t aarq[256], config[256]; /* frames */
	uint32_t aarq_len, config_len;
};

/* Call it after bench_phd_sessions() and before bench_control_start(). `store`: path of the store's
 * file. Terminates the process on failure. */
void bench_control_phd(struct bench_control *c, struct bench_control_phd *p, struct bp_shm *shm,
	const struct bp_config *config, struct rte_mempool *pool);
void bench_control_phd_end(struct bench_control_phd *p);

#endif
