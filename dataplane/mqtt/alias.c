/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/mqtt/inspector.h"

/*
 * Topic aliases of one direction of a connection (MQTT 5.0, 3.3.2.3.4): one arena block of records
 * {alias, length, topic}, searched from the front. Clients use a handful; a client that uses
 * thousands pays for it itself and stays within carry_per_flow.
 */
struct record {
	uint16_t alias;
	uint16_t len;
	uint8_t topic[];
};

static uint32_t record_size(uint32_t len)
{
	return (uint32_t)sizeof(struct record) + ((len + 1) & ~1u);
}

static struct record *find(struct bp_inspector *in, struct bp_flow *f, unsigned dir, uint16_t alias)
{
	uint8_t *base;

	if (f->aliases[dir] == 0)
		return NULL;
	base = bp_carry_data(in->carry, f->aliases[dir]);
	for (uint32_t at = 0; at < f->aliases_len[dir];) {
		struct record *r = (struct record *)(void *)(base + at);

		if (r->alias == alias)
			return r;
		at += record_size(r->len);
	}
	return NULL;
}

static void erase(struct bp_inspector *in, struct bp_flow *f, unsigned dir, struct record *r)
{
	uint8_t *base = bp_carry_data(in->carry, f->aliases[dir]);
	uint32_t at = (uint32_t)((uint8_t *)r - base), size = record_size(r->len);

	memmove(r, (uint8_t *)r + size, f->aliases_len[dir] - at - size);
	f->aliases_len[dir] -= size;
}

static bool reserve(struct bp_inspector *in, struct bp_flow *f, unsigned dir, uint32_t more)
{
	uint64_t need = (uint64_t)f->aliases_len[dir] + more;

	if (f->aliases[dir] != 0 && bp_carry_size(in->carry, f->aliases[dir]) >= need)
		return true;
	return bp_flow_grow(in, f, &f->aliases[dir], f->aliases_len[dir], need, need);
}

static void keep(struct bp_inspector *in, struct bp_flow *f, unsigned dir, uint16_t alias,
	const uint8_t *topic, uint16_t len)
{
	struct record *r = find(in, f, dir, alias);

	if (r != NULL && r->len == len) {
		memcpy(r->topic, topic, len);
		return;
	}
	if (r != NULL)
		erase(in, f, dir, r);
	if (!reserve(in, f, dir, record_size(len))) {
		bp_tally(in, BP_C_ALIAS_NO_ROOM);
		return;
	}
	r = (struct record *)(void *)(bp_carry_data(in->carry, f->aliases[dir]) +
				      f->aliases_len[dir]);
	r->alias = alias;
	r->len = len;
	memcpy(r->topic, topic, len);
	f->aliases_len[dir] += record_size(len);
}

enum bp_alias bp_alias_use(struct bp_inspector *in, struct bp_flow *f, unsigned dir, uint16_t alias,
	const uint8_t **topic, uint16_t *len)
{
	const struct record *r;

	/* the limit is known once the peer's CONNECT or CONNACK was read */
	if (f->has_alias_max[dir] && alias > f->alias_max[dir])
		return BP_ALIAS_BAD;
	if (*len != 0) {
		keep(in, f, dir, alias, *topic, *len);
		return BP_ALIAS_OK;
	}
	r = find(in, f, dir, alias);
	if (r == NULL)
		return BP_ALIAS_UNMAPPED;
	*topic = r->topic;
	*len = r->len;
	return BP_ALIAS_OK;
}

void bp_alias_forget(struct bp_inspector *in, struct bp_flow *f, unsigned dir)
{
	bp_flow_release(in, f, f->aliases[dir]);
	f->aliases[dir] = 0;
	f->aliases_len[dir] = 0;
}
