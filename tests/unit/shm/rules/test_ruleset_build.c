/* SPDX-License-Identifier: BSD-3-Clause */
/* The image built from rules, its slots over a reload, and the detection of damage. */
#include "tests/unit/shm/rules/ruleset_rig.h"
#include "shm/rules/rule_uid.h"

/* --- building ---------------------------------------------------------------------------- */

static void rules_are_in_the_image(void **state)
{
	const struct bp_mirror_target clone = {.enabled = true, .port = 7, .tcp_port = 1883};
	const uint64_t size = bp_ruleset_bank_size(4);
	void *bank = aligned_alloc(64, size);
	const struct bp_ruleset *rs = bank;
	struct bp_rule_spec s;
	const struct bp_rule *r;

	spec(&s, "overheat", "plant/+/temperature");
	s.raise = (struct bp_condition){BP_COND_INSIDE, 1, 2};
	s.clear = (struct bp_condition){BP_COND_LT, 3, 0};
	s.has_clear = true;
	s.hold = BP_HOLD_TIME;
	s.hold_ns = 5;
	s.hold_count = 6;
	s.repeat = BP_REPEAT_ON_CHANGE;
	s.action = BP_ACTION_MIRROR;
	s.payload = BP_PAYLOAD_ENVELOPE;
	s.value.kind = BP_VALUE_BINARY;
	s.value.binary.offset = 9;
	assert_int_equal(
		bp_ruleset_build(bank, size, &s, 1, 4, &clone, NULL, 3, 12345, err, sizeof(err)),
		0);
	assert_int_equal(rs->generation, 3);
	assert_int_equal(rs->loaded_ns, 12345);
	assert_int_equal(rs->n_rules, 1);
	assert_true(rs->size <= size && rs->size % 4 == 0);
	assert_int_equal(rs->clone.port, 7);
	assert_int_equal(rs->clone.tcp_port, 1883);
	r = bp_ruleset_rule(rs, 0);
	assert_int_equal((uintptr_t)r % 64, 0);
	assert_string_equal(r->name, "overheat");
	assert_int_equal(r->name_len, 8);
	assert_string_equal(r->to, "alarm/{topic}");
	assert_int_equal(r->to_len, 13);
	assert_int_equal(r->filter_len, 19);
	assert_memory_equal((const uint8_t *)rs + r->filter, "plant/+/temperature", 19);
	assert_int_equal(r->raise.op, BP_COND_INSIDE);
	assert_true(r->raise.a == 1 && r->raise.b == 2);
	assert_int_equal(r->clear.op, BP_COND_LT);
	assert_true(r->clear.a == 3);
	assert_int_equal(r->has_clear, 1);
	assert_int_equal(r->hold, BP_HOLD_TIME);
	assert_int_equal(r->hold_ns, 5);
	assert_int_equal(r->hold_count, 6);
	assert_int_equal(r->repeat, BP_REPEAT_ON_CHANGE);
	assert_int_equal(r->action, BP_ACTION_MIRROR);
	assert_int_equal(r->payload, BP_PAYLOAD_ENVELOPE);
	assert_int_equal(r->stateful, 1);
	assert_int_equal(r->next, BP_RULE_NONE);
	assert_int_equal(bp_ruleset_source(rs, r->source)->kind, BP_VALUE_BINARY);
	assert_int_equal(bp_ruleset_source(rs, r->source)->binary.offset, 9);
	free(bank);
}

static void only_stateful_rules_have_state(void **state)
{
	struct bp_rule_spec s[5];
	struct bp_ruleset *rs;

	for (unsigned i = 0; i < 5; i++) {
		const char name[2] = {(char)('a' + i), '\0'};

		spec(&s[i], name, "t");
	}
	s[1].has_clear = true;
	s[2].hold = BP_HOLD_COUNT;
	s[2].hold_count = 2;
	s[3].hold = BP_HOLD_TIME;
	s[3].hold_ns = 1;
	s[4].repeat = BP_REPEAT_ON_CHANGE;
	rs = build(s, 5);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(bp_ruleset_rule(rs, i)->stateful, i != 0);
	free(rs);
}

