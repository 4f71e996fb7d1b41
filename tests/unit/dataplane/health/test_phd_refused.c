/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports that node phd does not convert: the other rows of its table. */
#include "biplane/counters/health.h"
#include "tests/unit/dataplane/health/phd_node.h"

static void is_punted(struct health *h, const struct bytes *apdu, bp_counter_t why)
{
	const struct bytes f = wire_frame(h->o.dev6, &h->device, &h->gateway, apdu);

	health_frame(h, A, &f);
	health_kernel(h, A, &f);
	health_counted(h, why, 1, BP_C_COUNT);
}

static void signalling_is_the_managers(void **state)
{
	static const char *const vectors[] = {
		"A01", "A12", "C01", "G01", "R01", "R02", "E01", "S16"};
	struct bytes apdu = one(true, 1, 1), part = {.len = 0};
	struct health h;

	health_start(&h, &(struct health_options){0});
	health_session(&h, 0, 2);
	for (unsigned i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		const struct bytes v = report_vector(vectors[i]);

		is_punted(&h, &v, BP_C_PUNT_PHD_SIGNALING);
	}
	/* so is what is too short to say what it is, down to nothing */
	for (uint32_t len = 0; len < 20; len++) {
		part = apdu;
		part.len = len;
		is_punted(&h, &part, BP_C_PUNT_PHD_SIGNALING);
	}
	for (unsigned type = 3356; type <= 3373; type++) {
		if (type >= FIXED && type <= MP_VARIABLE)
			continue;
		part = apdu;
		part.b[18] = (uint8_t)(type >> 8);
		part.b[19] = (uint8_t)type;
		is_punted(&h, &part, BP_C_PUNT_PHD_SIGNALING);
	}
	health_stop(&h);
}

/* Two at once, and ten a worker and second. */
static void unknown_sessions(void **state)
{
	const struct bytes apdu = one(true, 1, 1);
	struct bytes f;
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){.unknown_sessions = 20});
	f = wire_frame(false, &h.device, &h.gateway, &apdu);
	for (unsigned second = 0; second < 2; second++) {
		health_time(&h, HEALTH_NOW_NS + second * 1000000000ull);
		for (unsigned i = 0; i < 3; i++)
			health_report(&h, &apdu);
		health_kernel(&h, A, &f);
		health_kernel(&h, A, &f);
		health_counted(&h, BP_C_PHD_DISCARDED_UNKNOWN_SESSION, 3,
			BP_C_PUNT_PHD_UNKNOWN_SESSION, 2, BP_C_DROP_PHD_UNKNOWN_SESSION, 1,
			BP_C_COUNT);
	}
	slot = health_session(&h, 0, 2);
	for (unsigned s = 0; s < 2; s++) {
		static const enum bp_phd_state states[] = {BP_PHD_WAITING, BP_PHD_RELEASING};

		health_time(&h, HEALTH_NOW_NS + (s + 5) * 1000000000ull);
		bp_phd_session_word(h.phd, slot, states[s], BP_PHD_READY, 0);
		for (unsigned i = 0; i < 3; i++)
			health_report(&h, &apdu);
		health_kernel(&h, A, &f);
		health_kernel(&h, A, &f);
		health_counted(&h, BP_C_PHD_DISCARDED_STATE, 3, BP_C_PUNT_PHD_UNKNOWN_SESSION, 2,
			BP_C_DROP_PHD_UNKNOWN_SESSION, 1, BP_C_COUNT);
	}
	health_stop(&h);
}

static void no_unknown_session_is_answered_at_rate_0(void **state)
{
	const struct bytes apdu = one(true, 1, 1);
	struct health h;

	health_start(&h, &(struct health_options){.unknown_sessions = NO_STRAYS});
	health_report(&h, &apdu);
	health_counted(&h, BP_C_PHD_DISCARDED_UNKNOWN_SESSION, 1, BP_C_DROP_PHD_UNKNOWN_SESSION, 1,
		BP_C_COUNT);
	health_stop(&h);
}

