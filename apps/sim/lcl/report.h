/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_LCL_SIM_REPORT_H
#define BIPLANE_LCL_SIM_REPORT_H

#include <stdbool.h>

#include "apps/sim/lcl/scenario.h"

/* Results of a run, as a JSON object, or as tables for people: in total, per flow, per node of
 * each flow. False: no memory. */
bool lsim_report(const struct lsim_network *w, const struct lsim_scenario_options *o, bool as_json);

#endif
