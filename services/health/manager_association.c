/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "services/health/manager_internal.h"

/* Associations begin and end here: ISO/IEEE 11073-20601 clause 8.7, annex A.8. */

#define ASSOCIATION_VERSION 0x80000000u
#define PROTOCOL_20601 0x80000000u
#define PROTOCOL_20601A 0x40000000u
#define NOMENCLATURE 0x80000000u
#define MDER 0x8000u
#define AGENT 0x00800000u
#define CONFIG_RESERVED 0x8000u

/* A device that gets no answer asks three times, 10 s apart. */
#define REPEAT_NS 30000000000ull

static uint32_t protocol_chosen(const struct bp_phd_association *i)
{
	return (i->protocol_version & PROTOCOL_20601A) != 0 ? PROTOCOL_20601A : PROTOCOL_20601;
}

static void answer(struct bp_phd_manager *m, const struct bp_phd_peer *to,
	enum bp_phd_result result, uint32_t protocol)
{
	uint8_t out[BP_PHD_AARE_LEN];
	const size_t len = bp_phd_write_aare(out, sizeof(out), result, protocol, m->system_id);

	bp_phd_count(&m->counts->aare[result]);
	bp_phd_reply(m, to, out, len);
}

/* What the AARQ says, apart from who is there already. */
static enum bp_phd_result judge(const struct bp_phd_apdu *a)
{
	const struct bp_phd_association *i = &a->aarq.info;

	if (a->aarq.version != ASSOCIATION_VERSION)
		return BP_PHD_UNSUPPORTED_VERSION;
	if (!a->aarq.has_20601)
		return BP_PHD_NO_COMMON_PROTOCOL;
	if ((i->protocol_version & (PROTOCOL_20601 | PROTOCOL_20601A)) == 0 ||
		(i->encoding_rules & MDER) == 0 || (i->nomenclature_version & NOMENCLATURE) == 0 ||
		i->system_id.len != 8 || i->config_id == 0 || i->config_id >= CONFIG_RESERVED)
		return BP_PHD_NO_COMMON_PARAMETER;
	if ((i->system_type & AGENT) == 0)
		return BP_PHD_REJECTED_PERMANENT;
	return BP_PHD_ACCEPTED;
}

/* One more is within limits.associations: a tenth of a second's may come at once. */
static bool within_rate(struct bp_phd_manager *m)
{
	const uint64_t rate = m->c->limits.associations > 0 ? m->c->limits.associations : 1;
	const uint64_t each = 1000000000u / rate, burst = rate >= 10 ? rate / 10 : 1;
	uint64_t next = m->next_association_ns;

	if (next < m->now_ns)
		next = m->now_ns;
	if (next + each - m->now_ns > burst * each)
		return false;
	m->next_association_ns = next + each;
	return true;
}

static bool within_limits(
	struct bp_phd_manager *m, const struct bp_phd_peer *from, uint32_t elsewhere)
{
	uint32_t n = bp_phd_of_address(m, from->address);

	if (elsewhere != BP_PHD_NONE &&
		memcmp(bp_phd_session_at(m, elsewhere)->address, from->address, 16) == 0)
		n--; /* it goes when this one comes */
	if (n >= m->c->limits.per_address) {
		bp_phd_count(&m->counts->rejected_address);
		return false;
	}
	if (!within_rate(m)) {
		bp_phd_count(&m->counts->rejected_rate);
		return false;
	}
	return true;
}

/* What is to be opened, as far as the AARQ and its sender say it. */
static struct bp_phd_session_spec spec_of(const struct bp_phd_manager *m,
	const struct bp_phd_peer *from, const struct bp_phd_association *i, uint64_t hash,
	uint64_t unix_ns)
{
	struct bp_phd_session_spec s = {
		.port = from->port,
		.transport = from->transport,
		.protocol = protocol_chosen(i) == PROTOCOL_20601A ? 2 : 1,
		.config_id = i->config_id,
		.state = BP_PHD_WAITING,
		.layout = BP_PHD_NO_LAYOUT,
		.associated_s = (uint32_t)(unix_ns / 1000000000u),
		.aarq_hash = hash,
		.opened_ns = m->now_ns,
	};

	memcpy(s.address, from->address, sizeof(s.address));
	memcpy(s.own, from->own, sizeof(s.own));
	memcpy(s.system_id, i->system_id.p, sizeof(s.system_id));
	return s;
}

