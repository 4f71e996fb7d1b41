/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_CONTROLPLANE_FLEET_ASSOCIATION_STEPS_H
#define BP_TESTS_UNIT_CONTROLPLANE_FLEET_ASSOCIATION_STEPS_H

#include "tests/unit/controlplane/fleet/redis_rig.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/fleet/state.h"
#include "controlplane/health/associations.h"
#include "controlplane/health/store/persist.h"
#include "controlplane/process/clock.h"
#include "services/health/association_record.h"
#include "services/health/last_report.h"
#include "services/health/template.h"
#include "tests/unit/controlplane/health/phd_store_rig.h"
#include "tests/unit/shm/health/phd_rig.h"

/* Two gateways share the associations of health devices in a real Redis: managers, stores and
 * tables of both, in one process. A worker is replaced by the callback for reports. */

#define SESSIONS 64u
#define KEY "biplane:plant:phd:10.9.0.%u:40000"
#define ABRT 0xe600
#define RLRQ "\xe4\x00\x00\x02\x00\x00"

struct fixture;

struct gateway {
	struct fixture *f;
	struct phd_rig x;
	struct bp_config_phd c;
	struct bp_phd_manager_counts counts;
	struct bp_phd_manager *m;
	struct bp_phd_persist *persist;
	struct bp_fleet_state *fleet;
	struct bp_associations *associations;
	struct bp_shm_fleet shown;
	bool tables, denies;
	bool silent; /* the CSE does not answer: reports remain open */
	unsigned replies, aborts, instances, repeats;
	struct bp_phd_origin origin; /* of the last repetition */
};

struct fixture {
	char dir[64];
	struct test_redis redis;
	struct event_base *base;
	struct bp_config *config;
	struct gateway gateway[2];
};

/* ---- the owner of a manager ---- */

static inline struct bp_phd_store *store_of(struct gateway *g)
{
	return bp_phd_persist_store(g->persist);
}

static inline void reply(void *arg, const struct bp_phd_peer *to, const uint8_t *apdu, size_t len)
{
	struct gateway *g = arg;

	(void)to;
	assert_true(len >= 2);
	g->replies++;
	g->aborts += (apdu[0] << 8 | apdu[1]) == ABRT;
}

static inline bool known(void *arg, const uint8_t system_id[8], uint16_t config_id,
	struct bp_phd_model *out, uint16_t *spec)
{
	return bp_phd_store_known(store_of(arg), system_id, config_id, out, spec);
}

static inline void learned(void *arg, const uint8_t system_id[8], const struct bp_phd_model *m,
	struct bp_phd_bytes report)
{
	(void)m;
	assert_true(bp_phd_store_learn(store_of(arg), system_id, report));
}

static inline void mds_attributes(
	void *arg, uint32_t slot, const uint8_t system_id[8], uint16_t config_id, uint16_t spec)
{
	(void)slot;
	bp_phd_store_spec(store_of(arg), system_id, config_id, spec);
}

static inline void opened(void *arg, uint32_t slot)
{
	struct gateway *g = arg;

	bp_phd_persist_opened(g->persist, slot);
	bp_associations_opened(g->associations, slot);
}

static inline void adopted(void *arg, uint32_t slot)
{
	struct gateway *g = arg;

	bp_phd_persist_opened(g->persist, slot);
}

static inline void closed(void *arg, uint32_t slot, enum bp_phd_closed why)
{
	struct gateway *g = arg;

	bp_phd_persist_closed(g->persist, slot);
	bp_associations_closed(g->associations, slot, why);
}

static inline bool allowed(void *arg, const uint8_t system_id[8])
{
	(void)system_id;
	return !((struct gateway *)arg)->denies;
}

static inline void unassociated(void *arg, const struct bp_phd_peer *device)
{
	bp_phd_persist_unassociated(((struct gateway *)arg)->persist, device);
}

static inline bool unknown(
	void *arg, const struct bp_phd_peer *from, const uint8_t *apdu, size_t len)
{
	return bp_associations_unknown(((struct gateway *)arg)->associations, from, apdu, len);
}

