/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections as another process reads them: services/mqtt/flow_show.h. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "services/mqtt/flow.h"
#include "services/mqtt/flow_show.h"
#include "rig.h"

static struct rig rig;
static struct peer peer;

static int open_rig(void **state)
{
	(void)state;
	rig_defaults(&rig);
	rig_open(&rig);
	rig_rules(&rig, (struct bp_rule_spec[]){rig_rule("r", "t/#", BP_COND_GT, 80)}, 1);
	peer_init(&peer, false, 77, 1, 2);
	rig_connect(&rig, &peer, 4, "oven 7");
	return 0;
}

static int close_rig(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

static int copy_view(const struct bp_flow_view *v, void *arg)
{
	*(struct bp_flow_view *)arg = *v;
	return 1;
}

static struct bp_flow_view the_view(void)
{
	struct bp_flow_view v;

	assert_int_equal(
		bp_flow_visit(rig.shm.flows, rig.shm.flows_len, 1, rig.mono_ns, copy_view, &v), 1);
	return v;
}

static const char *client_id(const struct bp_flow_view *v, size_t size)
{
	static char id[256];

	memset(id, 'x', sizeof(id));
	bp_flow_client_id(v, rig.shm.reassembly, rig.shm.reassembly_len, 1, id, size);
	return id;
}

static void a_client_identifier_is_read_from_the_segment(void **state)
{
	struct bp_flow_view v = the_view();

	(void)state;
	assert_true(v.established);
	assert_string_equal(client_id(&v, 256), "oven 7");
	assert_string_equal(client_id(&v, 5), "oven");
	assert_string_equal(client_id(&v, 1), "");
	/* any reference is safe */
	for (uint64_t i = 0; i < 100000; i++) {
		v.client_id_ref = (uint32_t)(i * 2654435761u);
		v.client_id_len = (uint16_t)i;
		assert_true(strlen(client_id(&v, 256)) < 256);
	}
	v.worker = 1;
	assert_string_equal(client_id(&v, 256), "");
}

static uint64_t slot_of_the_connection(struct bp_flow_brief *b)
{
	const uint64_t slots = bp_flow_slots(rig.shm.flows, rig.shm.flows_len, 1, 0);
	uint64_t found = slots;

	assert_true(slots > 0);
	for (uint64_t i = 0; i < slots; i++) {
		if (!bp_flow_brief_at(rig.shm.flows, rig.shm.flows_len, 1, 0, i, b))
			continue;
		assert_int_equal(found, slots);
		found = i;
	}
	assert_true(found < slots);
	assert_true(bp_flow_brief_at(rig.shm.flows, rig.shm.flows_len, 1, 0, found, b));
	assert_false(bp_flow_brief_at(rig.shm.flows, rig.shm.flows_len, 1, 0, slots, b));
	return found;
}

static void publications_are_counted_per_slot(void **state)
{
	struct bp_flow_brief before, after;
	struct bp_flow_view v;
	uint64_t slot;

	(void)state;
	rig_publish_text(&rig, &peer, "t/a", "1");
	slot = slot_of_the_connection(&before);
	assert_int_equal(before.publishes, 1);
	rig_publish_text(&rig, &peer, "t/b", "1");
	rig_publish_text(&rig, &peer, "t/b", "1");
	rig_advance(&rig, 5000000000ull);
	assert_int_equal(slot_of_the_connection(&after), slot);
	assert_int_equal(after.publishes, 3);
	assert_int_equal(after.life, before.life);
	assert_true(bp_flow_idle_ms(after.seen, rig.mono_ns) / 1000 == 4 ||
		    bp_flow_idle_ms(after.seen, rig.mono_ns) / 1000 == 5);
	/* a worker may be ahead of the reader */
	assert_true(bp_flow_idle_ms(after.seen + 1, (uint64_t)after.seen << 20) == 0);
	assert_true(bp_flow_view_at(rig.shm.flows, rig.shm.flows_len, 1, 0, slot, rig.mono_ns, &v));
	assert_int_equal(v.client_port, peer.client_port);
	assert_int_equal(v.publishes, 3);
	assert_true(v.topic_generation != 0);
	assert_false(
		bp_flow_view_at(rig.shm.flows, rig.shm.flows_len, 1, 0, slot + 1, rig.mono_ns, &v));
	assert_false(bp_flow_view_at(
		rig.shm.flows, rig.shm.flows_len, 1, 0, UINT64_MAX, rig.mono_ns, &v));
}

/* The header is another process's. */
static void a_damaged_table_has_no_slots(void **state)
{
	struct bp_flow_header *h = (struct bp_flow_header *)(void *)rig.shm.flows, good = *h;
	struct bp_flow_brief b;
	struct bp_flow_view v;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		*h = good;
		if (i == 0)
			h->magic = 0;
		else if (i == 1)
			h->groups = UINT32_MAX;
		else if (i == 2)
			h->flows_offset = UINT64_MAX;
		else
			h->flows_offset++;
		assert_true(bp_flow_slots(rig.shm.flows, rig.shm.flows_len, 1, 0) == 0);
		assert_false(bp_flow_brief_at(rig.shm.flows, rig.shm.flows_len, 1, 0, 0, &b));
		assert_false(bp_flow_view_at(rig.shm.flows, rig.shm.flows_len, 1, 0, 0, 0, &v));
		assert_int_equal(
			bp_flow_visit(rig.shm.flows, rig.shm.flows_len, 1, 0, copy_view, &v),
			i == 0 ? 0 : -1);
	}
	*h = good;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_client_identifier_is_read_from_the_segment, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(
			publications_are_counted_per_slot, open_rig, close_rig),
		cmocka_unit_test_setup_teardown(a_damaged_table_has_no_slots, open_rig, close_rig),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
