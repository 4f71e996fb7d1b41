/* SPDX-License-Identifier: BSD-3-Clause */
/* Two gateways share the associations of health devices in a real Redis: managers, stores and
 * tables of both, in one process. A worker is replaced by the callback for reports. */
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

static struct bp_phd_store *store_of(struct gateway *g)
{
	return bp_phd_persist_store(g->persist);
}

static void reply(void *arg, const struct bp_phd_peer *to, const uint8_t *apdu, size_t len)
{
	struct gateway *g = arg;

	(void)to;
	assert_true(len >= 2);
	g->replies++;
	g->aborts += (apdu[0] << 8 | apdu[1]) == ABRT;
}

static bool known(void *arg, const uint8_t system_id[8], uint16_t config_id,
	struct bp_phd_model *out, uint16_t *spec)
{
	return bp_phd_store_known(store_of(arg), system_id, config_id, out, spec);
}

static void learned(void *arg, const uint8_t system_id[8], const struct bp_phd_model *m,
	struct bp_phd_bytes report)
{
	(void)m;
	assert_true(bp_phd_store_learn(store_of(arg), system_id, report));
}

static void mds_attributes(
	void *arg, uint32_t slot, const uint8_t system_id[8], uint16_t config_id, uint16_t spec)
{
	(void)slot;
	bp_phd_store_spec(store_of(arg), system_id, config_id, spec);
}

static void opened(void *arg, uint32_t slot)
{
	struct gateway *g = arg;

	bp_phd_persist_opened(g->persist, slot);
	bp_associations_opened(g->associations, slot);
}

static void adopted(void *arg, uint32_t slot)
{
	struct gateway *g = arg;

	bp_phd_persist_opened(g->persist, slot);
}

static void closed(void *arg, uint32_t slot, enum bp_phd_closed why)
{
	struct gateway *g = arg;

	bp_phd_persist_closed(g->persist, slot);
	bp_associations_closed(g->associations, slot, why);
}

static bool allowed(void *arg, const uint8_t system_id[8])
{
	(void)system_id;
	return !((struct gateway *)arg)->denies;
}

static void unassociated(void *arg, const struct bp_phd_peer *device)
{
	bp_phd_persist_unassociated(((struct gateway *)arg)->persist, device);
}

static bool unknown(void *arg, const struct bp_phd_peer *from, const uint8_t *apdu, size_t len)
{
	return bp_associations_unknown(((struct gateway *)arg)->associations, from, apdu, len);
}

/* As a worker and the CSE do it. */
static enum bp_phd_taken report(void *arg, uint32_t slot, const uint8_t *apdu, size_t len)
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

static void restored(void *arg, uint32_t slot)
{
	(void)arg;
	(void)slot;
}

/* ---- gateways ---- */

static void start(struct fixture *f, unsigned i)
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
static void finish(struct gateway *g, bool tables)
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

static void configure(struct fixture *f, unsigned i)
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

static int setup(void **state)
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

static int teardown(void **state)
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

static const struct bp_fleet_association_counters *counted(struct gateway *g)
{
	bp_associations_show(g->associations);
	return &g->shown.associations;
}

/* ---- devices ---- */

static struct bp_phd_peer peer_of(unsigned device)
{
	return (struct bp_phd_peer){
		.address = {[10] = 0xff, 0xff, 10, 9, (uint8_t)(device >> 8), (uint8_t)device},
		.own = {[10] = 0xff, 0xff, 10, 1, 0, 1},
		.port = 40000,
		.transport = BP_PHD_TRANSPORT_UDP};
}

static void send_apdu(struct gateway *g, unsigned device, const void *apdu, size_t len)
{
	const struct bp_phd_peer from = peer_of(device);

	bp_phd_manager_receive(g->m, &from, apdu, len, test_now_ns(), bp_unix_ns());
}

static void send_aarq(struct gateway *g, unsigned device, uint16_t config_id)
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
static void measure(struct gateway *g, unsigned device, uint8_t n, uint8_t value)
{
	const uint8_t apdu[] = {0xe7, 0, 0, 28, 0, 26, 0, n, 0x01, 0x01, 0, 20, 0, 0, 0, 0, 0, 0,
		0x0d, 0x1d, 0, 10, 0xf0, 0, 0, n, 0, 1, 0, 0, 0, value};

	send_apdu(g, device, apdu, sizeof(apdu));
}

