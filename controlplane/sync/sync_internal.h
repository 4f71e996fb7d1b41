/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_SYNC_SYNC_INTERNAL_H
#define BP_CONTROLPLANE_SYNC_SYNC_INTERNAL_H

#include <event2/event.h>

#include "daemon/log.h"
#include "controlplane/sync/interfaces.h"
#include "controlplane/sync/load.h"
#include "controlplane/sync/nl_cache.h"
#include "controlplane/sync/netlink.h"
#include "controlplane/sync/queue.h"
#include "controlplane/sync/static.h"
#include "controlplane/sync/sync.h"

/* Shared by the files of the sync manager: sync.c (events and timers), resync.c (dumps), hold.c. */

enum bp_sync_phase {
	SYNC_DRAINING,   /* queued events are discarded: the dump will contain them */
	SYNC_LOADING,    /* a dump is loaded into `next`; events wait in `queue` */
	SYNC_PUBLISHING, /* the routes of `cache` are written, some at a time; events are applied */
	SYNC_FOLLOWING,
	SYNC_HOLDING, /* nothing is applied, see hold.c */
};

struct bp_sync {
	struct bp_sync_to to;
	const struct bp_config *config;
	struct bp_netlink events, dumps, requests;
	struct event *on_events, *on_dumps, *step, *settle, *second, *later;
	struct bp_interfaces interfaces;
	uint32_t set_up[BP_MAX_INTERFACES]; /* ifindex configured from the file */
	struct bp_sync_static fixed;
	bool netconf;           /* settings of an interface (sysctl) may have changed */
	unsigned settings_read; /* seconds since they were read */
	enum bp_sync_phase phase;
	struct bp_nl_cache *cache; /* the active cache; NULL before the first dump is complete */
	struct bp_nl_cache *next;
	struct bp_load load;
	unsigned repeats; /* of the running dump */
	bool disturbed;   /* IPv6 routes were removed during their dump */
	struct bp_sync_queue queue;
	uint32_t cursor;                /* position of the publication */
	bool sweeping;                  /* entries that are not published are deleted afterwards */
	uint64_t begun_ns;              /* monotonic: the running load, or the last one */
	uint64_t ended_ns;              /* of the last one, 0: none yet */
	uint64_t took_ns;               /* duration of the last one */
	uint64_t begun;                 /* loads, including aborted ones */
	uint64_t loads;                 /* completed */
	bool wanted;                    /* a resync is requested */
	const char *why;                /* reason of the resync */
	uint32_t subinterfaces_refused; /* already logged */
	uint32_t vrfs_refused;          /* already logged */
	bool full;                      /* a full table was already logged */
	uint64_t held_until_ns;
	bool back;    /* all kernel interfaces are back, while holding */
	bool checked; /* the interfaces were checked since the last receive */
	struct bp_log_limit log_overrun, log_resync, log_refused, log_memory;
};

/* resync.c */
void bp_sync_resync_soon(struct bp_sync *s, const char *why);
void bp_sync_load(struct bp_sync *s); /* starts immediately, and aborts a running load */
void bp_sync_drained(struct bp_sync *s);
void bp_sync_on_dumps(evutil_socket_t fd, short what, void *arg);
void bp_sync_on_step(evutil_socket_t fd, short what, void *arg);
void bp_sync_on_later(evutil_socket_t fd, short what, void *arg);
void bp_sync_retry_rejected(struct bp_sync *s);

/* sync.c */
void bp_sync_show(struct bp_sync *s);
void bp_sync_follow_static(struct bp_sync *s, bool again);
/* Handles the flags that the cache has set for its owner. */
void bp_sync_after(struct bp_sync *s);
/* Reads the waiting events, for at most one time slice. False: some are left. */
bool bp_sync_read_events(struct bp_sync *s);

/* hold.c */
/* Returns whether the event may accompany the removal of a kernel interface with the data plane,
 * and one was removed: then everything is held. */
bool bp_sync_hold(struct bp_sync *s, const struct nlmsghdr *h);
/* Called periodically while holding: checks whether the hold can end. */
void bp_sync_hold_check(struct bp_sync *s);

#endif