static void equal_sources_are_one(void **state)
{
	struct bp_rule_spec s[8];
	struct bp_ruleset *rs;

	for (unsigned i = 0; i < 8; i++) {
		const char name[2] = {(char)('a' + i), '\0'};

		spec(&s[i], name, "t");
	}
	s[1].value.binary.offset = 5; /* of no meaning for text */
	s[2].value.kind = s[3].value.kind = s[4].value.kind = BP_VALUE_BINARY;
	s[3].value.binary.offset = 1;
	s[4].value.binary.offset = 1;
	s[5].value.kind = s[6].value.kind = s[7].value.kind = BP_VALUE_JSON;
	s[5].value.json.steps = s[6].value.json.steps = s[7].value.json.steps = 1;
	s[7].value.json.names[0] = 'x';
	rs = build(s, 8);
	assert_int_equal(rs->n_sources, 5);
	assert_int_equal(bp_ruleset_rule(rs, 0)->source, bp_ruleset_rule(rs, 1)->source);
	assert_int_not_equal(bp_ruleset_rule(rs, 2)->source, bp_ruleset_rule(rs, 3)->source);
	assert_int_equal(bp_ruleset_rule(rs, 3)->source, bp_ruleset_rule(rs, 4)->source);
	assert_int_equal(bp_ruleset_rule(rs, 5)->source, bp_ruleset_rule(rs, 6)->source);
	assert_int_not_equal(bp_ruleset_rule(rs, 6)->source, bp_ruleset_rule(rs, 7)->source);
	free(rs);
}

static void bad_filters_are_refused(void **state)
{
	static const char *const bad[] = {
		"", "a/#/b", "#/", "a+", "+a/b", "a/b#", "##", "++", "a/+#"};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct bp_rule_spec *s = specs_of(&bad[i], 1);

		assert_null(try_build(s, 1, 1, NULL, 1));
		assert_non_null(strstr(err, "topic filter"));
		free(s);
	}
}

static void strings_without_an_end_are_refused(void **state)
{
	struct bp_rule_spec s;

	spec(&s, "r", "a");
	memset(s.name, 'n', sizeof(s.name));
	assert_null(try_build(&s, 1, 1, NULL, 1));
	spec(&s, "r", "a");
	memset(s.filter, 'f', sizeof(s.filter));
	assert_null(try_build(&s, 1, 1, NULL, 1));
	spec(&s, "r", "a");
	memset(s.to, 't', sizeof(s.to));
	assert_null(try_build(&s, 1, 1, NULL, 1));
	spec(&s, "", "a");
	assert_null(try_build(&s, 1, 1, NULL, 1));
}

static void too_many_rules_are_rejected(void **state)
{
	static const char *const filters[] = {"a", "b", "c"};
	struct bp_rule_spec *s = specs_of(filters, 3);

	assert_null(try_build(s, 3, 2, NULL, 1));
	assert_non_null(strstr(err, "mqtt.max_rules"));
	free(s);
}

static void oversized_image_is_rejected(void **state)
{
	const uint32_t n = 64;
	struct bp_rule_spec *s = calloc(n, sizeof(*s));
	struct bp_ruleset *rs;
	uint64_t need;
	uint8_t *bank;

	for (uint32_t i = 0; i < n; i++) { /* 64 filters of some 1000 levels that differ early */
		char filter[BP_RULE_FILTER_MAX + 1], name[16];

		deepest(filter, 0);
		snprintf(name, sizeof(name), "r%u", i);
		memcpy(filter, name, strlen(name));
		spec(&s[i], name, filter);
	}
	assert_null(try_build(s, n, n, NULL, 1));
	assert_non_null(strstr(err, "shorten the topic filters"));
	/* one byte decides */
	rs = build(s, 1);
	need = rs->size;
	free(rs);
	bank = aligned_alloc(64, (need + 63) & ~63ull);
	assert_int_equal(
		bp_ruleset_build(bank, need - 1, s, 1, 1, NULL, NULL, 1, 1, err, sizeof(err)), -1);
	assert_int_equal(
		bp_ruleset_build(bank, need, s, 1, 1, NULL, NULL, 1, 1, err, sizeof(err)), 0);
	assert_int_equal(
		bp_ruleset_build(bank, 64, s, 1, 1, NULL, NULL, 1, 1, err, sizeof(err)), -1);
	free(bank);
	free(s);
}

