/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_SEVERITY_H
#define BIPLANE_SEVERITY_H

#include <stddef.h>
#include <stdint.h>

/* Severity of a rule's alarms, in ascending order: the perceived severities of ITU-T X.733. */
enum bp_severity {
	BP_SEVERITY_NONE,
	BP_SEVERITY_INFO,
	BP_SEVERITY_WARNING,
	BP_SEVERITY_MINOR,
	BP_SEVERITY_MAJOR,
	BP_SEVERITY_CRITICAL,
	BP_SEVERITIES,
};

/* NULL: none, or a number that is no severity. */
static inline const char *bp_severity_name(uint8_t severity)
{
	static const char *const name[BP_SEVERITIES] = {
		NULL, "info", "warning", "minor", "major", "critical"};

	return severity < BP_SEVERITIES ? name[severity] : NULL;
}

#endif
