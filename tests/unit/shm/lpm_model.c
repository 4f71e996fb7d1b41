/* SPDX-License-Identifier: BSD-3-Clause */
/* shm/lpm.h and shm/lpm_writer.h as plainly as can be: a list of prefixes. */
#include <stdlib.h>
#include <string.h>
#include "shm/lpm.h"
#include "shm/lpm_writer.h"

struct one { struct bp_prefix p; uint32_t nexthop; bool refused; };
struct bp_lpm_writer { struct bp_fib *f; struct one *one; uint32_t n, cap, used; };
static struct bp_lpm_writer *last;

struct bp_lpm_writer *bp_lpm_writer_new(struct bp_fib *f, struct bp_epoch *e)
{
	struct bp_lpm_writer *w = calloc(1, sizeof(*w));
	w->f = f;
	last = w;
	return w;
}
void bp_lpm_writer_free(struct bp_lpm_writer *w) { if (last == w) last = NULL; free(w->one); free(w); }
static bool line(const struct bp_prefix *p) { return p->length > 24; }
static struct one *find(struct bp_lpm_writer *w, const struct bp_prefix *p)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (memcmp(&w->one[i].p, p, sizeof(*p)) == 0)
			return &w->one[i];
	return NULL;
}
static struct one *get(struct bp_lpm_writer *w, const struct bp_prefix *p)
{
	struct one *o = find(w, p);
	if (o)
		return o;
	if (w->n == w->cap)
		w->one = realloc(w->one, (w->cap = w->cap ? 2 * w->cap : 64) * sizeof(*w->one));
	o = &w->one[w->n++];
	memset(o, 0, sizeof(*o));
	o->p = *p;
	return o;
}
enum bp_fib_result bp_lpm_load(struct bp_lpm_writer *w, const struct bp_prefix *p, uint32_t nh)
{
	return bp_lpm_set(w, p, nh);
}
uint64_t bp_lpm_repair(struct bp_lpm_writer *w) { return 0; }
enum bp_fib_result bp_lpm_set(struct bp_lpm_writer *w, const struct bp_prefix *p, uint32_t nh)
{
	struct one *o = find(w, p);
	if (o && !o->refused && o->nexthop == nh)
		return BP_FIB_SAME;
	if (line(p) && (!o || o->refused) && w->used == w->f->max_lines) {
		bp_lpm_refuse(w, p);
		return BP_FIB_FULL;
	}
	w->used += line(p) && (!o || o->refused);
	o = get(w, p);
	o->nexthop = nh;
	o->refused = false;
	return BP_FIB_DONE;
}
enum bp_fib_result bp_lpm_delete(struct bp_lpm_writer *w, const struct bp_prefix *p)
{
	struct one *o = find(w, p);
	if (!o)
		return BP_FIB_ABSENT;
	w->used -= line(p) && !o->refused;
	*o = w->one[--w->n];
	return BP_FIB_DONE;
}
enum bp_fib_result bp_lpm_refuse(struct bp_lpm_writer *w, const struct bp_prefix *p)
{
	struct one *o = get(w, p);
	w->used -= line(p) && o->nexthop && !o->refused;
	o->refused = true;
	o->nexthop = BP_NH_PUNT;
	return BP_FIB_DONE;
}
bool bp_lpm_settle(struct bp_lpm_writer *w) { return false; }
uint32_t bp_lpm_free_lines(const struct bp_lpm_writer *w) { return w->f->max_lines - w->used; }
static uint32_t lookup(struct bp_address a)
{
	const struct one *best = NULL;
	for (uint32_t i = 0; last && i < last->n; i++) {
		const struct one *o = &last->one[i];
		struct bp_prefix p = bp_prefix_of(a, o->p.length <= bp_address_bits(a.family) ? o->p.length : 0);
		if (memcmp(&p, &o->p, sizeof(p)) == 0 && (!best || o->p.length > best->p.length))
			best = o;
	}
	return best ? best->nexthop : BP_NH_NONE;
}
void bp_lpm4_lookup(const struct bp_fib *f, const uint32_t *dst, uint32_t *nexthop, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint8_t b[4] = {(uint8_t)(dst[i] >> 24), (uint8_t)(dst[i] >> 16), (uint8_t)(dst[i] >> 8), (uint8_t)dst[i]};
		nexthop[i] = lookup(bp_address4(b));
	}
}
void bp_lpm6_lookup(const struct bp_fib *f, const uint8_t *const *dst, uint32_t *nexthop, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		nexthop[i] = lookup(bp_address6(dst[i]));
}
