/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_HEALTH_PHD_WRITER_PARTS_H
#define BP_SHM_HEALTH_PHD_WRITER_PARTS_H

#include "shm/fib/epoch.h"
#include "shm/index.h"
#include "shm/health/phd_store.h"
#include "shm/health/phd_writer.h"
#include "shm/fib/reuse.h"

/* Declarations that the parts of the session tables' writer share; only for shm/phd_*.c. */

/* The writer's notes on a slot. */
#define BP_PHD_NOTE_RETIRED 0x1 /* a worker may still use it */
#define BP_PHD_NOTE_SESSION 0x2 /* counted in the figures as such, */
#define BP_PHD_NOTE_OPERATING 0x4
#define BP_PHD_NOTE_UNREADY 0x8

struct bp_phd_writer {
	struct bp_phd_tables *t;
	struct bp_epoch epoch;
	uint8_t *note;         /* by slot: BP_PHD_NOTE_* */
	struct bp_reuse slots; /* those retired; which ones are free the tags and notes say */
	struct bp_reuse layouts;
	struct bp_index layout_index; /* the live ones, by bp_phd_layout_hash() */
	uint32_t sessions, operating, unready, live_layouts;
};

static inline uint16_t bp_phd_tag_at(const struct bp_phd_tables *t, uint32_t slot)
{
	const unsigned way = slot % BP_PHD_WAYS;

	return (uint16_t)(atomic_load_explicit(&t->groups[slot / BP_PHD_WAYS].tags[way / 4],
				  memory_order_relaxed) >>
			  (16 * (way % 4)));
}
void bp_phd_tag_set(struct bp_phd_tables *t, uint32_t slot, uint16_t tag);

static inline uint16_t bp_phd_other_worker(const struct bp_phd_tables *t, uint32_t group)
{
	return (uint16_t)(atomic_load_explicit(&t->groups[group].tags[3], memory_order_relaxed) >>
			  48);
}
void bp_phd_other_worker_set(struct bp_phd_tables *t, uint32_t group, uint16_t n);

static inline uint64_t bp_phd_hash_of(const struct bp_phd_tables *t, const struct bp_phd_session *s)
{
	return bp_phd_hash(t->hash_key, s->address, s->port, s->transport);
}

/* Updates the figures to the present word of the slot. */
void bp_phd_figures(struct bp_phd_writer *w, uint32_t slot, uint64_t word);
/* Retires a slot without references. */
void bp_phd_slot_retire(struct bp_phd_writer *w, uint32_t slot);

/* ---- layouts: shm/health/phd_layouts.c ---- */

static inline struct bp_phd_layout *bp_phd_layout_at(const struct bp_phd_tables *t, uint32_t n)
{
	return (struct bp_phd_layout *)(t->layouts + (size_t)n * BP_PHD_LAYOUT_SIZE);
}
static inline enum bp_slot bp_phd_layout_slot(const struct bp_phd_tables *t, uint32_t n)
{
	return bp_slot(atomic_load_explicit(&bp_phd_layout_at(t, n)->state, memory_order_relaxed));
}
void bp_phd_layout_slot_set(struct bp_phd_tables *t, uint32_t n, enum bp_slot slot);
/* The hash of the layout in the index. */
uint64_t bp_phd_layout_hash(const struct bp_phd_layout *l);
/* One session more or less names it. The last one's going retires it. */
void bp_phd_layout_use(struct bp_phd_writer *w, uint16_t n);
void bp_phd_layout_leave(struct bp_phd_writer *w, uint16_t n);
void bp_phd_layout_retire(struct bp_phd_writer *w, uint32_t n);
void bp_phd_layouts_settle(struct bp_phd_writer *w);

/* ---- what an earlier writer left: shm/health/phd_load.c ---- */

/* Adopts the existing entries and repairs them; returns the number of repairs. UINT64_MAX: no
 * memory. */
uint64_t bp_phd_load(struct bp_phd_writer *w);

#endif
