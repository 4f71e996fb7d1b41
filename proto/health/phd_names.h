/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_HEALTH_PHD_NAMES_H
#define BP_PROTO_HEALTH_PHD_NAMES_H

#include <stdint.h>

/*
 * Codes of the ISO/IEEE 11073-10101 nomenclature as names for people, containers and JSON. Static
 * strings, in lower case for objects and types, [a-z0-9_] only; NULL for a code that is not in the
 * tables, which is not an error.
 */

/* 2:19384 "spo2", 2:18458 "pulse_rate", 129:103 "distance". */
const char *bp_phd_object_name(uint16_t partition, uint16_t code);

/* Of the dimension partition (4): 544 "%", 2720 "bpm", 512 "1", 1280 "m", 6656 "steps". */
const char *bp_phd_unit_name(uint16_t unit);

/* Device specialisations: 4100 "pulse_oximeter", 4137 "activity_monitor", 4167 "hub". */
const char *bp_phd_type_name(uint16_t spec);

#endif
