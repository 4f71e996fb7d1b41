/* SPDX-License-Identifier: BSD-3-Clause */
/* Kept JSON shapes: whatever is kept, replaced or not learnt, the value is bp_value_json()'s. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/mqtt/layouts.h"

#define SOURCES 4

static struct bp_value_source source[SOURCES];

static int compile(void **state)
{
	static const char *const path[SOURCES] = {"$.t", "$.u", "$.a[1]", "$"};
	const char *error;
	size_t at;

	(void)state;
	for (unsigned i = 0; i < SOURCES; i++) {
		memset(&source[i], 0, sizeof(source[i]));
		source[i].kind = BP_VALUE_JSON;
		if (bp_json_path_compile(path[i], &source[i].json, &error, &at) != 0)
			return -1;
	}
	return 0;
}

/* A text in memory of its very size, so that a read beyond it is seen. */
static void same(struct bp_layouts *c, uint32_t gen, uint32_t index, const char *text)
{
	size_t n = strlen(text);
	uint8_t *exact = malloc(n + 1);
	double want = -1, got = -1;
	bool has;

	memcpy(exact, text, n);
	exact = realloc(exact, n == 0 ? 1 : n);
	has = bp_value_json(exact, n, &source[index].json, &want);
	if (bp_layouts_value(c, gen, index, &source[index], exact, (uint32_t)n, &got) != has ||
		(has && (want != got || signbit(want) != signbit(got))))
		fail_msg("'%s', source %u: %g, not %g", text, index, got, want);
	free(exact);
}

static void some_text(uint64_t *s, char *out, size_t size)
{
	uint32_t t = test_below(s, 1000), u = test_below(s, 100000);

	switch (test_below(s, 8)) {
	case 0:
		snprintf(out, size, "{\"t\":%u,\"u\":%u}", t, u);
		break;
	case 1:
		snprintf(out, size, "{\"u\":%u.%u,\"t\":%u}", t, u % 10, u % 100);
		break;
	case 2:
		snprintf(out, size, "{\"a\":[%u,%u.5,-3],\"t\":-%u}", t, u % 50, t);
		break;
	case 3: /* broken, of a length that valid texts have too */
		snprintf(out, size, "{\"t\":%u,\"u\":%u]", t, u);
		break;
	case 4: /* a leading zero is no number */
		snprintf(out, size, "{\"t\":%03u,\"u\":%u}", t, u % 10);
		break;
	case 5:
		snprintf(out, size, "{\"t\":\"%u\",\"u\":%u}", t, u);
		break;
	case 6: /* the last of two members of one name counts */
		snprintf(out, size, "{\"t\":%u,\"t\":%u}", t, u % 100);
		break;
	default: /* longer than a kept shape may be */
		snprintf(out, size, "{\"t\":%u,\"pad\":\"%*u\"}", t, 300, u);
		break;
	}
}

static void random_texts(void **state)
{
	struct bp_layouts *c = bp_layouts_create();
	uint64_t s = 11;
	char text[512];

	(void)state;
	assert_non_null(c);
	for (unsigned i = 0; i < 200000; i++) {
		some_text(&s, text, sizeof(text));
		same(c, 1 + i / 50000, test_below(&s, SOURCES), text);
	}
	bp_layouts_free(c);
}

/* A shape that was seen is found again without parsing, under its own source and rules only. */
static void found_again(void **state)
{
	static const char first[] = "{\"t\":21.5,\"u\":7}", other[] = "{\"t\":98.7,\"u\":3}";
	struct bp_layouts *c = bp_layouts_create();
	const struct bp_json_layout *l;
	const uint8_t *p = (const uint8_t *)other;
	uint32_t n = sizeof(other) - 1;

	(void)state;
	assert_non_null(c);
	assert_null(bp_layouts_find(c, 1, 0, p, n));
	same(c, 1, 0, first);
	l = bp_layouts_find(c, 1, 0, p, n);
	assert_non_null(l);
	assert_int_equal(l->at, 5);
	assert_int_equal(l->n, 4);
	assert_null(bp_layouts_find(c, 2, 0, p, n));
	assert_null(bp_layouts_find(c, 1, 1, p, n));
	bp_layouts_free(c);
}

/* Payloads that never repeat are not learnt one by one endlessly. */
static void learning_pauses(void **state)
{
	struct bp_layouts *c = bp_layouts_create();
	unsigned learnt = 0;
	char text[32];

	(void)state;
	assert_non_null(c);
	for (unsigned i = 0; i < 2000; i++) {
		/* another member name each time, the length always the same */
		snprintf(text, sizeof(text), "{\"%04u\":1,\"t\":%u}", i, i % 10);
		same(c, 1, 0, text);
		/* a look counts as use, so it is had at few of them */
		if (i % 50 == 49)
			learnt += bp_layouts_find(c, 1, 0, (const uint8_t *)text,
					  (uint32_t)strlen(text)) != NULL;
	}
	if (learnt > 10)
		fail_msg("%u of 40 different texts were learnt", learnt);
	/* and what comes to stay is learnt in the end */
	for (unsigned i = 0; i < 600; i++) {
		snprintf(text, sizeof(text), "{\"kept\":1,\"t\":%u}", i % 10);
		same(c, 1, 0, text);
	}
	assert_non_null(bp_layouts_find(c, 1, 0, (const uint8_t *)text, (uint32_t)strlen(text)));
	bp_layouts_free(c);
}

/* A payload that teaches nothing takes no shape away, however often it comes. */
static void unlearned_addresses_are_flooded(void **state)
{
	static const char *const useless[] = {"{\"t\":null,\"u\":7}", "{\"t\":21.5,\"u\":7]",
		"aaaaaaaaaaaaaaaaa", "{\"x\":21.5,\"u\":7}"};
	static const char *const shape[] = {"{\"t\":21.5,\"u\":7}", "{\"u\":21.5,\"t\":7}"};
	struct bp_layouts *c = bp_layouts_create();

	(void)state;
	assert_non_null(c);
	same(c, 1, 0, shape[0]);
	same(c, 1, 0, shape[1]);
	for (unsigned i = 0; i < 20; i++)
		same(c, 1, 0, useless[i % 4]);
	for (unsigned i = 0; i < 2; i++) {
		const uint8_t *p = (const uint8_t *)shape[i];

		assert_non_null(bp_layouts_find(c, 1, 0, p, (uint32_t)strlen(shape[i])));
	}
	bp_layouts_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_texts),
		cmocka_unit_test(found_again),
		cmocka_unit_test(learning_pauses),
		cmocka_unit_test(unlearned_addresses_are_flooded),
	};

	return cmocka_run_group_tests_name("layouts", tests, compile, NULL);
}