static void declare(struct gateway *g, unsigned device, uint16_t config_id, uint16_t code)
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

static struct bp_phd_session *session_of(const struct gateway *g, unsigned device)
{
	uint8_t system_id[8];
	uint32_t slot;

	rig_system_id(device, system_id);
	return bp_phd_manager_find(g->m, system_id, &slot) == 0 ? &g->x.t->sessions[slot] : NULL;
}

static bool operates(const struct gateway *g, unsigned device)
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

static void got(void *arg, const struct bp_fleet_value *v)
{
	struct reading *r = arg;

	r->done = true;
	r->found = v->found && v->len <= sizeof(r->bytes);
	r->epoch = v->epoch;
	r->len = r->found ? v->len : 0;
	if (r->len != 0)
		memcpy(r->bytes, v->bytes, v->len);
}

static void read_record(struct fixture *f, unsigned device, struct reading *r)
{
	const struct bp_phd_peer from = peer_of(device);
	char key[BP_ASSOCIATION_KEY_TEXT];

	r->done = false;
	bp_association_key(from.address, from.port, key);
	assert_true(bp_fleet_state_get(f->gateway[1].fleet, key, got, r));
	RUN_UNTIL(f, r->done);
}

/* Whether the record has this report, or is there (0). */
static bool record_has(struct fixture *f, unsigned device, uint8_t n)
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
static void write_record(struct fixture *f, unsigned device, const uint8_t *p, size_t len)
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

static void associated(struct fixture *f, unsigned i, unsigned device)
{
	send_aarq(&f->gateway[i], device, 400);
	assert_true(operates(&f->gateway[i], device));
	RUN_UNTIL(f, record_has(f, device, 0));
}

/* ---- tests ---- */

/* The gateway is gone; the device knows nothing of it, and repeats its last report. */
static void last_report_is_recognised(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];
	uint32_t associated_s, reports;
	uint16_t life;

	associated(f, 0, 1);
	measure(one, 1, 7, 70);
	assert_int_equal(one->instances, 1);
	associated_s = session_of(one, 1)->associated_s;
	reports = session_of(one, 1)->reports;
	life = bp_phd_word_life(session_of(one, 1)->word);
	RUN_UNTIL(f, record_has(f, 1, 7));
	finish(one, false);
	measure(two, 1, 7, 70);
	assert_int_equal(two->replies, 0); /* while Redis is asked */
	measure(two, 1, 7, 70);
	RUN_UNTIL(f, two->replies == 1);
	assert_int_equal(two->repeats, 1);
	assert_int_equal(two->instances + two->aborts, 0);
	assert_int_equal(two->origin.associated_s, associated_s);
	assert_int_equal(two->origin.report, reports - 1);
	assert_int_equal(two->origin.life, life);
	assert_int_equal(session_of(two, 1)->reports, reports + BP_PHD_STORE_RAISE);
	assert_int_equal(session_of(two, 1)->associated_s, associated_s);
	/* other bytes with the same numbers are another report */
	measure(two, 1, 7, 71);
	measure(two, 1, 8, 71);
	assert_int_equal(two->instances, 2);
	RUN_UNTIL(f, record_has(f, 1, 8));
	assert_int_equal(counted(two)->requests, 1);
	assert_int_equal(counted(two)->adopted, 1);
}

/* A report of which no answer of the CSE is known: its parts are sent with the names of the first
 * gateway, and by no worker. */
static void open_report_keeps_its_names(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];
	struct bp_phd_session *s;

	associated(f, 0, 1);
	one->silent = true;
	measure(one, 1, 7, 70);
	RUN_UNTIL(f, record_has(f, 1, 7));
	measure(two, 1, 7, 70);
	RUN_UNTIL(f, two->repeats == 1);
	s = session_of(two, 1);
	assert_int_equal(bp_phd_last_open(s->last), 1);
	assert_int_equal(bp_phd_sent_number(s->sent), BP_PHD_SENT_NONE);
	assert_true(bp_phd_carries_open(s, test_now_ns()));
	assert_false(bp_phd_carries_open(s, test_now_ns() + 250000000000));
	measure(two, 1, 8, 71);
	assert_false(bp_phd_carries_open(s, test_now_ns()));
}

