/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two gateways receive the same bursts of all messages of devices and a CSE. One of them uses the
 * fast path for reports (dataplane/health/phd_node.h), the other never does. Output frames, their
 * order, and counters must be the same.
 */
#include "biplane/health.h"
#include "tests/unit/dataplane/health/health_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/health/phd_node.h"
#include "services/health/template.h"
#include "tests/unit/times.h"

#define DEVICES 24
#define OBJECTS_MOST 3
#define BURSTS TEST_TIMES(1200)
#define BURST_MOST 60
#define SECOND 1000000000ull

static uint64_t state;

static uint32_t rnd(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(((state >> 32) * n) >> 32);
}

/* Bytes that may be any number of, and grow. */
struct record {
	uint8_t *p;
	size_t n, room;
};

static void note(struct record *r, const void *p, size_t n)
{
	while (r->room - r->n < n) {
		r->room = r->room * 2 + 65536;
		r->p = realloc(r->p, r->room);
		assert_non_null(r->p);
	}
	memcpy(r->p + r->n, p, n);
	r->n += n;
}

struct device {
	struct end end;
	unsigned objects; /* 2: configuration 400 */
	unsigned invoke_id, number;
	struct bytes last;
};

struct world {
	struct health h;
	struct device device[DEVICES];
	struct record out;
	unsigned knew; /* bursts behind which a shape was known */
	uint64_t now_ns;
};

/* ---- what devices send ---- */

static unsigned handle(const struct device *d, unsigned i)
{
	return d->objects == 2 ? (i == 0 ? 1 : 10) : i + 1;
}

/* A new report: mostly all objects in their order, with numbers. */
static struct bytes new_report(struct device *d)
{
	struct value v[OBJECTS_MOST];
	const unsigned odd = rnd(16);
	const unsigned n = odd == 0 ? 1 + rnd(d->objects) : d->objects;

	for (unsigned i = 0; i < n; i++)
		v[i] = (struct value){handle(d, i), rnd(30) == 0 ? 0x07fe + rnd(5) : rnd(65536), 1};
	if (odd == 1)
		v[rnd(n)].handle = 77; /* no one's */
	if (odd == 2 && n > 1) {
		const struct value was = v[0];

		v[0] = v[1];
		v[1] = was;
	}
	if (rnd(20) != 0) {
		d->invoke_id = (d->invoke_id + 1) % 65536;
		d->number = (d->number + 1) % 65536;
	}
	return report_make(
		odd == 3 ? FIXED + rnd(4) : FIXED, rnd(3) != 0, d->invoke_id, d->number, v, n, 0);
}

static struct bytes any_payload(struct device *d)
{
	struct bytes apdu;

	switch (rnd(24)) {
	case 0: /* the last one once more */
		if (d->last.len != 0)
			return d->last;
		break;
	case 1: /* with an byte that is another */
		apdu = new_report(d);
		apdu.b[rnd(apdu.len)] ^= (uint8_t)(1 + rnd(255));
		return apdu;
	case 2: /* shorter or longer than it says */
		apdu = new_report(d);
		apdu.len = rnd(2) == 0 ? rnd(apdu.len) : apdu.len + 1 + rnd(20);
		return apdu;
	case 3:
		apdu.len = 0;
		return apdu;
	default:
		break;
	}
	d->last = new_report(d);
	return d->last;
}

static void put_report(struct world *w)
{
	const unsigned i = rnd(DEVICES);
	struct device *d = &w->device[i];
	struct end from = d->end;
	const struct bytes payload = any_payload(d);
	struct bytes f;

	if (rnd(60) == 0)
		from.port++; /* an attacker */
	f = wire_frame(w->h.o.dev6, &from, &w->h.gateway, &payload);
	if (rnd(60) == 0)
		f.b[f.len - 1] ^= 1; /* a wrong checksum, or padding */
	rig_put(&w->h.r, A, f.b, f.len);
}

/* ---- what is noted ---- */

/* Sums of both workers. The bucket of strays and the like are as they are on both. */
static void note_counters(struct world *w)
{
	for (unsigned c = 0; c < BP_C_COUNT; c++) {
		uint64_t n = 0;

		for (unsigned i = 0; i < 2; i++)
			n += w->h.r.shm.counters[i].v[c];
		note(&w->out, &n, sizeof(n));
	}
}

/* Frames that the kernel received. */
static void take_kernel(struct world *w)
{
	for (unsigned class = 0; class < BP_EX_CLASSES; class ++) {
		struct rte_ring *ring = w->h.r.exception->to_kernel[class][A];
		void *m = NULL;

		while (ring != NULL && rte_ring_dequeue(ring, &m) == 0) {
			note(&w->out, rte_pktmbuf_mtod((struct rte_mbuf *)m, void *),
				((struct rte_mbuf *)m)->data_len);
			rte_pktmbuf_free(m);
			w->h.r.to_kernel++;
		}
	}
}

