/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/health/phd_build.h"

#include "proto/health/phd_config.h"

/* ---- reports, by the test's own encoder ---- */

static struct build report;

static void begin_config(unsigned id, unsigned count)
{
	report.n = 0;
	report.depth = 0;
	put16(&report, id);
	open_list(&report, count);
}

static void begin_object(unsigned class, unsigned handle, unsigned attributes)
{
	put16(&report, class);
	put16(&report, handle);
	open_list(&report, attributes);
}

static enum bp_phd_error read_report(struct bp_phd_model *m)
{
	uint8_t *copy;
	enum bp_phd_error e;

	close_all(&report);
	assert_true(report.n <= UINT16_MAX);
	copy = exact_copy(report.b, report.n);
	memset(m, 0xa5, sizeof(*m));
	e = bp_phd_config_read((struct bp_phd_bytes){copy, (uint16_t)report.n}, m);
	free(copy);
	return e;
}

/* ---- standard configurations ---- */

struct row {
	uint16_t config, handle, code, unit, spec, attr, bytes, stamped, spot;
};

/* As a device with that configuration would declare it, from the parts 11073-104zz. */
static const struct row rows[] = {
	{0x0190, 1, 19384, 544, 0x4040, 2636, 2, 0, 0},
	{0x0190, 10, 18458, 2720, 0x4040, 2636, 2, 0, 0},
	{0x0191, 1, 19384, 544, 0xf040, 2636, 2, 1, 1},
	{0x0191, 10, 18458, 2720, 0xf040, 2636, 2, 1, 1},
	{0x02bc, 1, 18948, 3872, 0xf040, 2677, 10, 1, 0},
	{0x02bc, 2, 18474, 2720, 0xf040, 2636, 2, 1, 0},
	{0x0320, 1, 19292, 6048, 0xf040, 2646, 4, 1, 0},
	{0x05dc, 1, 57664, 1731, 0xf040, 2646, 4, 1, 0},
	{0x06a4, 1, 29112, 2130, 0xf040, 2636, 2, 1, 0},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void declare(const struct row *r)
{
	bool compound = r->attr == 2677;

	begin_object(6, r->handle, 4u + r->spot + compound);
	ATTRIBUTE(&report, 2351, 2, r->code);
	if (r->spot)
		ATTRIBUTE(&report, 2657, 1, 4, 2, 19516);
	ATTRIBUTE(&report, 2630, r->spec);
	if (compound)
		ATTRIBUTE(&report, 2678, 3, 6, 18949, 18950, 18951);
	ATTRIBUTE(&report, 2454, r->unit);
	if (r->stamped)
		ATTRIBUTE(&report, 2645, 2, 8, r->attr, r->bytes, 2448, 8);
	else
		ATTRIBUTE(&report, 2645, 1, 4, r->attr, r->bytes);
	close_length(&report);
}

static void assert_same_object(
	const struct bp_phd_object_model *a, const struct bp_phd_object_model *b)
{
	assert_int_equal(a->class, b->class);
	assert_int_equal(a->handle, b->handle);
	assert_int_equal(a->partition, b->partition);
	assert_int_equal(a->code, b->code);
	assert_int_equal(a->unit, b->unit);
	assert_int_equal(a->metric_spec, b->metric_spec);
	assert_int_equal(a->n_ids, b->n_ids);
	for (unsigned i = 0; i < a->n_ids; i++)
		assert_int_equal(a->ids[i], b->ids[i]);
	assert_int_equal(a->n_supplemental, b->n_supplemental);
	for (unsigned i = 0; i < a->n_supplemental; i++)
		assert_int_equal(a->supplemental[i], b->supplemental[i]);
	assert_int_equal(a->n_map, b->n_map);
	for (unsigned i = 0; i < a->n_map; i++) {
		assert_int_equal(a->map[i].attr, b->map[i].attr);
		assert_int_equal(a->map[i].len, b->map[i].len);
	}
}

static void standard_models_equal_declared_configurations(void **state)
{
	static struct bp_phd_model m;
	size_t at = 0, models = 0;

	(void)state;
	while (at < ROWS) {
		size_t end = at;
		bool certain = false;
		const struct bp_phd_model *s = bp_phd_standard(rows[at].config, &certain);

		while (end < ROWS && rows[end].config == rows[at].config)
			end++;
		begin_config(rows[at].config, (unsigned)(end - at));
		for (size_t i = at; i < end; i++)
			declare(&rows[i]);
		assert_int_equal(read_report(&m), BP_PHD_OK);
		assert_non_null(s);
		assert_true(certain);
		assert_int_equal(s->config_id, rows[at].config);
		assert_int_equal(s->n, end - at);
		assert_int_equal(m.n, end - at);
		for (uint16_t i = 0; i < m.n; i++)
			assert_same_object(&m.object[i], &s->object[i]);
		if (s->content != m.content)
			fail_msg("%u: content is %#llx", s->config_id,
				(unsigned long long)m.content);
		at = end;
		models++;
	}
	assert_int_equal(models, 6);
}

static void uncertain_standards_have_no_objects(void **state)
{
	static const uint16_t ids[] = {4100, 7100, 7200};

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		bool certain = true;
		const struct bp_phd_model *s = bp_phd_standard(ids[i], &certain);

		assert_non_null(s);
		assert_false(certain);
		assert_int_equal(s->config_id, ids[i]);
		assert_int_equal(s->n, 0);
		if (s->content != bp_phd_model_content(s))
			fail_msg("%u: content is %#llx", ids[i],
				(unsigned long long)bp_phd_model_content(s));
	}
}

