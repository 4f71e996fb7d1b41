/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/transform/settings.h"
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/transform/transform_rig.h"
#include "config/segment.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ONE 33554432.0 /* 25 bits of fraction */

struct bp_transform_rule x_rule(unsigned port, uint16_t udp)
{
	return (struct bp_transform_rule){.layout = bp_transform_layout_kunze2021,
		.otherwise = {.flags = 0},
		.udp = udp,
		.port = (uint8_t)port,
		.method = BP_TRANSFORM_VECTOR,
		.drop_unknown = true};
}

struct bp_transform_receiver x_receiver(const char *address, uint16_t udp, double step)
{
	const double row[3][4] = {{-1, 0, 0, step}, {0, -1, 0, 2 * step}, {0, 0, 1, 3 * step}};
	struct bp_transform_receiver r = {.flags = 0};

	if (address != NULL) {
		const bool six = strchr(address, ':') != NULL;

		assert_int_equal(inet_pton(six ? AF_INET6 : AF_INET, address, r.address), 1);
		r.family = six ? 6 : 4;
		r.flags |= BP_TRANSFORM_ADDRESS;
	}
	if (udp != 0) {
		r.udp = udp;
		r.flags |= BP_TRANSFORM_UDP;
	}
	memcpy(r.m, bp_transform_identity, sizeof(r.m));
	if (step != 0) {
		bp_transform_matrix_from_rows(row, r.m);
		r.flags |= BP_TRANSFORM_MATRIX;
	}
	return r;
}

unsigned x_add_rule(struct bp_transform_config *c, const struct bp_transform_rule *r)
{
	c->rule[c->n_rules] = *r;
	return c->n_rules++;
}

static struct bp_prefix prefix_of(const char *text)
{
	struct bp_address a = {.family = strchr(text, ':') != NULL ? 6 : 4};
	char address[64];
	unsigned length;

	assert_int_equal(sscanf(text, "%63[^/]/%u", address, &length), 2);
	assert_int_equal(inet_pton(a.family == 6 ? AF_INET6 : AF_INET, address, a.bytes), 1);
	return bp_prefix_of(a, length);
}

void x_add_source(struct bp_transform_config *c, const char *prefix,
	const struct bp_transform_receiver *receivers, unsigned n)
{
	c->source = realloc(c->source, (c->n_sources + 1) * sizeof(*c->source));
	c->receiver = realloc(c->receiver, (c->n_receivers + n + 1) * sizeof(*c->receiver));
	assert_non_null(c->source);
	assert_non_null(c->receiver);
	c->source[c->n_sources++] = (struct bp_transform_source){.address = prefix_of(prefix),
		.rule = c->n_rules - 1,
		.first = c->n_receivers,
		.n = n};
	for (unsigned i = 0; i < n; i++)
		c->receiver[c->n_receivers++] = receivers[i];
}

void x_clear(struct xrig *x)
{
	free(x->file.source);
	free(x->file.receiver);
	memset(&x->file, 0, sizeof(x->file));
}

static void copy_file(const struct bp_transform_config *from, struct bp_transform_config *to)
{
	*to = *from;
	to->source = calloc(from->n_sources + 1, sizeof(*to->source));
	to->receiver = calloc(from->n_receivers + 1, sizeof(*to->receiver));
	assert_non_null(to->source);
	assert_non_null(to->receiver);
	for (unsigned i = 0; i < from->n_sources; i++)
		to->source[i] = from->source[i];
	for (unsigned i = 0; i < from->n_receivers; i++)
		to->receiver[i] = from->receiver[i];
}

static void put_file(struct bp_config *c, void *arg)
{
	const struct xrig *x = arg;

	struct bp_config_transform *transform = bp_config_transform_set(c);

	copy_file(&x->file, &transform->entries);
	transform->max_matrices = X_MATRICES;
}

