/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "apps/sim/cse_sink/sink.h"
#include "apps/biplane/option_values.h"

static const char help[] =
	"usage: biplane-cse-sink [OPTION]...\n"
	"\n"
	"Stands for a oneM2M CSE where the rate is beyond a real one: takes creates and retrieves "
	"over\n"
	"CoAP, checks every field of them, and keeps the tree. By SIGINT or SIGTERM it prints one "
	"JSON\n"
	"object: counts, what was wrong with which message (`violations`), and the tree.\n"
	"\n"
	"Checked are: message and options (by release), unknown options, media type, JSON with no\n"
	"attribute that isn't expected, the form of measurements, that instances are named, and "
	"that no\n"
	"(source address, port, message id) comes with other octets within 247 s.\n"
	"\n"
	"  --listen ADDRESS:PORT    where to listen ([::]:5683, all addresses of both families)\n"
	"  --cse NAME               of the CSE's base (cse-in)\n"
	"  --release R              1, 2, 2a, 3, 4 or 5 (4)\n"
	"  --any                    containers that instances are for need not have been made\n"
	"  --unnamed                instances may come without a name\n"
	"  --keep N                 instances whose content is kept (1000000)\n"
	"  --delay MS               milliseconds before each answer (0)\n"
	"  --drop P                 percent of the requests that never came (0)\n"
	"  --drop-answers P         percent of the answers that get lost (0)\n"
	"  --separate P             percent answered by an empty acknowledgement first, and then "
	"by a\n"
	"                           confirmable response; not repeated (0)\n"
	"  --error P:CODE:RSC       percent answered so without being done, e.g. 10:5.03:5103 (0)\n"
	"  --instances-only         delays and errors as above are for instances only\n"
	"  --seed N                 of what is dropped (1)\n"
	"  --report-file F          for the JSON at the end (standard output)\n"
	"  --help\n"
	"\n"
	"It says \"ready PORT\" on standard output when it listens. Exit status: 0; 1 there were\n"
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
