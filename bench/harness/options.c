/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/harness/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/hostile/attacks.h"
#include "bench/mix/mix.h"

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
	const struct bench_agg *a, const struct bench_transform *x, const struct bench_lcl *l)
{
	const unsigned services = bench_agg_on(a) + bench_transform_on(x) + l->on;

	if (!bench_agg_fits(a) || !bench_transform_fits(x) || services > 1 ||
		(services != 0 && (o->routes != 0 || o->inspect || p->sessions != 0)))
		return false;
	if (p->sessions != 0 && !health_fits(o, p))
		return false;
	return (o->pcap != NULL || (p->sessions != 0 && p->wire.rate > 0) || a->rates != NULL ||
		       x->rates != NULL) &&
	       power_of_ten(o->connections) &&
	       (o->messages == 0 || (o->routes != 0 && o->family == 4 && !o->inspect));
}

static void read_mix(struct bench_mix *mix, const char *text)
{
	char err[256];

	mix->on = true;
	if (bench_mix_shares_read(text, &mix->shares, err, sizeof(err)) == 0)
		return;
	fprintf(stderr, "biplane-bench: --mix: %s\n", err);
	exit(64);
}

/* Whether nothing is asked for that a mix brings with it. */
static bool alone(const struct bench_options *o, const struct bench_phd *p,
	const struct bench_agg *a, const struct bench_transform *x, const struct bench_lcl *l)
{
	return o->pcap == NULL && o->kind == BENCH_TEXT && o->connections == BENCH_FRAMES &&
	       o->routes == 0 && !o->inspect && o->messages == 0 && p->sessions == 0 &&
	       !bench_agg_on(a) && a->rates == NULL && !bench_transform_on(x) && !l->on;
}

/* What is measured in ways of its own. */
static bool goes_through(
	const struct bench_options *o, const struct bench_agg *a, const struct bench_transform *x)
{
	return o->messages != 0 || a->rates != NULL || x->rates != NULL;
}

void bench_options_read(struct bench_options *o, struct bench_phd *phd, struct bench_agg *agg,
	struct bench_transform *x, struct bench_lcl *lcl, struct bench_mix *mix,
	struct bench_attack_run *attack, int argc, char **argv)
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
		{"disaggregate", required_argument, NULL, 'D'}, {"lin2018", no_argument, NULL, 'P'},
		{"streams", required_argument, NULL, 'n'}, {"rates", required_argument, NULL, 'l'},
		{"transform", required_argument, NULL, 'T'},
		{"sources", required_argument, NULL, 'N'}, {"lcl", no_argument, NULL, 'L'},
		{"mix", required_argument, NULL, 'm'}, {"paced", required_argument, NULL, 'q'},
		{"nodes", no_argument, NULL, 'd'}, {"attack", required_argument, NULL, 'k'},
		{"file-prefix", required_argument, NULL, 'x'}, {NULL, 0, NULL, 0}};
	const char *rates = NULL, *name = NULL;
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
			agg->lin2018 = true;
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
		case 'L':
			lcl->on = true;
			break;
		case 'm':
			read_mix(mix, optarg);
			break;
		case 'q':
			mix->fraction = strtod(optarg, NULL);
			break;
		case 'd':
			o->nodes = true;
			break;
		case 'k':
			name = optarg;
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
	if (name != NULL && !mix->on && alone(o, phd, agg, x, lcl) &&
		bench_attack_options(attack, name, o, phd, agg, x, lcl, mix))
		return;
	if (name == NULL && mix->on && alone(o, phd, agg, x, lcl) && mix->fraction >= 0 &&
		mix->fraction <= 1 && !(mix->fraction > 0 && o->nodes)) {
		bench_mix_options(o, phd, agg, x, lcl);
		return;
	}
	if (name != NULL || mix->on || mix->fraction > 0 || (o->nodes && goes_through(o, agg, x)) ||
		!fit_together(o, phd, agg, x, lcl)) {
		fprintf(stderr,
			"usage: biplane-bench --pcap FILE [--payload text|json] [--inspect] "
			"[--trust] [--connections 1000|10000|...] [--rules N] "
			"[--routes N [--ip6]] "
			"[--routes N --control MESSAGES-PER-SECOND [--single-plane]] "
			"[--phd SESSIONS [--each] [--stored] [--apdu BYTES] "
			"[--wire FRAMES-PER-SECOND] [--store FILE --control ...]] "
			"[--aggregate N [--streams N]] [--disaggregate N] [--lin2018] "
			"[--transform METHOD [--sources N]] [--lcl] "
			"[--rates MESSAGES-PER-SECOND,...] [--nodes] "
			"[--seconds S] [--file-prefix NAME]\n"
			"       biplane-bench --mix all|PART[=SHARE],... "
			"[--paced FRACTION | --nodes] [--seconds S] "
			"[--file-prefix NAME]\n"
			"       biplane-bench --attack NAME|list [--seconds S] "
			"[--file-prefix NAME]\n");
		exit(64);
	}
}
