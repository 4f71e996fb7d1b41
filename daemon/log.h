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
 * or the same as a JSON object. Under systemd (JOURNAL_STREAM, systemd.exec(5)) an event goes to
 * the journal instead, by its native protocol, with its fields as fields: PORT=cloud.
 *
 * The level says what the reader must do: error: act now; warning: investigate; info: nothing;
 * debug: nothing, it is for developers.
 */
enum bp_log_level { BP_LOG_ERROR, BP_LOG_WARNING, BP_LOG_INFO, BP_LOG_DEBUG };
enum bp_log_format { BP_LOG_TEXT, BP_LOG_JSON };

/* Before the first thread. `component`: of the lines of bp_log(), for example "dataplane"; it must
 * stay. */
void bp_log_begin(const char *component);
/* At any time, from any thread: the least important level that is written (before: info), and the
 * form where it is not the journal's. */
void bp_log_set(enum bp_log_level level, enum bp_log_format format);

/* Writes an event. Some of the text comes from the network: control characters become spaces, bytes
 * that are no UTF-8 become "?", and what is longer than 4 KiB is cut. */
void bp_log(enum bp_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What an event is about: the same keys in all lines, such as port, rule, peer, count. */
struct bp_log_field {
	const char *key;   /* 1 to 63 lower-case letters, digits and _; NULL ends the list */
	const char *value; /* as the message, and at most 511 bytes; NULL: the value is `number` */
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
/* The same with fields, at most BP_LOG_FIELDS_MAX. */
#define BP_LOG_FIELDS_MAX 16
void bp_log_event(enum bp_log_level level, const struct bp_log_field *fields, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A stream each of whose lines is an event of that level, one stream per level; not to be closed.
 * Call it from one thread; standard error when there is no memory. */
FILE *bp_log_stream(enum bp_log_level level);

/*
 * For events that may repeat quickly: at most one line in BP_LOG_EVERY_NS per limit. The next line
 * has the number of suppressed lines in its field `suppressed`. Zero-initialise the limit.
 */
#define BP_LOG_EVERY_NS 10000000000ull
struct bp_log_limit {
	uint64_t last_ns; /* monotonic */
	uint64_t n_suppressed;
};
/* For several lines: whether they may be written now, and how many times they were not since. */
bool bp_log_may(struct bp_log_limit *limit, uint64_t *n_suppressed);
/* `fields`: NULL for none. */
void bp_log_limited(struct bp_log_limit *limit, enum bp_log_level level,
	const struct bp_log_field *fields, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The socket of the journal; a test may have another. */
extern const char *bp_log_journal_socket;

#endif
