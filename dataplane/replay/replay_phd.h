/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_REPLAY_REPLAY_PHD_H
#define BP_DATAPLANE_REPLAY_REPLAY_PHD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "dataplane/process/stats.h"
#include "dataplane/workers/worker.h"
#include "shm/fib/fib_writer.h"

struct bp_config;

/*
 * Personal health devices in replay: the manager (services/health/manager.h) in the worker's own
 * thread, in the place of the kernel, its sockets and the control plane. What node exception would
 * give the kernel for it comes here; what it says leaves as frames. The CSE's containers count as
 * there, so that a session is ready as soon as it is operating. Time is the worker's, which is the
 * captures'.
 *
 * Devices on TCP are not served: that takes the kernel. Their segments are counted.
 */
struct bp_replay_phd;

/*
 * `w` has its mbufs, its exception path and routes, and has not walked yet; it and the others stay.
 * NULL with a sentence.
 */
struct bp_replay_phd *bp_replay_phd_new(const struct bp_config *c, struct bp_shm *shm,
	struct bp_worker *w, char *err, size_t err_size);
void bp_replay_phd_free(struct bp_replay_phd *p); /* NULL is allowed */

/* What is due by the worker's time; when to be called next, UINT64_MAX: never. */
uint64_t bp_replay_phd_tick(struct bp_replay_phd *p);

/*
 * After a walk: takes what came for the manager, and what workers tell of sessions, and hands over
 * what there is to say. True: there is something to walk for.
 */
bool bp_replay_phd_serve(struct bp_replay_phd *p);

/*
 * The acknowledgement that a CSE would send for a frame that left
 * (dataplane/replay/replay_phd_frames.h), counted; 0: it is no request to the CSE.
 */
#define BP_REPLAY_ACK_MAX 128u
uint32_t bp_replay_phd_acknowledge(struct bp_replay_phd *p, const uint8_t *frame, uint32_t len,
	uint8_t out[BP_REPLAY_ACK_MAX]);

/* There is something to say that bp_replay_phd_serve() has not handed over yet. */
bool bp_replay_phd_waiting(const struct bp_replay_phd *p);

/* An mbuf was missing, so that not all was said that should have been. */
bool bp_replay_phd_failed(const struct bp_replay_phd *p);

/* ---- replay_phd_report.c: what was done, for the report ---- */

json_t *bp_replay_phd_json(const struct bp_replay_phd *p, const struct bp_totals *t);
void bp_replay_phd_print(const struct bp_replay_phd *p, const struct bp_totals *t, FILE *out);

#endif
