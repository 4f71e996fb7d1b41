/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "apps/sim/cse_sink/sink.h"
#include "apps/biplane/option_values.h"

static const char help[] =
	"usage: biplane-cse-sink [OPTION]...\n"
	"\n"
	"Replaces a oneM2M CSE at rates beyond those of a real one: receives create and retrieve\n"
	"requests over CoAP, checks every field of them, and keeps the tree. On SIGINT or SIGTERM "
	"it\n"
	"prints one JSON object: counts, the errors of messages (`violations`), and the tree.\n"
	"\n"
	"It checks message and options (by release), unknown options, media type, JSON without\n"
	"unexpected attributes, the form of measurements, the names of instances, and that no\n"
	"(source address, port, message id) has different contents within 247 s.\n"
	"\n"
	"  --listen ADDRESS:PORT    listening address ([::]:5683, all addresses of both families)\n"
	"  --cse NAME               name of the CSE base (cse-in)\n"
	"  --release R              1, 2, 2a, 3, 4 or 5 (4)\n"
	"  --any                    parent containers of instances need not exist\n"
	"  --unnamed                instances may be unnamed\n"
	"  --keep N                 instances with kept content (1000000)\n"
	"  --delay MS               delay of each response, ms (0)\n"
	"  --drop P                 percentage of dropped requests (0)\n"
	"  --drop-answers P         percentage of dropped responses (0)\n"
	"  --separate P             percentage answered by an empty acknowledgement and then a\n"
	"                           confirmable response, without retransmission (0)\n"
	"  --error P:CODE:RSC       percentage answered by this error, e.g. 10:5.03:5103 (0)\n"
	"  --instances-only         apply delays and errors to instances only\n"
	"  --seed N                 seed of the random numbers (1)\n"
	"  --report-file F          file for the final JSON (standard output)\n"
	"  --help\n"
	"\n"
	"It prints \"ready PORT\" on standard output when it listens. Exit status: 0; 1\n"
	"violations; 64 usage; 71 system.\n";

static void set_release(struct sink_options *o, const char *text)
{
	static const char *const releases[] = {"1", "2", "2a", "3", "4", "5"};

	for (unsigned i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) {
		if (strcmp(text, releases[i]) == 0) {
			snprintf(o->rvi, sizeof(o->rvi), "%s", i < 2 ? "" : text);
			return;
		}
	}
	option_wrong("--release is '%s'; expected 1, 2, 2a, 3, 4 or 5", text);
}

static void set_error(struct sink_options *o, const char *text)
{
	unsigned class_, detail, rsc;
	double percent;
	char end;

	if (sscanf(text, "%lf:%u.%2u:%u%c", &percent, &class_, &detail, &rsc, &end) != 4 ||
		!(percent >= 0 && percent <= 100) || class_ > 7 || detail > 31 || rsc > 65535 ||
		rsc == 0)
		option_wrong("--error is '%s'; expected for example 10:5.03:5103", text);
	o->error = percent / 100;
	o->error_code = (uint8_t)(class_ << 5 | detail);
	o->error_rsc = (uint16_t)rsc;
}

enum which {
	LISTEN,
	CSE,
	RELEASE,
	ANY,
	UNNAMED,
	KEEP,
	DELAY,
	DROP,
	DROP_ANSWERS,
	SEPARATE,
	ERROR,
	INSTANCES_ONLY,
	SEED,
	REPORT_FILE,
	HELP
};

static const struct option options[] = {
	{"listen", required_argument, NULL, LISTEN},
	{"cse", required_argument, NULL, CSE},
	{"release", required_argument, NULL, RELEASE},
	{"any", no_argument, NULL, ANY},
	{"unnamed", no_argument, NULL, UNNAMED},
	{"keep", required_argument, NULL, KEEP},
	{"delay", required_argument, NULL, DELAY},
	{"drop", required_argument, NULL, DROP},
	{"drop-answers", required_argument, NULL, DROP_ANSWERS},
	{"separate", required_argument, NULL, SEPARATE},
	{"error", required_argument, NULL, ERROR},
	{"instances-only", no_argument, NULL, INSTANCES_ONLY},
	{"seed", required_argument, NULL, SEED},
	{"report-file", required_argument, NULL, REPORT_FILE},
	{"help", no_argument, NULL, HELP},
	{NULL, 0, NULL, 0},
};

static void set(void *arg, int which, const char *v)
{
	struct sink_options *o = arg;

	switch ((enum which)which) {
	case LISTEN:
		option_endpoint("listen", v, 0, &o->listen);
		break;
	case CSE:
		snprintf(o->cse, sizeof(o->cse), "%s", v);
		break;
	case RELEASE:
		set_release(o, v);
		break;
	case ANY:
		o->any = true;
		break;
	case UNNAMED:
		o->unnamed = true;
		break;
	case KEEP:
		o->keep = option_integer("keep", v, 0, 1000000000000);
		break;
	case DELAY:
		o->delay_ns = (uint64_t)(option_number("delay", v, 0, 1e6) * 1e6);
		break;
	case DROP:
		o->drop = option_number("drop", v, 0, 100) / 100;
		break;
	case DROP_ANSWERS:
		o->drop_answers = option_number("drop-answers", v, 0, 100) / 100;
		break;
	case SEPARATE:
		o->separate = option_number("separate", v, 0, 100) / 100;
		break;
	case ERROR:
		set_error(o, v);
		break;
	case INSTANCES_ONLY:
		o->instances_only = true;
		break;
	case SEED:
		o->seed = option_integer("seed", v, 1, UINT64_MAX);
		break;
	case REPORT_FILE:
		o->report_file = v;
		break;
	case HELP:
		fputs(help, stdout);
		exit(0);
	}
}

void sink_options_read(struct sink_options *o, int argc, char **argv)
{
	*o = (struct sink_options){.cse = "cse-in", .rvi = "4", .keep = 1000000, .seed = 1};
	option_endpoint("listen", "[::]:5683", 0, &o->listen);
	option_each(argc, argv, options, set, o);
}
