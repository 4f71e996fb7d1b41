/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of rules: results against a straightforward computation over the last values, bounds,
 * workers that share windows, and changes that are undone. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shm/hash.h"
#include "shm/rules/window.h"
#include "tests/unit/shm/test.h"

#define SECOND 1000000000ull

/* An image of rules that are all active, by their uid. */
struct image {
	struct bp_ruleset head;
	struct bp_ruleset_window window[4];
	struct bp_rule rule __attribute__((aligned(64)));
};

static struct bp_window_table table;
static struct image active;
static struct bp_rule rule;
static uint64_t now;

static void open_table(uint32_t windows, uint32_t values)
{
	table.buckets = bp_window_buckets(windows);
	table.stride = bp_window_stride(values);
	table.bucket = calloc(table.buckets, sizeof(*table.bucket));
	table.cells = calloc(table.buckets * BP_WINDOW_WAYS, table.stride);
	assert_true(table.bucket != NULL && table.cells != NULL);
	now = 1000 * SECOND;
}

static void close_table(void)
{
	free(table.bucket);
	free(table.cells);
}

static void set_rule(uint64_t uid, enum bp_window_function f, uint32_t values, bool tumbling)
{
	memset(&rule, 0, sizeof(rule));
	rule.uid = uid;
	rule.windowed = 1;
	rule.window = (struct bp_window_spec){.given = true,
		.tumbling = tumbling,
		.function = (uint8_t)f,
		.values = values,
		.percentile = 90};
	active.head = (struct bp_ruleset){
		.generation = 1, .n_windows = 1, .windows = offsetof(struct image, window)};
	active.window[0].uid = uid;
	active.head.rules = offsetof(struct image, rule);
	active.rule = rule;
}

static enum bp_window_result add_as(
	uint64_t topic, uint32_t client, double value, double *result, struct bp_window_undo *undo)
{
	struct bp_window_use u = {.rules = &active.head,
		.rule = &rule,
		.topic_hash = topic,
		.now_ns = now,
		.client = client,
		.undo = undo};

	return bp_window_add(&table, &u, value, result);
}

static enum bp_window_result add(double value, double *result)
{
	return add_as(1, 7, value, result, NULL);
}

/* ---- the reference: from the definition, in the order of the values ---- */

static int ascending(const void *x, const void *y)
{
	const double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

static bool expected(enum bp_window_function f, const double *v, const uint64_t *ns, uint32_t n,
	double percentile, double *result)
{
	long double sum = 0, squares = 0, up = 0;
	double sorted[BP_WINDOW_VALUES_MAX];

	for (uint32_t i = 0; i < n; i++)
		sum += v[i];
	for (uint32_t i = 0; i < n; i++)
		squares += (v[i] - sum / n) * (v[i] - sum / n);
	for (uint32_t i = 1; i < n; i++)
		up += v[i] >= v[i - 1] ? v[i] - v[i - 1] : v[i] > 0 ? v[i] : 0;
	memcpy(sorted, v, n * sizeof(*v));
	qsort(sorted, n, sizeof(*v), ascending);
	switch (f) {
	case BP_WINDOW_MEAN:
		*result = (double)(sum / n);
		return true;
	case BP_WINDOW_MIN:
		*result = sorted[0];
		return true;
	case BP_WINDOW_MAX:
		*result = sorted[n - 1];
		return true;
	case BP_WINDOW_SUM:
		*result = (double)sum;
		return true;
	case BP_WINDOW_COUNT:
		*result = n;
		return true;
	case BP_WINDOW_STDDEV:
		*result = (double)sqrtl(squares / n);
		return true;
	case BP_WINDOW_DELTA:
		*result = v[n - 1] - v[0];
		return true;
	case BP_WINDOW_RATE:
		*result = (double)(up / ((ns[n - 1] - ns[0]) / 1e9L));
		return ns[n - 1] > ns[0];
	case BP_WINDOW_PERCENTILE:
		*result = sorted[(uint32_t)ceil(percentile * n / 100) - 1];
		return true;
	default:
		return false;
	}
}

static void close_to(double got, double want)
{
	const double error = fabs(got - want), scale = fabs(want) > 1 ? fabs(want) : 1;

	if (error > 1e-11 * scale)
		fail_msg("%.17g instead of %.17g", got, want);
}

static double any_value(uint64_t *seed)
{
	const double v = (double)test_below(seed, 2000001) / 1000 - 1000;

	return test_below(seed, 8) == 0 ? floor(v) : v;
}

static void check_random(enum bp_window_function f, uint32_t values, bool tumbling, uint64_t seed)
{
	static double v[4 * BP_WINDOW_VALUES_MAX];
	static uint64_t ns[4 * BP_WINDOW_VALUES_MAX];
	const uint32_t total = 3 * values + 5;
	uint32_t results = 0;

	set_rule(seed, f, values, tumbling);
	for (uint32_t i = 0; i < total; i++) {
		const uint32_t first = i + 1 - values;
		double want = 0, got = 0;
		bool has = i + 1 >= values && (!tumbling || (i + 1) % values == 0);

		v[i] = any_value(&seed);
		now += test_below(&seed, 3) * SECOND / 7;
		ns[i] = now;
		has = has && expected(f, v + first, ns + first, values, 90, &want);
		assert_int_equal(add(v[i], &got), has ? BP_WINDOW_VALUE : BP_WINDOW_NONE);
		if (has)
			close_to(got, want);
		results += has;
	}
	assert_true(results != 0 || f == BP_WINDOW_RATE);
}

static void results_are_those_of_the_definition(void **state)
{
	static const uint32_t values[] = {2, 3, 7, 16, 100, 512};

	(void)state;
	open_table(64, 1024);
	for (unsigned f = 0; f < BP_WINDOW_FUNCTIONS; f++)
		for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++)
			for (unsigned tumbling = 0; tumbling < 2; tumbling++)
				check_random((enum bp_window_function)f, values[i], tumbling,
					1 + f + 16 * i + 256 * tumbling);
	close_table();
}