/* All that left. Most requests are acknowledged. */
static void take_all(struct world *w)
{
	struct bytes f, reply;

	while (health_take(&w->h, A, &f))
		note(&w->out, f.b, f.len);
	while (health_take(&w->h, B, &f)) {
		const uint8_t *coap = f.b + (w->h.o.cse6 ? 62 : 42);

		note(&w->out, f.b, f.len);
		if (coap[0] >> 6 != 1 || rnd(5) == 0)
			continue;
		reply = coap_response(
			w->h.o.non ? NON : ACK, 0x41, get16(coap + 2), coap + 4, 2001);
		health_reply(&w->h, get16(coap - 8), &reply);
	}
	while (health_take(&w->h, A, &f))
		note(&w->out, f.b, f.len);
	take_kernel(w);
}

/* No template is known, and none is learnt. */
static void forget(struct world *w)
{
	const struct bp_phd_tables *t = &w->h.r.shm.phd;

	for (unsigned i = 0; i < 2; i++) {
		struct bp_phd_worker *health = bp_phd_worker_of(w->h.worker[i]);

		bp_phd_worker_apply_pending(health, w->now_ns); /* which forgets too */
		for (uint32_t n = 0; n < t->max_layouts; n++) {
			const struct bp_phd_layout *l = bp_phd_layout_of(
				t, bp_phd_word(BP_PHD_OPERATING, 0, (uint16_t)n, 0, 0));

			assert_non_null(l);
			health->template[n].values = 0;
			health->template[n].life = l != NULL ? atomic_load(&l->life) : 0;
			health->template[n].wait = UINT8_MAX;
		}
	}
}

static bool knows_shapes(const struct world *w)
{
	for (uint32_t n = 0; n < w->h.r.shm.phd.max_layouts; n++)
		if (bp_phd_worker_of(w->h.worker[0])->template[n].values != 0)
			return true;
	return false;
}

/* ---- what an operator does meanwhile ---- */

/* Another plan, which may have another CSE's port, source, way to confirm, or longest message. */
static void change_plan(struct world *w)
{
	struct bp_phd_settings *p = &w->h.plan;

	p->source[15] = w->h.o.cse6 ? p->source[15] : (uint8_t)(1 + rnd(200));
	p->cse_port = w->h.cse.port = (uint16_t)(5683 + rnd(3));
	p->confirm = rnd(3) != 0 ? BP_PHD_CONFIRM_STORED : BP_PHD_CONFIRM_FORWARDED;
	p->max_message = rnd(3) != 0 ? 1424 : 150 + rnd(250);
	bp_phd_settings_publish(w->h.phd, p);
}

/* Requests may be too long for what leads to the CSE. */
static void change_mtu(struct world *w)
{
	const uint32_t mtu = rnd(3) != 0 ? 1500 : 200 + rnd(250);

	for (unsigned i = 0; i < 2; i++)
		w->h.worker[i]->router.tx_mtu[B] = mtu;
}

/* ---- a world ---- */

static void live(struct world *w, const struct health_options *o, uint64_t seed, bool quick)
{
	memset(w, 0, sizeof(*w));
	state = seed;
	w->now_ns = HEALTH_NOW_NS;
	health_start(&w->h, o);
	for (unsigned i = 0; i < DEVICES; i++) {
		w->device[i].objects = 1 + rnd(OBJECTS_MOST);
		w->device[i].end = health_device(&w->h, i);
		health_session(&w->h, i, w->device[i].objects);
	}
	for (unsigned burst = 0; burst < BURSTS; burst++) {
		const unsigned n = rnd(4) == 0 ? 1 + rnd(BURST_MOST) : 1 + rnd(4);

		if (rnd(60) == 0)
			change_plan(w);
		if (rnd(60) == 0)
			change_mtu(w);
		if (!quick)
			forget(w);
		health_worker(&w->h, rnd(8) == 0);
		for (unsigned i = 0; i < n; i++)
			put_report(w);
		rig_walk(&w->h.r);
		while (rnd(3) != 0)
			rig_walk(&w->h.r);
		take_all(w);
		note_counters(w);
		w->knew += knows_shapes(w);
		w->now_ns += rnd(50) == 0 ? rnd(100) * SECOND : rnd(1000) * (SECOND / 1000);
		health_time(&w->h, w->now_ns);
	}
}

static void same(const struct health_options *o, uint64_t seed)
{
	static struct world quick, slow;

	live(&quick, o, seed, true);
	assert_true(o->per_report ? quick.knew > BURSTS / 2 : quick.knew == 0);
	health_stop(&quick.h);
	live(&slow, o, seed, false);
	assert_int_equal(slow.knew, 0);
	health_stop(&slow.h);
	assert_int_equal(quick.out.n, slow.out.n);
	for (size_t i = 0; i < quick.out.n; i++)
		if (quick.out.p[i] != slow.out.p[i])
			fail_msg("the first byte that differs is %zu of %zu", i, quick.out.n);
	free(quick.out.p);
	free(slow.out.p);
}

static void both_paths_are_equal(void **st)
{
	static const struct health_options options[] = {
		{.per_report = true},
		{.per_report = true, .dev6 = true},
		{.per_report = true, .cse6 = true, .unnamed = true},
		{.per_report = true, .dev6 = true, .cse6 = true, .non = true},
		{.per_report = true, .forwarded = true, .unnamed = true},
		{.per_report = true, .ports = 1},
		{.per_report = false},
	};

	(void)st;
	for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		same(&options[i], 0x0fa7 + i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(both_paths_are_equal)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
