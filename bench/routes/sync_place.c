/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/routes/sync_place.h"

#include <net/if.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/routes/route_mix.h"
#include "bench/routes/route_frames.h"

void bench_die(const char *what)
{
	fprintf(stderr, "sync_rate: %s\n", what);
	exit(1);
}

static struct bp_address own_address(unsigned port, uint8_t family)
{
	struct bp_address a = {.family = family};

	if (family == 4) {
		memcpy(a.bytes, (const uint8_t[]){10, (uint8_t)port, 0, 1}, 4);
		return a;
	}
	a.bytes[0] = 0xfd;
	a.bytes[1] = (uint8_t)port;
	a.bytes[15] = 1;
	return a;
}

struct bp_address bench_gateway(uint8_t family, unsigned g)
{
	struct bp_address a = own_address(1, family);

	a.bytes[family == 4 ? 3 : 15] = (uint8_t)(2 + g);
	return a;
}

/* The thousand flows of the routing benchmark, to the MAC address of the first device of the
 * driver. */
static void write_pcap(const char *path)
{
	static const uint8_t mac[6] = {2, 'p', 'c', 'a', 'p', 0};
	pcap_t *p = pcap_open_dead(DLT_EN10MB, 65535);
	pcap_dumper_t *d = p != NULL ? pcap_dump_open(p, path) : NULL;

	if (d == NULL)
		bench_die("the capture can't be written");
	for (uint32_t i = 0; i < BENCH_ROUTE_FLOWS; i++) {
		const struct bp_address to = bench_route16(i);
		uint8_t frame[BENCH_ROUTE6_FRAME];
		struct pcap_pkthdr h = {0};

		h.len = h.caplen = bench_route_frame(i, &to, frame);
		memcpy(frame, mac, sizeof(mac));
		pcap_dump((u_char *)d, &h, frame);
	}
	pcap_dump_close(d);
	pcap_close(p);
}

static void write_config(struct bench *b)
{
	const struct bench_planes *p = &b->planes;
	char pcap[300];
	FILE *f;

	snprintf(pcap, sizeof(pcap), "%s/frames.pcap", p->directory);
	write_pcap(pcap);
	snprintf(b->file, sizeof(b->file), "%s/biplane.yaml", p->directory);
	f = fopen(b->file, "we");
	if (f == NULL)
		bench_die("the configuration can't be written");
	fprintf(f,
		"version: 1\nname: %s\nruntime: {directory: %s}\nworkers: 1\nports:\n"
		"  - {name: lan, device: \"net_pcap0,rx_pcap=%s,infinite_rx=1\",\n"
		"     routed: {addresses: [10.0.0.1/24, \"fd00::1/64\"], host_interface: {backend: "
		"tap}}}\n"
		"  - {name: wan, device: \"net_null0,no-rx=1\",\n"
		"     routed: {addresses: [10.1.0.1/24, \"fd01::1/64\"], host_interface: {backend: "
		"tap}}}\n",
		p->name, p->directory, pcap);
	if (fclose(f) != 0)
		bench_die("the configuration can't be written");
}

static int await_interface(const char *name)
{
	const uint64_t end = bench_now_ns() + BENCH_PATIENCE_NS;
	int i;

	while ((i = (int)if_nametoindex(name)) == 0) {
		if (bench_now_ns() > end)
			bench_die("the data plane made no kernel interface");
		bench_sleep();
	}
	return i;
}

/* As the control plane does, which is not running yet. */
static void set_up_interfaces(struct bench *b)
{
	const int ifindex[2] = {b->lan, b->wan};
	struct bp_address a;

	for (unsigned port = 0; port < 2; port++) {
		bench_kernel_link_up(&b->kernel, ifindex[port]);
		a = own_address(port, 4);
		bench_kernel_address(&b->kernel, ifindex[port], &a, 24);
		a = own_address(port, 6);
		bench_kernel_address(&b->kernel, ifindex[port], &a, 64);
	}
	for (unsigned g = 0; g < BENCH_GATEWAYS; g++) {
		a = bench_gateway(4, g);
		bench_kernel_neighbor(&b->kernel, b->wan, &a);
		a = bench_gateway(6, g);
		bench_kernel_neighbor(&b->kernel, b->wan, &a);
	}
}

void bench_request(struct bench *b, uint32_t i, bool there, unsigned g)
{
	const struct bp_address via = bench_gateway(b->prefix[i].family, g);

	bench_kernel_route(
		&b->kernel, there ? RTM_NEWROUTE : RTM_DELROUTE, &b->prefix[i], b->wan, &via);
	b->route[i] = (struct bench_route){there, (uint8_t)g};
}

/* The routes of the traffic, and the requested number of others, a tenth of them IPv6. */
static void routes_in_kernel(struct bench *b)
{
	uint64_t seed = 77;

	b->prefix = calloc(b->n, sizeof(*b->prefix));
	b->route = calloc(b->n, sizeof(*b->route));
	if (b->prefix == NULL || b->route == NULL)
		bench_die("not enough memory");
	bp_route_mix_distinct(&seed, 4, b->n4, b->prefix);
	bp_route_mix_distinct(&seed, 6, b->n - b->n4, b->prefix + b->n4);
	for (unsigned i = 16; i < 32; i++) {
		const struct bp_prefix p = {.bytes = {(uint8_t)i}, .family = 4, .length = 8};
		const struct bp_address via = bench_gateway(4, i % BENCH_GATEWAYS);

		bench_kernel_route(&b->kernel, RTM_NEWROUTE, &p, b->wan, &via);
	}
	for (uint32_t i = 0; i < b->n; i++)
		bench_request(b, i, true, i % BENCH_GATEWAYS);
	bench_kernel_flush(&b->kernel);
}

void bench_must_agree(struct bench *b)
{
	if (bench_command(&b->planes, "show", "routes", "--diff") != 0)
		bench_die("biplane show routes --diff finds differences");
}

/* For changes whose completion the control plane does not report. */
void bench_await_agreement(struct bench *b)
{
	const uint64_t end = bench_now_ns() + BENCH_PATIENCE_NS;

	while (bench_command(&b->planes, "show", "routes", "--diff") != 0)
		if (bench_now_ns() > end)
			bench_die("biplane show routes --diff goes on finding differences");
}

void bench_place(struct bench *b)
{
	write_config(b);
	bench_kernel_open(&b->kernel);
	b->planes.dataplane = bench_start(&b->planes, "dataplane");
	b->lan = await_interface("lan");
	b->wan = await_interface("wan");
	bench_map(&b->planes);
	set_up_interfaces(b);
	routes_in_kernel(b);
}
