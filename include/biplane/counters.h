/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BIPLANE_COUNTERS_H
#define BIPLANE_COUNTERS_H

#include <stdint.h>

#include "biplane/services.h"

/*
 * What a worker counts. The general counters, and those of each service, are lists of their own in
 * biplane/counters/: identifier, group, name, one line of help. The table in the segment, `biplane
 * show`, replay's JSON and the documentation's page derive from all lists
 * (biplane/service_counters.h), so each counter has a name and a description.
 *
 * The sum that holds at rest, per gateway:
 *
 *     sum of port rx + originated = sum of port tx + drops + punted + terminated
 *
 * Its terms are the groups BP_CG_ORIGINATED (frames that biplane generated, and those received from
 * the kernel), BP_CG_DROP, BP_CG_PUNTED (handed to the kernel) and BP_CG_TERMINATED (addressed to
 * biplane and processed there). The group PUNT_REASON says why frames were sent to the exception
 * path; each of them is also counted in PUNTED or DROP. The group HEALTH counts faults; frames that
 * it counts never reached biplane. No other group is part of the sum. Frames that a scheduler or a
 * pacing queue holds are in flight: at rest there are none.
 */

/*
 * Numbers of counters and of groups: a range of fixed size for the general ones and one for each
 * service, so that a new counter changes no number of another list, and no size. Numbers that no
 * list uses have no name.
 */
#define BP_COUNTERS_PER_RANGE 256
#define BP_COUNTER_GROUPS_PER_RANGE 12
#define BP_COUNTER_RANGES (1 + BP_SERVICE_COUNT)
#define BP_C_COUNT (BP_COUNTER_RANGES * BP_COUNTERS_PER_RANGE)
#define BP_CG_COUNT (BP_COUNTER_RANGES * BP_COUNTER_GROUPS_PER_RANGE)

/*
 * Declares BP_C_... and BP_CG_... of the lists BP_COUNTERS_OF_name(X), of X(identifier, group,
 * name, help), and BP_COUNTER_GROUPS_OF_name(X), of X(identifier, name, text), in the given range:
 * 0 is the general one, 1 + BP_SERVICE_NAME a service's.
 */
#define BP_DECLARE_COUNTERS(name_, range_)                                                         \
	enum {                                                                                     \
		BP_C_BEFORE_##name_ = (range_)*BP_COUNTERS_PER_RANGE - 1,                          \
		BP_COUNTERS_OF_##name_(BP_COUNTER_ENUMERATOR) BP_C_END_##name_                     \
	};                                                                                         \
	enum {                                                                                     \
		BP_CG_BEFORE_##name_ = (range_)*BP_COUNTER_GROUPS_PER_RANGE - 1,                   \
		BP_COUNTER_GROUPS_OF_##name_(BP_COUNTER_GROUP_ENUMERATOR) BP_CG_END_##name_        \
	};                                                                                         \
	_Static_assert(BP_C_END_##name_ <= ((range_) + 1) * BP_COUNTERS_PER_RANGE,                 \
		"raise BP_COUNTERS_PER_RANGE");                                                    \
	_Static_assert(BP_CG_END_##name_ <= ((range_) + 1) * BP_COUNTER_GROUPS_PER_RANGE,          \
		"raise BP_COUNTER_GROUPS_PER_RANGE")
#define BP_COUNTER_ENUMERATOR(id_, group_, name_, help_) BP_C_##id_,
#define BP_COUNTER_GROUP_ENUMERATOR(id_, name_, text_) BP_CG_##id_,

typedef unsigned bp_counter_t;       /* BP_C_...; BP_C_COUNT means none */
typedef unsigned bp_counter_group_t; /* BP_CG_... */

struct bp_counter_info {
	const char *name; /* NULL: no counter has this number */
	bp_counter_group_t group;
	const char *help;
};

struct bp_counter_group_info {
	const char *name; /* "originated", "drop", "bridge", ...; NULL: no group has this number */
	const char *text; /* for the documentation: sentences */
};

/* Defined in shm/counters.c; by bp_counter_t and bp_counter_group_t. */
extern const struct bp_counter_info bp_counter_info[BP_C_COUNT];
extern const struct bp_counter_group_info bp_counter_group_info[BP_CG_COUNT];

/*
 * One worker's counters, or the exception thread's, or the main thread's. Written by it alone with
 * plain stores that readers in other processes load with relaxed atomics; a uint64_t store is
 * single on every 64-bit machine.
 */
struct bp_counters {
	uint64_t v[BP_C_COUNT];
} __attribute__((aligned(64)));

#endif
