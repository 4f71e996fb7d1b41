/* SPDX-License-Identifier: BSD-3-Clause */
/* `show transform`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/show/fib_text.h"
#include "config/transform/settings.h"
#include "shm/transform/transform_writer.h"
#include "tests/unit/apps/biplane/view_out.h"
#include "services/transform/layout.h"
#include "proto/transform/transform_matrix.h"
#include "config/segment.h"

#define WORKERS 2u
#define MATRICES 16u

static struct bp_shm shm;
static struct bp_show_source source;
static struct bp_config config;
static struct bp_config_transform transform;
static struct bp_transform_source sources[3];
static struct bp_transform_receiver receivers[4];
static char err[512];

static struct bp_prefix prefix(const char *text)
{
	struct bp_prefix p;
	bool has_length;

	assert_true(bp_text_to_prefix(text, &p, &has_length));
	return p;
}

static int begin_with(unsigned entries)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	struct bp_segment *s;

	memset(&config, 0, sizeof(config));
	config.n_workers = WORKERS;
	config.n_ports = 2;
	strcpy(config.port[0].name, "trackers");
	strcpy(config.port[1].name, "robots");
	transform.entries.n_rules = entries;
	transform.max_matrices = MATRICES;
	config.service[BP_SERVICE_TRANSFORM] = &transform;
	s = bp_segment_anonymous(specs, bp_shm_specs(&config, specs), err, sizeof(err));
	if (!s || bp_shm_map(&shm, s, err, sizeof(err)))
		return -1;
	strcpy(shm.ports[0].name, "trackers");
	strcpy(shm.ports[1].name, "robots");
	atomic_store(&shm.global->dp_ports, 2);
	source = (struct bp_show_source){.shm = &shm};
	return 0;
}

static int begin(void **state)
{
	(void)state;
	return begin_with(2);
}

static int begin_without(void **state)
{
	(void)state;
	return begin_with(0);
}

static int end(void **state)
{
	(void)state;
	bp_segment_close(shm.segment);
	return 0;
}

static void set_receiver(unsigned i, const char *address, uint16_t udp, unsigned flags)
{
	struct bp_transform_receiver *r = &receivers[i];
	const struct bp_prefix p = prefix(address);

	memset(r, 0, sizeof(*r));
	memcpy(r->m, bp_transform_identity, sizeof(r->m));
	r->m[9] = i;
	memcpy(r->address, p.bytes, sizeof(r->address));
	r->family = p.family;
	r->udp = udp;
	r->flags = (uint8_t)flags;
	memcpy(r->mac, "\x02\x00\x00\x00\x00\x09", 6);
}

/* Two entries; the first has a source with two receivers and a network, the second one of IPv6. */
static void put_in_force(void)
{
	struct bp_transform_config *t = &transform.entries;
	const struct bp_transform_view none = {0};
	const unsigned sent = BP_TRANSFORM_ADDRESS | BP_TRANSFORM_UDP;

	t->rule[0] = (struct bp_transform_rule){.layout = bp_transform_layout_kunze2021,
		.udp = 10000,
		.method = BP_TRANSFORM_EXACT,
		.drop_unknown = true};
	t->rule[1] = (struct bp_transform_rule){.to = prefix("fd00::/8"),
		.layout = bp_transform_layout_kunze2021_timed,
		.udp = 10001,
		.port = 1,
		.method = BP_TRANSFORM_VECTOR,
		.drop_overflow = true,
		.loader = true};
	t->source = sources;
	t->receiver = receivers;
	t->n_sources = 3;
	t->n_receivers = 4;
	sources[0] = (struct bp_transform_source){.address = prefix("10.0.0.5"), .n = 2};
	sources[1] =
		(struct bp_transform_source){.address = prefix("10.0.0.0/24"), .first = 2, .n = 1};
	sources[2] = (struct bp_transform_source){
		.address = prefix("fd01::5"), .rule = 1, .first = 3, .n = 1};
	set_receiver(0, "10.1.0.9", 20000, sent | BP_TRANSFORM_MATRIX | BP_TRANSFORM_MAC);
	set_receiver(1, "10.1.0.8", 20001, sent);
	set_receiver(2, "10.1.0.8", 0, BP_TRANSFORM_REFLECT | BP_TRANSFORM_MATRIX);
	set_receiver(3, "fd01::9", 20000, sent | BP_TRANSFORM_MATRIX);
	assert_int_equal(bp_transform_build(bp_transform_bank_at(&shm.transform, 2), MATRICES,
				 &transform.entries, bp_config_ports_key(&config), &none, 1, 7,
				 &shm.transform.head->next_uid, 1, err, sizeof(err)),
		0);
	atomic_store(&shm.transform.head->active, 2);
}

