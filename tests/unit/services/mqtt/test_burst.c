/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The burst path against the general path, its oracle: the same frames, single PUBLISHes and
 * others, damaged and not, to two workers. After each frame counters, alarms and the flow tables
 * must be equal to the byte.
 */
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/mqtt/mirror_frame.h"
#include "fixture.h"
#include "proto/net/frame.h"
#include "both_paths.h"
#include "tests/unit/times.h"

static const char *some_value(uint64_t *s)
{
	static const char *const values[] = {"79.9", "80", "81", "-3", "+7", "1e3", " 5 ", "",
		"hot", "nan", "0x10", "123456789", "1234567890.12345", ".5", "5.", ".", "-",
		"99999999", "000000080.0", "{\"celsius\": 79}", "{\"celsius\": 81}", "{}"};
	static char number[32];

	if (test_below(s, 2))
		return values[test_below(s, sizeof(values) / sizeof(values[0]))];
	snprintf(number, sizeof(number), "%.*f", (int)test_below(s, 5),
		(double)test_below(s, 200) - 60 + (double)test_below(s, 1000) / 1000);
	return number;
}

static void one_publish(struct bytes *b, uint8_t version, uint64_t *s)
{
	static const char *const topics[] = {
		"plant/a/temperature", "plant/b/temperature", "x", "a/b"};
	static const uint8_t property[] = {0x01, 0};
	const char *value = some_value(s);
	bool default_settings = test_below(s, 8) != 0;

	mq_publish(
		b, &(struct mq_publish){.version = version,
			   .qos = (uint8_t)(default_settings ? test_below(s, 2) : test_below(s, 3)),
			   .id = (uint16_t)(1 + test_below(s, 9)),
			   .dup = !default_settings && test_below(s, 2),
			   .retain = test_below(s, 2),
			   .topic = topics[default_settings ? 0 : test_below(s, 4)],
			   .alias = default_settings ? 0 : (uint16_t)test_below(s, 2),
			   .properties = property,
			   .properties_len = default_settings ? 0 : 2 * (size_t)test_below(s, 2),
			   .payload = value,
			   .payload_len = 0});
}

static void next_frame(struct peer *c, uint8_t version, uint64_t *s)
{
	static uint8_t frame[PEER_FRAME_MAX];
	struct bytes b = {0};
	uint32_t seq = c->seq[CLIENT], ack = c->seq[BROKER];
	size_t n;

	one_publish(&b, version, s);
	if (test_below(s, 20) == 0)
		one_publish(&b, version, s);
	if (test_below(s, 30) == 0) /* cut, and the rest never comes */
		b.n -= test_below(s, (uint32_t)b.n);
	switch (test_below(s, 60)) {
	case 0:
		seq += test_below(s, 20);
		break;
	case 1:
		seq -= test_below(s, 60);
		break;
	case 2:
		ack += test_below(s, 5);
		break;
	case 3: /* a length that takes two bytes without need */
		if (b.p[1] < 0x80 && b.n > 2) {
			bytes_u8(&b, 0);
			memmove(b.p + 3, b.p + 2, b.n - 3);
			b.p[1] |= 0x80;
			b.p[2] = 0;
		}
		break;
	default:
		break;
	}
	n = peer_frame(c, CLIENT, test_below(s, 40) ? TH_ACK | TH_PSH : (uint8_t)test_random(s),
		seq, ack, b.p, b.n, frame);
	if (test_below(s, 20) == 0) { /* damaged, with a right checksum or not */
		frame[(test_below(s, 2) ? 14 : 54) + test_below(s, (uint32_t)n - 54)] ^=
			(uint8_t)(1u << test_below(s, 8));
		if (test_below(s, 2))
			peer_checksums(c, frame, n);
	}
	if (test_below(s, 10) == 0) { /* Ethernet padding */
		memset(frame + n, 0xee, 8);
		n += 8;
	}
	both(frame, n);
	if (seq == c->seq[CLIENT])
		c->seq[CLIENT] += (uint32_t)b.n;
	bytes_free(&b);
}

