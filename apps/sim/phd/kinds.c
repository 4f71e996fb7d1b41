/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/phd/kinds.h"

#include <string.h>

/* Nomenclature: partition 2 is SCADA, 129 fitness, 130 ageing independently. */
enum { SCADA = 2, HF = 129, AI = 130 };
enum {
	NO_UNIT = 0,
	PERCENT = 544,
	BEATS_PER_MIN = 2720,
	STEP = 6656,
	METRE = 1280,
	MINUTE = 2208,
	CALORIE = 6784,
	MILLILITRE = 1618
};

/* handle, partition, code, unit, value, active period, first, step, span, exponent */
static const struct sim_object oximeter[] = {
	{1, SCADA, 19384, PERCENT, SIM_SFLOAT, false, 700, 7, 300, -1},
	{10, SCADA, 18458, BEATS_PER_MIN, SIM_SFLOAT, false, 40, 11, 160, 0},
};
/* Steps are a distance in steps, with the time walked. */
static const struct sim_object activity[] = {
	{1, HF, 103, STEP, SIM_FLOAT, true, 8432, 31, 8000000, 0},
	{2, HF, 103, METRE, SIM_FLOAT, false, 12345, 239, 8000000, -1},
	{3, HF, 125, MINUTE, SIM_FLOAT, false, 95, 1, 1440, 0},
	{4, HF, 127, PERCENT, SIM_SFLOAT, false, 0, 13, 101, 0},
	{5, HF, 119, CALORIE, SIM_FLOAT, false, 412, 3, 5000, 0},
};
/* A fixed dose counts units, a variable one is measured. */
static const struct sim_object dispenser[] = {
	{1, AI, 13312, NO_UNIT, SIM_SFLOAT, false, 1, 1, 20, 0},
	{2, AI, 13313, MILLILITRE, SIM_FLOAT, false, 25, 5, 1000, -1},
};

/* id, time stamps, one object a report, metric-spec-small, objects */
const struct sim_kind sim_kinds[] = {
	{"dispenser", 4168, 0x0022092258030000, {7200, true, true, 0xd040, 2, dispenser},
		{0x4002, true, true, 0xd040, 2, dispenser}},
	{"oximeter", 4100, 0x0022092258010000, {400, false, false, 0x4040, 2, oximeter},
		{0x4001, true, false, 0x4040, 2, oximeter}},
	{"activity", 4137, 0x0022092258020000, {4100, true, false, 0xf040, 5, activity},
		{0x4000, true, false, 0xf040, 5, activity}},
};
const unsigned sim_n_kinds = sizeof(sim_kinds) / sizeof(sim_kinds[0]);

const struct sim_kind *sim_kind_named(const char *name)
{
	for (unsigned i = 0; i < sim_n_kinds; i++)
		if (strcmp(sim_kinds[i].name, name) == 0)
			return &sim_kinds[i];
	return NULL;
}
