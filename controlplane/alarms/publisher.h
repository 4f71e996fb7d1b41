/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_PUBLISHER_H
#define BP_CONTROLPLANE_ALARMS_PUBLISHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/layout.h"

struct bp_config_mqtt;

struct bp_alarm;
struct bp_alarm_keeper;
struct bp_ring_events;
struct event_base;

/*
 * Reads alarms from the workers' rings and publishes them to the edge broker with QoS 1.
 *
 * An alarm leaves its ring when the broker has acknowledged it or the spool has committed it; until
 * then it is still there after the control plane is killed. So each alarm is delivered at least
 * once; a repeated alarm has the same id.
 *
 * No alarm is written to disk as long as the broker is fast enough. Alarms are spooled when the
 * link has been down for 250 ms, when an alarm has waited longer than puback_timeout for its
 * acknowledgement, and when the window of unacknowledged alarms is full while a ring is more than
 * half full. Rows of the spool are sent in the order of their ids in a quarter of the window, at
 * the same time as live alarms; in overload, in all that live alarms leave of the window.
 *
 * An alarm that makes the broker close the connection is sent again like any other after a lost
 * connection; only the spool's max_age ends that.
 */
struct bp_publisher;

/* A larger window of unacknowledged alarms costs more in libmosquitto than it gains. */
#define BP_PUBLISHER_WINDOW_MAX 2000u

/*
 * Returns NULL with a sentence in `err` on failure. Starts immediately; runs inside `base`, and is
 * woken by `rings`, which ends before the publisher does. Does
 * not fail for an unavailable broker or disk, nor for unreadable password or TLS files: these are
 * retried.
 */
struct bp_publisher *bp_publisher_new(struct event_base *base, struct bp_shm *shm,
	struct bp_ring_events *rings, const struct bp_config_mqtt *mqtt, char *err,
	size_t err_size);
void bp_publisher_free(struct bp_publisher *p);

/* Checks the files of a configuration: the password and TLS files. Returns 0, or -1 with a sentence
 * in `err`. */
int bp_publisher_check(const struct bp_config_mqtt *mqtt, char *err, size_t err_size);

/* Returns whether another process has the spool of this configuration, with a sentence in `err`. */
bool bp_publisher_spool_in_use(const struct bp_config_mqtt *mqtt, char *err, size_t err_size);

/* Applies new edge settings and spool limits; reconnects only if necessary. Fails like
 * bp_publisher_check(). */
int bp_publisher_configure(
	struct bp_publisher *p, const struct bp_config_mqtt *mqtt, char *err, size_t err_size);

/*
 * Shuts down: waits up to wait_ns for acknowledgements of the broker, commits the rest to the
 * spool, and calls done.
 */
void bp_publisher_drain(
	struct bp_publisher *p, uint64_t wait_ns, void (*done)(void *arg), void *arg);

/* ---- for the copies of alarms (keeper.h) ---- */

/* From now on, `keeper` is called; first for all rows of the spools. NULL: ends it. */
void bp_publisher_set_keeper(struct bp_publisher *p, const struct bp_alarm_keeper *keeper);
/* An alarm of another gateway. Destinations are bits, 1 << enum bp_alarm_destination. */
struct bp_adopted {
	struct bp_alarm *alarm;
	bool numbered;  /* it has an id of this gateway */
	uint8_t wanted; /* destinations that this gateway has */
	uint8_t added;  /* of these: the alarm is in their spools */
};
/* Publishes alarms of another gateway: gives them new ids, and adds them to the spools. False: a
 * disk fails; call it again with the same alarms. */
bool bp_publisher_adopt(struct bp_publisher *p, unsigned n, struct bp_adopted *alarms);
/* Whether there is a destination, and the spools of all work as far as is known. */
bool bp_publisher_can_adopt(const struct bp_publisher *p);
/*
 * What a destination has: alarms with ids below `oldest` are neither in a ring nor in its spool
 * (0: not known). Of these, the limits of the spool have dropped those up to `dropped`. Further
 * ones that are not finished are lost: the file was damaged, or the disk failed.
 */
struct bp_publisher_bounds {
	uint64_t oldest, dropped;
};
void bp_publisher_bounds(
	const struct bp_publisher *p, struct bp_publisher_bounds out[BP_DESTINATIONS]);
/* Copies a row of a spool. Returns its length, also if that exceeds `size`; 0: there is none. */
size_t bp_publisher_row(struct bp_publisher *p, uint64_t id, struct bp_alarm *out, size_t size);

#endif
