/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures of real clients. First as they are, against what their clients say they published; then
 * cut, merged, duplicated, reordered and overlapped at random: the alarms must be the same.
 *
 * BP_SEEDS: how many random runs a capture gets.
 */
#include "biplane/counters/mqtt.h"
#include "test.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "websocket_peer.h"

static const char *const captures[] = {"v311_qos012", "v31", "v5_alias", "ipv6", "vlan", "session",
	"split_mtu128", "subscribe", "large_mss536", "websocket_mqttjs"};
#define N_CAPTURES (sizeof(captures) / sizeof(captures[0]))

static void open_rig(struct rig *r, uint8_t evaluate)
{
	struct bp_rule_spec rules[FIXTURE_RULES];

	rig_defaults(r);
	r->mqtt.directions = evaluate;
	r->mqtt.n_websocket_ports = 1;
	r->mqtt.websocket_ports[0] = WS_PORT;
	/* the random windows are 48 KiB; in small pieces they take many times that */
	r->mqtt.reorder_buffer = 2 * 1024 * 1024;
	r->mqtt.reassembly_per_connection = 4 * 1024 * 1024;
	r->mqtt.reassembly_total = 32 * 1024 * 1024;
	r->mqtt.alarm_queue_size = 8 * 1024 * 1024;
	r->mqtt.connection_timeout_ns = 3600 * 1000000000ull;
	rig_open(r);
	fixture_rules(rules);
	rig_rules(r, rules, FIXTURE_RULES);
}

/* ---- the captures as they are ---- */

/* The number that `rule` checks in a publication, by means of the C library and jansson alone. */
static bool value_of(unsigned rule, json_t *published, double *value)
{
	const char *text = json_string_value(json_object_get(published, "text"));
	const char *topic = json_string_value(json_object_get(published, "topic"));
	json_t *celsius = json_object_get(published, "celsius");
	char level[64];
	int end_at = 0;
	bool temperature = sscanf(topic, "plant/%63[^/]/temperature%n", level, &end_at) == 1 &&
			   end_at != 0 && topic[end_at] == 0;
	bool frame = strcmp(topic, "plant/camera/frame") == 0;
	char *end;

	if ((rule == 1 && temperature) || (rule == 2 && frame)) {
		json_t *root, *member;
		bool is_number;

		if (celsius != NULL) {
			*value = json_number_value(celsius);
			return true;
		}
		root = text != NULL ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
		member = json_object_get(root, "celsius");
		is_number = json_is_number(member);
		*value = json_number_value(member);
		json_decref(root);
		return is_number;
	}
	if ((rule == 0 && temperature) || rule == 3) {
		if (text == NULL || text[strspn(text, "0123456789+-.eE \t")] != 0)
			return false;
		*value = strtod(text, &end);
		while (*end == ' ' || *end == '\t')
			end++;
		return *end == 0 && end != text && strpbrk(text, "0123456789") != NULL;
	}
	if (rule == 4 && strcmp(topic, "plant/oven1/raw") == 0) {
		const char *hex = json_string_value(json_object_get(published, "hex"));
		char first[9] = "";
		uint32_t bits;
		float v;

		if (hex == NULL || strlen(hex) < 8)
			return false;
		memcpy(first, hex, 8);
		bits = (uint32_t)strtoul(first, NULL, 16);
		memcpy(&v, &bits, 4);
		*value = (double)v;
		return true;
	}
	return false;
}

static bool raises(unsigned rule, double v)
{
	return rule == 3 ? v <= 0 : rule == 4 ? v >= 80 : v > 80;
}

/* The next alarm of this client and rule, taken out of the list; NULL: there is none. */
static struct told *take(struct told_list *l, bool *used, const char *client, const char *rule)
{
	for (size_t i = 0; i < l->n; i++) {
		if (!used[i] && strcmp(l->a[i].client, client) == 0 &&
			strcmp(l->a[i].rule, rule) == 0) {
			used[i] = true;
			return &l->a[i];
		}
	}
	return NULL;
}

