/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_SHOW_STATUS_VIEW_H
#define BP_APPS_BIPLANE_SHOW_STATUS_VIEW_H

#include "apps/biplane/show/show.h"

/* What `biplane status` prints; no object of `biplane show`. Its member "ok" is true when no fault
 * is open. */
extern const struct bp_show_view bp_status_view;

#endif
