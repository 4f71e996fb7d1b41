/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_JSON_SCHEMA_H
#define BIPLANE_JSON_SCHEMA_H

/*
 * The version of what --json prints, member schema_version of each object. It grows when a member
 * is removed, renamed or changes its meaning; new members do not change it. docs/reference/json.md
 * describes the members.
 */
#define BP_JSON_SCHEMA_VERSION 1

#endif
