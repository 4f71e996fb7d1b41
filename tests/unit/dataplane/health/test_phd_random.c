/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices, a gateway and a CSE with a network between them that loses, duplicates and reorders. The
 * CSE knows duplicates by port and message id for 247 s, and names; devices repeat a confirmed
 * report until it is answered. In the end each of them is stored exactly once, whatever happened on
 * the way, and the counters are those of a plain model.
 *
 * Ambiguous cases are left out: an answer to the device that overtakes another; and separate
 * responses, which have the port of the request and not its message id, if only that identifies the
 * request: of devices with one invoke-id for all reports, and errors without a resource name.
 */
#include "biplane/counters/general.h"
#include "biplane/counters/health.h"
#include "tests/unit/dataplane/health/health_rig.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/health/last_report.h"
#include "tests/unit/times.h"

#define DEVICES 40
#define OBJECTS 4
#define SERIALS 1000 /* a value identifies its report */
#define STEPS TEST_TIMES(24000)
#define DAMAGED TEST_TIMES(80000)
#define SECOND 1000000000ull
#define PATIENCE 10 /* so often a report is sent before the network has pity */

static uint64_t seed, state;

static uint32_t rnd(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(((state >> 32) * n) >> 32);
}

static bool chance(unsigned percent)
{
	return rnd(100) < percent;
}

/* ---- the model ---- */

struct device {
	uint32_t slot;
	bool constant; /* one invoke-id and number for all reports */
	unsigned serial, invoke_id, type, parts, tries;
	bool confirmed, waits;
	bool arrived; /* the gateway has seen this report */
	uint64_t sent_ns;
	struct bytes apdu;
};

/* Messages in flight to the CSE or back. */
struct flight {
	uint64_t due_ns;
	bool used, to_cse, sure;
	unsigned type, code, rsc, mid, port; /* code 0: empty */
	unsigned device;
	struct request q;
};

struct seen {
	uint64_t at_ns; /* 0: never */
	uint8_t token[8];
	unsigned code, rsc, device, serial, part;
};

struct model {
	struct health h;
	uint64_t now_ns;
	bool pity; /* no more faults */
	struct device device[DEVICES];
	struct flight flight[2048];
	struct seen *seen; /* [ports][65536] */
	uint8_t stored[DEVICES][SERIALS][OBJECTS];
	char name[DEVICES][SERIALS][OBJECTS][64];
	bool must[DEVICES][SERIALS];  /* was confirmed and answered */
	uint8_t of[DEVICES][SERIALS]; /* parts */
	/* expected counters */
	uint64_t want[BP_C_COUNT];
	uint64_t responses, successes, errors;
};

static bool goes_wrong(const struct model *m, bool sure, unsigned percent)
{
	return !m->pity && !sure && chance(percent);
}

static void launch(struct model *m, const struct flight *what)
{
	const unsigned copies = goes_wrong(m, what->sure, 20) ? 0 : chance(6) ? 2 : 1;

	for (unsigned n = 0; n < copies; n++) {
		unsigned i = 0;

		while (m->flight[i].used)
			assert_true(++i < 2048);
		m->flight[i] = *what;
		m->flight[i].used = true;
		m->flight[i].due_ns =
			m->now_ns + (chance(80) ? rnd(200) : rnd(15000)) * (SECOND / 1000);
	}
}

/* ---- the CSE ---- */

static unsigned serial_of(const struct request *q)
{
	unsigned serial = SERIALS, object = 0;

	assert_int_equal(sscanf(q->con, "{\"v\":%u,\"u\":\"%%\",\"t\":null}", &serial), 1);
	assert_int_equal(sscanf(q->path, "/cse-in/" HEALTH_SYSTEM_ID "/spo2-%u", &object), 1);
	assert_in_range(serial, 0, SERIALS - 1);
	assert_int_equal(object, q->part + 1);
	return serial;
}