/* As a worker and the CSE do it. */
static inline enum bp_phd_taken report(void *arg, uint32_t slot, const uint8_t *apdu, size_t len)
{
	struct gateway *g = arg;
	struct bp_phd_session *s = &g->x.t->sessions[slot];
	const uint16_t invoke_id = (uint16_t)(apdu[6] << 8 | apdu[7]);
	const uint16_t number = (uint16_t)(apdu[24] << 8 | apdu[25]);
	const uint16_t hash = bp_phd_report_hash(bp_phd_report_key, apdu, len);
	const struct bp_phd_report_words w = bp_phd_report_words_read(s);
	const uint64_t now = test_now_ns();

	if (bp_phd_is_repeat(w.last, w.sent, invoke_id, number, hash, now)) {
		g->repeats++;
		g->origin = s->origin;
		return BP_PHD_TAKEN_ANSWER;
	}
	g->instances++;
	bp_phd_report_words_begin(s);
	s->origin = (struct bp_phd_origin){0};
	bp_phd_report_words_end(s, bp_phd_last_pack(invoke_id, number, g->silent),
		bp_phd_sent_pack(0x61a80001, hash, now));
	return g->silent ? BP_PHD_TAKEN : BP_PHD_TAKEN_ANSWER;
}

static inline void restored(void *arg, uint32_t slot)
{
	(void)arg;
	(void)slot;
}

/* ---- gateways ---- */

static inline void start(struct fixture *f, unsigned i)
{
	static const struct bp_phd_manager_ops ops = {.reply = reply,
		.known = known,
		.learned = learned,
		.mds_attributes = mds_attributes,
		.opened = opened,
		.closed = closed,
		.allowed = allowed,
		.unassociated = unassociated,
		.unknown = unknown,
		.report = report};
	static const struct bp_phd_persist_ops kept = {.restored = restored};
	static const uint8_t system_id[8] = {1};
	const struct bp_phd_settings plan = {.max_message = 1024,
		.family = 4,
		.release = BP_PHD_RELEASE_4,
		.named = 1,
		.con = 1,
		.hash = 1};
	struct gateway *g = &f->gateway[i];
	struct bp_associations_setup setup = {
		.base = f->base, .name = i == 0 ? "one" : "two", .adopted = adopted, .arg = g};
	char err[512];

	g->f = f;
	if (g->tables)
		assert_int_equal(phd_take_over(&g->x), 0);
	else
		phd_open(&g->x, g->c.max_sessions, 64, 1);
	if (!g->tables) /* each segment has a key of its own */
		evutil_secure_rng_get_bytes(g->x.t->hash_key, sizeof(g->x.t->hash_key));
	g->tables = true;
	bp_phd_settings_publish(g->x.w, &plan);
	g->persist = bp_phd_persist_new(f->base, &g->c, g->x.t, &kept, g);
	assert_non_null(g->persist);
	g->m = bp_phd_manager_new(&g->c, g->x.t, g->x.w, system_id, &g->counts, &ops, g);
	assert_non_null(g->m);
	bp_phd_persist_manager(g->persist, g->m);
	bp_phd_manager_adopt(g->m, test_now_ns());
	g->fleet = bp_fleet_state_new(f->base, &f->config->fleet, err, sizeof(err));
	assert_non_null(g->fleet);
	setup.fleet = g->fleet;
	setup.tables = g->x.t;
	setup.manager = g->m;
	setup.store = store_of(g);
	setup.shown = &g->shown;
	setup.idle_timeout_ns = g->c.idle_timeout_ns;
	g->associations = bp_associations_new(&setup);
	assert_non_null(g->associations);
	RUN_UNTIL(f, g->x.t->control->loading == 0 && bp_fleet_state_ready(g->fleet));
}

/* As at the end of the control plane. tables: they outlive it. */
static inline void finish(struct gateway *g, bool tables)
{
	if (g->fleet == NULL)
		return;
	bp_associations_show(g->associations);
	bp_fleet_state_free(g->fleet);
	bp_associations_free(g->associations);
	bp_phd_persist_free(g->persist);
	bp_phd_manager_free(g->m);
	g->fleet = NULL;
	g->tables = tables;
	if (!tables)
		phd_close(&g->x);
}

