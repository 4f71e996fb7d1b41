/* SPDX-License-Identifier: BSD-3-Clause */
/* Coordinate transformation in the segment: tables, what the file says, what is set, and what
 * becomes of that in the next bank. */
#include "config/transform/settings.h"
#include "tests/unit/shm/transform/transform_rig.h"

#include <stdlib.h>
#include <string.h>

#include "shm/layout.h"
#include "config/segment.h"
#include "shm/transform/transform_shape.h"

#define WHERE                                                                                      \
	(BP_TRANSFORM_ADDRESS | BP_TRANSFORM_UDP | BP_TRANSFORM_MAC | BP_TRANSFORM_REFLECT |       \
		BP_TRANSFORM_MATRIX | BP_TRANSFORM_SET)

static uint64_t flags_of(uint64_t state)
{
	return state & WHERE;
}

/* ---- tables ---- */

static void map(struct bp_shm *m, const struct bp_config *c)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	const unsigned n = bp_shm_specs(c, specs);
	char err[512];
	struct bp_segment *s = bp_segment_anonymous(specs, n, err, sizeof(err));

	if (s == NULL || bp_shm_map(m, s, err, sizeof(err)) != 0)
		fail_msg("%s", err);
}

static void tables_exist_with_transformation(void **state)
{
	struct bp_config *c = calloc(1, sizeof(*c));
	struct bp_config_transform transform = {.max_matrices = 100};
	struct bp_shm m;

	assert_non_null(c);
	c->n_workers = 3;
	c->service[BP_SERVICE_TRANSFORM] = &transform;
	map(&m, c);
	assert_null(m.transform.head);
	assert_null(bp_transform_view_of(&m.transform, 2).bank);
	bp_segment_close(m.segment);
	transform.entries.n_rules = 1;
	map(&m, c);
	assert_int_equal(m.transform.matrices, 100);
	assert_int_equal((uintptr_t)m.transform.head % 64, 0);
	assert_int_equal((uintptr_t)m.transform.generation.banks % 128, 0);
	assert_int_equal(m.transform.generation.bank_size % 128, 0);
	assert_int_equal(m.transform.generation.bank_size, bp_transform_bank_size(100));
	memset(m.transform.generation.banks, 0, 2 * m.transform.generation.bank_size);
	memset(m.transform.rule_stats, 0,
		3 * BP_TRANSFORM_RULES_MAX * sizeof(*m.transform.rule_stats));
	memset(m.transform.source_stats, 0, 3 * 100 * sizeof(*m.transform.source_stats));
	for (unsigned w = 0; w < 3; w++)
		assert_int_equal(atomic_load(&m.transform.generation.seen[w]), UINT64_MAX);
	assert_null(bp_transform_view_of(&m.transform, 0).bank);
	bp_segment_close(m.segment);
	free(c);
}

