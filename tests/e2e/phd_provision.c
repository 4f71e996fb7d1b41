/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control plane's way of making devices' resources in a CSE, as a program for the end-to-end
 * tests:
 *
 *   phd_provision coap|http ADDRESS PORT PATH ORIGINATOR KEEP TIMEOUT_MS <DEVICES
 *
 * Each line of standard input is a device: "SYSTEM-ID TYPE OBJECT,OBJECT,...". Prints "ready
 * SYSTEM-ID" or "refused SYSTEM-ID" as it goes; a refused one is tried again. Ends when all are
 * ready, with the client's counts. The timeout is that of an acknowledgement (CoAP) or of a whole
 * request (HTTP).
 */
#include <arpa/inet.h>
#include <event2/event.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/health/cse/cse_client.h"
#include "controlplane/health/cse/cse_http.h"
#include "controlplane/health/cse/provision.h"

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

static void print_coap_counts(const struct bp_cse_counts *c)
{
	printf("{\"requests\":%" PRIu64 ",\"answered\":%" PRIu64 ",\"repeats\":%" PRIu64
	       ",\"timed_out\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"separate\":%" PRIu64 "}\n",
		c->requests, c->answered, c->repeats, c->timed_out, c->refused, c->separate);
}

static void print_http_counts(const struct bp_cse_http_counts *c)
{
	printf("{\"requests\":%" PRIu64 ",\"answered\":%" PRIu64 ",\"connections\":%" PRIu64
	       ",\"timed_out\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"foreign\":%" PRIu64 "}\n",
		c->requests, c->answered, c->connections, c->timed_out, c->refused, c->not_cse);
}

/* One of the two is made. */
static struct bp_cse_client *by_coap;
static struct bp_cse_http *by_http;

static bool connect_by(const char *binding, const char *address, const char *port,
	const char *timeout_ms, struct bp_cse *out)
{
	struct bp_cse_settings coap = {.release = BP_M2M_R4, .outstanding = 8};
	struct bp_cse_http_settings http = {.release = BP_M2M_R4, .outstanding = 8};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};

	if (inet_pton(AF_INET, address, &to.sin_addr) != 1)
		return false;
	memcpy(&coap.address, &to, sizeof(to));
	memcpy(&http.address, &to, sizeof(to));
	coap.ack_timeout_ns = http.timeout_ns = (uint64_t)atoi(timeout_ms) * 1000000u;
	if (strcmp(binding, "http") == 0) {
		by_http = bp_cse_http_new(base, &http);
		*out = bp_cse_by_http(by_http);
	} else {
		by_coap = bp_cse_client_new(base, &coap);
		*out = bp_cse_by_coap(by_coap);
	}
	return by_http != NULL || by_coap != NULL;
}

int main(int argc, char **argv)
{
	static const struct bp_provision_ops ops = {next, done};
	struct bp_provision_settings settings = {.name = "biplane",
		.release = BP_M2M_R4,
		.parallel = 4,
		.retry_first_ns = 20000000,
		.retry_max_ns = 200000000};
	struct bp_cse cse;

	base = event_base_new();
	if (argc != 8 || !connect_by(argv[1], argv[2], argv[3], argv[7], &cse))
		return 64;
	settings.path = argv[4];
	settings.originator = argv[5];
	settings.keep = (uint32_t)atoi(argv[6]);
	while (n_devices < DEVICES && read_device(&device[n_devices]))
		n_devices++;
	provision = bp_provision_new(base, &cse, &settings, &ops, NULL);
	if (provision == NULL)
		return 71;
	bp_provision_kick(provision);
	event_base_dispatch(base);
	if (by_http != NULL)
		print_http_counts(bp_cse_http_counts(by_http));
	else
		print_coap_counts(bp_cse_counts(by_coap));
	bp_cse_client_free(by_coap);
	bp_cse_http_free(by_http);
	bp_provision_free(provision);
	event_base_free(base);
	return 0;
}