static inline void configure(struct fixture *f, unsigned i)
{
	struct bp_config_phd *c = &f->gateway[i].c;

	c->enabled = true;
	c->max_sessions = SESSIONS;
	c->max_configurations = 64;
	c->limits.sessions_per_address = 1000;
	c->limits.association_rate = 1000000;
	c->timeouts.config_ns = 10000000000;
	c->timeouts.service_ns = 3000000000;
	c->timeouts.release_ns = 3000000000;
	strcpy(c->cse.path, "cse-in/{system_id}/{object}");
	strcpy(c->cse.originator, "Cbiplane");
	snprintf(c->store_path, sizeof(c->store_path), "%s/%u.db", f->dir, i);
}

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	char text[512];

	test_dir_make(f->dir, sizeof(f->dir));
	f->base = event_base_new();
	test_redis_make(&f->redis, f->dir, "redis", test_redis_user());
	snprintf(text, sizeof(text),
		"version: 1\nname: g\nports: [{name: a, device: x, routed: {}}]\n"
		"fleet: {name: plant, state: {server: \"redis://127.0.0.1:%u\", timeout: "
		"2s%s}}\n",
		f->redis.port, test_redis_login(f->dir));
	f->config = bp_config_parse("test", text, strlen(text), stderr);
	assert_non_null(f->config);
	test_redis_start(&f->redis);
	*state = f;
	for (unsigned i = 0; i < 2; i++) {
		configure(f, i);
		start(f, i);
	}
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 2; i++)
		finish(&f->gateway[i], false);
	bp_config_free(f->config);
	event_base_free(f->base);
	test_redis_assert_access(&f->redis);
	test_redis_kill(&f->redis);
	test_dir_remove(f->dir);
	free(f);
	return 0;
}

static inline const struct bp_fleet_association_counters *counted(struct gateway *g)
{
	bp_associations_show(g->associations);
	return &g->shown.associations;
}

/* ---- devices ---- */

static inline struct bp_phd_peer peer_of(unsigned device)
{
	return (struct bp_phd_peer){
		.address = {[10] = 0xff, 0xff, 10, 9, (uint8_t)(device >> 8), (uint8_t)device},
		.own = {[10] = 0xff, 0xff, 10, 1, 0, 1},
		.port = 40000,
		.transport = BP_PHD_TRANSPORT_UDP};
}

static inline void send_apdu(struct gateway *g, unsigned device, const void *apdu, size_t len)
{
	const struct bp_phd_peer from = peer_of(device);

	bp_phd_manager_receive(g->m, &from, apdu, len, test_now_ns(), bp_unix_ns());
}

static inline void send_aarq(struct gateway *g, unsigned device, uint16_t config_id)
{
	uint8_t aarq[] = {0xe2, 0x00, 0x00, 0x32, 0x80, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x2a,
		0x50, 0x79, 0x00, 0x26, 0x80, 0x00, 0x00, 0x00, 0x80, 0x00, 0x80, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x80, 0x00, 0x00, 0x00, 0x08, 1, 2, 3, 4, 5, 6, 7, 8,
		0, 0, 0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00};

	rig_system_id(device, aarq + 36);
	aarq[44] = (uint8_t)(config_id >> 8);
	aarq[45] = (uint8_t)config_id;
	send_apdu(g, device, aarq, sizeof(aarq));
}

/* A confirmed report, with the numbers n, whose only value is `value`. */
static inline void measure(struct gateway *g, unsigned device, uint8_t n, uint8_t value)
{
	const uint8_t apdu[] = {0xe7, 0, 0, 28, 0, 26, 0, n, 0x01, 0x01, 0, 20, 0, 0, 0, 0, 0, 0,
		0x0d, 0x1d, 0, 10, 0xf0, 0, 0, n, 0, 1, 0, 0, 0, value};

	send_apdu(g, device, apdu, sizeof(apdu));
}

