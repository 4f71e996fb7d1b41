/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of one template, which are read four at a time, against the general path: among them what
 * differs from the template in anything. Counters, alarms and flow tables must be equal.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "services/mqtt/burst.h"
#include "fixture.h"
#include "proto/net/frame.h"
#include "both_paths.h"

#define PEERS 12

/* Common fields of all frames of a round. */
struct kind {
	const char *topic, *number;
	uint8_t version, qos;
	bool options; /* of TCP: time stamps */
	bool mixed;   /* the point is not always at the same place */
	bool own;     /* each client has a topic, as long as the others', and a rule for it */
};

static const char *const topics[] = {"a/b", "plant/x", "plant/07/temperature", "plant/7/t/abcd",
	"plant/a/temperature", "0123456789abcdef", "t/0123456789abcdef/0123456789abcdef/x"};
/* not: numbers of more than eight characters, which differ */
static const char *const numbers[] = {
	"%05.1f", "%02.0f", "%04.0f.", "%06.2f", "%.0f", "%08.3f", "%03.0f"};

/* The topic that client i publishes on. */
static const char *topic_of(const struct kind *k, unsigned i)
{
	static char own[64];

	if (!k->own)
		return k->topic;
	snprintf(own, sizeof(own), "%s%02u", k->topic, i);
	return own;
}

static size_t with_options(const struct peer *c, uint8_t *frame, size_t n)
{
	static const uint8_t stamps[12] = {1, 1, 8, 10, 0, 0, 1, 2, 0, 0, 3, 4};

	memmove(frame + 54 + sizeof(stamps), frame + 54, n - 54);
	memcpy(frame + 54, stamps, sizeof(stamps));
	frame[46] = 8 << 4;
	bp_put_be16(frame + 16, (uint16_t)(bp_be16(frame + 16) + sizeof(stamps)));
	n += sizeof(stamps);
	peer_checksums(c, frame, n);
	return n;
}

/* Something by which one differs; true: its stream continues all the same. */
static bool made_odd(struct bytes *b, const struct kind *k, const char *topic, uint64_t *s)
{
	switch (test_below(s, 7)) {
	case 0: /* a packet that is none */
		b->p[0] ^= (uint8_t)(1u << test_below(s, 8));
		return false;
	case 1:
		b->p[test_below(s, (uint32_t)b->n)] ^= (uint8_t)(1u << test_below(s, 8));
		return false;
	case 2: /* a character of the number */
		b->p[b->n - 1 - test_below(s, 4)] = (uint8_t) "0.9:/-+e "[test_below(s, 9)];
		return true;
	case 3:
		mq_empty(b, MQ_PINGREQ);
		return true;
	case 4:
		b->n -= test_below(s, 2) * 4; /* cut, and another behind it */
		mq_publish(b, &(struct mq_publish){
				      .version = k->version, .topic = topic, .payload = "82"});
		return true;
	case 5:
		b->n = 0;
		mq_publish(b, &(struct mq_publish){
				      .version = k->version, .topic = topic, .payload = "81"});
		return true;
	default:
		b->n = 0;
		return true;
	}
}

static void next_frame(
	struct peer *c, const struct kind *k, const char *topic, unsigned odd, uint64_t *s)
{
	static uint8_t frame[PEER_FRAME_MAX];
	struct bytes b = {0};
	const bool is_odd = odd != 0 && test_below(s, odd) == 0;
	uint32_t seq = c->seq[CLIENT];
	bool goes_on = true;
	char number[32];
	size_t n;

	if (k->mixed)
		snprintf(number, sizeof(number), "%05.*f", 1 + (int)test_below(s, 2),
			(double)test_below(s, 1000) / 10);
	else
		snprintf(number, sizeof(number), k->number, (double)test_below(s, 1000) / 10);
	mq_publish(&b, &(struct mq_publish){.version = k->version,
			       .qos = k->qos,
			       .id = (uint16_t)(!is_odd + test_below(s, 9)),
			       .retain = test_below(s, 2),
			       .topic = topic,
			       .payload = number});
	if (is_odd && test_below(s, 2))
		goes_on = made_odd(&b, k, topic, s);
	else if (is_odd && test_below(s, 2))
		seq += test_below(s, 2) ? (uint32_t)-b.n : 3;
	n = peer_frame(c, CLIENT, TH_ACK | TH_PSH, seq, c->seq[BROKER], b.p, b.n, frame);
	if (k->options)
		n = with_options(c, frame, n);
	if (is_odd && test_below(s, 3) == 0) /* damaged, with a right checksum or not */
		frame[14 + test_below(s, (uint32_t)n - 14)] ^= (uint8_t)(1u << test_below(s, 8));
	if (is_odd && test_below(s, 3) == 0)
		peer_checksums(c, frame, n);
	if (is_odd && test_below(s, 3) == 0) /* padded */
		for (unsigned left = test_below(s, 24); left != 0; left--)
			frame[n++] = (uint8_t)test_random(s);
	if (is_odd && test_below(s, 6) == 0) { /* tagged */
		memmove(frame + 16, frame + 12, n - 12);
		memcpy(frame + 12, "\x81\0\0\7", 4);
		n += 4;
	}
	both(frame, n);
	if (is_odd && test_below(s, 3) == 0) /* again at once */
		both(frame, n);
	if (goes_on && seq == c->seq[CLIENT])
		c->seq[CLIENT] += (uint32_t)b.n;
	bytes_free(&b);
}

