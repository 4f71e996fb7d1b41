/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/mqtt/suback.h"

#include "biplane/counters/mqtt.h"
#include "services/mqtt/flow_memory.h"
#include "services/mqtt/packets.h"
#include "services/mqtt/stream.h"

/*
 * A topic filter that action blank refuses is another one for the broker, which accepts that. In
 * the SUBACK, its reason code is overwritten with one that says that the filter was refused, before
 * the code is forwarded: a SUBACK may be cut anywhere. The code has one byte, so nothing else of
 * the stream changes.
 *
 * Codes that were overwritten are kept until the client has acknowledged them, since the broker may
 * send its own again. A client that uses a packet identifier twice, or a broker that answers what
 * was not asked, changes reason codes of its own connection alone.
 */

#define REFUSED_V5 0x87 /* not authorized (MQTT 5.0, 3.9.3) */
#define REFUSED_V4 0x80 /* failure (MQTT 3.1.1, 3.9.3); MQTT 3.1 has no such code */

#define AWAITED_MAX 32u /* SUBACKs */
#define WRITTEN_MAX 32u /* of up to 64 bytes each */

struct subacks {
	uint32_t n_awaited, n_written;
	uint64_t refused[AWAITED_MAX];
	uint64_t written[WRITTEN_MAX]; /* bit i: the byte at seq + i */
	uint32_t seq[WRITTEN_MAX];
	uint16_t id[AWAITED_MAX];
};

static struct subacks *at(const struct bp_mqtt_worker *in, const struct bp_flow *f)
{
	return (struct subacks *)(void *)bp_reassembly_data(
		in->reassembly, *bp_judged_subacks(in, f));
}

static void count_unchanged(const struct bp_mqtt_worker *in, uint64_t refused)
{
	in->counters->v[BP_C_POLICY_SUBACK_UNCHANGED] += (uint64_t)__builtin_popcountll(refused);
}

static uint32_t find(const struct subacks *s, uint16_t id)
{
	uint32_t i = 0;

	while (i < s->n_awaited && s->id[i] != id)
		i++;
	return i;
}

static void remove_awaited(struct subacks *s, uint32_t i)
{
	s->n_awaited--;
	s->id[i] = s->id[s->n_awaited];
	s->refused[i] = s->refused[s->n_awaited];
}

static void remove_written(struct subacks *s, uint32_t i)
{
	s->n_written--;
	s->seq[i] = s->seq[s->n_written];
	s->written[i] = s->written[s->n_written];
}

static void release_if_empty(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	if (at(in, f)->n_awaited == 0 && at(in, f)->n_written == 0)
		bp_suback_release(in, f);
}

/* NULL: no memory. */
static struct subacks *create(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	const bp_reassembly_ref ref = bp_flow_alloc(in, f, sizeof(struct subacks));
	struct subacks *s;

	if (ref == 0)
		return NULL;
	s = (struct subacks *)(void *)bp_reassembly_data(in->reassembly, ref);
	s->n_awaited = s->n_written = 0;
	*bp_judged_subacks(in, f) = ref;
	return s;
}

void bp_suback_await(struct bp_mqtt_worker *in, struct bp_flow *f, uint16_t id, uint64_t refused)
{
	struct subacks *s = NULL;
	uint32_t i;

	if (bp_suback_any(in, f)) {
		s = at(in, f);
		i = find(s, id);
		if (i < s->n_awaited) {
			count_unchanged(in, s->refused[i]);
			remove_awaited(s, i);
		}
	}
	if (refused == 0)
		return;
	if (s == NULL && bp_judged_any(f) && f->version >= BP_MQTT_V311)
		s = create(in, f);
	if (s == NULL || s->n_awaited == AWAITED_MAX) {
		count_unchanged(in, refused);
		return;
	}
	s->id[s->n_awaited] = id;
	s->refused[s->n_awaited] = refused;
	s->n_awaited++;
}

/* Where the reason codes begin, and the packet identifier. 0: not known yet. */
static uint32_t codes_at(const struct bp_mqtt_worker *in, const struct bp_flow *f, const uint8_t *p,
	uint32_t have, uint32_t *total, uint16_t *id)
{
	struct bp_mqtt_fixed fixed;
	uint32_t at, properties;
	uint8_t used;

	if (bp_packet_fixed(in, f, BP_FROM_BROKER, p, have, &fixed) != BP_MQTT_OK)
		return 0;
	*total = fixed.header_len + fixed.remaining;
	have = have < *total ? have : *total;
	at = fixed.header_len + 2;
	if (at > have)
		return 0;
	*id = bp_be16(p + at - 2);
	if (f->version != BP_MQTT_V5)
		return at;
	if (bp_mqtt_varint(p + at, have - at, &properties, &used) != BP_MQTT_OK)
		return 0;
	at += used;
	return properties <= *total - at ? at + properties : 0;
}

