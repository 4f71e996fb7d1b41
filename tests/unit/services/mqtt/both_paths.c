/* SPDX-License-Identifier: BSD-3-Clause */
#include "both_paths.h"

#include "test.h"

struct rig general, burst;

void open_both(const struct bp_rule_spec *rules, uint32_t n, bool trust)
{
	struct rig *r[] = {&general, &burst};

	for (unsigned i = 0; i < 2; i++) {
		rig_defaults(r[i]);
		r[i]->mqtt.max_connections = 64;
		r[i]->trust_checksums = trust;
		rig_open(r[i]);
		if (rules != NULL)
			rig_rules(r[i], rules, n);
	}
	burst.bursts = true;
}

static void same_alarm(const struct told *a, const struct told *b)
{
	struct told x = *a, y = *b;

	assert_int_equal(a->payload_len, b->payload_len);
	assert_memory_equal(a->payload, b->payload, a->payload_len);
	x.payload = y.payload = NULL; /* else equal to the byte: both were cleared first */
	assert_memory_equal(&x, &y, sizeof(x));
}

size_t same_alarms(void)
{
	struct told_list a = rig_told(&general), b = rig_told(&burst);
	const size_t n = a.n;

	assert_int_equal(a.n, b.n);
	for (size_t i = 0; i < n; i++)
		same_alarm(&a.a[i], &b.a[i]);
	told_free(&a);
	told_free(&b);
	return n;
}

void same(const char *what, uint64_t seed, unsigned step)
{
	for (unsigned c = 0; c < BP_C_COUNT; c++) {
		if (rig_count(&general, c) != rig_count(&burst, c))
			fail_msg("%s, seed %lu, step %u: %s is %lu, not %lu", what,
				(unsigned long)seed, step, bp_counter_info[c].name,
				(unsigned long)rig_count(&burst, c),
				(unsigned long)rig_count(&general, c));
	}
	(void)same_alarms();
}

void same_tables(void)
{
	assert_int_equal(general.shm.flows_len, burst.shm.flows_len);
	assert_memory_equal(general.shm.flows, burst.shm.flows, general.shm.flows_len);
	assert_memory_equal(general.shm.rule_stats, burst.shm.rule_stats,
		general.shm.max_rules * sizeof(struct bp_rule_stats));
	assert_memory_equal(general.shm.rule_state, burst.shm.rule_state,
		general.shm.rule_state_len * sizeof(struct bp_rule_state));
}

void close_both(void)
{
	rig_close(&general);
	rig_close(&burst);
}

void both(const uint8_t *frame, size_t n)
{
	rig_frame(&general, frame, n);
	rig_frame(&burst, frame, n);
}

void connect_both(struct peer *c, uint8_t version)
{
	struct peer again = *c;

	if (version == 5) {
		rig_connect_alias(&general, c, "c", 3, 3);
		rig_connect_alias(&burst, &again, "c", 3, 3);
	} else {
		rig_connect(&general, c, version, "c");
		rig_connect(&burst, &again, version, "c");
	}
}
