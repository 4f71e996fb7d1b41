/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_SYNC_H
#define BP_CONTROLPLANE_SYNC_SYNC_H

#include <stddef.h>

#include "shm/fib/fib_writer.h"
#include "shm/layout.h"

struct bp_config;

/*
 * The sync manager: the forwarding tables follow the kernel. It subscribes to rtnetlink events
 * first, then dumps everything, then applies the events that arrived meanwhile and every later one,
 * in order. Changes of the kernel without an event, and lost events (ENOBUFS), cause a new dump
 * next to the active state: the tables are never emptied; outdated entries are deleted at the end,
 * together with the update.
 *
 * Everything runs in the event loop of `base`, at most BP_SYNC_TIME_SLICE_NS at a time.
 */
#define BP_SYNC_TIME_SLICE_NS 2000000u

struct event_base;
struct bp_sync;

enum bp_sync_state {
	BP_SYNC_OFF,     /* no interface is routed, or no control plane has run yet */
	BP_SYNC_LOADING, /* dumping, or writing the result of the dump */
	BP_SYNC_SYNCED,  /* the tables match the last state of the kernel */
	BP_SYNC_HELD, /* a kernel interface disappeared with the data plane: the tables are kept */
};

/* The destinations of the cache; the caller owns all of them. */
struct bp_sync_to {
	struct bp_fib_writer *writer;
	const struct bp_fib *fib;           /* of the writer, for its counters */
	const struct bp_shm_global *global; /* shows whether a data plane runs */
	struct bp_shm_control *control;     /* its cp_sync_* fields are written */
	const struct bp_port_info *ports;   /* the ports as described by the data plane */
	uint32_t n_ports;                   /* number of ports */
};

/* Starts the sync manager; it loads in the event loop. Returns NULL with a sentence in `err` on
 * failure. */
struct bp_sync *bp_sync_new(struct event_base *base, const struct bp_sync_to *to,
	const struct bp_config *c, char *err, size_t err_size);
/* The tables remain unchanged; the kernel interfaces disappear unless the data plane has them
 * open. */
void bp_sync_free(struct bp_sync *s);

/* Activates another configuration, which differs only in reloadable settings; the previous one may
 * be freed afterwards. */
void bp_sync_reconfigure(struct bp_sync *s, const struct bp_config *c);

enum bp_sync_state bp_sync_state(const struct bp_sync *s);

#endif
