/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DAEMON_LOG_H
#define BP_DAEMON_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * The log of this process: one line per event on standard error, written with one system call, so
 * that lines of threads and processes do not mix. Where standard error is a stream of the journal
 * (JOURNAL_STREAM, systemd.exec(5)), the level stands in front as sd-daemon(3) defines it. Not for
 * code that runs per packet.
 *
 * The level says what the reader must do: error: act now; warning: investigate; info: nothing.
 */
enum bp_log_level { BP_LOG_ERROR, BP_LOG_WARNING, BP_LOG_INFO };

/* Before the first thread. `component`: in front of the lines of bp_log(), for example "dataplane";
 * it must stay. */
void bp_log_begin(const char *component);

/* Writes "COMPONENT: LEVEL: TEXT". Control characters in the text become spaces, since some of it
 * comes from the network; what is longer than 4 KiB is cut. */
void bp_log(enum bp_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Writes text that is complete: a library's message, or why a command fails. It may have several
 * lines, which are written one by one. */
void bp_log_plain(enum bp_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A stream whose lines are written as by bp_log_plain(), one per level; not to be closed. Call it
 * from one thread; standard error when there is no memory. */
FILE *bp_log_stream(enum bp_log_level level);

/*
 * For what may repeat quickly: at most one line in BP_LOG_EVERY_NS per limit; the next line says
 * how many were left out. Zero-initialise the limit.
 */
#define BP_LOG_EVERY_NS 10000000000ull
struct bp_log_limit {
	uint64_t last_ns; /* monotonic */
	uint64_t left_out;
};
/* For several lines: whether they may be written now, and how many times they were not since. */
bool bp_log_may(struct bp_log_limit *limit, uint64_t *left_out);
void bp_log_limited(struct bp_log_limit *limit, enum bp_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
