/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/agg/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/sim/agg/message.h"
#include "apps/sim/agg/server.h"
#include "apps/biplane/option_values.h"

static const char help[] =
	"usage: biplane-agg-sim [OPTION]...\n"
	"\n"
	"Runs the gateway's aggregator in virtual time: messages arrive at random, and the "
	"departure\n"
	"times of N-packets are the input of a queue with one server, which models the switch "
	"that\n"
	"disaggregates them in Lin et al. (2018). Prints one JSON object, described in\n"
	"docs/performance/aggregation-models.md. The same options give the same results.\n"
	"\n"
	"Rates (--mu, --first-mu) are multiples of the messages' rate: the paper's mu / lambda.\n"
	"\n"
	" the messages\n"
	"  --rate R                 messages per second, sum of all streams (100000)\n"
	"  --devices N              devices of each stream, which report periodically, with "
	"periods\n"
	"                           within a tenth of each other; 0: Poisson processes (0)\n"
	"  --senders N              source addresses, used in turn, 1 to 255 (1)\n"
	"  --streams N              number of destinations, with equal rates; not with --first "
	"(1)\n"
	"  --seed N                 seed of the random numbers (1)\n"
	" the first switch\n"
	"  --messages N             in an N-packet, 1 to 255 (8)\n"
	"  --format full|lin2018    (full)\n"
	"  --max-delay T            maximum delay of a message, e.g. 1ms; 0: unlimited (0)\n"
	"  --first exponential|fixed  it has a server with service times of this kind\n"
	"  --first-mu M             rate of that server (2.2)\n"
	"  --first-serves messages|packets  messages before aggregation, or N-packets after it\n"
	"                           (messages)\n"
	" the second switch\n"
	"  --service exponential|fixed  kind of its service times (fixed)\n"
	"  --mu M                   service rate, N-packets; default: no second switch\n"
	"  --buffer N               N-packets that may wait; more are lost (unlimited)\n"
	"  --minimum-mu BETA[,BETA...]  find the minimum rate with a mean waiting time of BETA\n"
	"                           service times, with an unlimited buffer\n"
	" the run\n"
	"  --packets N              measured N-packets (1000000)\n"
	"  --warm-up N              N-packets before these (10000)\n"
	"  --samples FILE           times between N-packets in ns, one per line\n"
	"  --help\n"
	"\n"
	"Exit status: 0; 1 an N-packet had wrong messages; 64 usage; 71 system.\n";

/* Which of two words; false: the second. */
static bool is_first(const char *name, const char *text, const char *first, const char *second)
{
	const char *const both[] = {first, second, NULL};

	return option_one_of(name, text, both) == 0;
}

static void betas(struct sim_options *o, const char *text)
{
	char *copy = strdup(text), *rest = copy, *one;

	if (copy == NULL)
		exit(71);
	while ((one = strsep(&rest, ",")) != NULL) {
		if (o->n_betas == SIM_BETAS_MAX)
			option_wrong("--minimum-mu has more than %d numbers", SIM_BETAS_MAX);
		o->beta[o->n_betas++] = option_number("minimum-mu", one, 1e-6, 1e6);
	}
	free(copy);
}

enum which {
	RATE,
	DEVICES,
	SENDERS,
	STREAMS,
	SEED,
	MESSAGES,
	FORMAT,
	MAX_DELAY,
	FIRST,
	FIRST_MU,
	FIRST_SERVES,
	SERVICE,
	MU,
	BUFFER,
	MINIMUM_MU,
	PACKETS,
	WARM_UP,
	SAMPLES,
	HELP
};

static const struct option options[] = {
	{"rate", required_argument, NULL, RATE},
	{"devices", required_argument, NULL, DEVICES},
	{"senders", required_argument, NULL, SENDERS},
	{"streams", required_argument, NULL, STREAMS},
	{"seed", required_argument, NULL, SEED},
	{"messages", required_argument, NULL, MESSAGES},
	{"format", required_argument, NULL, FORMAT},
	{"max-delay", required_argument, NULL, MAX_DELAY},
	{"first", required_argument, NULL, FIRST},
	{"first-mu", required_argument, NULL, FIRST_MU},
	{"first-serves", required_argument, NULL, FIRST_SERVES},
	{"service", required_argument, NULL, SERVICE},
	{"mu", required_argument, NULL, MU},
	{"buffer", required_argument, NULL, BUFFER},
	{"minimum-mu", required_argument, NULL, MINIMUM_MU},
	{"packets", required_argument, NULL, PACKETS},
	{"warm-up", required_argument, NULL, WARM_UP},
	{"samples", required_argument, NULL, SAMPLES},
	{"help", no_argument, NULL, HELP},
	{NULL, 0, NULL, 0},
};

