/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices on TCP, the real manager and the real slow path, at random: connections end, noticed or
 * not, and so does the control plane, whatever is on its way. Devices associate again and repeat
 * what they were not answered. In the end the CSE has each report once: also those of devices that
 * number their reports again in each association, and always measure the same.
 */
#include "tests/unit/controlplane/health/slow_cse.h"

#include <stdlib.h>
#include <string.h>

#include "services/health/manager.h"
#include "tests/unit/times.h"

#define DEVICES 8
#define REPORTS 80
#define BOX 16 /* APDUs that wait to be written to a device */

struct device {
	uint32_t connection; /* 0: none */
	bool associated;
	bool waits; /* for the answer to `apdu` */
	uint8_t apdu[SLOW_REPORT];
	size_t len;
	uint64_t asked;
	unsigned answered;
	unsigned number; /* of the last report */
	struct {
		uint8_t p[64];
		size_t len;
	} box[BOX];
	unsigned boxed;
};

static struct {
	struct phd_rig x;
	struct bp_config_phd c;
	struct bp_phd_manager *m;
	struct bp_phd_manager_counts counts;
	struct bp_slow *s;
	struct device device[DEVICES];
	uint32_t connections;
	uint64_t now;
	unsigned first; /* of the requests that may have no end yet */
	unsigned lost, restarts, resumed;
} w;

static bool chance(int n)
{
	return rand() % n == 0;
}

/* ---- the manager's owner ---- */

static void on_reply(void *arg, const struct bp_phd_peer *to, const uint8_t *apdu, size_t len)
{
	(void)arg;
	for (unsigned d = 0; d < DEVICES; d++) {
		struct device *v = &w.device[d];

		if (v->connection != to->connection)
			continue;
		assert_true(v->boxed < BOX && len <= sizeof(v->box[0].p));
		memcpy(v->box[v->boxed].p, apdu, len);
		v->box[v->boxed++].len = len;
	}
}

static bool on_known(void *arg, const uint8_t system_id[8], uint16_t config_id,
	struct bp_phd_model *out, uint16_t *spec)
{
	return false;
}

static void on_learned(void *arg, const uint8_t system_id[8], const struct bp_phd_model *m,
	struct bp_phd_bytes report)
{
}

static void on_told(
	void *arg, uint32_t slot, const uint8_t system_id[8], uint16_t config_id, uint16_t spec)
{
}

static void on_opened(void *arg, uint32_t slot)
{
}

static void on_closed(void *arg, uint32_t slot, enum bp_phd_closed why)
{
}

static bool on_allowed(void *arg, const uint8_t system_id[8])
{
	return true;
}

static void on_unassociated(void *arg, const struct bp_phd_peer *device)
{
}

static enum bp_phd_taken on_report(void *arg, uint32_t slot, const uint8_t *apdu, size_t len)
{
	return bp_slow_report(w.s, slot, apdu, len, w.now);
}

static void on_answer(void *arg, uint32_t slot, uint16_t life, const uint8_t *apdu, size_t len)
{
	bp_phd_manager_send(w.m, slot, life, apdu, len);
}

/* ---- the control plane ---- */

static void start_control_plane(void)
{
	static const struct bp_phd_manager_ops ops = {on_reply, on_known, on_learned, on_told,
		on_opened, on_closed, on_allowed, on_unassociated, NULL, on_report};
	const struct bp_slow_ops slow = {.answer = on_answer, .no_target = on_no_target};
	static const uint8_t system_id[8] = {1};
	static struct rig unused;

	bp_phd_settings_publish(w.x.w, &rig_plan);
	w.m = bp_phd_manager_new(&w.c, w.x.t, w.x.w, system_id, &w.counts, &ops, NULL);
	/* fewer reports at a time than devices: some are refused */
	w.s = bp_slow_new(w.x.t, NULL, DEVICES - 2, &slow, &unused);
	assert_non_null(w.m);
	assert_non_null(w.s);
	bp_phd_manager_adopt(w.m, w.now);
	room = SENT_MAX;
}

static void end_control_plane(void)
{
	struct bp_slow_counts n;

	bp_slow_count(w.s, &n);
	w.resumed += (unsigned)n.resumed;
	bp_phd_manager_free(w.m);
	bp_slow_free(w.s);
}

/* ---- devices ---- */

static void lose(struct device *v)
{
	w.lost += v->waits;
	v->connection = 0;
	v->associated = false;
	v->boxed = 0;
}

static void restart(void)
{
	/* datagrams in flight arrive, or are lost */
	for (; w.first < n_sent; w.first++) {
		if (!sent[w.first].ended && chance(2))
			cse_stores(w.first);
		sent[w.first].ended = true;
	}
	end_control_plane();
	assert_int_equal(phd_take_over(&w.x), 0);
	start_control_plane();
	for (unsigned d = 0; d < DEVICES; d++)
		lose(&w.device[d]);
	w.restarts++;
}