static void random_frames(void **state)
{
	uint64_t n_read = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct bp_rule_spec rules[FIXTURE_RULES];
		uint64_t s = seed * 0x9e3779b97f4a7c15ull;
		uint8_t version = (uint8_t)(3 + seed % 3);
		struct peer c;

		fixture_rules(rules);
		if (seed % 7 == 0)
			rules[0].repeat = BP_REPEAT_ON_CHANGE;
		/* text only, JSON only, all of them, none */
		open_both(seed % 4 == 3 ? NULL : rules + seed % 2,
			seed % 4 == 2 ? FIXTURE_RULES - 1 : 1, seed % 5 == 0);
		peer_init(&c, false, (uint32_t)seed, 0xfffffc00u, 7);
		connect_both(&c, version);
		for (unsigned step = 0; step < 80; step++) {
			/* damaged connections are soon not inspected: use another one */
			if (step % 16 == 15) {
				peer_init(&c, false, (uint32_t)seed * 100 + step, 0xfffffc00u, 7);
				connect_both(&c, version);
			}
			next_frame(&c, version, &s);
			same("random frames", seed, step);
		}
		same_tables();
		n_read += burst.n_in_bursts - burst.n_general;
		close_both();
	}
	assert_true(n_read > 2000); /* it was really taken */
}

/*
 * Whole batches: several connections, some of whose segments come twice in one batch, with what
 * goes the general way between them. The order of alarms is the order of frames in either case.
 */
static void random_bursts(void **state)
{
	uint64_t n_read = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 150; seed++) {
		struct bp_rule_spec rules[FIXTURE_RULES];
		uint64_t s = seed * 0x9e3779b97f4a7c15ull;
		uint8_t version = (uint8_t)(3 + seed % 3);
		struct peer c[5];

		fixture_rules(rules);
		open_both(rules + seed % 2, seed % 4 == 2 ? FIXTURE_RULES - 1 : 1, seed % 5 == 0);
		for (unsigned i = 0; i < 5; i++) {
			peer_init(&c[i], false, (uint32_t)seed * 100 + i, 0xfffffc00u, 7);
			connect_both(&c[i], version);
		}
		for (unsigned step = 0; step < 12; step++) {
			burst.burst_size = 1 + test_below(&s, BP_MQTT_BURST);
			for (unsigned i = 0; i < burst.burst_size; i++) {
				struct peer *p = &c[test_below(&s, 5)];

				if (test_below(&s, 10) ==
					0) { /* damaged connections are not inspected */
					peer_init(p, false, (uint32_t)test_random(&s), 0x100, 7);
					connect_both(p, version);
				}
				next_frame(p, version, &s);
			}
			rig_flush(&burst);
			same("random bursts", seed, step);
		}
		same_tables();
		n_read += burst.n_in_bursts - burst.n_general;
		close_both();
	}
	if (n_read < 2000)
		fail_msg("only %lu frames were read by the burst path", (unsigned long)n_read);
}

/* The frames of action mirror, one behind the other. */
static struct bytes cloned[2];

static bool keep_clone(void *arg, const struct bp_mirror_request *r)
{
	static const struct bp_mirror_target to = {
		.enabled = true, .has_ip4 = true, .has_ip6 = true, .mac = {2}, .tcp_port = 1884};
	static uint8_t frame[PEER_FRAME_MAX];
	enum bp_mirror_result why;
	uint32_t size = bp_mirror_frame_size(r, &to, 9000, &why);

	bytes_be16(arg, (uint16_t)size);
	if (size == 0)
		return false;
	bp_mirror_frame_build(r, &to, frame, size);
	bytes_add(arg, frame, size);
	return true;
}

static void same_clones(void)
{
	assert_int_equal(cloned[0].n, cloned[1].n);
	if (cloned[0].n != 0)
		assert_memory_equal(cloned[0].p, cloned[1].p, cloned[0].n);
	bytes_free(&cloned[0]);
	bytes_free(&cloned[1]);
	memset(cloned, 0, sizeof(cloned));
}

