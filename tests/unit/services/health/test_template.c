/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/health/rig.h"

#include <stdio.h>

#include "services/health/template.h"
#include "services/health/decode.h"
#include "proto/net/frame.h"
#include "tests/unit/times.h"

/*
 * The output of the fast path is compared with that of services/health/convert.h, which other tests
 * check: the same report on both paths, byte by byte, if the fast path may process it.
 */

#define SFLOAT 2636
#define BITS 2661
#define TIME 2448
#define STATUS 2375
#define LABEL 2343
#define APDU_MAX 80u

static uint64_t random_state = 0x5f10a7;

static unsigned any(unsigned n)
{
	return (unsigned)(next_random(&random_state) % n);
}

struct report {
	uint8_t p[APDU_MAX];
	uint32_t len;
};

static void begin(struct report *r)
{
	memset(r, 0, sizeof(*r));
	r->len = BP_PHD_AT_ENTRIES;
}

static void put16(struct report *r, unsigned v)
{
	assert_true(r->len + 2 <= APDU_MAX);
	bp_put_be16(r->p + r->len, (uint16_t)v);
	r->len += 2;
}

/* All fields before the observations, by their number and length. */
static void finish(struct report *r, unsigned observations)
{
	uint8_t *p = r->p;

	bp_put_be16(p, 0xe700);
	bp_put_be16(p + 2, (uint16_t)(r->len - 4));
	bp_put_be16(p + 4, (uint16_t)(r->len - 6));
	bp_put_be16(p + 6, (uint16_t)any(65536));
	bp_put_be16(p + 8, (uint16_t)(0x0100 + any(2)));
	bp_put_be16(p + 10, (uint16_t)(r->len - 12));
	bp_put_be32(p + 14, (uint32_t)next_random(&random_state));
	bp_put_be16(p + 18, 0x0d1d);
	bp_put_be16(p + 20, (uint16_t)(r->len - 22));
	bp_put_be16(p + 22, 0xf000);
	bp_put_be16(p + 24, (uint16_t)any(65536));
	bp_put_be16(p + 26, (uint16_t)observations);
	bp_put_be16(p + 28, (uint16_t)(r->len - 30));
}

/* ---- configurations ---- */

/* Objects with an SFLOAT, and perhaps a status or a label before or behind it. */
static void any_model(struct bp_phd_model *m)
{
	*m = (struct bp_phd_model){.config_id = 0x4001, .n = (uint16_t)(1 + any(4))};
	for (unsigned i = 0; i < m->n; i++) {
		struct bp_phd_object_model *o = &m->object[i];
		const unsigned kind = any(4);

		*o = (struct bp_phd_object_model){.class = 6,
			.handle = (uint16_t)(1 + i * 1000 + any(1000)),
			.partition = 2,
			.code = (uint16_t)(19384 + i),
			.unit = (uint16_t)(any(2) * 544)};
		if (kind == 1)
			o->map[o->n_map++] = (struct bp_phd_attr_map){STATUS, 2};
		if (kind == 2)
			o->map[o->n_map++] = (struct bp_phd_attr_map){LABEL, 3};
		o->map[o->n_map++] = (struct bp_phd_attr_map){SFLOAT, 2};
		if (kind == 3)
			o->map[o->n_map++] = (struct bp_phd_attr_map){LABEL, 1};
	}
	m->content = bp_phd_model_content(m);
}

/* Mostly a number. */
static unsigned any_sfloat(void)
{
	return any(40) == 0 ? 0x07fe + any(5) : any(65536);
}

/* Its observations are those of the objects in their order; bytes of labels are one and the same.
 */
static void any_report(const struct bp_phd_model *m, struct report *r)
{
	begin(r);
	for (unsigned i = 0; i < m->n; i++) {
		const struct bp_phd_object_model *o = &m->object[i];
		unsigned len = 0;

		for (unsigned k = 0; k < o->n_map; k++)
			len += o->map[k].len;
		put16(r, o->handle);
		put16(r, len);
		for (unsigned k = 0; k < o->n_map; k++) {
			if (o->map[k].attr == SFLOAT) {
				put16(r, any_sfloat());
				continue;
			}
			memset(r->p + r->len, o->map[k].attr == LABEL ? 'x' : 0, o->map[k].len);
			r->len += o->map[k].len;
		}
	}
	finish(r, m->n);
}

static struct bp_phd_settings any_plan(void)
{
	return (struct bp_phd_settings){.max_message = 1024,
		.family = 4,
		.per_report = 1,
		.release = (uint8_t)any(BP_M2M_RELEASES),
		.named = (uint8_t)any(2),
		.con = (uint8_t)any(2)};
}

static struct bp_phd_target any_target(char path[64], char from[64])
{
	static const char *const ids[] = {"a", "{system_id}", "{system_id}/x{system_id}"};

