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
 * Personal health devices in a replay: the manager (services/health/manager.h) runs in the thread
 * of the worker, and replaces the kernel, its sockets and the control plane. Frames that node
 * exception would give to the kernel for it arrive here; its messages leave as frames. The
 * containers of the CSE are considered present, so that a session is ready as soon as it is
 * operating. The time is that of the worker, which is the time of the captures. Devices over TCP
 * are not supported, since that needs the kernel. Their segments are counted.
 */
struct bp_replay_phd;

/*
 * `w` has its mbufs, its exception path and routes, and has not walked yet. The caller keeps
 * ownership of all arguments, and frees the result with bp_replay_phd_free(). NULL on error, with a
 * message in `err`.
 */
struct bp_replay_phd *bp_replay_phd_new(const struct bp_config *c, struct bp_shm *shm,
	struct bp_worker *w, char *err, size_t err_size);
void bp_replay_phd_free(struct bp_replay_phd *p); /* NULL is allowed */

/*
 * Runs the timers that are due at the time of the worker. Returns the time of the next call,
 * UINT64_MAX: never.
 */
uint64_t bp_replay_phd_tick(struct bp_replay_phd *p);

/*
 * Called after a walk: processes the frames for the manager and the events of workers, and enqueues
 * output frames. True: another walk is needed.
 */
bool bp_replay_phd_serve(struct bp_replay_phd *p);

/*
 * Writes the acknowledgement of a CSE for an output frame (dataplane/replay/replay_phd_frames.h),
 * and counts it. 0: the frame is not a request to the CSE.
 */
#define BP_REPLAY_ACK_MAX 128u
uint32_t bp_replay_phd_acknowledge(struct bp_replay_phd *p, const uint8_t *frame, uint32_t len,
	uint8_t out[BP_REPLAY_ACK_MAX]);

/* Whether there are output frames that bp_replay_phd_serve() has not enqueued yet. */
bool bp_replay_phd_waiting(const struct bp_replay_phd *p);

/* Whether a message was not sent because there was no mbuf. */
bool bp_replay_phd_failed(const struct bp_replay_phd *p);

/* ---- replay_phd_report.c: what was done, for the report ---- */

json_t *bp_replay_phd_json(const struct bp_replay_phd *p, const struct bp_totals *t);
void bp_replay_phd_print(const struct bp_replay_phd *p, const struct bp_totals *t, FILE *out);

#endif