/* A segment created by another process. */
static void impossible_sizes_are_refused(void **state)
{
	const uint64_t banks = 2 * bp_transform_bank_size(10);
	const struct {
		uint64_t capacity[BP_TRANSFORM_TABLES], workers;
		bool agree;
	} of[] = {
		{{1, 1, 1, 1, 1}, 3, true},
		{{1, 1, banks, 96, 30}, 3, true},
		{{2, 1, banks, 96, 30}, 3, false},
		{{1, 1, banks - 2, 96, 30}, 3, false},
		{{1, 1, banks, 95, 30}, 3, false},
		{{1, 1, banks, 96, 31}, 3, false},
		{{1, 1, banks, 96, 33}, 3, false},
		{{1, 1, banks, 1, 30}, 3, false},
		{{1, 1, 1, 1, 30}, 3, false},
		{{1, 1, 1, 96, 0}, 3, false},
		{{1, 1, 2 * bp_transform_bank_size(65537), 32, 65537}, 1, false},
		{{1, 1, 2 * bp_transform_bank_size(65536), 32, 65536}, 1, true},
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		assert_int_equal(bp_service_tables[BP_SERVICE_TRANSFORM]->sizes_agree(
					 of[i].capacity, of[i].workers),
			of[i].agree);
}

static void ports_are_known_by_name_and_order(void **state)
{
	struct transform_rig a, b;

	xform_open(&a, 1, 2);
	xform_open(&b, 1, 2);
	assert_int_equal(bp_config_ports_key(a.c), bp_config_ports_key(b.c));
	strcpy(b.c->port[0].name, "p1");
	strcpy(b.c->port[1].name, "p0");
	assert_int_not_equal(bp_config_ports_key(a.c), bp_config_ports_key(b.c));
	b.c->n_ports = 1;
	strcpy(b.c->port[0].name, "p0");
	assert_int_not_equal(bp_config_ports_key(a.c), bp_config_ports_key(b.c));
	xform_close(&a);
	xform_close(&b);
}

/* ---- what the file says ---- */

static void set_address(struct bp_transform_receiver *r, uint8_t last)
{
	r->flags |= BP_TRANSFORM_ADDRESS;
	r->family = 4;
	r->address[0] = 10;
	r->address[3] = last;
}

static void set_mac(struct bp_transform_receiver *r, uint8_t last)
{
	r->flags |= BP_TRANSFORM_MAC;
	r->mac[5] = last;
}

static void set_udp(struct bp_transform_receiver *r, uint16_t udp)
{
	r->flags |= BP_TRANSFORM_UDP;
	r->udp = udp;
}

static const struct bp_transform_row *row_at(
	const struct transform_rig *x, const struct bp_prefix *p, unsigned receiver)
{
	const struct bp_transform_view v = xform_view(x);
	const uint32_t s = bp_transform_find(&v, 0, p);

	assert_int_not_equal(s, UINT32_MAX);
	return &v.row[v.source[s].first + receiver];
}

/* A place is taken as a whole: the entry's MAC address is that of the entry's address. */
static void receiver_inherits_from_the_entry(void **state)
{
	const struct bp_prefix p = xform_prefix4(0x0a000001, 32);
	const struct bp_transform_row *row;
	struct transform_rig x;
	struct bp_transform_rule *rule;

	xform_open(&x, 8, 1);
	rule = xform_rule(&x, 0, 10000);
	set_address(&rule->otherwise, 9);
	set_mac(&rule->otherwise, 99);
	set_udp(&rule->otherwise, 20000);
	xform_source(&x, 0, p);
	xform_receiver(&x, 1);
	set_address(xform_receiver(&x, 2), 8);
	set_udp(xform_receiver(&x, 3), 20001);
	xform_receiver(&x, 4)->flags |= BP_TRANSFORM_REFLECT;
	set_mac(xform_receiver(&x, 5), 77);
	assert_int_equal(xform_load(&x), 0);

	row = row_at(&x, &p, 0);
	assert_int_equal(flags_of(atomic_load(&row->state)),
		BP_TRANSFORM_ADDRESS | BP_TRANSFORM_MAC | BP_TRANSFORM_UDP | BP_TRANSFORM_MATRIX);
	assert_int_equal(row->family, 4);
	assert_int_equal(row->address[3], 9);
	assert_int_equal(row->mac[5], 99);
	assert_int_equal(row->udp, 20000);
	row = row_at(&x, &p, 1); /* an address of its own: without the other one's MAC */
	assert_int_equal(flags_of(atomic_load(&row->state)),
		BP_TRANSFORM_ADDRESS | BP_TRANSFORM_UDP | BP_TRANSFORM_MATRIX);
	assert_int_equal(row->address[3], 8);
	row = row_at(&x, &p, 2);
	assert_int_equal(row->udp, 20001);
	assert_int_equal(row->address[3], 9);
	row = row_at(&x, &p, 3); /* back to who sent it: no address */
	assert_int_equal(flags_of(atomic_load(&row->state)),
		BP_TRANSFORM_REFLECT | BP_TRANSFORM_UDP | BP_TRANSFORM_MATRIX);
	assert_int_equal(row->family, 0);
	row = row_at(&x, &p, 4);
	assert_int_equal(row->address[3], 9);
	assert_int_equal(row->mac[5], 77);
	row = &xform_view(&x).row[xform_view(&x).bank->rule[0].otherwise];
	assert_int_equal(flags_of(atomic_load(&row->state)),
		BP_TRANSFORM_ADDRESS | BP_TRANSFORM_MAC | BP_TRANSFORM_UDP);
	xform_close(&x);
}

static void a_source_without_receivers_is_bare(void **state)
{
	const struct bp_prefix p = xform_prefix4(0x0a000001, 32);
	struct transform_rig x;
	double m[12];

	xform_open(&x, 1, 1);
	xform_rule(&x, 0, 10000);
	xform_source(&x, 0, p);
	assert_int_equal(xform_load(&x), 0);
	assert_int_equal(flags_of(bp_transform_row_read(row_at(&x, &p, 0), m)), 0);
	assert_int_equal(m[0] == 1 && m[4] == 1 && m[8] == 1 && m[1] == 0 && m[9] == 0, true);
	assert_true(bp_transform_valid(xform_view(&x).bank, 1));
	xform_close(&x);
}

static void capacity_is_exact(void **state)
{
	struct transform_rig x;

	xform_open(&x, 4, 1);
	xform_rule(&x, 0, 1);
	xform_rule(&x, 0, 2);
	xform_source(&x, 0, xform_prefix4(1, 32));
	for (unsigned i = 0; i < 3; i++)
		xform_receiver(&x, i);
	xform_source(&x, 1, xform_prefix4(1, 32));
	assert_int_equal(xform_load(&x), 0);
	assert_true(bp_transform_valid(xform_view(&x).bank, 4));
	xform_source(&x, 1, xform_prefix4(2, 32));
	assert_int_equal(xform_load(&x), -1);
	assert_non_null(strstr(xform_error(), "transform.max_matrices (now 4)"));
	/* the bank active is what it was */
	assert_int_equal(xform_view(&x).bank->generation, 1);
	assert_int_equal(atomic_load(&xform_view(&x).bank->n_sources), 2);
	xform_close(&x);
}

/* ---- what is set ---- */

static enum bp_transform_set set(struct transform_rig *x, unsigned rule, struct bp_prefix p,
	unsigned receiver, double mark, bool add)
{
	const struct bp_transform_view v = xform_view(x);
	double m[12];

	xform_matrix(mark, m);
	return bp_transform_set(&v, rule, &p, receiver, m, add, &x->head.next_uid);
}

static void set_values_are_read(void **state)
{
	const struct bp_prefix a = xform_prefix4(0x0a000001, 32), b = xform_prefix4(2, 32);
	struct transform_rig x;
	uint64_t before, after;
	double mark;

	xform_open(&x, 3, 1);
	assert_int_equal(set(&x, 0, a, 0, 1, true), BP_TRANSFORM_SET_NO_RULE); /* no bank */
	xform_rule(&x, 0, 1);
	xform_source(&x, 0, a);
	set_address(xform_receiver(&x, 1), 7);
	xform_receiver(&x, 2);
	assert_int_equal(xform_load(&x), 0);
	before = xform_row(&x, 0, &a, 1, &mark);
	assert_true(mark == 2);
	assert_int_equal(set(&x, 0, a, 1, 20, false), BP_TRANSFORM_SET_DONE);
	after = xform_row(&x, 0, &a, 1, &mark);
	assert_true(mark == 20);
	assert_int_equal(after >> 8, (before >> 8) + 1);
	assert_int_equal(flags_of(after), BP_TRANSFORM_MATRIX | BP_TRANSFORM_SET);
	assert_int_equal(set(&x, 0, a, 1, 21, false), BP_TRANSFORM_SET_DONE);
	xform_row(&x, 0, &a, 1, &mark);
	assert_true(mark == 21);
	/* the one next to it, and where it goes, are as before */
	assert_int_equal(set(&x, 0, a, 0, 22, false), BP_TRANSFORM_SET_DONE);
	assert_int_equal(flags_of(xform_row(&x, 0, &a, 0, &mark)),
		BP_TRANSFORM_ADDRESS | BP_TRANSFORM_MATRIX | BP_TRANSFORM_SET);
	assert_int_equal(row_at(&x, &a, 0)->address[3], 7);

	assert_int_equal(set(&x, 1, a, 0, 1, true), BP_TRANSFORM_SET_NO_RULE);
	assert_int_equal(set(&x, 0, a, 2, 1, true), BP_TRANSFORM_SET_NO_RECEIVER);
	assert_int_equal(set(&x, 0, b, 0, 1, false), BP_TRANSFORM_SET_NO_SOURCE);
	assert_int_equal(set(&x, 0, b, 1, 1, true), BP_TRANSFORM_SET_NO_RECEIVER);
	assert_int_equal(set(&x, 0, b, 0, 30, true), BP_TRANSFORM_SET_DONE);
	xform_row(&x, 0, &b, 0, &mark);
	assert_true(mark == 30);
	assert_int_equal(set(&x, 0, xform_prefix4(3, 32), 0, 1, true), BP_TRANSFORM_SET_FULL);
	assert_true(bp_transform_valid(xform_view(&x).bank, 3));
	xform_close(&x);
}

static void invalid_matrix_is_rejected(void **state)
{
	const struct bp_prefix a = xform_prefix4(1, 32);
	struct transform_rig x;
	struct bp_transform_view v;
	double m[12], mark;

	xform_open(&x, 2, 1);
	xform_rule(&x, 0, 1);
	xform_rule(&x, 0, 2)->allow_singular = true;
	xform_source(&x, 0, a);
	xform_receiver(&x, 5);
	assert_int_equal(xform_load(&x), 0);
	v = xform_view(&x);
	memset(m, 0, sizeof(m));
	assert_int_equal(bp_transform_set(&v, 0, &a, 0, m, true, &x.head.next_uid),
		BP_TRANSFORM_SET_SINGULAR);
	assert_int_equal(
		bp_transform_set(&v, 1, &a, 0, m, true, &x.head.next_uid), BP_TRANSFORM_SET_DONE);
	xform_matrix(1, m);
	m[11] = 0x1p31;
	assert_int_equal(
		bp_transform_set(&v, 0, &a, 0, m, true, &x.head.next_uid), BP_TRANSFORM_SET_LARGE);
	m[11] = (double)__builtin_nanf("");
	assert_int_equal(bp_transform_set(&v, 0, &a, 0, m, true, &x.head.next_uid),
		BP_TRANSFORM_SET_NOT_FINITE);
	xform_row(&x, 0, &a, 0, &mark);
	assert_true(mark == 5);
	/* matrices that the rule no longer allows are not kept */
	x.file.rule[1].allow_singular = false;
	assert_int_equal(xform_load(&x), 0);
	v = xform_view(&x);
	assert_int_equal(bp_transform_find(&v, 1, &a), UINT32_MAX);
	assert_int_equal(v.bank->missed, 1);
	xform_close(&x);
}

static void number_of_prefix_lengths_is_bounded(void **state)
{
	struct transform_rig x;

	xform_open(&x, 40, 1);
	xform_rule(&x, 0, 1);
	assert_int_equal(xform_load(&x), 0);
	for (unsigned i = 0; i < BP_TRANSFORM_LENGTHS_MAX; i++) {
		/* in an order that needs room at the end, in front and between */
		const unsigned length = 8 + (i * 7) % 16;

		assert_int_equal(set(&x, 0, xform_prefix4(0x0a010101, length), 0, i, true),
			BP_TRANSFORM_SET_DONE);
	}
	for (unsigned i = 1; i < BP_TRANSFORM_LENGTHS_MAX; i++)
		assert_true(xform_view(&x).bank->rule[0].length[0][i - 1] >
			    xform_view(&x).bank->rule[0].length[0][i]);
	assert_int_equal(
		set(&x, 0, xform_prefix4(0x0a010101, 32), 0, 1, true), BP_TRANSFORM_SET_FULL);
	assert_int_equal(
		set(&x, 0, xform_prefix4(0x0b010101, 20), 0, 1, true), BP_TRANSFORM_SET_DONE);
	/* those of IPv6 are counted separately */
	assert_int_equal(set(&x, 0, xform_prefix6(1, 1, 128), 0, 1, true), BP_TRANSFORM_SET_DONE);
	assert_true(bp_transform_valid(xform_view(&x).bank, 40));
	xform_close(&x);
}

/* ---- over banks ---- */

static uint32_t uid(const struct transform_rig *x, unsigned rule, struct bp_prefix p)
{
	const struct bp_transform_view v = xform_view(x);
	const uint32_t s = bp_transform_find(&v, rule, &p);

	return s == UINT32_MAX ? 0 : v.source[s].uid;
}

static void a_file(struct transform_rig *x, bool second)
{
	xform_file(x);
	if (second) /* one before it: numbers change */
		xform_rule(x, 0, 9);
	xform_rule(x, 0, 1);
	xform_source(x, second, xform_prefix4(1, 32));
	xform_receiver(x, 1);
	xform_receiver(x, 2);
	if (second)
		return;
	xform_rule(x, 1, 1);
	xform_source(x, 1, xform_prefix4(1, 32));
	xform_receiver(x, 3);
}

static void set_matrices_survive_a_reload(void **state)
{
	const struct bp_prefix one = xform_prefix4(1, 32), two = xform_prefix4(2, 32);
	struct transform_rig x;
	uint32_t of_one, of_two, other;
	double mark;

	xform_open(&x, 8, 2);
	a_file(&x, false);
	assert_int_equal(xform_load(&x), 0);
	of_one = uid(&x, 0, one);
	other = uid(&x, 1, one);
	assert_int_not_equal(of_one, other);
	assert_int_equal(set(&x, 0, one, 1, 50, false), BP_TRANSFORM_SET_DONE);
	assert_int_equal(set(&x, 1, one, 0, 51, false), BP_TRANSFORM_SET_DONE);
	assert_int_equal(set(&x, 0, two, 0, 52, true), BP_TRANSFORM_SET_DONE);
	of_two = uid(&x, 0, two);
	for (unsigned reload = 0; reload < 3; reload++) {
		assert_int_equal(xform_load(&x), 0);
		assert_int_equal(xform_view(&x).bank->taken, 3);
		assert_int_equal(xform_view(&x).bank->missed, 0);
		assert_int_equal(uid(&x, 0, one), of_one);
		assert_int_equal(uid(&x, 1, one), other);
		assert_int_equal(uid(&x, 0, two), of_two);
		xform_row(&x, 0, &one, 0, &mark);
		assert_true(mark == 1);
		assert_int_equal(flags_of(xform_row(&x, 0, &one, 1, &mark)),
			BP_TRANSFORM_MATRIX | BP_TRANSFORM_SET);
		assert_true(mark == 50);
		xform_row(&x, 0, &two, 0, &mark);
		assert_true(mark == 52);
	}
	/* the rule has another number, the other one is gone */
	a_file(&x, true);
	assert_int_equal(xform_load(&x), 0);
	assert_int_equal(uid(&x, 1, one), of_one);
	assert_int_equal(uid(&x, 1, two), of_two);
	assert_int_equal(xform_view(&x).bank->taken, 2);
	assert_int_equal(xform_view(&x).bank->missed, 1);
	/* a source that was added and is now the file's has the set matrix for its first receiver
	 */
	xform_source(&x, 1, two);
	xform_receiver(&x, 60);
	xform_receiver(&x, 61);
	assert_int_equal(xform_load(&x), 0);
	assert_int_equal(uid(&x, 1, two), of_two);
	xform_row(&x, 1, &two, 0, &mark);
	assert_true(mark == 52);
	xform_row(&x, 1, &two, 1, &mark);
	assert_true(mark == 61);
	assert_true(bp_transform_valid(xform_view(&x).bank, 8));
	xform_close(&x);
}

static void cleared_value_reverts_to_the_file(void **state)
{
	const struct bp_prefix one = xform_prefix4(1, 32), two = xform_prefix4(2, 32);
	struct transform_rig x;
	struct bp_transform_view v;
	uint32_t same;
	double mark;

	xform_open(&x, 8, 2);
	a_file(&x, false);
	assert_int_equal(xform_load(&x), 0);
	same = uid(&x, 0, one);
	assert_int_equal(set(&x, 0, one, 0, 50, false), BP_TRANSFORM_SET_DONE);
	assert_int_equal(set(&x, 1, one, 0, 51, false), BP_TRANSFORM_SET_DONE);
	assert_int_equal(set(&x, 0, two, 0, 52, true), BP_TRANSFORM_SET_DONE);
	assert_int_equal(set(&x, 1, two, 0, 53, true), BP_TRANSFORM_SET_DONE);
	v = xform_view(&x);
	assert_int_equal(bp_transform_remove(&v, 0, &one), BP_TRANSFORM_SET_DONE);
	assert_int_equal(bp_transform_remove(&v, 0, &two), BP_TRANSFORM_SET_DONE);
	assert_int_equal(bp_transform_remove(&v, 1, &two), BP_TRANSFORM_SET_DONE);
	assert_int_equal(bp_transform_remove(&v, 0, &(struct bp_prefix){.family = 6}),
		BP_TRANSFORM_SET_NO_SOURCE);
	assert_int_equal(bp_transform_remove(&v, 2, &two), BP_TRANSFORM_SET_NO_RULE);
	xform_row(&x, 0, &one, 0, &mark); /* not yet */
	assert_true(mark == 50);
	/* set again meanwhile: stays */
	assert_int_equal(set(&x, 1, two, 0, 54, true), BP_TRANSFORM_SET_DONE);
	assert_int_equal(xform_load(&x), 0);
	assert_int_equal(flags_of(xform_row(&x, 0, &one, 0, &mark)), BP_TRANSFORM_MATRIX);
	assert_true(mark == 1);
	assert_int_equal(uid(&x, 0, one), same); /* its figures continue */
	assert_int_equal(uid(&x, 0, two), 0);
	xform_row(&x, 1, &one, 0, &mark);
	assert_true(mark == 51);
	xform_row(&x, 1, &two, 0, &mark);
	assert_true(mark == 54);
	xform_close(&x);
}

/* Numbers of ports say nothing when the ports are others. */
static void other_ports_evict_no_entry(void **state)
{
	struct transform_rig x;

	xform_open(&x, 8, 2);
	a_file(&x, false);
	assert_int_equal(xform_load(&x), 0);
	assert_int_equal(set(&x, 0, xform_prefix4(2, 32), 0, 52, true), BP_TRANSFORM_SET_DONE);
	strcpy(x.c->port[0].name, "q");
	assert_int_equal(xform_load(&x), 0);
	assert_int_equal(uid(&x, 0, xform_prefix4(2, 32)), 0);
	xform_close(&x);
}

/* Entries of loaded matrices are reserved: a configuration without space for them is refused. */
static void file_without_capacity_for_set_entries_is_rejected(void **state)
{
	struct transform_rig x;

	xform_open(&x, 4, 2);
	a_file(&x, false);
	assert_int_equal(xform_load(&x), 0);
	assert_int_equal(set(&x, 0, xform_prefix4(2, 32), 0, 52, true), BP_TRANSFORM_SET_DONE);
	xform_source(&x, 1, xform_prefix4(3, 32));
	assert_int_equal(xform_load(&x), -1);
	assert_non_null(strstr(xform_error(), "set at run time"));
	assert_int_not_equal(uid(&x, 0, xform_prefix4(2, 32)), 0);
	xform_close(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_exist_with_transformation),
		cmocka_unit_test(impossible_sizes_are_refused),
		cmocka_unit_test(ports_are_known_by_name_and_order),
		cmocka_unit_test(receiver_inherits_from_the_entry),
		cmocka_unit_test(a_source_without_receivers_is_bare),
		cmocka_unit_test(capacity_is_exact),
		cmocka_unit_test(set_values_are_read),
		cmocka_unit_test(invalid_matrix_is_rejected),
		cmocka_unit_test(number_of_prefix_lengths_is_bounded),
		cmocka_unit_test(set_matrices_survive_a_reload),
		cmocka_unit_test(cleared_value_reverts_to_the_file),
		cmocka_unit_test(other_ports_evict_no_entry),
		cmocka_unit_test(file_without_capacity_for_set_entries_is_rejected),
	};

	return cmocka_run_group_tests_name("shm transform", tests, NULL, NULL);
}
