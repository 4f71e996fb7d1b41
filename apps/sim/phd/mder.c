/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/phd/mder.h"

#include <string.h>

void sim_put(struct sim_out *o, const void *p, size_t len)
{
	if (o->full || len > o->size - o->len) {
		o->full = true;
		return;
	}
	memcpy(o->p + o->len, p, len);
	o->len += len;
}

void sim_put_u8(struct sim_out *o, uint8_t v)
{
	sim_put(o, &v, 1);
}

void sim_put_u16(struct sim_out *o, uint16_t v)
{
	const uint8_t bytes[] = {(uint8_t)(v >> 8), (uint8_t)v};

	sim_put(o, bytes, sizeof(bytes));
}

void sim_put_u32(struct sim_out *o, uint32_t v)
{
	sim_put_u16(o, (uint16_t)(v >> 16));
	sim_put_u16(o, (uint16_t)v);
}

size_t sim_open(struct sim_out *o)
{
	size_t at = o->len;

	sim_put_u16(o, 0);
	return at;
}

void sim_close(struct sim_out *o, size_t opened)
{
	size_t counted;

	if (o->full)
		return;
	counted = o->len - opened - 2;
	if (counted > UINT16_MAX) {
		o->full = true;
		return;
	}
	o->p[opened] = (uint8_t)(counted >> 8);
	o->p[opened + 1] = (uint8_t)counted;
}

size_t sim_open_list(struct sim_out *o, size_t entries)
{
	sim_put_u16(o, (uint16_t)entries);
	return sim_open(o);
}

struct sim_in sim_take(struct sim_in *i, size_t len)
{
	struct sim_in part = {i->p, len, i->bad};

	if (len > i->len) {
		i->bad = true;
		return (struct sim_in){i->p, 0, true};
	}
	i->p += len;
	i->len -= len;
	return part;
}

uint16_t sim_take_u16(struct sim_in *i)
{
	struct sim_in two = sim_take(i, 2);

	return two.bad ? 0 : (uint16_t)(two.p[0] << 8 | two.p[1]);
}

uint32_t sim_take_u32(struct sim_in *i)
{
	uint32_t high = sim_take_u16(i);

	return high << 16 | sim_take_u16(i);
}
