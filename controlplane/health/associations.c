/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <event2/event.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/health/associations_internal.h"
#include "controlplane/health/store/store.h"
#include "controlplane/process/clock.h"
#include "services/health/last_report.h"
#include "shm/fleet.h"

/* A scan reads one cache line of each session: at most 200,000 sessions a second, and each one at
 * most every 50 ms. */
#define SCAN_MS 10
#define SCAN_SLOTS 2048u
#define SCAN_PASS_NS 50000000ull
#define SCAN_PUTS 256u
#define COMPARING_MAX 256u
/* Records that Redis has not acknowledged: the queue of the fleet has place for other writes. */
#define WRITING_MAX 1024u
/* The mark of a deleted key remains for this time, for writes of a gateway that was cut off. */
#define DELETED_MS 60000u
/* Without idle_timeout: a device may measure once a day. */
#define LIFETIME_MS (48u * 3600 * 1000)
#define AFTER_IDLE_MS (3600u * 1000)

/* A write or a read of the record of a session. */
struct pending {
	struct bp_associations *a;
	uint64_t epoch; /* of a write */
	uint32_t slot;
	uint16_t life;
};

void bp_association_key(const uint8_t address[16], uint16_t port, char out[BP_ASSOCIATION_KEY_TEXT])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	char text[INET6_ADDRSTRLEN] = "";

	if (memcmp(address, mapped, sizeof(mapped)) == 0) {
		(void)inet_ntop(AF_INET, address + 12, text, sizeof(text));
		snprintf(out, BP_ASSOCIATION_KEY_TEXT, "phd:%s:%u", text, port);
	} else {
		(void)inet_ntop(AF_INET6, address, text, sizeof(text));
		snprintf(out, BP_ASSOCIATION_KEY_TEXT, "phd:[%s]:%u", text, port);
	}
}

static struct bp_phd_session *session_at(const struct bp_associations *a, uint32_t slot)
{
	return &a->x.tables->sessions[slot];
}

static uint64_t word_at(const struct bp_associations *a, uint32_t slot)
{
	return atomic_load_explicit(&session_at(a, slot)->word, memory_order_relaxed);
}

/* The note of the session that the operation is of; NULL: that one has ended. */
static struct bp_association_note *note_of(const struct pending *p)
{
	struct bp_association_note *n = &p->a->note[p->slot];

	return n->state != BP_ASSOCIATION_NONE && n->life == p->life ? n : NULL;
}

static struct pending *new_pending(struct bp_associations *a, uint32_t slot, uint64_t epoch)
{
	struct pending *p = malloc(sizeof(*p));

	if (p != NULL)
		*p = (struct pending){.a = a,
			.epoch = epoch,
			.slot = slot,
			.life = bp_phd_word_life(word_at(a, slot))};
	return p;
}

/* ---- records ---- */

/* The last report of a session. False: a worker is changing it, or there is none. */
static bool read_report(const struct bp_phd_session *s, struct bp_phd_report_words *w)
{
	uint32_t number;

	*w = bp_phd_report_words_read(s);
	return bp_phd_report_words_number(s, w, &number);
}

/* Its record, without the configuration. */
static struct bp_association record_of(
	const struct bp_associations *a, uint32_t slot, const struct bp_phd_report_words *w)
{
	const struct bp_phd_session *s = session_at(a, slot);
	struct bp_association r = {.owner = a->owner,
		.segment = a->segment,
		.session = {.port = s->port,
			.protocol = s->protocol,
			.config_id = s->config_id,
			.spec = s->spec,
			.associated_s = s->associated_s,
			.reports = w->reports,
			.config_content = s->config_content}};
	struct bp_phd_carried *c = &r.session.carried;

	memcpy(r.session.address, s->address, sizeof(s->address));
	memcpy(r.session.system_id, s->system_id, sizeof(s->system_id));
	r.report_s = bp_association_report_s(w->sent, bp_mono_ns(), bp_unix_ns());
	if (r.report_s == 0)
		return r;
	c->last = w->last;
	c->sent = w->sent;
	c->origin = s->origin;
	if (c->origin.associated_s == 0)
		c->origin = (struct bp_phd_origin){.associated_s = s->associated_s,
			.report = w->reports - 1,
			.life = bp_phd_word_life(word_at(a, slot))};
	return r;
}