/* ---- windows over time ---- */

static void set_time_rule(uint64_t uid, enum bp_window_function f, uint64_t time_ns, bool tumbling)
{
	set_rule(uid, f, 0, tumbling);
	rule.window.time_ns = time_ns;
	active.rule = rule;
}

/* The reference has all values and their times, and knows only how long a pane is. */
static void check_random_time(enum bp_window_function f, bool tumbling, uint64_t seed)
{
	enum { VALUES = 600 };
	static double v[VALUES];
	static uint64_t ns[VALUES];
	const uint64_t time = 8 * SECOND, pane = tumbling ? time : time / BP_WINDOW_PANES;
	uint32_t first = 0, results = 0;

	set_time_rule(seed, f, time, tumbling);
	for (uint32_t i = 0; i < VALUES; i++) {
		double want = 0, got = 0;
		uint64_t newest;
		bool has;

		v[i] = any_value(&seed);
		now += test_below(&seed, 16) == 0 ? test_below(&seed, 20) * SECOND
						  : test_below(&seed, 500) * (SECOND / 1000);
		ns[i] = now;
		newest = (now - ns[0]) / pane;
		if (tumbling) { /* all before this value, if they were in another window */
			has = i != 0 && (ns[i - 1] - ns[0]) / pane != newest &&
			      expected(f, v + first, ns + first, i - first, 0, &want);
			if (i != 0 && (ns[i - 1] - ns[0]) / pane != newest)
				first = i;
		} else {
			while ((ns[first] - ns[0]) / pane + BP_WINDOW_PANES <= newest)
				first++;
			has = now - ns[0] >= time &&
			      expected(f, v + first, ns + first, i + 1 - first, 0, &want);
		}
		assert_int_equal(add(v[i], &got), has ? BP_WINDOW_VALUE : BP_WINDOW_NONE);
		if (has)
			close_to(got, want);
		results += has;
	}
	assert_true(results > 10);
}

static void results_over_time_are_those_of_the_definition(void **state)
{
	(void)state;
	open_table(64, 16);
	for (unsigned f = 0; f < BP_WINDOW_PERCENTILE; f++)
		for (unsigned tumbling = 0; tumbling < 2; tumbling++)
			for (unsigned i = 0; i < 5; i++)
				check_random_time((enum bp_window_function)f, tumbling,
					1000 + f + 16 * i + 256 * tumbling);
	close_table();
}

/* What expires until `end`, at the times at which it is due: "time:result", in seconds since
 * 1000 s. */
