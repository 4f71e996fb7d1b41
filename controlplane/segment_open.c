/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/segment_open.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "biplane/flow_size.h"
#include "controlplane/log.h"
#include "controlplane/peer.h"
#include "shm/plane_dirs.h"

/* A data plane that starts has made its segment within this time, or it does not start. */
#define AWAIT_TRIES 300
static const struct timespec await_again = {.tv_nsec = 100000000};

/* Whether a data plane runs on the segment that is there, whatever else is in it. */
static bool in_use(const struct bp_config *c, const char *huge, const struct bp_seg_spec *specs,
	unsigned n_specs)
{
	char ignored[256];
	struct bp_segment *s =
		bp_segment_attach(c->name, huge, c->runtime_dir, ignored, sizeof(ignored));
	const struct bp_shm_global *g = NULL;
	uint64_t n = 0;
	bool alive;

	if (s == NULL)
		return false;
	/* A global table of another version can't be read: then nobody of ours runs on it. */
	for (unsigned i = 0; i < n_specs; i++)
		if (strcmp(specs[i].name, "global") == 0)
			g = bp_segment_table(s, "global", sizeof(*g), specs[i].version, &n);
	alive = g != NULL && n >= 1 && bp_dataplane_alive(g);
	bp_segment_close(s);
	return alive;
}

/* A control plane of another user than the data plane's has a directory of its own, and no right to
 * make files in the data plane's. */
static bool may_make(const struct bp_config *c)
{
	char dir[PATH_MAX];

	return bp_data_dir(c->runtime_dir, dir, sizeof(dir)) && access(dir, W_OK) == 0;
}

int bp_controlplane_segment(
	const struct bp_config *c, struct bp_shm *shm, char *err, size_t err_size)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	unsigned n = bp_shm_specs(c, bp_flow_table_size(c), specs);
	const char *huge = c->hugepages == BP_HUGEPAGES_NEVER ? NULL : bp_hugepage_dir();
	struct bp_segment *s;
	char first[512];

	s = bp_segment_open(
		c->name, huge, c->runtime_dir, specs, n, BP_SEG_READ_DATA, first, sizeof(first));
	for (unsigned i = 0; s == NULL && !may_make(c) && i < AWAIT_TRIES; i++) {
		if (i == 0)
			bp_log(BP_LOG_INFO, "waiting for the data plane to make the segment");
		if (in_use(c, huge, specs, n))
			break;
		nanosleep(&await_again, NULL);
		s = bp_segment_open(c->name, huge, c->runtime_dir, specs, n, BP_SEG_READ_DATA,
			first, sizeof(first));
	}
	if (s == NULL && in_use(c, huge, specs, n)) {
		snprintf(err, err_size,
			"%s; a data plane runs on it, so it is left alone: stop the data plane, or "
			"give both planes the same configuration",
			first);
		return -1;
	}
	if (s == NULL && !may_make(c))
		snprintf(err, err_size,
			"%s; as this user the control plane makes none: start the data plane",
			first);
	else if (s == NULL)
		s = bp_segment_open(c->name, huge, c->runtime_dir, specs, n,
			BP_SEG_READ_DATA | BP_SEG_OWNER, err, err_size);
	if (s == NULL)
		return -1;
	if (bp_shm_map(shm, s, err, err_size) == 0)
		return 0;
	bp_segment_close(s);
	memset(shm, 0, sizeof(*shm)); /* nothing of it is mapped any more */
	return -1;
}
