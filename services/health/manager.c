/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/manager.h"

#include <stdlib.h>
#include <string.h>

#include "services/health/manager_internal.h"

/*
 * Handling of an APDU by the state of its sender's session, and of expired timers. The rule numbers
 * are those of the manager state table in the standard.
 */

/* ---- presented APDUs ---- */

/* Contents of a PRST: event reports of the device, and its responses to our GET. */

/* The response to the invocation of a PRST; none if it is unconfirmed. */
struct call {
	const struct bp_phd_peer *from;
	uint16_t invoke_id;
	bool confirmed;
};

static void refuse(struct bp_phd_manager *m, const struct call *c, enum bp_phd_roer error)
{
	if (c->confirmed)
		bp_phd_reply_roer(m, c->from, c->invoke_id, error);
}

static void reject(struct bp_phd_manager *m, const struct call *c, enum bp_phd_rorj problem)
{
	if (c->confirmed)
		bp_phd_reply_rorj(m, c->from, c->invoke_id, problem);
}

/* ---- reports ---- */

static void accept(struct bp_phd_manager *m, const struct call *c, uint16_t type)
{
	uint8_t out[BP_PHD_RORS_EVENT_LEN];

	if (!c->confirmed)
		return;
	bp_phd_write_rors_event(out, c->invoke_id, 0, type);
	bp_phd_reply(m, c->from, out, sizeof(out));
}

/* A measurement that the workers did not convert. */
static void scan_report(struct bp_phd_manager *m, uint32_t slot, const struct call *c,
	uint16_t type, const uint8_t *p, size_t len)
{
	bp_phd_idle_ends(m, slot);
	switch (m->ops->report(m->arg, slot, p, len)) {
	case BP_PHD_TAKEN:
		bp_phd_count(&m->counts->slow_taken);
		break;
	case BP_PHD_TAKEN_ANSWER:
		bp_phd_count(&m->counts->slow_taken);
		accept(m, c, type);
		bp_phd_session_at(m, slot)->unanswered = BP_PHD_ANSWER_WAITS;
		break;
	case BP_PHD_TAKEN_FULL:
		bp_phd_count(c->confirmed ? &m->counts->slow_refused : &m->counts->slow_lost);
		reject(m, c, BP_PHD_RESOURCE_LIMITATION);
		break;
	case BP_PHD_TAKEN_BAD:
		reject(m, c, BP_PHD_BADLY_STRUCTURED);
		break;
	case BP_PHD_TAKEN_NO_OBJECT:
		refuse(m, c, BP_PHD_NO_SUCH_OBJECT);
		break;
	case BP_PHD_TAKEN_UNFIT:
		reject(m, c, BP_PHD_UNEXPECTED_ERROR);
		break;
	}
}

/* A configuration report while operating: a repetition after a lost response, or a different one,
 * for which the standard has no rule; the session continues. */
static void config_repeat(
	struct bp_phd_manager *m, uint32_t slot, const struct call *c, uint64_t hash)
{
	const struct bp_phd_session *s = bp_phd_session_at(m, slot);
	uint8_t out[BP_PHD_CONFIG_RSP_LEN];

	if (!c->confirmed || hash != s->config_hash) {
		bp_phd_reply_roer(m, c->from, c->invoke_id, BP_PHD_NOT_ALLOWED);
		return;
	}
	bp_phd_count(&m->counts->repeats);
	bp_phd_reply(m, c->from, out,
		bp_phd_write_config_rsp(
			out, sizeof(out), c->invoke_id, s->config_id, BP_PHD_CONFIG_ACCEPTED));
}

static bool is_scan(uint16_t type)
{
	return type >= BP_PHD_SCAN_FIXED && type <= BP_PHD_SCAN_MP_VAR;
}

static void event_operating(struct bp_phd_manager *m, uint32_t slot, const struct call *c,
	const struct bp_phd_event_report *e, const uint8_t *p, size_t len)
{
	if (e->handle != 0) /* scanners and stores: this manager creates none */
		refuse(m, c, BP_PHD_NO_SUCH_OBJECT);
	else if (is_scan(e->type))
		scan_report(m, slot, c, e->type, p, len);
	else if (e->type == BP_PHD_CONFIG)
		config_repeat(m, slot, c, bp_phd_apdu_hash(m, p, len));
	else
		refuse(m, c, BP_PHD_NO_SUCH_ACTION);
}

