/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/controlplane/health/persist_rig.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the manager's owner ---- */

static void reply(void *arg, const struct bp_phd_peer *to, const uint8_t *apdu, size_t len)
{
	struct persist_rig *k = arg;

	k->replies++;
	if (len > 1 && apdu[0] == 0xe7) /* other requests */
		return;
	(void)to;
	memset(k->last, 0, sizeof(k->last));
	memcpy(k->last, apdu, len < sizeof(k->last) ? len : sizeof(k->last));
}

static bool known(void *arg, const uint8_t system_id[8], uint16_t config_id,
	struct bp_phd_model *out, uint16_t *spec)
{
	struct persist_rig *k = arg;

	return bp_phd_store_known(
		bp_phd_persist_store(k->persist), system_id, config_id, out, spec);
}

static void learned(void *arg, const uint8_t system_id[8], const struct bp_phd_model *m,
	struct bp_phd_bytes report)
{
	struct persist_rig *k = arg;

	(void)m;
	assert_true(bp_phd_store_learn(bp_phd_persist_store(k->persist), system_id, report));
}

static void told(
	void *arg, uint32_t slot, const uint8_t system_id[8], uint16_t config_id, uint16_t spec)
{
	struct persist_rig *k = arg;

	(void)slot;
	bp_phd_store_spec(bp_phd_persist_store(k->persist), system_id, config_id, spec);
}

static void opened(void *arg, uint32_t slot)
{
	struct persist_rig *k = arg;

	bp_phd_persist_opened(k->persist, slot);
}

static void closed(void *arg, uint32_t slot, enum bp_phd_closed why)
{
	struct persist_rig *k = arg;

	(void)why;
	bp_phd_persist_closed(k->persist, slot);
}

static bool allowed(void *arg, const uint8_t system_id[8])
{
	(void)system_id;
	return !((struct persist_rig *)arg)->denies;
}

static void unassociated(void *arg, const struct bp_phd_peer *device)
{
	struct persist_rig *k = arg;

	bp_phd_persist_unassociated(k->persist, device);
}

static enum bp_phd_taken report(void *arg, uint32_t slot, const uint8_t *apdu, size_t len)
{
	(void)arg;
	(void)slot;
	(void)apdu;
	(void)len;
	return BP_PHD_TAKEN_ANSWER;
}

static void restored(void *arg, uint32_t slot)
{
	struct persist_rig *k = arg;
	const uint64_t word = k->x.t->sessions[slot].word;

	assert_int_equal(bp_phd_word_state(word), BP_PHD_OPERATING);
	assert_int_equal(bp_phd_word_flags(word), 0);
	k->restored++;
}

/* ---- the rig ---- */

struct persist_rig *persist_rig_new(struct rig *store, uint32_t sessions)
{
	struct persist_rig *k = calloc(1, sizeof(*k));

	assert_non_null(k);
	k->store = store;
	k->base = store->base;
	k->c.enabled = true;
	k->c.max_sessions = sessions;
	k->c.max_configurations = 64;
	k->c.limits.sessions_per_address = 1000;
	k->c.limits.association_rate = 1000000;
	k->c.timeouts.config_ns = 10000000000;
	k->c.timeouts.service_ns = 3000000000;
	k->c.timeouts.release_ns = 3000000000;
	strcpy(k->c.cse.path, "cse-in/{system_id}/{object}");
	strcpy(k->c.cse.originator, "Cbiplane");
	snprintf(k->c.store_path, sizeof(k->c.store_path), "%s", store->path);
	return k;
}

void persist_rig_free(struct persist_rig *k)
{
	persist_stop(k);
	persist_lose_tables(k);
	free(k);
}

