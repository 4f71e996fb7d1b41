/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_SYNC_H
#define BP_CONTROLPLANE_SYNC_SYNC_H

#include <stddef.h>

#include "shm/fib/fib_writer.h"
#include "shm/layout.h"

struct bp_config;

/*
 * The sync manager: the forwarding tables follow the kernel. It subscribes to rtnetlink's events
 * first, then dumps everything, then applies the events that came meanwhile and every later one, in
 * order. What the kernel changes without an event, and events that were lost (ENOBUFS), make it
 * dump again beside what is in force: the tables are never emptied, what is no longer true is swept
 * at the end, in one go with what is new.
 *
 * Everything runs in the event loop of `base`, at most BP_SYNC_TIME_SLICE_NS at a time.
 */
#define BP_SYNC_TIME_SLICE_NS 2000000u

struct event_base;
struct bp_sync;

enum bp_sync_state {
	BP_SYNC_OFF,     /* nothing routes, or no control plane has run yet */
	BP_SYNC_LOADING, /* dumping, or telling what was dumped */
	BP_SYNC_SYNCED,  /* the tables say what the kernel said last */
	BP_SYNC_HELD,    /* a kernel interface went with the data plane: the tables are kept */
};

/* Where the mirror goes; all of it stays the caller's. */
struct bp_sync_to {
	struct bp_fib_writer *writer;
	const struct bp_fib *fib;           /* the writer's, to read its figures */
	const struct bp_shm_global *global; /* whether there is a data plane */
	struct bp_shm_control *control;     /* its cp_sync_* fields are written */
	const struct bp_port_info *ports;   /* what the data plane says of its ports */
	uint32_t n_ports;                   /* of those */
};

/* Starts it; the loading goes on in the event loop. NULL with a sentence. */
struct bp_sync *bp_sync_new(struct event_base *base, const struct bp_sync_to *to,
	const struct bp_config *c, char *err, size_t err_size);
/* The tables stay as they are; the kernel interfaces go unless the data plane has them. */
void bp_sync_free(struct bp_sync *s);

/* Another configuration is in force, which differs in what can be reloaded only; the one before may
 * be freed afterwards. */
void bp_sync_reconfigure(struct bp_sync *s, const struct bp_config *c);

enum bp_sync_state bp_sync_state(const struct bp_sync *s);

#endif
