/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool power_of_ten(uint32_t n)
{
	uint32_t p = BENCH_FRAMES;

	while (p < n && p <= 100000000)
		p *= 10;
	return p == n;
}

/* Longer reports come on the wire only; what comes back in one turn is as much as what came. */
static bool health_fits(const struct bench_options *o, const struct bench_phd *p)
{
	const bool longer = p->apdu != BENCH_PHD_APDU_MIN;

	if (!power_of_ten(p->sessions) || o->family != 4 || o->inspect)
		return false;
	if (p->apdu < BENCH_PHD_APDU_MIN || p->apdu > BENCH_PHD_APDU_MAX || p->apdu % 2 != 0)
		return false;
	if ((longer && !(p->wire.rate > 0)) || (p->each && p->stored))
		return false;
	return (o->messages == 0) == (p->store == NULL);
}

/* --control is for the routes and frames of IPv4. */
static bool fit_together(const struct bench_options *o, const struct bench_phd *p,
	const struct bench_agg *a, const struct bench_transform *x)
{
	const bool bridged = bench_agg_on(a) || bench_transform_on(x);

	if (!bench_agg_fits(a) || !bench_transform_fits(x) ||
		(bench_agg_on(a) && bench_transform_on(x)) ||
		(bridged && (o->routes != 0 || o->inspect || p->sessions != 0)))
		return false;
	if (p->sessions != 0 && !health_fits(o, p))
		return false;
	return (o->pcap != NULL || (p->sessions != 0 && p->wire.rate > 0) || a->rates != NULL ||
		       x->rates != NULL) &&
	       power_of_ten(o->connections) &&
	       (o->messages == 0 || (o->routes != 0 && o->family == 4 && !o->inspect));
}

void bench_options_read(struct bench_options *o, struct bench_phd *phd, struct bench_agg *agg,
	struct bench_transform *x, int argc, char **argv)
{
	static const struct option longs[] = {{"payload", required_argument, NULL, 'p'},
		{"connections", required_argument, NULL, 'c'},
		{"rules", required_argument, NULL, 'r'}, {"routes", required_argument, NULL, 'R'},
		{"control", required_argument, NULL, 'C'}, {"single-plane", no_argument, NULL, '1'},
		{"ip6", no_argument, NULL, '6'}, {"inspect", no_argument, NULL, 'i'},
		{"trust", no_argument, NULL, 't'}, {"phd", required_argument, NULL, 'h'},
		{"each", no_argument, NULL, 'e'}, {"stored", no_argument, NULL, 'S'},
		{"apdu", required_argument, NULL, 'a'}, {"store", required_argument, NULL, 'o'},
		{"wire", required_argument, NULL, 'w'}, {"seconds", required_argument, NULL, 's'},
		{"pcap", required_argument, NULL, 'f'}, {"aggregate", required_argument, NULL, 'A'},
		{"disaggregate", required_argument, NULL, 'D'}, {"paper", no_argument, NULL, 'P'},
		{"streams", required_argument, NULL, 'n'}, {"rates", required_argument, NULL, 'l'},
		{"transform", required_argument, NULL, 'T'},
		{"sources", required_argument, NULL, 'N'},
		{"file-prefix", required_argument, NULL, 'x'}, {NULL, 0, NULL, 0}};
	const char *rates = NULL;
	int c;

	phd->apdu = BENCH_PHD_APDU_MIN;
	*o = (struct bench_options){.family = 4,
		.connections = BENCH_FRAMES,
		.rules = 1,
		.seconds = 2,
		.prefix = "biplane-bench"};
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'p':
			o->kind = strcmp(optarg, "json") == 0 ? BENCH_JSON : BENCH_TEXT;
			break;
		case 'c':
			o->connections = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'r':
			o->rules = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'R':
			o->routes = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'C':
			o->messages = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case '1':
			o->single = true;
			break;
		case '6':
			o->family = 6;
			break;
		case 'i':
			o->inspect = true;
			break;
		case 't':
			o->trust = true;
			break;
		case 'h':
			phd->sessions = (uint32_t)strtoul(optarg, NULL, 0);
			o->routes = o->routes == 0 ? 1 : o->routes;
			break;
		case 'e':
			phd->each = true;
			break;
		case 'S':
			phd->stored = true;
			break;
		case 'a':
			phd->apdu = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'o':
			phd->store = optarg;
			break;
		case 'w':
			phd->wire.rate = strtod(optarg, NULL);
			break;
		case 'A':
			agg->aggregate = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'D':
			agg->disaggregate = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'P':
			agg->paper = true;
			break;
		case 'n':
			agg->streams = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'l':
			rates = optarg;
			break;
		case 'T':
			x->method = optarg;
			break;
		case 'N':
			x->sources = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 's':
			o->seconds = strtod(optarg, NULL);
			break;
		case 'f':
			o->pcap = optarg;
			break;
		case 'x':
			o->prefix = optarg;
			break;
		default:
			exit(64);
		}
	}
	*(bench_transform_on(x) ? &x->rates : &agg->rates) = rates;
	if (!fit_together(o, phd, agg, x)) {
		fprintf(stderr,
			"usage: biplane-bench --pcap FILE [--payload text|json] [--inspect] "
			"[--trust] [--connections 1000|10000|...] [--rules N] "
			"[--routes N [--ip6]] "
			"[--routes N --control MESSAGES-PER-SECOND [--single-plane]] "
			"[--phd SESSIONS [--each] [--stored] [--apdu OCTETS] "
			"[--wire FRAMES-PER-SECOND] [--store FILE --control ...]] "
			"[--aggregate N [--streams N]] [--disaggregate N] [--paper] "
			"[--transform METHOD [--sources N]] "
			"[--rates MESSAGES-PER-SECOND,...] "
			"[--seconds S] [--file-prefix NAME]\n");
		exit(64);
	}
}
