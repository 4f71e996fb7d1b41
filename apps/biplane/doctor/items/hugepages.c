/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "dataplane/process/cpu_list.h"
#include "apps/biplane/doctor/doctor.h"
#include "apps/biplane/doctor/tree.h"

#define MIB ((uint64_t)1 << 20)
/* Two ports with their buffers, the segment, and room. */
#define PAGES_WANTED 1024
#define KIB_WANTED BP_HUGE_KIB

/* Whether a data plane of the configuration's name runs: what it needs of memory it has then. */
static bool runs(const struct bp_doctor *d)
{
	char name[32];
	int64_t pid;

	/* apps/biplane/instance.h: the file may be of one that was killed, and its number somebody
	 * else's
	 */
	return d->config &&
	       bp_tree_number(d->root, &pid, "%s/%s-dataplane.pid", d->config->runtime_dir,
		       d->config->name) &&
	       bp_tree_text(d->root, name, sizeof(name), "/proc/%" PRId64 "/comm", pid) &&
	       !strncmp(name, "biplane", 7);
}

/* Whether something on this node will want its memory: a NIC of a port, or any NIC. */
static bool is_required_on(const struct bp_doctor *d, int64_t node)
{
	for (size_t i = 0; i < d->nics.n; i++) {
		const struct bp_nic *nic = &d->nics.nic[i];

		if (nic->node != node)
			continue;
		if (!d->config)
			return true;
		for (unsigned p = 0; p < d->config->n_ports; p++)
			if (!strcmp(d->facts->port[p].pci, nic->address))
				return true;
	}
	return false;
}

static uint64_t free_bytes(const struct bp_huge *h, const int64_t *node)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < h->n; i++)
		if (!node || h->pool[i].node == *node)
			bytes += (uint64_t)h->pool[i].free * (uint64_t)h->pool[i].kib * 1024;
	return bytes;
}

static uint64_t all_bytes(const struct bp_huge *h)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < h->n; i++)
		bytes += (uint64_t)h->pool[i].pages * (uint64_t)h->pool[i].kib * 1024;
	return bytes;
}

/* "1000 pages of 2 MiB, 900 free", of each size that has some. */
static void describe(const struct bp_huge *h, int64_t node, char *out, size_t size)
{
	size_t at = 0;

	snprintf(out, size, "none");
	for (unsigned i = 0; i < h->n && at < size; i++) {
		const struct bp_huge_pool *p = &h->pool[i];

		if (p->node == node && p->pages > 0)
			at += (size_t)snprintf(out + at, size - at,
				"%s%" PRId64 " pages of %" PRId64 " MiB, %" PRId64 " free",
				at ? "; " : "", p->pages, p->kib / 1024, p->free);
	}
}

/* So that as many are free as wanted: those that are taken stay taken. */
static int64_t pages_for(const struct bp_doctor *d, int64_t node, uint64_t bytes)
{
	int64_t pages = (int64_t)((bytes + KIB_WANTED * 1024 - 1) / (KIB_WANTED * 1024));

	for (unsigned i = 0; i < d->huge.n; i++)
		if (d->huge.pool[i].node == node && d->huge.pool[i].kib == KIB_WANTED)
			pages += d->huge.pool[i].pages - d->huge.pool[i].free;
	return pages;
}

static void propose(const struct bp_doctor *d, json_t *item, int64_t node, uint64_t bytes)
{
	char file[160];

	bp_huge_file(node, KIB_WANTED, file, sizeof(file));
	bp_report_do(item, "echo %" PRId64 " >%s", pages_for(d, node, bytes), file);
}

/* What is proposed where no configuration says more, and leaves a small machine half its memory. */
static uint64_t default_page_bytes(const char *root, int64_t node)
{
	const uint64_t bytes = (uint64_t)PAGES_WANTED * KIB_WANTED * 1024;
	const uint64_t half = (uint64_t)bp_huge_memory_kib(root, node) * 1024 / 2;

	return half && half < bytes ? half : bytes;
}