static void while_sessions_are_read_back(void **state)
{
	const struct bytes apdu = one(true, 1, 1);
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){0});
	atomic_store(&h.r.shm.phd.control->loading, 1);
	health_report(&h, &apdu);
	health_counted(&h, BP_C_PHD_DISCARDED_UNKNOWN_SESSION, 1, BP_C_DROP_PHD_SESSIONS_LOADING, 1,
		BP_C_COUNT);
	slot = health_session(&h, 0, 2); /* it was read */
	health_report(&h, &apdu);
	goes(&h, slot, 0, 0, SPO2, con1);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PHD_OBSERVATIONS, 1, BP_C_CSE_REQUESTS, 1, BP_C_COUNT);
	health_stop(&h);
}

static void is_slow(struct health *h)
{
	const struct bytes apdu = one(true, 1, 1);

	is_punted(h, &apdu, BP_C_PUNT_PHD_SLOW_PATH);
}

/* The control plane knows of no address to send from: there is a way, but no one could answer. */
static void no_source(void **state)
{
	const struct bytes apdu = one(true, 1, 1);

	(void)state;
	for (int cse6 = 0; cse6 < 2; cse6++) {
		struct bp_phd_settings without;
		struct health h;
		uint32_t slot;

		health_start(&h, &(struct health_options){.cse6 = cse6 != 0});
		slot = health_session(&h, 0, 2);
		without = h.plan;
		memset(without.source + (cse6 ? 0 : 12), 0, cse6 ? 16 : 4);
		bp_phd_settings_publish(h.phd, &without);
		is_slow(&h);
		bp_phd_settings_publish(h.phd, &h.plan);
		health_report(&h, &apdu);
		goes(&h, slot, 0, 0, SPO2, con1);
		health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
			BP_C_PHD_OBSERVATIONS, 1, BP_C_CSE_REQUESTS, 1, BP_C_COUNT);
		health_stop(&h);
	}
}

static void the_slow_path(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 0xb5};
	struct bytes apdu;
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){0});
	slot = health_session(&h, 0, 2);
	bp_phd_session_word(h.phd, slot, BP_PHD_OPERATING, 0, 0); /* not READY */
	is_slow(&h);
	bp_phd_session_word(h.phd, slot, BP_PHD_OPERATING, BP_PHD_READY, BP_PHD_NO_LAYOUT);
	is_slow(&h);
	bp_phd_session_word(h.phd, slot, BP_PHD_OPERATING, BP_PHD_READY, 0);
	health_neighbor(&h, B, false, h.cse.ip, NULL);
	is_slow(&h);
	health_route(&h, "10.2.0.5", 32, BP_ROUTE_BLACKHOLE, -1, NULL);
	is_slow(&h);
	health_route(&h, "10.2.0.5", 32, BP_ROUTE_UNREACHABLE, -1, NULL);
	is_slow(&h);
	health_route(&h, "10.2.0.5", 32, BP_ROUTE_LOCAL, -1, NULL);
	is_slow(&h);
	/* out of C a request of this length does not fit */
	health_neighbor(&h, C, false, h.cse.ip, mac);
	health_route(&h, "10.2.0.5", 32, BP_ROUTE_UNICAST, C, NULL);
	apdu = one(true, 1, 1);
	health_report(&h, &apdu);
	{
		const struct bytes f = wire_frame(false, &h.device, &h.gateway, &apdu);

		health_kernel(&h, A, &f);
	}
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PUNT_PHD_SLOW_PATH, 1, BP_C_COUNT);
	health_interface(&h, C, false, 1500);
	is_slow(&h);
	/* a gateway that is resolved */
	health_route(&h, "10.2.0.5", 32, BP_ROUTE_UNICAST, B, "10.2.0.9");
	is_slow(&h);
	health_neighbor(&h, B, false, (const uint8_t[16]){10, 2, 0, 9}, mac);
	health_report(&h, &apdu);
	goes(&h, slot, 0, 0, SPO2, con1);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PHD_OBSERVATIONS, 1, BP_C_CSE_REQUESTS, 1, BP_C_COUNT);
	health_stop(&h);
}

