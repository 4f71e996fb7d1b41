/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rules a topic meets. */
#include "proto/mqtt/mqtt.h"
#include "tests/unit/shm/rules/ruleset_rig.h"
#include "shm/rules/ruleset_image.h"

/* The matcher as the standard words it, level by level. */
static bool plain(const char *f, const char *t)
{
	if (t[0] == '$' && (f[0] == '+' || f[0] == '#'))
		return false;
	for (;;) {
		const size_t fn = strcspn(f, "/"), tn = strcspn(t, "/");

		if (fn == 1 && f[0] == '#')
			return true;
		if (!(fn == 1 && f[0] == '+') && (fn != tn || memcmp(f, t, fn) != 0))
			return false;
		f += fn;
		t += tn;
		if (*t == '\0')
			return *f == '\0' || strcmp(f, "/#") == 0;
		if (*f == '\0')
			return false;
		f++;
		t++;
	}
}

static bool matches(const char *filter, const char *topic)
{
	struct bp_rule_spec *s = specs_of(&filter, 1);
	struct bp_ruleset *rs = build(s, 1);
	uint8_t mark;
	struct hits h = {.rule = &mark};

	match(rs, topic, strlen(topic), &h);
	assert_int_equal(h.calls, mark);
	free(rs);
	free(s);
	return mark;
}

static void the_standards_examples(void **state)
{
	static const struct {
		const char *filter, *topic;
		bool match;
	} t[] = {
		/* MQTT 5.0, 4.7.1 and 4.7.2 */
		{"sport/tennis/player1/#", "sport/tennis/player1", true},
		{"sport/tennis/player1/#", "sport/tennis/player1/ranking", true},
		{"sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true},
		{"sport/#", "sport", true},
		{"sport/#", "sports", false},
		{"#", "a", true},
		{"#", "/", true},
		{"sport/tennis/+", "sport/tennis/player1", true},
		{"sport/tennis/+", "sport/tennis/player1/ranking", false},
		{"sport/+", "sport", false},
		{"sport/+", "sport/", true},
		{"+/+", "/finance", true},
		{"/+", "/finance", true},
		{"+", "/finance", false},
		{"+/tennis/#", "x/tennis", true},
		{"sport/+/player1", "sport/a/player1", true},
		{"#", "$SYS/monitor", false},
		{"+/monitor/Clients", "$SYS/monitor/Clients", false},
		{"$SYS/#", "$SYS/monitor", true},
		{"$SYS/monitor/+", "$SYS/monitor/Clients", true},
		{"$SYS/+", "$SYS", false},
		{"a/+", "a/$b", true},
		{"a/#", "a/$b", true},
		/* empty levels, case, lengths around the 8 and 16 bytes of the hash */
		{"/", "/", true},
		{"//", "/", false},
		{"//", "//", true},
		{"+/+/+", "//", true},
		{"a//b", "a//b", true},
		{"a/+/b", "a//b", true},
		{"a", "A", false},
		{"1234567", "1234567", true},
		{"12345678", "12345678", true},
		{"12345678", "12345679", false},
		{"123456789abcdef0", "123456789abcdef0", true},
		{"123456789abcdef0", "123456789abcdef1", false},
		{"123456789abcdef01", "123456789abcdef01", true},
		{"123456789abcdef01", "123456789abcdef02", false},
		{"123456789abcdef01", "123456789abcdef0", false},
		{"23456789abcdef0123456789abcdef01", "23456789abcdef0123456789abcdef01", true},
		{"23456789abcdef0123456789abcdef01x", "23456789abcdef0123456789abcdef01x", true},
		{"23456789abcdef0123456789abcdef01x", "2345X789abcdef0123456789abcdef01x", false},
	};

	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(plain(t[i].filter, t[i].topic), t[i].match);
		if (matches(t[i].filter, t[i].topic) != t[i].match)
			fail_msg("%s and %s", t[i].filter, t[i].topic);
	}
}

static void empty_image_matches_no_topic(void **state)
{
	struct bp_ruleset *rs = calloc(1, sizeof(*rs));
	uint32_t n = 0;

	assert_true(bp_ruleset_valid(rs, sizeof(*rs), 1));
	bp_ruleset_match(rs, (const uint8_t *)"a", 1, count, &n);
	free(rs);
	rs = build(NULL, 0);
	bp_ruleset_match(rs, (const uint8_t *)"a", 1, count, &n);
	assert_int_equal(n, 0);
	free(rs);
}