static size_t compare_with_publications(const char *name, struct told_list *l)
{
	char path[1024];
	bool *used = calloc(l->n + 1, sizeof(*used));
	json_t *root, *published;
	size_t i, due = 0;

	fixture_path(path, sizeof(path), name, ".json");
	root = json_load_file(path, 0, NULL);
	assert_non_null(root);
	json_array_foreach(json_object_get(root, "published"), i, published)
	{
		const char *client = json_string_value(json_object_get(published, "client"));
		const char *text = json_string_value(json_object_get(published, "text"));

		for (unsigned rule = 0; rule < FIXTURE_RULES; rule++) {
			struct told *t;
			double v;

			if (!value_of(rule, published, &v) || !raises(rule, v))
				continue;
			due++;
			t = take(l, used, client, fixture_rule_names[rule]);
			if (t == NULL) {
				fail_msg("%s: publication %zu of %s raised nothing for %s", name, i,
					client, fixture_rule_names[rule]);
				return due;
			}
			assert_string_equal(
				t->topic, json_string_value(json_object_get(published, "topic")));
			assert_true(t->value == v);
			assert_int_equal(
				t->qos, json_integer_value(json_object_get(published, "qos")));
			assert_int_equal((t->flags & BP_ALARM_F_RETAIN) != 0,
				json_is_true(json_object_get(published, "retain")));
			assert_int_equal(t->payload_len,
				json_integer_value(json_object_get(published, "length")));
			if (text != NULL)
				assert_string_equal((char *)t->payload, text);
		}
	}
	for (i = 0; i < l->n; i++) {
		if (!used[i])
			fail_msg("%s: an alarm that is not due: %s %s %g", name, l->a[i].client,
				l->a[i].topic, l->a[i].value);
	}
	free(used);
	json_decref(root);
	return due;
}

static void as_published(void **state)
{
	(void)state;
	for (unsigned i = 0; i < N_CAPTURES; i++) {
		struct fixture f;
		struct rig r;
		struct told_list l;

		fixture_load(&f, captures[i]);
		open_rig(&r, BP_DIRECTIONS_TO_BROKER);
		for (size_t k = 0; k < f.n_frames; k++)
			rig_frame(&r, f.frame[k].frame, f.frame[k].len);
		l = rig_told(&r);
		assert_true(compare_with_publications(captures[i], &l) > 0);
		for (unsigned c = BP_C_NOT_INSPECTED_NOT_MQTT; c <= BP_C_NOT_INSPECTED_LAST; c++)
			assert_int_equal(rig_count(&r, c), 0);
		assert_int_equal(rig_count(&r, BP_C_SEG_BAD_CHECKSUM), 0);
		assert_int_equal(rig_count(&r, BP_C_RESYNC_STARTED), 0);
		assert_int_equal(rig_count(&r, BP_C_MQTT_PUBLISH_INCOMPLETE), 0);
		assert_int_equal(
			rig_count(&r, BP_C_CONN_OPENED) + rig_count(&r, BP_C_CONN_REOPENED),
			f.n_talks);
		told_free(&l);
		rig_close(&r);
		fixture_free(&f);
	}
}

/* ---- at random ---- */

struct side {
	bool *got;        /* by byte: has passed */
	size_t delivered; /* contiguous */
	bool fin_passed;
};

struct run {
	const struct talk *talk;
	struct peer peer;
	struct side side[2];
	unsigned style; /* of the cuts */
};

static bool delivered_all(const struct run *t, unsigned d)
{
	return t->side[d].delivered == t->talk->stream[d].n && t->side[d].fin_passed;
}

/* Bytes that side `d` may have sent: an answer is not sent before its request has arrived. */
static size_t allowed(const struct run *t, unsigned d, bool *to_the_end)
{
	size_t sum[2] = {0, 0};

	*to_the_end = false;
	for (size_t i = 0; i < t->talk->n_turns; i++) {
		const struct turn *turn = &t->talk->turn[i];

		if (turn->from == d)
			sum[d] += turn->n;
		else if (sum[!d] + turn->n > t->side[!d].delivered)
			return sum[d];
		else
			sum[!d] += turn->n;
	}
	*to_the_end = true;
	return sum[d];
}

