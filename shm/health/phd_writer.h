/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_HEALTH_PHD_WRITER_H
#define BP_SHM_HEALTH_PHD_WRITER_H

#include "shm/fib/fib.h"
#include "shm/health/phd.h"

/* The one writer of the session tables: the control plane, or replay. One thread at a time. */

struct bp_phd_writer;

/*
 * Adopts the tables: existing content stays, and changes that an earlier writer left incomplete are
 * repaired (counted in control->repairs). Slots and layouts are reused after all workers have
 * passed (shm/fib/epoch.h): `epochs`, `readers_gone` and `arg` as for bp_epoch_init(). Returns NULL
 * with a sentence in err.
 */
struct bp_phd_writer *bp_phd_writer_new(struct bp_phd_tables *t, const struct bp_fib *epochs,
	bool (*readers_gone)(void *arg), void *arg, char *err, size_t err_size);
void bp_phd_writer_free(struct bp_phd_writer *w); /* the tables stay */

/* Closes sessions whose layout valid() refuses, as bp_phd_layout_valid() does; how many. To be
 * called before what an earlier writer left is used. */
uint32_t bp_phd_writer_check(
	struct bp_phd_writer *w, bool (*valid)(const struct bp_phd_layout *layout));

/* A new session. In host byte order, except the addresses. */
struct bp_phd_session_spec {
	uint8_t address[16]; /* the device's; IPv4 as ::ffff:a.b.c.d */
	uint8_t own[16];     /* the one that it talks to */
	uint8_t system_id[8];
	uint16_t port;
	uint8_t transport;
	uint8_t protocol;
	uint16_t config_id, spec;
	uint8_t state;   /* enum bp_phd_state, not FREE */
	uint8_t flags;   /* BP_PHD_READY ... */
	uint16_t layout; /* or BP_PHD_NO_LAYOUT */
	uint8_t mds_known, provision;
	uint32_t associated_s, reports;
	uint32_t deadline_s;
	uint64_t config_content, aarq_hash, config_hash, opened_ns;
	/* A worker would name it by this session: over UDP, the session must not be READY while
	 * parts of it are open. */
	struct bp_phd_carried carried;
};
/* The address, port and transport must have no session yet. Returns 0 and *slot, or -1: the table,
 * or both groups of this address, are full (counted in control->refused). */
int bp_phd_session_open(
	struct bp_phd_writer *w, const struct bp_phd_session_spec *s, uint32_t *slot);
/* State (not FREE), flags and layout of a session. The layout may be another: users follow. */
void bp_phd_session_word(struct bp_phd_writer *w, uint32_t slot, enum bp_phd_state state,
	uint8_t flags, uint16_t layout);
/* The layout alone. */
void bp_phd_session_layout(struct bp_phd_writer *w, uint32_t slot, uint16_t layout);
/* Changes only flags; flags in neither argument are unchanged, since a worker may be setting
 * them. */
void bp_phd_session_flags(struct bp_phd_writer *w, uint32_t slot, uint8_t set, uint8_t clear);
void bp_phd_session_close(struct bp_phd_writer *w, uint32_t slot);

/*
 * Number of a layout equal to `made`, else of a new one; -1: full. One that no session uses may be
 * given to others with the next call. `made` is of made->size bytes, padding zeroed.
 */
int bp_phd_layout_get(struct bp_phd_writer *w, const struct bp_phd_layout *made);

/* Makes another plan known. */
void bp_phd_settings_publish(struct bp_phd_writer *w, const struct bp_phd_settings *plan);

/* Frees the memory that all workers have left; to be called periodically while no other function is
 * called. */
void bp_phd_writer_settle(struct bp_phd_writer *w);

#endif
