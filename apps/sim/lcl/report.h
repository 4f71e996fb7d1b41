/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_LCL_SIM_REPORT_H
#define BIPLANE_LCL_SIM_REPORT_H

#include <stdbool.h>

#include "apps/sim/lcl/scenario.h"

/* What a run has measured, as a JSON object, or as tables for people: of it all, of flows, of their
 * nodes. False: no memory. */
bool lsim_report(const struct lsim_network *w, const struct lsim_scenario_options *o, bool as_json);

#endif