static void evaluate(struct model *m, const struct flight *f, struct seen *s)
{
	static const unsigned errors[][2] = {{0xa3, 0}, {0x84, 4004}, {0xa0, 5000}, {0x83, 4103}};
	const unsigned serial = serial_of(&f->q);
	char *name = m->name[f->device][serial][f->q.part];

	*s = (struct seen){.at_ns = m->now_ns,
		.device = f->device,
		.serial = serial,
		.part = f->q.part,
		.code = 0x41,
		.rsc = 2001};
	memcpy(s->token, f->q.token, 8);
	/* without names, an error on one part makes the others that are on their way twice */
	if ((!m->h.o.unnamed || m->of[f->device][serial] == 1) && goes_wrong(m, f->sure, 8)) {
		const unsigned e = rnd(4);

		s->code = errors[e][0];
		s->rsc = errors[e][1];
		return;
	}
	if (!m->h.o.unnamed && m->stored[f->device][serial][f->q.part] != 0) {
		assert_string_equal(name, f->q.rn);
		s->code = 0x83;
		s->rsc = 4105;
		return;
	}
	m->stored[f->device][serial][f->q.part]++;
	memcpy(name, f->q.rn, sizeof(f->q.rn));
}

static void cse_gets(struct model *m, const struct flight *f)
{
	struct seen *s = &m->seen[(f->q.port - HEALTH_PORTS_FIRST) * 65536 + f->q.mid];
	struct flight back = *f;

	if (s->at_ns == 0 || m->now_ns - s->at_ns > 247 * SECOND) {
		evaluate(m, f, s);
	} else {
		/* the same pair is the same request */
		assert_int_equal(s->device, f->device);
		assert_int_equal(s->serial, serial_of(&f->q));
		assert_int_equal(s->part, f->q.part);
		assert_memory_equal(s->token, f->q.token, 8);
	}
	back.to_cse = false;
	back.code = s->code;
	back.rsc = s->rsc;
	back.mid = f->q.mid;
	back.port = f->q.port;
	back.type = m->h.o.non ? NON : ACK;
	if (!m->h.o.non && !m->device[f->device].constant && (!m->h.o.unnamed || s->code == 0x41) &&
		chance(20)) {
		struct flight empty = back;

		empty.code = 0;
		launch(m, &empty);
		back.type = chance(70) ? CON : NON;
		back.mid = rnd(65536);
	}
	launch(m, &back);
}

/* ---- the devices ---- */

static void new_report(struct model *m, unsigned i)
{
	struct device *d = &m->device[i];
	const uint16_t before = bp_phd_report_hash(bp_phd_report_key, d->apdu.b, d->apdu.len);
	struct value v[OBJECTS];

	do {
		assert_true(++d->serial < SERIALS);
		d->invoke_id = d->constant ? 0 : d->invoke_id + 1;
		d->type = FIXED + rnd(2);
		d->parts = 1 + rnd(OBJECTS);
		d->confirmed = chance(80);
		for (unsigned k = 0; k < d->parts; k++)
			v[k] = (struct value){k + 1, d->serial, 0};
		/* sometimes too long to be written over */
		d->apdu = report_make(d->type, d->confirmed, d->invoke_id,
			d->constant ? 0 : d->serial, v, d->parts, chance(10) ? 150 : 0);
		/* one in 65,536 cannot be distinguished from the last one: a known limit */
	} while (bp_phd_report_hash(bp_phd_report_key, d->apdu.b, d->apdu.len) == before);
	m->of[i][d->serial] = (uint8_t)d->parts;
	d->waits = d->confirmed;
	d->tries = 0;
	d->arrived = false;
}

static void device_gets(struct model *m, unsigned i, const struct bytes *apdu)
{
	struct device *d = &m->device[i];
	struct bytes want = response_stored(d->invoke_id, d->type);

	assert_true(apdu->len >= 14);
	if (!d->waits || get16(apdu->b + 6) != d->invoke_id)
		return; /* it has moved on */
	if (get16(apdu->b + 8) == 0x0201) {
		assert_int_equal(apdu->len, want.len);
		assert_memory_equal(apdu->b, want.b, want.len);
		/* it must be so by now */
		for (unsigned k = 0; k < d->parts; k++)
			assert_int_equal(m->stored[i][d->serial][k], 1);
		m->must[i][d->serial] = true;
		d->waits = false;
	} else {
		assert_true(get16(apdu->b + 8) == 0x0300 || get16(apdu->b + 8) == 0x0400);
	}
}

