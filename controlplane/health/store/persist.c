/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/store/persist.h"

#include <stdlib.h>
#include <string.h>

#include "controlplane/process/clock.h"
#include "daemon/log.h"

#define KNOWN_PER_SESSION 2u /* remembered configurations for each possible session */
#define KNOWN_BYTES (64ull << 20)

/* One pass over the table: slow, or fast after a start or for a file with missing sessions. */
#define ROUND_TURNS 300u
#define TIMER_MS 100
#define TIMER_CHECKS 64u /* minimum */
#define URGENT_MS 10
#define URGENT_CHECKS 16384u
#define TIMER_PUTS 1024u

struct note {
	uint32_t generation; /* generation in which its row was written; 0: it has none */
	uint32_t reports;    /* value in the row */
};

struct bp_phd_persist {
	struct bp_phd_tables *t;
	struct bp_phd_store *store;
	struct bp_phd_manager *m;
	const struct bp_phd_persist_ops *ops;
	void *arg;
	struct event *turn;
	struct note *note;   /* by slot */
	uint32_t generation; /* rows of an earlier generation may be missing */
	uint32_t at;         /* the next slot to check */
	uint32_t n_urgent;   /* slots to be checked urgently */
	struct bp_phd_persist_counts counts;
};

static uint64_t word_at(const struct bp_phd_persist *k, uint32_t slot)
{
	return atomic_load_explicit(&k->t->sessions[slot].word, memory_order_relaxed);
}

static uint32_t reports_at(const struct bp_phd_persist *k, uint32_t slot)
{
	return atomic_load_explicit(&k->t->sessions[slot].reports, memory_order_relaxed);
}

/* ---- from the table to the file ---- */

static bool is_kept(const struct bp_phd_persist *k, uint32_t slot)
{
	return bp_phd_word_state(word_at(k, slot)) == BP_PHD_OPERATING &&
	       k->t->sessions[slot].transport == BP_PHD_TRANSPORT_UDP;
}

static void put(struct bp_phd_persist *k, uint32_t slot)
{
	const struct bp_phd_session *s = &k->t->sessions[slot];
	struct bp_phd_store_session row = {.content = s->config_content,
		.associated_s = s->associated_s,
		.reports = reports_at(k, slot),
		.port = s->port,
		.config_id = s->config_id,
		.transport = s->transport,
		.protocol = s->protocol};

	memcpy(row.address, s->address, sizeof(row.address));
	memcpy(row.own, k->t->control->own[bp_phd_word_own(word_at(k, slot))], sizeof(row.own));
	memcpy(row.system_id, s->system_id, sizeof(row.system_id));
	k->note[slot] = (struct note){0};
	if (!bp_phd_store_put(k->store, &row))
		return; /* the store counts it, and requests all rows again */
	k->note[slot] = (struct note){k->generation, row.reports};
	k->counts.put++;
}

/* Returns whether the session's row is missing, or will soon be too old for a restart. A raised row
 * may be ahead of the table. */
static bool is_due(const struct bp_phd_persist *k, uint32_t slot)
{
	const struct note *n = &k->note[slot];

	return is_kept(k, slot) &&
	       (n->generation != k->generation || (int32_t)(reports_at(k, slot) - n->reports) >
							  (int32_t)(BP_PHD_STORE_RAISE / 4));
}

static void retry_in(struct bp_phd_persist *k, int ms)
{
	const struct timeval t = {.tv_usec = (suseconds_t)ms * 1000};

	evtimer_add(k->turn, &t);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct bp_phd_persist *k = arg;
	uint32_t looks =
		k->n_urgent > 0 ? URGENT_CHECKS : k->t->n_slots / ROUND_TURNS + TIMER_CHECKS;

	(void)fd;
	(void)what;
	/* no row is written again while the disk fails */
	if (bp_phd_store_capacity(k->store) < BP_PHD_STORE_QUEUE / 2)
		looks = 0;
	for (uint32_t put_now = 0; looks > 0 && put_now < TIMER_PUTS; looks--) {
		k->at = k->at + 1 < k->t->n_slots ? k->at + 1 : 0;
		k->counts.rounds += k->at == 0;
		k->n_urgent -= k->n_urgent > 0;
		if (is_due(k, k->at)) {
			put(k, k->at);
			put_now++;
		}
	}
	retry_in(k, k->n_urgent > 0 ? URGENT_MS : TIMER_MS);
}

static void check_all(struct bp_phd_persist *k)
{
	k->n_urgent = k->t->n_slots;
	retry_in(k, 0);
}

void bp_phd_persist_opened(struct bp_phd_persist *k, uint32_t slot)
{
	if (is_kept(k, slot))
		put(k, slot);
}

void bp_phd_persist_closed(struct bp_phd_persist *k, uint32_t slot)
{
	const struct bp_phd_session *s = &k->t->sessions[slot];

	k->note[slot] = (struct note){0};
	if (s->transport == BP_PHD_TRANSPORT_UDP)
		bp_phd_store_close(k->store, s->transport, s->address, s->port);
}

void bp_phd_persist_unassociated(struct bp_phd_persist *k, const struct bp_phd_peer *device)
{
	bp_phd_store_close(k->store, device->transport, device->address, device->port);
}

/* ---- from the file to the table ---- */

static struct bp_phd_session_spec spec_of(const struct bp_phd_store_session *row)
{
	struct bp_phd_session_spec s = {.port = row->port,
		.transport = row->transport,
		.protocol = row->protocol,
		.config_id = row->config_id,
		.associated_s = row->associated_s,
		.reports = row->reports,
		.config_content = row->content};

