/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/transform/packets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/cli.h"

/* All numbers of one type, side by side. */
static struct bp_transform_layout of_type(uint8_t type, uint8_t fraction)
{
	const unsigned size = bp_transform_type_size(type);
	struct bp_transform_layout l = {0};

	for (unsigned i = 0; i < 3; i++) {
		l.in[i] = (struct bp_transform_field){(uint16_t)(i * size), type, fraction};
		l.out[i] = (struct bp_transform_field){(uint16_t)((3 + i) * size), type, fraction};
	}
	return l;
}

static bool named(const char *name, struct bp_transform_layout *l)
{
	uint64_t fraction;

	if (strcmp(name, "kunze2021") == 0 || strcmp(name, "kunze2021_timed") == 0)
		*l = bp_transform_layout_kunze2021;
	else if (strcmp(name, "float32") == 0)
		*l = of_type(BP_TRANSFORM_FLOAT32, 0);
	else if (strcmp(name, "float64") == 0)
		*l = of_type(BP_TRANSFORM_FLOAT64, 0);
	else if (strncmp(name, "fixed32:", 8) == 0 && bp_cli_number(name + 8, 0, 31, &fraction))
		*l = of_type(BP_TRANSFORM_FIXED32, (uint8_t)fraction);
	else
		return false;
	return true;
}

void bp_packets_use(struct bp_packets *k, const struct bp_transform_layout *l, const char *name)
{
	const char *what;

	k->name = name;
	k->gateway = *l;
	/* as short as the fields permit, independent of the bytes that follow them in the
	 * gateway's layout */
	k->gateway.length = 0;
	if (!bp_transform_layout_finish(&k->gateway, &what))
		abort(); /* cannot happen: it was validated when it was created */
	k->tracker = k->receiver = k->gateway;
	memcpy(k->tracker.out, l->in, sizeof(l->in));
	memcpy(k->receiver.in, l->out, sizeof(l->out));
	k->receiver.cartesian = true;
	k->receiver.degrees = false;
	k->tracker.kunze2021 = k->receiver.kunze2021 = false;
}

bool bp_packets_layout(struct bp_packets *k, const char *name, bool cartesian)
{
	struct bp_transform_layout l;

	if (!named(name, &l))
		return false;
	/* The packet of the paper holds angles without a sign; a coordinate has one. */
	for (unsigned i = 0; cartesian && i < 3; i++)
		if (l.in[i].type == BP_TRANSFORM_UFIXED32)
			l.in[i].type = BP_TRANSFORM_FIXED32;
	l.cartesian = cartesian;
	bp_packets_use(k, &l, name);
	return true;
}

/* The factor from an input of the points to its value in the packet. */
static double unit(const struct bp_packets *k, unsigned input)
{
	if (k->gateway.cartesian || input == 0 || k->degrees == k->gateway.degrees)
		return 1;
	return k->degrees ? M_PI / 180 : 180 / M_PI;
}

unsigned bp_packets_send(const struct bp_packets *k, struct bp_burst *burst, unsigned i)
{
	struct bp_transform_points p = {0};
	unsigned beyond;

	memset(burst->packet[i], 0, k->gateway.length);
	for (unsigned c = 0; c < 3; c++) {
		const struct bp_transform_field *f = &k->gateway.in[c];
		const double given = burst->given[i][c];

		burst->meant[i][c] = given;
		if (k->degrees && !k->gateway.cartesian && c != 0)
			burst->meant[i][c] *= M_PI / 180;
		p.v[c][0] = given * unit(k, c);
		if (f->type == BP_TRANSFORM_FIXED32 || f->type == BP_TRANSFORM_UFIXED32)
			p.v[c][0] = ldexp(floor(ldexp(p.v[c][0], f->fraction)), -f->fraction);
	}
	beyond = bp_transform_layout_write(&k->tracker, burst->packet[i], &p, 0);
	if (beyond == 0 &&
		bp_transform_layout_read(&k->gateway, burst->packet[i], &p, 0) != BP_TRANSFORM_GOOD)
		beyond = 8;
	for (unsigned c = 0; c < 3; c++)
		burst->sent[i][c] = p.v[c][0];
	return beyond;
}

void bp_packets_compute(const struct bp_packets *k, const struct bp_transform_ops *ops,
	const struct bp_burst *burst, struct bp_results *results)
{
	static uint8_t packet[BP_TRANSFORM_BURST][BP_PACKETS_BYTES];
	const double *matrix[BP_TRANSFORM_BURST];
	uint8_t *payload[BP_TRANSFORM_BURST], bad[BP_TRANSFORM_BURST];
	struct bp_transform_points p;

	for (unsigned i = 0; i < burst->n; i++) {
		memcpy(packet[i], burst->packet[i], k->gateway.length);
		payload[i] = packet[i];
		matrix[i] = k->m;
	}
	bp_transform_layout_read_all(
		&k->gateway, (const uint8_t *const *)payload, burst->n, &p, bad);
	if (!k->gateway.cartesian)
		ops->to_cartesian(&p, burst->n);
	if (k->with_matrix)
		ops->affine(&p, matrix, burst->n);
	bp_transform_layout_write_all(&k->gateway, payload, burst->n, &p, results->saturated);
	bp_transform_layout_read_all(
		&k->receiver, (const uint8_t *const *)payload, burst->n, &p, bad);
	for (unsigned i = 0; i < burst->n; i++)
		for (unsigned c = 0; c < 3; c++)
			results->v[i][c] = p.v[c][i];
}

void bp_packets_range(const struct bp_packets *k, unsigned input, double *min, double *max)
{
	struct bp_transform_layout l = k->tracker; /* reads its own output */
	double *const ends[] = {min, max};

	l.cartesian = true;
	l.degrees = false;
	for (unsigned end = 0; end < 2; end++) {
		struct bp_transform_points p;
		uint8_t packet[BP_PACKETS_BYTES];

		for (unsigned c = 0; c < 3; c++)
			p.v[c][0] = end == 0 ? -INFINITY : INFINITY;
		bp_transform_layout_write(&l, packet, &p, 0);
		bp_transform_layout_read(&l, packet, &p, 0);
		*ends[end] = p.v[input][0] / unit(k, input);
	}
}
