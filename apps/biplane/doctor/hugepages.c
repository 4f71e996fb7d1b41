/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/hugepages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/doctor/tree.h"

#define WITHOUT_NUMA "/sys/kernel/mm/hugepages"
#define NODES "/sys/devices/system/node"

void bp_huge_file(int64_t node, int64_t kib, char *out, unsigned long size)
{
	if (node < 0)
		snprintf(out, size, WITHOUT_NUMA "/hugepages-%" PRId64 "kB/nr_hugepages", kib);
	else
		snprintf(out, size,
			NODES "/node%" PRId64 "/hugepages/hugepages-%" PRId64 "kB/nr_hugepages",
			node, kib);
}

int64_t bp_huge_memory_kib(const char *root, int64_t node)
{
	size_t len;
	char *text = node < 0
			     ? bp_tree_read_all(root, &len, "/proc/meminfo")
			     : bp_tree_read_all(root, &len, NODES "/node%" PRId64 "/meminfo", node);
	const char *at = text ? strstr(text, "MemTotal:") : NULL;
	const int64_t kib = at ? strtoll(at + sizeof("MemTotal:") - 1, NULL, 10) : 0;

	free(text);
	return kib;
}

static void read_folder(const char *root, const char *folder, int64_t node, struct bp_huge *h)
{
	struct bp_tree_names names = bp_tree_list(root, "%s", folder);

	for (size_t i = 0; i < names.n && h->n < BP_HUGE_POOLS_MAX; i++) {
		struct bp_huge_pool *p = &h->pool[h->n];

		p->node = node;
		if (sscanf(names.name[i], "hugepages-%" SCNd64 "kB", &p->kib) == 1 &&
			bp_tree_number(
				root, &p->pages, "%s/%s/nr_hugepages", folder, names.name[i]) &&
			bp_tree_number(
				root, &p->free, "%s/%s/free_hugepages", folder, names.name[i]))
			h->n++;
	}
	bp_tree_names_free(&names);
}

static void read_nodes(const char *root, struct bp_huge *h)
{
	struct bp_tree_names names = bp_tree_list(root, NODES);
	int64_t node;

	for (size_t i = 0; i < names.n; i++) {
		char folder[128];

		if (sscanf(names.name[i], "node%" SCNd64, &node) != 1)
			continue;
		snprintf(folder, sizeof(folder), NODES "/node%" PRId64 "/hugepages", node);
		read_folder(root, folder, node, h);
	}
	bp_tree_names_free(&names);
	if (h->n == 0)
		read_folder(root, WITHOUT_NUMA, -1, h);
}

static void read_mount(const char *root, struct bp_huge *h)
{
	size_t len;
	char *text = bp_tree_read_all(root, &len, "/proc/mounts"), *rest = text, *line;

	while (rest && !h->dir[0] && (line = strsep(&rest, "\n")) != NULL) {
		char dir[sizeof(h->dir)], type[32];

		if (sscanf(line, "%*s %255s %31s", dir, type) == 2 && !strcmp(type, "hugetlbfs"))
			snprintf(h->dir, sizeof(h->dir), "%s", dir);
	}
	free(text);
}

void bp_huge_read(const char *root, struct bp_huge *h)
{
	const char *at;
	size_t len;
	char *text;

	memset(h, 0, sizeof(*h));
	read_nodes(root, h);
	read_mount(root, h);
	text = bp_tree_read_all(root, &len, "/proc/meminfo");
	at = text ? strstr(text, "\nHugepagesize:") : NULL;
	if (at)
		h->default_kib = strtoll(at + sizeof("\nHugepagesize:") - 1, NULL, 10);
	free(text);
}
