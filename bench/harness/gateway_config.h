/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_BENCH_HARNESS_GATEWAY_CONFIG_H
#define BP_BENCH_HARNESS_GATEWAY_CONFIG_H

#include <stddef.h>

#include "bench/aggregation/agg.h"
#include "bench/harness/options.h"
#include "bench/health/phd.h"
#include "bench/transform/transform.h"

/* Source of frames: the capture, or a callback (bench/lcl/wire.h, bench/mix/mix_input.h). */
const char *bench_input_device(const struct bench_options *o, const struct bench_phd *phd,
	const struct bench_agg *agg, const struct bench_transform *x, char *out, size_t size);
/* The device of port 1. */
const char *bench_cloud_device(const struct bench_phd *phd, const struct bench_agg *agg);
/* The text of the configuration; the caller frees it. */
char *bench_configuration(const struct bench_options *o, const struct bench_phd *phd,
	const struct bench_agg *agg, const struct bench_transform *x, const struct bench_lcl *lcl);

#endif
