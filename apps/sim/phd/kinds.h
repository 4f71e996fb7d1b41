/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_SIM_PHD_KINDS_H
#define BP_APPS_SIM_PHD_KINDS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Measurements of the simulated devices, as tables: the objects of each configuration, and the
 * sequence of values of each object. Codes of ISO/IEEE 11073-10101.
 */

enum sim_value {
	SIM_SFLOAT, /* basic-nu-observed-value, attribute 2636, 2 bytes */
	SIM_FLOAT,  /* simple-nu-observed-value, attribute 2646, 4 bytes */
};

struct sim_object {
	uint16_t handle;
	uint16_t partition;
	uint16_t code;
	uint16_t unit; /* 0: the configuration names none */
	enum sim_value value;
	bool active_period; /* seconds as FLOAT, attribute 2649, behind the value */
	/* Measurement k is (first + k * step mod span) * 10^exponent. */
	int32_t first;
	int32_t step;
	int32_t span;
	int8_t exponent;
};

struct sim_config {
	uint16_t id;          /* dev-config-id */
	bool stamp;           /* an absolute time, attribute 2448, behind each value */
	bool one;             /* a report holds one object, in turn; otherwise all of them */
	uint16_t metric_spec; /* attribute 2630 of all its objects */
	unsigned n;
	const struct sim_object *object;
};

struct sim_kind {
	const char *name;
	uint16_t spec;              /* of the system-type-spec-list */
	uint64_t ids;               /* default system-id of the first such device */
	struct sim_config standard; /* a number that the standard gives */
	struct sim_config extended; /* the device's own */
};

extern const struct sim_kind sim_kinds[];
extern const unsigned sim_n_kinds;

/* By name, or NULL. */
const struct sim_kind *sim_kind_named(const char *name);

#endif
