/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/replay/replay_phd.h"

#include "config/health/settings.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#include "biplane/counters/health.h"
#include "dataplane/exception/exception.h"
#include "dataplane/health/worker.h"
#include "dataplane/replay/replay_phd_frames.h"
#include "dataplane/replay/replay_phd_internal.h"
#include "services/health/token.h"
#include "services/health/convert.h"

#define KNOWN_PER_SESSION 2u /* as in the control plane */
/* Queue length of output frames: those of one tick of the manager, with some reserve. */
#define SAID 8192u

_Static_assert(BP_REPLAY_ACK_MAX >= BP_REPLAY_STORED_MAX, "room for the answer");

/* ---- the manager's owner ---- */

/* Records the number of a GET, by which the response is matched. */
static void record_get(struct bp_replay_phd *p, const struct bp_phd_peer *to, const uint8_t *apdu)
{
	uint32_t slot;

	if (bp_be16(apdu) == BP_PHD_PRST && bp_be16(apdu + BP_PHD_DATA_AT) == BP_PHD_GET &&
		bp_replay_phd_slot(p, to, &slot))
		p->asked[slot] = bp_be16(apdu + BP_PHD_INVOKE_AT);
}

static void on_reply(void *arg, const struct bp_phd_peer *to, const uint8_t *apdu, size_t len)
{
	struct bp_replay_phd *p = arg;
	bool no_way;
	struct rte_mbuf *m = bp_replay_phd_frame(
		p->w, p->peers, to, bp_config_phd(p->c)->listen_udp_port, apdu, len, &no_way);

	if (len == BP_PHD_GET_MDS_LEN)
		record_get(p, to, apdu);
	if (m && rte_ring_enqueue(p->said, m) == 0)
		return;
	rte_pktmbuf_free(m);
	if (no_way) { /* a frame that was created, but has no path */
		bp_count(p->w, BP_C_PHD_MANAGER_FRAME, 1);
		bp_count(p->w, BP_C_DROP_PHD_RESPONSE_UNSENT, 1);
	} else {
		p->failed = true;
	}
}

static bool on_known(void *arg, const uint8_t system_id[8], uint16_t config_id,
	struct bp_phd_model *out, uint16_t *spec)
{
	const struct bp_replay_phd *p = arg;

	return bp_replay_known_find(p->known, system_id, config_id, out, spec);
}

static void on_learned(void *arg, const uint8_t system_id[8], const struct bp_phd_model *m,
	struct bp_phd_bytes report)
{
	const struct bp_replay_phd *p = arg;

	bp_replay_known_learn(p->known, system_id, m->config_id, report);
}

static void set_ready(const struct bp_replay_phd *p, uint32_t slot)
{
	bp_phd_session_flags(p->writer, slot, BP_PHD_READY, BP_PHD_STALE);
}

static void on_told(
	void *arg, uint32_t slot, const uint8_t system_id[8], uint16_t config_id, uint16_t spec)
{
	const struct bp_replay_phd *p = arg;

	bp_replay_known_spec(p->known, system_id, config_id, spec);
	set_ready(p, slot);
}

static void on_opened(void *arg, uint32_t slot)
{
	const struct bp_replay_phd *p = arg;

	if (!p->by_type || p->t->sessions[slot].mds_known != BP_PHD_MDS_REQUESTED)
		set_ready(p, slot);
}

static void on_closed(void *arg, uint32_t slot, enum bp_phd_closed why)
{
	(void)arg;
	(void)slot;
	(void)why;
}

static bool on_allowed(void *arg, const uint8_t system_id[8])
{
	const struct bp_replay_phd *p = arg;

	return bp_config_phd_allowed(bp_config_phd(p->c), &p->allow, system_id);
}

/*
 * A replay has no slow path: a device that only the slow path could serve is asked to repeat the
 * report.
 */
static enum bp_phd_taken on_report(void *arg, uint32_t slot, const uint8_t *apdu, size_t len)
{
	const struct bp_replay_phd *p = arg;
	const struct bp_phd_layout *l = bp_phd_layout_of(
		p->t, atomic_load_explicit(&p->t->sessions[slot].word, memory_order_relaxed));
	struct bp_phd_conversion c;

	if (!l)
		return BP_PHD_TAKEN_BAD;
	switch (bp_phd_convert_plan(l, &p->t->control->plan, apdu, len, &c)) {
	case BP_PHD_CONVERT:
	case BP_PHD_SLOW:
		return BP_PHD_TAKEN_FULL;
	case BP_PHD_EMPTY:
		return BP_PHD_TAKEN_ANSWER;
	case BP_PHD_NO_HANDLE:
	case BP_PHD_BAD_HANDLE:
		return BP_PHD_TAKEN_NO_OBJECT;
	default:
		return BP_PHD_TAKEN_BAD;
	}
}

/* ---- events of workers ---- */

/* Sends the response to a device whose MAC the forwarding tables do not contain. */
static void answer(struct bp_replay_phd *p, const struct bp_phd_event_record *e)
{
	const uint64_t word =
		atomic_load_explicit(&p->t->sessions[e->slot].word, memory_order_relaxed);
	uint8_t apdu[BP_PHD_ANSWER_MAX];
	struct bp_phd_token t;
	size_t len;

	if (!bp_phd_token_open(e->token, &t) ||
		!bp_phd_token_true(e->token, bp_phd_word_life(word), p->t->hash_key))
		return; /* its session has ended */
	len = bp_phd_answer_write(apdu, (enum bp_m2m_outcome)e->outcome, t.invoke_id,
		(uint16_t)(BP_PHD_SCAN_FIXED + t.type));
	bp_phd_manager_send(p->m, e->slot, bp_phd_word_life(word), apdu, len);
}