static const char *expired(uint64_t end)
{
	static char text[512];
	size_t n = 0;

	text[0] = '\0';
	for (bool any = true; any;) {
		any = false;
		for (uint64_t cell = 0; cell < table.buckets * BP_WINDOW_WAYS; cell++) {
			const uint64_t due = bp_window_due(&table, cell);
			struct bp_window_use u = {.rules = &active.head, .now_ns = due};
			struct bp_window_expired x;

			if (due == 0 || due > end)
				continue;
			any = true;
			if (bp_window_expire(&table, &u, cell, &x))
				n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%g:%g",
					n != 0 ? " " : "", (double)due / SECOND - 1000, x.result);
			assert_true(bp_window_due(&table, cell) != due);
		}
	}
	now = end;
	return text;
}

static void publish_at(double seconds, double value)
{
	static const uint8_t ip[16] = {10, 0, 0, 1};
	const struct bp_window_origin origin = {.topic = (const uint8_t *)"t/a",
		.topic_len = 3,
		.client_ip = ip,
		.client_id = (const uint8_t *)"dev",
		.client_id_len = 3};
	struct bp_window_use u = {.rules = &active.head,
		.rule = &rule,
		.topic_hash = 1,
		.now_ns = (uint64_t)(seconds * SECOND) + 1000 * SECOND,
		.client = 7,
		.origin = &origin};
	double result;

	now = u.now_ns;
	(void)bp_window_add(&table, &u, value, &result);
	assert_false(u.not_shown);
}

/* The image has the rule itself, for bp_window_expire(). */
static void time_passes_without_values(void **state)
{
	(void)state;
	open_table(8, 8);
	set_time_rule(5, BP_WINDOW_COUNT, 16 * SECOND, false);
	publish_at(0, 1);
	publish_at(0.5, 1);
	publish_at(8, 1);
	/* full after 16 s, when the first pane leaves; the last value leaves with its pane */
	assert_string_equal(expired(2000 * SECOND), "16:1 24:0");
	publish_at(1100, 1);
	assert_string_equal(expired(3000 * SECOND), "1116:0");
	set_time_rule(6, BP_WINDOW_SUM, 10 * SECOND, true);
	publish_at(2000, 5);
	publish_at(2004, 6);
	assert_string_equal(expired(4000 * SECOND), "2010:11 2020:0");
	publish_at(3003, 7); /* the windows begin at 2000 + 10 n */
	assert_string_equal(expired(5000 * SECOND), "3010:7 3020:0");
	set_time_rule(7, BP_WINDOW_MAX, 10 * SECOND, true);
	publish_at(4000, 5);
	assert_string_equal(expired(6000 * SECOND), "4010:5"); /* nothing has no maximum */
	set_time_rule(8, BP_WINDOW_MAX, 10 * SECOND, false);
	publish_at(5000, 5);
	assert_string_equal(expired(7000 * SECOND), "");
	set_time_rule(9, BP_WINDOW_RATE, 16 * SECOND, false);
	publish_at(6000, 5);
	publish_at(6016, 37);
	assert_string_equal(expired(9000 * SECOND), "6032:0");
	close_table();
}

/* The first period without values has the result 0, also after a result of 0, and after none. */
static void a_period_without_values_is_zero(void **state)
{
	(void)state;
	open_table(8, 8);
	set_time_rule(5, BP_WINDOW_SUM, 10 * SECOND, true);
	publish_at(0, 5);
	publish_at(4, -5);
	assert_string_equal(expired(2000 * SECOND), "10:0 20:0");
	set_time_rule(6, BP_WINDOW_RATE, 10 * SECOND, true);
	publish_at(2000, 5); /* one value has no rate */
	assert_string_equal(expired(4000 * SECOND), "2020:0");
	close_table();
}