/* A rule for each client but the last, of which none is like the one before: some are not for text,
 * and some keep a state. */
static uint32_t own_rules(struct bp_rule_spec *rules, const struct kind *k, uint64_t *s)
{
	const struct bp_rule_spec like = rules[0], json = rules[1];

	for (uint32_t i = 0; i < PEERS - 1; i++) {
		rules[i] = i % 5 == 4 ? json : like;
		snprintf(rules[i].name, sizeof(rules[i].name), "own%u", i);
		snprintf(rules[i].filter, sizeof(rules[i].filter), "%s", topic_of(k, i));
		rules[i].raise.op = (uint8_t)test_below(s, 8);
		rules[i].raise.a = test_below(s, 100);
		rules[i].raise.b = rules[i].raise.a + test_below(s, 20);
		rules[i].repeat = i % 7 == 3 ? BP_REPEAT_ON_CHANGE : like.repeat;
	}
	return PEERS - 1;
}

static void a_round(uint64_t seed)
{
	struct bp_rule_spec rules[FIXTURE_RULES + PEERS];
	uint32_t n_rules = 1;
	uint64_t s = seed * 0x9e3779b97f4a7c15ull;
	const unsigned odd = seed % 3 == 0 ? 0 : 5 + 40 * (seed % 3 - 1);
	struct kind k = {.topic = topics[seed % 7],
		.number = numbers[seed / 7 % 7],
		.version = (uint8_t)(3 + seed % 3),
		.qos = (uint8_t)(seed / 3 % 2),
		.options = seed / 6 % 2,
		.mixed = seed % 8 == 1,
		.own = seed % 4 == 2};
	struct peer c[PEERS];

	fixture_rules(rules);
	rules[0].raise.op = (uint8_t)test_below(&s, 8);
	rules[0].raise.a = 20 + test_below(&s, 60);
	rules[0].raise.b = rules[0].raise.a + test_below(&s, 20);
	snprintf(rules[0].filter, sizeof(rules[0].filter), "#");
	if (seed % 11 == 0)
		rules[0].repeat = BP_REPEAT_ON_CHANGE;
	if (k.own)
		n_rules = own_rules(rules, &k, &s);
	open_both(seed % 8 == 5 ? NULL : rules, n_rules, seed % 5 == 0);
	for (uint32_t i = 0; i < PEERS; i++) {
		peer_init(&c[i], false, (uint32_t)seed * 100 + i, 0xfffffe00u, 7);
		connect_both(&c[i], k.version);
	}
	for (unsigned step = 0; step < 12; step++) {
		burst.burst_size =
			step % 4 == 3 ? 1 + test_below(&s, BP_MQTT_BURST) : BP_MQTT_BURST;
		for (unsigned i = 0; i < burst.burst_size; i++) {
			const unsigned who = test_below(&s, PEERS);
			struct peer *p = &c[who];

			if (odd != 0 && test_below(&s, 40) == 0) { /* given up, perhaps */
				peer_init(p, false, (uint32_t)test_random(&s), 0x100, 7);
				connect_both(p, test_below(&s, 4)
							? k.version
							: (uint8_t)(3 + test_below(&s, 3)));
			}
			next_frame(p, &k, topic_of(&k, who), odd, &s);
		}
		rig_flush(&burst);
		same("template", seed, step);
		if (step == 7) { /* another threshold, and another kind in the middle of it */
			rules[0].raise.a += 5;
			rules[0].raise.b += 5;
			rig_rules(&general, rules, n_rules);
			rig_rules(&burst, rules, n_rules);
			k.number = numbers[test_below(&s, 7)];
		}
	}
	same_tables();
}

static void equal_the_general_path(void **state)
{
	uint64_t n_numbers = 0, n_template = 0, n = 0, of_kind[2][2] = {0}, own = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		a_round(seed);
		n += burst.n_in_bursts;
		n_numbers += burst.n_numbers;
		n_template += burst.n_template;
		of_kind[seed / 3 % 2][seed / 6 % 2] += burst.n_numbers;
		own += seed % 4 == 2 ? burst.n_numbers : 0;
		close_both();
	}
	if (n_numbers < n / 8) /* it was really taken */
		fail_msg("only %lu of %lu frames had their numbers read by a template",
			(unsigned long)n_numbers, (unsigned long)n);
	if (n_template < n_numbers + n / 20)
		fail_msg("of %lu of a template %lu had numbers", (unsigned long)n_template,
			(unsigned long)n_numbers);
	assert_true(own > 1000); /* with a rule for each, too */
	for (unsigned i = 0; i < 4;
		i++) /* with identifiers and without, with options and without */
		assert_true(of_kind[i & 1][i >> 1] > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(equal_the_general_path)};

	return cmocka_run_group_tests_name("same_template", tests, NULL, NULL);
}