void persist_start(struct persist_rig *k)
{
	static const struct bp_phd_manager_ops ops = {.reply = reply,
		.known = known,
		.learned = learned,
		.mds_attributes = told,
		.opened = opened,
		.closed = closed,
		.allowed = allowed,
		.unassociated = unassociated,
		.report = report};
	static const struct bp_phd_persist_ops kept = {.restored = restored};
	static const uint8_t system_id[8] = {1};
	const struct bp_phd_settings plan = {.max_message = 1024,
		.family = 4,
		.release = BP_PHD_RELEASE_4,
		.named = 1,
		.con = 1,
		.hash = 1};

	if (k->tables)
		assert_int_equal(phd_take_over(&k->x), 0);
	else
		phd_open(&k->x, k->c.max_sessions, k->c.max_configurations, 1);
	k->tables = true;
	k->restored = k->replies = 0;
	bp_phd_settings_publish(k->x.w, &plan);
	k->persist = bp_phd_persist_new(k->base, &k->c, k->x.t, &kept, k);
	assert_non_null(k->persist);
	k->m = bp_phd_manager_new(&k->c, k->x.t, k->x.w, system_id, &k->counts, &ops, k);
	assert_non_null(k->m);
	bp_phd_persist_manager(k->persist, k->m);
	bp_phd_manager_adopt(k->m, test_now_ns());
	assert_int_equal(k->x.t->control->loading, 1);
}

void persist_load(struct persist_rig *k)
{
	RUN_UNTIL(k, k->x.t->control->loading == 0);
}

void persist_stop(struct persist_rig *k)
{
	if (!k->persist)
		return;
	bp_phd_persist_free(k->persist);
	bp_phd_manager_free(k->m);
	k->persist = NULL;
	k->m = NULL;
}

void persist_lose_tables(struct persist_rig *k)
{
	if (k->tables)
		phd_close(&k->x);
	k->tables = false;
}

/* ---- devices ---- */

void persist_send(
	struct persist_rig *k, unsigned device, uint16_t port, const uint8_t *apdu, size_t len)
{
	const struct bp_phd_peer from = {
		.address = {[10] = 0xff, 0xff, 10, 9, (uint8_t)(device >> 8), (uint8_t)device},
		.own = {[10] = 0xff, 0xff, 10, 1, 0, (uint8_t)(1 + device % 3)},
		.port = port,
		.transport = port < 1000 ? BP_PHD_TRANSPORT_TCP : BP_PHD_TRANSPORT_UDP,
		.connection = port < 1000 ? 1 + device : 0};

	bp_phd_manager_receive(
		k->m, &from, apdu, len, test_now_ns(), 1767225600000000000ull + device);
}

void persist_aarq(struct persist_rig *k, unsigned device, uint16_t port, uint16_t config_id)
{
	static const uint8_t bytes[] = {0xe2, 0x00, 0x00, 0x32, 0x80, 0x00, 0x00, 0x00, 0x00, 0x01,
		0x00, 0x2a, 0x50, 0x79, 0x00, 0x26, 0x80, 0x00, 0x00, 0x00, 0x80, 0x00, 0x80, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x08, 1, 2, 3, 4,
		5, 6, 7, 8, 0, 0, 0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00};
	uint8_t aarq[sizeof(bytes)];

	memcpy(aarq, bytes, sizeof(bytes));
	rig_system_id(device, aarq + 36);
	aarq[44] = (uint8_t)(config_id >> 8);
	aarq[45] = (uint8_t)config_id;
	persist_send(k, device, port, aarq, sizeof(aarq));
}

void persist_declare(struct persist_rig *k, unsigned device, uint16_t config_id, uint16_t code)
{
	const struct bp_phd_bytes info = rig_report(config_id, code, 0);
	uint8_t apdu[1024] = {
		0xe7, 0x00, 0, 0, 0, 0, 0x00, 0x01, 0x01, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0x0d, 0x1c};
	const size_t len = 22u + info.len;
	const struct {
		unsigned at;
		size_t value;
	} lengths[] = {{2, len - 4}, {4, len - 6}, {10, len - 12}, {20, info.len}};

	for (unsigned i = 0; i < 4; i++) {
		apdu[lengths[i].at] = (uint8_t)(lengths[i].value >> 8);
		apdu[lengths[i].at + 1] = (uint8_t)lengths[i].value;
	}
	memcpy(apdu + 22, info.p, info.len);
	persist_aarq(k, device, 40000, config_id);
	assert_int_equal(persist_answered(k), BP_PHD_ACCEPTED_UNKNOWN_CONFIG);
	persist_send(k, device, 40000, apdu, len);
	assert_int_equal(persist_state(k, device), BP_PHD_OPERATING);
}