/* The owner that was cut off learns it from its refused write, and does not notify the device. */
static void previous_owner_forgets(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];

	associated(f, 0, 1);
	measure(one, 1, 1, 70);
	RUN_UNTIL(f, record_has(f, 1, 1));
	measure(two, 1, 2, 71);
	RUN_UNTIL(f, record_has(f, 1, 2));
	measure(one, 1, 3, 72);
	RUN_UNTIL(f, session_of(one, 1) == NULL);
	assert_int_equal(one->aborts, 0);
	assert_int_equal(counted(one)->taken, 1);
	assert_true(record_has(f, 1, 2));
	/* and back, with the last report of the other gateway */
	measure(one, 1, 2, 71);
	RUN_UNTIL(f, one->repeats == 1);
	assert_true(operates(two, 1));
	measure(one, 1, 4, 73);
	RUN_UNTIL(f, record_has(f, 1, 4));
}

/* A higher epoch of the process, for the association of another device, is not one of this record.
 */
static void epoch_is_of_the_record(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];

	associated(f, 0, 1);
	associated(f, 1, 2);
	measure(two, 1, 1, 70);
	RUN_UNTIL(f, record_has(f, 1, 1));
	measure(one, 2, 1, 70);
	RUN_UNTIL(f, record_has(f, 2, 1));
	assert_true(bp_fleet_state_epoch(one->fleet) > bp_fleet_state_epoch(two->fleet));
	measure(one, 1, 2, 71);
	RUN_UNTIL(f, session_of(one, 1) == NULL);
	assert_true(record_has(f, 1, 1));
}

/* The record of another gateway has a report from long before: the device is here. */
static void owner_of_the_later_report(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0];
	struct bp_association a;
	struct reading r;

	for (uint8_t late = 0; late < 2; late++) {
		associated(f, 0, 1 + late);
		measure(one, 1 + late, 1, 70);
		RUN_UNTIL(f, record_has(f, 1 + late, 1));
		read_record(f, 1 + late, &r);
		assert_true(bp_association_read(r.bytes, r.len, &a));
		a.owner++;
		a.report_s -= late != 0 ? 4 : 100;
		write_record(
			f, 1 + late, r.bytes, bp_association_write(&a, r.bytes, sizeof(r.bytes)));
		measure(one, 1 + late, 2, 71);
		if (late != 0) /* it is not certain */
			RUN_UNTIL(f, session_of(one, 1 + late) == NULL);
		else
			RUN_UNTIL(f, record_has(f, 1 + late, 2));
	}
	assert_true(operates(one, 1));
	assert_int_equal(counted(one)->taken, 1);
}

static void declared_configuration(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];

	declare(one, 2, 0x4000, 19384);
	assert_true(operates(one, 2));
	RUN_UNTIL(f, record_has(f, 2, 0));
	measure(two, 2, 1, 70);
	RUN_UNTIL(f, two->instances == 1);
	assert_int_equal(session_of(two, 2)->config_id, 0x4000);
	assert_int_equal(session_of(two, 2)->config_content, session_of(one, 2)->config_content);
	/* it declares another one there: that is the association */
	send_apdu(two, 2, RLRQ, 6);
	declare(two, 2, 0x4001, 18949);
	RUN_UNTIL(f, record_has(f, 2, 0));
	measure(one, 2, 2, 71);
	RUN_UNTIL(f, session_of(one, 2) == NULL);
	measure(one, 2, 3, 72);
	RUN_UNTIL(f, session_of(one, 2) != NULL);
	assert_int_equal(session_of(one, 2)->config_id, 0x4001);
}

