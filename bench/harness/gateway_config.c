/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/harness/gateway_config.h"

#include <inttypes.h>
#include <stdio.h>

const char *bench_input_device(const struct bench_options *o, const struct bench_phd *phd,
	const struct bench_agg *agg, const struct bench_transform *x, char *out, size_t size)
{
	if (o->pcap == NULL || phd->wire.rate > 0 || agg->rates != NULL || x->rates != NULL)
		return "net_null2,no-rx=1";
	snprintf(out, size, "net_pcap0,rx_pcap=%s,infinite_rx=1", o->pcap);
	return out;
}

const char *bench_cloud_device(const struct bench_phd *phd, const struct bench_agg *agg)
{
	return agg->rates != NULL ? BENCH_AGG_LOOP : bench_phd_cse_device(phd);
}

#define ROUTED(address_, backend_)                                                                 \
	", routed: {addresses: [" address_ "], host_interface: {backend: " backend_ "}}"

static void rule(const struct bench_options *o, uint32_t i, FILE *f)
{
	static const char *const value[] = {
		"text", "{json: $.celsius}", "{sparkplug: " BENCH_METRIC "}"};

	fprintf(f, "    - {name: r%u, topic: ", i);
	/* fewer than connections: the first for all, the others for none */
	if (o->kind == BENCH_SPARKPLUG)
		fprintf(f, "spBv1.0/g/+/+");
	else if (o->rules < BENCH_FRAMES && i == 0)
		fprintf(f, "plant/+/%s", o->topics > 1 ? "+" : "temp");
	else if (o->rules < BENCH_FRAMES)
		fprintf(f, "other/%05u/temp", i);
	else
		fprintf(f, "plant/%05u/temp", i);
	fprintf(f, ", value: %s, raise: \"> 80\", action: mirror", value[o->kind]);
	if (o->window != 0)
		fprintf(f, ", window: {values: %u, function: mean}", o->window);
	fputs("}\n", f);
}

/*
 * A client may connect under its identifier, and publish on its topics: half of them by a rule that
 * names the client, half by a prefix for all.
 */
static void policy(const struct bench_options *o, FILE *f)
{
	struct bench_traffic t;
	uint32_t fill;

	bench_traffic_init(&t, o->kind);
	fill = bench_client_id_len(&t) - BENCH_CLIENT_DIGITS;
	fprintf(f,
		"  max_policy_rules: %u\n  policy:\n    default: %s\n    rules:\n"
		"    - {name: connect, packet: connect, client_id: \"c*\", action: allow}\n",
		o->policy + 1, o->enforce ? "close" : "observe");
	for (uint32_t i = 0; i < o->policy; i++) {
		fprintf(f, "    - {name: p%u, packet: publish, topic: \"plant/%05u/#\", action: %s",
			i, i,
			!bench_is_observed(i) ? "allow"
			: o->blank            ? "blank"
			: o->observe          ? "observe"
					      : "allow");
		if (i % 2 == 0) {
			fputs(", client_id: \"", f);
			for (uint32_t k = 0; k < fill; k++)
				putc('c', f);
			fprintf(f, "%05u\"", i);
		}
		fputs("}\n", f);
	}
}

static void inspection(const struct bench_options *o, FILE *f)
{
	const bool pairs = o->kind == BENCH_PAIRS;
	const uint32_t rules = pairs ? BENCH_PAIRS_FRAMES / 2 : o->rules;

	fprintf(f,
		"mqtt:\n  max_connections: %u\n  max_rules: %u\n"
		"  verify_checksums: %s\n"
		"  mirror: {port: edge, mac: \"02:00:00:00:03:01\", ipv4_address: "
		"192.0.2.9}\n"
		"  rules:\n",
		o->connections < 65536 ? 65536 : o->connections,
		pairs        ? 3 * rules /* with the parts */
		: rules < 16 ? 16
			     : rules,
		o->trust ? "false" : "true");
	for (uint32_t i = 0; i < rules; i++) {
		if (pairs)
			fprintf(f,
				"    - {name: r%u, all: [{topic: plant/%05u/temp, condition: "
				"{above: 80}}, {topic: plant/%05u/pres, condition: {above: 80}}], "
				"repeat: every, action: mirror}\n",
				i, i, i);
		else
			rule(o, i, f);
	}
	if (o->policy != 0)
		policy(o, f);
}

char *bench_configuration(const struct bench_options *o, const struct bench_phd *phd,
	const struct bench_agg *agg, const struct bench_transform *x, const struct bench_lcl *lcl)
{
	char *text = NULL, device[600];
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	fprintf(f,
		"version: 1\nname: bench\n"
		"ports:\n"
		"  - {name: devices, device: \"%s\"%s}\n"
		"  - {name: cloud, device: \"%s\"%s}\n"
		"  - {name: edge, device: \"net_null1,no-rx=1\"%s}\n",
		bench_input_device(o, phd, agg, x, device, sizeof(device)),
		o->messages ? ROUTED("10.0.0.1/24", "tap")
		: o->routes ? ROUTED("10.0.0.1/24", "off")
			    : "",
		bench_cloud_device(phd, agg),
		o->messages && phd->sessions ? ROUTED("10.2.0.1/24", "tap")
		: o->routes                  ? ROUTED("10.2.0.1/24", "off")
					     : "",
		o->learn ? "" : ROUTED("", "off"));
	if (o->routes)
		fprintf(f, "routing: {max_ipv4_routes: %u, max_ipv6_routes: %u}\n",
			(o->family == 4 ? o->routes : 0) + 1024,
			(o->family == 6 ? o->routes : 0) + 1024);
	else
		fprintf(f,
			"bridges: [{name: bridge0, ports: [devices, cloud%s]}]\nrouting: "
			"{max_ipv4_routes: 1024, "
			"max_ipv6_routes: 1024}\n",
			o->learn ? ", edge" : "");
	if (o->messages)
		fprintf(f, "punt: {policers: {%s, queue_len: 8192}}}\n",
			phd->sessions ? "health_devices: {rate_pps: 50000"
				      : "local: {rate_pps: 1000000");
	if (phd->sessions != 0)
		bench_phd_configuration(phd, f);
	if (bench_agg_on(agg))
		bench_agg_configuration(agg, f);
	if (bench_transform_on(x))
		bench_transform_configuration(x, f);
	if (lcl->on)
		bench_lcl_configuration(f);
	if (o->inspect)
		inspection(o, f);
	fclose(f);
	return text;
}
