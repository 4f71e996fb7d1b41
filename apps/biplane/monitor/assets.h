/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_MONITOR_ASSETS_H
#define BP_APPS_BIPLANE_MONITOR_ASSETS_H

#include <stddef.h>

/* The files of the console, from apps/biplane/monitor/console/: embedded by the build. */
struct bp_monitor_asset {
	const char *name; /* "index.html" */
	const char *content_type;
	const char *etag; /* with quotes */
	const unsigned char *data;
	size_t len;
};
extern const struct bp_monitor_asset bp_monitor_assets[]; /* name NULL ends them */

#endif
