/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_HEALTH_PHD_LAYOUT_H
#define BP_SHM_HEALTH_PHD_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

#include "proto/health/phd_config.h"

/*
 * The compiled form of a configuration's reports: the element of table phd_layouts
 * (shm/health/phd.h), written by services/health/layout.h and read by services/health/convert.h.
 */

enum bp_phd_value_kind {
	BP_PHD_VALUE_NONE, /* no attribute of the map is a value: variable reports only */
	BP_PHD_VALUE_SFLOAT,
	BP_PHD_VALUE_FLOAT,
	BP_PHD_VALUE_COMPOUND_SFLOAT, /* count u16, length u16, then that many */
	BP_PHD_VALUE_COMPOUND_FLOAT,
	BP_PHD_VALUE_BITS16,
	BP_PHD_VALUE_BITS32,
	BP_PHD_VALUE_OID, /* u16 */
};
enum bp_phd_time_kind {
	BP_PHD_TIME_NONE,
	BP_PHD_TIME_ABSOLUTE,    /* 8 BCD bytes */
	BP_PHD_TIME_BASE_OFFSET, /* 2690 */
	BP_PHD_TIME_RELATIVE,    /* 1/8 ms since the device's own beginning: no time of day */
};
#define BP_PHD_NOT_THERE 255

/* 64 bytes. Offsets are into the layout's text[] unless noted. */
struct bp_phd_object {
	uint16_t handle;
	uint16_t fixed_len; /* length of obs-val-data by its map, bytes; 0: variable reports only */
	uint8_t value;      /* enum bp_phd_value_kind */
	uint8_t value_at;   /* byte of obs-val-data; 0 with NONE */
	uint8_t value_n;    /* numbers of a compound; without one in the map, names in ids */
	uint8_t time;       /* enum bp_phd_time_kind */
	uint8_t time_at;    /* as value_at */
	uint8_t status_at;  /* or BP_PHD_NOT_THERE */
	uint8_t patches;    /* how many of patch[] */
	uint8_t pad;
	uint16_t head, head_len; /* from the CoAP options to the first byte of the value */
	uint16_t patch[3];       /* bytes of head: where the system-id's 16 hex digits go, */
	uint16_t rqi, rn;        /* the request id's 16, and the name's 22; rn 0: no name */
	uint16_t unit, unit_len;
	uint16_t name, name_len;
	uint16_t ids, ids_len; /* of a compound's parts, as JSON */
	uint16_t bound;        /* maximum length of a fixed observation without status, bytes */
	/* folded sum (bp_sum() of proto/net/frame.h) of the head from byte 0, with 0 where it is
	 * patched */
	uint16_t head_sum;
	uint16_t pad2[11];
};
_Static_assert(sizeof(struct bp_phd_object) == 64, "one line");

#define BP_PHD_LAYOUT_SIZE 16384
struct bp_phd_layout {
	_Atomic uint32_t state; /* as enum bp_slot (shm/fib/reuse.h) says; the writer's */
	_Atomic uint32_t users; /* sessions that name it; the writer's */
	_Atomic uint32_t life;  /* the writer's: another for each use of the place */
	uint32_t pad;
	/* from here on two equal layouts are the same bytes: padding and the bytes beyond `size` do
	 * not count */
	uint64_t content; /* bp_phd_model.content */
	uint64_t plan;    /* bp_phd_settings.hash */
	uint16_t config_id, spec;
	uint16_t n;    /* objects */
	uint16_t size; /* bytes of all, text included */
	uint16_t handle[BP_PHD_OBJECTS_MAX];
	struct bp_phd_object object[BP_PHD_OBJECTS_MAX];
	uint8_t text[];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct bp_phd_layout) + 8192 <= BP_PHD_LAYOUT_SIZE, "room for text");

#endif
