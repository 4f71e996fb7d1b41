/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_MONITOR_HEALTH_H
#define BP_APPS_BIPLANE_MONITOR_HEALTH_H

#include "apps/biplane/monitor/monitor.h"
#include "apps/biplane/monitor/request.h"

/* /livez: this process works. */
void bp_health_live(struct bp_http_answer *a);
/* /readyz: 200 if the gateway does its work, else 503; a reason for each check. */
void bp_health_ready(const struct bp_monitor *m, struct bp_http_answer *a);

#endif