static inline void declare(struct gateway *g, unsigned device, uint16_t config_id, uint16_t code)
{
	const struct bp_phd_bytes info = rig_report(config_id, code, 0);
	uint8_t apdu[1024] = {
		0xe7, 0x00, 0, 0, 0, 0, 0x00, 0x01, 0x01, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0x0d, 0x1c};
	const size_t len = 22u + info.len;
	const size_t lengths[][2] = {{2, len - 4}, {4, len - 6}, {10, len - 12}, {20, info.len}};

	for (unsigned i = 0; i < 4; i++) {
		apdu[lengths[i][0]] = (uint8_t)(lengths[i][1] >> 8);
		apdu[lengths[i][0] + 1] = (uint8_t)lengths[i][1];
	}
	memcpy(apdu + 22, info.p, info.len);
	send_aarq(g, device, config_id);
	send_apdu(g, device, apdu, len);
}

static inline struct bp_phd_session *session_of(const struct gateway *g, unsigned device)
{
	uint8_t system_id[8];
	uint32_t slot;

	rig_system_id(device, system_id);
	return bp_phd_manager_find(g->m, system_id, &slot) == 0 ? &g->x.t->sessions[slot] : NULL;
}

static inline bool operates(const struct gateway *g, unsigned device)
{
	const struct bp_phd_session *s = session_of(g, device);

	return s != NULL && bp_phd_word_state(s->word) == BP_PHD_OPERATING;
}

/* ---- records ---- */

struct reading {
	bool done, found;
	uint64_t epoch;
	uint8_t bytes[BP_ASSOCIATION_RECORD_MAX];
	size_t len;
};

static inline void got(void *arg, const struct bp_fleet_value *v)
{
	struct reading *r = arg;

	r->done = true;
	r->found = v->found && v->len <= sizeof(r->bytes);
	r->epoch = v->epoch;
	r->len = r->found ? v->len : 0;
	if (r->len != 0)
		memcpy(r->bytes, v->bytes, v->len);
}

static inline void read_record(struct fixture *f, unsigned device, struct reading *r)
{
	const struct bp_phd_peer from = peer_of(device);
	char key[BP_ASSOCIATION_KEY_TEXT];

	r->done = false;
	bp_association_key(from.address, from.port, key);
	assert_true(bp_fleet_state_get(f->gateway[1].fleet, key, got, r));
	RUN_UNTIL(f, r->done);
}

/* Whether the record has this report, or is there (0). */
static inline bool record_has(struct fixture *f, unsigned device, uint8_t n)
{
	struct bp_association a;
	struct reading r;

	read_record(f, device, &r);
	if (!r.found)
		return false;
	assert_true(bp_association_read(r.bytes, r.len, &a));
	return n == 0 || (a.report_s != 0 && bp_phd_last_invoke_id(a.session.carried.last) == n);
}

/* As another gateway, with a mark above all others. */
static inline void write_record(struct fixture *f, unsigned device, const uint8_t *p, size_t len)
{
	static uint64_t version = UINT64_MAX / 2;
	const uint64_t one = bp_fleet_state_epoch(f->gateway[0].fleet);
	const uint64_t two = bp_fleet_state_epoch(f->gateway[1].fleet);
	const struct bp_phd_peer from = peer_of(device);
	char key[BP_ASSOCIATION_KEY_TEXT];
	const struct bp_fleet_write w = {.key = key,
		.value = p,
		.len = len,
		.version = ++version,
		.epoch = ((one > two ? one : two) | 0xffff) + 1,
		.ttl_ms = 60000};

	bp_association_key(from.address, from.port, key);
	assert_true(bp_fleet_state_put(f->gateway[1].fleet, &w));
	RUN_UNTIL(f, bp_fleet_state_lag_ns(f->gateway[1].fleet) == 0);
}

static inline void associated(struct fixture *f, unsigned i, unsigned device)
{
	send_aarq(&f->gateway[i], device, 400);
	assert_true(operates(&f->gateway[i], device));
	RUN_UNTIL(f, record_has(f, device, 0));
}

#endif
