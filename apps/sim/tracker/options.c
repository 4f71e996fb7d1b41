/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/tracker/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/option_values.h"

static const char help[] =
	"usage: biplane-tracker-sim send --to ADDRESS:PORT [OPTION]...\n"
	"       biplane-tracker-sim receive --listen ADDRESS:PORT [OPTION]...\n"
	"\n"
	"Simulates trackers that follow a tool and send spherical readings, and the robot that "
	"receives\n"
	"coordinates. The packets are those of Kunze et al. (2021), whose two time stamps contain "
	"the\n"
	"send time (CLOCK_MONOTONIC) and the number of the reading.\n"
	"\n"
	" send\n"
	"  --to ADDRESS:PORT        destination of the readings\n"
	"  --from ADDRESS[,...]     source address of each tracker, up to 256 (one, any address)\n"
	"  --from-port PORT         their UDP port; 0: any (20000)\n"
	"  --path circle|helix|random   path of the tool (circle)\n"
	"  --rate R                 readings per second of each tracker; 0: unlimited (1000)\n"
	"  --count N                readings of each (1000)\n"
	"  --seed N                 seed of --path random (1)\n"
	" receive\n"
	"  --listen ADDRESS:PORT    print `ready` when listening, and a JSON object at the end\n"
	"  --count N                end after N readings; 0: unlimited (0)\n"
	"  --idle T                 end after T without a reading, from the first one on (2s)\n"
	" both\n"
	"  --timed                  packets with the timing header of 17 bytes\n"
	"  --log FILE               write a CSV line per reading\n"
	"  --help\n"
	"\n"
	"Exit status: 0; 64 usage; 71 system.\n";

enum which { TO, FROM, FROM_PORT, PATH, RATE, COUNT, SEED, LISTEN, IDLE, TIMED, LOG, HELP };

static const struct option options[] = {
	{"to", required_argument, NULL, TO},
	{"from", required_argument, NULL, FROM},
	{"from-port", required_argument, NULL, FROM_PORT},
	{"path", required_argument, NULL, PATH},
	{"rate", required_argument, NULL, RATE},
	{"count", required_argument, NULL, COUNT},
	{"seed", required_argument, NULL, SEED},
	{"listen", required_argument, NULL, LISTEN},
	{"idle", required_argument, NULL, IDLE},
	{"timed", no_argument, NULL, TIMED},
	{"log", required_argument, NULL, LOG},
	{"help", no_argument, NULL, HELP},
	{NULL, 0, NULL, 0},
};

static void read_from(struct tracker_options *o, const char *text)
{
	char *copy = strdup(text), *rest = copy, *one;

	if (copy == NULL)
		exit(71);
	o->n_from = 0;
	while ((one = strsep(&rest, ",")) != NULL) {
		if (o->n_from == TRACKERS_MAX)
			option_wrong("--from has more than %u addresses", TRACKERS_MAX);
		if (!option_address(one, &o->from[o->n_from++]))
			option_wrong("--from: %s is no IPv4 or IPv6 address", one);
	}
	free(copy);
}

static void set(struct tracker_options *o, enum which which, const char *v, uint16_t *from_port)
{
	static const char *const paths[] = {"circle", "helix", "random", NULL};

	switch (which) {
	case TO:
	case LISTEN:
		if (o->receive != (which == LISTEN))
			option_wrong("receive has --listen, send has --to");
		option_endpoint(which == TO ? "to" : "listen", v, which == TO, &o->at);
		break;
	case FROM:
		read_from(o, v);
		break;
	case FROM_PORT:
		*from_port = (uint16_t)option_integer("from-port", v, 0, UINT16_MAX);
		break;
	case PATH:
		o->path = (enum tracker_path)option_one_of("path", v, paths);
		break;
	case RATE:
		o->rate = option_number("rate", v, 0, 1e7);
		break;
	case COUNT:
		o->count = option_integer("count", v, 0, 1000000000000);
		break;
	case SEED:
		o->seed = option_integer("seed", v, 0, 1000000000000000);
		break;
	case IDLE:
		o->idle_ns = option_duration_ns("idle", v, false);
		break;
	case TIMED:
		o->timed = true;
		break;
	case LOG:
		o->log = v;
		break;
	case HELP:
		fputs(help, stdout);
		exit(0);
	}
}

void tracker_options_read(struct tracker_options *o, int argc, char **argv)
{
	uint16_t from_port = 20000;
	int which;

	memset(o, 0, sizeof(*o));
	if (argc > 1 && strcmp(argv[1], "--help") == 0)
		set(o, HELP, NULL, NULL);
	if (argc < 2 || (strcmp(argv[1], "send") != 0 && strcmp(argv[1], "receive") != 0))
		option_wrong("the first word is send or receive");
	o->receive = strcmp(argv[1], "receive") == 0;
	o->n_from = 1;
	o->rate = 1000;
	o->count = o->receive ? 0 : 1000;
	o->idle_ns = 2000000000u;
	o->seed = 1;
	while ((which = getopt_long(argc - 1, argv + 1, "", options, NULL)) != -1) {
		if (which == '?')
			option_wrong("see --help");
		set(o, (enum which)which, optarg, &from_port);
	}
	if (optind + 1 != argc)
		option_wrong("%s is one word too many", argv[optind + 1]);
	if (o->at.ss_family == AF_UNSPEC)
		option_wrong(o->receive ? "--listen is missing" : "--to is missing");
	for (uint32_t i = 0; i < o->n_from; i++) {
		if (o->from[i].ss_family == AF_UNSPEC)
			o->from[i].ss_family = o->at.ss_family;
		if (o->from[i].ss_family != o->at.ss_family)
			option_wrong("--from and --to are of different IP versions");
		option_set_port(&o->from[i], from_port);
	}
}
