/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/wan/options.h"

#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/option_values.h"

static const char help[] =
	"usage: biplane-wan-sim INTERFACE INTERFACE [OPTION]...\n"
	"\n"
	"Simulates a WAN between two Ethernet interfaces of this network namespace: frames that "
	"arrive\n"
	"on one leave by the other with a delay. For experiments without netem in the kernel.\n"
	"\n"
	"  --delay T               one-way delay (12500us)\n"
	"  --jitter T              plus or minus T (0)\n"
	"  --distribution uniform|normal   of the jitter; T is normal's deviation (uniform)\n"
	"  --reorder               jitter may reorder frames\n"
	"  --loss P                loss probability of each frame, percent (0)\n"
	"  --rate R                rate of the bottleneck, bit/s; 0: unlimited (0)\n"
	"  --limit N               maximum frames in transit per direction (10000)\n"
	"  --seed N                seed of the random numbers (1)\n"
	"  --help\n"
	"\n"
	"Prints `ready` when it forwards frames, and at its end (SIGINT, SIGTERM) a JSON object: "
	"counts\n"
	"of received, sent and lost frames by reason, and the error of the delay.\n"
	"\n"
	"Exit status: 0; 64 usage; 71 system.\n";

enum which { DELAY, JITTER, DISTRIBUTION, REORDER, LOSS, RATE, LIMIT, SEED, HELP };

static const struct option options[] = {
	{"delay", required_argument, NULL, DELAY},
	{"jitter", required_argument, NULL, JITTER},
	{"distribution", required_argument, NULL, DISTRIBUTION},
	{"reorder", no_argument, NULL, REORDER},
	{"loss", required_argument, NULL, LOSS},
	{"rate", required_argument, NULL, RATE},
	{"limit", required_argument, NULL, LIMIT},
	{"seed", required_argument, NULL, SEED},
	{"help", no_argument, NULL, HELP},
	{NULL, 0, NULL, 0},
};

static void set(void *arg, int which, const char *v)
{
	static const char *const distributions[] = {"uniform", "normal", NULL};
	struct wan_options *o = arg;

	switch ((enum which)which) {
	case DELAY:
		o->path.delay_ns = option_duration_ns("delay", v, true);
		break;
	case JITTER:
		o->path.jitter_ns = option_duration_ns("jitter", v, true);
		break;
	case DISTRIBUTION:
		o->path.distribution =
			(enum wan_distribution)option_one_of("distribution", v, distributions);
		break;
	case REORDER:
		o->path.reorder = true;
		break;
	case LOSS:
		o->path.loss = option_number("loss", v, 0, 100) / 100;
		break;
	case RATE:
		o->path.rate_bps = option_integer("rate", v, 0, 1000000000000);
		break;
	case LIMIT:
		o->path.limit = (uint32_t)option_integer("limit", v, 1, 10000000);
		break;
	case SEED:
		o->seed = option_integer("seed", v, 0, 1000000000000000);
		break;
	case HELP:
		fputs(help, stdout);
		exit(0);
	}
}

void wan_options_read(struct wan_options *o, int argc, char **argv)
{
	int first;

	memset(o, 0, sizeof(*o));
	o->path.delay_ns = 12500000;
	o->path.limit = 10000;
	o->seed = 1;
	first = option_each_first(argc, argv, options, set, o);
	if (argc - first != 2)
		option_wrong("two interfaces are expected: a WAN is between them");
	for (int i = 0; i < 2; i++) {
		o->interface[i] = argv[first + i];
		if (if_nametoindex(o->interface[i]) == 0)
			option_wrong("no interface %s in this network namespace", o->interface[i]);
	}
	if (strcmp(o->interface[0], o->interface[1]) == 0)
		option_wrong("a WAN is between two different interfaces");
}
