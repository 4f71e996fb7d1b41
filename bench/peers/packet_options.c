/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/peers/packet_options.h"

#include <getopt.h>
#include <stdlib.h>

/* A PUBLISH that fills this frame would need a remaining length that is not encoded in the minimum
 * number of bytes (MQTT 3.1.1 2.2.3). */
#define SIZE_WITHOUT_PUBLISH 188u

static bool whole_number(const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
	char *end;
	unsigned long n;

	if (*text < '0' || *text > '9')
		return false;
	n = strtoul(text, &end, 10);
	*out = (uint32_t)n;
	return *end == '\0' && n >= min && n <= max;
}

static bool one_option(struct packet_options *o, struct bench_cpu *cpu, int letter)
{
	switch (letter) {
	case 's':
		o->source = optarg;
		return true;
	case 'd':
		o->destination = optarg;
		return true;
	case 'z':
		return whole_number(optarg, PACKET_SIZE_MIN, PACKET_SIZE_MAX, &o->size);
	case 'c':
		return whole_number(
			optarg, PACKET_CONNECTIONS_MIN, PACKET_CONNECTIONS_MAX, &o->connections);
	case 'o':
		o->open_loop = true;
		return true;
	default:
		return bench_load_option(&o->load, cpu, letter, optarg);
	}
}

bool packet_options_read(
	struct packet_options *o, struct bench_cpu *cpu, int argc, char *const argv[])
{
	int c;

	*o = (struct packet_options){.load = {.seconds = 1, .every = 1}, .size = PACKET_SIZE_MIN};
	while ((c = getopt(argc, argv, BENCH_LOAD_OPTIONS "s:d:z:c:o")) != -1)
		if (!one_option(o, cpu, c))
			return false;
	if (optind != argc || o->source == NULL || o->destination == NULL ||
		!bench_load_complete(&o->load))
		return false;
	if (o->open_loop && !(o->load.rate > 0))
		return false;
	/* segments carry no time stamp: their latency follows from the intended send times */
	return o->connections == 0 || (o->open_loop && o->size != SIZE_WITHOUT_PUBLISH);
}