/* Whether there is room for it: its layout is chosen, where its configuration is known.
 * `gives_way`: a session goes when it comes. */
static bool has_room(struct bp_phd_manager *m, struct bp_phd_session_spec *s, bool gives_way)
{
	struct bp_phd_model model;
	int layout = -1;

	if (bp_phd_model_of(m, s->system_id, s->config_id, &model, &s->spec))
		layout = bp_phd_layout_for(m, &model, s->spec);
	if (layout == -2) {
		bp_phd_count(&m->counts->rejected_layouts);
		return false;
	}
	if (layout >= 0) {
		s->state = BP_PHD_OPERATING;
		s->layout = (uint16_t)layout;
		s->config_content = model.content;
	}
	if (m->t->control->sessions >= m->c->sessions + (gives_way ? 1 : 0)) {
		bp_phd_count(&m->counts->rejected_full);
		return false;
	}
	return true;
}

/* Opens it: the result, and the slot where that is an acceptance. */
static enum bp_phd_result open_session(struct bp_phd_manager *m, struct bp_phd_session_spec *s,
	uint32_t connection, uint32_t *slot)
{
	s->associated_s = bp_phd_association_time(m, s->system_id, s->associated_s);
	bp_phd_unanswered_carry(m, s);
	if (bp_phd_session_open(m->w, s, slot) != 0) {
		bp_phd_count(&m->counts->rejected_full);
		return BP_PHD_REJECTED_TRANSIENT;
	}
	bp_phd_unanswered_drop(m, s->system_id);
	bp_phd_index_add(m, *slot, connection);
	return s->layout != BP_PHD_NO_LAYOUT ? BP_PHD_ACCEPTED : BP_PHD_ACCEPTED_UNKNOWN_CONFIG;
}

static enum bp_phd_result admit(struct bp_phd_manager *m, const struct bp_phd_peer *from,
	const struct bp_phd_association *i, struct bp_phd_session_spec *s, uint32_t *slot)
{
	const uint32_t elsewhere = bp_phd_of_system(m, i->system_id.p);
	enum bp_phd_result result;

	if (!m->ops->allowed(m->arg, i->system_id.p)) {
		bp_phd_count(&m->counts->rejected_unauthorized);
		return BP_PHD_UNAUTHORIZED;
	}
	if (!within_limits(m, from, elsewhere))
		return BP_PHD_REJECTED_TRANSIENT;
	if (!has_room(m, s, elsewhere != BP_PHD_NONE))
		return BP_PHD_REJECTED_TRANSIENT;
	if (elsewhere != BP_PHD_NONE) /* nobody said so, but it may have lost its connection */
		bp_phd_unanswered_keep(m, elsewhere);
	result = open_session(m, s, from->connection, slot);
	/* the newest wins: it may have another address now. Only once it is there, so that nobody
	 * goes for one who can't come. */
	if (*slot != BP_PHD_NONE && elsewhere != BP_PHD_NONE) {
		bp_phd_count(&m->counts->taken_over);
		bp_phd_abort(m, elsewhere, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_TAKEN_OVER);
	}
	return result;
}

static void associate_new(struct bp_phd_manager *m, const struct bp_phd_peer *from,
	const struct bp_phd_apdu *a, uint64_t hash, uint64_t unix_ns)
{
	const struct bp_phd_association *i = &a->aarq.info;
	enum bp_phd_result result = judge(a);
	struct bp_phd_session_spec s;
	uint32_t slot = BP_PHD_NONE;

	if (result != BP_PHD_ACCEPTED) {
		answer(m, from, result, 0);
		return;
	}
	s = spec_of(m, from, i, hash, unix_ns);
	result = admit(m, from, i, &s, &slot);
	answer(m, from, result, protocol_chosen(i));
	if (result == BP_PHD_ACCEPTED)
		bp_phd_operating(m, slot);
	else if (result == BP_PHD_ACCEPTED_UNKNOWN_CONFIG)
		bp_phd_wait(m, slot, BP_PHD_WAIT_CONFIG);
}