static void set_first(struct sim_first_options *f, enum which which, const char *v)
{
	switch (which) {
	case RATE:
		f->rate = option_number("rate", v, 1e-3, 1e8);
		break;
	case DEVICES:
		f->devices = (uint32_t)option_integer("devices", v, 0, 1000000);
		break;
	case SENDERS:
		f->senders = (uint32_t)option_integer("senders", v, 1, SIM_SENDERS_MAX);
		break;
	case SEED:
		f->seed = option_integer("seed", v, 0, 1000000000000000);
		break;
	case MESSAGES:
		f->messages = (uint8_t)option_integer("messages", v, 1, 255);
		break;
	case FORMAT:
		f->format = is_first("format", v, "full", "lin2018") ? BP_AGG_FORMAT_FULL
								     : BP_AGG_FORMAT_LIN2018;
		break;
	case MAX_DELAY:
		f->max_delay_ns = option_duration_ns("max-delay", v, true);
		break;
	case FIRST:
		f->service =
			is_first("first", v, "exponential", "fixed") ? SIM_EXPONENTIAL : SIM_FIXED;
		break;
	case FIRST_MU:
		f->mu = option_number("first-mu", v, 1e-3, 1e6);
		break;
	case FIRST_SERVES:
		f->place =
			is_first("first-serves", v, "messages", "packets") ? SIM_BEFORE : SIM_AFTER;
		break;
	default:
		break;
	}
}

static void set(void *arg, int which, const char *v)
{
	struct sim_options *o = arg;

	switch ((enum which)which) {
	case SERVICE:
		o->service = is_first("service", v, "exponential", "fixed") ? SIM_EXPONENTIAL
									    : SIM_FIXED;
		break;
	case MU:
		o->mu = option_number("mu", v, 1e-3, 1e6);
		break;
	case BUFFER:
		o->buffer = (uint32_t)option_integer("buffer", v, 0, 1000000);
		break;
	case MINIMUM_MU:
		betas(o, v);
		break;
	case STREAMS:
		o->streams = (unsigned)option_integer("streams", v, 1, 1000);
		break;
	case PACKETS:
		o->packets = option_integer("packets", v, 2, 1000000000);
		break;
	case WARM_UP:
		o->warm_up = option_integer("warm-up", v, 0, 1000000000);
		break;
	case SAMPLES:
		o->samples = v;
		break;
	case HELP:
		fputs(help, stdout);
		exit(0);
	default:
		set_first(&o->first, (enum which)which, v);
	}
}

void sim_options_read(struct sim_options *o, int argc, char **argv)
{
	*o = (struct sim_options){
		.first = {.messages = 8, .rate = 1e5, .senders = 1, .seed = 1, .mu = 2.2},
		.streams = 1,
		.packets = 1000000,
		.warm_up = 10000,
		.service = SIM_FIXED,
		.buffer = SIM_ENDLESS,
	};
	o->first.place = SIM_BEFORE;
	option_each(argc, argv, options, set, o);
	if (o->first.service == SIM_NO_SERVICE)
		o->first.place = SIM_NOWHERE;
	/* A queue with a load of 1 or more has no mean: its results would depend on the duration
	 * of the run. */
	else if (o->first.mu * (o->first.place == SIM_AFTER ? o->first.messages : 1) <= 1)
		option_wrong("--first-mu is %g: that server could not keep up", o->first.mu);
	if (o->first.place != SIM_NOWHERE && o->streams > 1)
		option_wrong("--first is a server of one stream, and --streams is %u", o->streams);
	if (o->mu != 0 && o->buffer == SIM_ENDLESS && o->mu * o->first.messages <= 1)
		option_wrong(
			"--mu is %g, and less than 1 / N without a bound on the buffer: the queue "
			"would grow for ever",
			o->mu);
}