/* ---- the gateway ---- */

static void collect_requests(struct model *m, unsigned *requests)
{
	struct end from;
	struct bytes f;

	while (health_take(&m->h, B, &f)) {
		struct flight out = {.to_cse = true};
		struct bytes message;

		from = m->h.source;
		from.port = 0;
		message = wire_open(&f, m->h.o.cse6, &from, &m->h.cse);
		if (message.len == 4) { /* an empty acknowledgement */
			assert_int_equal(message.b[0], 0x60);
			assert_int_equal(message.b[1], 0);
			m->want[BP_C_CSE_ACK_FRAME]++;
			continue;
		}
		request_read(&message, from.port, &out.q);
		while (m->device[out.device].slot != out.q.slot)
			assert_true(++out.device < DEVICES);
		out.sure = m->device[out.device].tries > PATIENCE;
		++*requests;
		launch(m, &out);
	}
}

static void collect_answers(struct model *m)
{
	struct bp_phd_event_record e;
	struct bytes f, apdu;

	while (health_take(&m->h, A, &f)) {
		const unsigned i = get16(f.b + (m->h.o.dev6 ? 56 : 36)) - 40000;
		struct end from = m->h.gateway, to;

		assert_in_range(i, 0, DEVICES - 1);
		to = health_device(&m->h, i);
		apdu = wire_open(&f, m->h.o.dev6, &from, &to);
		m->want[BP_C_PHD_RESPONSES]++;
		if (!goes_wrong(m, m->device[i].tries > PATIENCE, 20))
			device_gets(m, i, &apdu);
	}
	for (unsigned w = 0; w < 2; w++) {
		while (health_event(&m->h, w, &e)) {
			if (e.kind == BP_PHD_EVENT_STALE)
				bp_phd_session_flags(m->h.phd, e.slot, 0, BP_PHD_STALE);
			else /* the kernel's queue was full, say: the device asks again */
				m->want[BP_C_PHD_RESPONSE_HANDED_OVER]++;
		}
	}
}

static void device_sends(struct model *m, unsigned i)
{
	struct device *d = &m->device[i];
	unsigned requests = 0;

	d->tries++;
	d->sent_ns = m->now_ns;
	if (goes_wrong(m, d->tries > PATIENCE, 15))
		return;
	m->h.device = health_device(&m->h, i);
	health_worker(&m->h, chance(90) ? i % 2 : rnd(2));
	health_report(&m->h, &d->apdu);
	m->want[BP_C_PHD_REPORTS]++;
	m->want[BP_C_PHD_REPORTS_CONFIRMED] += d->confirmed;
	m->want[d->arrived ? BP_C_PHD_DUPLICATES : BP_C_PHD_OBSERVATIONS] +=
		d->arrived ? 1 : d->parts;
	collect_requests(m, &requests);
	if (!d->arrived)
		assert_int_equal(requests, d->parts);
	d->arrived = true;
	m->want[BP_C_CSE_REQUESTS] += requests;
	m->want[BP_C_CSE_REQUEST_FRAME] += requests != 0 ? requests - 1 : 0;
	collect_answers(m);
}

static bp_counter_t error_counter(const struct flight *f)
{
	return f->code == 0xa3   ? BP_C_CSE_BUSY
	       : f->code == 0x84 ? BP_C_CSE_NO_TARGET
	       : f->code == 0xa0 ? BP_C_CSE_ERROR
				 : BP_C_CSE_DENIED;
}