/* Over UDP answers are lost: the same octets from the same address, and nothing measured since. */
static bool is_repeat(const struct bp_phd_manager *m, uint32_t slot, uint64_t hash)
{
	const struct bp_phd_session *s = bp_phd_session_at(m, slot);
	const enum bp_phd_state state = bp_phd_state_at(m, slot);

	return s->transport == BP_PHD_TRANSPORT_UDP && s->aarq_hash == hash &&
	       (state == BP_PHD_WAITING || state == BP_PHD_OPERATING) &&
	       m->now_ns - s->opened_ns < REPEAT_NS && s->reports == 0;
}

void bp_phd_associate(struct bp_phd_manager *m, const struct bp_phd_peer *from, uint32_t slot,
	const struct bp_phd_apdu *a, uint64_t hash, uint64_t unix_ns)
{
	const struct bp_phd_session *s;

	bp_phd_count(&m->counts->aarq);
	if (slot == BP_PHD_NONE) {
		bp_phd_unassociated(m, from);
		associate_new(m, from, a, hash, unix_ns);
		return;
	}
	s = bp_phd_session_at(m, slot);
	if (!is_repeat(m, slot, hash)) { /* rules 6.8, 8.8, 9.8 */
		bp_phd_abort(m, slot, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_FAULT);
		return;
	}
	bp_phd_count(&m->counts->repeats);
	answer(m, from,
		bp_phd_state_at(m, slot) == BP_PHD_OPERATING && s->config_hash == 0
			? BP_PHD_ACCEPTED
			: BP_PHD_ACCEPTED_UNKNOWN_CONFIG,
		protocol_chosen(&a->aarq.info));
}

/* ---- endings ---- */

/* Who releases has what it wants, and who was taken over has told the one that follows. */
static bool may_repeat(enum bp_phd_closed why)
{
	return why != BP_PHD_CLOSED_RELEASED && why != BP_PHD_CLOSED_BY_US &&
	       why != BP_PHD_CLOSED_TAKEN_OVER;
}

void bp_phd_close(struct bp_phd_manager *m, uint32_t slot, enum bp_phd_closed why)
{
	bp_phd_timers_drop(m, slot);
	if (m->note[slot].opened)
		m->ops->closed(m->arg, slot, why);
	m->note[slot].opened = false;
	m->note[slot].restored = false;
	if (m->note[slot].refit)
		m->refits--;
	m->note[slot].refit = false;
	bp_phd_index_remove(m, slot);
	bp_phd_unanswered_end(m, slot, may_repeat(why));
	bp_phd_session_close(m->w, slot);
}

void bp_phd_abort(
	struct bp_phd_manager *m, uint32_t slot, enum bp_phd_abort reason, enum bp_phd_closed why)
{
	const struct bp_phd_peer to = bp_phd_peer_of(m, slot);

	bp_phd_close(m, slot, why);
	bp_phd_reply_simple(m, &to, BP_PHD_ABRT, (uint16_t)reason);
}

int bp_phd_manager_release(struct bp_phd_manager *m, const uint8_t system_id[8], uint64_t mono_ns)
{
	const uint32_t slot = bp_phd_of_system(m, system_id);
	struct bp_phd_peer to;

	m->now_ns = mono_ns;
	if (slot == BP_PHD_NONE || bp_phd_state_at(m, slot) == BP_PHD_RELEASING)
		return -1;
	to = bp_phd_peer_of(m, slot);
	bp_phd_session_word(
		m->w, slot, BP_PHD_RELEASING, 0, bp_phd_word_layout(bp_phd_word_at(m, slot)));
	bp_phd_wait(m, slot, BP_PHD_WAIT_RELEASE);
	bp_phd_reply_simple(m, &to, BP_PHD_RLRQ, 0);
	return 0;
}
