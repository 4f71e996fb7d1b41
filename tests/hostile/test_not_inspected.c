/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No attacker: connections whose MQTT biplane does not read (TLS on an inspected port, picked up
 * mid-stream, given up). They are listed with reason and age, and are a fault when it lasts.
 */
#include "test.h"

#include <string.h>

#include "services/mqtt/flow_show.h"
#include "rig.h"
#include "tests/unit/proto/tls/hellos.h"

#define SECOND 1000000000ull

static struct rig rig;

struct seen {
	unsigned flows, unread;
	uint64_t longest_ms;
	char reasons[256];
};

static int visit(const struct bp_flow_view *v, void *arg)
{
	struct seen *s = arg;

	s->flows++;
	if (!v->unread)
		return 0;
	s->unread++;
	if (v->unread_ms > s->longest_ms)
		s->longest_ms = v->unread_ms;
	strcat(s->reasons, v->unread_reason);
	strcat(s->reasons, " ");
	return 0;
}

static struct seen shown(void)
{
	struct seen s = {0};

	assert_int_equal(
		bp_flow_visit(rig.shm.flows, rig.shm.flows_len, 1, rig.mono_ns, visit, &s), 0);
	return s;
}

/* Of all connections, whatever the limit: the numbers that `show` lists. */
static void check_of_all(const struct bp_inspected *all)
{
	const struct seen s = shown();
	uint32_t not_inspected = 0;

	for (unsigned r = 0; r < BP_FLOW_UNREAD_REASONS; r++) {
		not_inspected += all->reason[r];
		if (all->reason[r] != 0)
			assert_non_null(strstr(s.reasons, bp_flow_unread_reason(r)));
	}
	assert_int_equal(not_inspected, s.unread);
	assert_int_equal(all->inspected, s.flows - s.unread);
}

/* Whole turns of the table. */
static struct bp_unread scanned(uint64_t limit_ns, uint32_t budget)
{
	struct bp_unread_scan s = {0};

	for (unsigned i = 0; i < 5000; i++)
		bp_unread_scan(&s, rig.shm.flows, rig.shm.flows_len, rig.mono_ns, limit_ns, budget);
	check_of_all(&s.last_of_all);
	return s.last;
}

static void open_rig(void)
{
	rig_defaults(&rig);
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
}

static void tls_is_reported(void **state)
{
	struct peer c, good;
	struct bp_unread u;

	(void)state;
	open_rig();
	peer_init(&good, false, 1, 1, 2);
	rig_connect(&rig, &good, 4, "good");
	peer_init(&c, true, 2, 1, 2);
	rig_handshake(&rig, &c);
	assert_int_equal(shown().unread, 0);
	rig_send(&rig, &c, CLIENT, tls_client13, sizeof(tls_client13));
	rig_send(&rig, &c, BROKER, tls_server13, sizeof(tls_server13));
	assert_int_equal(shown().unread, 1);
	assert_string_equal(shown().reasons, "not_inspected_tls ");
	for (unsigned i = 0; i < 90; i++) {
		rig_advance(&rig, SECOND);
		rig_send(&rig, &c, CLIENT, "\x17\x03\x03\x00\x01x", 6);
	}
	assert_in_range(shown().longest_ms, 89000, 91000);
	for (uint32_t budget = 1; budget < 10000; budget *= 7) {
		u = scanned(60 * SECOND, budget);
		assert_int_equal(u.connections, 1);
		assert_in_range(u.longest_ns, 89 * SECOND, 91 * SECOND);
	}
	assert_int_equal(scanned(100 * SECOND, 1000).connections, 0); /* not for so long */
	/* no one uses it any more */
	rig_advance(&rig, 7 * SECOND);
	assert_int_equal(scanned(5 * SECOND, 1000).connections, 0);
	/* and closed it is no connection that passes unread */
	rig_fin_both(&rig, &c);
	assert_int_equal(shown().unread, 0);
	rig_close(&rig);
}

static void midstream_is_reported_until_proven(void **state)
{
	struct bytes b = {0};
	struct peer c;

	(void)state;
	open_rig();
	peer_init(&c, false, 1, 1000, 2000);
	for (unsigned i = 0; i < 3; i++) {
		mq_publish(&b, &(struct mq_publish){.version = 4,
				       .qos = 1,
				       .id = (uint16_t)(i + 1),
				       .topic = "t/x",
				       .payload = "1"});
		rig_send_bytes(&rig, &c, CLIENT, &b);
		rig_advance(&rig, SECOND);
		if (i == 0) {
			assert_int_equal(shown().unread, 1);
			assert_string_equal(shown().reasons, "midstream ");
		}
		mq_ack(&b, MQ_PUBACK, (uint16_t)(i + 1));
		rig_send_bytes(&rig, &c, BROKER, &b);
	}
	assert_int_equal(shown().flows, 1);
	assert_int_equal(shown().unread, 0);
	rig_close(&rig);
}

/* An invalid or missing table is no fault. */
static void random_tables(void **state)
{
	static _Alignas(64) uint8_t memory[4096]; /* as a segment */
	struct bp_unread_scan s = {0};
	uint64_t random = 7;

	(void)state;
	bp_unread_scan(&s, memory, sizeof(memory), 1, 1, 1000);
	open_rig();
	for (unsigned i = 0; i < 20000; i++) {
		memcpy(memory, rig.shm.flows, 64);
		memory[8 + test_below(&random, 56)] = (uint8_t)test_random(&random);
		bp_unread_scan(&s, memory, sizeof(memory), 1, 1, 1000);
	}
	assert_int_equal(s.last.connections, 0);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tls_is_reported),
		cmocka_unit_test(midstream_is_reported_until_proven),
		cmocka_unit_test(random_tables),
	};

	return cmocka_run_group_tests_name("not_inspected", tests, NULL, NULL);
}
