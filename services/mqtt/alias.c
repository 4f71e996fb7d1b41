/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/counters/mqtt.h"
#include "services/mqtt/flow_memory.h"
#include "services/mqtt/mqtt_worker.h"
#include "services/mqtt/peek.h"
#include "services/mqtt/publications.h"

/*
 * Topic aliases of one direction of a connection (MQTT 5.0, 3.3.2.3.4): a table of references,
 * indexed by the alias, and a block for each topic. The cost of a lookup is constant. The table
 * grows up to the smaller one of the receiver's limit and mqtt.max_topic_aliases; a mapping beyond
 * that limit, or without memory, is not kept, and its use is not inspected.
 */
struct topic {
	uint64_t hash; /* so that a use does not read the text, which may be 64 KiB */
	uint16_t len;
	uint8_t filed; /* see bp_alias_file() */
	uint8_t text[];
};

static bp_reassembly_ref *table(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir)
{
	return (bp_reassembly_ref *)(void *)bp_reassembly_data(in->reassembly, f->aliases[dir]);
}

static struct topic *topic_at(const struct bp_mqtt_worker *in, bp_reassembly_ref ref)
{
	return (struct topic *)(void *)bp_reassembly_data(in->reassembly, ref);
}

/* The topic of the alias; 0: none. */
static bp_reassembly_ref find(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir, uint16_t alias)
{
	return alias <= f->n_aliases[dir] ? table(in, f, dir)[alias - 1] : 0;
}

/* Extends the table up to the alias. */
static bool reach(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint16_t alias)
{
	uint32_t have = f->n_aliases[dir], size = sizeof(bp_reassembly_ref), fit;

	if (alias <= have)
		return true;
	if (!bp_flow_grow(in, f, &f->aliases[dir], have * size, alias * size, alias * size))
		return false;
	fit = (uint32_t)bp_reassembly_size(in->reassembly, f->aliases[dir]) / size;
	f->n_aliases[dir] = (uint16_t)(fit < UINT16_MAX ? fit : UINT16_MAX);
	memset(table(in, f, dir) + have, 0, (f->n_aliases[dir] - have) * size);
	return true;
}

static void discard_one(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint16_t alias)
{
	bp_reassembly_ref ref = find(in, f, dir, alias);

	if (ref == 0)
		return;
	table(in, f, dir)[alias - 1] = 0;
	bp_flow_release(in, f, ref);
}

/* A mapping that cannot be kept also deletes the former one. */
static void keep(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint16_t alias,
	const uint8_t *text, uint16_t len, uint64_t hash)
{
	uint32_t need = (uint32_t)sizeof(struct topic) + len;
	bp_reassembly_ref ref = find(in, f, dir, alias);
	struct topic *t;

	if (ref != 0 && topic_at(in, ref)->hash == hash) {
		topic_at(in, ref)->filed = 0;
		return;
	}
	if (ref != 0)
		f->session |= BP_SESSION_ALIAS_CHANGED;
	if (ref == 0 || bp_reassembly_size(in->reassembly, ref) < need) {
		discard_one(in, f, dir, alias);
		ref = reach(in, f, dir, alias) ? bp_flow_alloc(in, f, need) : 0;
		if (ref == 0) {
			f->session |= BP_SESSION_ALIASES_LOST;
			bp_tally(in, BP_C_ALIAS_NO_MEMORY);
			return;
		}
		table(in, f, dir)[alias - 1] = ref;
	}
	t = topic_at(in, ref);
	t->hash = hash;
	t->len = len;
	t->filed = 0;
	memcpy(t->text, text, len);
}

/*
 * Whether a mapping may be kept. The limit of the receiver is unknown before the CONNACK: a client
 * that sends aliases earlier violates it. It remains unknown if the CONNACK was missed.
 */
static bool may_keep(
	struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir, uint16_t alias)
{
	if (!(f->flags & (BP_FLOW_CONNACK | BP_FLOW_MIDWAY))) {
		bp_tally(in, BP_C_ALIAS_BEFORE_CONNACK);
		return false;
	}
	if (alias > in->max_aliases) {
		bp_tally(in, BP_C_ALIAS_OVER_MAX);
		return false;
	}
	return true;
}

enum bp_alias bp_alias_use(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir,
	struct bp_mqtt_publish *p, uint64_t *hash)
{
	const struct topic *t;
	bp_reassembly_ref ref;

	if ((f->has_alias_max & 1 << dir) && p->alias > f->alias_max[dir])
		return BP_ALIAS_BAD;
	if (p->topic_len != 0) {
		*hash = bp_topic_hash(in, p->topic, p->topic_len);
		if (may_keep(in, f, dir, p->alias))
			keep(in, f, dir, p->alias, p->topic, p->topic_len, *hash);
		else
			f->session |= BP_SESSION_ALIASES_LOST;
		return BP_ALIAS_OK;
	}
	ref = find(in, f, dir, p->alias);
	/* an alias without a mapping is a protocol error, unless the mapping may have been missed
	 * (3.3.4) */
	if (ref == 0)
		return dir == BP_TO_BROKER && (f->flags & BP_FLOW_CONNECT) &&
				       !(f->session & BP_SESSION_ALIASES_LOST)
			       ? BP_ALIAS_BAD
			       : BP_ALIAS_UNMAPPED;
	t = topic_at(in, ref);
	p->topic = t->text;
	p->topic_len = t->len;
	*hash = t->hash;
	return BP_ALIAS_OK;
}

