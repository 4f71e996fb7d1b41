/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_LCL_LCL_TEXT_H
#define BP_APPS_BIPLANE_SHOW_LCL_LCL_TEXT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* How LCL scheduling is written for people. */

/* What bp_lcl_view() collected (apps/biplane/show/lcl/lcl_view.h): tables, and deviations as
 * pictures. */
void bp_lcl_view_print(const json_t *view, FILE *out);

#endif
