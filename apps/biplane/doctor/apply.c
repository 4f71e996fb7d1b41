/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/apply.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "apps/biplane/doctor/hugepages.h"
#include "apps/biplane/doctor/modules.h"
#include "apps/biplane/doctor/tree.h"

#define NOIOMMU "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"

static int failed(int error, const char *what, char *why, size_t size)
{
	if (error == 0)
		return 0;
	snprintf(why, size, "%s: %s", what, strerror(-error));
	return -1;
}

static int load(const struct bp_apply *a, const struct bp_step *s, char *why, size_t size)
{
	const int error = a->actions->modprobe(a->actions->arg, s->name, false);

	if (error == 0)
		return 0;
	snprintf(why, size, "modprobe %s failed%s; run the command to see the reason", s->name,
		error == -ENOENT ? "" : " to start");
	return -1;
}

/* Another program can use the module by now: then it remains loaded, which has no effect on
 * biplane. */
static int unload(const struct bp_apply *a, const struct bp_step *s)
{
	if (bp_module_state(a->root, s->name) == BP_MODULE_HERE &&
		a->actions->modprobe(a->actions->arg, s->name, true) != 0 &&
		/* it may say so after it went with one that stood on it */
		bp_module_state(a->root, s->name) == BP_MODULE_HERE)
		fprintf(a->err, "warning: module %s is in use and remains loaded\n", s->name);
	return 0;
}

static int set_noiommu(const struct bp_apply *a, const char *value, char *why, size_t size)
{
	if (!bp_tree_exists(a->root, NOIOMMU)) {
		if (*value == 'N')
			return 0; /* vfio is not loaded any more */
		snprintf(why, size, "this kernel's vfio needs an IOMMU (CONFIG_VFIO_NOIOMMU)");
		return -1;
	}
	return failed(a->actions->write(a->actions->arg, NOIOMMU, value), NOIOMMU, why, size);
}

static int set_pages(const struct bp_apply *a, const struct bp_step *s, int64_t pages, bool check,
	char *why, size_t size)
{
	char file[160], text[32];
	int64_t got = -1;
	int error;

	bp_huge_file(s->node, s->kib, file, sizeof(file));
	snprintf(text, sizeof(text), "%" PRId64, pages);
	error = a->actions->write(a->actions->arg, file, text);
	if (error)
		return failed(error, file, why, size);
	bp_tree_number(a->root, &got, "%s", file);
	if (!check && got > pages)
		fprintf(a->err,
			"warning: %" PRId64
			" hugepages are still in use, for example by the segment of a "
			"stopped instance; the kernel removes them when they are free\n",
			got - pages);
	if (!check || got >= pages)
		return 0;
	snprintf(why, size,
		"the kernel reserved %" PRId64 " of %" PRId64 " pages: memory is fragmented; "
		"request fewer pages, or reserve them at boot (hugepages=%" PRId64 " on the kernel "
		"command line)",
		got, pages, pages);
	return -1;
}

static int mount_hugetlbfs(
	const struct bp_apply *a, const struct bp_step *s, char *why, size_t size)
{
	return failed(a->actions->mount(a->actions->arg, s->name, s->made), s->name, why, size);
}

static int unmount_hugetlbfs(
	const struct bp_apply *a, const struct bp_step *s, char *why, size_t size)
{
	const int error = a->actions->unmount(a->actions->arg, s->name, s->made);

	if (error == -EBUSY) {
		snprintf(why, size, "a program uses %s; stop the program first", s->name);
		return -1;
	}
	return failed(error, s->name, why, size);
}

int bp_apply_step(const struct bp_apply *a, const json_t *step, char *why, size_t size)
{
	struct bp_step s;

	snprintf(why, size, "invalid step");
	if (!bp_step_read(step, &s))
		return -1;
	switch (s.kind) {
	case BP_STEP_MODULE:
		return load(a, &s, why, size);
	case BP_STEP_NOIOMMU:
		return set_noiommu(a, "Y", why, size);
	case BP_STEP_HUGEPAGES:
		return set_pages(a, &s, s.pages_to, true, why, size);
	case BP_STEP_MOUNT:
		return mount_hugetlbfs(a, &s, why, size);
	case BP_STEP_BIND:
		return bp_bind(a, &s, why, size);
	}
	return -1;
}

int bp_undo_step(const struct bp_apply *a, const json_t *step, char *why, size_t size)
{
	struct bp_step s;

	snprintf(why, size, "invalid step");
	if (!bp_step_read(step, &s))
		return -1;
	switch (s.kind) {
	case BP_STEP_MODULE:
		return unload(a, &s);
	case BP_STEP_NOIOMMU:
		return set_noiommu(a, s.was, why, size);
	case BP_STEP_HUGEPAGES:
		return set_pages(a, &s, s.pages_was, false, why, size);
	case BP_STEP_MOUNT:
		return unmount_hugetlbfs(a, &s, why, size);
	case BP_STEP_BIND:
		return bp_unbind(a, &s, why, size);
	}
	return -1;
}

/* Takes back what a step that failed had begun, and forgets it. */
static void take_back(const struct bp_apply *a, struct bp_journal *j, const json_t *step)
{
	json_t *steps;
	char why[768];

	if (bp_undo_step(a, step, why, sizeof(why)) != 0) {
		fprintf(a->err, "biplane doctor: the step cannot be undone: %s\n", why);
		return; /* it stays in the journal */
	}
	steps = bp_journal_steps(j, why, sizeof(why));
	if (!steps || json_array_remove(steps, json_array_size(steps) - 1) != 0 ||
		bp_journal_keep(j, steps, why, sizeof(why)) != 0)
		fprintf(a->err, "biplane doctor: %s\n", why);
	json_decref(steps);
}

int bp_apply(const struct bp_apply *a, struct bp_journal *j, const json_t *steps)
{
	char why[768], text[512];
	const json_t *step;
	size_t i;

	json_array_foreach(steps, i, step)
	{
		bp_step_describe(step, false, text, sizeof(text));
		fprintf(a->out, "%s\n", text);
		fflush(a->out);
		if (bp_journal_add(j, step, why, sizeof(why)) != 0) {
			fprintf(a->err, "biplane doctor: %s: %s\n", text, why);
			return -1;
		}
		if (bp_apply_step(a, step, why, sizeof(why)) != 0) {
			fprintf(a->err, "biplane doctor: %s: %s\n", text, why);
			take_back(a, j, step);
			return -1;
		}
	}
	return 0;
}

int bp_undo(const struct bp_apply *a, struct bp_journal *j)
{
	char why[768], text[512];
	json_t *steps = bp_journal_steps(j, why, sizeof(why));
	int result = 0;

	if (!steps) {
		fprintf(a->err, "biplane doctor: %s\n", why);
		return -1;
	}
	for (size_t n = json_array_size(steps); n > 0 && result == 0; n--) {
		const json_t *step = json_array_get(steps, n - 1);

		bp_step_describe(step, true, text, sizeof(text));
		fprintf(a->out, "%s\n", text);
		fflush(a->out);
		result = bp_undo_step(a, step, why, sizeof(why));
		if (result == 0)
			json_array_remove(steps, n - 1);
		else
			fprintf(a->err, "biplane doctor: %s: %s\n", text, why);
	}
	if (bp_journal_keep(j, steps, why, sizeof(why)) != 0) {
		fprintf(a->err, "biplane doctor: %s\n", why);
		result = -1;
	}
	json_decref(steps);
	return result;
}
