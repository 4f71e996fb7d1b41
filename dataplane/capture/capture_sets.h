/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DATAPLANE_CAPTURE_CAPTURE_SETS_H
#define BP_DATAPLANE_CAPTURE_CAPTURE_SETS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "dataplane/capture/filter_native.h"
#include "shm/layout.h"

#define BP_CAPTURE_BURST 64u /* frames: a bit for each in a word */

/*
 * The captures and traces that run, as the workers use them. The main thread copies the requests of
 * the control plane, validates the copies, and compiles their filters into a set, which does not
 * change. Workers take a new set between two walks. The set before it is freed when every worker
 * has the new one; until then no further set is made. The rings are cleared when the last capture
 * has ended: frames do not stay in memory.
 */
#define BP_CAPTURE_CLEAR_STEP (16u << 20) /* bytes of the rings that one poll clears at most */

struct bp_capture_filter {
	enum bp_capture_engine engine;
	bp_filter_native_fn native; /* BP_CAPTURE_NATIVE */
	size_t native_size;
	struct bp_capture_insn *insn;
	uint32_t n_insns;
};

struct bp_capture_active {
	uint64_t id;
	unsigned slot;
	enum bp_capture_kind kind;
	uint32_t ports;
	uint32_t snap_length;
	uint32_t frames; /* of a trace */
	bool at[BP_CAPTURE_POINTS];
	struct bp_capture_filter filter;
};

struct bp_capture_set {
	uint64_t sequence;   /* of this process */
	uint64_t generation; /* captures_changed when the requests were copied */
	bool used;           /* a slot is used: commands may still read records */
	uint32_t cost;       /* of all filters; at most BP_CAPTURE_COST_MAX */
	unsigned n;
	struct bp_capture_active of[BP_CAPTURE_SLOTS];
};

struct bp_capture_sets {
	struct bp_shm *shm;
	_Atomic(struct bp_capture_set *) active; /* never NULL */
	struct bp_capture_set *previous;         /* NULL: all workers have the active one */
	bool dirty;                              /* the rings have records */
	uint64_t cleared;                        /* bytes of all rings, from the first on */
	unsigned workers;
	_Atomic uint64_t seen[BP_MAX_WORKERS] __attribute__((aligned(64))); /* sequence numbers */
};
#define BP_CAPTURE_SEEN_ALL UINT64_MAX /* of a worker that does not run */

/* NULL: no memory. No worker runs. */
struct bp_capture_sets *bp_capture_sets_create(struct bp_shm *shm, unsigned workers);
/* Main thread, before worker `worker` starts. */
void bp_capture_sets_begin(struct bp_capture_sets *s, unsigned worker);
/* Main thread, a few times a second. Returns whether there is a new set, for which sleeping workers
 * must be woken. */
bool bp_capture_sets_poll(struct bp_capture_sets *s);
/* No worker runs; NULL is allowed. */
void bp_capture_sets_free(struct bp_capture_sets *s);

/* ---- filters ---- */

/* False: no memory. `r` is valid. */
bool bp_capture_filter_compile(struct bp_capture_filter *f, const struct bp_capture_request *r);
void bp_capture_filter_free(struct bp_capture_filter *f);
/* Bit i: m[i] matches. n: at most BP_CAPTURE_BURST. `scratch`: BP_CAPTURE_SNAP_MAX bytes. */
uint64_t bp_capture_filter_match(
	const struct bp_capture_filter *f, struct rte_mbuf *const *m, unsigned n, uint8_t *scratch);

#endif
