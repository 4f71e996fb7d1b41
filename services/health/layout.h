/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SERVICES_HEALTH_LAYOUT_H
#define BP_SERVICES_HEALTH_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "proto/health/phd_config.h"
#include "shm/health/phd.h"

/*
 * Compiles the configuration of a device into the element of table phd_layouts: for each object the
 * create request of its instance, rendered up to the value, and the positions in it that differ
 * between sessions. services/health/convert.h then only copies and patches.
 *
 * A layout is BP_PHD_LAYOUT_SIZE bytes long, all of which are readable: text[] ends
 * BP_PHD_TEXT_SLACK bytes before their end.
 */
#define BP_PHD_TEXT_SLACK 32u
#define BP_PHD_TEXT_MAX (BP_PHD_LAYOUT_SIZE - sizeof(struct bp_phd_layout) - BP_PHD_TEXT_SLACK)

/* Lengths of the patched fields, bytes: hex digits of the system-id, of the token, of the
 * instance's number. */
#define BP_PHD_SYSTEM_ID_TEXT 16u
#define BP_PHD_RQI_TEXT 16u
#define BP_PHD_RN_TEXT 22u
#define BP_PHD_PATCHES 3u /* places for the system-id in one request */

/* The name of {object} where a report becomes one instance (bp_phd_settings.per_report). */
#define BP_PHD_REPORT_NAME "report"

/*
 * Where instances go, from the file. Both may hold {system_id}, 16 lower case hex digits; {type};
 * and {object}. Any other brace is a fault.
 */
struct bp_phd_target {
	const char *path;       /* "cse-in/{system_id}/{object}" */
	const char *originator; /* "Cbiplane" */
};

/*
 * bp_phd_settings.hash: equal for all plans that layouts render in the same way, regardless of the
 * other fields of the plan. Not keyed.
 */
uint64_t bp_phd_target_hash(const struct bp_phd_settings *plan, const struct bp_phd_target *t);

/*
 * Compiles `m` to *out, which is BP_PHD_LAYOUT_SIZE zeroed bytes. `type`: the value of the
 * placeholder {type}. An object's name is bp_phd_object_name(), else "PARTITION-CODE"; where two
 * objects would have the same name, "-HANDLE" is added to each. out->spec is the specialisation of
 * a standard configuration, else 0. Returns 0, or -1 with a sentence in err: an invalid template, a
 * contradictory map, no object with a value, or more text than fits.
 */
int bp_phd_layout_compile(struct bp_phd_layout *out, const struct bp_phd_model *m,
	const struct bp_phd_settings *plan, const struct bp_phd_target *target, const char *type,
	char *err, size_t err_size);

/*
 * Whether a layout in a segment written by others is safe for services/health/convert.h: every
 * offset is inside, every kind is known. To be called before the first use; the content of its text
 * is not validated.
 */
bool bp_phd_layout_valid(const struct bp_phd_layout *l);

/* The number of the object with that handle, or -1. `guess` is tried first. */
static inline int bp_phd_layout_find(const struct bp_phd_layout *l, uint16_t handle, unsigned guess)
{
	if (__builtin_expect(guess < l->n && l->handle[guess] == handle, 1))
		return (int)guess;
	for (unsigned i = 0; i < l->n; i++) {
		if (l->handle[i] == handle)
			return (int)i;
	}
	return -1;
}

/* ---- layout_cache.c ---- */

/*
 * A cache of the layouts compiled last: devices of one kind share one layout, and compiling it
 * takes longer than the rest of an association. The lookup key is the complete input of the
 * compiler: the whole model and not its hash, because a device may construct a configuration with
 * the hash of another one.
 */
struct bp_phd_layout_cache;

/* Returns NULL where no memory is available. */
struct bp_phd_layout_cache *bp_phd_layout_cache_new(void);
void bp_phd_layout_cache_free(struct bp_phd_layout_cache *c);

/*
 * The layout that bp_phd_layout_compile() makes of this input; NULL: it fails. Owned by the cache
 * and valid until the next call.
 */
const struct bp_phd_layout *bp_phd_layout_cached(struct bp_phd_layout_cache *c,
	const struct bp_phd_model *m, const struct bp_phd_settings *plan,
	const struct bp_phd_target *target, const char *type);

#endif
