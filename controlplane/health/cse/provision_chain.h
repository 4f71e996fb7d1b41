/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_CSE_PROVISION_CHAIN_H
#define BP_CONTROLPLANE_HEALTH_CSE_PROVISION_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/log.h"
#include "controlplane/health/cse/provision.h"

/* ---- paths ---- */

/*
 * Where the CSE keeps a device's measurements: health_devices.cse.path with its templates filled
 * in. Its first segment is the CSE's base, the second an AE, the rest are containers.
 */
#define BP_PROVISION_PATH_MAX 512u
#define BP_PROVISION_SEGMENTS_MAX 16u

struct bp_provision_names {
	const uint8_t *system_id; /* 8 octets */
	const char *type;
	const char *object;
};

/* False: longer than `size`, or a template that is none. */
bool bp_provision_render(
	char *out, size_t size, const char *template_, const struct bp_provision_names *n);
/* Octets of the first `n` segments of a path; all of it when it has no more. */
size_t bp_provision_prefix(const char *path, unsigned n);
unsigned bp_provision_segments(const char *path);
/* Segment `i` (from 0) as a text of its own; false: there is none, or it is longer than `size`. */
bool bp_provision_segment(char *out, size_t size, const char *path, unsigned i);

/* ---- pauses ---- */

/*
 * Devices that the CSE did not take lately, by their system-id, and since when they may be tried
 * again. Of more than BP_PROVISION_PAUSES the one whose pause ends first is forgotten.
 */
#define BP_PROVISION_PAUSES 1024u

struct bp_provision_pause {
	uint8_t system_id[8];
	uint64_t due_ns;  /* monotonic */
	uint64_t next_ns; /* length of the next pause, before it is limited */
	uint64_t round;   /* the last in which it was met */
};

struct bp_provision_pauses {
	unsigned n;
	struct bp_provision_pause pause[BP_PROVISION_PAUSES];
};

/* Begins a pause of the device: of first_ns, doubled with each up to max_ns. */
void bp_provision_pause_begin(struct bp_provision_pauses *p, const uint8_t system_id[8],
	uint64_t now_ns, uint64_t first_ns, uint64_t max_ns);
/* The device's, which may be over; NULL: it has none. */
struct bp_provision_pause *bp_provision_pause_of(
	struct bp_provision_pauses *p, const uint8_t system_id[8]);
/* It was taken: the next pause is a first one. */
void bp_provision_pause_forget(struct bp_provision_pauses *p, const uint8_t system_id[8]);
/* When the next pause ends after now_ns; UINT64_MAX: none does. */
uint64_t bp_provision_pause_end(const struct bp_provision_pauses *p, uint64_t now_ns);

/* ---- chains of requests ---- */

/* What provision.c and provision_chain.c share: the first knows what comes when, the second how the
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
	REPAIR_DEVICE,
	CONTAINER, /* (4), by object and depth */
	PAUSE,     /* until `pause` fires */
};

/* One device at a time. */
struct chain {
	struct bp_provision *p;
	enum step step, after_pause;
	bool parked;           /* PAUSE without a time, until the CSE is back */
	bool roomless;         /* the same, until the client has room */
	uint64_t requested_ns; /* when the request was, that is outstanding */
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
	uint64_t retry_pause_ns; /* the pause after the next unanswered request; 0: none was */
	struct chain *probe;     /* the CSE is away: only this one asks anew */
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
bool bp_chain_request(struct chain *c);

#endif