static void released(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];

	associated(f, 0, 1);
	/* at the other gateway, which ends the association of the first one */
	send_apdu(two, 1, RLRQ, 6);
	RUN_UNTIL(f, two->replies == 1);
	assert_int_equal(two->aborts, 0);
	RUN_UNTIL(f, !record_has(f, 1, 0));
	measure(two, 1, 1, 70);
	RUN_UNTIL(f, two->aborts == 1);
	assert_int_equal(counted(two)->not_found, 1);
	/* the first one ends its session, and does not store the association again */
	RUN_UNTIL(f, !operates(one, 1));
	assert_int_equal(counted(one)->taken, 1);
	assert_int_equal(one->aborts, 0);
	assert_false(record_has(f, 1, 0));
	associated(f, 0, 1);
	assert_true(operates(one, 1));
}

/* The previous owner writes its record again, and finds the mark of the other gateway. */
static void released_while_the_owner_reports(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];

	associated(f, 0, 1);
	send_apdu(two, 1, RLRQ, 6);
	RUN_UNTIL(f, !record_has(f, 1, 0));
	measure(one, 1, 1, 70); /* was late */
	RUN_UNTIL(f, !operates(one, 1));
	assert_false(record_has(f, 1, 0));
}

static void absent_device_is_remembered(void **state)
{
	struct fixture *f = *state;
	struct gateway *two = &f->gateway[1];

	measure(two, 9, 1, 70);
	RUN_UNTIL(f, two->aborts == 1);
	for (uint8_t i = 2; i < 50; i++)
		measure(two, 9, i, 70);
	assert_int_equal(two->aborts, 49);
	assert_int_equal(counted(two)->requests, 1);
	/* it may associate */
	associated(f, 1, 9);
	measure(two, 9, 1, 70);
	assert_int_equal(two->instances, 1);
}

/* Forged sources cause a bounded number of reads, and those beyond get no answer. */
static void reads_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct gateway *two = &f->gateway[1];
	const uint64_t before = test_now_ns();
	uint64_t requests, seconds;

	for (unsigned i = 1; i < 5000; i++)
		measure(two, i, 1, 70);
	requests = counted(two)->requests;
	seconds = (test_now_ns() - before) / 1000000000u + 1;
	assert_true(requests <= BP_ASSOCIATION_READS_PENDING);
	assert_true(requests <= BP_ASSOCIATION_READS_BURST + seconds * BP_ASSOCIATION_READS);
	assert_int_equal(requests + counted(two)->limited, 4999);
	assert_int_equal(two->replies, 0);
	/* on a slow machine some have no answer in time: the device repeats its report */
	RUN_UNTIL(f, counted(two)->not_found + bp_fleet_state_counters(two->fleet)->reads_failed >=
			     requests);
	assert_int_equal(two->aborts, counted(two)->not_found);
}

/* Values of which no byte is trusted. */
static void hostile_values(void **state)
{
	struct fixture *f = *state;
	struct gateway *two = &f->gateway[1];
	struct reading r;
	unsigned n = 20;

	associated(f, 0, 1);
	measure(&f->gateway[0], 1, 7, 70);
	RUN_UNTIL(f, record_has(f, 1, 7));
	read_record(f, 1, &r);
	/* of another device */
	write_record(f, n, r.bytes, r.len);
	measure(two, n++, 7, 70);
	RUN_UNTIL(f, two->aborts == 1);
	assert_int_equal(counted(two)->invalid, 1);
	/* every bit of it, and each length */
	for (size_t bit = 0; bit < r.len * 8 && n < 200; bit += 7, n++) {
		uint8_t bytes[BP_ASSOCIATION_RECORD_MAX];

		memcpy(bytes, r.bytes, r.len);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		write_record(f, n, bytes, bit % 3 == 0 ? bit / 8 + 1 : r.len);
		measure(two, n, 7, 70);
		RUN_UNTIL(f, two->aborts + operates(two, n) == n - 19);
		assert_false(operates(two, n));
	}
	assert_int_equal(counted(two)->invalid, n - 20);
	assert_int_equal(counted(two)->adopted, 0);
}

