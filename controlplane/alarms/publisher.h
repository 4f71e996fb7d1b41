/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_ALARMS_PUBLISHER_H
#define BP_CONTROLPLANE_ALARMS_PUBLISHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/layout.h"

struct bp_config_mqtt;

struct event_base;

/*
 * Takes alarms out of the workers' rings and publishes them, QoS 1, to the edge broker.
 *
 * An alarm leaves its ring when the broker has acknowledged it or when the spool has committed it;
 * until then a killed control plane finds it there again. So each alarm arrives at least once; a
 * repeated one has the same id.
 *
 * As long as the broker keeps up nothing touches the disk. Alarms go to the spool when the link has
 * been down for a moment, when one has waited longer than ack_timeout for its acknowledgement, and
 * when the window of unacknowledged alarms is full while a ring is more than half full. Rows of the
 * spool go out in id order in a quarter of the window, beside the live alarms.
 *
 * An alarm that makes the broker close the connection is sent again like any other after a lost
 * connection; only the spool's max_age ends that.
 */
struct bp_publisher;

/* More unacknowledged alarms than this cost libmosquitto more than they gain. */
#define BP_PUBLISHER_WINDOW_MAX 2000u

/*
 * NULL with a sentence. Starts at once; works inside `base`. Does not fail for a broker or disk
 * that is away, nor for password or TLS files that can't be read: these are tried again.
 */
struct bp_publisher *bp_publisher_new(struct event_base *base, struct bp_shm *shm,
	const struct bp_config_mqtt *mqtt, char *err, size_t err_size);
void bp_publisher_free(struct bp_publisher *p);

/* What a configuration needs beside the file: the password and TLS files. Returns 0, or -1 with a
 * sentence. */
int bp_publisher_check(const struct bp_config_mqtt *mqtt, char *err, size_t err_size);

/* Whether another process has the spool of this configuration, with a sentence. */
bool bp_publisher_spool_in_use(const struct bp_config_mqtt *mqtt, char *err, size_t err_size);

/* Takes new edge settings and spool bounds over; reconnects only when it must. As _check() fails.
 */
int bp_publisher_configure(
	struct bp_publisher *p, const struct bp_config_mqtt *mqtt, char *err, size_t err_size);

/*
 * Ends in good order: gives the broker until wait_ns from now to acknowledge what is there, commits
 * the rest to the spool, and calls done.
 */
void bp_publisher_drain(
	struct bp_publisher *p, uint64_t wait_ns, void (*done)(void *arg), void *arg);

#endif