int persist_answered(const struct persist_rig *k)
{
	const int choice = k->last[0] << 8 | k->last[1];

	return choice == 0xe300 ? k->last[4] << 8 | k->last[5] : choice;
}

struct bp_phd_session *persist_session(const struct persist_rig *k, unsigned device)
{
	uint8_t system_id[8];
	uint32_t slot, found;
	struct bp_phd_session *s;

	rig_system_id(device, system_id);
	if (bp_phd_manager_find(k->m, system_id, &slot) != 0)
		return NULL;
	s = &k->x.t->sessions[slot];
	assert_memory_equal(s->system_id, system_id, 8);
	assert_int_equal(bp_phd_find(k->x.t,
				 bp_phd_hash(k->x.t->hash_key, s->address, s->port, s->transport),
				 s->address, s->port, s->transport, &found),
		0);
	assert_int_equal(found, slot);
	return s;
}

enum bp_phd_state persist_state(const struct persist_rig *k, unsigned device)
{
	const struct bp_phd_session *s = persist_session(k, device);

	return s ? bp_phd_word_state(s->word) : BP_PHD_FREE;
}

/* ---- the file, as another program reads it ---- */

static sqlite3 *open_file(const struct persist_rig *k)
{
	sqlite3 *db;

	assert_null(k->persist);
	assert_int_equal(sqlite3_open(k->c.store_path, &db), SQLITE_OK);
	return db;
}

long persist_sql(const struct persist_rig *k, const char *sql)
{
	sqlite3 *db = open_file(k);
	sqlite3_stmt *st;
	long value = 0;
	int rc;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	rc = sqlite3_step(st);
	assert_true(rc == SQLITE_ROW || rc == SQLITE_DONE);
	if (rc == SQLITE_ROW)
		value = (long)sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return value;
}

static void check_row(const struct persist_rig *k, sqlite3_stmt *st)
{
	const uint8_t *address = sqlite3_column_blob(st, 1);
	const uint16_t port = (uint16_t)sqlite3_column_int(st, 2);
	const struct bp_phd_session *s;
	uint32_t slot;

	assert_int_equal(sqlite3_column_int(st, 0), BP_PHD_TRANSPORT_UDP);
	assert_int_equal(bp_phd_find(k->x.t,
				 bp_phd_hash(k->x.t->hash_key, address, port, BP_PHD_TRANSPORT_UDP),
				 address, port, BP_PHD_TRANSPORT_UDP, &slot),
		0);
	s = &k->x.t->sessions[slot];
	assert_int_equal(bp_phd_word_state(s->word), BP_PHD_OPERATING);
	assert_memory_equal(
		sqlite3_column_blob(st, 3), k->x.t->control->own[bp_phd_word_own(s->word)], 16);
	assert_memory_equal(sqlite3_column_blob(st, 4), s->system_id, 8);
	assert_int_equal(sqlite3_column_int(st, 5), s->config_id);
	assert_int_equal(sqlite3_column_int64(st, 6), (int64_t)s->config_content);
	assert_int_equal(sqlite3_column_int(st, 7), s->protocol);
	assert_int_equal(sqlite3_column_int64(st, 8), s->associated_s);
}

void persist_check_rows(const struct persist_rig *k)
{
	sqlite3 *db = open_file(k);
	sqlite3_stmt *st;
	unsigned rows = 0, sessions = 0;

	assert_int_equal(sqlite3_prepare_v2(db,
				 "SELECT transport, address, port, own, system_id, config_id,"
				 " content, protocol, associated_s FROM sessions",
				 -1, &st, NULL),
		SQLITE_OK);
	for (; sqlite3_step(st) == SQLITE_ROW; rows++)
		check_row(k, st);
	sqlite3_finalize(st);
	sqlite3_close(db);
	for (uint32_t slot = 0; slot < k->x.t->n_slots; slot++)
		sessions += bp_phd_word_state(k->x.t->sessions[slot].word) == BP_PHD_OPERATING &&
			    k->x.t->sessions[slot].transport == BP_PHD_TRANSPORT_UDP;
	assert_int_equal(rows, sessions);
}
