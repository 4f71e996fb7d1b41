/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_SHM_HEALTH_PHD_MODEL_H
#define BP_TESTS_UNIT_SHM_HEALTH_PHD_MODEL_H

#include "tests/unit/shm/health/phd_rig.h"
#include "tests/unit/shm/test.h"

/* A simple model of the tables: a row for each device. */
#define MODEL_KINDS 12 /* of layouts; their contents are 1..MODEL_KINDS */
struct phd_model {
	struct phd_rig x;
	uint32_t devices;
	struct phd_row {
		bool open;
		uint8_t state, flags;
		uint8_t kind; /* of layout; 0: none */
		uint32_t slot;
		uint16_t life;
	} * row;
	uint16_t *life; /* by slot: the last one */
	bool *lived;
	uint32_t open;
	uint64_t seed;
	struct bp_phd_layout *scratch;
};

void model_open(struct phd_model *m, uint32_t devices, uint32_t sessions, uint32_t layouts);
void model_close(struct phd_model *m);

/* A random operation on a device: open, change or close. */
struct phd_change {
	uint32_t device;
	bool open;
	uint8_t state, flags, kind;
};
struct phd_change model_any(struct phd_model *m);
/* Does it to the tables: 0, or -1 when there was no room. */
int model_apply(struct phd_model *m, const struct phd_change *c);
/* Notes it. */
void model_note(struct phd_model *m, const struct phd_change *c);
/* Whether the tables match the row of this device. */
bool model_says(const struct phd_model *m, uint32_t device, const struct phd_row *row);
/* Every device, the figures and the layouts. */
void model_check(const struct phd_model *m);

#endif
