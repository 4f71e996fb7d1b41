/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_WINDOW_H
#define BIPLANE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The window of a rule: its conditions evaluate a function of the last values of a topic instead of
 * the last value.
 */

enum bp_window_function {
	BP_WINDOW_MEAN,
	BP_WINDOW_MIN,
	BP_WINDOW_MAX,
	BP_WINDOW_SUM,
	BP_WINDOW_COUNT,
	BP_WINDOW_STDDEV,     /* of the population: divided by the number of values */
	BP_WINDOW_DELTA,      /* newest value minus oldest value */
	BP_WINDOW_RATE,       /* increase of a counter per second; a lower value is a reset to 0 */
	BP_WINDOW_PERCENTILE, /* nearest rank */
	BP_WINDOW_FUNCTIONS,
};

#define BP_WINDOW_VALUES_MAX 1024u
#define BP_WINDOW_TIME_MIN 100000000ull /* ns */
#define BP_WINDOW_TIME_MAX (86400 * 1000000000ull)

struct bp_window_spec {
	bool given;
	bool tumbling;     /* a result for each full window, then an empty one; false: sliding */
	uint8_t function;  /* enum bp_window_function */
	uint32_t values;   /* 2 to BP_WINDOW_VALUES_MAX; 0: a time window */
	uint64_t time_ns;  /* of a time window */
	double percentile; /* above 0, at most 100; PERCENTILE only */
};

#endif
