/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_EVENTS_EVENT_READER_H
#define BP_APPS_BIPLANE_EVENTS_EVENT_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "shm/events/event.h"

/*
 * Reads the events of an instance from its segment, read-only: the rings of events of all writers
 * and the alarm log, merged in the order of time. Each event is one JSON object in the shape of
 * Suricata's EVE: docs/reference/events.md. No callback, no thread, no descriptor: the caller
 * calls bp_event_reader_next() until it returns NULL, several times a second (every
 * BP_EVENT_POLL_MS).
 *
 * The reader survives that planes restart, that a part of the segment is recreated, and that there
 * is no instance yet: it attaches when there is one.
 */
struct bp_event_reader;

#define BP_EVENT_POLL_MS 100u
/* An event is returned when it is this old, so that an older one of another writer can precede
 * it. */
#define BP_EVENT_HOLD_NS 50000000ull

#define BP_EVENT_BIT(type) (1u << (type))
#define BP_EVENTS_ALL (BP_EVENT_BIT(BP_EVENT_TYPES) - 2u)

struct bp_event_reader_options {
	unsigned types;             /* BP_EVENT_BIT() of each wanted type; lost is always given */
	uint64_t backlog;           /* events of each writer that exist already; 0: only new ones */
	uint64_t since_ns;          /* of the backlog, only later ones (Unix time); 0: all */
	uint64_t drops_interval_ns; /* of events of type drops; 0: none */
};

/* Does not fail without an instance. NULL: no memory. `id` is copied. */
struct bp_event_reader *bp_event_reader_new(
	const struct bp_config_instance *id, const struct bp_event_reader_options *o);
/* For tests: reads this mapping, which the caller owns. */
struct bp_shm;
struct bp_event_reader *bp_event_reader_of(
	const char *name, const struct bp_shm *shm, const struct bp_event_reader_options *o);
void bp_event_reader_free(struct bp_event_reader *r);

/*
 * The next event: a new reference, to be released with json_decref(). NULL: none at present.
 * unix_ns: now. *type (may be NULL): enum bp_event_type.
 */
json_t *bp_event_reader_next(struct bp_event_reader *r, uint64_t unix_ns, unsigned *type);

/* Events that were lost since the start, all writers together. */
uint64_t bp_event_reader_lost(const struct bp_event_reader *r);
/* Whether a segment is attached; if not, why, in a sentence. */
bool bp_event_reader_attached(const struct bp_event_reader *r, const char **why);

/* The bits of a list of type names ("alarm,fault"). 0, or -1 with a sentence. */
int bp_event_types_parse(const char *list, unsigned *types, char *err, size_t err_size);
/* NULL: no type. */
const char *bp_event_type_name(unsigned type);

/* The event as one line of JSON in ASCII, without a line feed: to be freed with free(). NULL: no
 * memory. */
char *bp_event_line(const json_t *event);
/* One line for people, without a line feed: "2026-11-27T03:02:09.123456+00:00 connection start
 * client_id=dev src=10.0.0.5:4321 ...". Control characters are replaced. */
#define BP_EVENT_TEXT_LINE 1024
void bp_event_text_line(const json_t *event, char out[BP_EVENT_TEXT_LINE]);

#endif