static void rules_on_one_filter_are_one_chain_in_order(void **state)
{
	static const char *const filters[] = {"a/+", "a/#", "a/+", "a/b", "a/#", "a/+"};
	struct bp_rule_spec *s = specs_of(filters, 6);
	struct bp_ruleset *rs = build(s, 6);
	uint8_t marks[6];
	struct hits h = {.rule = marks};

	match(rs, "a/b", 3, &h);
	assert_int_equal(h.calls, 3); /* filters */
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(marks[i], 1);
	assert_int_equal(bp_ruleset_rule(rs, 0)->next, 2);
	assert_int_equal(bp_ruleset_rule(rs, 2)->next, 5);
	assert_int_equal(bp_ruleset_rule(rs, 1)->next, 4);
	assert_int_equal(bp_ruleset_rule(rs, 0)->filter, bp_ruleset_rule(rs, 5)->filter);
	free(rs);
	free(s);
}

/* The hash bits of a level in an edge, and the first slot of the search in a table of four. */
struct tagged {
	uint64_t tag;
	uint32_t number;
};

static int by_tag(const void *a, const void *b)
{
	const uint64_t x = ((const struct tagged *)a)->tag, y = ((const struct tagged *)b)->tag;

	return x < y ? -1 : x > y;
}

/* Two topic levels that an edge of the tree distinguishes by their text alone. */
static void two_with_one_tag(uint64_t key, int digits, char *a, char *b, size_t size)
{
	enum { N = 800000 };
	struct tagged *t = malloc(N * sizeof(*t));
	uint32_t i;

	for (i = 0; i < N; i++) {
		struct bp_level l = {.text = (uint8_t *)a};
		uint64_t h;

		l.len = (uint32_t)snprintf(a, size, "%0*u", digits, i);
		bp_level_hash(&l, key);
		h = bp_edge_hash(&l, 0);
		t[i] = (struct tagged){h >> 32 << 2 | (h & 3), i};
	}
	qsort(t, N, sizeof(*t), by_tag);
	for (i = 1; i < N && t[i].tag != t[i - 1].tag; i++)
		;
	assert_true(i < N); /* some 18 pairs are to be expected */
	snprintf(a, size, "%0*u", digits, t[i - 1].number);
	snprintf(b, size, "%0*u", digits, t[i].number);
	free(t);
}

static void equal_hashes_are_not_equal_levels(void **state)
{
	static const int digits[] = {8, 16, 17, 40};

	for (unsigned i = 0; i < 4; i++) {
		char a[64], b[64];
		const char *filter = a;
		struct bp_ruleset *rs = build(NULL, 0); /* for the key: that of generation 1 */
		struct bp_rule_spec *s;
		uint8_t mark;
		struct hits h = {.rule = &mark};

		two_with_one_tag(rs->edge_key, digits[i], a, b, sizeof(a));
		free(rs);
		s = specs_of(&filter, 1);
		rs = build(s, 1);
		assert_int_equal(rs->edge_mask, 3);
		match(rs, a, strlen(a), &h);
		assert_int_equal(mark, 1);
		match(rs, b, strlen(b), &h);
		assert_int_equal(mark, 0);
		free(rs);
		free(s);
	}
}

/* Levels from a small store, so that filters and topics meet often. */
static void random_levels(uint64_t *seed, char *out, bool filter)
{
	static const char *const store[] = {"a", "b", "", "$s", "temperature", "12345678",
		"exactly-16-bytes", "more-than-sixteen-bytes", "more-than-sixteen-bytez",
		"\xc3\xa9"};
	const unsigned n = 1 + test_below(seed, 5);

	out[0] = '\0';
	for (unsigned i = 0; i < n; i++) {
		if (i)
			strcat(out, "/");
		if (filter && test_below(seed, 3) == 0) {
			if (i == n - 1 && test_below(seed, 2)) {
				strcat(out, "#");
				return;
			}
			strcat(out, "+");
		} else {
			strcat(out, store[test_below(seed, 10)]);
		}
	}
	if (out[0] == '\0')
		strcpy(out, "a");
}

static void compare_with_plain(uint32_t n, unsigned topics, uint64_t seed)
{
	struct bp_rule_spec *s = calloc(n, sizeof(*s));
	uint8_t *marks = calloc(n, 1);
	struct hits h = {.rule = marks};
	struct bp_ruleset *rs;
	uint64_t matched = 0;

	for (uint32_t i = 0; i < n; i++) {
		char filter[256], name[16];

		snprintf(name, sizeof(name), "r%u", i);
		random_levels(&seed, filter, true);
		spec(&s[i], name, filter);
	}
	rs = build(s, n);
	for (unsigned k = 0; k < topics; k++) {
		char topic[256];

		random_levels(&seed, topic, false);
		match(rs, topic, strlen(topic), &h);
		for (uint32_t i = 0; i < n; i++) {
			const bool want = plain(s[i].filter, topic);

			if (marks[i] != want)
				fail_msg("%s and %s: found %u", s[i].filter, topic, marks[i]);
			assert_int_equal(bp_mqtt_filter_matches(s[i].filter, strlen(s[i].filter),
						 topic, strlen(topic)),
				want);
			matched += want;
		}
	}
	assert_true(matched > 0);
	free(rs);
	free(marks);
	free(s);
}