/* How many bytes should be free on this node; 0: none. */
static uint64_t required_bytes(const struct bp_doctor *d, int64_t node, bool required)
{
	unsigned nodes = 0;

	if (!d->config)
		return required || node <= 0 ? default_page_bytes(d->root, node) : 0;
	if (d->config->hugepages == BP_HUGEPAGES_NEVER)
		return 0;
	for (int64_t n = -1; n < CPU_SETSIZE; n++)
		nodes += is_required_on(d, n);
	if (nodes == 0) /* no port is on any: memory is taken where there is some */
		return node <= 0 ? d->facts->memory : 0;
	/* each node with a port has pools of its own; a machine with one node may not number it */
	return required || (nodes == 1 && is_required_on(d, -1) && node == 0)
		       ? d->facts->memory / nodes
		       : 0;
}

/* All that a machine without a configuration has may be a running biplane's. */
static bool is_short(const struct bp_doctor *d, uint64_t has, uint64_t want)
{
	return want && !runs(d) && has < want && (d->config || has == 0);
}

int64_t bp_doctor_pages_required(const struct bp_doctor *d, int64_t node)
{
	const uint64_t want = required_bytes(d, node, is_required_on(d, node));
	const uint64_t has = free_bytes(&d->huge, &node);

	if (!is_short(d, has, want) || (!d->config && all_bytes(&d->huge)))
		return 0;
	return pages_for(d, node, want);
}

static void check_node(const struct bp_doctor *d, struct bp_report *r, int64_t node)
{
	const uint64_t want = required_bytes(d, node, is_required_on(d, node));
	const uint64_t has = free_bytes(&d->huge, &node);
	enum bp_verdict verdict = BP_CHECK_OK;
	char name[64], seen[256];
	json_t *item;

	snprintf(name, sizeof(name), "hugepages");
	if (node >= 0)
		snprintf(name, sizeof(name), "hugepages node %" PRId64, node);
	describe(&d->huge, node, seen, sizeof(seen));
	if (d->config && is_short(d, has, want))
		verdict = d->config->hugepages == BP_HUGEPAGES_REQUIRE ? BP_CHECK_FAIL
								       : BP_CHECK_WARN;
	else if (is_short(d, has, want))
		verdict = BP_CHECK_WARN; /* hugepages: auto runs without */
	if (d->config && want)
		item = bp_report_item(r, name, verdict,
			"packet buffers and the shared segment use hugepages; pages in use by a "
			"running biplane are not free",
			"%s; this configuration needs about %" PRIu64 " MiB%s%s", seen, want / MIB,
			node >= 0 ? " on this node" : "", runs(d) ? "; it is running" : "");
	else
		item = bp_report_item(r, name, verdict,
			"packet buffers and the shared segment use hugepages; without them, "
			"biplane is slower and some NICs do not work",
			"%s%s", seen, want ? "" : "; none required");
	if (verdict != BP_CHECK_OK) {
		propose(d, item, node, want);
		bp_report_do(item, "# or: biplane doctor --fix --hugepages N (--undo reverts it)");
	}
}

void bp_doctor_item_hugepages(const struct bp_doctor *d, struct bp_report *r)
{
	if (d->huge.n == 0) {
		bp_report_item(r, "hugepages",
			d->config && d->config->hugepages == BP_HUGEPAGES_REQUIRE ? BP_CHECK_FAIL
										  : BP_CHECK_WARN,
			"packet buffers use hugepages; without them, biplane is slower",
			"this kernel has no hugepages (CONFIG_HUGETLBFS)");
		return;
	}
	for (unsigned i = 0; i < d->huge.n; i++) {
		bool first = true;

		for (unsigned k = 0; k < i; k++)
			first &= d->huge.pool[k].node != d->huge.pool[i].node;
		if (first)
			check_node(d, r, d->huge.pool[i].node);
	}
}