/* Rules 6.24, 6.25: only a confirmed configuration report is waited for. */
static void event_waiting(struct bp_phd_manager *m, uint32_t slot, const struct call *c,
	const struct bp_phd_event_report *e, const uint8_t *p, size_t len)
{
	if (c->confirmed && e->handle == 0 && e->type == BP_PHD_CONFIG)
		bp_phd_configured(
			m, slot, c->from, c->invoke_id, e->info, bp_phd_apdu_hash(m, p, len));
	else
		bp_phd_reply_roer(m, c->from, c->invoke_id, BP_PHD_NOT_ALLOWED);
}

static void event(struct bp_phd_manager *m, uint32_t slot, const struct call *c,
	struct bp_phd_bytes body, const uint8_t *p, size_t len)
{
	struct bp_phd_event_report e;

	if (bp_phd_event_read(body, &e) != BP_PHD_OK) {
		bp_phd_count(&m->counts->undecodable);
		reject(m, c, BP_PHD_BADLY_STRUCTURED);
	} else if (bp_phd_state_at(m, slot) == BP_PHD_WAITING) {
		event_waiting(m, slot, c, &e, p, len);
	} else {
		event_operating(m, slot, c, &e, p, len);
	}
}

/* ---- answers ---- */

static void answered(struct bp_phd_manager *m, uint32_t slot, const struct bp_phd_apdu *a)
{
	struct bp_phd_get_reply reply;

	/* Late or unsolicited: ignored. */
	if (m->note[slot].waits != BP_PHD_WAIT_SERVICE ||
		a->prst.invoke_id != m->note[slot].invoke_id)
		return;
	if (a->prst.choice == BP_PHD_RORS_GET && bp_phd_get_read(a->prst.body, &reply) == BP_PHD_OK)
		bp_phd_mds_received(m, slot, &reply);
	else
		bp_phd_mds_received(m, slot, NULL);
}

static void bp_phd_presented(struct bp_phd_manager *m, uint32_t slot,
	const struct bp_phd_peer *from, const struct bp_phd_apdu *a, const uint8_t *p, size_t len)
{
	struct call c = {.from = from, .invoke_id = a->prst.invoke_id};

	if (bp_phd_state_at(m, slot) == BP_PHD_RELEASING) /* rule 9.21 */
		return;
	switch (a->prst.choice) {
	case BP_PHD_EVENT_CONFIRMED:
		c.confirmed = true;
		event(m, slot, &c, a->prst.body, p, len);
		break;
	case BP_PHD_EVENT:
		event(m, slot, &c, a->prst.body, p, len);
		break;
	case BP_PHD_GET:
	case BP_PHD_SET_CONFIRMED:
	case BP_PHD_ACTION_CONFIRMED: /* a manager has no objects */
		c.confirmed = true;
		refuse(m, &c, BP_PHD_NO_SUCH_OBJECT);
		break;
	case BP_PHD_SET:
	case BP_PHD_ACTION:
		break;
	default:
		answered(m, slot, a);
	}
}

/* ---- received APDUs ---- */

/* The device has no association here and assumes one. Rules 2.12, 2.16, 2.19. */
static void on_unknown_session(struct bp_phd_manager *m, const struct bp_phd_peer *from)
{
	bp_phd_count(&m->counts->unknown_sessions);
	/* it may have one, which is being read back; TCP's are not kept */
	if (!bp_phd_loading(m) || from->transport == BP_PHD_TRANSPORT_TCP)
		bp_phd_reply_simple(m, from, BP_PHD_ABRT, BP_PHD_ABORT_UNDEFINED);
}

/* Bytes that are not an APDU: an invocation with a known invoke-id is rejected, otherwise the
 * association is aborted. */
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

/* Whether the owner searches for the association of the sender, before the APDU counts as one
 * without. Sessions that are being restored come first. */
static bool is_searched(struct bp_phd_manager *m, const struct bp_phd_peer *from,
	const struct bp_phd_apdu *a, const uint8_t *p, size_t len)
{
	return (a->choice == BP_PHD_PRST || a->choice == BP_PHD_RLRQ || a->choice == BP_PHD_ABRT) &&
	       from->transport == BP_PHD_TRANSPORT_UDP && m->ops->unknown != NULL &&
	       !bp_phd_loading(m) && m->ops->unknown(m->arg, from, p, len);
}