static void it_agrees_with_a_plain_matcher(void **state)
{
	for (uint64_t seed = 1; seed <= 60; seed++)
		compare_with_plain(1 + (uint32_t)seed * 3, 300, seed);
}

static void it_agrees_with_ten_thousand_rules(void **state)
{
	compare_with_plain(10000, 100, 99);
}

static void ten_thousand_different_filters(void **state)
{
	const uint32_t n = 10000;
	struct bp_rule_spec *s = calloc(n, sizeof(*s));
	uint8_t *marks = calloc(n, 1);
	struct hits h = {.rule = marks};
	struct bp_ruleset *rs;

	for (uint32_t i = 0; i < n; i++) {
		char filter[128], name[16];

		snprintf(name, sizeof(name), "r%u", i);
		snprintf(filter, sizeof(filter), "plant/line-%u/+/machine-with-a-long-name-%u/t",
			i % 100, i);
		spec(&s[i], name, filter);
	}
	rs = build(s, n);
	for (uint32_t i = 0; i < n; i += 7) {
		char topic[128];

		snprintf(topic, sizeof(topic), "plant/line-%u/x/machine-with-a-long-name-%u/t",
			i % 100, i);
		match(rs, topic, strlen(topic), &h);
		assert_int_equal(h.calls, 1);
		assert_int_equal(marks[i], 1);
	}
	free(rs);
	free(marks);
	free(s);
}

static void maximum_depth_filters_and_hostile_topics(void **state)
{
	char filter[3][BP_RULE_FILTER_MAX + 1], *topic = malloc(65536);
	const char *filters[3] = {filter[0], filter[1], filter[2]};
	struct bp_rule_spec *s;
	struct bp_ruleset *rs;
	uint8_t marks[3];
	struct hits h = {.rule = marks};

	deepest(filter[0], 0);
	deepest(filter[1], '+');
	deepest(filter[2], '+');
	filter[2][BP_RULE_FILTER_MAX - 1] = '#';
	s = specs_of(filters, 3);
	rs = build(s, 3);
	match(rs, filter[0], BP_RULE_FILTER_MAX, &h);
	assert_int_equal(marks[0], 1);
	assert_int_equal(marks[1], 0);
	assert_int_equal(marks[2], 1);
	deepest(filter[0], 'x');
	match(rs, filter[0], BP_RULE_FILTER_MAX, &h);
	assert_int_equal(marks[0], 0);
	assert_int_equal(marks[1], 1);
	assert_int_equal(marks[2], 1);
	memset(topic, '/', 65535);
	match(rs, topic, 65535, &h);
	assert_int_equal(h.calls, 1);
	assert_int_equal(marks[2], 1);
	memset(topic, 'x', 65535);
	match(rs, topic, 65535, &h);
	assert_int_equal(h.calls, 0);
	free(topic);
	free(rs);
	free(s);
}

/* Two children at every node of 12 levels: 4096 filters, all of which the topic meets. */
static void topic_visits_every_node(void **state)
{
	const uint32_t n = 4096;
	struct bp_rule_spec *s = calloc(n, sizeof(*s));
	uint8_t *marks = calloc(n, 1);
	struct hits h = {.rule = marks};
	struct bp_ruleset *rs;

	for (uint32_t i = 0; i < n; i++) {
		char filter[64] = "", name[16];

		for (unsigned b = 0; b < 12; b++) {
			strcat(filter, i >> b & 1 ? "+" : "a");
			strcat(filter, "/");
		}
		strcat(filter, "#");
		snprintf(name, sizeof(name), "r%u", i);
		spec(&s[i], name, filter);
	}
	rs = build(s, n);
	match(rs, "a/a/a/a/a/a/a/a/a/a/a/a/b", 25, &h);
	assert_int_equal(h.calls, n);
	match(rs, "a/a/a/a/a/a/a/a/a/a/a/a", 23, &h);
	assert_int_equal(h.calls, n);
	match(rs, "b/b/b/b/b/b/b/b/b/b/b/b", 23, &h);
	assert_int_equal(h.calls, 1);
	free(rs);
	free(marks);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_standards_examples),
		cmocka_unit_test(empty_image_matches_no_topic),
		cmocka_unit_test(rules_on_one_filter_are_one_chain_in_order),
		cmocka_unit_test(equal_hashes_are_not_equal_levels),
		cmocka_unit_test(it_agrees_with_a_plain_matcher),
		cmocka_unit_test(it_agrees_with_ten_thousand_rules),
		cmocka_unit_test(ten_thousand_different_filters),
		cmocka_unit_test(maximum_depth_filters_and_hostile_topics),
		cmocka_unit_test(topic_visits_every_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