static void too_long_for_a_message(void **state)
{
	const struct bytes apdu = one(false, 1, 1);
	struct bytes f;
	struct health h;

	health_start(&h, &(struct health_options){.max = 100});
	health_session(&h, 0, 2);
	health_report(&h, &apdu);
	f = wire_frame(false, &h.device, &h.gateway, &apdu);
	health_kernel(&h, A, &f);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PUNT_PHD_SLOW_PATH, 1, BP_C_COUNT);
	health_stop(&h);
}

/* Reports of which nothing is stored, confirmed and not. */
static void discarded_frames(void **state)
{
	static const struct {
		uint32_t at;
		uint8_t byte;
		bp_counter_t why;
	} faults[] = {
		{3, 30, BP_C_PHD_DISCARDED_LENGTH},  /* the APDU's length */
		{5, 20, BP_C_PHD_DISCARDED_LENGTH},  /* the octet string's */
		{11, 25, BP_C_PHD_DISCARDED_LENGTH}, /* the event report's */
		{13, 1, BP_C_PHD_DISCARDED_HANDLE},  /* not the MDS */
		{27, 3, BP_C_PHD_DISCARDED_LENGTH},  /* how many there are */
		{29, 9, BP_C_PHD_DISCARDED_LENGTH},  /* bytes of all */
		{33, 3, BP_C_PHD_DISCARDED_LENGTH},  /* bytes of one */
		{31, 77, BP_C_PHD_UNKNOWN_HANDLE},
	};
	struct health h;

	health_start(&h, &(struct health_options){0});
	health_session(&h, 0, 2);
	for (unsigned i = 0; i < 2 * sizeof(faults) / sizeof(faults[0]); i++) {
		struct bytes apdu = one(i % 2, 1, 1), f;

		apdu.b[faults[i / 2].at] = faults[i / 2].byte;
		health_report(&h, &apdu);
		f = wire_frame(false, &h.device, &h.gateway, &apdu);
		if (i % 2 != 0)
			health_kernel(&h, A, &f);
		health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, i % 2,
			faults[i / 2].why, 1, BP_C_PUNT_PHD_RESPONSE, i % 2,
			BP_C_DROP_PHD_DISCARDED, (i + 1) % 2, BP_C_COUNT);
	}
	for (unsigned confirmed = 0; confirmed < 2; confirmed++) {
		/* a value of three bytes where the map says two: the lengths agree */
		struct bytes apdu = one(confirmed, 1, 1), f;
		static const uint8_t lengths[] = {3, 5, 11, 21, 29, 33};

		for (unsigned k = 0; k < sizeof(lengths); k++)
			apdu.b[lengths[k]]++;
		put8(&apdu, 0);
		health_report(&h, &apdu);
		f = wire_frame(false, &h.device, &h.gateway, &apdu);
		if (confirmed)
			health_kernel(&h, A, &f);
		health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, confirmed,
			BP_C_PHD_DISCARDED_MAP, 1, BP_C_PUNT_PHD_RESPONSE, confirmed,
			BP_C_DROP_PHD_DISCARDED, !confirmed, BP_C_COUNT);
	}
	health_stop(&h);
}

static void a_report_without_observations(void **state)
{
	struct bytes apdu = report_vector("S19"), answer = response_stored(0x26, FIXED);
	struct health h;

	health_start(&h, &(struct health_options){0});
	health_session(&h, 0, 2);
	health_report(&h, &apdu);
	health_answer(&h, &answer);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1, BP_C_PHD_RESPONSES,
		1, BP_C_COUNT);
	apdu.b[9] = 0; /* unconfirmed */
	health_report(&h, &apdu);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_DROP_PHD_EMPTY_UNCONFIRMED, 1, BP_C_COUNT);
	health_stop(&h);
}

/* ---- want ---- */

