/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_SIM_PHD_MEASURE_H
#define BP_APPS_SIM_PHD_MEASURE_H

#include "apps/sim/phd/options.h"

/* Measurements of a device: numbers as transmitted, and as text for a comparison. */

struct sim_observation {
	const struct sim_object *object;
	uint16_t person;     /* 0: no person */
	uint32_t raw;        /* SFLOAT or FLOAT */
	const char *special; /* "NaN" ..., or NULL: then text is the value */
	char text[16];
	uint32_t active_s; /* active period */
};

struct sim_measurement {
	uint64_t number;
	enum sim_report report; /* never SIM_MIXED */
	bool doubtful;
	uint8_t stamp[8]; /* 20601 AbsoluteTime: BCD from century to 1/100 s */
	char stamp_text[24];
	unsigned n;
	struct sim_observation of[10];
};

/* Measurement `number` of a device at Unix time `now_ns`. */
void sim_measure(struct sim_measurement *m, const struct sim_options *o, unsigned device,
	uint64_t number, uint64_t now_ns);

/* The configuration that the devices use. */
const struct sim_config *sim_config_of(const struct sim_options *o);

#endif
