/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client, or a path that loses and reorders, leaves thousands of holes in one window: the bound
 * is the configured bytes, not a number of holes, and the order in which the pieces come does not
 * matter.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <stdlib.h>

#include "stream_steps.h"

enum { PIECES = 5000 }; /* of 12 bytes: within a window without scaling */

static void shuffle(uint32_t *order, uint32_t n, uint64_t seed)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t k, swap;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		k = (uint32_t)(seed >> 33) % i;
		swap = order[i - 1];
		order[i - 1] = order[k];
		order[k] = swap;
	}
}

static void open_wide(void)
{
	struct bp_rule_spec rule = rig_rule("overheat", "plant/+/temperature", BP_COND_GT, 80);

	rig_defaults(&rig);
	rig.mqtt.reorder_buffer = 2 * 1024 * 1024;
	rig.mqtt.reassembly_per_connection = 4 * 1024 * 1024;
	rig.mqtt.reassembly_total = 16 * 1024 * 1024;
	rig_open(&rig);
	rig_rules(&rig, &rule, 1);
}

/* Every second piece of a long stream first, in random order; then the others, from behind. */
static void thousands_of_gaps(void **state)
{
	static uint32_t order[PIECES];
	struct bytes b = {0};
	uint64_t publishes = 0;
	struct peer c;
	size_t step;

	(void)state;
	open_wide();
	peer_init(&c, false, 1, 0xfffffc00u, 9);
	rig_connect(&rig, &c, 4, "x");
	for (; b.n < PIECES * 12; publishes++)
		hot(&b, publishes % 100 == 0 ? "81" : "18");
	step = b.n / PIECES;
	for (uint32_t i = 0; i < PIECES; i++)
		order[i] = i;
	shuffle(order, PIECES, 7);
	for (uint32_t i = 0; i < PIECES; i++)
		if (order[i] % 2 == 1)
			piece(&c, &b, order[i] * step,
				order[i] + 1 == PIECES ? b.n : (order[i] + 1) * step);
	assert_int_equal(rig_count(&rig, BP_C_SEG_OUT_OF_ORDER), PIECES / 2);
	for (uint32_t i = PIECES; i-- > 0;)
		if (i % 2 == 0)
			piece(&c, &b, i * step, (i + 1) * step);
	assert_int_equal(rig_count(&rig, BP_C_SEG_REORDER_FULL), 0);
	assert_int_equal(rig_count(&rig, BP_C_RESYNC_STARTED), 0);
	assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), publishes);
	assert_int_equal(rig_told_count(&rig), (publishes + 99) / 100);
	c.seq[CLIENT] += (uint32_t)b.n;
	close_at_end(&c);
	bytes_free(&b);
	rig_close(&rig);
}

/* One whole stream in pieces of every size and order, each twice: read once, in order. */
static void random_pieces(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint32_t order[400], n = 0, cut[401];
		uint64_t s = seed, publishes = 0;
		struct bytes b = {0};
		struct peer c;

		open_wide();
		peer_init(&c, false, 1, (uint32_t)(0 - 5000 * seed), 9);
		rig_connect(&rig, &c, 4, "x");
		for (; publishes < 300; publishes++)
			hot(&b, "81");
		for (cut[0] = 0; n < 399 && cut[n] < b.n; n++) {
			s = s * 6364136223846793005u + 1442695040888963407u;
			cut[n + 1] = cut[n] + 1 + (uint32_t)(s >> 33) % 200;
		}
		if (cut[n] < b.n)
			cut[++n] = (uint32_t)b.n;
		cut[n] = (uint32_t)b.n;
		for (unsigned twice = 0; twice < 2; twice++) {
			for (uint32_t i = 0; i < n; i++)
				order[i] = i;
			shuffle(order, n, seed + twice);
			for (uint32_t i = 0; i < n; i++)
				piece(&c, &b, cut[order[i]], cut[order[i] + 1]);
		}
		assert_int_equal(rig_count(&rig, BP_C_MQTT_PUBLISH), publishes);
		assert_int_equal(rig_told_count(&rig), publishes);
		c.seq[CLIENT] += (uint32_t)b.n;
		close_at_end(&c);
		bytes_free(&b);
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thousands_of_gaps),
		cmocka_unit_test(random_pieces),
	};

	return cmocka_run_group_tests_name("holes", tests, NULL, NULL);
}
