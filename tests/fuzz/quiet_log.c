/* SPDX-License-Identifier: BSD-3-Clause */
#include "daemon/log.h"

/* The control plane's log, for what says something with nearly each input. */

void bp_log(enum bp_log_level level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}

void bp_log_event(enum bp_log_level level, const struct bp_log_field *fields, const char *fmt, ...)
{
	(void)level;
	(void)fields;
	(void)fmt;
}

bool bp_log_may(struct bp_log_limit *limit, uint64_t *left_out)
{
	(void)limit;
	*left_out = 0;
	return false;
}

void bp_log_limited(struct bp_log_limit *limit, enum bp_log_level level,
	const struct bp_log_field *fields, const char *fmt, ...)
{
	(void)limit;
	(void)level;
	(void)fields;
	(void)fmt;
}