static void ordinary_rules_fit_their_bank(void **state)
{
	for (uint32_t n = 1; n <= 4096; n = n * 3 + 1) {
		struct bp_rule_spec *s = calloc(n, sizeof(*s));

		for (uint32_t i = 0; i < n; i++) {
			char filter[256], name[16];

			snprintf(name, sizeof(name), "r%u", i);
			snprintf(filter, sizeof(filter),
				"enterprise-%u/site-%u/area/line/cell-%u/%u/+/x", i, i, i, i);
			spec(&s[i], name, filter);
		}
		free(build(s, n));
		free(s);
	}
}

/* --- identity and slots ------------------------------------------------------------------- */

static void any_change_of_a_rule_makes_another(void **state)
{
	struct bp_rule_spec base, s;
	uint64_t seen[64];
	unsigned n = 0;

#define CHANGED(change)                                                                            \
	do {                                                                                       \
		s = base;                                                                          \
		change;                                                                            \
		seen[n] = bp_rule_uid(&s);                                                         \
		assert_true(seen[n] != 0);                                                         \
		for (unsigned k = 0; k < n; k++)                                                   \
			assert_true(seen[k] != seen[n]);                                           \
		n++;                                                                               \
	} while (0)

	spec(&base, "name", "filter");
	base.has_clear = true;
	base.hold = BP_HOLD_COUNT;
	base.hold_count = 3;
	base.value.kind = BP_VALUE_BINARY;
	base.raise.op = BP_COND_OUTSIDE;
	base.raise.b = 90;
	CHANGED((void)0);
	CHANGED(s.name[0] = 'm');
	CHANGED(s.name[4] = 'x');
	CHANGED(s.filter[0] = 'm');
	CHANGED((strcpy(s.name, "namef"), strcpy(s.filter, "ilter")));
	CHANGED(s.to[0] = 'm');
	CHANGED(s.value.kind = BP_VALUE_TEXT);
	CHANGED(s.value.kind = BP_VALUE_JSON);
	CHANGED(s.value.binary.offset = 1);
	CHANGED(s.value.binary.type = 1);
	CHANGED(s.value.binary.little_endian = 1);
	CHANGED(s.raise.op = BP_COND_INSIDE);
	CHANGED(s.raise.a = 81);
	CHANGED(s.raise.b = 91);
	CHANGED(s.has_clear = false);
	CHANGED(s.clear.op = BP_COND_LT);
	CHANGED(s.clear.a = 1);
	CHANGED(s.hold = BP_HOLD_NONE);
	CHANGED(s.hold_count = 4);
	CHANGED((s.hold = BP_HOLD_TIME, s.hold_ns = 3));
	CHANGED((s.hold = BP_HOLD_TIME, s.hold_ns = 4));
	CHANGED(s.repeat = BP_REPEAT_ON_CHANGE);
	CHANGED(s.quiet_ns = 1);
	CHANGED(s.deadband = 1);
	CHANGED(s.action = BP_ACTION_MIRROR);
	CHANGED(s.payload = BP_PAYLOAD_ENVELOPE);
	CHANGED(s.destination = BP_DESTINATION_KAFKA);
	CHANGED(s.value.type = BP_VALUE_BOOLEAN);
	CHANGED(s.value.type = BP_VALUE_STRING);
	CHANGED((s.value.type = BP_VALUE_STRING, s.strings.n = 1, s.strings.text[0][0] = 'a'));
	CHANGED((s.value.type = BP_VALUE_STRING, s.strings.n = 1, s.strings.text[0][0] = 'b'));
	CHANGED((s.value.scaled = 1, s.value.scale = 2));
	CHANGED((s.value.scaled = 1, s.value.scale = 3));
	CHANGED((s.value.scaled = 1, s.value.scale = 2, s.value.offset = 1));
	/* settings without a meaning change nothing */
	s = base;
	s.hold_ns = 77;
	s.clear.b = 5;
	s.value.json.steps = 3;
	s.value.binary.pad = 9;
	s.value.scale = 2;
	s.value.match = BP_ELEMENT_ALL;
	s.strings.n = 1;
	s.name[30] = 'x';
	/* nor do those that only describe the alarms */
	s.severity = BP_SEVERITY_MAJOR;
	s.annotations.n = 1;
	assert_true(bp_rule_uid(&s) == seen[0]);
	/* and it is the same in every process and on every machine */
	spec(&s, "r", "a/b");
	assert_true(bp_rule_uid(&s) == 0xb837a6233c35080dull);
	s.raise.a = 0.0;
	seen[0] = bp_rule_uid(&s);
	s.raise.a = -0.0;
	assert_true(bp_rule_uid(&s) == seen[0]);
}

