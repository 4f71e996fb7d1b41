/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/manager.h"

#include <stdlib.h>
#include <string.h>

#include "services/health/manager_internal.h"

/*
 * Which room an APDU goes to, by the state of its sender's session. The numbers of rules are those
 * by which the standard's table of a manager's states is cited.
 */

uint64_t bp_phd_octets_hash(const struct bp_phd_manager *m, const uint8_t *p, size_t len)
{
	const uint64_t h = bp_hash_bytes(m->t->hash_key, p, len);

	return h != 0 ? h : 1;
}

/* ---- answers ---- */

void bp_phd_reply(
	struct bp_phd_manager *m, const struct bp_phd_peer *to, const uint8_t *apdu, size_t len)
{
	m->ops->reply(m->arg, to, apdu, len);
}

void bp_phd_reply_simple(struct bp_phd_manager *m, const struct bp_phd_peer *to,
	enum bp_phd_choice choice, uint16_t reason)
{
	uint8_t out[BP_PHD_SIMPLE_LEN];

	if (choice == BP_PHD_ABRT)
		bp_phd_count(&m->counts->aborts_sent);
	else if (choice == BP_PHD_RLRQ)
		bp_phd_count(&m->counts->releases_sent);
	bp_phd_reply(m, to, out, bp_phd_write_simple(out, sizeof(out), choice, reason));
}

void bp_phd_reply_roer(struct bp_phd_manager *m, const struct bp_phd_peer *to, uint16_t invoke_id,
	enum bp_phd_roer error)
{
	uint8_t out[BP_PHD_ROER_LEN];

	bp_phd_count(&m->counts->errors_answered);
	bp_phd_reply(m, to, out, bp_phd_write_roer(out, sizeof(out), invoke_id, (uint16_t)error));
}

void bp_phd_reply_rorj(struct bp_phd_manager *m, const struct bp_phd_peer *to, uint16_t invoke_id,
	enum bp_phd_rorj problem)
{
	uint8_t out[BP_PHD_RORJ_LEN];

	bp_phd_count(&m->counts->errors_answered);
	bp_phd_reply(m, to, out, bp_phd_write_rorj(out, sizeof(out), invoke_id, (uint16_t)problem));
}

struct bp_phd_peer bp_phd_peer_of(const struct bp_phd_manager *m, uint32_t slot)
{
	const struct bp_phd_session *s = bp_phd_session_at(m, slot);
	struct bp_phd_peer to = {
		.port = s->port, .transport = s->transport, .connection = m->note[slot].connection};

	memcpy(to.address, s->address, sizeof(to.address));
	memcpy(to.own, m->t->control->own[bp_phd_word_own(bp_phd_word_at(m, slot))],
		sizeof(to.own));
	return to;
}

bool bp_phd_manager_send(
	struct bp_phd_manager *m, uint32_t slot, uint16_t life, const uint8_t *apdu, size_t len)
{
	uint64_t word;
	struct bp_phd_peer to;

	if (slot >= m->t->n_slots)
		return false;
	word = bp_phd_word_at(m, slot);
	if (bp_phd_word_state(word) == BP_PHD_FREE || bp_phd_word_life(word) != life)
		return false;
	to = bp_phd_peer_of(m, slot);
	bp_phd_reply(m, &to, apdu, len);
	return true;
}

/* ---- what comes ---- */

/* It does not know that it has no association. Rules 2.12, 2.16, 2.19. */
static void stray(struct bp_phd_manager *m, const struct bp_phd_peer *from)
{
	bp_phd_count(&m->counts->strays);
	/* it may have one, which is being read back; TCP's are not kept */
	if (!bp_phd_loading(m) || from->transport == BP_PHD_TRANSPORT_TCP)
		bp_phd_reply_simple(m, from, BP_PHD_ABRT, BP_PHD_ABORT_UNDEFINED);
}

/* Octets that are no APDU: who can be told by his own invoke-id is, else it is the end. */
static void undecodable(struct bp_phd_manager *m, uint32_t slot, const struct bp_phd_peer *from,
	const struct bp_phd_apdu *a, enum bp_phd_error e)
{
	bp_phd_count(&m->counts->undecodable);
	if (slot == BP_PHD_NONE || bp_phd_state_at(m, slot) == BP_PHD_RELEASING)
		return;
	if (a->choice == BP_PHD_PRST && a->invoke_id_known && a->prst.choice < BP_PHD_RORS_EVENT)
		bp_phd_reply_rorj(m, from, a->prst.invoke_id,
			e == BP_PHD_E_DATA_CHOICE ? BP_PHD_UNRECOGNIZED_OPERATION
						  : BP_PHD_BADLY_STRUCTURED);
	else
		bp_phd_abort(m, slot, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_FAULT);
}

static void released_by_device(
	struct bp_phd_manager *m, uint32_t slot, const struct bp_phd_peer *from)
{
	bp_phd_count(&m->counts->releases_received);
	if (bp_phd_state_at(m, slot) != BP_PHD_RELEASING) /* 6.16, 8.16; else 9.16: it stays */
		bp_phd_close(m, slot, BP_PHD_CLOSED_RELEASED);
	bp_phd_reply_simple(m, from, BP_PHD_RLRE, 0);
}