/* Rules of every kind, many of them on what clients publish here. */
static uint32_t some_rules(struct bp_rule_spec *rules, uint64_t *s)
{
	uint32_t n = 1 + test_below(s, FIXTURE_RULES);

	fixture_rules(rules);
	for (uint32_t i = 0; i < n; i++) {
		rules[i] = rules[test_below(s, FIXTURE_RULES)];
		snprintf(rules[i].name, sizeof(rules[i].name), "r%u", i);
		rules[i].raise.op = (uint8_t)test_below(s, 8);
		rules[i].raise.a = (double)test_below(s, 100) - 5;
		rules[i].raise.b = rules[i].raise.a + 7;
		rules[i].repeat = test_below(s, 4) == 0;
		rules[i].payload = test_below(s, 2) ? BP_PAYLOAD_ENVELOPE : BP_PAYLOAD_ORIGINAL;
		if (test_below(s, 3) == 0) {
			rules[i].action = BP_ACTION_MIRROR;
			rules[i].payload = BP_PAYLOAD_ORIGINAL;
			snprintf(rules[i].to, sizeof(rules[i].to), "{client}/{rule}/{topic}");
		}
	}
	return n;
}

static void some_peer(struct peer *c, uint64_t *s)
{
	peer_init(c, test_below(s, 4) == 0, test_below(s, 40), (uint32_t)test_random(s), 7);
	if (test_below(s, 3) == 0)
		c->n_vlan = 1 + test_below(s, 2);
	c->vlan[0] = 5;
	c->vlan[1] = 6;
	if (test_below(s, 3) == 0)
		c->broker_port = 8883;
}

/* Packets of a broker, which may also publish. */
static void broker_frame(struct peer *c, uint8_t version, uint64_t *s)
{
	static uint8_t frame[PEER_FRAME_MAX];
	struct bytes b = {0};
	size_t n;

	if (test_below(s, 2))
		one_publish(&b, version, s);
	else if (test_below(s, 2))
		mq_ack(&b, MQ_PUBACK, 3);
	n = peer_frame(c, BROKER, TH_ACK | (test_below(s, 30) ? 0 : TH_FIN), c->seq[BROKER],
		c->seq[CLIENT] - test_below(s, 2) * test_below(s, 30), b.p, b.n, frame);
	both(frame, n);
	if (test_below(s, 20)) /* else the rest of the stream seems lost */
		c->seq[BROKER] += (uint32_t)b.n;
	bytes_free(&b);
}

/* All at once: directions, ports, tags, IPv6, a table that is too small, rules that change. */
static void random_worlds(void **state)
{
	uint64_t n_read = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct rig *r[] = {&general, &burst};
		struct bp_rule_spec rules[FIXTURE_RULES];
		uint64_t s = seed * 0x9e3779b97f4a7c15ull;
		uint8_t version = (uint8_t)(3 + seed % 3);
		struct peer c[12];
		uint32_t n = some_rules(rules, &s);

		for (unsigned i = 0; i < 2; i++) {
			rig_defaults(r[i]);
			r[i]->mqtt.max_connections = seed % 3 == 0 ? 6 : 64;
			r[i]->mqtt.directions =
				(enum bp_directions)(seed % 4 == 0 ? seed / 4 % 3 : 0);
			r[i]->mqtt.n_tcp_ports = 2;
			r[i]->mqtt.tcp_ports[1] = 8883;
			r[i]->trust_checksums = seed % 5 == 0;
			rig_open(r[i]);
			bp_mqtt_worker_set_mirror(r[i]->in, keep_clone, &cloned[i]);
			rig_rules(r[i], rules, n);
		}
		burst.bursts = true;
		for (unsigned i = 0; i < 12; i++) {
			some_peer(&c[i], &s);
			connect_both(&c[i], version);
		}
		for (unsigned step = 0; step < 25; step++) {
			burst.burst_size = 1 + test_below(&s, BP_MQTT_BURST);
			for (unsigned i = 0; i < burst.burst_size; i++) {
				struct peer *p = &c[test_below(&s, 12)];

				if (test_below(&s, 25) == 0) {
					some_peer(p, &s);
					connect_both(p, version);
				}
				if (test_below(&s, 6) == 0)
					broker_frame(p, version, &s);
				else
					next_frame(p, version, &s);
			}
			rig_flush(&burst);
			same("random worlds", seed, step);
			same_clones();
			if (test_below(&s, 4) == 0) {
				n = some_rules(rules, &s);
				rig_rules(&general, rules, n);
				rig_rules(&burst, rules, n);
			}
			if (test_below(&s, 4) == 0) {
				rig_advance(&general, 9000000000ull);
				rig_advance(&burst, 9000000000ull);
				bp_mqtt_worker_tick(general.in, general.mono_ns);
				bp_mqtt_worker_tick(burst.in, burst.mono_ns);
			}
			same_tables();
		}
		n_read += burst.n_in_bursts - burst.n_general;
		close_both();
	}
	if (n_read < 2000)
		fail_msg("only %lu frames were read by the burst path", (unsigned long)n_read);
}

