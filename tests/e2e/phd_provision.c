/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control plane's way of making devices' resources in a CSE, as a program for the end-to-end
 * tests:
 *
 *   phd_provision ADDRESS PORT PATH ORIGINATOR KEEP ACK_TIMEOUT_MS <DEVICES
 *
 * Each line of standard input is a device: "SYSTEM-ID TYPE OBJECT,OBJECT,...". Prints "ready
 * SYSTEM-ID" or "refused SYSTEM-ID" as it goes; a refused one is tried again. Ends when all are
 * ready, with the client's counts.
 */
#include <arpa/inet.h>
#include <event2/event.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/phd/cse_client.h"
#include "controlplane/phd/provision.h"

#define DEVICES 10000
#define OBJECTS 16

struct device {
	uint8_t system_id[8];
	char type[32];
	char text[256]; /* of the objects */
	const char *object[OBJECTS];
	unsigned n_objects;
	enum { WAITS, WORKED_ON, READY } state;
};

static struct device device[DEVICES];
static unsigned n_devices, ready;
static struct event_base *base;
static struct bp_provision *provision;

static bool next(void *arg, struct bp_provision_target *out)
{
	(void)arg;
	for (unsigned i = 0; i < n_devices; i++) {
		struct device *d = &device[i];

		if (d->state != WAITS)
			continue;
		d->state = WORKED_ON;
		*out = (struct bp_provision_target){.cookie = i,
			.type = d->type,
			.objects = d->object,
			.n_objects = d->n_objects};
		memcpy(out->system_id, d->system_id, sizeof(out->system_id));
		return true;
	}
	return false;
}

static void done(void *arg, uint64_t cookie, bool is_ready)
{
	struct device *d = &device[cookie];

	(void)arg;
	d->state = is_ready ? READY : WAITS;
	printf("%s ", is_ready ? "ready" : "refused");
	for (unsigned i = 0; i < 8; i++)
		printf("%02x", d->system_id[i]);
	printf("\n");
	fflush(stdout);
	ready += is_ready;
	if (ready == n_devices)
		event_base_loopbreak(base);
}

static bool read_device(struct device *d)
{
	char line[512], id[17], *rest, *name;

	if (fgets(line, sizeof(line), stdin) == NULL ||
		sscanf(line, "%16s %31s %255s", id, d->type, d->text) != 3)
		return false;
	for (unsigned i = 0; i < 8; i++) {
		char pair[] = {id[2 * i], id[2 * i + 1], '\0'};

		d->system_id[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	rest = d->text;
	while (d->n_objects < OBJECTS && (name = strsep(&rest, ",")) != NULL)
		d->object[d->n_objects++] = name;
	return true;
}

static void print_counts(const struct bp_cse_counts *c)
{
	printf("{\"requests\":%" PRIu64 ",\"answered\":%" PRIu64 ",\"repeats\":%" PRIu64
	       ",\"timed_out\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"separate\":%" PRIu64 "}\n",
		c->requests, c->answered, c->repeats, c->timed_out, c->refused, c->separate);
}

int main(int argc, char **argv)
{
	static const struct bp_provision_ops ops = {next, done};
	struct bp_cse_settings to = {.release = BP_M2M_R4, .outstanding = 8};
	struct bp_provision_settings settings = {.name = "biplane",
		.release = BP_M2M_R4,
		.parallel = 4,
		.retry_first_ns = 20000000,
		.retry_max_ns = 200000000};
	struct sockaddr_in *four = (struct sockaddr_in *)&to.address;
	struct bp_cse_client *client;
	struct bp_cse cse;

	if (argc != 7 || inet_pton(AF_INET, argv[1], &four->sin_addr) != 1)
		return 64;
	four->sin_family = AF_INET;
	four->sin_port = htons((uint16_t)atoi(argv[2]));
	settings.path = argv[3];
	settings.originator = argv[4];
	settings.keep = (uint32_t)atoi(argv[5]);
	to.ack_timeout_ns = (uint64_t)atoi(argv[6]) * 1000000u;
	while (n_devices < DEVICES && read_device(&device[n_devices]))
		n_devices++;
	base = event_base_new();
	client = bp_cse_client_new(base, &to);
	cse = bp_cse_by_coap(client);
	provision = bp_provision_new(base, &cse, &settings, &ops, NULL);
	if (base == NULL || client == NULL || provision == NULL)
		return 71;
	bp_provision_kick(provision);
	event_base_dispatch(base);
	print_counts(bp_cse_counts(client));
	bp_cse_client_free(client);
	bp_provision_free(provision);
	event_base_free(base);
	return 0;
}
