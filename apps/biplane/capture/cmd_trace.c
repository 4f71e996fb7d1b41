/* SPDX-License-Identifier: BSD-3-Clause */
/* `biplane trace`: the path of frames through the packet graph of a running instance. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apps/biplane/capture/capture_options.h"
#include "apps/biplane/capture/session.h"
#include "apps/biplane/capture/trace_view.h"
#include "apps/biplane/commands.h"
#include "apps/biplane/exit_status.h"
#include "apps/biplane/print_json.h"
#include "apps/biplane/which.h"

#define STEP_MS 10
/* A frame is complete when it had no step for this time; aggregation and LCL scheduling hold frames
 * for shorter times, by default. */
#define COMPLETE_NS 500000000u
#define FRAMES_MAX BP_CAPTURE_TRACED_MAX
/* Of a frame; and of all frames that are not printed yet, at most about 30 KB each. */
#define STEPS_MAX 256u
#define STEPS_ALL_MAX 16384u

enum { OPT_CONFIG = BP_CLI_LONG, OPT_INSTANCE, OPT_JSON };

static const struct bp_cli_option options[] = {
	{'n', "frames", "COUNT", "end after this number of frames, 1 to 1000; default 10"},
	{'i', "port", "PORT", "only frames received on this port; may be repeated"},
	{OPT_JSON, "json", NULL, "one JSON object for each frame, in a line"},
	{OPT_CONFIG, "config", "FILE", "the instance of this configuration file"},
	{OPT_INSTANCE, "instance", "NAME",
		"the instance of this name; default: the only running one"},
	{0, NULL, NULL, NULL},
};

struct traced {
	unsigned worker;
	uint32_t frame;
	uint64_t last_ns; /* Unix time when its last step was read */
	json_t *steps;    /* NULL: printed */
};

struct trace {
	const char *config, *instance;
	uint64_t frames;
	json_t *ports;
	bool json;
	char *filter; /* NULL: none */
	struct bp_capture_insn insn[BP_CAPTURE_INSNS_MAX];
	uint32_t n_insns;
	struct bp_capture_session s;
	unsigned n, printed; /* of traced[] */
	unsigned steps;      /* of the frames that are not printed */
	struct traced traced[FRAMES_MAX];
};

static volatile bool stop;

static void on_signal(int number)
{
	(void)number;
	stop = true;
}

static uint64_t unix_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct traced *find(struct trace *t, uint32_t frame)
{
	for (unsigned i = t->n; i-- > 0;)
		if (t->traced[i].worker == t->s.last && t->traced[i].frame == frame)
			return t->traced[i].steps != NULL ? &t->traced[i] : NULL;
	return NULL;
}

static struct traced *begin(struct trace *t, uint32_t frame)
{
	struct traced *f = &t->traced[t->n];

	*f = (struct traced){.worker = t->s.last, .frame = frame, .steps = json_array()};
	if (f->steps == NULL)
		return NULL;
	t->n++;
	return f;
}

/* Several workers may mark more frames than were requested: those are left out. Only steps that are
 * kept are read as a whole: another process can write many. */
static void add_step(struct trace *t, const struct bp_capture_record *r)
{
	struct traced *f = NULL;
	uint32_t frame;
	json_t *step;
	bool first;

	if (!bp_trace_step_frame(r, &frame, &first) || t->steps == STEPS_ALL_MAX)
		return;
	if (!first)
		f = find(t, frame);
	if (first ? t->n == t->frames : f == NULL || json_array_size(f->steps) == STEPS_MAX)
		return;
	step = bp_trace_step_json(&t->s, r);
	if (step != NULL && first)
		f = begin(t, frame);
	if (step == NULL || f == NULL) {
		json_decref(step);
		return;
	}
	json_array_append_new(f->steps, step);
	t->steps++;
	f->last_ns = unix_ns();
}

static void print(struct trace *t, struct traced *f)
{
	json_t *trace;

	t->steps -= (unsigned)json_array_size(f->steps);
	trace = bp_trace_json(++t->printed, f->steps);
	if (t->json)
		bp_print_json(trace, true, stdout);
	else
		bp_trace_print(trace, stdout);
	fflush(stdout);
	json_decref(trace);
	f->steps = NULL;
}

/* Prints the frames that are complete, in their order. */
static void print_complete(struct trace *t, bool all)
{
	const uint64_t now = unix_ns();

	while (t->printed < t->n) {
		struct traced *f = &t->traced[t->printed];

		if (!all && f->last_ns + COMPLETE_NS > now)
			return;
		print(t, f);
	}
}

static void read_steps(struct trace *t)
{
	const struct bp_capture_record *r;

	bp_capture_session_look(&t->s);
	while ((r = bp_capture_session_next(&t->s, UINT64_MAX)) != NULL)
		add_step(t, r);
}

