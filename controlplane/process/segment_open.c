/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/segment_open.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config/segment.h"
#include "daemon/log.h"
#include "controlplane/process/peer.h"
#include "shm/plane_dirs.h"

/* A starting data plane has created its segment within this time, or it does not start. */
#define AWAIT_TRIES 300
/* A running data plane checks the headers of its files four times a second. */
#define RESTORE_TRIES 10
static const struct timespec retry_interval = {.tv_nsec = 100000000};

/* Returns whether a data plane runs on the existing segment, whatever its other contents. */
static bool in_use(const struct bp_config *c, const char *huge, const struct bp_seg_spec *specs,
	unsigned n_specs)
{
	char ignored[256];
	struct bp_segment *s;
	const struct bp_shm_global *g = NULL;
	uint64_t n = 0;
	bool alive;

	if (bp_segment_in_use(c->name, huge, c->runtime_dir))
		return true;
	s = bp_segment_attach(c->name, huge, c->runtime_dir, ignored, sizeof(ignored));
	if (s == NULL)
		return false;
	/* A global table of another version cannot be read: no data plane of this version runs on
	 * it. */
	for (unsigned i = 0; i < n_specs; i++)
		if (strcmp(specs[i].name, "global") == 0)
			g = bp_segment_table(s, "global", sizeof(*g), specs[i].version, &n);
	alive = g != NULL && n >= 1 && bp_dataplane_alive(g);
	bp_segment_close(s);
	return alive;
}

/* A control plane of another user than the data plane has a directory of its own, and no permission
 * to create files in the data plane's directory. */
static bool may_create(const struct bp_config *c)
{
	char dir[PATH_MAX];

	return bp_data_dir(c->runtime_dir, dir, sizeof(dir)) && access(dir, W_OK) == 0;
}

/* Reports the state of the existing files. Returns how many of them were damaged. */
static unsigned report(const struct bp_segment *s)
{
	char text[2 * PATH_MAX + 1024];

	for (unsigned p = 0; p < BP_SEG_PARTS; p++)
		if (bp_shm_change_text(s, p, text, sizeof(text)))
			bp_log(BP_LOG_WARNING, "%s", text);
	return bp_segment_quarantined(s);
}

static struct bp_segment *open_segment(
	const struct bp_config *c, const char *huge, char *err, size_t err_size)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	const unsigned n = bp_shm_specs(c, specs);
	struct bp_segment *s;
	char first[512];

	s = bp_segment_open(
		c->name, huge, c->runtime_dir, specs, n, BP_SEG_READ_DATA, first, sizeof(first));
	for (unsigned i = 0; s == NULL && i < AWAIT_TRIES; i++) {
		const bool runs = in_use(c, huge, specs, n);

		if (runs ? i >= RESTORE_TRIES : may_create(c))
			break;
		if (i == 0 && !runs)
			bp_log(BP_LOG_INFO,
				"waiting for the data plane to create the shared segment");
		nanosleep(&retry_interval, NULL);
		s = bp_segment_open(c->name, huge, c->runtime_dir, specs, n, BP_SEG_READ_DATA,
			first, sizeof(first));
	}
	if (s == NULL && in_use(c, huge, specs, n))
		snprintf(err, err_size,
			"%s; a data plane uses it, so it is not replaced: stop the data plane, or "
			"give both planes the same configuration",
			first);
	else if (s == NULL && !may_create(c))
		snprintf(err, err_size, "%s; this user cannot create it: start the data plane",
			first);
	else if (s == NULL)
		s = bp_segment_open(c->name, huge, c->runtime_dir, specs, n,
			BP_SEG_READ_DATA | BP_SEG_OWNER, err, err_size);
	return s;
}

/* Marks parts with invalid contents as damaged, so that the next open recreates them. Returns how
 * many. A running data plane alone decides about the parts that both planes write. */
static unsigned condemn_unsound(
	const struct bp_config *c, const char *huge, struct bp_shm *shm, char *err, size_t err_size)
{
	unsigned n = 0;

	for (unsigned part = BP_SEG_CONTROL; part <= BP_SEG_SHARED; part++) {
		const char *why = bp_shm_unsound(shm, part);

		if (why == NULL ||
			(part == BP_SEG_SHARED && bp_segment_in_use(c->name, huge, c->runtime_dir)))
			continue;
		snprintf(err, err_size, "segment %s: %s", bp_segment_part_path(shm->segment, part),
			why);
		bp_log(BP_LOG_WARNING, "%s", err);
		bp_segment_condemn(shm->segment, part);
		n++;
	}
	return n;
}

/* Whether a part is invalid that only a data plane replaces, as it does when it starts. */
static bool awaits_dataplane(const struct bp_config *c, const char *huge, const struct bp_shm *shm)
{
	return bp_shm_unsound(shm, BP_SEG_DATA) != NULL ||
	       (bp_shm_unsound(shm, BP_SEG_SHARED) != NULL &&
		       bp_segment_in_use(c->name, huge, c->runtime_dir));
}

int bp_controlplane_segment(
	const struct bp_config *c, struct bp_shm *shm, char *err, size_t err_size)
{
	const char *huge = c->hugepages == BP_HUGEPAGES_NEVER ? NULL : bp_hugepage_dir();
	unsigned quarantined = 0, waits = 0, n = 0;

	/* twice when contents are damaged: a new part has none */
	while (n < 2) {
		struct bp_segment *s = open_segment(c, huge, err, err_size);

		if (s == NULL)
			return -1;
		quarantined += report(s);
		if (bp_shm_map(shm, s, err, err_size) != 0) {
			bp_segment_close(s);
			break;
		}
		if (waits < RESTORE_TRIES && awaits_dataplane(c, huge, shm)) {
			waits++;
			bp_segment_close(s);
			nanosleep(&retry_interval, NULL);
			continue;
		}
		if (condemn_unsound(c, huge, shm, err, err_size) == 0) {
			atomic_fetch_add_explicit(&shm->control->cp_segment_quarantined,
				quarantined, memory_order_relaxed);
			return 0;
		}
		bp_segment_close(s);
		n++;
	}
	memset(shm, 0, sizeof(*shm)); /* no part is mapped any more */
	return -1;
}