void bp_alias_file(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_mqtt_publish *p)
{
	const bp_reassembly_ref ref = p->alias != 0 ? find(in, f, BP_TO_BROKER, p->alias) : 0;

	if (ref != 0)
		topic_at(in, ref)->filed = 1;
}

bool bp_alias_is_filed(
	const struct bp_mqtt_worker *in, const struct bp_flow *f, const struct bp_mqtt_publish *p)
{
	const bp_reassembly_ref ref = p->alias != 0 ? find(in, f, BP_TO_BROKER, p->alias) : 0;

	return ref != 0 && topic_at(in, ref)->filed && p->topic == topic_at(in, ref)->text;
}

bool bp_alias_topic(const struct bp_mqtt_worker *in, const struct bp_flow *f, unsigned dir,
	struct bp_mqtt_publish *p)
{
	const bp_reassembly_ref ref = find(in, f, dir, p->alias);

	if (ref == 0)
		return false;
	p->topic = topic_at(in, ref)->text;
	p->topic_len = topic_at(in, ref)->len;
	return true;
}

void bp_alias_restore(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint16_t alias,
	const uint8_t *topic, uint16_t len)
{
	if (alias <= in->max_aliases)
		keep(in, f, dir, alias, topic, len, bp_topic_hash(in, topic, len));
	else
		f->session |= BP_SESSION_ALIASES_LOST;
}

void bp_alias_discard_one(
	struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir, uint16_t alias)
{
	f->session |= BP_SESSION_ALIASES_LOST;
	discard_one(in, f, dir, alias);
}

/* Copies one topic to text[0..*left). False: it is invalid, or does not fit, or is not that of the
 * broker. */
static bool peek_topic(const struct bp_arena *a, const uint64_t key[2], bp_reassembly_ref ref,
	struct bp_record_alias *out, uint8_t *text, size_t left)
{
	struct topic head;
	uint64_t n;

	if (bp_reassembly_peek(a->memory, a->bytes, ref, &head, sizeof(head)) < sizeof(head) ||
		head.len == 0 || head.filed || left < sizeof(head) + head.len)
		return false;
	n = bp_reassembly_peek(a->memory, a->bytes, ref, text, sizeof(head) + head.len);
	out->topic = text + offsetof(struct topic, text);
	out->topic_len = head.len;
	/* the hash shows a torn copy */
	return n == sizeof(head) + head.len &&
	       bp_topic_hash_by(key, out->topic, head.len) == head.hash;
}

uint16_t bp_alias_peek(const struct bp_arena *a, const uint64_t key[2], const struct bp_flow *f,
	unsigned dir, struct bp_alias_peeked *out)
{
	const uint32_t n =
		f->n_aliases[dir] < BP_ALIASES_PEEKED ? f->n_aliases[dir] : BP_ALIASES_PEEKED;
	bp_reassembly_ref ref[BP_ALIASES_PEEKED];
	uint64_t bytes =
		bp_reassembly_peek(a->memory, a->bytes, f->aliases[dir], ref, n * sizeof(ref[0]));
	size_t used = 0;
	uint16_t have = 0;

	out->all = n == f->n_aliases[dir] && bytes == n * sizeof(ref[0]);
	for (uint32_t i = 0; i < bytes / sizeof(ref[0]); i++) {
		if (ref[i] == 0)
			continue;
		if (!peek_topic(a, key, ref[i], &out->alias[have], out->text + used,
			    sizeof(out->text) - used)) {
			out->all = false;
			continue;
		}
		out->alias[have].alias = (uint16_t)(i + 1);
		used += offsetof(struct topic, text) + out->alias[have++].topic_len;
		used = (used + 7) & ~(size_t)7;
		if (used > sizeof(out->text))
			used = sizeof(out->text);
	}
	return have;
}

void bp_alias_discard(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	f->session |= BP_SESSION_ALIASES_LOST;
	for (uint32_t alias = 1; alias <= f->n_aliases[dir]; alias++)
		discard_one(in, f, dir, (uint16_t)alias);
	bp_flow_release(in, f, f->aliases[dir]);
	f->aliases[dir] = 0;
	f->n_aliases[dir] = 0;
}

/* The text is stored with its hash, which detects an incomplete write of a killed process. */
static bool topic_sound(const struct bp_mqtt_worker *in, bp_reassembly_ref ref)
{
	const struct topic *t = topic_at(in, ref);

	return t->len != 0 && sizeof(*t) + t->len <= bp_reassembly_size(in->reassembly, ref) &&
	       t->hash == bp_topic_hash(in, t->text, t->len);
}

bool bp_alias_adopt(struct bp_mqtt_worker *in, struct bp_flow *f, unsigned dir)
{
	const uint64_t bytes = f->n_aliases[dir] * sizeof(bp_reassembly_ref);
	bp_reassembly_ref *entry;

	if (bytes == 0 || !bp_adopt_block(in, f, f->aliases[dir], bytes))
		return false;
	entry = table(in, f, dir);
	for (uint32_t i = 0; i < f->n_aliases[dir]; i++) {
		if (!bp_adopt_block(in, f, entry[i], sizeof(struct topic))) {
			entry[i] = 0;
		} else if (!topic_sound(in, entry[i])) {
			bp_adopt_undo(in, f, entry[i]);
			entry[i] = 0;
		}
	}
	return true;
}