/* Captures of real clients: the same alarms and counters on both paths. */
static void captures_give_equal_results_in_bursts(void **state)
{
	static const char *const names[] = {
		"v311_qos012", "v31", "v5_alias", "subscribe", "session"};

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct bp_rule_spec rules[FIXTURE_RULES];
		struct fixture f;

		fixture_load(&f, names[i]);
		fixture_rules(rules);
		open_both(rules, 1, false);
		for (size_t k = 0; k < f.n_frames; k++)
			both(f.frame[k].frame, f.frame[k].len);
		same(names[i], 0, 0);
		same_tables();
		close_both();
		fixture_free(&f);
	}
}

/* The checksum of the burst path equals the general one, for every length and with any bit changed.
 */
static void checksum_of_the_burst_path_is_equal(void **state)
{
	static uint8_t frame[PEER_FRAME_MAX];
	uint64_t s = 3;

	(void)state;
	for (unsigned round = 0; round < TEST_TIMES(40000); round++) {
		uint8_t payload[200], *exact;
		struct bp_frame f;
		struct peer c;
		size_t n;

		for (unsigned i = 0; i < sizeof(payload); i++)
			payload[i] = test_below(&s, 3) ? (uint8_t)test_random(&s) : 0xff;
		peer_init(&c, false, round, (uint32_t)test_random(&s), 5);
		n = peer_frame(&c, CLIENT, TH_ACK, c.seq[CLIENT], 5, payload, round % 200, frame);
		if (test_below(&s, 2))
			frame[24 + test_below(&s, (uint32_t)n - 24)] ^=
				(uint8_t)(1u << test_below(&s, 8));
		exact = malloc(n);
		memcpy(exact, frame, n);
		if (bp_frame_parse(exact, (uint32_t)n, (uint32_t)n, &f) == BP_FRAME_TCP &&
			rig_plain_checksum_ok(exact, (uint32_t)n - 14) != bp_frame_checksum_ok(&f))
			fail_msg("round %u", round);
		free(exact);
	}
}

/* As long as a datagram may be, of bytes that take a sum of signed words furthest. */
static void long_checksums(void **state)
{
	static const uint8_t fill[] = {0x00, 0x7f, 0x80, 0xff};
	static uint8_t payload[65536], frame[PEER_FRAME_MAX];

	(void)state;
	for (unsigned round = 0; round < 4 * 64; round++) {
		size_t n, len = 65535 - 40 - round / 4 * (round / 4 < 32 ? 1 : 1000);
		struct bp_frame f;
		struct peer c;
		uint8_t *exact;

		memset(payload, fill[round % 4], sizeof(payload));
		peer_init(&c, false, round, 1, 5);
		n = peer_frame(&c, CLIENT, TH_ACK, c.seq[CLIENT], 5, payload, len, frame);
		exact = malloc(n);
		memcpy(exact, frame, n);
		assert_int_equal(bp_frame_parse(exact, (uint32_t)n, (uint32_t)n, &f), BP_FRAME_TCP);
		assert_true(bp_frame_checksum_ok(&f));
		assert_true(rig_plain_checksum_ok(exact, (uint32_t)n - 14));
		exact[n - 1 - round % 33] ^= 1;
		assert_false(rig_plain_checksum_ok(exact, (uint32_t)n - 14));
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_frames),
		cmocka_unit_test(random_bursts),
		cmocka_unit_test(random_worlds),
		cmocka_unit_test(captures_give_equal_results_in_bursts),
		cmocka_unit_test(checksum_of_the_burst_path_is_equal),
		cmocka_unit_test(long_checksums),
	};

	return cmocka_run_group_tests_name("burst", tests, NULL, NULL);
}