void bp_phd_unassociated(struct bp_phd_manager *m, const struct bp_phd_peer *from)
{
	if (bp_phd_loading(m) && from->transport == BP_PHD_TRANSPORT_UDP)
		m->ops->unassociated(m->arg, from);
}

static void without_session(
	struct bp_phd_manager *m, const struct bp_phd_peer *from, const struct bp_phd_apdu *a)
{
	if (a->choice == BP_PHD_ABRT) {
		bp_phd_count(&m->counts->aborts_received);
		bp_phd_unassociated(m, from);
	} else if (a->choice != BP_PHD_RLRE) { /* 2.17, 2.18 */
		stray(m, from);
	}
}

static void with_session(struct bp_phd_manager *m, uint32_t slot, const struct bp_phd_peer *from,
	const struct bp_phd_apdu *a, const uint8_t *p, size_t len)
{
	switch (a->choice) {
	case BP_PHD_PRST:
		bp_phd_presented(m, slot, from, a, p, len);
		break;
	case BP_PHD_RLRQ:
		released_by_device(m, slot, from);
		break;
	case BP_PHD_ABRT: /* 6.18, 8.18 */
		bp_phd_count(&m->counts->aborts_received);
		bp_phd_close(m, slot, BP_PHD_CLOSED_ABORTED);
		break;
	case BP_PHD_RLRE:
		if (bp_phd_state_at(m, slot) == BP_PHD_RELEASING) { /* 9.17 */
			bp_phd_close(m, slot, BP_PHD_CLOSED_BY_US);
			break;
		}
		/* fall through */
	default: /* an AARE is a manager's: 6.12, 8.12, 9.12; 6.17, 8.17 */
		bp_phd_abort(m, slot, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_FAULT);
	}
}

static uint32_t slot_of(struct bp_phd_manager *m, const struct bp_phd_peer *from)
{
	const uint64_t hash =
		bp_phd_hash(m->t->hash_key, from->address, from->port, from->transport);
	uint32_t slot;

	if (bp_phd_find(m->t, hash, from->address, from->port, from->transport, &slot) != 0 ||
		!m->note[slot].known)
		return BP_PHD_NONE;
	if (from->transport == BP_PHD_TRANSPORT_TCP &&
		m->note[slot].connection != from->connection) {
		/* of a connection that ended, though nobody said so yet */
		bp_phd_close(m, slot, BP_PHD_CLOSED_GONE);
		return BP_PHD_NONE;
	}
	return slot;
}

void bp_phd_manager_receive(struct bp_phd_manager *m, const struct bp_phd_peer *from,
	const uint8_t *p, size_t len, uint64_t mono_ns, uint64_t unix_ns)
{
	struct bp_phd_apdu a;
	enum bp_phd_error e;
	uint32_t slot;

	m->now_ns = mono_ns;
	slot = slot_of(m, from);
	e = bp_phd_apdu_read(p, len, &a);
	if (e != BP_PHD_OK)
		undecodable(m, slot, from, &a, e);
	else if (a.choice == BP_PHD_AARQ)
		bp_phd_associate(m, from, slot, &a, bp_phd_octets_hash(m, p, len), unix_ns);
	else if (slot == BP_PHD_NONE)
		without_session(m, from, &a);
	else
		with_session(m, slot, from, &a, p, len);
}

bool bp_phd_manager_connected(const struct bp_phd_manager *m, uint32_t connection)
{
	return bp_phd_of_connection(m, connection) != BP_PHD_NONE;
}

void bp_phd_manager_gone(struct bp_phd_manager *m, uint32_t connection, uint64_t mono_ns)
{
	const uint32_t slot = bp_phd_of_connection(m, connection);

	m->now_ns = mono_ns;
	if (slot != BP_PHD_NONE)
		bp_phd_close(m, slot, BP_PHD_CLOSED_GONE);
}

int bp_phd_manager_find(const struct bp_phd_manager *m, const uint8_t system_id[8], uint32_t *slot)
{
	*slot = bp_phd_of_system(m, system_id);
	return *slot != BP_PHD_NONE ? 0 : -1;
}

/* ---- the manager itself ---- */

void bp_phd_manager_configure(struct bp_phd_manager *m, const struct bp_config_phd *c)
{
	m->c = c;
}

struct bp_phd_manager *bp_phd_manager_new(const struct bp_config_phd *c,
	struct bp_phd_tables *tables, struct bp_phd_writer *w, const uint8_t system_id[8],
	struct bp_phd_manager_counts *counts, const struct bp_phd_manager_ops *ops, void *arg)
{
	struct bp_phd_manager *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->c = c;
	m->t = tables;
	m->w = w;
	m->counts = counts;
	m->ops = ops;
	m->arg = arg;
	memcpy(m->system_id, system_id, sizeof(m->system_id));
	m->note = calloc((size_t)tables->n_slots + 1, sizeof(*m->note));
	m->layouts = bp_phd_layout_cache_new();
	if (!m->note || !m->layouts || !bp_phd_indexes_init(m) || !bp_phd_unanswered_init(m)) {
		bp_phd_manager_free(m);
		return NULL;
	}
	bp_phd_timers_init(m);
	return m;
}

void bp_phd_manager_free(struct bp_phd_manager *m)
{
	if (!m)
		return;
	bp_phd_indexes_free(m);
	bp_phd_unanswered_free(m);
	free(m->note);
	bp_phd_layout_cache_free(m->layouts);
	free(m);
}