static void slots_are_different(const struct bp_ruleset *rs, uint32_t max_rules)
{
	uint8_t *used = calloc(max_rules, 1);

	for (uint32_t i = 0; i < rs->n_rules; i++) {
		const uint32_t slot = bp_ruleset_rule(rs, i)->slot;

		assert_true(slot < max_rules);
		assert_false(used[slot]);
		used[slot] = 1;
	}
	free(used);
}

static void a_reload_keeps_the_slots_of_unchanged_rules(void **state)
{
	static const char *const filters[] = {"a", "b", "c", "d", "e"};
	struct bp_rule_spec *s = specs_of(filters, 5), t[5];
	struct bp_ruleset *one = try_build(s, 5, 8, NULL, 1), *two;

	/* other order, r1 changed, r3 gone, one new */
	t[0] = s[4];
	t[1] = s[2];
	t[2] = s[1];
	t[2].raise.a = 81;
	t[3] = s[0];
	spec(&t[4], "new", "a");
	two = try_build(t, 5, 8, one, 2);
	slots_are_different(two, 8);
	assert_int_equal(bp_ruleset_rule(two, 0)->slot, bp_ruleset_rule(one, 4)->slot);
	assert_int_equal(bp_ruleset_rule(two, 1)->slot, bp_ruleset_rule(one, 2)->slot);
	assert_int_equal(bp_ruleset_rule(two, 3)->slot, bp_ruleset_rule(one, 0)->slot);
	/* new rules took slots that the old image did not use */
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_not_equal(bp_ruleset_rule(two, 2)->slot, bp_ruleset_rule(one, i)->slot);
		assert_int_not_equal(bp_ruleset_rule(two, 4)->slot, bp_ruleset_rule(one, i)->slot);
	}
	free(one);
	free(two);
	free(s);
}