/* The last of these values. */
static double last_of(enum bp_window_function f, uint32_t n, const double *v)
{
	double result = NAN;

	set_rule(bp_mix64((uint64_t)f + 1000 * n + (uint64_t)now), f, n, false);
	for (uint32_t i = 0; i < n; i++) {
		now += SECOND;
		(void)add(v[i], &result);
	}
	return result;
}
#define LAST_OF(f, ...)                                                                            \
	last_of(f, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static void extreme_values_stay_finite(void **state)
{
	const double most = DBL_MAX;

	(void)state;
	open_table(64, 64);
	assert_true(LAST_OF(BP_WINDOW_SUM, most, most, most) == most);
	assert_true(LAST_OF(BP_WINDOW_SUM, -most, -most, 5) == -most);
	assert_true(LAST_OF(BP_WINDOW_SUM, most, most, -most) == most);
	assert_true(LAST_OF(BP_WINDOW_SUM, 1, 1e100, 1, -1e100) == 2); /* compensated */
	assert_true(LAST_OF(BP_WINDOW_MEAN, most, most) == most);
	assert_true(LAST_OF(BP_WINDOW_MEAN, most, -most) == 0);
	assert_true(LAST_OF(BP_WINDOW_STDDEV, most, -most) == most);
	assert_true(LAST_OF(BP_WINDOW_STDDEV, 1e200, -1e200) == 1e200);
	assert_true(LAST_OF(BP_WINDOW_STDDEV, 5, 5, 5) == 0);
	assert_true(LAST_OF(BP_WINDOW_DELTA, -most, most) == most);
	assert_true(LAST_OF(BP_WINDOW_RATE, 0, most, 1, most) == most / 3);
	assert_true(LAST_OF(BP_WINDOW_PERCENTILE, most, -0.0, -most) == most);
	close_table();
}

/* A value that has left the window leaves nothing behind. */
static void huge_values_leave_no_error(void **state)
{
	double result;

	(void)state;
	open_table(8, 8);
	set_rule(5, BP_WINDOW_MEAN, 4, false);
	for (unsigned i = 0; i < 4; i++)
		(void)add(1e300, &result);
	for (unsigned i = 0; i < 4; i++)
		(void)add(0.1, &result);
	assert_true(result == 0.1);
	close_table();
}

/* A sum that moves with the ring is the one over its values, with any mixture of values that are
 * representable in it and values that are not. */
/* 113 bits of precision: long double has them where there is no such type of its own. */
#ifdef __SIZEOF_FLOAT128__
typedef __float128 quad_float;
#else
typedef long double quad_float;
#endif

static void moving_sums_are_exact(void **state)
{
	static const double some[] = {1e-9, 4e-9, 0x1p-28, 0x1.fffffffffffffp35, 0x1p36, 1e12,
		0x1p-80, 0.0, -0.0, 0.1, 1e300, -0x1.fffffffffffffp35, -0.3, 1e-300, 77.7};
	const unsigned kinds = sizeof(some) / sizeof(some[0]);
	double v[4000], result;
	uint64_t seed = 1;

	(void)state;
	open_table(8, 8);
	set_rule(5, BP_WINDOW_SUM, 8, false);
	for (unsigned i = 0; i < 4000; i++) {
		quad_float sum = 0, magnitude = 0;

		/* of all kinds, then of those that are representable, with both signs */
		v[i] = i / 100 % 2 == 0 ? some[test_below(&seed, kinds)] : any_value(&seed) / 7;
		if (test_below(&seed, 2) == 0)
			v[i] = -v[i];
		if (add(v[i], &result) == BP_WINDOW_NONE)
			continue;
		for (unsigned k = i - 7; k <= i; k++) {
			sum += v[k];
			magnitude += fabs(v[k]);
		}
		/* the bound of a compensated sum; for the second kind, magnitude is as small */
		if (fabs((double)(result - sum)) >
			0x1p-52 * fabs((double)sum) + 0x1p-100 * (double)magnitude)
			fail_msg("%u: %.17g instead of %.17g", i, result, (double)sum);
	}
	close_table();
}

static struct bp_window *used_cell(void)
{
	uint64_t i = 0;

	while (atomic_load(&table.bucket[i / BP_WINDOW_WAYS].key[i % BP_WINDOW_WAYS]) == 0)
		i++;
	return (struct bp_window *)(void *)(table.cells + i * table.stride);
}

static void a_damaged_sum_does_not_last(void **state)
{
	double result;

	(void)state;
	open_table(8, 8);
	set_rule(5, BP_WINDOW_MEAN, 4, false);
	for (unsigned outside = 0; outside < 2; outside++) {
		for (unsigned i = 0; i < 5; i++)
			(void)add(3, &result);
		used_cell()->state.sum = (struct bp_exact_sum){UINT64_MAX / 3, UINT64_MAX / 3};
		used_cell()->state.outside = 7 * outside;
		for (unsigned i = 0; i < 256 + 3; i++)
			(void)add(3, &result);
		assert_true(result == 3);
		assert_int_equal(used_cell()->state.outside, 0);
	}
	close_table();
}

static void counter_resets_count_from_zero(void **state)
{
	double result;

	(void)state;
	open_table(8, 8);
	set_rule(5, BP_WINDOW_RATE, 3, false);
	assert_int_equal(add(100, &result), BP_WINDOW_NONE);
	now += SECOND;
	assert_int_equal(add(110, &result), BP_WINDOW_NONE);
	now += SECOND;
	assert_int_equal(add(4, &result), BP_WINDOW_VALUE);
	assert_true(result == 7); /* 10, and 4 since the reset, in 2 s */
	set_rule(6, BP_WINDOW_RATE, 2, false);
	(void)add(1, &result);
	assert_int_equal(add(2, &result), BP_WINDOW_NONE); /* at the same time */
	close_table();
}

/* ---- the table ---- */

static unsigned stored(void)
{
	unsigned n = 0;

	for (uint64_t i = 0; i < table.buckets; i++)
		for (unsigned way = 0; way < BP_WINDOW_WAYS; way++)
			n += table.bucket[i].key[way] != 0;
	return n;
}

static bool is_stored(uint64_t topic)
{
	struct bp_window_view v;

	return bp_window_find(&table, &rule, topic, &v);
}

static void invented_topics_evict_only_their_client(void **state)
{
	unsigned kept = 0, evicted = 0, refused = 0;
	double result;

	(void)state;
	open_table(100, 4);
	set_rule(5, BP_WINDOW_SUM, 2, false);
	for (uint64_t topic = 1; topic <= 60; topic++)
		assert_int_equal(add_as(topic, (uint32_t)topic, 1, &result, NULL), BP_WINDOW_NONE);
	for (uint64_t topic = 1000; topic < 3000; topic++) {
		struct bp_window_use u = {.rules = &active.head,
			.rule = &rule,
			.topic_hash = topic,
			.now_ns = now,
			.client = 99};

		refused += bp_window_add(&table, &u, 1, &result) == BP_WINDOW_NOT_STORED;
		evicted += u.evicted;
	}
	for (uint64_t topic = 1; topic <= 60; topic++)
		kept += is_stored(topic);
	assert_int_equal(kept, 60);
	assert_true(evicted > 1000);
	assert_int_equal(evicted + refused + stored(), 2000 + 60);
	/* after an hour, the windows are no longer protected */
	now += BP_WINDOW_IDLE_NS;
	for (uint64_t topic = 5000; topic < 7000; topic++)
		assert_int_not_equal(add_as(topic, 98, 1, &result, NULL), BP_WINDOW_NOT_STORED);
	close_table();
}

/* A reload: windows of rules that are not active any more make space. */
static void windows_of_removed_rules_make_space(void **state)
{
	double result;

	(void)state;
	open_table(20, 4);
	set_rule(5, BP_WINDOW_SUM, 2, false);
	for (uint64_t topic = 1; topic <= 5000; topic++)
		(void)add_as(topic, (uint32_t)topic, 1, &result, NULL);
	assert_int_equal(stored(), table.buckets * BP_WINDOW_WAYS);
	set_rule(6, BP_WINDOW_SUM, 2, false);
	for (uint64_t topic = 1; topic <= 20; topic++)
		assert_int_equal(add_as(topic, (uint32_t)topic, 2, &result, NULL), BP_WINDOW_NONE);
	for (uint64_t topic = 1; topic <= 20; topic++) {
		assert_int_equal(add_as(topic, (uint32_t)topic, 2, &result, NULL), BP_WINDOW_VALUE);
		assert_true(result == 4); /* nothing of the removed rule */
	}
	close_table();
}

/* A client whose windows are evicted has filled them with values that look like panes of a later
 * window. */
static void values_of_an_evicted_window_are_not_panes(void **state)
{
	double result;

	(void)state;
	for (uint64_t guess = 0; guess < 64; guess += BP_WINDOW_PANES) {
		open_table(1, 128);
		set_rule(5, BP_WINDOW_SUM, 128, false);
		for (uint64_t topic = 1; topic <= BP_WINDOW_WAYS; topic++) {
			for (uint64_t i = 0; i < 128; i++) {
				const uint64_t bits = i % 8 == 0 ? guess + i / 8 : 1;
				double v;

				memcpy(&v, &bits, sizeof(v));
				(void)add_as(topic, 99, v, &result, NULL);
			}
		}
		set_time_rule(6, BP_WINDOW_COUNT, 16 * SECOND, false);
		for (uint64_t topic = 1; topic <= BP_WINDOW_WAYS; topic++) {
			struct bp_window_view v;

			(void)add_as(topic, 7, 1, &result, NULL);
			assert_true(bp_window_find(&table, &rule, topic, &v));
			assert_int_equal(v.n, 1);
		}
		close_table();
	}
}

/* An image whose table of windows names another rule: a window over values has no time. */
static void windows_over_values_do_not_expire(void **state)
{
	(void)state;
	open_table(8, 8);
	set_time_rule(5, BP_WINDOW_COUNT, 16 * SECOND, true);
	publish_at(0, 1);
	active.rule.window.values = 2;
	active.rule.window.time_ns = 0;
	assert_string_equal(expired(2000 * SECOND), "");
	close_table();
}

/* Its lengths are believed where it is used. The next value writes it again. */
static void damaged_text_is_not_used(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct bp_watch_topic *text;

		open_table(8, 8);
		set_time_rule(5, BP_WINDOW_COUNT, 16 * SECOND, true);
		publish_at(0, 1);
		text = (void *)((uint8_t *)used_cell() + table.stride - sizeof(*text));
		assert_string_equal(text->topic, "t/a");
		if (i == 0)
			text->topic_len = UINT16_MAX;
		else if (i == 1)
			text->topic_len = 0;
		else
			text->client_id_len = UINT8_MAX;
		assert_string_equal(expired(20 * SECOND + 1000 * SECOND), "");
		publish_at(20, 1);
		publish_at(33, 1);
		assert_string_equal(expired(2000 * SECOND), "48:1 64:0");
		close_table();
	}
}

