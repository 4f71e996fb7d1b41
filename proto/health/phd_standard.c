/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/health/phd_config.h"

/*
 * Standard configurations of the device specialisations, ISO/IEEE 11073-104zz. A device that claims
 * one of these sends no report of it, so this table determines how its measurements are read.
 * `content` is bp_phd_model_content(): a unit test compares both, and prints the number after a
 * change of a row.
 */

#define NUMERIC 6
#define SCADA 2 /* the partition of physiological measurements */

#define STORED 0x4040    /* metric spec: stored data, agent-initiated */
#define APERIODIC 0xf040 /* and intermittent, updated and measured aperiodically */

#define PERCENT 544
#define BPM 2720
#define MMHG 3872
#define DEGREES_C 6048
#define KILOGRAM 1731
#define MG_PER_DL 2130

/* One object: a number with that attribute of `bytes` bytes, then nothing or a time stamp. */
#define OBJECT(handle_, code_, unit_, spec, ...)                                                   \
	.class = NUMERIC, .handle = (handle_), .partition = SCADA, .code = (code_),                \
	.unit = (unit_), .metric_spec = (spec), __VA_ARGS__
#define VALUE(attribute, bytes) .n_map = 1, .map = {{(attribute), (bytes)}}
#define STAMPED(attribute, bytes)                                                                  \
	.n_map = 2, .map = {{(attribute), (bytes)}, {BP_PHD_ATTR_TIME_ABS, 8}}

#define SPO2 19384
#define PULSE_OXIMETER 18458
#define SPOT .n_supplemental = 1, .supplemental = {19516} /* one measurement, not a running one */
/* count and length, then SFLOATs: systolic, diastolic, mean */
#define PRESSURES .n_ids = 3, .ids = {18949, 18950, 18951}

static const struct bp_phd_model certain_models[] = {
	{400, 2,
		{{OBJECT(1, SPO2, PERCENT, STORED, VALUE(BP_PHD_ATTR_BASIC, 2))},
			{OBJECT(10, PULSE_OXIMETER, BPM, STORED, VALUE(BP_PHD_ATTR_BASIC, 2))}},
		.content = 0x6ccd2885814679deu},
	{401, 2,
		{{OBJECT(1, SPO2, PERCENT, APERIODIC, SPOT, STAMPED(BP_PHD_ATTR_BASIC, 2))},
			{OBJECT(10, PULSE_OXIMETER, BPM, APERIODIC, SPOT,
				STAMPED(BP_PHD_ATTR_BASIC, 2))}},
		.content = 0xc6397b79d030bdd4u},
	{700, 2,
		{{OBJECT(1, 18948, MMHG, APERIODIC, PRESSURES,
			 STAMPED(BP_PHD_ATTR_COMPOUND_SFLOAT, 10))},
			{OBJECT(2, 18474, BPM, APERIODIC, STAMPED(BP_PHD_ATTR_BASIC, 2))}},
		.content = 0x60d0ecf7a5e534a1u},
	{800, 1, {{OBJECT(1, 19292, DEGREES_C, APERIODIC, STAMPED(BP_PHD_ATTR_SIMPLE, 4))}},
		.content = 0x9296ad1b23ca86d5u},
	{1500, 1, {{OBJECT(1, 57664, KILOGRAM, APERIODIC, STAMPED(BP_PHD_ATTR_SIMPLE, 4))}},
		.content = 0xf9d796268834dc50u},
	{1700, 1, {{OBJECT(1, 29112, MG_PER_DL, APERIODIC, STAMPED(BP_PHD_ATTR_BASIC, 2))}},
		.content = 0x35fe2d52da35a46au},
};

/*
 * Known by number: an activity monitor, a hub, a medication monitor. No text of their parts of the
 * standard was available; a row above, once it exists, makes them certain.
 */
static const struct bp_phd_model uncertain_models[] = {
	{.config_id = 4100, .content = 0x7eec3ff0e42e9710u},
	{.config_id = 7100, .content = 0xc7d81d77144269ebu},
	{.config_id = 7200, .content = 0x4ab75919772a8840u},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const struct bp_phd_model *bp_phd_standard(uint16_t config_id, bool *certain)
{
	for (size_t i = 0; i < COUNT(certain_models); i++) {
		if (certain_models[i].config_id == config_id) {
			*certain = true;
			return &certain_models[i];
		}
	}
	*certain = false;
	for (size_t i = 0; i < COUNT(uncertain_models); i++) {
		if (uncertain_models[i].config_id == config_id)
			return &uncertain_models[i];
	}
	return NULL;
}

#define PARTS_FIRST 100 /* zz00 of part 11073-10401 */
#define PARTS_END 10000
#define SPECIALISATIONS 4096 /* MDC_DEV_SPEC_PROFILE_* begins here */

uint16_t bp_phd_spec_of_standard(uint16_t config_id)
{
	if (config_id < PARTS_FIRST || config_id >= PARTS_END)
		return 0;
	return (uint16_t)(SPECIALISATIONS + config_id / 100);
}
