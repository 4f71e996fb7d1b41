/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sparkplug B on the burst path against the general path, its oracle: births, data and deaths of
 * several nodes, in order and not, valid and damaged. Counters, alarms and all tables must be
 * equal.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "both_paths.h"
#include "tests/unit/proto/sparkplug/spb_writer.h"

#define NODES 5u
#define METRICS 6u
enum { RULES = 3 };

struct node {
	struct peer peer;
	unsigned number;
	uint8_t seq;
	uint64_t bdseq, time;
	uint64_t alias[METRICS]; /* by the last birth */
};

/* Some of them without state, which the burst path evaluates. */
static void some_rules(struct bp_rule_spec *rules, uint64_t *s)
{
	static const char *const filters[] = {"spBv1.0/g/+/+", "spBv1.0/g/DDATA/+/d", "#"};

	for (unsigned i = 0; i < RULES; i++) {
		struct bp_rule_spec *r = &rules[i];
		char name[8];

		snprintf(name, sizeof(name), "r%u", i);
		*r = rig_rule(name, filters[i], BP_COND_GT, 80);
		r->value.kind = BP_VALUE_SPARKPLUG;
		snprintf(r->value.names.metric, sizeof(r->value.names.metric), "m%u",
			test_below(s, METRICS));
		r->value.sparkplug.historical = test_below(s, 2);
		if (test_below(s, 4) == 0)
			r->repeat = BP_REPEAT_ON_CHANGE;
		r->payload = test_below(s, 2) ? BP_PAYLOAD_ENVELOPE : BP_PAYLOAD_ORIGINAL;
	}
}

static void some_value(struct spb *m, uint64_t *s)
{
	switch (test_below(s, 40)) {
	case 0:
		spb_number(m, SPB_INT, test_below(s, 300));
		break;
	case 1:
		spb_float(m, SPB_FLOAT, (float)test_below(s, 160));
		break;
	case 2:
		spb_number(m, SPB_NULL, test_below(s, 2));
		break;
	case 3:
		spb_number(m, SPB_HISTORICAL, test_below(s, 2));
		spb_double(m, SPB_DOUBLE, test_below(s, 160));
		break;
	default:
		spb_double(m, SPB_DOUBLE, test_below(s, 160));
	}
}

static void birth(struct node *n, struct spb *b, uint64_t *s)
{
	n->seq = 0;
	n->time += test_below(s, 2);
	n->bdseq += test_below(s, 2);
	spb_number(b, SPB_TIMESTAMP, n->time);
	spb_bdseq(b, n->bdseq);
	for (uint32_t i = 0; i < METRICS; i++) {
		char name[8];

		snprintf(name, sizeof(name), "m%u", i);
		n->alias[i] = test_below(s, 4) ? i + 1 : 100 + test_below(s, 100);
		if (test_below(s, 8) != 0)
			spb_metric(b, name, n->alias[i], 10, test_below(s, 160));
	}
	spb_number(b, SPB_SEQ, n->seq);
}

static void data(struct node *n, struct spb *b, uint64_t *s)
{
	const uint32_t first = test_below(s, METRICS), count = 1 + test_below(s, 2);

	spb_number(b, SPB_TIMESTAMP, 1764000000000ull + test_below(s, 1000000));
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t which = (first + i) % METRICS;
		struct spb m = {.n = 0};
		char name[8];

		snprintf(name, sizeof(name), "m%u", which);
		if (test_below(s, 30) == 0)
			spb_bytes(&m, SPB_NAME, name, 2);
		else
			spb_number(&m, SPB_ALIAS, n->alias[which]);
		some_value(&m, s);
		spb_bytes(b, SPB_METRICS, m.p, m.n);
	}
	n->seq = (uint8_t)(n->seq + (test_below(s, 30) ? 1 : test_below(s, 3)));
	if (test_below(s, 20) != 0)
		spb_number(b, SPB_SEQ, n->seq);
	if (test_below(s, 25) == 0)
		b->n -= 1 + test_below(s, 3);
	if (test_below(s, 25) == 0)
		b->p[test_below(s, b->n)] ^= (uint8_t)(1u << test_below(s, 8));
}

static void next_message(struct node *n, uint64_t *s)
{
	static const char *const type[] = {"NBIRTH", "NDATA", "NDEATH"};
	static uint8_t frame[PEER_FRAME_MAX];
	const unsigned k = test_below(s, 30) == 0 ? 0 : test_below(s, 60) == 0 ? 2 : 1;
	const bool of_device = k == 1 && test_below(s, 25) == 0;
	struct spb b = {.n = 0};
	struct bytes packet = {0};
	char topic[64];
	size_t len;

	snprintf(topic, sizeof(topic), "spBv1.0/g/%s/n%u%s", of_device ? "DDATA" : type[k],
		n->number, of_device ? "/d" : "");
	if (k == 0)
		birth(n, &b, s);
	else if (k == 1)
		data(n, &b, s);
	else
		spb_bdseq(&b, n->bdseq - test_below(s, 2));
	mq_publish(&packet, &(struct mq_publish){.version = 4,
				    .topic = topic,
				    .payload = (const char *)b.p,
				    .payload_len = b.n});
	len = peer_frame(&n->peer, CLIENT, TH_ACK | TH_PSH, n->peer.seq[CLIENT],
		n->peer.seq[BROKER], packet.p, packet.n, frame);
	both(frame, len);
	n->peer.seq[CLIENT] += (uint32_t)packet.n;
	bytes_free(&packet);
}

static void same_sparkplug(void)
{
	assert_memory_equal(general.shm.sparkplug, burst.shm.sparkplug,
		general.shm.sparkplug_len * sizeof(struct bp_sparkplug_state));
}

static void random_nodes(void **state)
{
	uint64_t n_read = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 150; seed++) {
		uint64_t s = seed * 0x9e3779b97f4a7c15ull;
		struct bp_rule_spec rules[RULES];
		struct node node[NODES] = {0};

		some_rules(rules, &s);
		open_both(rules, seed % 5 ? 1 : RULES, false);
		for (unsigned i = 0; i < NODES; i++) {
			node[i].number = i;
			peer_init(&node[i].peer, false, (uint32_t)seed * 100 + i, 0x100, 7);
			connect_both(&node[i].peer, 4);
		}
		for (unsigned step = 0; step < 12; step++) {
			burst.burst_size = 1 + test_below(&s, BP_MQTT_BURST);
			for (unsigned i = 0; i < burst.burst_size; i++)
				next_message(&node[test_below(&s, NODES)], &s);
			rig_flush(&burst);
			same("random nodes", seed, step);
			same_sparkplug();
			if (test_below(&s, 6) == 0) {
				some_rules(rules, &s);
				rig_rules(&general, rules, seed % 5 ? 1 : RULES);
				rig_rules(&burst, rules, seed % 5 ? 1 : RULES);
			}
		}
		same_tables();
		n_read += burst.n_in_bursts - burst.n_general;
		close_both();
	}
	if (n_read < 2000)
		fail_msg("only %lu frames were read by the burst path", (unsigned long)n_read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(random_nodes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
