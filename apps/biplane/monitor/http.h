/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_MONITOR_HTTP_H
#define BP_APPS_BIPLANE_MONITOR_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bp_monitor;

/*
 * The HTTP server: connections and their bounds. libmicrohttpd parses; request.h answers.
 *
 * - At most monitoring.max_connections; a new one above it replaces the one that has waited longest
 *   without a complete request, or else the one whose answer has been read for the longest time. If
 *   all answers are younger than a second, the new one waits.
 * - A request must be complete BP_HTTP_REQUEST_S after the connection or the previous answer; a
 *   connection that was used is closed after BP_HTTP_IDLE_S. An answer must have been read after
 *   BP_HTTP_ANSWER_S.
 * - A request line with headers is at most BP_HTTP_MEMORY bytes; more is refused with 414 or 431.
 * - At most BP_EVENT_STREAMS_MAX streams of events, which have no other deadline than that the
 *   client reads something in BP_HTTP_STREAM_S.
 * - Answers that are not sent yet use at most BP_HTTP_ANSWERS_MAX bytes; then 503.
 */
#define BP_HTTP_REQUEST_S 10u
#define BP_HTTP_IDLE_S 75u
#define BP_HTTP_ANSWER_S 60u
#define BP_HTTP_STREAM_S 30u
#define BP_HTTP_MEMORY 16384u
#define BP_HTTP_ANSWERS_MAX (64ull << 20)

struct bp_http;

/* Serves connections of `listen_fd`, which becomes the server's; -1: only those of bp_http_add().
 * NULL with a sentence. */
struct bp_http *bp_http_new(struct bp_monitor *m, int listen_fd, char *err, size_t err_size);
/* Closes all connections, and the listening socket. */
void bp_http_free(struct bp_http *h);

/* Readable when bp_http_run() has work. */
int bp_http_fd(const struct bp_http *h);
/* Milliseconds after which bp_http_run() must be called at the latest; -1: no limit. */
int bp_http_timeout_ms(const struct bp_http *h);
void bp_http_run(struct bp_http *h);
/* Ends all streams of events: their clients connect again. */
void bp_http_end_streams(struct bp_http *h);
/* Continues streams of events that have something to send; call it every BP_EVENT_POLL_MS if it
 * returns true: there are streams. */
bool bp_http_streams(struct bp_http *h, uint64_t unix_ns, uint64_t mono_ns);
/* Closes connections at their deadline; call it every second. `now_ns`: CLOCK_MONOTONIC. */
void bp_http_expire(struct bp_http *h, uint64_t now_ns);
/* Serves a connected socket, which becomes the server's. 0, or -1. */
int bp_http_add(struct bp_http *h, int fd);

#endif
