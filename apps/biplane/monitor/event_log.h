/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_MONITOR_EVENT_LOG_H
#define BP_APPS_BIPLANE_MONITOR_EVENT_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

/*
 * The event log (log.events): reads the events of an instance and writes a JSON object per line
 * to a file, a Unix socket or the journal. Nothing of it waits: while the output cannot be written,
 * events stay in a buffer of BP_EVENT_LOG_BUFFER bytes and then in the rings of the segment. What
 * is overwritten there is counted, and an event of type lost says how many when writing continues.
 */
struct bp_event_log;

#define BP_EVENT_LOG_BUFFER (1u << 20)
#define BP_EVENT_LOG_DROPS_INTERVAL_NS 10000000000ull

struct bp_event_log_counts {
	uint64_t events;   /* written */
	uint64_t bytes;    /* written */
	uint64_t lost;     /* overwritten in the segment, too long for a datagram, or no memory */
	uint64_t failures; /* attempts to open or write */
	uint64_t buffered; /* bytes that wait for the output; no total */
	bool open;         /* the output can be written, as far as is known */
};

/*
 * Opens the output: before the process gives up its privileges. A failure is logged and tried again
 * by bp_event_log_tick(). Of a file, reading continues after its last event. NULL: no memory, or
 * log.events is off.
 */
struct bp_event_log *bp_event_log_new(
	const struct bp_config_instance *id, const struct bp_config_event_log *c);
/* For tests: with a reader, which it frees. */
struct bp_event_reader;
struct bp_event_log *bp_event_log_of(
	const char *name, struct bp_event_reader *reader, const struct bp_config_event_log *c);
/* Every BP_EVENT_POLL_MS: reads and writes what there is. Times: Unix and CLOCK_MONOTONIC, ns. */
void bp_event_log_tick(struct bp_event_log *l, uint64_t unix_ns, uint64_t mono_ns);
/* SIGHUP: opens the file or socket again. */
void bp_event_log_reopen(struct bp_event_log *l);
/* Writes what there is, and closes the output. */
void bp_event_log_free(struct bp_event_log *l);

struct bp_event_log_counts bp_event_log_counts(const struct bp_event_log *l);

#endif