static void limits_of_this_gateway(void **state)
{
	struct fixture *f = *state;
	struct gateway *two = &f->gateway[1];

	two->denies = true;
	associated(f, 0, 1);
	measure(two, 1, 1, 70);
	RUN_UNTIL(f, two->aborts == 1);
	assert_int_equal(counted(two)->refused, 1);
	two->denies = false;
	for (unsigned i = 100; i < 100 + SESSIONS; i++)
		send_aarq(two, i, 400);
	assert_int_equal(two->x.t->control->sessions, SESSIONS);
	associated(f, 0, 3);
	measure(two, 3, 1, 70);
	RUN_UNTIL(f, two->aborts == 2);
	assert_int_equal(counted(two)->refused, 2);
	assert_int_equal(two->x.t->control->sessions, SESSIONS);
}

/* The control plane restarts: its sessions stay, unless another gateway has them. */
static void returning_owner(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];

	associated(f, 0, 1);
	associated(f, 0, 2);
	measure(one, 1, 1, 70);
	RUN_UNTIL(f, record_has(f, 1, 1));
	finish(one, true);
	measure(two, 1, 2, 71);
	RUN_UNTIL(f, record_has(f, 1, 2));
	start(f, 0);
	RUN_UNTIL(f, session_of(one, 1) == NULL);
	assert_int_equal(one->aborts, 0);
	assert_true(record_has(f, 1, 2));
	assert_true(operates(one, 2));
	measure(one, 2, 5, 75);
	RUN_UNTIL(f, record_has(f, 2, 5));
	/* the report before the restart of the other one is known, too */
	measure(one, 1, 2, 71);
	RUN_UNTIL(f, one->repeats == 1);
}

/* It has lost its segment: the record has the last report, which the store on disk has not. */
static void segment_lost(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0];

	associated(f, 0, 1);
	measure(one, 1, 1, 70);
	RUN_UNTIL(f, record_has(f, 1, 1));
	finish(one, false);
	start(f, 0);
	RUN_UNTIL(f, operates(one, 1) && session_of(one, 1)->sent != 0);
	measure(one, 1, 1, 70);
	assert_int_equal(one->repeats, 1);
	assert_int_equal(one->aborts, 0);
	assert_int_equal(counted(one)->adopted, 1);
	assert_int_equal(counted(one)->taken, 0);
	measure(one, 1, 2, 71);
	RUN_UNTIL(f, record_has(f, 1, 2));
}

static void redis_restarts(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];

	associated(f, 0, 1);
	associated(f, 0, 2);
	RUN_UNTIL(f, counted(one)->stored == 2);
	test_redis_kill(&f->redis);
	RUN_UNTIL(
		f, !bp_fleet_state_connected(one->fleet) && !bp_fleet_state_connected(two->fleet));
	measure(one, 1, 1, 70);
	assert_int_equal(one->instances, 1);
	/* as without a fleet */
	measure(two, 1, 1, 70);
	assert_int_equal(two->aborts, 1);
	assert_int_equal(counted(two)->requests, 0);
	test_redis_start(&f->redis);
	RUN_UNTIL(f, bp_fleet_state_ready(one->fleet) && bp_fleet_state_ready(two->fleet) &&
			     record_has(f, 1, 1) && record_has(f, 2, 0));
	measure(two, 1, 1, 70);
	RUN_UNTIL(f, two->repeats == 1);
}

/* Without idle_timeout a device may measure once a day. */
static void keys_expire(void **state)
{
	struct fixture *f = *state;
	char words[128];
	long ms;

	associated(f, 0, 1);
	snprintf(words, sizeof(words), "pttl " KEY, 1u);
	ms = strtol(test_redis_cli(&f->redis, words), NULL, 10);
	assert_in_range(ms, 47 * 3600 * 1000, 48 * 3600 * 1000);
	bp_associations_configure(f->gateway[0].associations, 60000000000);
	measure(&f->gateway[0], 1, 1, 70);
	RUN_UNTIL(f, record_has(f, 1, 1));
	ms = strtol(test_redis_cli(&f->redis, words), NULL, 10);
	assert_in_range(ms, 3600 * 1000, 3660 * 1000);
}