static void gateway_gets(struct model *m, const struct flight *f)
{
	const bool success = f->code == 0x41 || f->rsc == 4105;
	struct bytes message;
	unsigned requests = 0;

	health_worker(&m->h, rnd(2));
	if (f->code == 0) {
		message = coap_empty(ACK, f->mid);
		m->want[BP_C_CSE_ACK_EMPTY]++;
	} else {
		message = coap_response(f->type, f->code, f->mid, f->q.token, f->rsc);
		m->responses++;
		m->successes += success;
		m->errors += !success;
		if (!success)
			m->want[error_counter(f)]++;
	}
	health_reply(&m->h, f->port, &message);
	collect_requests(m, &requests);
	assert_int_equal(requests, 0);
	collect_answers(m);
}

/* ---- the run ---- */

static void deliver(struct model *m)
{
	for (unsigned i = 0; i < 2048; i++) {
		struct flight f = m->flight[i];

		if (!f.used || f.due_ns > m->now_ns)
			continue;
		m->flight[i].used = false;
		if (f.to_cse)
			cse_gets(m, &f);
		else
			gateway_gets(m, &f);
	}
}

/* A device's neighbor is forgotten now and then. */
static void flap(struct model *m)
{
	const struct end e = health_device(&m->h, rnd(DEVICES));

	health_neighbor(&m->h, A, m->h.o.dev6, e.ip, NULL);
	for (unsigned i = 0; i < 5; i++)
		deliver(m);
	health_neighbor(&m->h, A, m->h.o.dev6, e.ip, e.mac);
}

static void step(struct model *m, bool fresh)
{
	unsigned i = rnd(DEVICES);

	m->now_ns += rnd(200) * (SECOND / 1000);
	health_time(&m->h, m->now_ns);
	deliver(m);
	for (unsigned k = 0; k < DEVICES; k++)
		if (m->device[k].waits && m->now_ns - m->device[k].sent_ns > 8 * SECOND)
			i = k;
	if (!m->device[i].waits) {
		if (!fresh)
			return;
		new_report(m, i);
	}
	device_sends(m, i);
	if (chance(2))
		flap(m);
	/* a CSE that was restarted knows names only */
	if (!m->h.o.unnamed && rnd(1500) == 0)
		memset(m->seen, 0, 4 * 65536 * sizeof(*m->seen));
}

static void check_counters(struct model *m)
{
	struct bp_totals t;
	uint64_t v[BP_C_COUNT];

	for (unsigned c = 0; c < BP_C_COUNT; c++) {
		const bp_counter_group_t g = bp_counter_info[c].group;
		const bool free = c == BP_C_CSE_STORED || c == BP_C_CSE_ACKED ||
				  c == BP_C_CSE_ACK_DUPLICATE || c == BP_C_CSE_UNACKNOWLEDGED ||
				  c == BP_C_PHD_REUSED_NUMBER ||
				  c == BP_C_DROP_PHD_DUPLICATE_UNCONFIRMED;

		v[c] = m->h.r.shm.counters[0].v[c] + m->h.r.shm.counters[1].v[c];
		if (v[c] != m->want[c] && !free &&
			(g == BP_CG_PHD || g == BP_CG_ORIGINATED || g == BP_CG_TERMINATED ||
				g == BP_CG_DROP || g == BP_CG_PUNT_REASON))
			fail_msg("%s is %ju, not %ju", bp_counter_info[c].name, (uintmax_t)v[c],
				(uintmax_t)m->want[c]);
	}
	/* each response is stored or known; errors are counted separately, also those of earlier
	 * reports */
	assert_in_range(v[BP_C_CSE_STORED] + v[BP_C_CSE_ACK_DUPLICATE], m->successes, m->responses);
	assert_int_equal(m->errors,
		v[BP_C_CSE_BUSY] + v[BP_C_CSE_NO_TARGET] + v[BP_C_CSE_ERROR] + v[BP_C_CSE_DENIED]);
	assert_true(v[BP_C_CSE_UNACKNOWLEDGED] <= v[BP_C_PHD_OBSERVATIONS]);
	bp_totals_read(&m->h.r.shm, 3, &t);
	assert_int_equal(t.rx + t.originated, t.tx + t.drops + t.punted + t.terminated);
	assert_int_equal(t.port[A].tx_bytes, m->h.bytes[A]);
	assert_int_equal(t.port[B].tx_bytes, m->h.bytes[B]);
}