static uint32_t number_of(const char *address)
{
	const struct bp_transform_view v = bp_transform_view_of(&shm.transform, 2);
	const struct bp_prefix p = prefix(address);

	return bp_transform_lookup(&v, p.family == 6, p.family, p.bytes);
}

static void count(void)
{
	const struct bp_transform_view v = bp_transform_view_of(&shm.transform, 2);
	const uint32_t i = number_of("10.0.0.5");

	for (unsigned w = 0; w < WORKERS; w++) {
		struct bp_transform_rule_stats *r =
			&shm.transform.rule_stats[w * BP_TRANSFORM_RULES_MAX];
		struct bp_transform_source_stats *s = &shm.transform.source_stats[w * MATRICES + i];

		atomic_store(&r->readings, 100 + w);
		atomic_store(&r->sent, 200);
		atomic_store(&r->bare, 90);
		atomic_store(&r->saturated, 3);
		atomic_store(&r->refused, 4);
		atomic_store(&r->overflow, 5);
		atomic_store(&r->unknown, 6);
		atomic_store(&r->no_mbuf, 7);
		/* the second worker still has those of a source that was there before */
		atomic_store(&s->uid, v.source[i].uid + w);
		atomic_store(&s->readings, 50 + w);
		atomic_store(&s->saturated, 2);
		atomic_store(&s->refused, 1);
	}
}

static void says(const char *line)
{
	char *text = view_written(&bp_show_transform, &source, false, false);

	if (!strstr(text, line))
		fail_msg("no '%s' in:\n%s", line, text);
	free(text);
}

/* That the object has these members, and perhaps others. Takes the reference. */
static void has(const json_t *object, json_t *members)
{
	const char *key;
	json_t *want;

	json_object_foreach(members, key, want) if (!json_equal(json_object_get(object, key), want))
		fail_msg(
			"%s is %s", key, json_dumps(json_object_get(object, key), JSON_ENCODE_ANY));
	json_decref(members);
}

static json_t *element(const json_t *v, const char *list, size_t i)
{
	return json_array_get(json_object_get(v, list), i);
}

static void missing_section_is_reported(void **state)
{
	json_t *v;

	(void)state;
	says("no section transform\n");
	v = view_parsed(&bp_show_transform, &source, true);
	has(v, json_pack("{sn s[] s[] si}", "generation", "transform", "sources", "total", 0));
	json_decref(v);
}

static void reports_missing_active_rules(void **state)
{
	json_t *v;

	(void)state;
	says("no active entries of section transform yet\n");
	v = view_parsed(&bp_show_transform, &source, false);
	has(v, json_pack("{si s[] s[]}", "generation", 0, "transform", "sources"));
	json_decref(v);
}

static void entries_are_summed_over_workers(void **state)
{
	json_t *v;

	(void)state;
	put_in_force();
	count();
	v = view_parsed(&bp_show_transform, &source, false);
	has(v, json_pack("{si s{si si} si}", "generation", 1, "matrices", "used", 4, "capacity",
		       MATRICES, "total", 3));
	has(element(v, "transform", 0),
		json_pack("{si ss si ss ss ss ss ss sb si si}", "entry", 0, "port", "trackers",
			"udp_port", 10000, "to", "any", "layout", "kunze2021", "method", "exact",
			"unknown_source", "drop", "on_overflow", "saturate", "matrix_loader", 0,
			"sources", 2, "receivers", 3));
	has(element(v, "transform", 0),
		json_pack("{si si si si si si si si}", "readings", 201, "sent", 400, "no_matrix",
			180, "saturated", 6, "dropped", 8, "overflow", 10, "unknown", 12, "no_mbuf",
			14));
	has(element(v, "transform", 1),
		json_pack("{ss ss ss ss ss ss sb si}", "port", "robots", "to", "fd00::/8", "layout",
			"kunze2021_timed", "method", "vector", "unknown_source", "forward",
			"on_overflow", "drop", "matrix_loader", 1, "readings", 0));
	json_decref(v);
}