	memcpy(s.address, row->address, sizeof(s.address));
	memcpy(s.own, row->own, sizeof(s.own));
	memcpy(s.system_id, row->system_id, sizeof(s.system_id));
	return s;
}

/* Returns whether the table entry equals the row. */
static bool is_same(
	const struct bp_phd_persist *k, uint32_t slot, const struct bp_phd_store_session *row)
{
	const struct bp_phd_session *s = &k->t->sessions[slot];

	return is_kept(k, slot) && memcmp(s->address, row->address, 16) == 0 &&
	       s->port == row->port && s->associated_s == row->associated_s &&
	       s->config_id == row->config_id && s->config_content == row->content;
}

static bool on_session(void *arg, const struct bp_phd_store_session *row)
{
	struct bp_phd_persist *k = arg;
	const struct bp_phd_session_spec s = spec_of(row);
	enum bp_phd_restored result;
	uint32_t slot;

	if (row->transport != BP_PHD_TRANSPORT_UDP) {
		k->counts.tcp++;
		return false;
	}
	result = bp_phd_manager_restore(k->m, &s, bp_mono_ns());
	k->counts.rows[result]++;
	if (result > BP_PHD_RESTORE_THERE || bp_phd_manager_find(k->m, row->system_id, &slot) != 0)
		return false;
	if (result == BP_PHD_RESTORED)
		k->ops->restored(k->arg, slot);
	if (!is_same(k, slot, row))
		return false; /* it gets another number */
	k->note[slot] = (struct note){k->generation, row->reports};
	return true;
}

static void log_result(const struct bp_phd_persist *k)
{
	const uint64_t *rows = k->counts.rows;

	if (rows[BP_PHD_RESTORED] != 0)
		bp_log_event(BP_LOG_INFO,
			BP_LOG_FIELDS(BP_LOG_NUM("sessions", rows[BP_PHD_RESTORED])),
			"health devices: sessions restored from the store");
	if (rows[BP_PHD_RESTORE_UNKNOWN] + rows[BP_PHD_RESTORE_NOT_ALLOWED] +
			rows[BP_PHD_RESTORE_FULL] !=
		0)
		bp_log_event(BP_LOG_WARNING,
			BP_LOG_FIELDS(
				BP_LOG_NUM("unknown_configuration", rows[BP_PHD_RESTORE_UNKNOWN]),
				BP_LOG_NUM("not_allowed", rows[BP_PHD_RESTORE_NOT_ALLOWED]),
				BP_LOG_NUM("beyond_limits", rows[BP_PHD_RESTORE_FULL])),
			"health devices: sessions of the store not restored: these devices must "
			"associate again (see health_devices.max_sessions, max_configurations and "
			"the allow-list)");
}

static void set_loading(struct bp_phd_persist *k, uint32_t loading)
{
	atomic_store_explicit(&k->t->control->loading, loading, memory_order_release);
}

static void on_loaded(void *arg, bool whole)
{
	struct bp_phd_persist *k = arg;

	/* An unreadable disk is not waited for: devices may associate again. */
	set_loading(k, 0);
	bp_phd_manager_loaded(k->m, bp_mono_ns());
	if (!whole)
		return;
	log_result(k);
	check_all(k); /* the table may contain sessions that the file does not */
}

static void on_again(void *arg)
{
	struct bp_phd_persist *k = arg;

	k->generation++;
	k->generation += k->generation == 0;
	check_all(k);
}

static bool is_open(void *arg, const uint8_t system_id[8], uint16_t config_id)
{
	const struct bp_phd_persist *k = arg;
	uint32_t slot;

	return k->m && bp_phd_manager_find(k->m, system_id, &slot) == 0 &&
	       k->t->sessions[slot].config_id == config_id;
}

/* ---- start and end ---- */

struct bp_phd_persist *bp_phd_persist_new(struct event_base *base, const struct bp_config_phd *c,
	struct bp_phd_tables *tables, const struct bp_phd_persist_ops *ops, void *arg)
{
	static const struct bp_phd_store_ops stored = {
		.session = on_session, .loaded = on_loaded, .retry = on_again, .is_open = is_open};
	struct bp_phd_persist *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->t = tables;
	k->ops = ops;
	k->arg = arg;
	k->generation = 1;
	k->note = calloc((size_t)tables->n_slots + 1, sizeof(*k->note));
	k->turn = evtimer_new(base, on_timer, k);
	if (k->note && k->turn)
		k->store = bp_phd_store_new(base, c->store_path,
			c->max_sessions * KNOWN_PER_SESSION, KNOWN_BYTES, &stored, k);
	if (!k->store) {
		bp_phd_persist_free(k);
		return NULL;
	}
	set_loading(k, 1);
	return k;
}

void bp_phd_persist_free(struct bp_phd_persist *k)
{
	if (!k)
		return;
	bp_phd_store_free(k->store);
	if (k->turn)
		event_free(k->turn);
	free(k->note);
	free(k);
}

struct bp_phd_store *bp_phd_persist_store(struct bp_phd_persist *k)
{
	return k->store;
}

void bp_phd_persist_manager(struct bp_phd_persist *k, struct bp_phd_manager *m)
{
	k->m = m;
}

const struct bp_phd_persist_counts *bp_phd_persist_counts(const struct bp_phd_persist *k)
{
	return &k->counts;
}
