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
 * The location of a device's measurements at the CSE: health_devices.cse.path with its placeholders
 * replaced. The first segment is the CSE's base, the second an AE, the rest are containers.
 */
#define BP_PROVISION_PATH_MAX 512u
#define BP_PROVISION_SEGMENTS_MAX 16u

struct bp_provision_names {
	const uint8_t *system_id; /* 8 bytes */
	const char *type;
	const char *object;
};

/* False: longer than `size`, or an invalid placeholder. */
bool bp_provision_render(
	char *out, size_t size, const char *template_, const struct bp_provision_names *n);
/* Returns the length in bytes of the first `n` segments of a path; all of it when it has no
 * more. */
size_t bp_provision_prefix(const char *path, unsigned n);
unsigned bp_provision_segments(const char *path);
/* Copies segment `i` (from 0) as a separate text; false: it does not exist, or is longer than
 * `size`. */
bool bp_provision_segment(char *out, size_t size, const char *path, unsigned i);

/* ---- pauses ---- */

/*
 * Devices that the CSE rejected recently, by their system-id, with the time of the next attempt. Of
 * more than BP_PROVISION_PAUSES devices, the one whose pause ends first is forgotten.
 */
#define BP_PROVISION_PAUSES 1024u

struct bp_provision_pause {
	uint8_t system_id[8];
	uint64_t due_ns;  /* monotonic */
	uint64_t next_ns; /* length of the next pause, before the limit */
	uint64_t round;   /* the last round in which the device was offered */
};

struct bp_provision_pauses {
	unsigned n;
	struct bp_provision_pause pause[BP_PROVISION_PAUSES];
};

/* Starts a pause of the device: of first_ns, doubled each time up to max_ns. */
void bp_provision_pause_begin(struct bp_provision_pauses *p, const uint8_t system_id[8],
	uint64_t now_ns, uint64_t first_ns, uint64_t max_ns);
/* Returns the device's pause, which may be over; NULL: it has none. */
struct bp_provision_pause *bp_provision_pause_of(
	struct bp_provision_pauses *p, const uint8_t system_id[8]);
/* The device was accepted: its next pause is a first one. */
void bp_provision_pause_forget(struct bp_provision_pauses *p, const uint8_t system_id[8]);
/* Returns when the next pause ends after now_ns; UINT64_MAX: none does. */
uint64_t bp_provision_pause_end(const struct bp_provision_pauses *p, uint64_t now_ns);

/* ---- chains of requests ---- */

/* Shared by provision.c, which knows the order of steps, and provision_chain.c, which builds the
 * requests of each step. */

enum step {
	IDLE,
	GATEWAY,       /* (1) */
	CHECK_GATEWAY, /* it already exists: checks its owner */
	POLICY_STEP,   /* (2) */
	DEVICE,        /* (3) */
	CHECK_DEVICE,
	/* we have no access to it: the device's own originator checks it, and restores (2) */
	OWN_DEVICE,
	REPAIR_DEVICE,
	CONTAINER, /* (4), by object and depth */
	PAUSE,     /* until `pause` fires */
};

/* Processes one device at a time. */
struct chain {
	struct bp_provision *p;
	enum step step, after_pause;
	bool parked;           /* PAUSE without a time, until the CSE is back */
	bool roomless;         /* the same, until the client has capacity */
	uint64_t requested_ns; /* time of the outstanding request */
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
	struct event *wake; /* a device's pause has ended, or the probe has waited too long */
	struct bp_cse_watch room;
	struct bp_provision_pauses pauses;
	uint64_t round;          /* number of a search for a device */
	unsigned unreadable_row; /* unreadable answers since the last readable one */
	unsigned refused_row;    /* devices rejected since the last one was accepted */
	uint64_t base_ns;        /* pause after the next rejection of (1) or (2) */
	bool based;              /* (1) and (2) exist */
	bool basing;             /* a chain creates them */
	uint64_t answered_ns;    /* of the answered requests: send time of the latest */
	uint64_t retry_pause_ns; /* pause after the next unanswered request; 0: none so far */
	struct chain *probe;     /* the CSE is unreachable: only this chain sends requests */
	struct chain chain[];
};

/* Returns whether the path's AE is the same for all devices. */
bool bp_chain_one_ae(const struct bp_provision *p);
/* Returns whether devices are originators themselves: neither (1) nor (2). */
bool bp_chain_own_originators(const struct bp_provision *p);
/* Writes the path for one of the target's objects. */
bool bp_chain_render(const struct chain *c, unsigned object, char out[BP_PROVISION_PATH_MAX]);
/* Writes the originator that registers the device's AE `ae`. */
bool bp_chain_registrant(const struct chain *c, const char *ae, char *out, size_t size);

/* Sends the request of the current step. False: it cannot be sent at all. Without capacity it is
 * sent later. */
bool bp_chain_request(struct chain *c);

#endif