static size_t make_record(struct bp_associations *a, uint32_t slot, struct bp_phd_report_words *w,
	uint8_t *out, size_t size)
{
	const struct bp_phd_session *s = session_at(a, slot);
	const struct bp_phd_store_device device =
		bp_phd_store_device(a->x.store, s->system_id, s->config_id);
	struct bp_association r;
	bool certain = false;

	if (!read_report(s, w)) /* the next scan has it */
		w->last = w->sent = 0;
	r = record_of(a, slot, w);
	r.made = device.created;
	if (bp_phd_standard(s->config_id, &certain) == NULL || !certain)
		r.config = device.report;
	return bp_association_write(&r, out, size);
}

static uint32_t ttl_of(const struct bp_associations *a)
{
	const uint64_t idle_ms = a->x.idle_timeout_ns / 1000000;

	if (idle_ms == 0)
		return LIFETIME_MS;
	return idle_ms < UINT32_MAX - AFTER_IDLE_MS ? (uint32_t)idle_ms + AFTER_IDLE_MS
						    : UINT32_MAX;
}

/* ---- the record of another gateway ---- */

/* The times of two reports are known to 4 s each. */
#define REPORT_TIMES_S (2u * BP_PHD_REPEAT_UNIT_S)

/* For this time a device repeats a request for an association that has no answer. */
#define REPEATED_REQUEST_S 30u

/* Whether the two sessions of a device at two gateways may come from one request and its
 * repetition: one gateway was slow, and the device has associated at the other one. */
static bool is_repeated_request(const struct bp_phd_session_spec *a, const struct bp_phd_session *b)
{
	const uint32_t apart = a->associated_s > b->associated_s
				       ? a->associated_s - b->associated_s
				       : b->associated_s - a->associated_s;

	return bp_load64(a->system_id) == bp_load64(b->system_id) && a->config_id == b->config_id &&
	       a->config_content == b->config_content && apart <= REPEATED_REQUEST_S;
}

/*
 * Whether the association is now of the gateway that wrote this record, and not of this one. For
 * the same association, the later report decides. If it is not certain which one is later, the
 * other gateway wins: it has the record. For a request and its repetition, the device is where it
 * has sent reports. Otherwise the later association decides.
 */
static bool is_theirs(const struct bp_associations *a, const struct bp_association_note *n,
	const struct bp_phd_session *s, const struct bp_association *r)
{
	const bool has_reports = atomic_load_explicit(&s->reports, memory_order_relaxed) != 0;
	struct bp_phd_report_words w;

	if (r->owner == a->owner && r->segment == a->segment)
		return false;
	if (bp_association_same(&r->session, s))
		return !read_report(s, &w) || bp_association_report_s(w.sent, bp_mono_ns(),
						      bp_unix_ns()) <= r->report_s + REPORT_TIMES_S;
	if (is_repeated_request(&r->session, s) && has_reports != (r->session.reports != 0))
		return !has_reports;
	if (n->state == BP_ASSOCIATION_OWN) /* the record was written after this one's */
		return n->stored;
	return r->session.associated_s >= s->associated_s;
}

/* The session has the state of an earlier record, or of the store, and this gateway has written
 * the record itself: before it lost its segment. */
static bool is_of_earlier_self(const struct bp_associations *a, const struct bp_association *r)
{
	return r->owner == a->owner && r->segment != a->segment;
}

/* Whether another gateway has adopted the association and ended it: a deleted record has the mark
 * of that gateway. */
static bool has_ended(const struct bp_association_note *n, const struct bp_fleet_value *v)
{
	return !v->found && n->epoch != 0 && v->epoch > n->epoch;
}

static void forget(struct bp_associations *a, const struct pending *p)
{
	a->counters.taken++;
	(void)bp_phd_manager_forget(a->x.manager, p->slot, p->life, bp_mono_ns());
}

static void give_up(
	struct bp_associations *a, uint32_t slot, const struct bp_association *r, uint64_t epoch)
{
	const uint64_t word = word_at(a, slot);
	const bool again = is_of_earlier_self(a, r);
	uint8_t own[16];

