/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/dataplane/health/health_rig.h"

#include "config/health/settings.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "biplane/counters/general.h"
#include "biplane/counters/health.h"
#include "dataplane/health/worker.h"
#include "tests/unit/dataplane/forwarding/fib_fill.h"

#define PHD_SECTION                                                                                \
	"workers: 2\n"                                                                             \
	"health_devices:\n"                                                                        \
	"  max_sessions: 256\n"                                                                    \
	"  max_configurations: 16\n"                                                               \
	"  cse: {coap: \"coap://10.2.0.5\"}\n"
#define PORTS(role_)                                                                               \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0" role_ "}\n"                                              \
	"  - {name: b, device: net_null1, routed: {}}\n"                                           \
	"  - {name: c, device: net_null2" role_ "}\n"
#define ROUTED PORTS(", routed: {}")
#define BRIDGED PORTS("") "bridges:\n  - {name: br, ports: [a, c], host_interface: {}}\n"

static const uint8_t mac_a[6] = {2, 0, 0, 0, 0, 0xa1}, mac_b[6] = {2, 0, 0, 0, 0, 0xb1},
		     mac_c[6] = {2, 0, 0, 0, 0, 0xc1}, mac_cse[6] = {2, 0, 0, 0, 0, 0xb5};

/* As the tables of sessions have it. */
static void mapped(uint8_t out[16], bool ip6, const uint8_t ip[16])
{
	memcpy(out, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
	memcpy(ip6 ? out : out + 12, ip, ip6 ? 16 : 4);
}

/* ---- the tables ---- */

void health_route(struct health *h, const char *prefix, unsigned length, enum bp_route_type type,
	int interface, const char *gateway)
{
	fill_route(h->r.writer, prefix, length, type, interface, gateway);
}

void health_neighbor(
	struct health *h, unsigned interface, bool ip6, const uint8_t ip[16], const uint8_t mac[6])
{
	const struct bp_address a = ip6 ? bp_address6(ip) : bp_address4(ip);

	if (!mac)
		assert_int_equal(bp_fib_neighbor_delete(h->r.writer, interface, &a), BP_FIB_DONE);
	else
		assert_int_equal(
			bp_fib_neighbor_set(h->r.writer, interface, &a, mac, BP_NEIGHBOR_REACHABLE),
			BP_FIB_DONE);
}

void health_interface(struct health *h, unsigned i, bool up, uint32_t mtu)
{
	struct bp_interface_info info = {
		.flags = BP_IF_PRESENT | BP_IF_KERNEL | (up ? BP_IF_UP | BP_IF_CARRIER : 0),
		.mtu = mtu};

	strcpy(info.name, i == A ? "a" : i == B ? "b" : i == C ? "c" : "br");
	memcpy(info.mac, i == B ? mac_b : i == C ? mac_c : mac_a, 6);
	assert_int_equal(bp_fib_interface_set(h->r.writer, i, &info), BP_FIB_DONE);
	h->r.exception->has[i] = true;
}

static void tables(struct health *h)
{
	const unsigned devices = h->o.bridged ? HOST : A;

	health_interface(h, devices, true, 1500);
	health_interface(h, B, true, 1500);
	if (!h->o.bridged)
		health_interface(h, C, true, C_MTU);
	health_route(h, "10.1.0.0", 16, BP_ROUTE_UNICAST, (int)devices, NULL);
	health_route(h, "10.2.0.0", 24, BP_ROUTE_UNICAST, B, NULL);
	health_route(h, "10.1.0.1", 32, BP_ROUTE_LOCAL, -1, NULL);
	health_route(h, "10.2.0.1", 32, BP_ROUTE_LOCAL, -1, NULL);
	health_route(h, "fd01::", 64, BP_ROUTE_UNICAST, (int)devices, NULL);
	health_route(h, "fd02::", 64, BP_ROUTE_UNICAST, B, NULL);
	health_route(h, "fd01::1", 128, BP_ROUTE_LOCAL, -1, NULL);
	health_route(h, "fd02::1", 128, BP_ROUTE_LOCAL, -1, NULL);
	health_neighbor(h, B, h->o.cse6, h->cse.ip, mac_cse);
}

static void ends(struct health *h)
{
	h->gateway.port = 6024;
	h->cse.port = 5683;
	memcpy(h->gateway.mac, mac_a, 6);
	memcpy(h->gateway.ip, address(h->o.dev6 ? "fd01::1" : "10.1.0.1").bytes, 16);
	memcpy(h->source.mac, mac_b, 6);
	memcpy(h->source.ip, address(h->o.cse6 ? "fd02::1" : "10.2.0.1").bytes, 16);
	memcpy(h->cse.mac, mac_cse, 6);
	memcpy(h->cse.ip, address(h->o.cse6 ? "fd02::5" : "10.2.0.5").bytes, 16);
	h->device = health_device(h, 0);
}

static const struct bp_phd_target target = {"cse-in/{system_id}/{object}", "Cbiplane"};

static void plan(struct health *h)
{
	struct bp_phd_settings *p = &h->plan;

	mapped(p->cse, h->o.cse6, h->cse.ip);
	mapped(p->source, h->o.cse6, h->source.ip);
	p->cse_port = h->cse.port;
	p->listen_udp = h->gateway.port;
	p->ports_first = HEALTH_PORTS_FIRST;
	p->ports_last = (uint16_t)(HEALTH_PORTS_FIRST + 2 * h->o.ports - 1);
	p->max_message = h->o.max;
	p->unknown_sessions = h->o.unknown_sessions == NO_STRAYS ? 0 : h->o.unknown_sessions;
	p->family = h->o.cse6 ? 6 : 4;
	p->release = 4;
	p->confirm = h->o.forwarded ? BP_PHD_CONFIRM_FORWARDED : BP_PHD_CONFIRM_STORED;
	p->per_report = h->o.per_report;
	p->named = !h->o.unnamed;
	p->con = !h->o.non;
	p->hash = bp_phd_target_hash(p, &target);
	bp_phd_settings_publish(h->phd, p);
}

static void second_worker(struct health *h)
{
	struct bp_rx_queue queues[3] = {0};
	char err[1024] = "";

	h->worker[0] = h->r.worker;
	h->worker[1] =
		bp_worker_create(h->r.config, &h->r.shm, 1, &h->r.fdb, true, err, sizeof(err));
	assert_non_null(h->worker[1]);
	h->worker[1]->pool = h->r.pool;
	h->worker[1]->exception = h->r.exception;
	/* no frames from the kernel here */
	h->r.exception->from_kernel[1] = h->r.exception->from_kernel[0];
	for (unsigned p = 0; p < 3; p++)
		queues[p] = (struct bp_rx_queue){
			.port = (uint16_t)p, .set_port = true, .chains = h->r.more_bytes != 0};
	if (bp_graph_build(h->worker[1], "rig2", 3, queues, 3, err, sizeof(err)) != 0)
		fail_msg("%s", err);
}

void health_start(struct health *h, const struct health_options *o)
{
	char err[256] = "";
	struct bp_config *c;

	memset(h, 0, sizeof(*h));
	h->o = *o;
	h->o.ports = o->ports != 0 ? o->ports : 50;
	h->o.unknown_sessions = o->unknown_sessions != 0 ? o->unknown_sessions : 1000;
	h->o.max = o->max != 0 ? o->max : 1424;
	rig_start(&h->r, o->bridged ? BRIDGED PHD_SECTION : ROUTED PHD_SECTION, false, false);
	c = h->r.config;
	/* else now and then two reports have the same sixteen bits of their bytes */
	h->r.shm.phd.hash_key[0] = 0x9e3779b97f4a7c15;
	h->r.shm.phd.hash_key[1] = 0xd1b54a32d192ed03;
	bp_config_phd_set(c)->cse.source_ports[0] = HEALTH_PORTS_FIRST;
	bp_config_phd_set(c)->cse.source_ports[1] =
		(uint16_t)(HEALTH_PORTS_FIRST + 2 * h->o.ports - 1);
	if (bp_phd_worker_setup(c, &h->r.shm.phd, 2, HEALTH_NOW_NS, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	second_worker(h);
	h->phd = bp_phd_writer_new(&h->r.shm.phd, &h->r.shm.fib, NULL, NULL, err, sizeof(err));
	if (!h->phd)
		fail_msg("%s", err);
	ends(h);
	tables(h);
	plan(h);
	health_time(h, HEALTH_NOW_NS);
}

void health_stop(struct health *h)
{
	health_worker(h, 0);
	bp_phd_writer_free(h->phd);
	bp_worker_free(h->worker[1]);
	rig_stop(&h->r);
}

void health_worker(struct health *h, unsigned index)
{
	h->r.worker = h->worker[index];
}

void health_time(struct health *h, uint64_t ns)
{
	for (unsigned i = 0; i < 2; i++)
		h->worker[i]->mono_ns = h->worker[i]->now_ns = ns;
}

/* ---- sessions ---- */

struct end health_device(const struct health *h, unsigned i)
{
	struct end e = {.mac = {2, 0xdd, 0, 0, (uint8_t)(i >> 8), (uint8_t)i},
		.port = (uint16_t)(40000 + i)};

	memcpy(e.ip, address(h->o.dev6 ? "fd01::" : "10.1.1.0").bytes, 16);
	e.ip[h->o.dev6 ? 15 : 3] = (uint8_t)(i + 2);
	return e;
}

static int layout(struct health *h, unsigned objects)
{
	static _Alignas(64) uint8_t memory[BP_PHD_LAYOUT_SIZE];
	struct bp_phd_layout *l = (struct bp_phd_layout *)memory;
	struct bp_phd_model m = {.config_id = 0x4000, .n = (uint16_t)objects};
	char err[256] = "";

	for (unsigned i = 0; i < objects; i++)
		m.object[i] = (struct bp_phd_object_model){.class = 6,
			.handle = (uint16_t)(i + 1),
			.partition = 2,
			.code = 19384,
			.unit = 544,
			.n_map = 1,
			.map = {{2636, 2}}};
	if (objects == 2) {
		m.object[1].handle = 10;
		m.object[1].code = 18458;
		m.object[1].unit = 2720;
	}
	memset(memory, 0, sizeof(memory));
	if (bp_phd_layout_compile(l, &m, &h->plan, &target, "device", err, sizeof(err)) != 0)
		fail_msg("%s", err);
	return bp_phd_layout_get(h->phd, l);
}

uint32_t health_session(struct health *h, unsigned i, unsigned objects)
{
	const struct end e = health_device(h, i);
	struct bp_phd_session_spec s = {
		.system_id = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88},
		.port = e.port,
		.transport = BP_PHD_TRANSPORT_UDP,
		.protocol = 1,
		.config_id = 0x4000,
		.state = BP_PHD_OPERATING,
		.flags = BP_PHD_READY,
		.associated_s = HEALTH_ASSOCIATED};
	const int number = layout(h, objects);
	uint32_t slot;

	assert_true(number >= 0);
	s.layout = (uint16_t)number;
	mapped(s.address, h->o.dev6, e.ip);
	mapped(s.own, h->o.dev6, h->gateway.ip);
	assert_int_equal(bp_phd_session_open(h->phd, &s, &slot), 0);
	health_neighbor(h, h->o.bridged ? HOST : A, h->o.dev6, e.ip, e.mac);
	return slot;
}

struct bp_phd_session *health_slot(const struct health *h, uint32_t slot)
{
	return &h->r.shm.phd.sessions[slot];
}

unsigned health_life(const struct health *h, uint32_t slot)
{
	return (unsigned)(atomic_load(&health_slot(h, slot)->word) >> 32 & 0xffff);
}

/* ---- datagrams ---- */

void health_frame(struct health *h, unsigned port, const struct bytes *frame)
{
	rig_put(&h->r, port, frame->b, frame->len);
	rig_walk(&h->r);
}

void health_report(struct health *h, const struct bytes *apdu)
{
	const struct bytes f = wire_frame(h->o.dev6, &h->device, &h->gateway, apdu);

	health_frame(h, A, &f);
}

void health_reply(struct health *h, unsigned to_port, const struct bytes *message)
{
	struct end to = h->source;
	struct bytes f;

	to.port = (uint16_t)to_port;
	f = wire_frame(h->o.cse6, &h->cse, &to, message);
	health_frame(h, B, &f);
}

bool health_take(struct health *h, unsigned port, struct bytes *frame)
{
	struct rte_mbuf *m = bp_ring_ports_take(&h->r.ports, port);

	if (!m)
		return false;
	frame->len = 0;
	h->bytes[port] += m->pkt_len;
	assert_int_equal(m->nb_segs, 1);
	assert_int_equal(m->pkt_len, m->data_len);
	assert_int_equal(m->ol_flags, 0);
	put_bytes(frame, rte_pktmbuf_mtod(m, void *), m->data_len);
	rte_pktmbuf_free(m);
	return true;
}

static struct bytes taken(struct health *h, unsigned port)
{
	struct bytes f;

	assert_true(health_take(h, port, &f));
	return f;
}

struct request health_request(struct health *h)
{
	const struct bytes f = taken(h, B);
	struct end from = h->source;
	struct bytes message = wire_open(&f, h->o.cse6, &from, &h->cse);
	struct request q;

	request_read(&message, from.port, &q);
	assert_in_range(q.port, h->plan.ports_first, h->plan.ports_last);
	assert_int_equal(q.type, h->o.non ? NON : CON);
	return q;
}

struct request health_part(struct health *h, unsigned part)
{
	for (unsigned i = 0; i < h->n_early; i++) {
		const struct request q = h->early[i];

		if (q.part != part)
			continue;
		h->early[i] = h->early[--h->n_early];
		return q;
	}
	for (;;) {
		const struct request q = health_request(h);

		if (q.part == part)
			return q;
		assert_true(h->n_early < 32);
		h->early[h->n_early++] = q;
	}
}

void health_named(const struct health *h, const struct request *q, uint32_t slot, unsigned report)
{
	char name[64] = "";

	if (!h->o.unnamed)
		snprintf(name, sizeof(name), "%08x%04x%08x%02x", HEALTH_ASSOCIATED,
			health_life(h, slot), report, q->part);
	assert_string_equal(q->rn, name);
	assert_int_equal(q->slot, slot);
}

void health_answer(struct health *h, const struct bytes *apdu)
{
	const struct bytes f = taken(h, A);
	struct end from = h->gateway;
	const struct bytes got = wire_open(&f, h->o.dev6, &from, &h->device);

	assert_int_equal(got.len, apdu->len);
	assert_memory_equal(got.b, apdu->b, apdu->len);
}

void health_kernel(struct health *h, unsigned interface, const struct bytes *frame)
{
	rig_expect_kernel(&h->r, BP_EX_PHD, interface, frame->b, frame->len);
}

void health_nothing(struct health *h)
{
	assert_int_equal(h->n_early, 0);
	for (unsigned p = 0; p < 3; p++)
		rig_expect_none(&h->r, p);
}

/* ---- counters ---- */

static uint64_t count_of(const struct health *h, unsigned c)
{
	return h->r.shm.counters[0].v[c] + h->r.shm.counters[1].v[c];
}

static bool is_counted(bp_counter_group_t g)
{
	return g == BP_CG_ORIGINATED || g == BP_CG_DROP || g == BP_CG_TERMINATED ||
	       g == BP_CG_PUNT_REASON || g == BP_CG_ROUTE || g == BP_CG_PHD;
}

void health_counted(struct health *h, ...)
{
	uint64_t want[BP_C_COUNT] = {0};
	struct bp_totals t;
	va_list list;

	va_start(list, h);
	for (;;) {
		const int c = va_arg(list, int);

		if (c == BP_C_COUNT)
			break;
		want[c] = (uint64_t)va_arg(list, int);
	}
	va_end(list);
	for (unsigned c = 0; c < BP_C_COUNT; c++) {
		const uint64_t now = count_of(h, c);

		if (now - h->seen[c] != want[c] &&
			(want[c] != 0 || is_counted(bp_counter_info[c].group)))
			fail_msg("%s is %ju more, not %ju", bp_counter_info[c].name,
				(uintmax_t)(now - h->seen[c]), (uintmax_t)want[c]);
		h->seen[c] = now;
	}
	health_nothing(h);
	bp_totals_read(&h->r.shm, h->r.config->n_ports, &t);
	assert_int_equal(
		t.rx + t.originated, t.tx + t.drops + t.punted + t.terminated + h->r.to_kernel);
}

bool health_event(struct health *h, unsigned worker, struct bp_phd_event_record *out)
{
	struct bp_ring *ring = bp_phd_events(&h->r.shm.phd, worker);
	uint64_t cursor = bp_ring_tail(ring);
	uint32_t size;
	const void *record = bp_ring_peek(ring, &cursor, &size);

	if (!record)
		return false;
	assert_int_equal(size, sizeof(*out));
	memcpy(out, record, sizeof(*out));
	bp_ring_release(ring, cursor);
	return true;
}
