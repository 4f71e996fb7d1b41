/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/doctor/doctor.h"
#include "apps/biplane/doctor/fix.h"
#include "apps/biplane/doctor/plan.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/print_json.h"
#include "config/config.h"
#include "dataplane/process/facts.h"

enum {
	OPT_JSON = BP_CLI_LONG,
	OPT_FIX,
	OPT_UNDO,
	OPT_NIC,
	OPT_HUGEPAGES,
	OPT_FORCE,
	OPT_NOIOMMU,
	OPT_YES,
	OPT_SYSROOT,
};

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "check or set up the machine for this configuration"},
	{OPT_JSON, "json", NULL, "one JSON object instead of text"},
	{OPT_FIX, "fix", NULL, "set up this machine, after confirmation"},
	{OPT_NIC, "nic", "NIC",
		"bind this NIC to vfio-pci: a PCI address or an interface; repeatable"},
	{OPT_HUGEPAGES, "hugepages", "[NODE=]N",
		"reserve N hugepages of 2 MiB on each NUMA node, or on NODE; repeatable"},
	{OPT_FORCE, "force", NULL,
		"also bind NICs that are in use, except those of a default route or SSH"},
	{OPT_NOIOMMU, "noiommu", NULL, "enable vfio without an IOMMU: NICs can access all memory"},
	{OPT_YES, "yes", NULL, "do not ask for confirmation"},
	{OPT_UNDO, "undo", NULL, "restore the state before --fix, also after an interruption"},
	{OPT_SYSROOT, "sysroot", "DIR",
		NULL}, /* a machine that is a folder: apps/biplane/doctor/tree.h */
	{0, NULL, NULL, NULL},
};

struct request {
	const struct bp_cli_command *command;
	const char *path, *root;
	bool json, fix, undo, yes;
	struct bp_doctor_plan_request plan;
};

static int print_report(const struct bp_report *r, bool json)
{
	if (!json) {
		bp_report_print(r, stdout, isatty(STDOUT_FILENO) && !getenv("NO_COLOR"));
		return BP_EX_OK;
	}
	return bp_print_json_new(bp_report_json(r), false, stdout) == 0 ? BP_EX_OK : BP_EX_IOERR;
}

static int run_checks(const struct bp_doctor *d, const struct request *q)
{
	struct bp_report r;
	int status;

	if (!bp_report_begin(&r)) {
		fputs("biplane doctor: not enough memory\n", stderr);
		return BP_EX_UNAVAILABLE;
	}
	bp_doctor_check(d, &r);
	status = print_report(&r, q->json);
	if (status == BP_EX_OK && r.worst == BP_CHECK_FAIL)
		status = BP_EX_CHECK_FAILED;
	bp_report_end(&r);
	return status;
}

static struct bp_fix fix_here(const struct request *q)
{
	return (struct bp_fix){
		.actions = &bp_actions_here,
		.in = stdin,
		.out = stdout,
		.err = stderr,
		.yes = q->yes,
		.terminal = isatty(STDIN_FILENO),
		.connection = getenv("SSH_CONNECTION"),
		.pid = (uint64_t)getpid(),
	};
}

static int run_doctor(const struct request *q, const struct bp_config *config)
{
	const struct bp_fix f = fix_here(q);
	struct bp_dataplane_facts facts;
	struct bp_doctor d = {.root = q->root, .config = config, .facts = &facts};
	int status = BP_EX_UNAVAILABLE;

	bp_dataplane_facts(config, &facts);
	if (!bp_doctor_begin(&d, f.connection, f.pid))
		fputs("biplane doctor: not enough memory\n", stderr);
	else if (q->fix)
		status = bp_fix(&d, &q->plan, &f);
	else
		status = run_checks(&d, q);
	bp_doctor_end(&d);
	return status;
}

/* "N" or "NODE=N" */
static int take_hugepages(struct request *q, const char *value)
{
	const char *equals = strchr(value, '=');
	uint64_t node = 0, pages;
	char text[16];

	snprintf(text, sizeof(text), "%.*s", equals ? (int)(equals - value) : 0, value);
	if ((equals && !bp_cli_number(text, 0, 1023, &node)) ||
		!bp_cli_number(equals ? equals + 1 : value, 1, 1 << 22, &pages))
		return bp_cli_usage_error(q->command,
			"--hugepages %s: a number of pages from 1, or NODE=PAGES, was expected",
			value);
	if (q->plan.n_hugepages == BP_PLAN_HUGEPAGES_MAX)
		return bp_cli_usage_error(
			q->command, "--hugepages: %d times at most", BP_PLAN_HUGEPAGES_MAX);
	q->plan.hugepages[q->plan.n_hugepages].node = equals ? (int64_t)node : -1;
	q->plan.hugepages[q->plan.n_hugepages++].pages = (int64_t)pages;
	return 0;
}

