/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/policy/report.h"
#include "apps/biplane/show/service.h"
#include "dataplane/replay/replay.h"

enum { OPT_JSON = BP_CLI_LONG, OPT_IN, OPT_OUT, OPT_ASSUME_STORED };

static const struct bp_cli_option options[] = {
	{'c', "config", "FILE", "the configuration file"},
	{OPT_IN, "in", "PORT=FILE", "frames that arrive on PORT: pcap or pcapng; may be repeated"},
	{OPT_OUT, "out", "PORT=FILE",
		"write the frames that leave on PORT to a pcap file; may be repeated"},
	{OPT_ASSUME_STORED, "assume-stored", NULL,
		"health devices: acknowledge each request to the CSE immediately as stored"},
	{OPT_JSON, "json", NULL, "one JSON object instead of a summary"},
	{0, NULL, NULL, NULL},
};

/* No command line has more --in than words. */
struct replay {
	struct bp_replay_options options;
	struct bp_replay_file *in, *out;
};

static bool has_port(const struct bp_replay_file *files, unsigned n, const char *port)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(files[i].port, port))
			return true;
	return false;
}

/* Takes one option; 0, or an exit status. */
static int take_option(
	struct replay *r, const struct bp_cli_command *command, int key, const char *value)
{
	struct bp_replay_options *o = &r->options;

	if (key == 'c') {
		o->config_path = value;
	} else if (key == OPT_JSON) {
		o->json = true;
	} else if (key == OPT_ASSUME_STORED) {
		o->assume_stored = true;
	} else if (key == OPT_IN) {
		if (!bp_cli_split(value, &r->in[o->n_in].port, &r->in[o->n_in].path))
			return bp_cli_usage_error(
				command, "--in %s: PORT=FILE was expected", value);
		o->n_in++;
	} else {
		if (!bp_cli_split(value, &r->out[o->n_out].port, &r->out[o->n_out].path))
			return bp_cli_usage_error(
				command, "--out %s: PORT=FILE was expected", value);
		if (has_port(r->out, o->n_out, r->out[o->n_out].port))
			return bp_cli_usage_error(
				command, "--out %s=... is given twice", r->out[o->n_out].port);
		o->n_out++;
	}
	return 0;
}

static int parse_and_run(
	struct replay *r, const struct bp_cli_command *command, int argc, char **argv)
{
	struct bp_cli cli;
	int key;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		int status =
			key == BP_CLI_STOP ? cli.status : take_option(r, command, key, cli.value);

		if (key == BP_CLI_STOP || status)
			return status;
	}
	if (bp_cli_just_config(&cli, r->options.config_path))
		return BP_EX_USAGE;
	if (r->options.n_in == 0)
		return bp_cli_usage_error(command, "--in PORT=FILE is missing");
	r->options.in = r->in;
	r->options.out = r->out;
	return bp_replay_run(&r->options);
}

/* Reports of the services. */
static unsigned list_parts(const struct bp_replay_part *parts[BP_SERVICE_COUNT])
{
	unsigned n = 0;

	for (unsigned s = BP_SERVICE_COUNT; s-- > 0;)
		if (bp_service_views[s]->replay.name)
			parts[n++] = &bp_service_views[s]->replay;
	return n;
}

static int replay_main(const struct bp_cli_command *command, int argc, char **argv)
{
	const struct bp_replay_part *parts[BP_SERVICE_COUNT];
	const struct bp_replay_policy policy = {.arg = bp_policy_report_new(),
		.event = bp_policy_report_event,
		.collect = bp_policy_report_collect,
		.print = bp_policy_report_print};
	struct replay r = {
		.in = calloc((size_t)argc, sizeof(*r.in)),
		.out = calloc((size_t)argc, sizeof(*r.out)),
		.options = {.parts = parts, .n_parts = list_parts(parts), .policy = &policy},
	};
	int status =
		r.in && r.out && policy.arg ? parse_and_run(&r, command, argc, argv) : BP_EX_OSERR;

	bp_policy_report_free(policy.arg);
	free(r.in);
	free(r.out);
	return status;
}

const struct bp_cli_command bp_cmd_replay = {
	.name = "replay",
	.summary = "try a configuration on captured traffic",
	.synopsis = "-c FILE --in PORT=FILE [--in ...] [--out PORT=FILE ...] [--assume-stored]\n"
		    "                      [--json]",
	.text = "Processes captured frames with the packet graph of the data plane, with the\n"
		"timestamps of the captures as the clock. Prints which frames would have been\n"
		"forwarded or dropped, which alarms would have been raised, and which packets the\n"
		"MQTT policy observes. Needs no root, hugepages or devices. The same input gives "
		"the same output, byte for byte.\n"
		"\n"
		"Health devices: the capture must contain the association request of a device,\n"
		"over UDP. The output contains the requests to the CSE and the answers to the\n"
		"device. The containers at the CSE are assumed to exist. Acknowledgements of the\n"
		"CSE that were captured at a gateway are dropped; --assume-stored replaces them.",
	.example = "  biplane replay -c plant.yaml --in devices=yesterday.pcap --json | jq .alarms",
	.options = options,
	.main = replay_main,
};