	memcpy(own, a->x.tables->control->own[bp_phd_word_own(word)], sizeof(own));
	a->counters.taken += !again;
	if (bp_phd_manager_forget(a->x.manager, slot, bp_phd_word_life(word), bp_mono_ns()) &&
		again)
		bp_association_take(a, r, epoch, own);
}

static void compared(void *arg, const struct bp_fleet_value *v)
{
	struct pending *p = arg;
	struct bp_associations *a = p->a;
	struct bp_association_note *n = note_of(p);
	struct bp_association r;

	a->comparing--;
	if (n != NULL) {
		const struct bp_phd_session *s = session_at(a, p->slot);

		n->busy = false;
		n->put_ns = bp_mono_ns();
		if (v->known && v->found &&
			bp_association_read((const uint8_t *)v->bytes, v->len, &r) &&
			memcmp(r.session.address, s->address, 16) == 0 &&
			r.session.port == s->port && is_theirs(a, n, s, &r)) {
			give_up(a, p->slot, &r, v->epoch);
		} else if (v->known && has_ended(n, v)) {
			forget(a, p);
		} else if (v->known) {
			bp_fleet_state_outrank(a->x.fleet, v->epoch);
			n->state = BP_ASSOCIATION_OWN;
			n->moved = true;
			n->epoch = 0;
			n->generation = 0;
		}
	}
	free(p);
}

/* False: it cannot be read now. */
static bool compare(struct bp_associations *a, uint32_t slot)
{
	const struct bp_phd_session *s = session_at(a, slot);
	char key[BP_ASSOCIATION_KEY_TEXT];
	struct pending *p = NULL;

	if (a->comparing < COMPARING_MAX)
		p = new_pending(a, slot, 0);
	if (p == NULL)
		return false;
	bp_association_key(s->address, s->port, key);
	a->comparing++;
	a->note[slot].busy = true;
	if (bp_fleet_state_get(a->x.fleet, key, compared, p))
		return true;
	a->comparing--;
	a->note[slot].busy = false;
	free(p);
	return false;
}

/* ---- writes ---- */

static void put_done(void *arg, enum bp_fleet_result result)
{
	struct pending *p = arg;
	struct bp_associations *a = p->a;
	struct bp_association_note *n = note_of(p);

	a->writing--;
	if (n != NULL) {
		n->busy = false;
		if (result == BP_FLEET_STORED) {
			a->counters.stored++;
			n->epoch = p->epoch;
			n->stored = true;
			n->moved = false;
		} else {
			n->generation = 0;
			/* the stream may be refused: the record is more important */
			n->moved = n->moved && result != BP_FLEET_LOST;
			if (result == BP_FLEET_SUPERSEDED)
				compare(a, p->slot);
		}
	}
	free(p);
}

static bool write_value(
	struct bp_associations *a, const struct bp_phd_session *s, struct bp_fleet_write *w)
{
	char key[BP_ASSOCIATION_KEY_TEXT];

	bp_association_key(s->address, s->port, key);
	w->key = key;
	w->version = ++a->version;
	w->collapsible = w->prompt = true;
	if (bp_fleet_state_put(a->x.fleet, w))
		return true;
	a->counters.not_queued++;
	return false;
}

/* With the epoch of the session's record, not that of now: if another gateway has adopted the
 * association, its record has a higher one. */
static void put(struct bp_associations *a, uint32_t slot)
{
	struct bp_association_note *n = &a->note[slot];
	uint8_t record[BP_ASSOCIATION_RECORD_MAX];
	struct bp_phd_report_words words;
	const size_t len = make_record(a, slot, &words, record, sizeof(record));
	struct bp_fleet_write w = {.value = record,
		.len = len,
		.epoch = n->epoch != 0 ? n->epoch : bp_fleet_state_epoch(a->x.fleet),
		.ttl_ms = ttl_of(a),
		.done = put_done};
	uint8_t entry[BP_ASSOCIATION_MOVE];
	struct iovec move;

	if (n->moved)
		bp_association_announce(a, session_at(a, slot), entry, &move, &w);
	n->put_ns = bp_mono_ns();
	n->generation = a->generation;
	n->last = words.last;
	n->sent = words.sent;
	if (len == 0) {
		a->counters.too_large++;
		return;
	}
	w.arg = new_pending(a, slot, w.epoch);
	n->busy = w.arg != NULL;
	a->writing += n->busy;
	if (n->busy && write_value(a, session_at(a, slot), &w))
		return;
	a->writing -= n->busy;
	free(w.arg);
	n->busy = false;
	n->generation = 0;
}