static void receive(unsigned d, const uint8_t *p, size_t len)
{
	const struct bp_phd_peer from = {
		.address = {[10] = 0xff, 0xff, 10, 0, 0, (uint8_t)d},
		.own = {[10] = 0xff, 0xff, 10, 0, 1, 1},
		.port = (uint16_t)(1024 + w.device[d].connection % 60000),
		.transport = BP_PHD_TRANSPORT_TCP,
		.connection = w.device[d].connection,
	};

	bp_phd_manager_receive(w.m, &from, p, len, w.now, w.now);
}

static void associate(unsigned d)
{
	size_t len;
	uint8_t *p = rig_apdu("A01", &len);

	p[43] = (uint8_t)d; /* the end of the system-id */
	receive(d, p, len);
	free(p);
}

/* The answer is written, and arrives. */
static void flush(unsigned d)
{
	struct device *v = &w.device[d];
	const unsigned n = v->boxed;

	if (n == 0)
		return;
	v->boxed = 0;
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *p = v->box[i].p;

		if (p[0] == 0xe3) {
			assert_int_equal(p[5], 0);
			v->associated = true;
			if (d % 2 != 0 && !v->waits)
				v->number = 0; /* it numbers them again */
		} else if (p[0] == 0xe7 && p[8] == 0x02 && v->waits && p[7] == v->apdu[7]) {
			v->waits = false;
			v->answered++;
		}
	}
	bp_phd_manager_written(w.m, v->connection);
}

static void measure(unsigned d)
{
	struct device *v = &w.device[d];

	if (!v->waits) {
		if (v->answered == REPORTS)
			return;
		v->number++;
		v->len = slow_report(v->apdu, v->number, d % 2 != 0 ? 61 : v->number);
		v->waits = true;
	} else if (w.now - v->asked < SECOND) {
		return;
	}
	v->asked = w.now;
	receive(d, v->apdu, v->len);
}

static void device_acts(unsigned d)
{
	static const uint8_t abrt[] = {0xe6, 0, 0, 2, 0, 0};
	struct device *v = &w.device[d];

	if (v->connection == 0) {
		v->connection = ++w.connections;
		v->asked = 0;
		associate(d);
	} else if (chance(30)) { /* its connection ends */
		bp_phd_manager_disconnected(w.m, v->connection, w.now);
		lose(v);
	} else if (chance(30)) { /* and no one notices */
		lose(v);
	} else if (v->associated && chance(40)) {
		receive(d, abrt, sizeof(abrt));
		w.lost += v->waits;
		v->associated = false;
		v->boxed = 0;
		v->asked = 0;
		associate(d);
	} else if (v->associated) {
		measure(d);
	}
}

static void cse_does(void)
{
	unsigned i;

	while (w.first < n_sent && sent[w.first].ended)
		w.first++;
	i = w.first + (unsigned)rand() % 3;
	if (i < n_sent && !sent[i].ended)
		cse_acts(i);
}

static bool all_done(void)
{
	for (unsigned d = 0; d < DEVICES; d++)
		if (w.device[d].answered < REPORTS || w.device[d].waits)
			return false;
	return true;
}

static void run(unsigned seed)
{
	memset(&w, 0, sizeof(w));
	w.now = 1767225600 * SECOND;
	w.c.enabled = true;
	w.c.max_sessions = 64;
	w.c.max_configurations = 16;
	w.c.limits.sessions_per_address = 1000;
	w.c.limits.association_rate = 1000000;
	w.c.timeouts.config_ns = w.c.timeouts.service_ns = w.c.timeouts.release_ns = SECOND;
	strcpy(w.c.cse.path, "cse-in/{system_id}/{object}");
	strcpy(w.c.cse.originator, "Cbiplane");
	n_sent = 0;
	sent = calloc(SENT_MAX, sizeof(*sent));
	assert_non_null(sent);
	cse_begin();
	phd_open(&w.x, 256, 16, 1); /* enough that an entry is reused late */
	start_control_plane();
	srand(seed);
	while (!all_done()) {
		const unsigned d = (unsigned)rand() % DEVICES;

		w.now += (uint64_t)rand() % (SECOND / 10);
		if (chance(2))
			cse_does();
		if (chance(3))
			flush(d);
		else
			device_acts(d);
		if (chance(10))
			bp_phd_manager_tick(w.m, w.now);
		if (chance(300))
			restart();
	}
	for (; w.first < n_sent; w.first++)
		if (!sent[w.first].ended)
			cse_acts(w.first);
	end_control_plane();
	phd_close(&w.x);
	free(sent);
	/* two instances a report, and no name twice */
	assert_int_equal(cse_end(), DEVICES * REPORTS * 2);
	/* it happened often enough */
	assert_true(w.lost > 100 && w.restarts > 10 && w.resumed > 100);
}

static void each_report_is_there_once(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= TEST_TIMES(8); seed++)
		run(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_report_is_there_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
