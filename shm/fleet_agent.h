/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FLEET_AGENT_H
#define BP_SHM_FLEET_AGENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "biplane/limits.h"
#include "shm/seqlock.h"

/*
 * The agent of the fleet, as it last reported itself to the control plane, which writes this. The
 * agent is a process of its own without access to the segment.
 */

/* Where the agent is with the last rollout. */
enum bp_fleet_phase {
	BP_FLEET_IDLE,        /* no rollout yet */
	BP_FLEET_WAITING,     /* for the canaries, or for the gateway to run */
	BP_FLEET_TRIAL,       /* applied, and watched */
	BP_FLEET_APPLIED,     /* passed its trial */
	BP_FLEET_REFUSED,     /* never applied: errors */
	BP_FLEET_ROLLED_BACK, /* the good bundle is active again: errors */
	BP_FLEET_PHASES,
};
const char *bp_fleet_phase_name(enum bp_fleet_phase phase);
/* False: it is not a name. */
bool bp_fleet_phase_read(const char *name, enum bp_fleet_phase *phase);

#define BP_FLEET_AGENT_ERROR 512
struct bp_fleet_report {
	uint64_t pid;
	uint64_t started_ns, heard_ns; /* Unix time */
	uint64_t serial;               /* of the last rollout that was tried or applied; 0: none */
	uint64_t version;              /* of the active bundle; 0: none */
	uint64_t since_ns;             /* Unix time of the phase; 0: not known */
	uint32_t phase;                /* enum bp_fleet_phase */
	uint16_t connected, leased;    /* 1: etcd answers; the member has a lease */
	char member[BP_NAME_MAX + 1];
	char error[BP_FLEET_AGENT_ERROR]; /* first line; "": none */
};

struct bp_fleet_agent {
	_Atomic uint64_t expected; /* 1: the configuration has fleet.config */
	/* results of rollouts that the agent reported, indexed by phase */
	_Atomic uint64_t results[BP_FLEET_PHASES];
	struct bp_seqlock lock;
	struct bp_fleet_report is;
};
_Static_assert(sizeof(struct bp_fleet_report) % 8 == 0, "copied by bp_seqlock");

/* Any process: the last report, checked: texts end, enumerations are valid. False: none yet. */
bool bp_fleet_agent_read(const struct bp_fleet_agent *a, struct bp_fleet_report *out);

#endif