/* ---- the scan ---- */

static bool is_shared(const struct bp_associations *a, uint32_t slot)
{
	return bp_phd_word_state(word_at(a, slot)) == BP_PHD_OPERATING &&
	       session_at(a, slot)->transport == BP_PHD_TRANSPORT_UDP;
}

static bool has_changed(const struct bp_associations *a, uint32_t slot)
{
	struct bp_phd_report_words w;

	return read_report(session_at(a, slot), &w) &&
	       (w.last != a->note[slot].last || w.sent != a->note[slot].sent);
}

static bool is_due(const struct bp_associations *a, uint32_t slot, uint64_t now)
{
	const struct bp_association_note *n = &a->note[slot];
	const uint64_t age = now - n->put_ns;

	return n->put_ns == 0 ||
	       (age >= BP_ASSOCIATION_INTERVAL_NS &&
		       (n->generation != a->generation || age >= BP_ASSOCIATION_RENEW_NS ||
			       has_changed(a, slot)));
}

/* Returns whether something was sent. */
static bool look(struct bp_associations *a, uint32_t slot, uint64_t now)
{
	struct bp_association_note *n = &a->note[slot];
	const uint16_t life = bp_phd_word_life(word_at(a, slot));

	if (!is_shared(a, slot))
		return false;
	if (n->state == BP_ASSOCIATION_NONE || n->life != life)
		*n = (struct bp_association_note){.state = BP_ASSOCIATION_FOUND, .life = life};
	if (n->busy || !is_due(a, slot, now))
		return false;
	if (n->state != BP_ASSOCIATION_OWN)
		return compare(a, slot);
	if (a->writing >= WRITING_MAX)
		return false;
	put(a, slot);
	return true;
}

/* While Redis does not answer, nothing is queued: the first scan afterwards finds the changes. */
static void scan(evutil_socket_t fd, short what, void *arg)
{
	struct bp_associations *a = arg;
	const uint64_t connects = bp_fleet_state_counters(a->x.fleet)->connects;
	const uint64_t now = bp_mono_ns();

	(void)fd;
	(void)what;
	if (!bp_fleet_state_ready(a->x.fleet) ||
		atomic_load_explicit(&a->x.tables->control->loading, memory_order_relaxed) != 0)
		return;
	/* another server, or one that was restarted, may have less */
	if (connects != a->connects && ++a->generation == 0)
		a->generation = 1;
	bp_association_poll_moves(a, connects != a->connects, now);
	a->connects = connects;
	for (unsigned slots = SCAN_SLOTS, sent = 0; slots > 0 && sent < SCAN_PUTS; slots--) {
		if (a->at == 0 && now - a->began_ns < SCAN_PASS_NS)
			return;
		if (a->at == 0)
			a->began_ns = now;
		sent += look(a, a->at, now);
		a->at = a->at + 1 < a->x.tables->n_slots ? a->at + 1 : 0;
	}
}

void bp_associations_finish(struct bp_associations *a)
{
	event_del(a->timer);
	for (uint32_t slot = 0; slot < a->x.tables->n_slots; slot++)
		if (bp_fleet_state_ready(a->x.fleet) && is_shared(a, slot) &&
			a->note[slot].state == BP_ASSOCIATION_OWN && has_changed(a, slot))
			put(a, slot);
}

/* ---- callbacks of the manager ---- */

static struct bp_association_note *begin(struct bp_associations *a, uint32_t slot)
{
	a->note[slot] = (struct bp_association_note){.state = BP_ASSOCIATION_OWN,
		.moved = true,
		.life = bp_phd_word_life(word_at(a, slot))};
	return &a->note[slot];
}