/* A segment that was created for shorter windows. */
static void longer_windows_than_the_table_has_are_refused(void **state)
{
	const uint32_t most = bp_window_capacity(bp_window_stride(8), BP_WINDOW_SUM);
	double result;

	(void)state;
	open_table(8, 8);
	set_rule(5, BP_WINDOW_SUM, most, false);
	assert_int_equal(add(1, &result), BP_WINDOW_NONE);
	set_rule(6, BP_WINDOW_SUM, most + 1, false);
	assert_int_equal(add(1, &result), BP_WINDOW_NOT_STORED);
	set_rule(7, BP_WINDOW_RATE, most / 2 + 1, false);
	assert_int_equal(add(1, &result), BP_WINDOW_NOT_STORED);
	close_table();
}

/* The monotonic clock began again: the times in the table are not of this boot. */
static void a_clock_of_another_boot_empties_the_window(void **state)
{
	double result;

	(void)state;
	open_table(8, 8);
	set_rule(5, BP_WINDOW_SUM, 3, false);
	(void)add(1, &result);
	(void)add(1, &result);
	now -= SECOND / 2; /* another worker is slightly behind */
	assert_int_equal(add(1, &result), BP_WINDOW_VALUE);
	now -= 100 * SECOND;
	assert_int_equal(add(1, &result), BP_WINDOW_NONE);
	close_table();
}

