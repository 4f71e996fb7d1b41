/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/show/instance_view.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shm/segment_file.h"

int bp_instance_of_name(struct bp_config_instance *id, const char *name, char *err, size_t err_size)
{
	memset(id, 0, sizeof(*id));
	if (strlen(name) > BP_NAME_MAX || !name[0] || strchr(name, '/') || name[0] == '.') {
		snprintf(err, err_size,
			"'%s' is not a valid name of an instance; expected 1 to %d characters "
			"without a "
			"slash",
			name, BP_NAME_MAX);
		return -1;
	}
	snprintf(id->name, sizeof(id->name), "%s", name);
	snprintf(id->runtime_dir, sizeof(id->runtime_dir), BP_DEFAULT_RUNTIME_DIR);
	return 0;
}

static const char *hugepage_dir(const struct bp_config_instance *id)
{
	return id->no_hugepages ? NULL : bp_hugepage_dir();
}

/* Whether a file has the name of the segment: distinguishes "not running" from "damaged". */
static bool exists(const struct bp_config_instance *id)
{
	struct bp_seg_place place;
	char ignored[PATH_MAX + 256];

	if (bp_seg_place(
		    &place, id->name, hugepage_dir(id), id->runtime_dir, ignored, sizeof(ignored)))
		return false;
	return (place.huge[BP_SEG_DATA][0] && access(place.huge[BP_SEG_DATA], F_OK) == 0) ||
	       access(place.plain[BP_SEG_DATA], F_OK) == 0;
}

int bp_instance_view_open(
	struct bp_instance_view *v, const struct bp_config_instance *id, char *err, size_t err_size)
{
	memset(v, 0, sizeof(*v));
	if (!exists(id)) {
		snprintf(err, err_size,
			"no instance named '%s' is running: start one with 'biplane run -c FILE'%s",
			id->name,
			strcmp(id->name, BP_DEFAULT_NAME)
				? ""
				: ", or select one with --config FILE or --instance NAME");
		return -1;
	}
	v->segment = bp_segment_attach(id->name, hugepage_dir(id), id->runtime_dir, err, err_size);
	if (!v->segment)
		return -1;
	if (bp_shm_map(&v->shm, v->segment, err, err_size)) {
		bp_instance_view_close(v);
		return -1;
	}
	return 0;
}

void bp_instance_view_close(struct bp_instance_view *v)
{
	bp_segment_close(v->segment);
	v->segment = NULL;
}