/* Each confirmed report once, unconfirmed ones at most once. */
static void check_store(const struct model *m)
{
	unsigned all = 0, twice = 0;

	for (unsigned i = 0; i < DEVICES; i++) {
		for (unsigned s = 1; s <= m->device[i].serial; s++) {
			all += m->must[i][s];
			for (unsigned k = 0; k < OBJECTS; k++) {
				if (m->must[i][s] && k < m->of[i][s])
					assert_int_equal(m->stored[i][s][k], 1);
				twice += m->stored[i][s][k] > 1;
			}
		}
		assert_false(m->device[i].waits);
	}
	assert_int_equal(twice, 0);
	assert_in_range(all, STEPS / 20, UINT32_MAX); /* else it was not what was meant */
}

static void run(const struct health_options *o, bool constants)
{
	struct model *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	state = (seed + 1) * 0x9e3779b97f4a7c15ull ^ (o->dev6 | o->cse6 << 1 | o->non << 2);
	health_start(&m->h, o);
	m->seen = calloc(4 * 65536, sizeof(*m->seen));
	assert_non_null(m->seen);
	m->now_ns = HEALTH_NOW_NS;
	for (unsigned i = 0; i < DEVICES; i++) {
		m->device[i].slot = health_session(&m->h, i, OBJECTS);
		m->device[i].constant = constants && i % 3 == 0;
	}
	for (unsigned n = 0; n < STEPS; n++)
		step(m, true);
	m->pity = true;
	for (unsigned n = 0; n < 1500; n++)
		step(m, false);
	check_store(m);
	check_counters(m);
	free(m->seen);
	health_stop(&m->h);
	free(m);
}

static void each_report_is_stored_once(void **unused)
{
	run(&(struct health_options){.ports = 2}, true);
}

static void also_over_ipv6(void **unused)
{
	run(&(struct health_options){.ports = 2, .dev6 = true, .cse6 = true}, true);
}

static void also_without_names(void **unused)
{
	run(&(struct health_options){.ports = 2, .unnamed = true, .cse6 = true}, true);
}

static void also_unconfirmable(void **unused)
{
	run(&(struct health_options){.ports = 2, .non = true}, false);
}

/* ---- damage ---- */

static void damage(struct bytes *x)
{
	for (unsigned n = 1 + rnd(3); n != 0 && x->len != 0; n--) {
		switch (rnd(4)) {
		case 0:
			x->b[rnd(x->len)] ^= (uint8_t)(1u << rnd(8));
			break;
		case 1:
			x->b[rnd(x->len)] = (uint8_t)(chance(50) ? rnd(256) : rnd(2) ? 255 : 0);
			break;
		case 2:
			x->len = rnd(x->len + 1);
			break;
		default:
			put8(x, rnd(256));
		}
	}
}

static void drain_kernel(struct rig *r)
{
	for (unsigned c = 0; c < BP_EX_CLASSES; c++)
		for (unsigned i = 0; i < 3; i++)
			for (void *p; rte_ring_dequeue(r->exception->to_kernel[c][i], &p) == 0;
				r->to_kernel++)
				rte_pktmbuf_free(p);
}

