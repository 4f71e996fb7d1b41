/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_CSE_PROVISION_H
#define BP_CONTROLPLANE_HEALTH_CSE_PROVISION_H

#include <stdbool.h>
#include <stdint.h>

#include "controlplane/health/cse/cse_binding.h"

/*
 * Creates the resources at the CSE that contain the instances of devices: an AE for each device and
 * its containers. Existing resources are not an error. While the CSE is unreachable, one request at
 * a time probes it, after growing pauses; waiting devices remain in the owner's table, so that no
 * queue can overflow. A device that the CSE rejects or does not answer pauses and blocks no other
 * device.
 *
 * With a fixed originator, which a CSE allows to register one AE only, the order is: (1) the
 * gateway's own AE, (2) below it an access control policy that permits the originator everything,
 * (3) for each device an AE with the originator "C" + the AE's name, with that policy, (4) its
 * containers, by the fixed originator. An AE that lost the policy gets it again. If the originator
 * contains {system_id}, the device itself is the originator of (3) and (4); if the path's AE
 * contains no placeholder, that AE is (1), and (2) and (3) are omitted.
 */
struct bp_provision;
struct event_base;

#define BP_PROVISION_RETRY_FIRST_NS 1000000000ull /* doubled up to retry_max_ns */

struct bp_provision_settings {
	const char *path;       /* health_devices.cse.path; the owner keeps the texts */
	const char *originator; /* health_devices.cse.originator */
	const char *name;       /* of the gateway's own AE */
	enum bp_m2m_release release;
	uint32_t keep;           /* mni of the containers; 0: the CSE's default */
	unsigned parallel;       /* devices in parallel */
	uint64_t retry_first_ns; /* 0: BP_PROVISION_RETRY_FIRST_NS */
	uint64_t retry_max_ns;
};

/* A device that needs its resources. The texts must remain valid until done(). */
struct bp_provision_target {
	uint64_t cookie; /* returned to the owner */
	uint8_t system_id[8];
	const char *type;           /* for {type} */
	const char *const *objects; /* for {object}; names that need no escapes in JSON */
	unsigned n_objects;
};

struct bp_provision_ops {
	/*
	 * Returns the next unprocessed device; false: there is none now. A device that was returned
	 * must come after all others, or it blocks them.
	 */
	bool (*next)(void *arg, struct bp_provision_target *out);
	/*
	 * The CSE has all resources, or (ready false) rejects the device now, which is logged, or
	 * rejected it a while ago: when next() offers the device again, it is retried after its own
	 * pause, by its system-id. It needs no bp_provision_kick(). Called only from the event
	 * loop.
	 */
	void (*done)(void *arg, uint64_t cookie, bool ready);
};

struct bp_provision_counts {
	uint64_t provisioned;
	uint64_t refused;              /* number of rejections by the CSE */
	uint64_t unreachable_since_ns; /* monotonic; 0: the last request was answered */
};

struct bp_provision *bp_provision_new(struct event_base *base, const struct bp_cse *cse,
	const struct bp_provision_settings *settings, const struct bp_provision_ops *ops,
	void *arg);
/* Call it after the client was freed, which still delivers its last replies here. Devices in
 * progress get no done(). */
void bp_provision_free(struct bp_provision *p);
/* next() has a device. Returns immediately; the work starts in the event loop. */
void bp_provision_kick(struct bp_provision *p);
const struct bp_provision_counts *bp_provision_counts(const struct bp_provision *p);

#endif
