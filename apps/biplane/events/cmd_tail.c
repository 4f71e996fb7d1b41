/* SPDX-License-Identifier: BSD-3-Clause */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "apps/biplane/commands.h"
#include "apps/biplane/events/event_reader.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/which.h"

/* Lines of events that exist already, without -n. */
#define EXISTING 10u
#define EXISTING_MAX 100000u
#define DROPS_INTERVAL_NS 10000000000ull

enum { OPT_JSON = BP_CLI_LONG, OPT_TYPE, OPT_NO_FOLLOW };

static const struct bp_cli_option options[] = {
	BP_OPTION_CONFIG,
	BP_OPTION_INSTANCE,
	{'n', "lines", "N", "begin with the latest N events (10); 0: only new ones"},
	{OPT_TYPE, "type", "TYPE",
		"events: only these types, such as fault,plane: alarm, config, connection, drops, "
		"fault, lost, plane, policy or session"},
	{OPT_JSON, "json", NULL, "one JSON object per line"},
	{OPT_NO_FOLLOW, "no-follow", NULL, "print the latest N events and exit"},
	{0, NULL, NULL, NULL},
};

struct tail {
	const struct bp_cli_command *command;
	const char *path, *name, *types;
	bool json, no_follow;
	uint64_t lines;
	struct bp_event_reader *reader;
	bool attached;
};

static uint64_t unix_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void print(const struct tail *o, const json_t *event)
{
	char line[BP_EVENT_TEXT_LINE];

	if (o->json) {
		char *text = bp_event_line(event);

		puts(text != NULL ? text : "{}");
		free(text);
	} else {
		bp_event_text_line(event, line);
		puts(line);
	}
}

/* The latest events that exist already; false: no memory. */
static bool print_existing(struct tail *o)
{
	const uint64_t now = unix_ns() + BP_EVENT_HOLD_NS;
	json_t **latest = calloc(o->lines, sizeof(json_t *)); /* a ring */
	json_t *event;
	uint64_t n = 0;

	if (latest == NULL)
		return false;
	while ((event = bp_event_reader_next(o->reader, now, NULL)) != NULL) {
		json_decref(latest[n % o->lines]);
		latest[n++ % o->lines] = event;
	}
	for (uint64_t i = n > o->lines ? n - o->lines : 0; i < n; i++) {
		print(o, latest[i % o->lines]);
		json_decref(latest[i % o->lines]);
	}
	free(latest);
	return true;
}

/* The planes may end while this command waits for events: it waits for the next ones. */
static void report_attachment(struct tail *o, const char *instance)
{
	const bool attached = bp_event_reader_attached(o->reader, NULL);

	if (attached != o->attached)
		fprintf(stderr,
			attached ? "biplane tail: '%s' is running again\n"
				 : "biplane tail: '%s' has ended; waiting for its next start\n",
			instance);
	o->attached = attached;
}

/* Waits for the next poll; false: the reader of the output is gone. */
static bool output_is_read(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO};

	return poll(&out, 1, BP_EVENT_POLL_MS) <= 0 ||
	       !(out.revents & (POLLERR | POLLHUP | POLLNVAL));
}

static int follow(struct tail *o, const char *instance)
{
	json_t *event;

	do {
		while ((event = bp_event_reader_next(o->reader, unix_ns(), NULL)) != NULL) {
			print(o, event);
			json_decref(event);
		}
		if (fflush(stdout) != 0)
			return BP_EX_IOERR;
		report_attachment(o, instance);
	} while (output_is_read());
	return BP_EX_OK;
}