static uint32_t ack_of(const struct run *t, unsigned other, uint64_t *s)
{
	const struct side *o = &t->side[other];
	size_t at = o->delivered;
	uint32_t fin = 0;

	if (test_below(s, 4) == 0) /* an older one */
		at -= test_below(s, (uint32_t)(at < 3000 ? at : 3000) + 1);
	else if (delivered_all(t, other))
		fin = 1;
	return t->peer.first[other] + 1 + (uint32_t)at + fin;
}

struct cut {
	size_t from, to;
	bool fin;
};

static void pass(struct rig *r, struct run *t, unsigned d, const struct cut *c, uint64_t *s)
{
	struct side *side = &t->side[d];

	rig_segment(r, &t->peer, d,
		TH_ACK | (c->fin ? TH_FIN : 0) | (test_below(s, 2) ? TH_PSH : 0),
		t->peer.first[d] + 1 + (uint32_t)c->from, ack_of(t, !d, s),
		t->talk->stream[d].p + c->from, c->to - c->from);
	for (size_t i = c->from; i < c->to; i++)
		side->got[i] = true;
	while (side->delivered < t->talk->stream[d].n && side->got[side->delivered])
		side->delivered++;
	if (c->fin)
		side->fin_passed = true;
	if (test_below(s, 5) == 0)
		rig_segment(r, &t->peer, !d, TH_ACK,
			t->peer.first[!d] + 1 + (uint32_t)t->side[!d].delivered +
				delivered_all(t, !d),
			ack_of(t, d, s), NULL, 0);
}

#define CUTS 40

/* A window of segments from where the receiver is, then all the bad luck that a network has. */
static void window(struct rig *r, struct run *t, unsigned d, uint64_t *s)
{
	static const uint32_t largest[] = {1, 3, 40, 200, 1460, 9000, 30000};
	struct cut cut[2 * CUTS];
	size_t at = t->side[d].delivered, room = 48 * 1024;
	unsigned n = 0, want = 1 + test_below(s, CUTS);
	bool end;
	size_t limit = allowed(t, d, &end);

	while (at < limit && n < want && room > 0) {
		uint32_t len = 1 + test_below(s, largest[t->style]);
		struct cut c = {at, at + len < limit ? at + len : limit, false};

		at = c.to;
		switch (test_below(s, 8)) {
		case 0: /* sent again together with what was before */
			c.from -= test_below(s, (uint32_t)(c.from < 100 ? c.from : 100) + 1);
			break;
		case 1: /* with more than the next segment will repeat */
			c.to += test_below(
				s, (uint32_t)(limit - c.to < 100 ? limit - c.to : 100) + 1);
			break;
		default:
			break;
		}
		/* held bytes must fit in reorder_buffer, otherwise the loss is correct */
		if (room < c.to - c.from + 256)
			break;
		room -= c.to - c.from + 256;
		cut[n++] = c;
		if (test_below(s, 8) == 0 && n < 2 * CUTS - 1 && room > c.to - c.from + 256) {
			room -= c.to - c.from + 256;
			cut[n++] = c;
		}
	}
	if (end && n != 0 && cut[n - 1].to == t->talk->stream[d].n && test_below(s, 2))
		cut[n - 1].fin = true;
	if (n == 0 && end)
		cut[n++] = (struct cut){limit, limit, true};
	/* a window's reordering: everything, neighbors, or nothing */
	switch (test_below(s, 3)) {
	case 0:
		for (unsigned i = n; i > 1; i--) {
			unsigned j = test_below(s, i);
			struct cut c = cut[i - 1];

			cut[i - 1] = cut[j];
			cut[j] = c;
		}
		break;
	case 1:
		for (unsigned i = 1; i < n; i += 1 + test_below(s, 3)) {
			struct cut c = cut[i - 1];

			cut[i - 1] = cut[i];
			cut[i] = c;
		}
		break;
	default:
		break;
	}
	for (unsigned i = 0; i < n; i++) {
		if (test_below(s, 25) == 0)
			continue; /* lost before it came here: it will be sent again */
		pass(r, t, d, &cut[i], s);
	}
	if (t->side[d].delivered > 0 && test_below(s, 3) == 0) {
		size_t from = test_below(s, (uint32_t)t->side[d].delivered);
		size_t len = 1 + test_below(s, 2000);
		struct cut old = {from,
			from + len < t->side[d].delivered ? from + len : t->side[d].delivered,
			false};

		pass(r, t, d, &old, s);
	}
}

