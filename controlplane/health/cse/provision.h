/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONTROLPLANE_HEALTH_CSE_PROVISION_H
#define BP_CONTROLPLANE_HEALTH_CSE_PROVISION_H

#include <stdbool.h>
#include <stdint.h>

#include "controlplane/health/cse/cse_binding.h"

/*
 * Makes sure that the CSE has what the instances of devices go into: an AE for each device and its
 * containers. What is there already is no error. While the CSE is away one request at a time asks
 * for it, after pauses that grow; whoever waits, waits in the owner's table, so that nothing here
 * can overflow. A device that the CSE refuses, or does not answer, pauses and holds up no other.
 *
 * With a fixed originator, which a CSE lets register one AE only, the order is: (1) the gateway's
 * own AE, (2) under it an access control policy by which the originator may do everything, (3) for
 * each device an AE of the originator "C" + the AE's name, under that policy, (4) its containers,
 * by the fixed originator. An AE that lost the policy is put under it again. Where the originator
 * holds {system_id} it does (3) and (4) itself, and where the path's AE holds no template, that AE
 * is (1), and (2) and (3) are left out.
 */
struct bp_provision;
struct event_base;

#define BP_PROVISION_RETRY_FIRST_NS 1000000000ull /* doubled up to retry_max_ns */

struct bp_provision_settings {
	const char *path; /* health_devices.cse.path; the texts are the owner's for as long as this
			     lives */
	const char *originator; /* health_devices.cse.originator */
	const char *name;       /* of the gateway's own AE */
	enum bp_m2m_release release;
	uint32_t keep;           /* mni of the containers; 0: the CSE's choice */
	unsigned parallel;       /* devices at a time */
	uint64_t retry_first_ns; /* 0: BP_PROVISION_RETRY_FIRST_NS */
	uint64_t retry_max_ns;
};

/* A device that needs its resources. The texts must stay until done(). */
struct bp_provision_target {
	uint64_t cookie; /* handed back */
	uint8_t system_id[8];
	const char *type;           /* for {type} */
	const char *const *objects; /* for {object}; names that need no escapes in JSON */
	unsigned n_objects;
};

struct bp_provision_ops {
	/*
	 * The next device that nothing was done about yet; false: there is none now. One that was
	 * handed back comes after all others, or it holds them up.
	 */
	bool (*next)(void *arg, struct bp_provision_target *out);
	/*
	 * The CSE has everything, or (ready false) does not take it now, for which the log has a
	 * line, or did not a while ago: offered again by next() it is tried again after a pause of
	 * its own, by its system-id. It needs no bp_provision_kick(). Called from the event loop
	 * only.
	 */
	void (*done)(void *arg, uint64_t cookie, bool ready);
};

struct bp_provision_counts {
	uint64_t provisioned;
	uint64_t refused;              /* times that the CSE said no */
	uint64_t unreachable_since_ns; /* monotonic; 0: the CSE answered last */
};

struct bp_provision *bp_provision_new(struct event_base *base, const struct bp_cse *cse,
	const struct bp_provision_settings *settings, const struct bp_provision_ops *ops,
	void *arg);
/* After the client was freed, whose last replies still come here. Devices being worked on get no
 * done(). */
void bp_provision_free(struct bp_provision *p);
/* next() has something. Returns at once; work begins in the event loop. */
void bp_provision_kick(struct bp_provision *p);
const struct bp_provision_counts *bp_provision_counts(const struct bp_provision *p);

#endif