static int tail(struct tail *o, unsigned types)
{
	const struct bp_event_reader_options r = {.types = types,
		.backlog = o->lines != 0 ? UINT64_MAX : 0,
		.drops_interval_ns = DROPS_INTERVAL_NS};
	struct bp_config_instance id;
	const char *why;
	int status = bp_which_instance(o->command, o->path, o->name, &id);

	if (status != BP_EX_OK)
		return status;
	o->reader = bp_event_reader_new(&id, &r);
	if (o->reader == NULL) {
		fputs("biplane tail: not enough memory\n", stderr);
		return BP_EX_OSERR;
	}
	o->attached = bp_event_reader_attached(o->reader, &why);
	if (!o->attached) {
		fprintf(stderr, "biplane tail: %s\n", why);
		bp_event_reader_free(o->reader);
		return BP_EX_UNAVAILABLE;
	}
	if (o->lines != 0 && !print_existing(o))
		status = BP_EX_OSERR;
	else
		status = o->no_follow ? BP_EX_OK : follow(o, id.name);
	bp_event_reader_free(o->reader);
	return fflush(stdout) == 0 ? status : BP_EX_IOERR;
}

/* The types that the operand and --type select. 0, or an exit status. */
static int choose_types(const struct tail *o, const char *what, unsigned *types)
{
	char err[256];

	if (strcmp(what, "alarms") == 0 && o->types == NULL) {
		/* a restart of a plane explains a pause */
		*types = BP_EVENT_BIT(BP_EVENT_ALARM) | BP_EVENT_BIT(BP_EVENT_PLANE);
		return BP_EX_OK;
	}
	if (strcmp(what, "alarms") == 0)
		return bp_cli_usage_error(o->command, "--type is for events, not for alarms");
	if (strcmp(what, "events") != 0)
		return bp_cli_usage_error(
			o->command, "unknown object '%s'; expected alarms or events", what);
	*types = BP_EVENTS_ALL;
	if (o->types == NULL || bp_event_types_parse(o->types, types, err, sizeof(err)) == 0)
		return BP_EX_OK;
	return bp_cli_usage_error(o->command, "--type: %s", err);
}

/* Takes one option; 0, or an exit status. */
static int take_option(struct tail *o, int key, const char *value)
{
	switch (key) {
	case 'c':
		o->path = value;
		return 0;
	case 'i':
		o->name = value;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_NO_FOLLOW:
		o->no_follow = true;
		return 0;
	case OPT_TYPE:
		o->types = value;
		return 0;
	default:
		if (bp_cli_number(value, 0, EXISTING_MAX, &o->lines))
			return 0;
		return bp_cli_usage_error(o->command, "-n %s: a number from 0 to %u was expected",
			value, EXISTING_MAX);
	}
}

static int tail_main(const struct bp_cli_command *command, int argc, char **argv)
{
	struct tail o = {.command = command, .lines = EXISTING};
	struct bp_cli cli;
	unsigned types;
	char **words;
	int key, status;

	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		status = key == BP_CLI_STOP ? cli.status : take_option(&o, key, cli.value);
		if (key == BP_CLI_STOP || status)
			return status;
	}
	if (bp_cli_operands(&cli, &words) == 0)
		return bp_cli_usage_error(command, "missing object, one of: alarms, events");
	if (bp_cli_operands(&cli, &words) > 1)
		return bp_cli_usage_error(command, "unexpected argument '%s'", words[1]);
	status = choose_types(&o, words[0], &types);
	return status != BP_EX_OK ? status : tail(&o, types);
}

static void complete(int n, char **operands, FILE *out)
{
	(void)operands;
	if (n == 0)
		fputs("alarms\talarms as they come\nevents\tall events as they come\n", out);
}

const struct bp_cli_command bp_cmd_tail = {
	.name = "tail",
	.summary = "print alarms or events of a running instance as they happen",
	.synopsis = "alarms|events [OPTION]...",
	.text = "Prints the latest alarms or events of a running instance, and then new ones as\n"
		"they happen, from its shared memory: no broker is needed, and the instance is\n"
		"not slowed down. Events are changes of connections, of sessions of health\n"
		"devices, of faults, of the configuration and of the planes, summaries of dropped\n"
		"frames, and alarms. Ends with Ctrl-C.",
	.example = "  biplane tail alarms -i plant\n"
		   "  biplane tail events --type fault,plane\n"
		   "  biplane tail events --json -n 0 | jq 'select(.event_type == \"alarm\")'",
	.options = options,
	.main = tail_main,
	.complete = complete,
};
