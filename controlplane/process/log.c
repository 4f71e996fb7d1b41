/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "controlplane/process/clock.h"

static const char *const level_name[] = {
	[BP_LOG_ERROR] = "error",
	[BP_LOG_WARNING] = "warning",
	[BP_LOG_INFO] = "info",
};

/* One write per line, so that lines of the planes do not mix on a shared stderr. */
static void print(enum bp_log_level level, const char *fmt, va_list ap, uint64_t left_out)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	if (left_out != 0)
		fprintf(stderr, "controlplane: %s: %s (and %" PRIu64 " more such messages)\n",
			level_name[level], text, left_out);
	else
		fprintf(stderr, "controlplane: %s: %s\n", level_name[level], text);
}

void bp_log(enum bp_log_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print(level, fmt, ap, 0);
	va_end(ap);
}

bool bp_log_may(struct bp_log_limit *limit, uint64_t *left_out)
{
	uint64_t now = bp_mono_ns();

	if (limit->last_ns != 0 && now - limit->last_ns < BP_LOG_EVERY_NS) {
		limit->left_out++;
		return false;
	}
	*left_out = limit->left_out;
	limit->last_ns = now;
	limit->left_out = 0;
	return true;
}

void bp_log_limited(struct bp_log_limit *limit, enum bp_log_level level, const char *fmt, ...)
{
	uint64_t left_out;
	va_list ap;

	if (!bp_log_may(limit, &left_out))
		return;
	va_start(ap, fmt);
	print(level, fmt, ap, left_out);
	va_end(ap);
}
