/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/modules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/doctor/tree.h"

static void underscores(char *text)
{
	for (; *text; text++)
		if (*text == '-')
			*text = '_';
}

/* Whether a line of the list names the module: "kernel/drivers/vfio/pci/vfio-pci.ko.xz: ...". -1:
 * there is no such list. */
static int is_listed(const char *root, const char *list, const char *name)
{
	char release[128], want[80];
	char *text;
	size_t len;
	int found;

	if (!bp_tree_text(root, release, sizeof(release), "/proc/sys/kernel/osrelease"))
		return -1;
	text = bp_tree_read_all(root, &len, "/lib/modules/%s/%s", release, list);
	if (!text)
		return -1;
	snprintf(want, sizeof(want), "/%s.ko", name);
	underscores(want);
	underscores(text);
	found = strstr(text, want) != NULL;
	free(text);
	return found;
}

enum bp_module bp_module_state(const char *root, const char *name)
{
	char folder[64];
	int listed;

	snprintf(folder, sizeof(folder), "%s", name);
	underscores(folder);
	if (bp_tree_exists(root, "/sys/module/%s", folder) ||
		is_listed(root, "modules.builtin", name) == 1)
		return BP_MODULE_HERE;
	if (!bp_tree_exists(root, "/proc/modules"))
		return BP_MODULE_ABSENT; /* a kernel that loads none */
	listed = is_listed(root, "modules.dep", name);
	if (listed < 0)
		return BP_MODULE_UNKNOWN;
	return listed ? BP_MODULE_ON_DISK : BP_MODULE_ABSENT;
}

int bp_kernel_option(const char *root, const char *option)
{
	char release[128], want[2][96];
	char *text;
	size_t len;
	int set;

	if (!bp_tree_text(root, release, sizeof(release), "/proc/sys/kernel/osrelease"))
		return -1;
	text = bp_tree_read_all(root, &len, "/boot/config-%s", release);
	if (!text)
		return -1;
	snprintf(want[0], sizeof(want[0]), "\n%s=y\n", option);
	snprintf(want[1], sizeof(want[1]), "\n%s=m\n", option);
	set = strstr(text, want[0]) || strstr(text, want[1]);
	free(text);
	return set;
}
