/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_FLEET_STATE_H
#define BP_CONTROLPLANE_FLEET_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "shm/fleet.h"

struct bp_config_fleet;
struct bp_faults;
struct bp_resp;
struct event_base;

/*
 * The state that the gateways of a fleet share, in Redis. Calls never block: a write waits in a
 * bounded queue until Redis acknowledges it, through lost connections and failovers; a read fails
 * after fleet.state.timeout. The main thread calls, and the callbacks run in its event loop.
 *
 * Each value has a mark, (epoch, version), and Redis refuses a write with a lower mark than the
 * stored one. The epoch is a number of this process that is higher than those of all processes of
 * the fleet that started before: see bp_fleet_state_epoch().
 */
struct bp_fleet_state;

/* The highest epoch, as Redis has it. */
#define BP_FLEET_EPOCH_MAX_TEXT "400000000000ffff"
#define BP_FLEET_KEY_MAX 200u     /* bytes, without the prefix of the fleet */
#define BP_FLEET_VALUE_MAX 65536u /* bytes */

/* Time that a collapsible write waits for newer ones of its key. */
#define BP_FLEET_COLLAPSE_NS 100000000ull

/* NULL without memory, or with a sentence. */
struct bp_fleet_state *bp_fleet_state_new(
	struct event_base *base, const struct bp_config_fleet *c, char *err, size_t err_size);
void bp_fleet_state_free(struct bp_fleet_state *s); /* calls back for what is pending */

enum bp_fleet_result {
	BP_FLEET_STORED,     /* Redis has it */
	BP_FLEET_SUPERSEDED, /* Redis has a value with a higher mark */
	BP_FLEET_COLLAPSED,  /* a newer write of the key replaced it before it was sent */
	BP_FLEET_LOST,       /* evicted at the bound of the queue, or its ttl passed in the queue,
				or Redis refused it for good (counted by reason) */
};

/* The approximate number of entries that a stream keeps, as a text: gateways that are connected
 * read all; one that starts needs those that may still continue. */
#define BP_FLEET_STREAM_KEPT "4096"
#define BP_FLEET_ENTRIES_MAX 1024u
#define BP_FLEET_ENTRIES_BYTES 65536u /* together, with 4 for each */

struct bp_fleet_write {
	const char *key;   /* text, at most BP_FLEET_KEY_MAX bytes */
	const void *value; /* copied */
	size_t len;        /* at most BP_FLEET_VALUE_MAX; 0 deletes the key */
	uint64_t version;
	/* 0: of this process. Else an earlier one of this process, for a value that another process
	 * may have taken over since: it is refused then, and deletes nothing of that process. */
	uint64_t epoch;
	uint32_t ttl_ms; /* not 0. The mark of a deleted key remains for this time */
	/* Any gateway may continue the value: only versions are compared. Else values of processes
	 * with a higher epoch win. */
	bool shared;
	/* Newer writes of the key replace it while it waits, for BP_FLEET_COLLAPSE_NS unless
	 * prompt; the first to be dropped when the queue is full. */
	bool collapsible, prompt;
	/* Redis adds them to the stream in the same step, if it stores the value: no reader sees
	 * one without the other. Copied; the name of the stream is not: it remains valid. */
	const char *stream; /* without the prefix of the fleet; NULL: none */
	const struct iovec *entries;
	unsigned n_entries; /* at most BP_FLEET_ENTRIES_MAX */
	/* NULL, or a channel on which Redis publishes the key and value when it has stored them. */
	const char *channel;
	/* NULL: none. Called once, later, or by bp_fleet_state_free(). */
	void (*done)(void *arg, enum bp_fleet_result result);
	void *arg;
};

/* False: the queue is full of writes that are not collapsible (counted), or the write is not valid;
 * done() is not called. */
bool bp_fleet_state_put(struct bp_fleet_state *s, const struct bp_fleet_write *w);

/* A value that was read; found: false if there is none, or it was deleted. The bytes are another
 * gateway's: check them. */
struct bp_fleet_value {
	bool known; /* false: no answer in time. found is false */
	bool found;
	uint64_t epoch, version;
	const char *bytes; /* valid during the callback */
	size_t len;
	const char *id; /* of an entry of a stream; terminated */
};

/* False: too many reads wait (counted); the callback is not called. */
bool bp_fleet_state_get(struct bp_fleet_state *s, const char *key,
	void (*got)(void *arg, const struct bp_fleet_value *v), void *arg);
/* Likewise the oldest entries of a stream behind the one with the id `after` ("": all), at most
 * BP_FLEET_ENTRIES_PAGE: got() is called for each, and then once with `found` false. got() must not
 * use the state. */
#define BP_FLEET_ENTRIES_PAGE 256u
#define BP_FLEET_ENTRY_ID_MAX 48u
/* Bytes of an entry, as a text: a longer one is not of a gateway, and has none here. */
#define BP_FLEET_ENTRY_MAX "64"
bool bp_fleet_state_get_entries(struct bp_fleet_state *s, const char *stream, const char *after,
	void (*got)(void *arg, const struct bp_fleet_value *v), void *arg);

/*
 * The epoch of this process; 0: Redis has not assigned one yet, and writes that are not shared
 * wait. A process that takes over a value with a higher epoch than its own calls
 * bp_fleet_state_outrank(): its later writes then have an epoch above that one, and those of the
 * previous owner are refused.
 */
uint64_t bp_fleet_state_epoch(const struct bp_fleet_state *s);
void bp_fleet_state_outrank(struct bp_fleet_state *s, uint64_t epoch);

/* Whether Redis is connected and has assigned the epoch that the next write has. */
bool bp_fleet_state_ready(const struct bp_fleet_state *s);
/* Sends what waits for newer writes, and calls done(arg) once: when Redis has acknowledged all
 * writes, or cannot be reached, or after wait_ns. */
void bp_fleet_state_drain(
	struct bp_fleet_state *s, uint64_t wait_ns, void (*done)(void *arg), void *arg);

/* Counts and shows an error of another connection to the Redis of the fleet. */
void bp_fleet_state_note_error(struct bp_fleet_state *s, enum bp_fleet_error why, const char *text);

/* Whether Redis answers now. */
bool bp_fleet_state_connected(const struct bp_fleet_state *s);
/* Age of the oldest write that Redis has not acknowledged; 0: none. */
uint64_t bp_fleet_state_lag_ns(const struct bp_fleet_state *s);

const struct bp_fleet_counters *bp_fleet_state_counters(const struct bp_fleet_state *s);

/* For the command status: a new object; NULL without memory. */
json_t *bp_fleet_state_status(const struct bp_fleet_state *s);
/* Writes the state for readers of the segment: once a second. */
void bp_fleet_state_show(struct bp_fleet_state *s, struct bp_shm_fleet *out);

#endif
