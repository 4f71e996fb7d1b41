/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/health/phd_names.h"

#include <stddef.h>

/* Each table is sorted by its code. The codes of the three object tables are those of a partition.
 */

struct name {
	uint16_t code;
	const char *text;
};

/* Partition 2, SCADA: physiological measurements. */
static const struct name scada[] = {
	{18458, "pulse_rate"}, /* of a pulse oximeter */
	{18474, "pulse_rate"},
	{18948, "blood_pressure"},
	{18949, "sys"},
	{18950, "dia"},
	{18951, "mean"},
	{19248, "spo2_quality"},
	{19292, "temperature"},
	{19376, "perfusion"},
	{19380, "plethysmogram"},
	{19384, "spo2"},
	{19532, "oximeter_status"},
	{20490, "respiration_rate"},
	{21512, "peak_flow"},
	{21513, "peak_flow_best"},
	{21514, "fev1"},
	{21515, "fev6"},
	{28948, "glucose"},
	{29112, "glucose"}, /* capillary whole blood */
	{29116, "glucose_plasma"},
	{29120, "glucose_venous"},
	{29124, "glucose_venous_plasma"},
	{29128, "glucose_arterial"},
	{29132, "glucose_arterial_plasma"},
	{29136, "glucose_control"},
	{29140, "glucose_interstitial"},
	{29148, "hba1c"},
	{53250, "trigger"},
	{53251, "trigger_beat"},
	{53259, "trigger_inrush"},
	{57664, "weight"},
	{57668, "height"},
	{57676, "body_fat"},
	{57680, "bmi"},
	{57684, "fat_free_mass"},
	{57688, "soft_lean_mass"},
	{57692, "body_water"},
};

/* Partition 128: disease management. */
static const struct name disease[] = {
	{29144, "glucose_meter_status"},
	{29152, "exercise"},
	{29156, "carbohydrates"},
	{29188, "medication"},
	{29212, "health"},
	{29236, "sample_location"},
	{29256, "meal"},
	{29276, "tester"},
};

/* Partition 129: health and fitness. */
static const struct name fitness[] = {
	{100, "altitude_gain"},
	{101, "altitude_loss"},
	{102, "altitude"},
	{103, "distance"}, /* steps too, by their unit */
	{104, "ascent"},
	{105, "descent"},
	{106, "latitude"},
	{107, "longitude"},
	{108, "program"},
	{109, "slopes"},
	{110, "speed"},
	{111, "cadence"},
	{112, "incline"},
	{113, "heart_rate_max"},
	{114, "heart_rate"},
	{115, "power"},
	{116, "resistance"},
	{117, "stride"},
	{119, "energy"},
	{120, "calories_ingested"},
	{121, "carbohydrates_ingested"},
	{122, "activity_threshold"},
	{123, "session"},
	{124, "subsession"},
	{125, "activity_time"},
	{126, "age"},
	{127, "intensity"},
	{1000, "ambulation"},
	{1001, "rest"},
	{1002, "motor"},
	{1003, "lying"},
	{1004, "sleep"},
	{1005, "physical"},
	{1006, "sustained_physical"},
	{1007, "unknown"},
	{1008, "multiple"},
	{1009, "monitor"},
	{1010, "ski"},
	{1011, "run"},
	{1012, "bike"},
	{1013, "stairs"},
	{1014, "row"},
	{1015, "home"},
	{1016, "work"},
	{1017, "walk"},
};

/* Partition 130: aging independently. */
static const struct name aging[] = {
	{1, "fall"},
	{2, "pers"}, /* personal emergency response */
	{3, "smoke"},
	{4, "co"},
	{5, "water"},
	{6, "gas"},
	{7, "motion"},
	{8, "property_exit"},
	{9, "enuresis"},
	{10, "contact"},
	{11, "usage"},
	{12, "switch"},
	{13, "dosage"},
	{14, "temperature"},
	{15, "humidity"},
	{13312, "fixed_dosage"},
	{13313, "variable_dosage"},
	{13314, "medication_status"},
	{13315, "feedback"},
};

/* Partition 4: dimensions. */
static const struct name units[] = {
	{512, "1"},
	{544, "%"},
	{736, "deg"},
	{1280, "m"},
	{1297, "cm"},
	{1344, "ft"},
	{1376, "in"},
	{1600, "L"},
	{1618, "mL"},
	{1728, "g"},
	{1731, "kg"},
	{1746, "mg"},
	{1760, "lb"},
	{1952, "kg/m2"},
	{2130, "mg/dL"},
	{2176, "s"},
	{2208, "min"},
	{2240, "h"},
	{2272, "d"},
	{2368, "y"},
	{2720, "bpm"},
	{2784, "breaths/min"},
	{3072, "L/min"},
	{3843, "kPa"},
	{3872, "mmHg"},
	{3968, "J"},
	{4032, "W"},
	{4416, "degF"},
	{4722, "mmol/L"},
	{5472, "IU"},
	{6048, "degC"},
	{6560, "m/min"},
	{6656, "steps"},
	{6688, "ft/min"},
	{6720, "in/min"},
	{6752, "steps/min"},
	{6784, "cal"},
	{6816, "rpm"},
};

/* MDC_DEV_SPEC_PROFILE_*, and the subtypes of some of them. */
static const struct name types[] = {
	{4100, "pulse_oximeter"},
	{4102, "ecg"},
	{4103, "blood_pressure"},
	{4104, "thermometer"},
	{4109, "respiration"},
	{4111, "scale"},
	{4113, "glucose_meter"},
	{4114, "inr_monitor"},
	{4115, "insulin_pump"},
	{4116, "body_composition"},
	{4117, "peak_flow"},
	{4137, "activity_monitor"},
	{4138, "strength_equipment"},
	{4167, "hub"},
	{4168, "medication"},
	{4200, "step_counter"},
	{4213, "fall_sensor"},
	{4214, "pers_sensor"},
	{4215, "smoke_sensor"},
	{4216, "co_sensor"},
	{4217, "water_sensor"},
	{4218, "gas_sensor"},
	{4219, "motion_sensor"},
	{4220, "property_exit_sensor"},
	{4221, "enuresis_sensor"},
	{4222, "contact_sensor"},
	{4223, "usage_sensor"},
	{4224, "switch_sensor"},
	{4225, "dosage_sensor"},
	{4226, "temperature_sensor"},
};

/* The last entry with a code of at most this one; tables are never empty. */
static const char *find(const struct name *table, size_t n, uint16_t code)
{
	while (n > 1) {
		size_t half = n / 2;

		if (table[half].code <= code)
			table += half;
		n -= half;
	}
	return table->code == code ? table->text : NULL;
}

#define FIND(table, code) find((table), sizeof(table) / sizeof((table)[0]), (code))

const char *bp_phd_object_name(uint16_t partition, uint16_t code)
{
	switch (partition) {
	case 2:
		return FIND(scada, code);
	case 128:
		return FIND(disease, code);
	case 129:
		return FIND(fitness, code);
	case 130:
		return FIND(aging, code);
	default:
		return NULL;
	}
}

const char *bp_phd_unit_name(uint16_t unit)
{
	return FIND(units, unit);
}

const char *bp_phd_type_name(uint16_t spec)
{
	return FIND(types, spec);
}
