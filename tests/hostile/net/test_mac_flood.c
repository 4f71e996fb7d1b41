/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A station on one port of a bridge chooses or invents source addresses: to push the broker's
 * address out of the table, so that its traffic is flooded to where the attacker listens; to fill
 * the table; to draw a live station's traffic to itself.
 */
#include "biplane/counters/general.h"
#include "tests/unit/dataplane/fixture.h"
#include "tests/unit/dataplane/test.h"

#include <string.h>

#include "dataplane/forwarding/mac_table.h"

#define S 1000000000ull
#define AGEING (300 * S)
#define BROKER 0x0a0000000001ull
enum { ATTACKER, DEVICES, CLOUD };

static struct bp_mac_table *make(uint32_t entries)
{
	struct bp_mac_table *t = bp_mac_table_create(entries, AGEING);

	assert_non_null(t);
	for (unsigned p = ATTACKER; p <= CLOUD; p++)
		bp_mac_table_set_bridge(t, (uint8_t)p, 0);
	return t;
}

/* Four addresses that share a bucket with the broker's under the hash that has no key. */
static void chosen_addresses_do_not_evict_the_broker(void **state)
{
	struct bp_mac_table *t = make(8192);
	unsigned chosen = 0;

	assert_int_equal(bp_mac_learn(t, BROKER, CLOUD, S), BP_MAC_NEW);
	for (uint64_t mac = 2; chosen < 64; mac += 2) {
		const uint64_t h = mac * 0x9e3779b97f4a7c15ull;
		const uint64_t b = BROKER * 0x9e3779b97f4a7c15ull;

		if (((h ^ h >> 32) & 2047) != ((b ^ b >> 32) & 2047))
			continue;
		bp_mac_learn(t, mac, ATTACKER, S + 60 * S);
		chosen++;
	}
	assert_int_equal(bp_mac_lookup(t, BROKER, 0, S + 60 * S), CLOUD);
	bp_mac_table_free(t);
}

/* The same by an attacker who knows the hash key: every address is in one bucket. */
static void full_bucket_keeps_entries_of_other_ports(void **state)
{
	struct bp_mac_table *t = make(8192);
	enum bp_mac_change c;

	t->mask = 0;
	bp_mac_learn(t, BROKER, CLOUD, S);
	for (uint64_t mac = 2; mac < 2000; mac += 2) {
		c = bp_mac_learn(t, mac, ATTACKER, S + 60 * S);
		assert_true(c == BP_MAC_NEW || c == BP_MAC_EVICTED);
	}
	assert_int_equal(bp_mac_lookup(t, BROKER, 0, S + 60 * S), CLOUD);
	bp_mac_table_free(t);
}

static void a_flood_leaves_other_ports_their_entries(void **state)
{
	struct bp_mac_table *t = make(8192);
	unsigned learned = 0;

	for (uint64_t n = 0; n < 1000; n++)
		bp_mac_learn(t, BROKER + 0x100 * n, CLOUD, S);
	for (uint64_t n = 0; n < 100000; n++)
		bp_mac_learn(t, 0x020000000000ull + 0x1000 * n, ATTACKER, S + 60 * S + n * 1000);
	for (uint64_t n = 0; n < 1000; n++)
		assert_int_equal(bp_mac_lookup(t, BROKER + 0x100 * n, 0, S + 61 * S), CLOUD);
	/* the attacker has what one port may have, and not more */
	assert_int_equal(t->held[ATTACKER], 8192);
	/* and a port that comes later still has its share */
	for (uint64_t n = 0; n < 8192 / 3; n++) {
		bp_mac_learn(t, 0x040000000000ull + 0x100 * n, DEVICES, S + 62 * S);
		learned +=
			bp_mac_lookup(t, 0x040000000000ull + 0x100 * n, 0, S + 62 * S) == DEVICES;
	}
	assert_in_range(learned, 8192 / 3 * 99 / 100, 8192 / 3);
	for (uint64_t n = 0; n < 1000; n++)
		assert_int_equal(bp_mac_lookup(t, BROKER + 0x100 * n, 0, S + 62 * S), CLOUD);
	bp_mac_table_free(t);
}

static void counters_stay_exact(void **state)
{
	struct bp_mac_table *t = make(64);
	uint32_t held[3];
	uint64_t x = 1, beyond = 0, now = S;

	for (unsigned n = 0; n < 200000; n++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		now += (x >> 40) % (20 * S / 100);
		bp_mac_learn(t, 2 + (x >> 33) % 300, (uint8_t)((x >> 20) % 3), now);
		if (n % 16 == 0)
			bp_mac_table_tick(t, now);
	}
	memset(held, 0, sizeof(held));
	for (uint64_t i = 0; i < (t->mask + 1) * BP_MAC_WAYS; i++)
		if (t->entry[i] >> 48 & 0xff)
			held[(t->entry[i] >> 48 & 0xff) - 1]++;
	for (unsigned p = 0; p < 3; p++) {
		assert_int_equal(held[p], t->held[p]);
		assert_in_range(held[p], 0, 64);
		beyond += held[p] > t->share ? held[p] - t->share : 0;
	}
	assert_int_equal(beyond, t->borrowed);
	bp_mac_table_free(t);
}

