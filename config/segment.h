/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_SEGMENT_H
#define BP_CONFIG_SEGMENT_H

#include <stdint.h>

#include "config/config.h"
#include "shm/layout.h"

/* What a configuration makes of the segment. */

/*
 * Fills the specs of all tables for this configuration; returns how many. The tables of a service
 * without a section in the file are minimal, and so are the forwarding tables where nothing routes.
 */
unsigned bp_shm_specs(const struct bp_config *c, struct bp_seg_spec *specs);

/* a * b, or UINT64_MAX, which no segment can hold: bp_segment_open() then says so. */
uint64_t bp_capacity_times(uint64_t a, uint64_t b);
/* Rounded up to whole cache lines. */
uint64_t bp_capacity_lines(uint64_t bytes);

/* A hash of the ports' names: numbers of ports in the segment mean the same ports only where it is
 * the same. */
uint64_t bp_config_ports_key(const struct bp_config *c);

#endif