/* Every field of the output is correct for any input; and the frame balance is exact. */
static void run_damaged(const struct health_options *o)
{
	struct request q, any = {.port = HEALTH_PORTS_FIRST};
	unsigned requests = 0, answers = 0;
	struct bytes apdu, f, message;
	struct bp_totals t;
	struct health h;
	struct value v[OBJECTS];
	struct end from, to;

	state = (seed + 77) * 0x9e3779b97f4a7c15ull;
	health_start(&h, o);
	for (unsigned i = 0; i < DEVICES; i++)
		health_session(&h, i, OBJECTS);
	for (unsigned n = 0; n < DAMAGED; n++) {
		struct bp_phd_event_record e;

		h.device = health_device(&h, rnd(DEVICES));
		health_worker(&h, rnd(2));
		for (unsigned k = 0; k < OBJECTS; k++)
			v[k] = (struct value){1 + rnd(OBJECTS), rnd(65536), rnd(5)};
		apdu = report_make(FIXED + rnd(4), rnd(2), rnd(4), rnd(4), v, rnd(OBJECTS + 1),
			chance(20) ? 2 + rnd(300) : 0);
		if (chance(60)) {
			message = coap_response(rnd(4), rnd(4) ? 0x41 : rnd(256), any.mid,
				any.token, rnd(3) ? 2001 : rnd(6000));
			if (chance(60))
				damage(&message);
			to = h.source;
			to.port = (uint16_t)any.port;
			f = wire_frame(o->cse6, &h.cse, &to, &message);
		} else {
			if (chance(70))
				damage(&apdu);
			f = wire_frame(o->dev6, &h.device, &h.gateway, &apdu);
		}
		if (chance(10))
			damage(&f);
		if (f.len == 0)
			continue;
		health_frame(&h, chance(50) ? A : B, &f);
		/* the MAC says for which port it was */
		health_frame(&h, f.b[5] == 0xb1 ? B : A, &f);
		while (health_take(&h, B, &f)) {
			from = h.source;
			from.port = 0;
			if (memcmp(f.b + 6, h.source.mac, 6) != 0 || f.b[o->cse6 ? 21 : 22] != 64)
				continue; /* forwarded: its address was damaged */
			message = wire_open(&f, o->cse6, &from, &h.cse);
			if (message.len == 4)
				continue;
			request_read(&message, from.port, &q);
			requests++;
			if (chance(70))
				any = q;
		}
		while (health_take(&h, A, &f)) {
			if (f.b[o->dev6 ? 21 : 22] != 64)
				continue;
			to = health_device(&h, get16(f.b + (o->dev6 ? 56 : 36)) - 40000);
			from = h.gateway;
			wire_open(&f, o->dev6, &from, &to);
			answers++;
		}
		while (health_take(&h, C, &f))
			;
		while (health_event(&h, 0, &e) || health_event(&h, 1, &e))
			bp_phd_session_flags(h.phd, e.slot, 0, BP_PHD_STALE);
		drain_kernel(&h.r);
		bp_totals_read(&h.r.shm, 3, &t);
		assert_int_equal(t.rx + t.originated,
			t.tx + t.drops + t.punted + t.terminated + h.r.to_kernel);
	}
	for (unsigned p = 0; p < 3; p++)
		assert_int_equal(t.port[p].tx_bytes, h.bytes[p]);
	assert_in_range(requests, DAMAGED / 12, UINT32_MAX);
	assert_in_range(answers, 50, UINT32_MAX);
	for (unsigned c = 0; c < BP_C_COUNT; c++)
		h.seen[c] = h.r.shm.counters[0].v[c] + h.r.shm.counters[1].v[c];
	assert_true(
		h.seen[BP_C_PHD_DISCARDED_LENGTH] > 100 && h.seen[BP_C_DROP_CSE_MALFORMED] > 100);
	assert_true(h.seen[BP_C_DROP_CSE_UNKNOWN_TOKEN] > 100 && h.seen[BP_C_CSE_STORED] > 100);
	health_stop(&h);
}

static void damaged_frames(void **unused)
{
	run_damaged(&(struct health_options){.cse6 = true});
	run_damaged(&(struct health_options){.dev6 = true, .per_report = true});
	run_damaged(&(struct health_options){.forwarded = true});
}

/* BP_SEED=N: another run than the one that every build begins with. */
int main(void)
{
	const char *text = getenv("BP_SEED");
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_report_is_stored_once),
		cmocka_unit_test(also_over_ipv6),
		cmocka_unit_test(also_without_names),
		cmocka_unit_test(also_unconfirmable),
		cmocka_unit_test(damaged_frames),
	};

	seed = text ? strtoull(text, NULL, 10) : 1;
	printf("BP_SEED=%" PRIu64 "\n", seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