static int run(struct trace *t, const struct bp_cli_command *command)
{
	bool connected = true;

	fprintf(stderr, "biplane %s: tracing; filter: %s\n", command->name,
		bp_capture_engine_names[bp_capture_session_engine(&t->s)]);
	while (!stop && connected && t->printed < t->frames && !ferror(stdout)) {
		read_steps(t);
		print_complete(t, false);
		connected = bp_capture_session_wait(&t->s, STEP_MS);
	}
	if (connected)
		bp_capture_session_stop(&t->s);
	read_steps(t);
	print_complete(t, true);
	if (connected)
		return ferror(stdout) ? BP_EX_IOERR : BP_EX_OK;
	fprintf(stderr, "biplane %s: the control plane ended the trace\n", command->name);
	return BP_EX_UNAVAILABLE;
}

static json_t *request_of(const struct trace *t)
{
	json_t *request = json_pack("{ss ss sb sI}", "command", "capture-start", "kind", "trace",
		"rx", 1, "frames", (json_int_t)t->frames);

	if (request == NULL ||
		bp_capture_add_filter(request, t->filter, t->insn, t->n_insns) != 0 ||
		(t->ports != NULL && json_object_set(request, "ports", t->ports) != 0)) {
		json_decref(request);
		return NULL;
	}
	return request;
}

static int take_option(
	struct trace *t, const struct bp_cli_command *command, int key, const char *value)
{
	switch (key) {
	case 'n':
		if (!bp_cli_number(value, 1, FRAMES_MAX, &t->frames))
			return bp_cli_usage_error(
				command, "-n %s: a number from 1 to 1000 was expected", value);
		break;
	case 'i':
		if (t->ports == NULL)
			t->ports = json_array();
		json_array_append_new(t->ports, json_string(value));
		break;
	case OPT_JSON:
		t->json = true;
		break;
	case OPT_CONFIG:
		t->config = value;
		break;
	default:
		t->instance = value;
	}
	return BP_EX_OK;
}

static int compile_operands(
	struct trace *t, const struct bp_cli_command *command, const struct bp_cli *cli)
{
	char **words;
	bool memory;
	int n = bp_cli_operands(cli, &words), status = BP_EX_OK;

	t->filter = bp_capture_join(n, words, &memory);
	if (!memory)
		return BP_EX_OSERR;
	if (t->filter != NULL)
		status = bp_capture_compile(command, t->filter, t->insn, &t->n_insns);
	return status;
}

static int read_options(
	struct trace *t, const struct bp_cli_command *command, int argc, char **argv, bool *done)
{
	struct bp_cli cli;
	int key, status;

	*done = false;
	bp_cli_begin(&cli, command, argc, argv);
	while ((key = bp_cli_next(&cli)) != BP_CLI_END) {
		*done = key == BP_CLI_STOP;
		status = *done ? cli.status : take_option(t, command, key, cli.value);
		if (*done || status != BP_EX_OK)
			return status;
	}
	return compile_operands(t, command, &cli);
}

static int trace_main(const struct bp_cli_command *command, int argc, char **argv)
{
	/* the second signal ends the command, whatever it does */
	const struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
	struct trace *t = calloc(1, sizeof(*t));
	struct bp_config_instance id;
	bool done = false;
	int status;

	if (t == NULL)
		return BP_EX_OSERR;
	t->frames = 10;
	status = read_options(t, command, argc, argv, &done);
	if (status == BP_EX_OK && !done)
		status = bp_which_instance(command, t->config, t->instance, &id);
	if (status == BP_EX_OK && !done) {
		sigaction(SIGINT, &a, NULL);
		sigaction(SIGTERM, &a, NULL);
		signal(SIGPIPE, SIG_IGN);
		status = bp_capture_session_open(&t->s, command, &id, request_of(t), &stop);
		if (status == BP_EX_OK)
			status = run(t, command);
		bp_capture_session_close(&t->s);
	}
	json_decref(t->ports);
	free(t->filter);
	free(t);
	return status;
}

static void complete_nothing(int n, char **operands, FILE *out)
{
	(void)n;
	(void)operands;
	(void)out;
}

const struct bp_cli_command bp_cmd_trace = {
	.name = "trace",
	.summary = "show the path of frames through a running instance",
	.synopsis = "[-n COUNT] [-i PORT]... [--json] [--config FILE | --instance NAME] [FILTER]",
	.text = "Follows frames that match FILTER from their port through the nodes of the packet\n"
		"graph. For each node it prints the next node, the counters that it incremented\n"
		"for this frame, the route that it looked up, the MQTT connection, the rules that\n"
		"were evaluated with value and verdict, and the alarms. The last line is the\n"
		"outcome of the frame. FILTER is an expression as for tcpdump, see "
		"pcap-filter(7).\n"
		"\n"
		"Needs no capability: access to the control socket of the instance is enough.",
	.example = "  biplane trace -n 3 -i devices 'tcp port 1883'\n"
		   "  biplane trace 'host 10.0.0.5' --json | jq .outcome",
	.options = options,
	.main = trace_main,
	.complete = complete_nothing,
};