static void random_reloads(void **state)
{
	enum { MAX = 50, ALL = 120 };
	struct bp_rule_spec *all = calloc(ALL, sizeof(*all)), *now = calloc(MAX, sizeof(*now));
	struct bp_ruleset *old = NULL;
	uint64_t seed = 6;

	for (unsigned i = 0; i < ALL; i++) {
		char name[16];

		snprintf(name, sizeof(name), "r%u", i);
		spec(&all[i], name, "a/b");
	}
	for (unsigned round = 1; round < 200; round++) {
		const uint32_t n = test_below(&seed, MAX + 1);
		const uint32_t from = test_below(&seed, ALL);
		struct bp_ruleset *rs;

		for (uint32_t i = 0; i < n; i++)
			now[i] = all[(from + i * 7) % ALL]; /* 7 and 120 share no factor */
		rs = try_build(now, n, MAX, old, round);
		assert_non_null(rs);
		slots_are_different(rs, MAX);
		for (uint32_t i = 0; i < n; i++) {
			const struct bp_rule *r = bp_ruleset_rule(rs, i);

			for (uint32_t k = 0; old && k < old->n_rules; k++) {
				if (bp_ruleset_rule(old, k)->uid == r->uid)
					assert_int_equal(r->slot, bp_ruleset_rule(old, k)->slot);
			}
		}
		free(old);
		old = rs;
	}
	free(old);
	free(all);
	free(now);
}

static void the_same_bank_can_be_built_over(void **state)
{
	static const char *const filters[] = {"a", "b", "c"};
	struct bp_rule_spec *s = specs_of(filters, 3);
	struct bp_ruleset *rs = try_build(s, 3, 4, NULL, 1);
	const uint32_t slot = bp_ruleset_rule(rs, 2)->slot;

	assert_int_equal(bp_ruleset_build(rs, bp_ruleset_bank_size(4), s + 2, 1, 4, NULL, rs, 2, 1,
				 err, sizeof(err)),
		0);
	assert_int_equal(rs->n_rules, 1);
	assert_int_equal(bp_ruleset_rule(rs, 0)->slot, slot);
	free(rs);
	free(s);
}

/* --- damaged images ------------------------------------------------------------------------ */

/* Whatever a bit flip makes of an image: found to be bad, or matching stays inside it. */
static void damage_is_found_or_harmless(void **state)
{
	static const char *const filters[] = {
		"a/+/c", "a/#", "more-than-sixteen-bytes/x", "+/+", "#"};
	static const char *const topics[] = {"a/b/c", "a", "more-than-sixteen-bytes/x", "//", "$x"};
	struct bp_rule_spec *s = specs_of(filters, 5);
	struct bp_ruleset *good = build(s, 5);
	const uint64_t size = good->size;
	uint8_t *bank = aligned_alloc(64, (size + 63) & ~63ull);
	unsigned bad = 0, harmless = 0;
	uint64_t seed = 7;

	for (unsigned i = 0; i < 40000; i++) {
		struct bp_ruleset *rs = (struct bp_ruleset *)(void *)bank;
		uint32_t calls = 0;

		memcpy(bank, good, size);
		/* most often where the offsets and the trie are */
		if (i % 2)
			bank[test_below(&seed, sizeof(*good))] ^= 1u << test_below(&seed, 8);
		else if (i % 4)
			bank[test_below(&seed, (uint32_t)size)] ^= 1u << test_below(&seed, 8);
		else
			bank[good->nodes + test_below(&seed, (uint32_t)(size - good->nodes))] ^=
				1u << test_below(&seed, 8);
		if (!bp_ruleset_valid(rs, size, 5)) {
			bad++;
			continue;
		}
		harmless++;
		for (unsigned t = 0; t < 5; t++)
			bp_ruleset_match(rs, (const uint8_t *)topics[t],
				(uint32_t)strlen(topics[t]), count, &calls);
		assert_true(calls <= 5 * 2 * rs->n_nodes);
	}
	assert_true(bad > 1000 && harmless > 1000);
	memcpy(bank, good, size);
	for (uint64_t cut = 0; cut < size; cut += cut < 256 ? 1 : 97)
		assert_false(bp_ruleset_valid((struct bp_ruleset *)(void *)bank, cut, 5));
	free(bank);
	free(good);
	free(s);
}