static void take_events(struct bp_replay_phd *p)
{
	struct bp_ring *ring = bp_phd_events(p->t, 0);
	const struct bp_phd_event_record *e;
	uint32_t size;

	while ((e = bp_ring_peek(ring, &p->events, &size)) != NULL) {
		if (size < sizeof(*e) || e->slot >= p->t->n_slots)
			continue;
		if (e->kind == BP_PHD_EVENT_ANSWER)
			answer(p, e);
		else /* the containers are always considered present: they are recreated */
			bp_phd_session_flags(p->writer, e->slot, 0, BP_PHD_STALE);
	}
	bp_ring_release(ring, p->events);
}

/* ---- a turn ---- */

uint64_t bp_replay_phd_tick(struct bp_replay_phd *p)
{
	return bp_phd_manager_tick(p->m, p->w->mono_ns);
}

bool bp_replay_phd_serve(struct bp_replay_phd *p)
{
	struct rte_ring *out = p->w->exception->from_kernel[0];
	bool more = false;
	void *m;

	while (rte_ring_dequeue(p->w->exception->stand_in, &m) == 0)
		bp_replay_phd_take(p, m);
	take_events(p);
	while (!rte_ring_full(out) && rte_ring_dequeue(p->said, &m) == 0) {
		rte_ring_enqueue(out, m);
		more = true;
	}
	return more;
}

uint32_t bp_replay_phd_acknowledge(
	struct bp_replay_phd *p, const uint8_t *frame, uint32_t len, uint8_t out[BP_REPLAY_ACK_MAX])
{
	const uint32_t n = bp_replay_stored_frame(&p->t->control->plan, frame, len, out);

	p->counts.acknowledged += n != 0;
	return n;
}

bool bp_replay_phd_waiting(const struct bp_replay_phd *p)
{
	return !rte_ring_empty(p->said);
}

bool bp_replay_phd_failed(const struct bp_replay_phd *p)
{
	return p->failed;
}

/* ---- life ---- */

static int start_manager(struct bp_replay_phd *p, char *err, size_t err_size)
{
	static const struct bp_phd_manager_ops ops = {.reply = on_reply,
		.known = on_known,
		.learned = on_learned,
		.mds_attributes = on_told,
		.opened = on_opened,
		.closed = on_closed,
		.allowed = on_allowed,
		.report = on_report};
	const struct bp_config_phd *c = bp_config_phd(p->c);
	struct bp_phd_settings plan;
	uint8_t system_id[8];

	/* starts at 0: message ids are the same in each run */
	if (bp_phd_worker_setup(p->c, p->t, p->c->n_workers, 0, err, err_size) != 0 ||
		bp_config_phd_allow_load(c, &p->allow, err, err_size) != 0)
		return -1;
	p->writer = bp_phd_writer_new(p->t, &p->shm->fib, NULL, NULL, err, err_size);
	if (!p->writer)
		return -1;
	bp_replay_phd_settings(&plan, p->c, &p->shm->fib);
	bp_phd_settings_publish(p->writer, &plan);
	bp_replay_phd_system_id(system_id, p->c, &p->shm->fib);
	p->m = bp_phd_manager_new(c, p->t, p->writer, system_id, &p->manager, &ops, p);
	if (!p->m)
		snprintf(err, err_size, "no memory for %" PRIu32 " sessions", c->max_sessions);
	return p->m ? 0 : -1;
}

struct bp_replay_phd *bp_replay_phd_new(const struct bp_config *c, struct bp_shm *shm,
	struct bp_worker *w, char *err, size_t err_size)
{
	struct bp_replay_phd *p = calloc(1, sizeof(*p));

	if (p) {
		p->c = c;
		p->shm = shm;
		p->t = &shm->phd;
		p->w = w;
		p->by_type = strstr(bp_config_phd(c)->cse.path, "{type}") ||
			     strstr(bp_config_phd(c)->cse.originator, "{type}");
		p->known = bp_replay_known_new(bp_config_phd(c)->max_sessions * KNOWN_PER_SESSION);
		p->peers = bp_replay_peers_new();
		p->asked = calloc(p->t->n_slots, sizeof(*p->asked));
		p->events = bp_ring_tail(bp_phd_events(p->t, 0));
		p->said = rte_ring_create("bp-replay-phd", SAID, SOCKET_ID_ANY,
			RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
	}
	if (!p || !p->known || !p->peers || !p->asked || !p->said ||
		!bp_exception_stand_in(w->exception, BP_C_PHD_MANAGER_FRAME))
		snprintf(err, err_size, "no memory for the manager of health devices");
	else if (start_manager(p, err, err_size) == 0)
		return p;
	bp_replay_phd_free(p);
	return NULL;
}

void bp_replay_phd_free(struct bp_replay_phd *p)
{
	void *m;

	if (!p)
		return;
	bp_phd_manager_free(p->m);
	bp_phd_writer_free(p->writer);
	bp_replay_known_free(p->known);
	bp_replay_peers_free(p->peers);
	while (p->said && rte_ring_dequeue(p->said, &m) == 0)
		rte_pktmbuf_free(m);
	rte_ring_free(p->said);
	free(p->asked);
	free(p->allow.id);
	free(p);
}
