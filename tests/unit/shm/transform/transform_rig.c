/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/shm/transform/transform_rig.h"
#include "config/segment.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char err[512];

/* Where the paper's packet has what. */
static const struct bp_transform_layout kunze2021 = {
	.in = {{0, BP_TRANSFORM_FIXED32, 25}, {4, BP_TRANSFORM_UFIXED32, 25},
		{8, BP_TRANSFORM_UFIXED32, 25}},
	.out = {{12, BP_TRANSFORM_FIXED32, 25}, {16, BP_TRANSFORM_FIXED32, 25},
		{20, BP_TRANSFORM_FIXED32, 25}},
	.length = 40,
	.kunze2021 = true,
};

static void *zeroed(size_t alignment, size_t n)
{
	void *p = aligned_alloc(alignment, n);

	assert_non_null(p);
	memset(p, 0, n);
	return p;
}

void xform_open(struct transform_rig *x, uint32_t matrices, unsigned ports)
{
	memset(x, 0, sizeof(*x));
	x->t = (struct bp_transform_tables){
		.head = &x->head,
		.generation = {.active = &x->head.active,
			.seen = x->readers.seen,
			.readers = BP_MAX_WORKERS,
			.bank_size = bp_transform_bank_size(matrices)},
		.matrices = matrices,
	};
	x->t.generation.banks = zeroed(128, 2 * x->t.generation.bank_size);
	x->c = calloc(1, sizeof(*x->c));
	assert_non_null(x->c);
	x->c->n_ports = ports;
	for (unsigned i = 0; i < ports; i++)
		snprintf(x->c->port[i].name, sizeof(x->c->port[i].name), "p%u", i);
}

void xform_close(struct transform_rig *x)
{
	free(x->t.generation.banks);
	free(x->file.source);
	free(x->file.receiver);
	free(x->c);
}

void xform_file(struct transform_rig *x)
{
	free(x->file.source);
	free(x->file.receiver);
	memset(&x->file, 0, sizeof(x->file));
	x->room_sources = x->room_receivers = 0;
}

struct bp_transform_rule *xform_rule(struct transform_rig *x, unsigned port, uint16_t udp)
{
	struct bp_transform_rule *r = &x->file.rule[x->file.n_rules++];

	*r = (struct bp_transform_rule){.layout = kunze2021, .udp = udp, .port = (uint8_t)port};
	return r;
}

static void *grown(void *list, uint32_t n, uint32_t *room, size_t size)
{
	if (n < *room)
		return list;
	*room = *room == 0 ? 16 : 2 * *room;
	list = realloc(list, *room * size);
	assert_non_null(list);
	return list;
}

struct bp_transform_source *xform_source(
	struct transform_rig *x, uint32_t rule, struct bp_prefix prefix)
{
	struct bp_transform_config *c = &x->file;

	c->source = grown(c->source, c->n_sources, &x->room_sources, sizeof(*c->source));
	c->source[c->n_sources] = (struct bp_transform_source){
		.address = prefix, .rule = rule, .first = c->n_receivers};
	return &c->source[c->n_sources++];
}

struct bp_transform_receiver *xform_receiver(struct transform_rig *x, double mark)
{
	struct bp_transform_config *c = &x->file;
	struct bp_transform_receiver *r;

	c->receiver = grown(c->receiver, c->n_receivers, &x->room_receivers, sizeof(*c->receiver));
	r = &c->receiver[c->n_receivers++];
	*r = (struct bp_transform_receiver){.flags = BP_TRANSFORM_MATRIX};
	xform_matrix(mark, r->m);
	c->source[c->n_sources - 1].n++;
	return r;
}

void xform_matrix(double mark, double m[12])
{
	for (unsigned i = 0; i < 12; i++)
		m[i] = mark + (i % 4 == 0 && i < 9 ? 1e6 : i);
}

double xform_mark(const double m[12])
{
	const double mark = m[9] - 9;
	double same[12];

	xform_matrix(mark, same);
	for (unsigned i = 0; i < 12; i++)
		if (m[i] != same[i])
			return -1;
	return mark;
}

struct bp_prefix xform_prefix4(uint32_t address, unsigned length)
{
	const uint32_t be = htobe32(address);

	return bp_prefix_of(bp_address4((const uint8_t *)&be), length);
}

struct bp_prefix xform_prefix6(uint64_t high, uint64_t low, unsigned length)
{
	const uint64_t be[2] = {htobe64(high), htobe64(low)};

	return bp_prefix_of(bp_address6((const uint8_t *)be), length);
}

struct bp_transform_view xform_view(const struct transform_rig *x)
{
	return bp_transform_view_of(&x->t, atomic_load(&x->t.head->active));
}

int xform_load(struct transform_rig *x)
{
	const uint64_t next = bp_generation_next(&x->t.generation);
	const struct bp_transform_view old = xform_view(x);
	int rc = bp_transform_build(bp_transform_bank_at(&x->t, next), x->t.matrices, &x->file,
		bp_config_ports_key(x->c), &old, next >> 1, 0x1234567 * (next >> 1),
		&x->t.head->next_uid, 1, err, sizeof(err));

	if (rc == 0)
		bp_generation_publish(&x->t.generation, next);
	return rc;
}

const char *xform_error(void)
{
	return err;
}

uint64_t xform_row(const struct transform_rig *x, unsigned rule, const struct bp_prefix *p,
	unsigned receiver, double *mark)
{
	const struct bp_transform_view v = xform_view(x);
	const uint32_t s = bp_transform_find(&v, rule, p);
	double m[12];
	uint64_t state;

	assert_int_not_equal(s, UINT32_MAX);
	assert_true(receiver < v.source[s].n);
	state = bp_transform_row_read(&v.row[v.source[s].first + receiver], m);
	if (mark != NULL)
		*mark = xform_mark(m);
	return state;
}