static void without_session(struct bp_phd_manager *m, const struct bp_phd_peer *from,
	const struct bp_phd_apdu *a, const uint8_t *p, size_t len)
{
	if (is_searched(m, from, a, p, len))
		return;
	if (a->choice == BP_PHD_ABRT) {
		bp_phd_count(&m->counts->aborts_received);
		bp_phd_unassociated(m, from);
	} else if (a->choice != BP_PHD_RLRE) { /* 2.17, 2.18 */
		on_unknown_session(m, from);
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
		/* of a connection that has ended without a notification */
		bp_phd_close(m, slot, BP_PHD_CLOSED_DISCONNECTED);
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
		bp_phd_associate(m, from, slot, &a, bp_phd_apdu_hash(m, p, len), unix_ns);
	else if (slot == BP_PHD_NONE)
		without_session(m, from, &a, p, len);
	else
		with_session(m, slot, from, &a, p, len);
}

bool bp_phd_manager_connected(const struct bp_phd_manager *m, uint32_t connection)
{
	return bp_phd_of_connection(m, connection) != BP_PHD_NONE;
}

void bp_phd_manager_disconnected(struct bp_phd_manager *m, uint32_t connection, uint64_t mono_ns)
{
	const uint32_t slot = bp_phd_of_connection(m, connection);

	m->now_ns = mono_ns;
	if (slot != BP_PHD_NONE)
		bp_phd_close(m, slot, BP_PHD_CLOSED_DISCONNECTED);
}

int bp_phd_manager_find(const struct bp_phd_manager *m, const uint8_t system_id[8], uint32_t *slot)
{
	*slot = bp_phd_of_system(m, system_id);
	return *slot != BP_PHD_NONE ? 0 : -1;
}

/* ---- timers ---- */

/* Maximum of one call, so that the caller's other work is not delayed. */
#define TICK_MOST 4096
/* Checking that workers have passed a quiescent state costs each of them a cache miss, so it is
 * not done in each call. The writer checks if it finds no free slot. */
#define SETTLE_NS 100000000u

static void idle_due(struct bp_phd_manager *m, uint32_t slot)
{
	if (!bp_phd_idle_expired(m, slot))
		return;
	bp_phd_count(&m->counts->timeout_idle);
	bp_phd_abort(m, slot, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_IDLE);
}

static void service_due(struct bp_phd_manager *m, uint32_t slot)
{
	bp_phd_count(&m->counts->timeout_service);
	if (bp_phd_type_needed(m))
		bp_phd_abort(m, slot, BP_PHD_ABORT_RESPONSE, BP_PHD_CLOSED_TIMEOUT);
	else
		bp_phd_mds_received(m, slot, NULL);
}

static void due(struct bp_phd_manager *m, enum bp_phd_wait q, uint32_t slot)
{
	switch (q) {
	case BP_PHD_WAIT_CONFIG:
		bp_phd_count(&m->counts->timeout_config);
		bp_phd_abort(m, slot, BP_PHD_ABORT_CONFIG, BP_PHD_CLOSED_TIMEOUT);
		break;
	case BP_PHD_WAIT_SERVICE:
		service_due(m, slot);
		break;
	case BP_PHD_WAIT_RELEASE:
		bp_phd_count(&m->counts->timeout_release);
		bp_phd_abort(m, slot, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_TIMEOUT);
		break;
	default:
		idle_due(m, slot);
	}
}

static void settle(struct bp_phd_manager *m)
{
	if (m->now_ns - m->settled_ns < SETTLE_NS)
		return;
	m->settled_ns = m->now_ns;
	bp_phd_writer_settle(m->w);
}

uint64_t bp_phd_manager_tick(struct bp_phd_manager *m, uint64_t mono_ns)
{
	uint64_t next = UINT64_MAX;
	unsigned left = TICK_MOST;

	m->now_ns = mono_ns;
	for (unsigned q = BP_PHD_WAIT_CONFIG; q < BP_PHD_WAITS; q++) {
		uint64_t at;

		while ((at = bp_phd_wait_due(m, (enum bp_phd_wait)q)) <= mono_ns && left > 0) {
			due(m, (enum bp_phd_wait)q, m->queue[q].head);
			left--;
		}
		if (at < next)
			next = at;
	}
	settle(m);
	return next;
}
/* ---- the manager ---- */

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