static void key_texts(void **state)
{
	const uint8_t ip4[16] = {[10] = 0xff, 0xff, 10, 0, 0, 5}, ip6[16] = {0xfd, [15] = 1};
	uint8_t longest[16];
	char text[BP_ASSOCIATION_KEY_TEXT];

	(void)state;
	bp_association_key(ip4, 6024, text);
	assert_string_equal(text, "phd:10.0.0.5:6024");
	bp_association_key(ip6, 6024, text);
	assert_string_equal(text, "phd:[fd00::1]:6024");
	memset(longest, 0xee, sizeof(longest));
	bp_association_key(longest, 65535, text);
	assert_true(strlen(text) < sizeof(text) - 1);
	assert_non_null(strstr(text, "]:65535"));
}

/* The previous owner ends its session although its device sends nothing to it: else the reports of
 * another device with this address and port would be stored as those of the first one. */
static void silent_session_is_taken(void **state)
{
	struct fixture *f = *state;
	struct gateway *one = &f->gateway[0], *two = &f->gateway[1];
	const uint64_t began = bp_mono_ns();
	struct reading r;

	associated(f, 0, 1);
	associated(f, 0, 2);
	/* adopted by the second one, and back again */
	measure(two, 1, 7, 70);
	RUN_UNTIL(f, two->replies == 1 && counted(one)->taken == 1);
	assert_true(operates(two, 1) && !operates(one, 1) && operates(one, 2));
	measure(one, 1, 8, 70);
	RUN_UNTIL(f, counted(two)->taken == 1);
	assert_true(operates(one, 1) && !operates(two, 1));
	/* associated at the second one */
	send_aarq(two, 2, 400);
	RUN_UNTIL(f, counted(one)->taken == 2);
	assert_true(operates(two, 2) && !operates(one, 2));
	/* not by the record that each session has without a report */
	assert_true(bp_mono_ns() - began < BP_ASSOCIATION_RENEW_NS);
	assert_int_equal(one->aborts + two->aborts, 0);
	/* entries that this program has not written, more than one read has */
	test_redis_cli(&f->redis, "-r 600 --user biplane --pass SECRET xadd "
				  "biplane:plant:phd-moves '*' s x > /dev/null");
	test_redis_cli(&f->redis, "--user biplane --pass SECRET xadd biplane:plant:phd-moves '*' s "
				  "123456789012345678901234567890");
	test_redis_cli(
		&f->redis, "--user biplane --pass SECRET xadd biplane:plant:phd-moves '*' a b c d");
	/* more values than an answer may have */
	test_redis_cli(&f->redis,
		"--user biplane --pass SECRET xadd biplane:plant:phd-moves '*' $(seq 6000)");
	associated(f, 1, 3);
	send_aarq(one, 3, 400);
	RUN_UNTIL(f, counted(two)->taken == 2);
	read_record(f, 3, &r);
	assert_true(r.found);
	assert_int_equal(bp_fleet_state_counters(one->fleet)->error[BP_FLEET_ERROR_PROTOCOL], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key_texts),
		cmocka_unit_test_setup_teardown(silent_session_is_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(last_report_is_recognised, setup, teardown),
		cmocka_unit_test_setup_teardown(open_report_keeps_its_names, setup, teardown),
		cmocka_unit_test_setup_teardown(previous_owner_forgets, setup, teardown),
		cmocka_unit_test_setup_teardown(epoch_is_of_the_record, setup, teardown),
		cmocka_unit_test_setup_teardown(owner_of_the_later_report, setup, teardown),
		cmocka_unit_test_setup_teardown(declared_configuration, setup, teardown),
		cmocka_unit_test_setup_teardown(released, setup, teardown),
		cmocka_unit_test_setup_teardown(released_while_the_owner_reports, setup, teardown),
		cmocka_unit_test_setup_teardown(absent_device_is_remembered, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_values, setup, teardown),
		cmocka_unit_test_setup_teardown(limits_of_this_gateway, setup, teardown),
		cmocka_unit_test_setup_teardown(returning_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(segment_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(redis_restarts, setup, teardown),
		cmocka_unit_test_setup_teardown(keys_expire, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
