/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/run/run_counts.h"

#include "apps/biplane/config/quiet_config.h"
#include "shm/layout.h"
#include "config/segment.h"

static const char *hugepage_dir(const struct bp_config *c)
{
	return c->hugepages == BP_HUGEPAGES_NEVER ? NULL : bp_hugepage_dir();
}

static bool exists(const struct bp_config *c)
{
	char ignored[512];
	struct bp_segment *s = bp_segment_attach(
		c->name, hugepage_dir(c), c->runtime_dir, ignored, sizeof(ignored));

	bp_segment_close(s);
	return s != NULL;
}

static bool store(const struct bp_config *c, const struct bp_run_counts *counts)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	unsigned n = bp_shm_specs(c, specs);
	char ignored[512];
	struct bp_shm shm;

	/* opening creates missing files, which only the planes may do */
	if (!exists(c))
		return false;

	/* Without waiting for the lock: a process that has it may be stopped, or wait for a disk,
	 * and meanwhile no plane that dies would be restarted. */
	struct bp_segment *s = bp_segment_open(c->name, hugepage_dir(c), c->runtime_dir, specs, n,
		BP_SEG_READ_DATA | BP_SEG_READ_CONTROL | BP_SEG_NO_WAIT, ignored, sizeof(ignored));
	bool ok = s && bp_shm_map(&shm, s, ignored, sizeof(ignored)) == 0;

	if (ok) {
		atomic_store_explicit(&shm.shared->run_pid, counts->run_pid, memory_order_relaxed);
		atomic_store_explicit(
			&shm.shared->run_dp_restarts, counts->dp_restarts, memory_order_relaxed);
		atomic_store_explicit(
			&shm.shared->run_cp_restarts, counts->cp_restarts, memory_order_relaxed);
		atomic_store_explicit(
			&shm.shared->run_dp_hung, counts->dp_hung, memory_order_relaxed);
		atomic_store_explicit(
			&shm.shared->run_cp_hung, counts->cp_hung, memory_order_relaxed);
	}
	bp_segment_close(s);
	return ok;
}

bool bp_run_counts_store(
	const char *path, const struct bp_config *config, const struct bp_run_counts *counts)
{
	struct bp_config *now = bp_config_load_quietly(path, NULL);
	bool ok = store(now ? now : config, counts);

	/* the file was edited since the planes read it: they still have the tables of before */
	if (!ok && now)
		ok = store(config, counts);
	bp_config_free(now);
	return ok;
}