static void start(struct rig *r, struct run *t, const struct talk *talk, uint64_t *s)
{
	struct peer *p = &t->peer;

	memset(t, 0, sizeof(*t));
	t->talk = talk;
	t->peer = talk->peer;
	/* cut too small, a long stream would take all day */
	t->style = talk->stream[0].n + talk->stream[1].n > 100000 ? 3 + test_below(s, 4)
								  : test_below(s, 7);
	for (unsigned d = 0; d < 2; d++) {
		p->first[d] = (uint32_t)test_random(s);
		if (test_below(s, 2)) /* soon beyond 2^32 */
			p->first[d] = 0u - test_below(s, (uint32_t)talk->stream[d].n + 2);
		t->side[d].got = calloc(talk->stream[d].n + 1, sizeof(bool));
	}
	for (unsigned i = 0; i <= test_below(s, 2); i++)
		rig_segment(r, p, CLIENT, TH_SYN, p->first[CLIENT], 0, NULL, 0);
	for (unsigned i = 0; i <= test_below(s, 2); i++)
		rig_segment(r, p, BROKER, TH_SYN | TH_ACK, p->first[BROKER], p->first[CLIENT] + 1,
			NULL, 0);
}

/* One step of one conversation; false when it is over. */
static bool step(struct rig *r, struct run *t, uint64_t *s)
{
	unsigned d = test_below(s, 2);

	for (unsigned i = 0; i < 2; i++, d = !d) {
		bool end;
		size_t limit = allowed(t, d, &end);

		if (t->side[d].delivered < limit || (end && !t->side[d].fin_passed)) {
			window(r, t, d, s);
			return true;
		}
	}
	return !delivered_all(t, 0) || !delivered_all(t, 1);
}

#define ABREAST 6

static void random_run(struct rig *r, const struct fixture *f, uint64_t seed)
{
	struct run run[ABREAST];
	uint64_t s = seed * 0x9e3779b97f4a7c15ull + 1;
	size_t next = 0;
	unsigned n = 0;

	while (next < f->n_talks || n != 0) {
		unsigned i;

		if (n < ABREAST && next < f->n_talks && (n == 0 || test_below(&s, 10) == 0))
			start(r, &run[n++], &f->talk[next++], &s);
		i = test_below(&s, n);
		if (step(r, &run[i], &s))
			continue;
		for (unsigned d = 0; d < 2; d++)
			free(run[i].side[d].got);
		run[i] = run[--n];
	}
}

static int same_talk(const struct told *t, const struct peer *p)
{
	return t->client_port == p->client_port &&
	       memcmp(t->client_ip, p->client_ip, p->ip6 ? 16 : 4) == 0;
}