static void other_ids_are_unknown(void **state)
{
	unsigned known = 0;

	(void)state;
	for (unsigned id = 0; id <= UINT16_MAX; id++) {
		bool certain;

		known += bp_phd_standard((uint16_t)id, &certain) != NULL;
	}
	assert_int_equal(known, 9);
}

static void specialisations_follow_from_the_id(void **state)
{
	static const uint16_t pairs[][2] = {{404, 4100}, {400, 4100}, {499, 4100}, {700, 4103},
		{800, 4104}, {1500, 4111}, {1799, 4113}, {4100, 4137}, {7100, 4167}, {7200, 4168},
		{0, 0}, {99, 0}, {10000, 0}, {0x4000, 0}, {0xffff, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		assert_int_equal(bp_phd_spec_of_standard(pairs[i][0]), pairs[i][1]);
}

/* ---- extended configurations ---- */

static void object_without_attributes_is_accepted(void **state)
{
	static struct bp_phd_model m;

	(void)state;
	begin_config(0x4000, 1);
	begin_object(61, 7, 1);
	ATTRIBUTE(&report, 2637, 0xffff); /* of a PM-store: no one reads it */
	assert_int_equal(read_report(&m), BP_PHD_OK);
	assert_int_equal(m.n, 1);
	assert_same_object(&m.object[0], &(struct bp_phd_object_model){.class = 61, .handle = 7});
	begin_config(0x4000, 0);
	assert_int_equal(read_report(&m), BP_PHD_OK);
	assert_int_equal(m.n, 0);
}

static enum bp_phd_error read_handles(
	struct bp_phd_model *m, unsigned n, unsigned first, unsigned step)
{
	begin_config(0x4001, n);
	for (unsigned i = 0; i < n; i++) {
		begin_object(6, first + i * step, 0);
		close_length(&report);
	}
	return read_report(m);
}

static void handles_are_there_once(void **state)
{
	static struct bp_phd_model m;

	(void)state;
	assert_int_equal(read_handles(&m, 2, 5, 1), BP_PHD_OK);
	assert_int_equal(read_handles(&m, 2, 5, 0), BP_PHD_E_FIELD);
	assert_int_equal(read_handles(&m, 2, 0, 1), BP_PHD_E_FIELD);
	assert_int_equal(read_handles(&m, 1, UINT16_MAX, 1), BP_PHD_OK);
}

static void guaranteed_number_of_objects_fits(void **state)
{
	static struct bp_phd_model m;

	(void)state;
	assert_int_equal(read_handles(&m, BP_PHD_OBJECTS_MAX, 1, 1), BP_PHD_OK);
	assert_int_equal(m.n, BP_PHD_OBJECTS_MAX);
	assert_int_equal(m.object[BP_PHD_OBJECTS_MAX - 1].handle, BP_PHD_OBJECTS_MAX);
	assert_int_equal(read_handles(&m, BP_PHD_OBJECTS_MAX + 1, 1, 1), BP_PHD_E_FIELD);
	assert_int_equal(read_handles(&m, 5000, 1, 1), BP_PHD_E_FIELD);
}

/* One object with one attribute of `n` numbers. */
static enum bp_phd_error read_one(
	struct bp_phd_model *m, unsigned id, unsigned n, const uint16_t *v)
{
	begin_config(0x4002, 1);
	begin_object(6, 1, 1);
	put_attribute(&report, id, n, v);
	return read_report(m);
}

#define READ(m, id, ...)                                                                           \
	read_one(m, id, sizeof((uint16_t[]){__VA_ARGS__}) / 2, (const uint16_t[]){__VA_ARGS__})

static void lists_keep_what_fits(void **state)
{
	static struct bp_phd_model m;
	const struct bp_phd_object_model *o = &m.object[0];

	(void)state;
	assert_int_equal(READ(&m, 2678, 4, 8, 11, 12, 13, 14), BP_PHD_OK);
	assert_int_equal(o->n_ids, 4);
	assert_int_equal(o->ids[3], 14);
	assert_int_equal(READ(&m, 2678, 5, 10, 11, 12, 13, 14, 15), BP_PHD_OK);
	assert_int_equal(o->n_ids, 0);
	assert_int_equal(READ(&m, 2657, 3, 12, 130, 3072, 130, 3073, 130, 3074), BP_PHD_OK);
	assert_int_equal(o->n_supplemental, 2);
	assert_int_equal(o->supplemental[1], 3073);
	assert_int_equal(
		READ(&m, 2645, 8, 32, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16),
		BP_PHD_OK);
	assert_int_equal(o->n_map, 8);
	assert_int_equal(o->map[7].attr, 15);
	assert_int_equal(o->map[7].len, 16);
	assert_int_equal(READ(&m, 2645, 9, 36, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
				 16, 17, 18),
		BP_PHD_E_FIELD);
}

static void attributes_have_the_length_of_their_type(void **state)
{
	static struct bp_phd_model m;

	(void)state;
	assert_int_equal(READ(&m, 2351, 2, 19384), BP_PHD_OK);
	assert_int_equal(READ(&m, 2351, 2), BP_PHD_E_LENGTH);
	assert_int_equal(READ(&m, 2351, 2, 19384, 0), BP_PHD_E_LENGTH);
	assert_int_equal(READ(&m, 2454, 544), BP_PHD_OK);
	assert_int_equal(READ(&m, 2454, 544, 0), BP_PHD_E_LENGTH);
	assert_int_equal(read_one(&m, 2454, 0, NULL), BP_PHD_E_LENGTH);
	assert_int_equal(READ(&m, 2630, 0x4040, 1), BP_PHD_E_LENGTH);
	assert_int_equal(READ(&m, 2645, 1, 4, 2636, 2), BP_PHD_OK);
	assert_int_equal(READ(&m, 2645, 2, 4, 2636, 2), BP_PHD_E_COUNT);
	assert_int_equal(READ(&m, 2645, 1, 6, 2636, 2, 2448), BP_PHD_E_COUNT);
	assert_int_equal(READ(&m, 2645, 1, 4, 2636), BP_PHD_E_LENGTH);
	assert_int_equal(READ(&m, 2645, 1, 4, 2636, 2, 0), BP_PHD_E_LENGTH);
	assert_int_equal(READ(&m, 2657, 1, 2, 130), BP_PHD_E_COUNT);
	assert_int_equal(READ(&m, 2678, 2, 2, 11), BP_PHD_E_COUNT);
	assert_int_equal(read_one(&m, 9999, 0, NULL), BP_PHD_OK); /* not read: of any length */
}

static void attribute_occurs_once(void **state)
{
	static struct bp_phd_model m;

	(void)state;
	begin_config(0x4003, 1);
	begin_object(6, 1, 2);
	ATTRIBUTE(&report, 2454, 544);
	ATTRIBUTE(&report, 2454, 2720);
	assert_int_equal(read_report(&m), BP_PHD_E_FIELD);
	begin_config(0x4003, 1);
	begin_object(6, 1, 2);
	ATTRIBUTE(&report, 2343, 544);
	ATTRIBUTE(&report, 2343, 2720);
	assert_int_equal(read_report(&m), BP_PHD_OK);
}

/* ---- random configurations ---- */

static uint64_t seed = 2645;

static uint16_t any(unsigned below)
{
	return (uint16_t)((next_random(&seed) >> 20) % below);
}

static void declare_map(struct bp_phd_object_model *o)
{
	o->n_map = any(BP_PHD_MAP_MAX + 1);
	put16(&report, 2645);
	open_length(&report);
	open_list(&report, o->n_map);
	for (unsigned i = 0; i < o->n_map; i++) {
		put16(&report, o->map[i].attr = any(65536));
		put16(&report, o->map[i].len = any(65536));
	}
	close_length(&report);
	close_length(&report);
}

static void declare_any(unsigned attribute, struct bp_phd_object_model *o)
{
	switch (attribute) {
	case 0:
		o->partition = any(65536);
		o->code = any(65536);
		ATTRIBUTE(&report, 2351, o->partition, o->code);
		break;
	case 1:
		o->unit = any(65536);
		ATTRIBUTE(&report, 2454, o->unit);
		break;
	case 2:
		o->metric_spec = any(65536);
		ATTRIBUTE(&report, 2630, o->metric_spec);
		break;
	case 3:
		declare_map(o);
		break;
	case 4:
		o->n_supplemental = 2;
		o->supplemental[0] = any(65536);
		o->supplemental[1] = any(65536);
		ATTRIBUTE(&report, 2657, 2, 8, any(65536), o->supplemental[0], any(65536),
			o->supplemental[1]);
		break;
	case 5:
		o->n_ids = 3;
		for (unsigned i = 0; i < 3; i++)
			o->ids[i] = any(65536);
		ATTRIBUTE(&report, 2678, 3, 6, o->ids[0], o->ids[1], o->ids[2]);
		break;
	default: /* no one reads these */
		ATTRIBUTE(&report, (uint16_t)(3000 + any(1000)), any(65536), any(65536));
	}
}

/* Some of the attributes, in any order. */
static void declare_object(struct bp_phd_object_model *o)
{
	unsigned order[8] = {0, 1, 2, 3, 4, 5, 6, 7}, n = any(9);

	for (unsigned i = 7; i > 0; i--) {
		unsigned k = any(i + 1), swap = order[i];

		order[i] = order[k];
		order[k] = swap;
	}
	begin_object(o->class, o->handle, n);
	for (unsigned i = 0; i < n; i++)
		declare_any(order[i], o);
	close_length(&report);
}

static void random_configurations_are_read_back(void **state)
{
	static struct bp_phd_model m, expected, again;

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		memset(&expected, 0, sizeof(expected));
		expected.config_id = any(65536);
		expected.n = any(BP_PHD_OBJECTS_MAX + 1);
		begin_config(expected.config_id, expected.n);
		for (unsigned i = 0; i < expected.n; i++) {
			expected.object[i].class = any(65536);
			expected.object[i].handle = (uint16_t)(1 + 1000 * i + any(1000));
			declare_object(&expected.object[i]);
		}
		assert_int_equal(read_report(&m), BP_PHD_OK);
		assert_int_equal(m.config_id, expected.config_id);
		assert_int_equal(m.n, expected.n);
		for (unsigned i = 0; i < m.n; i++)
			assert_same_object(&m.object[i], &expected.object[i]);
		assert_true(m.content == bp_phd_model_content(&expected));
		assert_int_equal(read_report(&again), BP_PHD_OK);
		assert_true(m.content == again.content);
	}
}

/* ---- content ---- */

static void contents_differ_by_model(void **state)
{
	bool certain;
	const struct bp_phd_model *s = bp_phd_standard(700, &certain);
	static struct bp_phd_model m;
	uint16_t *const fields[] = {&m.config_id, &m.object[0].class, &m.object[0].handle,
		&m.object[0].partition, &m.object[0].code, &m.object[0].unit,
		&m.object[0].metric_spec, &m.object[0].ids[2], &m.object[1].map[0].attr,
		&m.object[1].map[0].len, &m.object[1].map[1].len, &m.object[0].n_ids,
		&m.object[1].n_map, &m.n};
	uint64_t seen[sizeof(fields) / sizeof(fields[0]) + 1];

	(void)state;
	seen[0] = s->content;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		m = *s;
		assert_true(bp_phd_model_content(&m) == s->content);
		--*fields[i];
		seen[i + 1] = bp_phd_model_content(&m);
		for (size_t k = 0; k <= i; k++)
			assert_true(seen[k] != seen[i + 1]);
	}
	m = *s;
	m.object[1].ids[0] = 1; /* beyond n_ids: says nothing */
	m.object[2].handle = 9;
	m.content = 1;
	assert_true(bp_phd_model_content(&m) == s->content);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(standard_models_equal_declared_configurations),
		cmocka_unit_test(uncertain_standards_have_no_objects),
		cmocka_unit_test(other_ids_are_unknown),
		cmocka_unit_test(specialisations_follow_from_the_id),
		cmocka_unit_test(object_without_attributes_is_accepted),
		cmocka_unit_test(handles_are_there_once),
		cmocka_unit_test(guaranteed_number_of_objects_fits),
		cmocka_unit_test(lists_keep_what_fits),
		cmocka_unit_test(attributes_have_the_length_of_their_type),
		cmocka_unit_test(attribute_occurs_once),
		cmocka_unit_test(random_configurations_are_read_back),
		cmocka_unit_test(contents_differ_by_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
