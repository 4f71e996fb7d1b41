/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_REPLAY_REPLAY_PHD_INTERNAL_H
#define BP_DATAPLANE_REPLAY_REPLAY_PHD_INTERNAL_H

#include "dataplane/replay/replay_phd.h"
#include "dataplane/replay/replay_phd_known.h"
#include "dataplane/replay/replay_phd_peers.h"
#include "services/health/manager.h"

/* State that the files of the manager in replay share: dataplane/replay/replay_phd*.c only. */

/* Values that no counter of the worker covers. */
struct bp_replay_phd_counts {
	uint64_t tcp_connections; /* to health_devices.listen.tcp_port: SYNs */
	uint64_t tcp_segments;
	uint64_t unreadable; /* to health_devices.listen.udp_port: fragments, IP options, multicast
			      */
	uint64_t acknowledged;
};

struct bp_replay_phd {
	const struct bp_config *c;
	struct bp_shm *shm;
	struct bp_phd_tables *t;
	struct bp_worker *w;
	struct bp_phd_writer *writer;
	struct bp_phd_manager *m;
	struct bp_phd_manager_counts manager;
	struct bp_replay_phd_counts counts;
	struct bp_replay_known *known;
	struct bp_replay_peers *peers;
	struct bp_config_phd_ids allow; /* contents of the file in allow_file */
	uint16_t *asked;                /* by slot: invoke-id of our GET */
	uint64_t events;                /* cursor in the worker's ring */
	struct rte_ring *said;          /* output frames */
	bool by_type;                   /* the path contains {type} */
	bool failed;
};

/* Offsets of invoke-id and choice in a PRST (ISO/IEEE 11073-20601, A.10.1). */
#define BP_PHD_INVOKE_AT 6u
#define BP_PHD_DATA_AT 8u

static inline bool bp_replay_phd_slot(
	const struct bp_replay_phd *p, const struct bp_phd_peer *of, uint32_t *slot)
{
	const uint64_t hash = bp_phd_hash(p->t->hash_key, of->address, of->port, of->transport);

	return bp_phd_find(p->t, hash, of->address, of->port, of->transport, slot) == 0;
}

/* ---- replay_phd_settings.c ---- */

void bp_replay_phd_settings(
	struct bp_phd_settings *out, const struct bp_config *c, const struct bp_fib *fib);
/* The system-id of the manager. */
void bp_replay_phd_system_id(uint8_t out[8], const struct bp_config *c, const struct bp_fib *fib);

/* ---- replay_phd_in.c: what came ---- */

/* Takes ownership of a frame that node exception handed over. */
void bp_replay_phd_take(struct bp_replay_phd *p, struct rte_mbuf *m);

#endif
