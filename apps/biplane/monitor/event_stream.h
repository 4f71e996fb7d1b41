/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_MONITOR_EVENT_STREAM_H
#define BP_APPS_BIPLANE_MONITOR_EVENT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/biplane/events/event_reader.h"

/*
 * The text of /api/v1/events for one client: server-sent events (HTML Living Standard,
 * section 9.2). Each event is
 *
 *   id: 17
 *   event: alarm
 *   data: {"timestamp": ...}
 *
 * The stream reads the rings of the segment itself, and holds one event at most. So a client that
 * does not read fast enough uses no memory and delays no other client: the rings overwrite what it
 * has not read, and its next event is `event: lost` with the number of lost events.
 */
#define BP_EVENT_STREAMS_MAX 16u /* and at most half of the connections */
#define BP_EVENT_STREAM_BACKLOG_MAX 1000u
#define BP_EVENT_STREAM_KEEPALIVE_NS 10000000000ull

struct bp_event_stream;

/* Takes the reader; NULL: no memory, and the reader is freed. */
struct bp_event_stream *bp_event_stream_new(struct bp_event_reader *r, uint64_t mono_ns);
void bp_event_stream_free(struct bp_event_stream *s);

/* Whether there is text to send: an event, or a comment after BP_EVENT_STREAM_KEEPALIVE_NS without
 * one. */
bool bp_event_stream_fill(struct bp_event_stream *s, uint64_t unix_ns, uint64_t mono_ns);
/* Copies at most `max` bytes of that text; returns how many. */
size_t bp_event_stream_read(struct bp_event_stream *s, char *out, size_t max);

#endif
