/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_SEGMENT_H
#define BP_CONFIG_SEGMENT_H

#include <stdint.h>

#include "config/config.h"
#include "shm/layout.h"

/* The segment of a configuration. */

/*
 * Fills the specs of all tables for this configuration; returns their number. The tables of a
 * service without a section in the file have the minimum size, and so do the forwarding tables
 * without any routed interface.
 */
unsigned bp_shm_specs(const struct bp_config *c, struct bp_seg_spec *specs);

/* Returns a * b, or UINT64_MAX, which exceeds any segment: bp_segment_open() then reports it. */
uint64_t bp_capacity_times(uint64_t a, uint64_t b);
/* Rounds up to whole cache lines. */
uint64_t bp_capacity_lines(uint64_t bytes);

/* Returns a hash of the ports' names: port numbers in the segment are valid only with the same
 * hash. */
uint64_t bp_config_ports_key(const struct bp_config *c);

#endif