/* ---- undo ---- */

static void *copy_of(const void *p, size_t n)
{
	void *copy = malloc(n);

	assert_non_null(copy);
	memcpy(copy, p, n);
	return copy;
}

/* Several changes of several windows, one of them evicted, are undone from the last to the first.
 */
static void changes_are_undone(void **state)
{
	struct bp_window_undo undo[64];
	size_t size;
	double *before, result;
	uint8_t *cells;
	unsigned n = 0;

	(void)state;
	open_table(2, 8);
	size = table.buckets * BP_WINDOW_WAYS * table.stride;
	set_rule(5, BP_WINDOW_SUM, 8, false);
	for (uint64_t topic = 1; topic <= 7; topic++)
		for (unsigned i = 0; i < 5 + topic; i++)
			(void)add_as(topic, 7, i, &result, NULL);
	cells = copy_of(table.cells, size);
	before = copy_of(table.bucket, table.buckets * sizeof(*table.bucket));
	for (unsigned i = 0; i < 60; i++) {
		undo[n].cell = UINT64_MAX;
		now += SECOND;
		(void)add_as(1 + i % 9, 7, 100 + i, &result, &undo[n++]);
	}
	for (unsigned again = 0; again < 2; again++) /* a kill before the record was removed */
		for (unsigned i = n; i-- != 0;)
			if (again == 0 || i == 0)
				assert_true(bp_window_undo(&table, &undo[i], 0));
	for (uint64_t i = 0; i < table.buckets * BP_WINDOW_WAYS; i++) {
		const struct bp_window *a = (void *)(table.cells + i * table.stride);
		const struct bp_window *b = (void *)(cells + i * table.stride);

		assert_memory_equal(&a->state, &b->state, sizeof(a->state));
		assert_memory_equal(a->data, b->data, 8 * sizeof(double));
		assert_int_equal(a->uid, b->uid);
	}
	for (uint64_t i = 0; i < table.buckets; i++)
		assert_memory_equal(table.bucket[i].key,
			((struct bp_window_bucket *)(void *)before)[i].key,
			sizeof(table.bucket[i].key));
	free(cells);
	free(before);
	close_table();
}