void x_reload(struct xrig *x, bool other_ports)
{
	const struct bp_transform_tables *t = &x->r.shm.transform;
	const uint64_t generation = ++x->generation, next = generation << 1 | (generation & 1);
	struct bp_transform_bank *bank = bp_transform_bank_at(t, next);
	char err[256] = "";

	if (bp_transform_build(bank, t->matrices, &x->file, bp_config_ports_key(x->r.config),
		    &x->view, x->generation, 0x1234, &t->head->next_uid, 1, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	if (other_ports)
		bank->ports++;
	atomic_store(&t->head->active, next);
	x->view = bp_transform_view_of(t, next);
}

void x_set(struct xrig *x, unsigned rule, const char *prefix, unsigned receiver, const double m[12])
{
	const struct bp_prefix p = prefix_of(prefix);

	assert_int_equal(bp_transform_set(&x->view, rule, &p, receiver, m, false,
				 &x->r.shm.transform.head->next_uid),
		BP_TRANSFORM_SET_DONE);
}

void x_start(struct xrig *x, const char *yaml, bool bare)
{
	bp_transform_methods_init();
	rig_start_changed(&x->r, yaml, put_file, x);
	x->view.bank = NULL;
	x->generation = 0;
	if (!bare)
		x_reload(x, false);
}

void x_stop(struct xrig *x)
{
	rig_stop(&x->r);
	x_clear(x);
}

static void put32(uint8_t *p, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (24 - 8 * i));
}

void x_payload(uint8_t p[X_READING], double radius, double phi, double theta)
{
	memset(p, 0, X_READING);
	put32(p, (uint32_t)(int32_t)floor(radius * ONE));
	put32(p + 4, (uint32_t)floor(phi * ONE));
	put32(p + 8, (uint32_t)floor(theta * ONE));
	for (unsigned i = 24; i < X_READING; i++)
		p[i] = (uint8_t)(i * 7); /* time stamps, which are kept */
}

void x_outputs(const uint8_t *payload, double xyz[3])
{
	for (unsigned i = 0; i < 3; i++) {
		const uint8_t *p = payload + 12 + (size_t)4 * i;
		const uint32_t v =
			(uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];

		xyz[i] = (int32_t)v / ONE;
	}
}

static uint8_t payloads[64][X_READING];

struct udp x_reading(unsigned i)
{
	struct udp u = {.src = "10.0.0.5",
		.dst = "10.1.0.1",
		.payload = payloads[i % 64],
		.len = X_READING,
		.sport = 40000,
		.dport = 10000,
		.src_mac = 1,
		.dst_mac = 2,
		.hops = 64};

	x_payload(payloads[i % 64], i % 50 + 1, 0, 0);
	return u;
}

struct udp x_result(unsigned i, const struct bp_transform_receiver *to)
{
	static uint8_t result[64][X_READING];
	static char address[64][INET6_ADDRSTRLEN];
	static unsigned next;
	const unsigned at = next++ % 64;
	struct udp u = x_reading(i);

	/* theta is 0: all of the radius is along z */
	memcpy(result[at], u.payload, X_READING);
	for (unsigned c = 0; c < 3; c++) {
		const double moved = (c == 2 ? i % 50 + 1.0 : 0) * to->m[6 + c] + to->m[9 + c];

		put32(result[at] + 12 + (size_t)4 * c, (uint32_t)(int32_t)lrint(moved * ONE));
	}
	u.payload = result[at];
	if (to->flags & BP_TRANSFORM_REFLECT) {
		u.dst = u.src;
		u.src = "10.1.0.1";
		u.sport = u.dport;
		u.src_mac = 2;
		u.dst_mac = 1;
		u.hops = 63; /* one less than the reading has */
	} else if (to->flags & BP_TRANSFORM_ADDRESS) {
		assert_non_null(inet_ntop(to->family == 4 ? AF_INET : AF_INET6, to->address,
			address[at], sizeof(address[at])));
		u.dst = address[at];
	}
	if (to->flags & BP_TRANSFORM_UDP)
		u.dport = to->udp;
	if (to->flags & BP_TRANSFORM_MAC)
		u.dst_mac = to->mac[5];
	return u;
}