static int take_nic(struct request *q, const char *value)
{
	if (q->plan.n_nics == BP_PLAN_NICS_MAX)
		return bp_cli_usage_error(q->command, "--nic: %d NICs at most", BP_PLAN_NICS_MAX);
	q->plan.nic[q->plan.n_nics++] = value;
	return 0;
}

/* Takes one option; 0, or an exit status. */
static int take_option(struct request *q, int key, const char *value)
{
	switch (key) {
	case 'c':
		q->path = value;
		return 0;
	case OPT_JSON:
		q->json = true;
		return 0;
	case OPT_FIX:
		q->fix = true;
		return 0;
	case OPT_UNDO:
		q->undo = true;
		return 0;
	case OPT_NIC:
		return take_nic(q, value);
	case OPT_HUGEPAGES:
		return take_hugepages(q, value);
	case OPT_FORCE:
		q->plan.force = true;
		return 0;
	case OPT_NOIOMMU:
		q->plan.noiommu = true;
		return 0;
	case OPT_YES:
		q->yes = true;
		return 0;
	default:
		q->root = value;
		return 0;
	}
}

static int check_options(const struct request *q)
{
	const bool of_fix =
		q->plan.n_nics || q->plan.n_hugepages || q->plan.force || q->plan.noiommu || q->yes;

	if (q->fix && q->undo)
		return bp_cli_usage_error(q->command, "--fix and --undo exclude each other");
	if (of_fix && !q->fix)
		return bp_cli_usage_error(q->command, "--nic, --hugepages, --force, "
						      "--noiommu and --yes need --fix");
	if (q->undo && q->path)
		return bp_cli_usage_error(
			q->command, "--undo reverts all changes of --fix; expected no -c");
	if ((q->fix || q->undo) && (q->json || *q->root))
		return bp_cli_usage_error(
			q->command, "--json and --sysroot cannot be used with --fix or --undo");
	return 0;
}

static int doctor(const struct request *q)
{
	const struct bp_fix f = fix_here(q);
	struct bp_config *config = NULL;
	int status = check_options(q);

	if (status)
		return status;
	if ((q->fix || q->undo) && geteuid() != 0) {
		fprintf(stderr, "biplane doctor: --fix and --undo need root; run the command "
				"with sudo\n");
		return BP_EX_UNAVAILABLE;
	}
	if (q->undo)
		return bp_fix_undo(q->root, &f);
	if (q->path && !(config = bp_config_load(q->path, stderr)))
		return BP_EX_CONFIG;
	status = run_doctor(q, config);
	if (config)
		bp_config_free(config);
	return status;
}

static int doctor_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct request q = {.command = command, .root = ""};
	struct bp_cli cli;
	int key;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		const int status =
			key == BP_CLI_STOP ? cli.status : take_option(&q, key, cli.value);

		if (key == BP_CLI_STOP || status)
			return status;
	}
	return bp_cli_no_operands(&cli) ? BP_EX_USAGE : doctor(&q);
}

const struct bp_cli_command bp_cmd_doctor = {
	.name = "doctor",
	.summary = "check and set up this machine",
	.synopsis = "[-c FILE] [--json | --fix [--nic NIC]... [--hugepages N]... [--yes] | --undo]",
	.text = "Checks hugepages, IOMMU, vfio, vhost-net, CPUs, limits, capabilities, DPDK,\n"
		"clock and NICs. Each item is ok, warn, fail or skip (cannot be checked), with\n"
		"the commands that correct it. Exits with 1 if an item fails, otherwise with 0.\n"
		"\n"
		"Without --fix, the command changes nothing. --fix loads modules, reserves\n"
		"hugepages, mounts hugetlbfs and binds the NICs of --nic and of the ports of\n"
		"FILE. It never binds a NIC that a default route or an SSH session uses. --undo\n"
		"restores the previous state.",
	.example = "  biplane doctor -c /etc/biplane/biplane.yaml\n"
		   "  biplane doctor --fix --nic 0000:03:00.0 --nic 0000:03:00.1 --hugepages 1024\n"
		   "  biplane doctor --undo",
	.options = options,
	.main = doctor_main,
};
