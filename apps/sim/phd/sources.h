/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_SIM_PHD_SOURCES_H
#define BP_APPS_SIM_PHD_SOURCES_H

#include "apps/sim/phd/options.h"

/* The value of --sources: a prefix. An error ends the program with a message. */
void sim_sources(struct sim_options *o, const char *text);

#endif
