/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_CSE_PROVISION_CHAIN_H
#define BP_CONTROLPLANE_HEALTH_CSE_PROVISION_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controlplane/process/log.h"
#include "controlplane/health/cse/provision.h"
#include "controlplane/health/cse/provision_path.h"
#include "controlplane/health/cse/provision_pause.h"

/* What provision.c and provision_ask.c share: the first knows what comes when, the second how the
 * CSE is asked for it. */

enum step {
	IDLE,
	GATEWAY,       /* (1) */
	CHECK_GATEWAY, /* it is there already: whose is it? */
	POLICY_STEP,   /* (2) */
	DEVICE,        /* (3) */
	CHECK_DEVICE,
	/* we may not look into it: the device's own originator looks, and puts it under (2) again
	 */
	OWN_DEVICE,
	MEND_DEVICE,
	CONTAINER, /* (4), by object and depth */
	PAUSE,     /* until `pause` fires */
};

/* One device at a time. */
struct chain {
	struct bp_provision *p;
	enum step step, after_pause;
	bool parked;       /* PAUSE without a time, until the CSE is back */
	bool roomless;     /* the same, until the client has room */
	uint64_t asked_ns; /* when the request was, that is outstanding */
	struct bp_provision_target target;
	unsigned object, depth;
	struct event *pause;
};

struct bp_provision {
	struct bp_cse cse;
	struct bp_provision_settings settings;
	const struct bp_provision_ops *ops;
	void *arg;
	bp_cse_done *on_reply; /* to a chain */
	struct bp_provision_counts counts;
	struct bp_log_limit log;
	struct event *kick;
	struct event *wake; /* a device's pause is over, or the probe waits for too long */
	struct bp_cse_watch room;
	struct bp_provision_pauses pauses;
	uint64_t round;          /* of looking for a device */
	unsigned unreadable_row; /* answers that can't be read since one could */
	unsigned refused_row;    /* devices refused since one was taken */
	uint64_t base_ns;        /* pause after the next refusal of (1) or (2) */
	bool based;              /* (1) and (2) are there */
	bool basing;             /* a chain makes them */
	uint64_t answered_ns; /* of the requests that were answered: when the last one was asked */
	uint64_t away_ns;     /* the pause after the next unanswered request; 0: none was */
	struct chain *probe;  /* the CSE is away: only this one asks anew */
	struct chain chain[];
};

/* The path's AE is the same for all devices. */
bool bp_chain_one_ae(const struct bp_provision *p);
/* Devices speak for themselves: neither (1) nor (2). */
bool bp_chain_own_originators(const struct bp_provision *p);
/* The path for one of the target's objects. */
bool bp_chain_render(const struct chain *c, unsigned object, char out[BP_PROVISION_PATH_MAX]);
/* Who registers the device's AE, whose name is `ae`. */
bool bp_chain_registrant(const struct chain *c, const char *ae, char *out, size_t size);

/* Asks for what the step needs. False: it can't be sent as it is. Without room it is sent later. */
bool bp_chain_ask(struct chain *c);

#endif
