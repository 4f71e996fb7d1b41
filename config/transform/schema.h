/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_TRANSFORM_SCHEMA_H
#define BP_CONFIG_TRANSFORM_SCHEMA_H

#include "config/schema.h"
#include "config/transform/settings.h"

extern const struct bp_schema_part bp_schema_transform;
extern const struct bp_type bp_type_transform_layout, bp_type_transform_sources;
extern const struct bp_type bp_type_receivers, bp_type_receiver_address, bp_type_receiver_udp;
extern const struct bp_type bp_type_receiver_mac, bp_type_receiver_reflect, bp_type_matrix;

/* check_transform.c: checks section transform after all of it is read */
void bp_check_transform(struct bp_reader *r);

#endif