static void sources_have_their_receivers(void **state)
{
	json_t *v, *row;

	(void)state;
	put_in_force();
	count();
	v = view_parsed(&bp_show_transform, &source, true);
	row = element(v, "sources", number_of("10.0.0.5"));
	has(row, json_pack("{ss si sb si si si}", "source", "10.0.0.5", "entry", 0, "added", 0,
			 "readings", 50, "saturated", 2, "dropped", 1));
	has(element(row, "receivers", 0), json_pack("{ss ss sb}", "to", "10.1.0.9:20000", "mac",
						  "02:00:00:00:00:09", "set", 0));
	has(element(row, "receivers", 1),
		json_pack("{ss sn sn}", "to", "10.1.0.8:20001", "mac", "matrix"));
	row = element(v, "sources", number_of("10.0.0.77"));
	has(row, json_pack("{ss si}", "source", "10.0.0.0/24", "readings", 0));
	has(element(row, "receivers", 0),
		json_pack("{ss s[[ffff][ffff][ffff]]}", "to", "sender:*", "matrix", 1.0, 0.0, 0.0,
			2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0));
	row = element(v, "sources", number_of("fd01::5"));
	has(row, json_pack("{ss si}", "source", "fd01::5", "entry", 1));
	has(element(row, "receivers", 0), json_pack("{ss}", "to", "[fd01::9]:20000"));
	json_decref(v);
	says("10.1.0.9:20000, 10.1.0.8:20001 (no matrix)\n");
	says("4 of 16 matrices in use\n");
}

static void matrices_can_be_selected(void **state)
{
	static const struct {
		const char *within;
		int rule; /* -1: any */
		json_int_t total;
	} asked[] = {
		{"10.0.0.0/8", -1, 2},
		{"10.0.0.5", -1, 1},
		{"10.0.0.6", -1, 0},
		{"::/0", -1, 1},
		{"0.0.0.0/0", 1, 0},
		{NULL, 1, 1},
	};

	(void)state;
	put_in_force();
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		json_t *v;

		memset(&source.streams, 0, sizeof(source.streams));
		if (asked[i].within)
			source.streams.within = prefix(asked[i].within);
		source.streams.has_rule = asked[i].rule >= 0;
		source.streams.rule = (uint32_t)asked[i].rule;
		v = view_parsed(&bp_show_transform, &source, false);
		has(v, json_pack("{sI}", "total", asked[i].total));
		json_decref(v);
	}
	source.streams.within = prefix("192.0.2.1");
	says("no source is as asked for\n");
}

static void set_matrices_are_reported(void **state)
{
	struct bp_transform_view now;
	const struct bp_prefix p = prefix("10.0.0.5"), q = prefix("10.0.0.99");
	json_t *view;

	(void)state;
	put_in_force();
	now = bp_transform_view_of(&shm.transform, 2);
	assert_int_equal(bp_transform_set(&now, 0, &p, 1, bp_transform_identity, false,
				 &shm.transform.head->next_uid),
		BP_TRANSFORM_SET_DONE);
	assert_int_equal(bp_transform_set(&now, 0, &q, 0, bp_transform_identity, true,
				 &shm.transform.head->next_uid),
		BP_TRANSFORM_SET_DONE);
	view = view_parsed(&bp_show_transform, &source, false);
	has(element(element(view, "sources", number_of("10.0.0.5")), "receivers", 1),
		json_pack("{sb}", "set", 1));
	has(element(view, "sources", number_of("10.0.0.99")), json_pack("{sb}", "added", 1));
	json_decref(view);
}

/* The segment is memory of another process: no value in it is trusted. */
static void damaged_generation_is_tolerated(void **state)
{
	uint8_t *bank = (uint8_t *)bp_transform_bank_at(&shm.transform, 2);

	(void)state;
	srand(1);
	for (unsigned i = 0; i < 2000; i++) {
		char *text;

		put_in_force();
		for (unsigned k = 0; k < 8; k++)
			bank[(size_t)rand() % shm.transform.generation.bank_size] = (uint8_t)rand();
		text = view_written(&bp_show_transform, &source, (i & 1) != 0, true);
		free(text);
	}
	memset(bank, 0xff, shm.transform.generation.bank_size);
	says("no active entries of section transform yet\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(missing_section_is_reported, begin_without, end),
		cmocka_unit_test_setup_teardown(reports_missing_active_rules, begin, end),
		cmocka_unit_test_setup_teardown(entries_are_summed_over_workers, begin, end),
		cmocka_unit_test_setup_teardown(sources_have_their_receivers, begin, end),
		cmocka_unit_test_setup_teardown(matrices_can_be_selected, begin, end),
		cmocka_unit_test_setup_teardown(set_matrices_are_reported, begin, end),
		cmocka_unit_test_setup_teardown(damaged_generation_is_tolerated, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