/* The attacker sends with the broker's source address, again and again; the broker sends too. */
static void a_spoofed_source_does_not_keep_the_traffic(void **state)
{
	struct bp_mac_table *t = make(8192);
	const uint64_t tick = AGEING / 64;
	unsigned stolen = 0;
	uint64_t now = S;

	for (; now < 100 * S; now += S)
		bp_mac_learn(t, BROKER, CLOUD, now);
	assert_int_equal(bp_mac_learn(t, BROKER, ATTACKER, now), BP_MAC_MOVED);
	assert_int_equal(bp_mac_learn(t, BROKER, CLOUD, now), BP_MAC_MOVED);
	for (unsigned n = 0; n < 2000; n++, now += tick / 10) {
		/* ten times as often as the broker */
		assert_int_equal(bp_mac_learn(t, BROKER, ATTACKER, now), BP_MAC_REFUSED);
		stolen += bp_mac_lookup(t, BROKER, 0, now) != CLOUD;
		if (n % 10 == 0)
			bp_mac_learn(t, BROKER, CLOUD, now);
		bp_mac_table_tick(t, now);
	}
	assert_int_equal(stolen, 0);
	/* a station that is silent for long may be taken over, and has its traffic back at once */
	now += 10 * tick;
	assert_int_equal(bp_mac_learn(t, BROKER, ATTACKER, now), BP_MAC_MOVED);
	now += 10 * tick;
	bp_mac_learn(t, BROKER, ATTACKER, now);
	assert_int_equal(bp_mac_learn(t, BROKER, CLOUD, now), BP_MAC_MOVED);
	assert_int_equal(bp_mac_learn(t, BROKER, ATTACKER, now), BP_MAC_REFUSED);
	assert_int_equal(bp_mac_lookup(t, BROKER, 0, now), CLOUD);
	bp_mac_table_free(t);
}

/* No attacker: a station that is carried from port to port is followed at once, also back, as long
 * as it does not come and go within a few seconds. */
static void a_station_that_moves_is_followed(void **state)
{
	struct bp_mac_table *t = make(8192);
	uint64_t now = S;

	bp_mac_learn(t, BROKER, CLOUD, now);
	for (unsigned n = 0; n < 30; n++) {
		now += (uint64_t)BP_MAC_QUIET << t->shift;
		assert_int_equal(bp_mac_learn(t, BROKER, (uint8_t)(n % 3), now), BP_MAC_MOVED);
		assert_int_equal(bp_mac_lookup(t, BROKER, 0, now), n % 3);
	}
	bp_mac_table_free(t);
}

/* ---- through the node ---- */

#define YAML                                                                                       \
	"ports: [{name: a, device: a}, {name: b, device: b}, {name: c, device: c}]\n"              \
	"bridges: [{name: bridge0, ports: [a, b, c], fdb_max_entries: 1024}]\n"

static void source_of(uint8_t *f, uint32_t n)
{
	f[6] = 0x06;
	memcpy(f + 7, &n, sizeof(n));
}

static void a_flood_is_counted_by_port(void **state)
{
	uint8_t f[64], broker[64], answer[64];
	struct rig r;

	rig_start(&r, YAML, false, false);
	frame_make(broker, sizeof(broker), 9, 1, 0x0800);
	rig_put(&r, CLOUD, broker, sizeof(broker));
	rig_walk(&r);
	rig_expect(&r, ATTACKER, broker, sizeof(broker));
	rig_expect(&r, DEVICES, broker, sizeof(broker));
	frame_make(f, sizeof(f), 1, 9, 0x0800);
	for (uint32_t n = 0; n < 100000; n++) {
		source_of(f, n);
		rig_put(&r, ATTACKER, f, sizeof(f));
		rig_walk(&r);
		rig_expect(&r, CLOUD, f, sizeof(f)); /* none is flooded: the broker's is known */
	}
	assert_int_equal(rig_counter(&r, BP_C_MAC_LEARNED), 100001);
	assert_int_equal(rig_counter(&r, BP_C_MAC_EVICTED), 100000 - 1024);
	assert_int_equal(r.shm.port_stats[ATTACKER].mac_table_full, 100000 - 1024);
	assert_int_equal(r.shm.port_stats[CLOUD].mac_table_full, 0);
	/* now the broker's own address, while the broker sends */
	frame_make(f, sizeof(f), 9, 7, 0x0800);
	frame_make(answer, sizeof(answer), 5, 9, 0x0800);
	for (unsigned n = 0; n < 10; n++) {
		rig_put(&r, ATTACKER, f, sizeof(f));
		rig_walk(&r);
		rig_expect(&r, DEVICES, f, sizeof(f));
		rig_expect(&r, CLOUD, f, sizeof(f));
		rig_put(&r, CLOUD, broker, sizeof(broker));
		rig_walk(&r);
		rig_expect(&r, ATTACKER, broker, sizeof(broker));
		rig_expect(&r, DEVICES, broker, sizeof(broker));
		rig_put(&r, DEVICES, answer, sizeof(answer));
		rig_walk(&r);
		rig_expect(&r, CLOUD, answer, sizeof(answer));
	}
	assert_int_equal(r.shm.port_stats[ATTACKER].mac_moves, 1);
	assert_int_equal(r.shm.port_stats[ATTACKER].mac_moves_refused, 9);
	assert_int_equal(r.shm.port_stats[CLOUD].mac_moves, 1);
	rig_stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chosen_addresses_do_not_evict_the_broker),
		cmocka_unit_test(full_bucket_keeps_entries_of_other_ports),
		cmocka_unit_test(a_flood_leaves_other_ports_their_entries),
		cmocka_unit_test(counters_stay_exact),
		cmocka_unit_test(a_spoofed_source_does_not_keep_the_traffic),
		cmocka_unit_test(a_station_that_moves_is_followed),
		cmocka_unit_test(a_flood_is_counted_by_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