/* Keeps in mind that the byte at `seq` is overwritten. False: too many are. */
static bool note(struct subacks *s, uint32_t seq)
{
	uint32_t i = 0;

	while (i < s->n_written && seq - s->seq[i] >= 64)
		i++;
	if (i == WRITTEN_MAX)
		return false;
	if (i == s->n_written) {
		s->seq[i] = seq;
		s->written[i] = 1;
		s->n_written++;
	}
	s->written[i] |= (uint64_t)1 << (seq - s->seq[i]);
	return true;
}

static void put(const struct bp_mqtt_worker *in, const struct bp_flow *f, uint32_t at_payload)
{
	in->enforced->payload[at_payload] = f->version == BP_MQTT_V5 ? REFUSED_V5 : REFUSED_V4;
	in->enforced->changed = true;
}

/* The segment has the code at `seq`, unless it was forwarded before. */
static void overwrite_code(
	struct bp_mqtt_worker *in, const struct bp_flow *f, struct subacks *s, uint32_t seq)
{
	const struct bp_frame *frame = in->frame;

	if (in->enforced->payload == NULL || frame == NULL || frame->to_broker ||
		seq - frame->seq >= frame->payload_len || !note(s, seq)) {
		count_unchanged(in, 1);
		return;
	}
	put(in, f, seq - frame->seq);
	bp_tally(in, BP_C_POLICY_SUBACK_REFUSED);
}

void bp_suback_overwrite(struct bp_mqtt_worker *in, struct bp_flow *f, const uint8_t *p,
	uint32_t have, uint32_t from, uint32_t seq)
{
	struct subacks *s = at(in, f);
	uint32_t codes, total = 0, i, k;
	uint16_t id = 0;

	bp_journal_deepen(in->journal, f);
	codes = codes_at(in, f, p, have, &total, &id);
	i = find(s, id);
	if (codes == 0 || i == s->n_awaited)
		return;
	for (k = from > codes ? from - codes : 0; k < BP_SUBACK_FILTERS_MAX; k++) {
		if (codes + k >= have || codes + k >= total)
			break;
		/* the broker may have refused the filter itself */
		if ((s->refused[i] >> k & 1) && p[codes + k] < REFUSED_V4)
			overwrite_code(in, f, s, seq + (codes + k - from));
	}
	if (have < total)
		return;
	if (k < BP_SUBACK_FILTERS_MAX)
		count_unchanged(in, s->refused[i] >> k);
	remove_awaited(s, i);
	release_if_empty(in, f);
}

/* The broker's segment has the bytes [seq, seq + 64), or some of them. */
static void repeat(struct bp_mqtt_worker *in, const struct bp_flow *f, const struct bp_frame *frame,
	uint32_t seq, uint64_t written)
{
	for (; written != 0; written &= written - 1) {
		const uint32_t at_payload = seq + (uint32_t)__builtin_ctzll(written) - frame->seq;

		if (at_payload < frame->payload_len)
			put(in, f, at_payload);
	}
}

void bp_suback_segment(struct bp_mqtt_worker *in, struct bp_flow *f, const struct bp_frame *frame)
{
	struct subacks *s = at(in, f);

	for (uint32_t i = s->n_written; i-- != 0;) {
		const uint32_t last = s->seq[i] + 63 - (uint32_t)__builtin_clzll(s->written[i]);

		/* before other bytes have these numbers; after a restart, the stream is behind them
		 */
		if ((int32_t)(f->next[BP_FROM_BROKER] - s->seq[i]) > (int32_t)BP_SEQ_OUTSIDE ||
			(frame->to_broker && (int32_t)(frame->ack - last) > 0))
			remove_written(s, i);
		else if (!frame->to_broker && in->enforced->payload != NULL)
			repeat(in, f, frame, s->seq[i], s->written[i]);
	}
	/* a segment of the broker may still be read without a journal */
	if (frame->to_broker)
		release_if_empty(in, f);
}

void bp_suback_release(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	bp_reassembly_ref *ref = bp_judged_subacks(in, f);

	for (uint32_t i = 0; i < at(in, f)->n_awaited; i++)
		count_unchanged(in, at(in, f)->refused[i]);
	bp_flow_release(in, f, *ref);
	*ref = 0;
}

void bp_suback_adopt(struct bp_mqtt_worker *in, struct bp_flow *f)
{
	bp_reassembly_ref *ref = bp_judged_subacks(in, f);
	bool sound;

	if (*ref == 0)
		return;
	if (!bp_adopt_block(in, f, *ref, sizeof(struct subacks))) {
		*ref = 0;
		return;
	}
	sound = at(in, f)->n_awaited <= AWAITED_MAX && at(in, f)->n_written <= WRITTEN_MAX;
	for (uint32_t i = 0; sound && i < at(in, f)->n_written; i++)
		sound = at(in, f)->written[i] != 0;
	if (sound)
		return;
	bp_adopt_undo(in, f, *ref);
	*ref = 0;
}
