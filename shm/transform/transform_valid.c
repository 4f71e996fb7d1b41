/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "shm/transform/transform_writer.h"

/* A bool from another process may be any byte, and reading an invalid one is undefined
 * behaviour. */
static bool is_bool(const bool *b)
{
	uint8_t byte;

	memcpy(&byte, b, sizeof(byte));
	return byte <= 1;
}

static bool field_valid(const struct bp_transform_field *f, unsigned length)
{
	const unsigned bytes = f->type == BP_TRANSFORM_FLOAT64 ? 8 : 4;

	return f->type < BP_TRANSFORM_TYPES && f->fraction <= 31 && f->offset + bytes <= length;
}

static bool layout_valid(const struct bp_transform_layout *l)
{
	for (unsigned i = 0; i < 3; i++) {
		if (!field_valid(&l->in[i], l->length) || !field_valid(&l->out[i], l->length))
			return false;
	}
	/* one load: six adjacent numbers of four bytes, in this order */
	for (unsigned i = 0; is_bool(&l->kunze2021) && l->kunze2021 && i < 3; i++) {
		if (l->in[i].offset != l->in[0].offset + 4 * i ||
			l->out[i].offset != l->in[0].offset + 12 + 4 * i)
			return false;
	}
	return is_bool(&l->cartesian) && is_bool(&l->little_endian) && is_bool(&l->degrees) &&
	       is_bool(&l->kunze2021);
}

static bool lengths_valid(const struct bp_transform_rule_row *r)
{
	for (unsigned f = 0; f < 2; f++) {
		const unsigned n = atomic_load(&r->n_lengths[f]);

		if (n > BP_TRANSFORM_LENGTHS_MAX)
			return false;
		for (unsigned i = 0; i < n; i++) {
			if (atomic_load(&r->length[f][i]) > bp_address_bits(f == 0 ? 4 : 6))
				return false;
		}
	}
	return true;
}

static bool prefix_valid(const struct bp_prefix *p)
{
	return p->family == 0 ||
	       ((p->family == 4 || p->family == 6) && p->length <= bp_address_bits(p->family));
}

static bool rules_valid(const struct bp_transform_bank *bank)
{
	const uint32_t n_rows = atomic_load(&bank->n_rows);

	for (uint32_t i = 0; i < bank->n_rules; i++) {
		const struct bp_transform_rule_row *r = &bank->rule[i];
		const struct bp_transform_rule *rule = &r->rule;

		if (r->otherwise >= n_rows || rule->port >= BP_MAX_PORTS ||
			rule->method >= BP_TRANSFORM_METHODS || !prefix_valid(&rule->to) ||
			!is_bool(&rule->drop_unknown) || !is_bool(&rule->drop_overflow) ||
			!is_bool(&rule->allow_singular) || !is_bool(&rule->loader) ||
			!layout_valid(&rule->layout) || !lengths_valid(r))
			return false;
	}
	return true;
}

/* Checks the slots before the sources, and the sources before the rows: in a growing table, the
 * referenced elements are written first. */
static bool slots_valid(const struct bp_transform_view *v)
{
	const uint64_t n = (uint64_t)v->bank->buckets * BP_TRANSFORM_WAYS;
	uint32_t most = 0;

	for (uint64_t i = 0; i < n; i++) {
		const uint64_t e = atomic_load_explicit(&v->slot[i], memory_order_acquire);

		if (e == 0)
			continue;
		if ((uint32_t)e == 0)
			return false;
		most = (uint32_t)e > most ? (uint32_t)e : most;
	}
	return most <= atomic_load_explicit(&v->bank->n_sources, memory_order_acquire);
}

static bool sources_valid(const struct bp_transform_view *v, uint32_t n)
{
	const uint32_t n_rows = atomic_load_explicit(&v->bank->n_rows, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++) {
		const struct bp_transform_source_row *s = &v->source[i];

		if ((s->family != 4 && s->family != 6) || s->length > bp_address_bits(s->family) ||
			s->rule >= v->bank->n_rules || s->n == 0 ||
			s->n > BP_TRANSFORM_RECEIVERS_MAX || s->first > n_rows ||
			s->n > n_rows - s->first)
			return false;
	}
	return true;
}

bool bp_transform_rules_valid(const struct bp_transform_bank *bank, uint32_t matrices)
{
	return bank->generation != 0 && bank->n_rules <= BP_TRANSFORM_RULES_MAX &&
	       bank->sources == matrices && bank->rows == matrices + BP_TRANSFORM_RULES_MAX &&
	       bank->buckets == bp_transform_places(matrices).buckets &&
	       atomic_load(&bank->n_sources) <= bank->sources &&
	       atomic_load(&bank->n_rows) <= bank->rows && rules_valid(bank);
}

bool bp_transform_valid(const struct bp_transform_bank *bank, uint32_t matrices)
{
	const struct bp_transform_view v = bp_transform_view_at(bank, matrices);

	return bp_transform_rules_valid(bank, matrices) && slots_valid(&v) &&
	       sources_valid(&v, atomic_load_explicit(&bank->n_sources, memory_order_acquire));
}