/* Connection by connection: rule, state, topic, value, payload, in order. */
static void same_alarms(const char *name, uint64_t seed, const struct fixture *f,
	const struct told_list *want, const struct told_list *got)
{
	for (size_t k = 0; k < f->n_talks; k++) {
		size_t i = 0, j = 0, n = 0;

		for (;; i++, j++, n++) {
			while (i < want->n && !same_talk(&want->a[i], &f->talk[k].peer))
				i++;
			while (j < got->n && !same_talk(&got->a[j], &f->talk[k].peer))
				j++;
			if (i >= want->n && j >= got->n)
				break;
			if (i >= want->n || j >= got->n)
				fail_msg("%s, seed %lu: connection %zu has %s alarms than %zu",
					name, (unsigned long)seed, k, j < got->n ? "more" : "fewer",
					n);
			if (strcmp(want->a[i].rule, got->a[j].rule) != 0 ||
				strcmp(want->a[i].topic, got->a[j].topic) != 0 ||
				strcmp(want->a[i].client, got->a[j].client) != 0 ||
				strcmp(want->a[i].to, got->a[j].to) != 0 ||
				want->a[i].state != got->a[j].state ||
				want->a[i].value != got->a[j].value ||
				want->a[i].payload_len != got->a[j].payload_len ||
				memcmp(want->a[i].payload, got->a[j].payload,
					want->a[i].payload_len) != 0)
				fail_msg("%s, seed %lu: connection %zu differs at alarm %zu: %s "
					 "%g, not "
					 "%s %g",
					name, (unsigned long)seed, k, n, got->a[j].topic,
					got->a[j].value, want->a[i].topic, want->a[i].value);
		}
	}
}

static void at_random(void **state)
{
	const char *asked = getenv("BP_SEEDS");
	uint64_t seeds = asked != NULL ? strtoull(asked, NULL, 10) : 12, runs = 0, reordered = 0;

	(void)state;
	for (unsigned i = 0; i < N_CAPTURES; i++) {
		struct told_list want[2];
		struct fixture f;

		fixture_load(&f, captures[i]);
		for (unsigned evaluate = 0; evaluate < 2; evaluate++) {
			struct rig r;

			open_rig(
				&r, evaluate ? BP_DIRECTIONS_FROM_BROKER : BP_DIRECTIONS_TO_BROKER);
			for (size_t k = 0; k < f.n_frames; k++)
				rig_frame(&r, f.frame[k].frame, f.frame[k].len);
			want[evaluate] = rig_told(&r);
			rig_close(&r);
		}
		for (uint64_t seed = 1; seed <= seeds; seed++) {
			unsigned evaluate = seed % 4 == 0; /* most publications are the clients' */
			struct told_list got;
			struct rig r;

			open_rig(
				&r, evaluate ? BP_DIRECTIONS_FROM_BROKER : BP_DIRECTIONS_TO_BROKER);
			r.bursts = seed % 2 == 0;
			r.pieces = seed % 5 == 0 ? 1 + (uint32_t)(seed * 37 % 300) : 0;
			random_run(&r, &f, seed + 1000 * i);
			got = rig_told(&r);
			same_alarms(captures[i], seed, &f, &want[evaluate], &got);
			told_free(&got);
			assert_int_equal(rig_count(&r, BP_C_SEG_REORDER_FULL), 0);
			assert_int_equal(rig_count(&r, BP_C_GAP_LOST), 0);
			assert_int_equal(rig_count(&r, BP_C_RESYNC_STARTED), 0);
			assert_int_equal(rig_count(&r, BP_C_MQTT_PUBLISH_INCOMPLETE), 0);
			assert_int_equal(rig_count(&r, BP_C_REASSEMBLY_LIMIT_CONNECTION), 0);
			/* all are closed: no data is held for them */
			assert_int_equal(rig_count(&r, BP_C_CONN_FIN), f.n_talks);
			assert_int_equal(bp_mqtt_worker_carried(r.in), 0);
			reordered += rig_count(&r, BP_C_SEG_OUT_OF_ORDER);
			runs++;
			rig_close(&r);
		}
		told_free(&want[0]);
		told_free(&want[1]);
		fixture_free(&f);
	}
	assert_true(seeds == 0 || reordered > 100 * runs); /* the runs were what they claim to be */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_published),
		cmocka_unit_test(at_random),
	};

	return cmocka_run_group_tests_name("stream_property", tests, NULL, NULL);
}
