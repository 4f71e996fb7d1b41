/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane policy report`: what the policy would have refused. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/events/event_reader.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/pager.h"
#include "apps/biplane/policy/report.h"
#include "apps/biplane/print_json.h"
#include "apps/biplane/show/instance_view.h"
#include "apps/biplane/which.h"

#define LIMIT_DEFAULT 20

enum { OPT_JSON = BP_CLI_LONG, OPT_IN };

static const struct bp_cli_option options[] = {
	BP_OPTION_CONFIG,
	BP_OPTION_INSTANCE,
	{OPT_IN, "in", "PORT=FILE",
		"instead of the instance, frames that arrive on PORT, with the policy of -c FILE: "
		"pcap or pcapng; may be repeated"},
	{'n', "limit", "N", "the N refused packets that are most frequent (20); 0: all"},
	{OPT_JSON, "json", NULL, "one JSON object"},
	{0, NULL, NULL, NULL},
};

struct command {
	const struct bp_cli_command *command;
	const char *path, *name;
	struct bp_replay_file *in;
	unsigned n_in;
	uint64_t limit;
	bool json;
	struct bp_policy_report *report;
};

static json_t *collect(const struct command *c, const struct bp_shm *shm)
{
	char err[PATH_MAX + 512];
	json_t *report = bp_policy_report_json(c->report, shm, c->limit, err, sizeof(err));

	if (report == NULL)
		fprintf(stderr, "biplane policy report: %s\n", err);
	return report;
}

/* ---- of an instance ---- */

static uint64_t unix_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* The events that the instance still has. */
static bool read_events(const struct command *c, const struct bp_shm *shm, const char *instance)
{
	const struct bp_event_reader_options o = {
		.types = BP_EVENT_BIT(BP_EVENT_POLICY), .backlog = UINT64_MAX};
	const uint64_t now = unix_ns() + BP_EVENT_HOLD_NS;
	struct bp_event_reader *r = bp_event_reader_of(instance, shm, &o);
	json_t *event;
	unsigned type;

	if (r == NULL)
		return false;
	while ((event = bp_event_reader_next(r, now, &type)) != NULL) {
		if (type == BP_EVENT_POLICY)
			bp_policy_report_add(c->report, event);
		json_decref(event);
	}
	bp_event_reader_free(r);
	return true;
}

static int print_live(const struct command *c, const struct bp_shm *shm, const char *instance)
{
	json_t *report;

	if (!read_events(c, shm, instance)) {
		fputs("biplane policy report: not enough memory\n", stderr);
		return BP_EX_OSERR;
	}
	report = collect(c, shm);
	if (report == NULL)
		return BP_EX_SOFTWARE;
	bp_pager_begin();
	if (c->json)
		bp_print_json(report, false, stdout);
	else
		bp_policy_report_print(report, stdout);
	json_decref(report);
	return BP_EX_OK;
}

static int of_instance(const struct command *c)
{
	char err[PATH_MAX + 512];
	struct bp_config_instance id;
	struct bp_instance_view v;
	int status = bp_which_instance(c->command, c->path, c->name, &id);

	if (status != BP_EX_OK)
		return status;
	if (bp_instance_view_open(&v, &id, err, sizeof(err)) != 0) {
		fprintf(stderr, "biplane policy report: %s\n", err);
		return BP_EX_UNAVAILABLE;
	}
	status = print_live(c, &v.shm, id.name);
	bp_instance_view_close(&v);
	return status;
}

/* ---- of captures ---- */

static json_t *collect_replayed(void *arg, const struct bp_shm *shm)
{
	return collect(arg, shm);
}

static void add_replayed(void *arg, const struct bp_shm *shm, const struct bp_event *e)
{
	const struct command *c = arg;

	bp_policy_report_event(c->report, shm, e);
}

static void print_json(const json_t *report, FILE *out)
{
	bp_print_json(report, false, out);
}

static int of_captures(struct command *c)
{
	const struct bp_replay_policy policy = {.arg = c,
		.event = add_replayed,
		.collect = collect_replayed,
		.print = c->json ? print_json : bp_policy_report_print,
		.alone = true};
	const struct bp_replay_options o = {
		.config_path = c->path, .in = c->in, .n_in = c->n_in, .policy = &policy};

	if (c->name != NULL || c->path == NULL)
		return bp_cli_usage_error(c->command, "--in needs -c FILE, and no instance");
	return bp_replay_run(&o);
}

/* ---- the command line ---- */

/* Takes one option; 0, or an exit status. */
static int take_option(struct command *c, int key, const char *value)
{
	struct bp_replay_file *in;

	switch (key) {
	case 'c':
		c->path = value;
		return 0;
	case 'i':
		c->name = value;
		return 0;
	case OPT_JSON:
		c->json = true;
		return 0;
	case OPT_IN:
		in = &c->in[c->n_in++];
		if (bp_cli_split(value, &in->port, &in->path))
			return 0;
		return bp_cli_usage_error(c->command, "--in %s: PORT=FILE was expected", value);
	default:
		if (bp_cli_number(value, 0, UINT32_MAX, &c->limit))
			return 0;
		return bp_cli_usage_error(
			c->command, "-n %s: a number from 0 (all) was expected", value);
	}
}

static int parse_and_run(struct command *c, int argc, char **argv)
{
	struct bp_cli cli;
	char **words;
	int key, status;

	bp_cli_begin(&cli, c->command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		status = key == BP_CLI_STOP ? cli.status : take_option(c, key, cli.value);
		if (key == BP_CLI_STOP || status)
			return status;
	}
	if (bp_cli_operands(&cli, &words) != 0)
		return bp_cli_usage_error(c->command, "unexpected argument '%s'", words[0]);
	return c->n_in != 0 ? of_captures(c) : of_instance(c);
}

static int report_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct command c = {.command = command,
		.limit = LIMIT_DEFAULT,
		.in = calloc((size_t)argc, sizeof(*c.in)),
		.report = bp_policy_report_new()};
	int status = BP_EX_OSERR;

	if (c.in != NULL && c.report != NULL)
		status = parse_and_run(&c, argc, argv);
	bp_policy_report_free(c.report);
	free(c.in);
	return status;
}

const struct bp_cli_command bp_cmd_policy_report = {
	.name = "policy report",
	.summary = "what enforcing the policy would have refused",
	.synopsis = "[-c FILE | -i NAME] [--in PORT=FILE ...] [-n N] [--json]",
	.text = "Prints how many packets of MQTT clients the policy observes, that is, which it\n"
		"would refuse if it were enforced: by rule, and by client, packet, topic and rule\n"
		"with the number of packets, and what has no decision, with the reasons.\n"
		"Of a running instance these are the statistics since its start, and the packets\n"
		"whose events it still has. With --in, captures are replayed with the policy of\n"
		"the configuration FILE, as by 'biplane replay', and all packets are listed.",
	.example = "  biplane policy report -i plant\n"
		   "  biplane policy report -c plant.yaml --in devices=yesterday.pcap --json",
	.options = options,
	.main = report_main,
};
