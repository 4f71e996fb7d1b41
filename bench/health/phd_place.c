/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/health/phd_place.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/health/phd_frames.h"
#include "bench/routes/routes.h"
#include "services/health/layout.h"
#include "services/health/manager.h"
#include "services/health/settings.h"
#include "proto/net/frame.h"
#include "shm/health/phd_writer.h"

#define DEVICES_PORT 0u
#define OXIMETER 4100u

static void must(bool ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "biplane-bench: %s: %s\n", what, why);
	exit(1);
}

static struct bp_address address4(uint32_t a)
{
	struct bp_address out = {.family = 4};

	bp_put_be32(out.bytes, a);
	return out;
}

static struct bp_prefix prefix4(uint32_t a, uint8_t length)
{
	struct bp_prefix out = {.family = 4, .length = length};

	bp_put_be32(out.bytes, a);
	return out;
}

static uint32_t host4(const char *text)
{
	struct in_addr a;

	must(inet_pton(AF_INET, text, &a) == 1, text, "no address");
	return ntohl(a.s_addr);
}

static void own_address(struct bp_fib_writer *w, uint32_t a)
{
	const struct bp_route r = {.type = BP_ROUTE_LOCAL, .prefix = prefix4(a, 32)};

	must(bp_fib_route_set(w, &r) == BP_FIB_DONE, "route to an own address", "refused");
}

void bench_phd_routes(struct bp_fib_writer *w)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 1, 1};
	const struct bp_address router = address4(BENCH_PHD_OWN + 1);
	const struct bp_prefix cse = prefix4(host4(BENCH_CSE), 32);
	struct bp_route devices = {.type = BP_ROUTE_UNICAST,
		.prefix = prefix4(BENCH_PHD_FIRST, 10),
		.n_hops = 1,
		.hop = {{.interface = DEVICES_PORT, .weight = 1, .gateway = router}}};

	own_address(w, BENCH_PHD_OWN);
	own_address(w, host4(BENCH_PHD_SOURCE));
	must(bp_fib_neighbor_set(w, DEVICES_PORT, &router, mac, BP_NEIGHBOR_REACHABLE) ==
			BP_FIB_DONE,
		"neighbor", "refused");
	must(bp_fib_route_set(w, &devices) == BP_FIB_DONE, "route to the devices", "refused");
	must(bench_route_change(w, &cse, 0) == BP_FIB_DONE, "route to the CSE", "refused");
}

static void mapped(uint8_t out[16], uint32_t a)
{
	memset(out, 0, 10);
	memset(out + 10, 0xff, 2);
	bp_put_be32(out + 12, a);
}

static uint16_t make_layout(
	struct bp_phd_writer *w, const struct bp_config_phd *c, const struct bp_phd_model *m)
{
	const struct bp_phd_target target = {c->cse.path, c->cse.originator};
	struct bp_phd_layout *l = aligned_alloc(64, BP_PHD_LAYOUT_SIZE);
	char type[BP_PHD_TYPE_TEXT], err[256] = "no memory";
	struct bp_address source = address4(host4(BENCH_PHD_SOURCE));
	struct bp_phd_settings plan;
	int n = -1;

	bp_phd_settings_init(&plan, c, &source);
	bp_phd_settings_publish(w, &plan);
	if (l != NULL) {
		memset((void *)l, 0, BP_PHD_LAYOUT_SIZE);
		if (bp_phd_layout_compile(l, m, &plan, &target, bp_phd_type_text(OXIMETER, type),
			    err, sizeof(err)) == 0)
			n = bp_phd_layout_get(w, l);
	}
	must(n >= 0, "layout", err);
	free(l);
	return (uint16_t)n;
}

void bench_phd_sessions(
	struct bp_shm *shm, const struct bp_config_phd *c, uint32_t n, uint32_t apdu)
{
	struct bp_phd_session_spec s = {.port = BENCH_PHD_PORT,
		.transport = BP_PHD_TRANSPORT_UDP,
		.protocol = 1,
		.spec = OXIMETER,
		.state = BP_PHD_OPERATING,
		.flags = BP_PHD_READY,
		.associated_s = (uint32_t)time(NULL),
		.mds_known = BP_PHD_MDS_KNOWN};
	struct bp_phd_writer *w;
	struct bp_phd_model model;
	char err[256];
	uint32_t slot;

	bench_phd_model(apdu, &model);
	w = bp_phd_writer_new(&shm->phd, &shm->fib, NULL, NULL, err, sizeof(err));
	must(w != NULL, "session tables", err);
	s.layout = make_layout(w, c, &model);
	s.config_id = model.config_id;
	s.config_content = model.content;
	mapped(s.own, BENCH_PHD_OWN);
	for (uint32_t i = 0; i < n; i++) {
		mapped(s.address, BENCH_PHD_FIRST + i);
		bp_put_be32(s.system_id, 0x00220922);
		bp_put_be32(s.system_id + 4, 0x58000000u + i);
		must(bp_phd_session_open(w, &s, &slot) == 0, "session", "the table is full");
	}
	bp_phd_writer_free(w);
}
