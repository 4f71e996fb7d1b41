/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_PROCESS_LOG_H
#define BP_CONTROLPLANE_PROCESS_LOG_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The control plane's log: one line per event on stderr. The level says what the reader must do:
 * error: act now, alarms are at stake; warning: something is not as configured; info: nothing.
 */
enum bp_log_level { BP_LOG_ERROR, BP_LOG_WARNING, BP_LOG_INFO };

void bp_log(enum bp_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * For what may repeat quickly: at most one line in BP_LOG_EVERY_NS per limit; the next line says
 * how many were left out. Zero-initialise the limit.
 */
#define BP_LOG_EVERY_NS 10000000000ull
struct bp_log_limit {
	uint64_t last_ns; /* monotonic */
	uint64_t left_out;
};
/* For several lines: whether they may be written now, and how often they were not since. */
bool bp_log_may(struct bp_log_limit *limit, uint64_t *left_out);
void bp_log_limited(struct bp_log_limit *limit, enum bp_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
