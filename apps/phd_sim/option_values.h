/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PHD_SIM_OPTION_VALUES_H
#define BP_PHD_SIM_OPTION_VALUES_H

#include <stdint.h>

#include "apps/phd_sim/options.h"

/* Values of options. What is wrong ends the program with a sentence. */

void sim_wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
double sim_number(const char *name, const char *text, double min, double max);
uint64_t sim_whole(const char *name, const char *text, uint64_t min, uint64_t max);
uint64_t sim_duration_ns(const char *name, const char *text);
/* Index of the text in a list that ends with NULL. */
unsigned sim_one_of(const char *name, const char *text, const char *const *list);
void sim_destination(struct sim_options *o, const char *text);
void sim_sources(struct sim_options *o, const char *text);

#endif
