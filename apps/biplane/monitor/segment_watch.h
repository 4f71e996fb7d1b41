/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_MONITOR_SEGMENT_WATCH_H
#define BP_APPS_BIPLANE_MONITOR_SEGMENT_WATCH_H

#include "apps/biplane/monitor/monitor.h"

/*
 * Keeps the view of the segment on the files that the planes use: call it every second. Opens the
 * segment when there is one, and closes it when a file of it was replaced or removed, so that the
 * hugepages of a removed segment do not stay in use. Returns whether the view changed.
 */
bool bp_segment_watch(struct bp_monitor *m);

/* Reads the configuration file again after the control plane has loaded it: at its start, and after
 * a reload. */
void bp_config_watch(struct bp_monitor *m);

#endif
