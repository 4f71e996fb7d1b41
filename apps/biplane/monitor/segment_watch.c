/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/monitor/segment_watch.h"

#include <libfyaml.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/config/quiet_config.h"
#include "daemon/log.h"

/* The files now; a file that does not exist is all zero. */
static void stat_files(const struct bp_segment *s, struct stat file[BP_SEG_PARTS])
{
	for (unsigned p = 0; p < BP_SEG_PARTS; p++)
		if (stat(bp_segment_part_path(s, p), &file[p]) != 0)
			memset(&file[p], 0, sizeof(file[p]));
}

static bool same_files(const struct stat a[BP_SEG_PARTS], const struct stat b[BP_SEG_PARTS])
{
	for (unsigned p = 0; p < BP_SEG_PARTS; p++)
		if (a[p].st_ino != b[p].st_ino || a[p].st_dev != b[p].st_dev)
			return false;
	return true;
}

/* Opens it twice: the files that are mapped are those that have the names before and after. */
static bool open_view(struct bp_monitor *m)
{
	struct bp_instance_view first;
	char err[PATH_MAX + 512];
	struct stat before[BP_SEG_PARTS];

	if (bp_instance_view_open(&first, &m->instance, err, sizeof(err)) != 0)
		return false;
	stat_files(first.segment, before);
	bp_instance_view_close(&first);
	if (bp_instance_view_open(&m->view, &m->instance, err, sizeof(err)) != 0)
		return false;
	stat_files(m->view.segment, m->segment_file);
	if (same_files(before, m->segment_file))
		return true;
	bp_instance_view_close(&m->view);
	return false;
}

bool bp_segment_watch(struct bp_monitor *m)
{
	struct stat now[BP_SEG_PARTS];
	bool changed = false;

	if (m->view.segment != NULL) {
		stat_files(m->view.segment, now);
		if (same_files(now, m->segment_file))
			return false;
		bp_instance_view_close(&m->view);
		changed = true;
	}
	if (!open_view(m)) {
		if (changed)
			bp_log(BP_LOG_INFO, "shared segment was removed; waiting for a new one");
		return changed;
	}
	bp_monitor_counters.segment_opened++;
	bp_log_event(BP_LOG_INFO,
		BP_LOG_FIELDS(BP_LOG_STR("segment", bp_segment_path(m->view.segment))),
		"shared segment opened");
	return true;
}

/* As `biplane config show --json` prints it; NULL without memory. */
static char *config_json(const struct bp_config *c)
{
	char *yaml = NULL, *json = NULL;
	struct fy_document *doc;
	size_t len = 0;
	FILE *out = open_memstream(&yaml, &len);

	if (out == NULL)
		return NULL;
	bp_config_dump(c, out);
	if (fclose(out) == 0) {
		doc = fy_document_build_from_string(NULL, yaml, len);
		json = doc != NULL ? fy_emit_document_to_string(doc, FYECF_MODE_JSON) : NULL;
		fy_document_destroy(doc);
	}
	free(yaml);
	return json;
}

/* Whether the file is the one that was read, unchanged. */
static bool same_config_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void bp_config_watch(struct bp_monitor *m)
{
	const struct bp_shm *shm = bp_monitor_shm(m);
	struct stat file = {0};
	struct bp_config *c;
	uint64_t hash;

	if (shm == NULL)
		return;
	hash = atomic_load_explicit(&shm->control->cp_config_hash, memory_order_relaxed);
	if (hash == m->text.hash)
		return;
	/* a file that was edited after it was loaded can be restored without a reload */
	(void)stat(m->path, &file);
	if (hash == m->config_hash_seen && same_config_file(&file, &m->config_file))
		return;
	m->config_hash_seen = hash;
	m->config_file = file;
	c = bp_config_load_quietly(m->path, NULL);
	if (c == NULL)
		return;
	free(m->text.json);
	m->text.json = config_json(c);
	m->text.hash = bp_config_hash(c);
	/* what is checked against the configuration (the bound of the spool) follows it; where this
	 * process listens does not */
	c->monitoring = m->config->monitoring;
	bp_config_free(m->config);
	m->config = c;
}