	snprintf(path, 64, "cse%.*s/%s/{object}", (int)any(4), "-in", ids[any(3)]);
	snprintf(from, 64, "C%.*s%s", (int)any(3), "bc", ids[any(2)]);
	return (struct bp_phd_target){path, from};
}

/* ---- both ways ---- */

struct bench {
	struct bp_phd_settings plan;
	struct bp_phd_layout *l;
	struct bp_phd_template *q;
	uint8_t before[62];
	unsigned before_len;
};

static void set_up(struct bench *b, const struct bp_phd_model *m,
	const struct bp_phd_settings *plan, const struct bp_phd_target *target)
{
	b->plan = *plan;
	b->l = rig_compile(m, plan, target, "oximeter");
	atomic_store(&b->l->life, 7);
	b->q = aligned_alloc(64, sizeof(*b->q));
	assert_non_null(b->q);
	memset(b->q, 0, sizeof(*b->q));
	b->before_len = any(2) == 0 ? 42 : 62;
	for (unsigned i = 0; i < sizeof(b->before); i++)
		b->before[i] = (uint8_t)any(256);
	bp_phd_sfloat_prepare();
}

static void tear_down(struct bench *b)
{
	free(b->l);
	free(b->q);
}

static enum bp_phd_verdict evaluate(
	const struct bench *b, const struct report *r, struct bp_phd_conversion *c)
{
	return bp_phd_convert_plan(b->l, &b->plan, r->p, r->len, c);
}

static bool learn(struct bench *b, const struct report *r)
{
	struct bp_phd_conversion c;

	assert_int_equal(evaluate(b, r, &c), BP_PHD_CONVERT);
	return bp_phd_template_init(
		b->q, b->l, &b->plan, &c, r->p, r->len, b->before, b->before_len);
}

static struct bp_phd_identity any_identity(uint8_t system_id[8])
{
	const uint64_t id = next_random(&random_state);

	memcpy(system_id, &id, 8);
	return (struct bp_phd_identity){.system_id = system_id,
		.associated_s = (uint32_t)next_random(&random_state),
		.report = (uint32_t)next_random(&random_state),
		.life = (uint16_t)any(65536),
		.mid = (uint16_t)any(65536),
		.token = next_random(&random_state)};
}

/* The frame is written over the report, in a block of exactly the bytes that may be touched. */
static void assert_same(const struct bench *b, const struct report *r)
{
	struct bp_phd_conversion c;
	uint8_t *frame = malloc(b->q->bound), *room, system_id[8];
	const struct bp_phd_sfloat *value[BP_PHD_TEMPLATE_VALUES];
	const struct bp_phd_identity id = any_identity(system_id);
	uint32_t len;
	uint64_t sum;
	size_t n;

	assert_non_null(frame);
	memset(frame, 0xa5, b->q->bound);
	assert_true(b->q->bound >= b->before_len + r->len);
	memcpy(frame + b->before_len, r->p, r->len);
	assert_int_equal(evaluate(b, r, &c), BP_PHD_CONVERT);
	assert_int_equal(c.parts, 1);
	assert_int_equal(c.confirmed, bp_phd_template_confirmed(r->p));
	assert_int_equal(c.observations, b->q->values);
	room = malloc(c.part[0].len);
	assert_non_null(room);
	n = bp_phd_convert_write(b->l, &b->plan, r->p, &c, 0, &id, room, c.part[0].len);
	assert_true(bp_phd_template_read(b->q, frame + b->before_len, value, &sum));
	assert_int_equal(bp_sum_fold(sum), bp_sum_fold(bp_sum(r->p, r->len, 0)));
	len = bp_phd_template_write(b->q, &id, value, frame, &sum);
	assert_int_equal(len, b->before_len + n);
	assert_memory_equal(frame, b->before, b->before_len);
	assert_memory_equal(frame + b->before_len, room, n);
	assert_int_equal(bp_sum_fold(sum), bp_sum_fold(bp_sum(room, n, 0)));
	free(room);
	free(frame);
}

/* Whether the fast path may process it; all bytes that it reads are readable. */
static bool is_taken(const struct bench *b, const struct report *r)
{
	uint8_t bytes[APDU_MAX > BP_PHD_TEMPLATE_APDU ? APDU_MAX : BP_PHD_TEMPLATE_APDU] = {0};
	const struct bp_phd_sfloat *value[BP_PHD_TEMPLATE_VALUES];
	uint64_t sum;

	memcpy(bytes, r->p, r->len);
	/* any bytes after a report in its mbuf */
	for (unsigned i = r->len; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)any(256);
	return bp_phd_template_is(b->q, b->l, bytes, r->len) &&
	       bp_phd_template_read(b->q, bytes, value, &sum);
}