/* Where another worker has changed the window since, it is emptied: no value counts twice. */
static void interleaved_changes_empty_the_window(void **state)
{
	struct bp_window_undo undo = {.cell = UINT64_MAX};
	struct bp_window_view v;
	double result;

	(void)state;
	open_table(8, 8);
	set_rule(5, BP_WINDOW_SUM, 4, false);
	(void)add_as(1, 7, 1, &result, NULL);
	(void)add_as(1, 7, 2, &result, &undo);
	(void)add_as(1, 8, 3, &result, NULL);
	assert_false(bp_window_undo(&table, &undo, 0));
	assert_true(bp_window_find(&table, &rule, 1, &v));
	assert_int_equal(v.state.n, 0);
	close_table();
}

/* Two workers of a killed process undo their changes of one window, in both orders. */
static void changes_of_two_workers_are_undone_or_emptied(void **state)
{
	(void)state;
	for (uint16_t first = 0; first < 2; first++) {
		struct bp_window_undo undo[2] = {{.cell = UINT64_MAX}, {.cell = UINT64_MAX}};
		unsigned emptied = 0;
		struct bp_window_view v;
		double result;

		open_table(8, 8);
		set_rule(5, BP_WINDOW_SUM, 4, false);
		(void)add_as(1, 7, 1, &result, NULL);
		(void)add_as(1, 7, 2, &result, &undo[0]);
		(void)add_as(1, 8, 3, &result, &undo[1]);
		for (uint16_t i = 0; i < 2; i++)
			emptied += !bp_window_undo(&table, &undo[i ^ first], i ^ first);
		assert_true(bp_window_find(&table, &rule, 1, &v));
		assert_int_equal(v.n, first); /* without values 2 and 3, which come again */
		assert_int_equal(emptied, !first);
		close_table();
	}
}

/* A killed process held the lock of a bucket: of this worker, of one that is no longer there, and
 * of one that will release it itself. */
static void locks_of_a_killed_process_are_released(void **state)
{
	struct bp_window_view v;
	double result;

	(void)state;
	open_table(1, 8);
	assert_int_equal(table.buckets, 1);
	set_rule(5, BP_WINDOW_SUM, 4, false);
	(void)add(1, &result);
	for (uint16_t owner = 0; owner < 3; owner++) {
		table.bucket[0].lock += owner + 1u;
		assert_int_equal(add(1, &result), BP_WINDOW_BUSY);
		assert_int_equal(bp_window_recover(&table, 0, 2), 0);
		assert_int_equal(table.bucket[0].lock & 0xffff, owner == 1 ? 2 : 0);
		table.bucket[0].lock &= ~0xffffull;
	}
	assert_true(bp_window_find(&table, &rule, 1, &v));
	assert_int_equal(v.state.n, 1);
	/* ... while it changed a window without a journal */
	table.bucket[0].lock += 1;
	for (unsigned way = 0; way < BP_WINDOW_WAYS; way++)
		if (table.bucket[0].key[way] != 0)
			((struct bp_window *)(void *)(table.cells + way * table.stride))->changing =
				1;
	assert_int_equal(bp_window_recover(&table, 0, 2), 1);
	assert_true(bp_window_find(&table, &rule, 1, &v));
	assert_int_equal(v.state.n, 0);
	close_table();
}

/* ---- workers that share windows ---- */

#define THREADS 4
#define ROUNDS 30000u

struct sharing {
	uint16_t worker;
	uint64_t topics;
	uint64_t added, busy, results;
};