/* Offsets that a worker uses without a check: of counters, and of names for comparison. */
static void slots_and_paths_stay_inside(void **state)
{
	static const char *const filters[] = {"a"};
	struct bp_rule_spec *s = specs_of(filters, 1);
	struct bp_value_source *source;
	struct bp_ruleset *rs;
	struct bp_rule *rule;
	const char *error;
	uint64_t size;
	size_t at;

	s[0].value.kind = BP_VALUE_JSON;
	assert_int_equal(bp_json_path_compile("$.a[3].name", &s[0].value.json, &error, &at), 0);
	rs = build(s, 1);
	size = rs->size;
	rule = (struct bp_rule *)(void *)((uint8_t *)rs + rs->rules);
	source = (struct bp_value_source *)(void *)((uint8_t *)rs + rs->sources);
	rule->slot = 1;
	assert_true(bp_ruleset_valid(rs, size, 2));
	assert_false(bp_ruleset_valid(rs, size, 1));
	rule->slot = 0;
	rule->severity = BP_SEVERITIES;
	assert_false(bp_ruleset_valid(rs, size, 1));
	rule->severity = BP_SEVERITY_CRITICAL;
	assert_true(bp_ruleset_valid(rs, size, 1));
	source->json.steps = BP_JSON_STEPS_MAX + 1;
	assert_false(bp_ruleset_valid(rs, size, 1));
	source->json.steps = 3;
	source->json.step[2].name_off = BP_JSON_NAMES_MAX - 3;
	assert_false(bp_ruleset_valid(rs, size, 1));
	source->json.step[2].name_off = BP_JSON_NAMES_MAX - 4;
	assert_true(bp_ruleset_valid(rs, size, 1));
	source->json.step[1].every = 2; /* they are counted */
	assert_false(bp_ruleset_valid(rs, size, 1));
	source->json.step[1].every = 1;
	assert_true(bp_ruleset_valid(rs, size, 1));
	source->kind = BP_VALUE_TEXT; /* then no one checks the path */
	source->json.steps = BP_JSON_STEPS_MAX + 1;
	assert_true(bp_ruleset_valid(rs, size, 1));
	free(rs);
	free(s);
}

/* A worker finds the rule of a window by its uid, and believes that it is this rule. */
static void windows_name_their_rules(void **state)
{
	static const char *const filters[] = {"a", "b", "c"};
	struct bp_rule_spec *s = specs_of(filters, 3);
	struct bp_ruleset_window *w, first;
	struct bp_ruleset *rs;

	(void)state;
	for (int i = 0; i < 2; i++)
		s[i].window = (struct bp_window_spec){.given = true, .values = 4};
	rs = build(s, 3);
	w = (struct bp_ruleset_window *)(void *)((uint8_t *)rs + rs->windows);
	first = w[0];
	assert_int_equal(rs->n_windows, 2);
	w[0].rule = 2; /* has no window */
	assert_false(bp_ruleset_valid(rs, rs->size, 3));
	w[0].rule = w[1].rule;
	assert_false(bp_ruleset_valid(rs, rs->size, 3));
	w[0] = w[1];
	w[1] = first; /* each is right, but a search does not find them */
	assert_false(bp_ruleset_valid(rs, rs->size, 3));
	w[1] = w[0];
	w[0] = first;
	assert_true(bp_ruleset_valid(rs, rs->size, 3));
	free(rs);
	free(s);
}

