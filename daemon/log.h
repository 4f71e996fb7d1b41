/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DAEMON_LOG_H
#define BP_DAEMON_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * The log of this process: one line per event on standard error, written with one system call, so
 * that lines of threads and processes do not mix. Not for code that runs per packet.
 *
 *   2026-11-26T14:40:12.345Z warning dataplane: link down port=cloud
 *
 * or the same as a JSON object. Under systemd (JOURNAL_STREAM, systemd.exec(5)) an event is sent to
 * the journal instead, in its native protocol, with its fields as journal fields: PORT=cloud.
 *
 * Levels: error: action required; warning: investigate; info: no action; debug: for developers.
 */
enum bp_log_level { BP_LOG_ERROR, BP_LOG_WARNING, BP_LOG_INFO, BP_LOG_DEBUG };
enum bp_log_format { BP_LOG_TEXT, BP_LOG_JSON };

/* Call this before the first thread is created. `component`: the component of the lines of
 * bp_log(), for example "dataplane"; the string must outlive the log. */
void bp_log_begin(const char *component);
/* Sets the lowest level that is written (default: info) and the format outside the journal. Can be
 * called at any time, from any thread. */
void bp_log_set(enum bp_log_level level, enum bp_log_format format);

/* Writes an event. Text may come from the network: control characters become spaces, invalid UTF-8
 * bytes become "?", and text over 4 KiB is truncated. */
void bp_log(enum bp_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A field of an event: the same keys in all lines, such as port, rule, peer, count. */
struct bp_log_field {
	const char *key;   /* 1 to 63 lower-case letters, digits and _; NULL ends the list */
	const char *value; /* sanitized as the message, at most 511 bytes; NULL: the value is
			      `number` */
	uint64_t number;
};
/* For example BP_LOG_FIELDS(BP_LOG_STR("port", name), BP_LOG_NUM("count", 12)). */
#define BP_LOG_STR(k, v)                                                                           \
	{                                                                                          \
		.key = (k), .value = (v)                                                           \
	}
#define BP_LOG_NUM(k, n)                                                                           \
	{                                                                                          \
		.key = (k), .number = (n)                                                          \
	}
#define BP_LOG_FIELDS(...) ((const struct bp_log_field[]){__VA_ARGS__, {.key = NULL}})
/* bp_log() with fields, at most BP_LOG_FIELDS_MAX. */
#define BP_LOG_FIELDS_MAX 16
void bp_log_event(enum bp_log_level level, const struct bp_log_field *fields, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Returns a stream for a level: each line is an event. There is one stream per level; the caller
 * must not close it. Call it from one thread. Returns standard error when there is no memory. */
FILE *bp_log_stream(enum bp_log_level level);

/*
 * For events that may repeat quickly: at most one line per BP_LOG_EVERY_NS and limit. The next line
 * has the number of suppressed lines in its field `suppressed`. Zero-initialise the limit.
 */
#define BP_LOG_EVERY_NS 10000000000ull
struct bp_log_limit {
	uint64_t last_ns; /* monotonic */
	uint64_t n_suppressed;
};
/* For several lines: returns whether they may be written now, and how many times they were
 * suppressed since the last time. */
bool bp_log_may(struct bp_log_limit *limit, uint64_t *n_suppressed);
/* `fields`: NULL for none. */
void bp_log_limited(struct bp_log_limit *limit, enum bp_log_level level,
	const struct bp_log_field *fields, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Path of the journal's socket; tests replace it. */
extern const char *bp_log_journal_socket;

#endif
