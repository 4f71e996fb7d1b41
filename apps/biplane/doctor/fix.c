/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/fix.h"

#include <inttypes.h>
#include <string.h>

#include "apps/biplane/doctor/apply.h"
#include "apps/biplane/doctor/journal.h"
#include "apps/biplane/doctor/step.h"
#include "apps/biplane/exit_status.h"

/* Data for the repeated check in may_bind(). */
struct rollback {
	const struct bp_doctor *before;
	const struct bp_fix *fix;
	bool force;
};

/* An address or a route may be new since the confirmation was asked. */
static bool may_bind(void *arg, const char *address, char *why, size_t size)
{
	const struct rollback *rollback = arg;
	struct bp_doctor d = {.root = rollback->before->root, .facts = rollback->before->facts};
	const struct bp_nic *nic;
	bool may = false;

	snprintf(why, size, "this machine no longer has the NIC");
	if (bp_doctor_begin(&d, rollback->fix->connection, rollback->fix->pid) &&
		(nic = bp_nics_find(&d.nics, address)) != NULL)
		may = bp_doctor_plan_may_bind(nic, rollback->force, why, size);
	bp_doctor_end(&d);
	return may;
}

static void print_plan(const json_t *steps, FILE *out)
{
	const json_t *step;
	char text[512];
	size_t i;

	fputs("biplane doctor --fix executes these steps:\n", out);
	json_array_foreach(steps, i, step)
	{
		bp_step_describe(step, false, text, sizeof(text));
		fprintf(out, "  %zu. %s\n", i + 1, text);
	}
	fputs("'biplane doctor --undo' restores the previous state.\n", out);
}

static bool confirm(const struct bp_fix *f)
{
	char answer[64];

	fputs("Continue? [y/N] ", f->out);
	fflush(f->out);
	return fgets(answer, sizeof(answer), f->in) &&
	       (!strcmp(answer, "y\n") || !strcmp(answer, "yes\n") || !strcmp(answer, "Y\n"));
}

/* The changes last until the next boot; biplane does not write to /etc. */
static void print_how_to_keep(const json_t *steps, FILE *out)
{
	const json_t *step;
	size_t i;

	fputs("done; the next boot reverts the changes. To make them permanent:\n", out);
	json_array_foreach(steps, i, step)
	{
		char file[160];
		struct bp_step s;

		if (!bp_step_read(step, &s))
			continue;
		if (s.kind == BP_STEP_MODULE)
			fprintf(out, "  echo %s >>/etc/modules-load.d/biplane.conf\n", s.name);
		if (s.kind == BP_STEP_NOIOMMU)
			fputs("  echo options vfio enable_unsafe_noiommu_mode=1 "
			      ">/etc/modprobe.d/biplane.conf\n",
				out);
		if (s.kind == BP_STEP_MOUNT)
			fprintf(out, "  echo 'hugetlbfs %s hugetlbfs defaults 0 0' >>/etc/fstab\n",
				s.name);
		if (s.kind == BP_STEP_BIND)
			fprintf(out, "  driverctl set-override %s vfio-pci   # package driverctl\n",
				s.name);
		if (s.kind != BP_STEP_HUGEPAGES)
			continue;
		bp_huge_file(s.node, s.kib, file, sizeof(file));
		fprintf(out, "  echo 'w %s - - - - %" PRId64 "' >>/etc/tmpfiles.d/biplane.conf\n",
			file, s.pages_to);
	}
}

static int do_it(const struct bp_doctor *d, const struct bp_doctor_plan_request *q,
	const struct bp_fix *f, const json_t *steps)
{
	struct rollback rollback = {d, f, q->force};
	const struct bp_apply a = {d->root, f->actions, f->out, f->err, may_bind, &rollback};
	struct bp_journal j;
	char err[1280];
	int result;

	if (bp_journal_open(&j, d->root, true, err, sizeof(err)) != 0) {
		fprintf(f->err, "biplane doctor: %s\n", err);
		return BP_EX_UNAVAILABLE;
	}
	result = bp_apply(&a, &j, steps);
	bp_journal_close(&j);
	if (result != 0) {
		fputs("biplane doctor: the remaining steps were not executed; 'biplane doctor "
		      "--undo' reverts the executed steps\n",
			f->err);
		return BP_EX_OSERR;
	}
	print_how_to_keep(steps, f->out);
	return BP_EX_OK;
}

int bp_fix(
	const struct bp_doctor *d, const struct bp_doctor_plan_request *q, const struct bp_fix *f)
{
	json_t *steps = bp_doctor_plan_create(d, q, f->err);
	int status = BP_EX_OK;

	if (!steps)
		return BP_EX_CHECK_FAILED;
	if (json_array_size(steps) == 0) {
		fputs("nothing to do\n", f->out);
	} else {
		print_plan(steps, f->out);
		if (!f->yes && !f->terminal) {
			fputs("biplane doctor: no terminal for the confirmation; use --yes to skip "
			      "it\n",
				f->err);
			status = BP_EX_USAGE;
		} else if (!f->yes && !confirm(f)) {
			fputs("nothing was changed\n", f->out);
			status = BP_EX_CHECK_FAILED;
		} else {
			status = do_it(d, q, f, steps);
		}
	}
	json_decref(steps);
	return status;
}

int bp_fix_undo(const char *root, const struct bp_fix *f)
{
	const struct bp_apply a = {
		.root = root, .actions = f->actions, .out = f->out, .err = f->err};
	struct bp_journal j;
	char err[1280];
	int result = bp_journal_open(&j, root, false, err, sizeof(err));

	if (result > 0) {
		fputs("nothing to undo: 'biplane doctor --fix' has changed nothing since the last "
		      "boot\n",
			f->out);
		return BP_EX_OK;
	}
	if (result < 0) {
		fprintf(f->err, "biplane doctor: %s\n", err);
		return BP_EX_UNAVAILABLE;
	}
	result = bp_undo(&a, &j);
	bp_journal_close(&j);
	if (result != 0)
		return BP_EX_OSERR;
	fputs("undone\n", f->out);
	return BP_EX_OK;
}
