/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_MONITOR_MONITOR_H
#define BP_APPS_BIPLANE_MONITOR_MONITOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "apps/biplane/config/monitor_secrets.h"
#include "apps/biplane/monitor/counters.h"
#include "apps/biplane/show/instance_view.h"
#include "config/config.h"

/*
 * The monitor: a process without privileges that reads the segment of an instance, read-only, and
 * serves it over HTTP. It has one thread. If it hangs or dies, the planes are not affected.
 */

/* Result of reading the configuration file, for /api/v1/config. */
struct bp_monitor_config_text {
	char *json;    /* as `biplane config show --json`; NULL: not read */
	uint64_t hash; /* bp_config_hash() */
};

struct bp_monitor {
	const char *path; /* of the configuration file */
	struct bp_config *config;
	struct bp_config_instance instance;
	struct bp_monitor_secrets secrets;
	struct bp_monitor_config_text text;
	/* The segment: segment_watch.h. */
	struct bp_instance_view view; /* segment NULL: there is none now */
	struct stat segment_file[BP_SEG_PARTS];
	/* when the configuration file was last read */
	uint64_t config_hash_seen; /* of the control plane */
	struct stat config_file;
	/* Expensive answers are refused until then (CLOCK_MONOTONIC). */
	uint64_t busy_until_ns;
};

/* The segment's tables, or NULL while there is no segment. */
static inline const struct bp_shm *bp_monitor_shm(const struct bp_monitor *m)
{
	return m->view.segment != NULL ? &m->view.shm : NULL;
}

uint64_t bp_monitor_mono_ns(void);
uint64_t bp_monitor_unix_ns(void);

/* Runs until SIGTERM. Returns an exit status. */
int bp_monitor_run(const char *path);

#endif
