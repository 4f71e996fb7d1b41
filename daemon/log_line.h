/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DAEMON_LOG_LINE_H
#define BP_DAEMON_LOG_LINE_H

#include <stddef.h>

/* The journal's levels that occur here, syslog(3). */
#define BP_LINE_ERROR 3
#define BP_LINE_WARNING 4
#define BP_LINE_INFO 6

/*
 * The level of a line on standard error: what it says of itself, "warning: " or "info: ", in front
 * or behind the name of who says it ("controlplane: info: ..."). Where it says nothing it is an
 * error of ours ("biplane dataplane: ..."), or a warning: a library's word.
 */
int bp_line_level(const char *line, size_t len);

#endif