static bool has_special(const struct bp_phd_model *m, const struct bench *b, const struct report *r)
{
	struct bp_phd_conversion c;
	uint8_t out[2048], system_id[8];
	const struct bp_phd_identity id = any_identity(system_id);

	assert_int_equal(evaluate(b, r, &c), BP_PHD_CONVERT);
	assert_int_equal(c.observations, m->n);
	assert_true(c.part[0].len <= sizeof(out));
	bp_phd_convert_write(b->l, &b->plan, r->p, &c, 0, &id, out, sizeof(out));
	return c.odd.special_values != 0;
}

static void the_same_bytes(void **state)
{
	unsigned taken = 0;

	(void)state;
	for (unsigned round = 0; round < TEST_TIMES(2000); round++) {
		const struct bp_phd_settings plan = any_plan();
		char path[64], from[64];
		const struct bp_phd_target target = any_target(path, from);
		struct bp_phd_model m;
		struct report r;
		struct bench b;

		any_model(&m);
		set_up(&b, &m, &plan, &target);
		any_report(&m, &r);
		assert_int_equal(learn(&b, &r), r.len <= BP_PHD_TEMPLATE_APDU);
		for (unsigned i = 0; b.q->values != 0 && i < 20; i++) {
			any_report(&m, &r);
			assert_int_equal(is_taken(&b, &r), !has_special(&m, &b, &r));
			if (is_taken(&b, &r)) {
				assert_same(&b, &r);
				taken++;
			}
		}
		tear_down(&b);
	}
	assert_true(taken > TEST_TIMES(2000));
}

/* One byte is another: it is taken only where that may differ, and is right then. */
static void another_byte(void **state)
{
	(void)state;
	for (unsigned round = 0; round < TEST_TIMES(100); round++) {
		const struct bp_phd_settings plan = any_plan();
		struct bp_phd_model m;
		struct report r, other;
		struct bench b;
		unsigned taken = 0;

		do {
			any_model(&m);
			any_report(&m, &r);
		} while (r.len > BP_PHD_TEMPLATE_APDU);
		set_up(&b, &m, &plan, &rig_target);
		assert_true(learn(&b, &r));
		while (!is_taken(&b, &r))
			any_report(&m, &r);
		for (unsigned i = 0; i < r.len; i++) {
			for (unsigned change = 1; change < 256; change++) {
				other = r;
				other.p[i] ^= (uint8_t)change;
				if (!is_taken(&b, &other))
					continue;
				assert_same(&b, &other);
				taken++;
			}
		}
		/* numbers, time, confirmed or not; values that stay numbers */
		assert_true(taken >= 8 * 255 + 1);
		assert_true(taken <= 8 * 255 + 1 + 2 * 255 * (unsigned)m.n);
		tear_down(&b);
	}
}

/* Reports of the standard's oximeter are taken, such as *r. */
static void set_up_400(struct bench *b, struct report *r)
{
	const struct bp_phd_settings plan = {
		.max_message = 1024, .per_report = 1, .release = BP_M2M_R4};

	set_up(b, &rig_400, &plan, &rig_target);
	any_report(&rig_400, r);
	bp_put_be16(r->p + 34, 0xf3cf);
	bp_put_be16(r->p + 40, 61);
	assert_true(learn(b, r));
	assert_true(is_taken(b, r));
}

static void another_length(void **state)
{
	struct report r;
	struct bench b;

	(void)state;
	set_up_400(&b, &r);
	r.len--;
	assert_false(is_taken(&b, &r));
	r.len += 2;
	assert_false(is_taken(&b, &r));
	r.len = 0;
	assert_false(is_taken(&b, &r));
	tear_down(&b);
}

static void layout_is_replaced(void **state)
{
	struct report r;
	struct bench b;

	(void)state;
	set_up_400(&b, &r);
	atomic_fetch_add(&b.l->life, 1);
	assert_false(bp_phd_template_is_of(b.q, b.l));
	assert_false(is_taken(&b, &r));
	tear_down(&b);
}

/* None is made of it, and nothing is taken by it, not even nothing. */
static void assert_not_learnt(struct bench *b, const struct report *r)
{
	struct report none = {.len = 0};

	assert_false(learn(b, r));
	assert_true(bp_phd_template_is_of(b->q, b->l));
	assert_false(is_taken(b, r));
	assert_false(is_taken(b, &none));
}

