/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FLEET_H
#define BP_SHM_FLEET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shm/hash.h"

/* What the control plane shows of the state that it shares with the fleet. */

/* Reasons for which connections to Redis, writes and reads fail. */
enum bp_fleet_error {
	BP_FLEET_ERROR_CONNECT,     /* no TCP or TLS connection */
	BP_FLEET_ERROR_CLOSED,      /* Redis closed it */
	BP_FLEET_ERROR_TIMEOUT,     /* no answer within fleet.state.timeout */
	BP_FLEET_ERROR_AUTH,        /* wrong or missing password, or no permission */
	BP_FLEET_ERROR_SENTINEL,    /* no Sentinel knows the master */
	BP_FLEET_ERROR_NOT_MASTER,  /* a replica, or read only */
	BP_FLEET_ERROR_FULL,        /* maxmemory */
	BP_FLEET_ERROR_UNAVAILABLE, /* loading, busy, without replicas or disk */
	BP_FLEET_ERROR_REFUSED,     /* another error */
	BP_FLEET_ERROR_PROTOCOL,    /* an answer that is not valid */
	BP_FLEET_ERROR_EPOCH, /* the counter of epochs is at its end, or a record's is far above it
			       */
	BP_FLEET_ERRORS,
};
extern const char *const bp_fleet_error_name[BP_FLEET_ERRORS];

struct bp_fleet_counters {
	uint64_t connects;
	uint64_t stored, superseded, collapsed;
	uint64_t lost_full, lost_expired, lost_refused;
	uint64_t reads, found, reads_failed;
	uint64_t error[BP_FLEET_ERRORS];
};

/* Of controlplane/mqtt/connections.c. */
struct bp_fleet_connection_counters {
	uint64_t stored, ended;    /* records of this gateway that were written, deleted */
	uint64_t not_queued;       /* not written, because the queue was full */
	uint64_t requests, found;  /* of workers; records that were found */
	uint64_t not_answered;     /* the ring of answers was full for too long, or no memory */
	uint64_t answers_deferred; /* waited until the ring of answers had space */
};

/* Of controlplane/mqtt/alarm_copies.c. */
struct bp_fleet_alarm_counters {
	uint64_t stored, removed;                      /* copies in Redis */
	uint64_t claimed, adopted;                     /* of dead gateways; added to the spool */
	uint64_t taken;                                /* own alarms that others have claimed */
	uint64_t full, too_large, unreadable, refused; /* not stored */
	uint64_t invalid, no_destination, disk_failed; /* not adopted */
	uint64_t fenced; /* renewals: another process has the name of this gateway */
};

/* Of controlplane/mqtt/shared_states.c: raised and cleared states. */
struct bp_fleet_rule_counters {
	uint64_t raised, cleared;          /* here */
	uint64_t adopted, conflicts;       /* of other gateways; raised twice */
	uint64_t full, too_large, invalid; /* not shared */
	uint64_t client_full;              /* not shared: the share of one client */
	uint64_t holds, holds_adopted;     /* changes of this gateway, and of others */
	uint64_t unstored; /* records that were written before Redis had the states of the client */
};

/* Of controlplane/health/associations.c. */
struct bp_fleet_association_counters {
	uint64_t stored, ended; /* records of this gateway that were written, deleted */
	uint64_t not_queued;    /* not written: the queue was full, or no memory */
	uint64_t too_large;     /* not written: the configuration is too long */
	uint64_t requests;      /* for unknown devices */
	uint64_t limited;       /* not requested: too many at a time, or in a second */
	uint64_t adopted;       /* of other gateways */
	uint64_t not_found, invalid, refused; /* not adopted; refused: by a limit of this gateway */
	uint64_t taken;                       /* sessions that other gateways have adopted */
};

/* The client of a report of a hold that is lost: a bit in struct bp_shm_shared. IPv6: its
 * /64. key: secret, so that no client can choose an address with the bit of another one. */
#define BP_HOLD_CLIENTS 4096u
#define BP_HOLD_LOST_WORDS (BP_HOLD_CLIENTS / 64)
static inline uint32_t bp_hold_client(uint64_t key, const uint8_t ip[16], bool ip6)
{
	const uint64_t part = ip6 ? bp_load64(ip) : bp_load_part(ip, 4);

	return (uint32_t)(bp_mix64(part ^ key) % BP_HOLD_CLIENTS);
}

#define BP_FLEET_SERVER_TEXT 64u
#define BP_FLEET_ERROR_TEXT 256u

/* Each counter grows over restarts of the control plane, as long as the segment exists. */
struct bp_shm_fleet {
	_Atomic uint64_t max_queued; /* as configured; 0: the gateway shares no state */
	_Atomic uint64_t max_queued_bytes;
	_Atomic uint64_t queued, queued_bytes; /* writes that Redis has not acknowledged */
	_Atomic uint64_t lag_ns;               /* age of the oldest of them */
	_Atomic uint64_t epoch;                /* 0: Redis has assigned none yet */
	_Atomic uint64_t connected;
	struct bp_fleet_counters counters;
	struct bp_fleet_connection_counters connections;
	struct bp_fleet_alarm_counters alarms;
	struct bp_fleet_rule_counters rules;
	struct bp_fleet_association_counters associations;
	_Atomic uint64_t leased, unacknowledged, pairs; /* gauges of these */
	/* Texts that change while they are read show a mixture for a moment. */
	char fleet[32], server[BP_FLEET_SERVER_TEXT], last_error[BP_FLEET_ERROR_TEXT];
};

/* Adds to n counters in the segment what `now` has more than `*shown`, which becomes `now`. */
static inline void bp_fleet_counters_show(
	uint64_t *segment, const uint64_t *now, uint64_t *shown, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		__atomic_fetch_add(&segment[i], now[i] - shown[i], __ATOMIC_RELAXED);
		shown[i] = now[i];
	}
}

#endif
