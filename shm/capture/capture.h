/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_CAPTURE_CAPTURE_H
#define BP_SHM_CAPTURE_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "biplane/limits.h"
#include "shm/capture/capture_filter.h"
#include "shm/capture/capture_ring.h"
#include "shm/seqlock.h"

/*
 * Live captures and traces (`biplane capture`, `biplane trace`).
 *
 *   table           writer     element
 *   captures        CP         struct bp_capture_slot, BP_CAPTURE_SLOTS: what is captured
 *   capture_status  DP main    struct bp_capture_status, BP_CAPTURE_SLOTS: what the workers do
 *   capture_counts  DP worker  struct bp_capture_counts, one per worker
 *   capture_rings   DP worker  byte rings, one per worker: shm/capture/capture_ring.h
 *
 * After a slot was changed, CP adds 1 to bp_shm_control.captures_changed.
 */

#define BP_CAPTURE_SLOTS 8u
#define BP_CAPTURE_SNAP_MAX 65535u /* bytes of a frame */
/* Of the filters of all captures together (bp_capture_filter_cost()): workers may run all of them
 * for a frame, at each point. */
#define BP_CAPTURE_COST_MAX 512u
#define BP_CAPTURE_TRACED_MAX 1000u     /* frames of a trace, for each worker */
#define BP_CAPTURE_ALL_PORTS UINT32_MAX /* frames that belong to no port, too */

#define BP_CAPTURE_EXPRESSION_MAX 256u /* bytes, with the NUL; a longer one is left out */

enum bp_capture_kind {
	BP_CAPTURE_NONE, /* ended; its counts are kept until the slot is used again */
	BP_CAPTURE_FRAMES,
	BP_CAPTURE_TRACE,
	BP_CAPTURE_KINDS,
};

struct bp_capture_request {
	uint64_t id;         /* unique while a control plane runs; 0: the slot is free */
	uint64_t since;      /* captures_changed when it was written */
	uint32_t kind;       /* enum bp_capture_kind */
	uint32_t uid;        /* of the user who requested it */
	uint64_t started_ns; /* Unix time */
	uint32_t pid;        /* of the command; 0: not known */
	uint32_t pad2;
	uint32_t ports; /* bit per port, or BP_CAPTURE_ALL_PORTS */
	uint32_t snap_length;
	uint32_t frames;       /* of a trace: how many each worker follows at most */
	uint8_t rx, tx, drops; /* booleans: points at which frames are captured */
	uint8_t pad[5];
	/* the filter as the user wrote it, for `biplane show captures`: never evaluated */
	char expression[BP_CAPTURE_EXPRESSION_MAX];
	uint32_t n_insns; /* 0: every frame matches */
	struct bp_capture_insn insn[BP_CAPTURE_INSNS_MAX];
};

struct bp_capture_slot {
	struct bp_seqlock lock;
	struct bp_capture_request request;
};

/* Why a request must not be applied, as a sentence; NULL: it is valid. */
const char *bp_capture_request_invalid(const struct bp_capture_request *r);
/* The cost of the filter of a valid request. */
uint32_t bp_capture_request_cost(const struct bp_capture_request *r);

enum bp_capture_engine {
	BP_CAPTURE_NO_FILTER,
	BP_CAPTURE_NATIVE,      /* compiled to native code */
	BP_CAPTURE_INTERPRETER, /* of libpcap */
	BP_CAPTURE_ENGINES,
};
extern const char *const bp_capture_engine_names[BP_CAPTURE_ENGINES];

struct bp_capture_status {
	_Atomic uint64_t id;     /* of the request that all workers have; 0: none */
	_Atomic uint32_t engine; /* enum bp_capture_engine */
	uint32_t pad;
};

/* Frames that matched, since the slot was taken; the last of a row: frames of no port. */
struct bp_capture_counts {
	_Atomic uint64_t matched[BP_CAPTURE_SLOTS][BP_MAX_PORTS + 1];
};

/* ---- records ---- */

enum bp_capture_record_kind {
	BP_CAPTURE_RECORD_FRAME = 1,
	BP_CAPTURE_RECORD_TRACE,
};
enum bp_capture_point { BP_CAPTURE_RX, BP_CAPTURE_TX, BP_CAPTURE_DROP, BP_CAPTURE_POINTS };
#define BP_CAPTURE_NO_NODE UINT16_MAX

/* A frame; its bytes follow. */
struct bp_capture_record {
	struct bp_capture_record_head head;
	uint64_t time_ns;    /* Unix time */
	uint64_t generation; /* captures_changed as the worker knew it */
	uint32_t length;     /* of the frame, bytes */
	uint32_t captured;   /* bytes in the record */
	uint16_t reason;     /* drop: a bp_counter_t */
	uint16_t node; /* drop: index in the worker's rows of table nodes, or BP_CAPTURE_NO_NODE */
	uint8_t point; /* enum bp_capture_point */
	uint8_t port;  /* index; BP_MAX_PORTS: none */
	uint8_t slots; /* bit per slot whose filter matched */
	uint8_t pad;
	uint8_t data[];
};
#define BP_CAPTURE_RECORD_MAX                                                                      \
	((uint32_t)(sizeof(struct bp_capture_record) + BP_CAPTURE_SNAP_MAX + 1))
_Static_assert(BP_CAPTURE_SLOTS <= 8, "a bit for each slot");
_Static_assert(sizeof(struct bp_capture_record) == 40, "no padding");

/* ---- the tables ---- */

struct bp_capture_tables {
	struct bp_capture_slot *slot;
	struct bp_capture_status *status;
	struct bp_capture_counts *counts; /* [workers] */
	uint8_t *rings;                   /* worker w: rings + w * ring_stride */
	uint64_t ring_stride;
	uint64_t ring_capacity; /* 0: captures are off */
};

/* Bytes of table capture_rings of `workers`, each with a ring of `capacity` bytes (0, or a power of
 * two). */
uint64_t bp_capture_rings_size(uint64_t workers, uint64_t capacity);
/* Whether a table of this size is possible; sets the capacity of each ring. */
bool bp_capture_rings_agree(uint64_t size, uint64_t workers, uint64_t *capacity);
static inline struct bp_capture_ring_shared *bp_capture_ring_of(
	const struct bp_capture_tables *t, unsigned worker)
{
	return (struct bp_capture_ring_shared *)(void *)(t->rings + worker * t->ring_stride);
}

#endif