static void strings_are_stored_once_and_stay_inside(void **state)
{
	static const char *const filters[] = {"a", "b", "c", "d"};
	struct bp_rule_spec *s = specs_of(filters, 4);
	const struct bp_value_source *source[4];
	struct bp_value_strings *strings;
	struct bp_ruleset *rs;
	uint64_t size;

	(void)state;
	for (int i = 1; i < 4; i++) {
		s[i].value.type = BP_VALUE_STRING;
		s[i].strings = (struct bp_value_strings){.n = 1, .len = {4}, .text = {"open"}};
	}
	s[3].strings.text[0][0] = 'O';
	rs = build(s, 4);
	size = rs->size;
	for (uint32_t i = 0; i < 4; i++)
		source[i] = bp_ruleset_source(rs, bp_ruleset_rule(rs, i)->source);
	assert_null(bp_ruleset_strings(rs, source[0]));
	assert_ptr_equal(source[1], source[2]);
	assert_int_equal(rs->n_strings, 2);
	assert_string_equal(bp_ruleset_strings(rs, source[1])->text[0], "open");
	assert_string_equal(bp_ruleset_strings(rs, source[3])->text[0], "Open");
	assert_int_equal(bp_ruleset_rule(rs, 0)->fast, BP_RULE_FAST_TEXT);
	assert_int_equal(bp_ruleset_rule(rs, 1)->fast, BP_RULE_FAST_NO);
	strings = (struct bp_value_strings *)(void *)((uint8_t *)rs + rs->strings);
	assert_true(bp_ruleset_valid(rs, size, 4));
	strings[1].n = BP_VALUE_STRINGS_MAX + 1;
	assert_false(bp_ruleset_valid(rs, size, 4));
	strings[1].n = 1;
	strings[1].len[0] = BP_VALUE_STRING_MAX + 1;
	assert_false(bp_ruleset_valid(rs, size, 4));
	strings[1].len[0] = 4;
	rs->n_strings = 1; /* of which the second is used */
	assert_false(bp_ruleset_valid(rs, size, 4));
	rs->n_strings = UINT32_MAX;
	assert_false(bp_ruleset_valid(rs, size, 4));
	free(rs);
	free(s);
}

static void rules_of_sparkplug_are_marked(void **state)
{
	static const char *const filters[] = {"a", "b", "c", "d", "e"};
	struct bp_rule_spec *s = specs_of(filters, 5);
	struct bp_ruleset *rs;

	(void)state;
	for (int i = 0; i < 5; i++) {
		s[i].has_clear = false;
		s[i].hold = BP_HOLD_NONE;
		s[i].repeat = BP_REPEAT_EVERY;
		if (i != 0) {
			s[i].value.kind = BP_VALUE_SPARKPLUG;
			strcpy(s[i].value.names.metric, "t");
		}
	}
	s[2].value.sparkplug.what = BP_SPARKPLUG_ONLINE;
	strcpy(s[3].value.names.member, "[0]");
	s[4].repeat = BP_REPEAT_ON_CHANGE;
	rs = build(s, 5);
	assert_int_equal(bp_ruleset_rule(rs, 0)->fast, BP_RULE_FAST_TEXT);
	assert_int_equal(bp_ruleset_rule(rs, 1)->fast, BP_RULE_FAST_SPARKPLUG);
	for (uint32_t i = 2; i < 5; i++)
		assert_int_equal(bp_ruleset_rule(rs, i)->fast, BP_RULE_FAST_NO_SPARKPLUG);
	free(rs);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_in_the_image),
		cmocka_unit_test(rules_of_sparkplug_are_marked),
		cmocka_unit_test(only_stateful_rules_have_state),
		cmocka_unit_test(equal_sources_are_one),
		cmocka_unit_test(bad_filters_are_refused),
		cmocka_unit_test(strings_without_an_end_are_refused),
		cmocka_unit_test(too_many_rules_are_rejected),
		cmocka_unit_test(oversized_image_is_rejected),
		cmocka_unit_test(ordinary_rules_fit_their_bank),
		cmocka_unit_test(any_change_of_a_rule_makes_another),
		cmocka_unit_test(a_reload_keeps_the_slots_of_unchanged_rules),
		cmocka_unit_test(random_reloads),
		cmocka_unit_test(the_same_bank_can_be_built_over),
		cmocka_unit_test(damage_is_found_or_harmless),
		cmocka_unit_test(slots_and_paths_stay_inside),
		cmocka_unit_test(windows_name_their_rules),
		cmocka_unit_test(strings_are_stored_once_and_stay_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
