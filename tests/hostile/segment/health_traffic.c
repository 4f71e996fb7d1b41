/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/health/settings.h"
#include "tests/hostile/segment/gateway.h"

#include <stdlib.h>
#include <string.h>

#include "dataplane/health/worker.h"
#include "services/health/layout.h"
#include "proto/net/ip.h"
#include "tests/unit/dataplane/forwarding/fib_fill.h"
#include "tests/unit/dataplane/health/health_wire.h"

#define DEVICES 6u
#define PORTS_FIRST 20000u

static const struct bp_phd_target target = {"cse-in/{system_id}/{object}", "Cbiplane"};

static void mapped(uint8_t out[16], const char *text)
{
	memcpy(out, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
	memcpy(out + 12, address(text).bytes, 4);
}

static struct end end_of(const char *text, uint8_t mac, uint16_t port)
{
	struct end e = {.mac = {2, 0, 0, 0, 0, mac}, .port = port};

	memcpy(e.ip, address(text).bytes, 16);
	return e;
}

static struct end device(unsigned i)
{
	struct end e = end_of("10.1.1.0", (uint8_t)(0x10 + i), (uint16_t)(40000 + i));

	e.ip[3] = (uint8_t)(10 + i);
	return e;
}

static void set_plan(struct gateway *g)
{
	struct bp_phd_settings *p = &g->plan;

	mapped(p->cse, "10.2.0.5");
	mapped(p->source, "10.2.0.1");
	p->cse_port = 5683;
	p->listen_udp = 6024;
	p->ports_first = PORTS_FIRST;
	p->ports_last = PORTS_FIRST + 49;
	p->max_message = 1424;
	p->unknown_sessions = 1000;
	p->family = 4;
	p->release = 4;
	p->confirm = BP_PHD_CONFIRM_STORED;
	p->per_report = 1;
	p->named = 1;
	p->con = 1;
	p->hash = bp_phd_target_hash(p, &target);
	bp_phd_settings_publish(g->phd, p);
}

/* Objects with SFLOATs; every second layout has a compound, a time and a status, too. */
static int layout(struct gateway *g, unsigned i)
{
	static _Alignas(64) uint8_t memory[BP_PHD_LAYOUT_SIZE];
	struct bp_phd_layout *l = (struct bp_phd_layout *)memory;
	struct bp_phd_model m = {.config_id = (uint16_t)(0x4000 + i % 3), .n = 3};
	char err[256] = "";

	for (unsigned k = 0; k < m.n; k++)
		m.object[k] = (struct bp_phd_object_model){.class = 6,
			.handle = (uint16_t)(k + 1),
			.partition = 2,
			.code = (uint16_t)(19384 + k),
			.unit = 544,
			.n_map = 1,
			.map = {{BP_PHD_ATTR_BASIC, 2}}};
	if (i % 3 == 1) {
		m.object[1].n_map = 2;
		m.object[1].map[1] = (struct bp_phd_attr_map){BP_PHD_ATTR_TIME_ABS, 8};
	}
	m.content = i % 3;
	memset(memory, 0, sizeof(memory));
	if (bp_phd_layout_compile(l, &m, &g->plan, &target, "device", err, sizeof(err)) != 0)
		fail_msg("%s", err);
	return bp_phd_layout_get(g->phd, l);
}

static void session(struct gateway *g, unsigned i)
{
	const struct end e = device(i);
	const struct bp_address at = bp_address4(e.ip);
	struct bp_phd_session_spec s = {
		.system_id = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, (uint8_t)i},
		.port = e.port,
		.transport = BP_PHD_TRANSPORT_UDP,
		.protocol = 1,
		.config_id = 0x4000,
		.state = BP_PHD_OPERATING,
		.flags = BP_PHD_READY,
		.associated_s = 0x6955b9f0u,
		.layout = (uint16_t)layout(g, i)};
	uint32_t slot;

	mapped(s.address, "10.1.1.0");
	memcpy(s.address + 12, e.ip, 4);
	mapped(s.own, "10.1.1.1");
	assert_int_equal(bp_phd_session_open(g->phd, &s, &slot), 0);
	assert_int_equal(
		bp_fib_neighbor_set(g->x.r.writer, GW_C, &at, e.mac, BP_NEIGHBOR_REACHABLE),
		BP_FIB_DONE);
}

void gateway_health_start(struct gateway *g)
{
	struct bp_config *c = g->x.r.config;
	struct bp_shm *shm = &g->x.r.shm;
	char err[256] = "";

	bp_config_phd_set(c)->cse.source_ports[0] = PORTS_FIRST;
	bp_config_phd_set(c)->cse.source_ports[1] = PORTS_FIRST + 49;
	if (bp_phd_worker_setup(c, &shm->phd, 1, 1000000000, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	g->phd = bp_phd_writer_new(&shm->phd, &shm->fib, NULL, NULL, err, sizeof(err));
	if (!g->phd)
		fail_msg("%s", err);
	set_plan(g);
	for (unsigned i = 0; i < DEVICES; i++)
		session(g, i);
}

/* The CSE stores what comes, or, now and then, says that it cannot. */
static void cse(struct gateway *g)
{
	struct rte_mbuf *m;

	while ((m = bp_ring_ports_take(&g->x.r.ports, GW_D)) != NULL) {
		const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);

		if (m->data_len >= 42 + 12 && f[23] == BP_PROTO_UDP && bp_be16(f + 36) == 5683) {
			const struct end from = end_of("10.2.0.5", 0xd2, 5683);
			const struct end to = end_of("10.2.0.1", 0xd1, bp_be16(f + 34));
			const bool refuses = g->serial % 7 == 3;
			const struct bytes answer = coap_response(ACK, refuses ? 0x84 : 0x41,
				bp_be16(f + 44), f + 46, refuses ? 4004 : 2001);
			const struct bytes frame = wire_frame(false, &from, &to, &answer);

			gateway_put(g, GW_D, frame.b, frame.len);
		}
		rte_pktmbuf_free(m);
	}
	gateway_walk(g);
}

void gateway_health(struct gateway *g)
{
	static const unsigned types[] = {FIXED, FIXED, FIXED, VARIABLE, MP_FIXED, FIXED};
	const struct end gateway = end_of("10.1.1.1", 0xc1, 6024);

	for (unsigned i = 0; i < DEVICES + 2; i++) {
		const struct end from = device(i); /* the last ones are no one's */
		const struct value v[3] = {{1, 0x0040 + i, 1}, {2, 0xf3e8, 2}, {3, 0x07fe + i, 3}};
		const struct bytes apdu = report_make(types[(g->serial + i) % 6], i % 4 != 3,
			g->serial, g->serial / 2, v, 1 + (g->serial + i) % 3, 0);
		const struct bytes f = wire_frame(false, &from, &gateway, &apdu);

		gateway_put(g, GW_C, f.b, f.len);
	}
	gateway_walk(g);
	cse(g);
	bp_ring_release_all(bp_phd_events(&g->x.r.shm.phd, 0));
}