static void other_kinds(void **state)
{
	static const struct bp_phd_model bits = {.config_id = 0x4001,
		.n = 1,
		.object = {{.class = 5,
			.handle = 1,
			.partition = 130,
			.code = 1,
			.n_map = 1,
			.map = {{BITS, 4}}}}};
	static const struct bp_phd_model timed = {.config_id = 0x4001,
		.n = 1,
		.object = {{.class = 6,
			.handle = 1,
			.partition = 2,
			.code = 19384,
			.unit = 544,
			.n_map = 2,
			.map = {{SFLOAT, 2}, {TIME, 8}}}}};
	static const struct bp_phd_model judged = {.config_id = 0x4001,
		.n = 1,
		.object = {{.class = 6,
			.handle = 1,
			.partition = 2,
			.code = 19384,
			.unit = 544,
			.n_map = 2,
			.map = {{SFLOAT, 2}, {STATUS, 2}}}}};
	struct bp_phd_settings plan = {.max_message = 1024, .per_report = 1, .release = BP_M2M_R4};
	struct report r;
	struct bench b;

	(void)state;
	set_up(&b, &bits, &plan, &rig_target);
	begin(&r);
	put16(&r, 1), put16(&r, 4), put16(&r, 0), put16(&r, 1);
	finish(&r, 1);
	assert_not_learnt(&b, &r);
	tear_down(&b);

	set_up(&b, &timed, &plan, &rig_target);
	begin(&r);
	put16(&r, 1), put16(&r, 10), put16(&r, 60), put16(&r, 0x2026), put16(&r, 0x0101);
	put16(&r, 0x1200), put16(&r, 0);
	finish(&r, 1);
	assert_not_learnt(&b, &r);
	tear_down(&b);

	set_up(&b, &judged, &plan, &rig_target);
	begin(&r);
	put16(&r, 1), put16(&r, 4), put16(&r, 60), put16(&r, 0x4000);
	finish(&r, 1);
	assert_not_learnt(&b, &r);
	tear_down(&b);

	/* an unknown object next to a known one, and an instance for each object */
	set_up(&b, &rig_400, &plan, &rig_target);
	begin(&r);
	put16(&r, 1), put16(&r, 2), put16(&r, 60), put16(&r, 999), put16(&r, 2), put16(&r, 60);
	finish(&r, 2);
	assert_not_learnt(&b, &r);
	tear_down(&b);
	plan.per_report = 0;
	set_up(&b, &rig_400, &plan, &rig_target);
	any_report(&rig_400, &r);
	assert_not_learnt(&b, &r);
	tear_down(&b);
}

/* One odd report does not take away what the others have. */
static void single_difference_in_a_burst(void **state)
{
	const struct bp_phd_settings plan = {
		.max_message = 1024, .per_report = 1, .release = BP_M2M_R4};
	struct report r, odd;
	struct bench b;

	(void)state;
	set_up(&b, &rig_400, &plan, &rig_target);
	any_report(&rig_400, &r);
	bp_put_be16(r.p + 34, 0xf3cf);
	bp_put_be16(r.p + 40, 61);
	assert_true(learn(&b, &r));
	begin(&odd);
	put16(&odd, 1), put16(&odd, 2), put16(&odd, 60);
	put16(&odd, 999), put16(&odd, 2), put16(&odd, 60);
	finish(&odd, 2);
	assert_false(learn(&b, &odd));
	assert_true(is_taken(&b, &r));
	assert_same(&b, &r);
	/* but another layout's does */
	atomic_fetch_add(&b.l->life, 1);
	assert_false(learn(&b, &odd));
	assert_false(is_taken(&b, &r));
	tear_down(&b);
}

/* A request that is longer than what is kept goes the long way. */
static void a_long_path(void **state)
{
	const struct bp_phd_settings plan = {
		.max_message = 2000, .per_report = 1, .release = BP_M2M_R4};
	char path[480] = "cse-in", from[480] = "C";
	const struct bp_phd_target target = {path, from};
	bool learnt = true, was;

	(void)state;
	/* segment by segment: there is one length from which on it is too long */
	while (strlen(path) < sizeof(path) - 24) {
		struct report r;
		struct bench b;

		strcat(path, "/a-longer-path");
		if (strlen(from) < 230) /* an option's value ends at 255 */
			strcat(from, "a-longer-name-");
		set_up(&b, &rig_400, &plan, &target);
		any_report(&rig_400, &r);
		bp_put_be16(r.p + 34, 0xf3cf);
		bp_put_be16(r.p + 40, 61);
		was = learnt;
		learnt = learn(&b, &r);
		assert_true(was || !learnt);
		assert_int_equal(is_taken(&b, &r), learnt);
		if (learnt)
			assert_same(&b, &r);
		tear_down(&b);
	}
	assert_false(learnt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_bytes),
		cmocka_unit_test(another_byte),
		cmocka_unit_test(another_length),
		cmocka_unit_test(layout_is_replaced),
		cmocka_unit_test(other_kinds),
		cmocka_unit_test(single_difference_in_a_burst),
		cmocka_unit_test(a_long_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