void bp_associations_opened(struct bp_associations *a, uint32_t slot)
{
	const struct bp_association_note *n = &a->note[slot];

	/* one that was found has a layout now (bp_phd_manager_loaded()) */
	if (is_shared(a, slot) &&
		(n->state == BP_ASSOCIATION_NONE || n->life != bp_phd_word_life(word_at(a, slot))))
		begin(a, slot);
}

void bp_association_adopted(struct bp_associations *a, uint32_t slot)
{
	/* the record of the other gateway counts as its own one, until it has written another */
	begin(a, slot)->stored = true;
	a->x.adopted(a->x.arg, slot);
}

void bp_associations_closed(struct bp_associations *a, uint32_t slot, enum bp_phd_closed why)
{
	struct bp_association_note *n = &a->note[slot];
	struct bp_fleet_write w = {.epoch = n->epoch, .ttl_ms = DELETED_MS};
	uint8_t entry[BP_ASSOCIATION_MOVE];
	struct iovec move;

	if (n->moved) /* no record did it: the previous owner has a session, too */
		bp_association_announce(a, session_at(a, slot), entry, &move, &w);
	if (n->state == BP_ASSOCIATION_OWN && (n->stored || n->busy) &&
		why != BP_PHD_CLOSED_MOVED && write_value(a, session_at(a, slot), &w))
		a->counters.ended++;
	*n = (struct bp_association_note){.state = BP_ASSOCIATION_NONE};
}

/* ---- life cycle ---- */

/* Records are compared by these numbers; the keys of the segment remain secret. */
static uint64_t number_of(const void *p, size_t len)
{
	struct sha256_ctx h;
	uint8_t digest[8];
	uint64_t n;

	sha256_init(&h);
	sha256_update(&h, len, p);
	sha256_digest(&h, sizeof(digest), digest);
	memcpy(&n, digest, sizeof(n));
	return n;
}

struct bp_associations *bp_associations_new(const struct bp_associations_setup *setup)
{
	const struct timeval interval = {.tv_usec = SCAN_MS * 1000};
	struct bp_associations *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->x = *setup;
	a->version = bp_unix_ns();
	a->generation = 1;
	a->owner = number_of(setup->name, strlen(setup->name));
	a->segment = number_of(setup->tables->hash_key, sizeof(setup->tables->hash_key));
	a->note = calloc((size_t)setup->tables->n_slots + 1, sizeof(*a->note));
	a->search = bp_association_search_new();
	a->timer = event_new(setup->base, -1, EV_PERSIST, scan, a);
	if (a->note == NULL || a->search == NULL || a->timer == NULL ||
		event_add(a->timer, &interval) != 0) {
		bp_associations_free(a);
		return NULL;
	}
	return a;
}

void bp_associations_free(struct bp_associations *a)
{
	if (a == NULL)
		return;
	if (a->timer != NULL)
		event_free(a->timer);
	bp_association_search_free(a->search);
	free(a->note);
	free(a);
}

void bp_associations_configure(struct bp_associations *a, uint64_t idle_timeout_ns)
{
	a->x.idle_timeout_ns = idle_timeout_ns;
}

void bp_associations_status(const struct bp_associations *a, json_t *answer)
{
	const struct bp_fleet_association_counters *n = &a->counters;

	json_object_set_new(answer, "fleet_associations",
		json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "stored",
			(json_int_t)n->stored, "ended", (json_int_t)n->ended, "not_queued",
			(json_int_t)n->not_queued, "too_large", (json_int_t)n->too_large,
			"requests", (json_int_t)n->requests, "limited", (json_int_t)n->limited,
			"adopted", (json_int_t)n->adopted, "not_found", (json_int_t)n->not_found,
			"invalid", (json_int_t)n->invalid, "refused", (json_int_t)n->refused,
			"taken", (json_int_t)n->taken));
}

void bp_associations_show(struct bp_associations *a)
{
	bp_fleet_counters_show((uint64_t *)&a->x.shown->associations,
		(const uint64_t *)&a->counters, (uint64_t *)&a->shown_counters,
		sizeof(a->counters) / sizeof(uint64_t));
}