static void *publish(void *arg)
{
	struct sharing *s = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct bp_window_use u = {.rules = &active.head,
			.rule = &rule,
			.topic_hash = 1 + i % s->topics,
			.now_ns = now,
			.client = 7,
			.worker = s->worker};
		double result = 0;
		struct bp_window_view v;
		const enum bp_window_result r = bp_window_add(&table, &u, 1, &result);

		s->busy += r == BP_WINDOW_BUSY;
		s->added += r == BP_WINDOW_NONE || r == BP_WINDOW_VALUE;
		s->results += r == BP_WINDOW_VALUE;
		if (r == BP_WINDOW_VALUE)
			assert_true(result == 10);
		if (i % 16 == 0 && bp_window_find(&table, &rule, 1, &v))
			assert_true(v.state.n < 10);
	}
	return NULL;
}

/* Tumbling: each value is in exactly one result. */
static void workers_count_each_value_once(void **state)
{
	static const uint64_t topics[] = {1, 5};

	(void)state;
	for (unsigned t = 0; t < 2; t++) {
		struct sharing s[THREADS];
		pthread_t thread[THREADS];
		uint64_t added = 0, results = 0, left = 0;

		open_table(1, 16);
		set_rule(5, BP_WINDOW_SUM, 10, true);
		for (uint16_t i = 0; i < THREADS; i++) {
			s[i] = (struct sharing){.worker = i, .topics = topics[t]};
			assert_int_equal(pthread_create(&thread[i], NULL, publish, &s[i]), 0);
		}
		for (unsigned i = 0; i < THREADS; i++) {
			assert_int_equal(pthread_join(thread[i], NULL), 0);
			assert_int_equal(s[i].added + s[i].busy, ROUNDS);
			added += s[i].added;
			results += s[i].results;
		}
		for (uint64_t topic = 1; topic <= topics[t]; topic++) {
			struct bp_window_view v;

			assert_true(bp_window_find(&table, &rule, topic, &v));
			left += v.state.n;
		}
		assert_int_equal(added, 10 * results + left);
		assert_true(results > 1000);
		close_table();
	}
}

/* A damaged image gives the window of a rule to one that has fewer values: nothing behind its own
 * is read. */
static void the_window_of_another_rule_is_not_longer(void **state)
{
	struct bp_window_view v;
	double result;

	(void)state;
	open_table(1, 8);
	set_rule(5, BP_WINDOW_COUNT, 0, false);
	rule.window.time_ns = active.rule.window.time_ns = 16 * SECOND;
	for (unsigned i = 0; i < 1000; i++)
		(void)add(1, &result);
	set_rule(5, BP_WINDOW_COUNT, 4, false);
	assert_int_equal(add(1, &result), BP_WINDOW_VALUE);
	assert_true(result == 4);
	assert_true(bp_window_find(&table, &rule, 1, &v));
	assert_int_equal(v.n, 4);
	close_table();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_are_those_of_the_definition),
		cmocka_unit_test(results_over_time_are_those_of_the_definition),
		cmocka_unit_test(time_passes_without_values),
		cmocka_unit_test(a_period_without_values_is_zero),
		cmocka_unit_test(extreme_values_stay_finite),
		cmocka_unit_test(huge_values_leave_no_error),
		cmocka_unit_test(moving_sums_are_exact),
		cmocka_unit_test(a_damaged_sum_does_not_last),
		cmocka_unit_test(counter_resets_count_from_zero),
		cmocka_unit_test(invented_topics_evict_only_their_client),
		cmocka_unit_test(windows_of_removed_rules_make_space),
		cmocka_unit_test(values_of_an_evicted_window_are_not_panes),
		cmocka_unit_test(windows_over_values_do_not_expire),
		cmocka_unit_test(damaged_text_is_not_used),
		cmocka_unit_test(longer_windows_than_the_table_has_are_refused),
		cmocka_unit_test(a_clock_of_another_boot_empties_the_window),
		cmocka_unit_test(changes_are_undone),
		cmocka_unit_test(interleaved_changes_empty_the_window),
		cmocka_unit_test(changes_of_two_workers_are_undone_or_emptied),
		cmocka_unit_test(locks_of_a_killed_process_are_released),
		cmocka_unit_test(workers_count_each_value_once),
		cmocka_unit_test(the_window_of_another_rule_is_not_longer),
	};

	return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
