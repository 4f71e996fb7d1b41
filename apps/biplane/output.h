/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_OUTPUT_H
#define BP_APPS_BIPLANE_OUTPUT_H

/* Writes what is left of standard output and ends the pager. Returns `status`, or the exit status
 * of a failed write if `status` is that of success: a full disk must not look like one. */
int bp_output_end(int status);

#endif