static void run_out_of_ids(bool per_report)
{
	struct bytes apdu;
	struct health h;
	uint32_t slot;
	unsigned n = 0;

	health_start(&h, &(struct health_options){.ports = 1, .per_report = per_report});
	slot = health_session(&h, 0, 2);
	/* 65,536 of them in one second; less than 64 can be lost at the end */
	for (;; n++) {
		apdu = one(false, n & 0xffff, n & 0xffff);
		rig_put(&h.r, A, wire_frame(false, &h.device, &h.gateway, &apdu).b, 42 + apdu.len);
		if (n % 32 != 31)
			continue;
		rig_walk(&h.r);
		for (struct rte_mbuf *m; (m = bp_ring_ports_take(&h.r.ports, B)) != NULL;)
			rte_pktmbuf_free(m);
		if (h.r.shm.counters[0].v[BP_C_DROP_PHD_NO_MESSAGE_ID] != 0)
			break;
		assert_true(n < 70000);
	}
	assert_in_range(h.r.shm.counters[0].v[BP_C_CSE_REQUESTS], 65536 - 64, 65536);
	assert_int_equal(h.r.shm.counters[0].v[BP_C_CSE_REQUESTS] +
				 h.r.shm.counters[0].v[BP_C_DROP_PHD_NO_MESSAGE_ID],
		n + 1);
	memcpy(h.seen, h.r.shm.counters[0].v, sizeof(h.seen));
	/* an unsent report is not recorded: its repetition is a new report */
	health_time(&h, HEALTH_NOW_NS + 246 * 1000000000ull);
	apdu = one(true, 0x4242, 1);
	health_report(&h, &apdu);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_DROP_PHD_NO_MESSAGE_ID, 1, BP_C_COUNT);
	health_time(&h, HEALTH_NOW_NS + 249 * 1000000000ull);
	health_report(&h, &apdu);
	health_named(&h, (struct request[]){health_request(&h)}, slot,
		(unsigned)h.r.shm.counters[0].v[BP_C_PHD_OBSERVATIONS] - 1);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PHD_OBSERVATIONS, 1, BP_C_CSE_REQUESTS, 1, BP_C_CSE_UNACKNOWLEDGED, 1,
		BP_C_COUNT);
	health_stop(&h);
}

/* The same where reports go the quick way. */
static void no_message_ids_left(void **state)
{
	(void)state;
	run_out_of_ids(false);
	run_out_of_ids(true);
}

static void no_buffers_left(void **state)
{
	const struct bytes apdu = two(true, 3, 1);
	struct rte_mbuf *all[RIG_MBUFS];
	unsigned n = 0;
	struct bytes f;
	struct health h;
	uint32_t slot;

	health_start(&h, &(struct health_options){0});
	slot = health_session(&h, 0, 2);
	f = wire_frame(false, &h.device, &h.gateway, &apdu);
	rig_put(&h.r, A, f.b, f.len);
	while ((all[n] = rte_pktmbuf_alloc(h.r.pool)) != NULL)
		n++;
	rig_walk(&h.r);
	rte_pktmbuf_free_bulk(all, n);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1,
		BP_C_PHD_OBSERVATIONS, 2, BP_C_DROP_PHD_NO_MBUF, 1, BP_C_COUNT);
	/* the session says what was to be sent, and the repeat sends it */
	health_report(&h, &apdu);
	goes(&h, slot, 0, 0, SPO2, con1);
	goes(&h, slot, 0, 1, PULSE, con2);
	health_counted(&h, BP_C_PHD_REPORTS, 1, BP_C_PHD_REPORTS_CONFIRMED, 1, BP_C_PHD_DUPLICATES,
		1, BP_C_CSE_REQUESTS, 2, BP_C_CSE_REQUEST_FRAME, 1, BP_C_COUNT);
	health_stop(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signalling_is_the_managers),
		cmocka_unit_test(unknown_sessions),
		cmocka_unit_test(no_unknown_session_is_answered_at_rate_0),
		cmocka_unit_test(while_sessions_are_read_back),
		cmocka_unit_test(no_source),
		cmocka_unit_test(the_slow_path),
		cmocka_unit_test(too_long_for_a_message),
		cmocka_unit_test(discarded_frames),
		cmocka_unit_test(a_report_without_observations),
		cmocka_unit_test(no_message_ids_left),
		cmocka_unit_test(no_buffers_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
