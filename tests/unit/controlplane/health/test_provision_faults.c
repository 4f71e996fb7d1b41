/* SPDX-License-Identifier: BSD-3-Clause */
/* Provisioning with a CSE that refuses some requests, is busy, or is unreachable. */
#include "tests/unit/controlplane/test.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/health/cse/cse_client.h"
#include "controlplane/health/cse/provision.h"
#include "controlplane/health/cse/provision_chain.h"
#include "tests/unit/controlplane/health/cse_peer.h"

#define ASKED_MAX 512u
#define DEVICES 40u
#define HOUR_NS 3600000000000ull
#define MS_NS 1000000ull

struct fixture {
	struct event_base *base; /* of all */
	struct peer peer;
	struct bp_cse_client *client;
	struct bp_provision *provision;
	struct bp_provision_settings settings;
	/* The CSE: AEs and who registered them; what it says to those whose AE has that name. */
	char ae[DEVICES + 2][40], by[DEVICES + 2][40];
	unsigned n_ae;
	const char *bad[8];
	unsigned n_bad, bad_code, bad_rsc, bad_asked;
	enum { SAYS_NO, RESETS, IS_SILENT } bad_way;
	uint64_t ack_timeout_ns;    /* 0: none comes */
	char asked[ASKED_MAX][160]; /* "TY PATH/RN FR" */
	unsigned n_asked;
	/* The owner: a queue of devices, in which one that is handed back is the last. */
	unsigned queue[4096], head, tail, handed_back;
	bool ready[DEVICES];
	unsigned n_ready;
};

static const char *const objects[] = {"spo2"};

/* ---- the CSE ---- */

static const char *registrant(const struct fixture *f, const char *ae)
{
	for (unsigned i = 0; i < f->n_ae; i++)
		if (strcmp(f->ae[i], ae) == 0)
			return f->by[i];
	return NULL;
}

static bool is_registered(const struct fixture *f, const char *fr)
{
	for (unsigned i = 0; i < f->n_ae; i++)
		if (strcmp(f->by[i], fr) == 0)
			return true;
	return false;
}

static bool is_bad(const struct fixture *f, const char *ae)
{
	for (unsigned i = 0; i < f->n_bad; i++)
		if (strcmp(f->bad[i], ae) == 0)
			return true;
	return false;
}

static void say_whose(struct peer *p, const struct peer_message *m, const char *aei)
{
	char out[128] = {0x68, 0x45};
	size_t n = 12;

	out[2] = (char)(m->mid >> 8);
	out[3] = (char)m->mid;
	memcpy(out + 4, m->p + 4, 8);
	n += (size_t)snprintf(out + n, sizeof(out) - n, "\xff{\"m2m:ae\":{\"aei\":\"%s\"}}", aei);
	peer_send(p, out, n);
}

/* One originator registers one AE. */
static void make_ae(struct fixture *f, const struct peer_message *m, const char *rn, const char *fr)
{
	if (is_registered(f, fr)) {
		peer_put(&f->peer, PEER_ACK, 0x83, m->mid, &m->token, 4117);
	} else if (registrant(f, rn) != NULL) {
		peer_put(&f->peer, PEER_ACK, 0x83, m->mid, &m->token, 4105);
	} else {
		snprintf(f->ae[f->n_ae], sizeof(f->ae[0]), "%s", rn);
		snprintf(f->by[f->n_ae++], sizeof(f->by[0]), "%s", fr);
		peer_created(&f->peer, m);
	}
}

static void on_request(struct peer *p, const struct peer_message *m)
{
	struct fixture *f = p->arg;
	char path[128], body[512], rn[40] = "", fr[40] = "";
	const uint8_t *from, *ty;
	size_t from_len, ty_len;
	const char *name;

	peer_path(m, path, sizeof(path));
	peer_payload(m, body, sizeof(body));
	from = peer_option(m, 279, 0, &from_len);
	ty = peer_option(m, 267, 0, &ty_len);
	assert_non_null(from);
	snprintf(fr, sizeof(fr), "%.*s", (int)from_len, (const char *)from);
	if (m->code == 1) {
		name = strchr(path, '/');
		assert_non_null(name);
		assert_non_null(registrant(f, name + 1));
		say_whose(p, m, registrant(f, name + 1));
		return;
	}
	assert_true(ty != NULL && ty_len == 1);
	name = strstr(body, "\"rn\":\"");
	assert_non_null(name);
	snprintf(rn, sizeof(rn), "%.*s", (int)strcspn(name + 6, "\""), name + 6);
	if (f->n_asked < ASKED_MAX)
		snprintf(f->asked[f->n_asked++], sizeof(f->asked[0]), "%u %.60s/%s %s", ty[0], path,
			rn, fr);
	if (is_bad(f, rn)) {
		f->bad_asked++;
		if (f->bad_way == SAYS_NO)
			peer_put(p, PEER_ACK, f->bad_code, m->mid, &m->token, f->bad_rsc);
		else if (f->bad_way == RESETS)
			peer_put(p, PEER_RST, 0, m->mid, NULL, 0);
	} else if (ty[0] == 2) {
		make_ae(f, m, rn, fr);
	} else {
		peer_created(p, m);
	}
}

/* ---- the owner ---- */

static bool next(void *arg, struct bp_provision_target *out)
{
	struct fixture *f = arg;
	unsigned i;

	if (f->head == f->tail)
		return false;
	i = f->queue[f->head++ % 4096];
	*out = (struct bp_provision_target){.cookie = i,
		.system_id = {0, 0x22, 9, 0x22, 0x58, 1, 0, (uint8_t)i},
		.type = i % 2 == 0 ? "pulse_oximeter" : "thermometer",
		.objects = objects,
		.n_objects = 1};
	return true;
}

static void done(void *arg, uint64_t cookie, bool ready)
{
	struct fixture *f = arg;

	assert_false(f->ready[cookie]);
	f->ready[cookie] = ready;
	f->n_ready += ready;
	f->handed_back += !ready;
	if (!ready)
		f->queue[f->tail++ % 4096] = (unsigned)cookie;
}

static struct fixture *make(unsigned parallel, uint64_t first_ns, uint64_t max_ns)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->base = event_base_new();
	f->peer.on = on_request;
	f->peer.arg = f;
	peer_open(&f->peer, f->base);
	f->settings = (struct bp_provision_settings){.path = "cse-in/{system_id}/{object}",
		.originator = "Cbiplane",
		.name = "biplane",
		.release = BP_M2M_R4,
		.parallel = parallel,
		.retry_first_ns = first_ns,
		.retry_max_ns = max_ns};
	return f;
}

static void start(struct fixture *f, unsigned devices, unsigned outstanding)
{
	static const struct bp_provision_ops ops = {next, done};
	struct bp_cse cse;
	struct bp_cse_settings to = {.release = BP_M2M_R4,
		.outstanding = outstanding,
		.ack_timeout_ns = f->ack_timeout_ns != 0 ? f->ack_timeout_ns : HOUR_NS,
		.id_lifetime_ns = 2550000000u};
	struct sockaddr_in *a = (struct sockaddr_in *)&to.address;

	a->sin_family = AF_INET;
	a->sin_port = htons(f->peer.port);
	a->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	f->client = bp_cse_client_new(f->base, &to);
	cse = bp_cse_by_coap(f->client);
	assert_non_null(f->client);
	f->provision = bp_provision_new(f->base, &cse, &f->settings, &ops, f);
	assert_non_null(f->provision);
	for (unsigned i = 0; i < devices; i++)
		f->queue[f->tail++] = i;
	bp_provision_kick(f->provision);
}

static void finish(struct fixture *f)
{
	bp_cse_client_free(f->client);
	bp_provision_free(f->provision);
	peer_close(&f->peer);
	event_base_free(f->base);
	free(f);
}

static unsigned times_asked(const struct fixture *f, const char *what)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->n_asked; i++)
		n += strcmp(f->asked[i], what) == 0;
	return n;
}

static unsigned times_by(const struct fixture *f, const char *end)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->n_asked; i++) {
		const char *by = strrchr(f->asked[i], ' ');

		n += by != NULL && strncmp(by + 1, end, strlen(end)) == 0;
	}
	return n;
}

/* ---- whose AE ---- */

/* An AE of each type, although the devices' names are deeper in the path. */
static void test_ae_of_a_type(void **state)
{
	struct fixture *f = make(1, HOUR_NS, HOUR_NS);

	(void)state;
	f->settings.path = "cse-in/{type}/{system_id}/{object}";
	start(f, 4, 8);
	RUN_UNTIL(f, f->n_ready == 4);
	assert_int_equal(f->handed_back, 0);
	assert_string_equal(registrant(f, "pulse_oximeter"), "Cpulse_oximeter");
	assert_string_equal(registrant(f, "thermometer"), "Cthermometer");
	assert_int_equal(times_by(f, "C00"), 0);
	assert_int_equal(times_asked(f, "1 cse-in/biplane/phd Cbiplane"), 1);
	assert_int_equal(
		times_asked(f, "3 cse-in/pulse_oximeter/0022092258010002/spo2 Cbiplane"), 1);
	finish(f);
}

static void test_ae_of_all(void **state)
{
	struct fixture *f = make(2, HOUR_NS, HOUR_NS);

	(void)state;
	f->settings.path = "cse-in/ward/{system_id}/{object}";
	start(f, 4, 8);
	RUN_UNTIL(f, f->n_ready == 4);
	assert_int_equal(f->handed_back, 0);
	assert_int_equal(f->n_ae, 1);
	assert_string_equal(registrant(f, "ward"), "Cbiplane");
	assert_int_equal(times_by(f, "Cbiplane"), f->n_asked);
	assert_int_equal(times_asked(f, "1 cse-in/ward/phd Cbiplane"), 0);
	assert_int_equal(times_asked(f, "2 cse-in/ward Cbiplane"), 1);
	finish(f);
}

/* ---- refused ---- */

static void bad_devices(struct fixture *f, unsigned code, unsigned rsc)
{
	static const char *const bad[] = {
		"0022092258010000", "0022092258010001", "0022092258010003"};

	memcpy(f->bad, bad, sizeof(bad));
	f->n_bad = 3;
	f->bad_code = code;
	f->bad_rsc = rsc;
}

/* With a single chain, and pauses that do not end: other devices depend on its continuation.
 */
static void test_rejected_requests_block_no_other(void **state)
{
	struct fixture *f = make(1, HOUR_NS, HOUR_NS);

	(void)state;
	bad_devices(f, 0x83, 4103);
	start(f, DEVICES, 8);
	RUN_UNTIL(f, f->n_ready == DEVICES - 3);
	assert_false(f->ready[0] || f->ready[1] || f->ready[3]);
	/* a new device, after the pausing ones */
	f->ready[7] = false;
	f->queue[f->tail++] = 7;
	bp_provision_kick(f->provision);
	RUN_UNTIL(f, f->ready[7]);
	/* handed back often, asked for once */
	assert_int_equal(f->bad_asked, 3);
	assert_int_equal(bp_provision_counts(f->provision)->refused, 3);
	assert_int_equal(f->tail - f->head, 3);
	finish(f);
}

static void test_refused_are_tried_again(void **state)
{
	struct fixture *f = make(2, MS_NS, 4 * MS_NS);

	(void)state;
	bad_devices(f, 0x83, 4103);
	start(f, 6, 8);
	RUN_UNTIL(f, f->n_ready == 3 && f->bad_asked >= 12);
	f->n_bad = 0;
	RUN_UNTIL(f, f->n_ready == 6);
	finish(f);
}

/* A CSE that stumbles over some devices, or says nothing of them, is there for the others. */
static void one_way_of_no_answer(bool silent)
{
	struct fixture *f = make(1, MS_NS, 4 * MS_NS);

	bad_devices(f, 0, 0);
	f->bad_way = silent ? IS_SILENT : RESETS;
	f->ack_timeout_ns = MS_NS;
	start(f, 6, 8);
	RUN_UNTIL(f, f->n_ready == 3);
	assert_false(f->ready[0] || f->ready[1] || f->ready[3]);
	f->n_bad = 0;
	RUN_UNTIL(f, f->n_ready == 6);
	assert_int_equal(bp_provision_counts(f->provision)->unreachable_since_ns, 0);
	finish(f);
}

static void test_unreadable_responses_block_no_other(void **state)
{
	(void)state;
	one_way_of_no_answer(false);
}

static void test_unanswered_requests_block_no_other(void **state)
{
	(void)state;
	one_way_of_no_answer(true);
}

/* Others are answered meanwhile: the CSE is there, and no one waits for it. */
static void test_one_is_not_answered(void **state)
{
	struct fixture *f = make(2, HOUR_NS, HOUR_NS);

	(void)state;
	bad_devices(f, 0, 0);
	f->n_bad = 1;
	f->bad_way = IS_SILENT;
	f->ack_timeout_ns = MS_NS;
	start(f, DEVICES, 8);
	RUN_UNTIL(f, f->n_ready == DEVICES - 1 && f->handed_back > 0);
	assert_int_equal(bp_provision_counts(f->provision)->unreachable_since_ns, 0);
	f->ready[7] = false;
	f->queue[f->tail++] = 7;
	bp_provision_kick(f->provision);
	RUN_UNTIL(f, f->ready[7]);
	assert_int_equal(bp_provision_counts(f->provision)->refused, 0);
	finish(f);
}

/* The CSE counts as away, and who asks whether it is back is not answered: another one asks, too.
 */
static void test_the_probe_is_not_answered(void **state)
{
	struct fixture *f = make(2, MS_NS, 4 * MS_NS);
	unsigned asked;

	(void)state;
	bad_devices(f, 0xa3, 5103);
	f->n_bad = 1;
	start(f, 1, 8);
	RUN_UNTIL(f,
		f->bad_asked > 0 && bp_provision_counts(f->provision)->unreachable_since_ns != 0);
	f->bad_way = IS_SILENT;
	asked = f->bad_asked;
	RUN_UNTIL(f, f->bad_asked > asked);
	f->queue[f->tail++] = 1;
	bp_provision_kick(f->provision);
	RUN_UNTIL(f, f->ready[1]);
	assert_int_equal(bp_provision_counts(f->provision)->unreachable_since_ns, 0);
	finish(f);
}

/* Common resources are requested by one device, which waits. */
static void test_refused_base(void **state)
{
	struct fixture *f = make(4, MS_NS, 4 * MS_NS);

	(void)state;
	f->bad[0] = "phd";
	f->n_bad = 1;
	f->bad_code = 0x83;
	f->bad_rsc = 4103;
	start(f, 8, 8);
	RUN_UNTIL(f, f->bad_asked >= 3);
	assert_int_equal(f->handed_back, 0);
	assert_int_equal(times_by(f, "C00"), 0);
	f->n_bad = 0;
	RUN_UNTIL(f, f->n_ready == 8);
	assert_int_equal(f->handed_back, 0);
	finish(f);
}

/* ---- busy ---- */

/* The first device is always answered busy: another device detects the end. */
static void test_busy_for_one(void **state)
{
	struct fixture *f = make(1, MS_NS, 4 * MS_NS);

	(void)state;
	bad_devices(f, 0xa3, 5103);
	f->n_bad = 1;
	start(f, 8, 8);
	RUN_UNTIL(f, f->n_ready == 7);
	assert_false(f->ready[0]);
	RUN_UNTIL(f, f->bad_asked >= 4);
	f->n_bad = 0;
	RUN_UNTIL(f, f->n_ready == 8);
	assert_int_equal(bp_provision_counts(f->provision)->unreachable_since_ns, 0);
	assert_int_equal(bp_provision_counts(f->provision)->refused, 0);
	finish(f);
}

/* Only those that it is too busy for are left, and those of several chains. */
static void test_busy_for_all(void **state)
{
	struct fixture *f = make(4, MS_NS, 4 * MS_NS);

	(void)state;
	bad_devices(f, 0x9d, 0);
	start(f, 4, 8);
	RUN_UNTIL(f, f->n_ready == 1 && f->bad_asked >= 12);
	f->n_bad = 0;
	RUN_UNTIL(f, f->n_ready == 4);
	assert_int_equal(bp_provision_counts(f->provision)->unreachable_since_ns, 0);
	finish(f);
}

/* ---- not there ---- */

/* That no one listens is known at once: the pauses begin without a repetition, and end. */
static void test_without_a_listener(void **state)
{
	struct fixture *f = make(4, MS_NS, 4 * MS_NS);

	(void)state;
	peer_close(&f->peer);
	start(f, 8, 8);
	RUN_UNTIL(f, bp_cse_counts(f->client)->refused >= 4);
	assert_true(bp_provision_counts(f->provision)->unreachable_since_ns != 0);
	assert_int_equal(bp_cse_counts(f->client)->repeats, 0);
	peer_open(&f->peer, f->base);
	RUN_UNTIL(f, f->n_ready == 8);
	assert_int_equal(f->handed_back, 0);
	assert_int_equal(bp_provision_counts(f->provision)->unreachable_since_ns, 0);
	finish(f);
}

/* All chains get on with a client that takes one request. */
static void test_client_with_one_place(void **state)
{
	struct fixture *f = make(4, HOUR_NS, HOUR_NS);

	(void)state;
	start(f, 20, 1);
	RUN_UNTIL(f, f->n_ready == 20);
	assert_int_equal(f->n_asked, 2 + 20 * 2);
	finish(f);
}

/* ---- pauses ---- */

static void id_of(uint8_t id[8], unsigned i)
{
	memset(id, 0, 8);
	id[0] = (uint8_t)i;
	id[7] = (uint8_t)(i >> 8);
}

static void test_pauses(void **state)
{
	static const uint64_t expected[] = {10, 20, 40, 70, 70};
	struct bp_provision_pauses *p = calloc(1, sizeof(*p));
	uint64_t now = 1000;
	uint8_t id[8];

	(void)state;
	assert_non_null(p);
	id_of(id, 0);
	assert_null(bp_provision_pause_of(p, id));
	assert_true(bp_provision_pause_end(p, now) == UINT64_MAX);
	for (unsigned i = 0; i < 5; i++) {
		bp_provision_pause_begin(p, id, now, 10, 70);
		assert_int_equal(bp_provision_pause_of(p, id)->due_ns, now + expected[i]);
		now += 1000;
	}
	bp_provision_pause_forget(p, id);
	assert_null(bp_provision_pause_of(p, id));
	bp_provision_pause_begin(p, id, now, 10, 70);
	assert_int_equal(bp_provision_pause_end(p, now), now + 10);
	assert_true(bp_provision_pause_end(p, now + 10) == UINT64_MAX);
	/* one too many: the first, whose pause ends first, is forgotten */
	for (unsigned i = 1; i <= BP_PROVISION_PAUSES; i++) {
		id_of(id, i);
		bp_provision_pause_begin(p, id, now + i, 10, 70);
	}
	for (unsigned i = 0; i <= BP_PROVISION_PAUSES; i++) {
		id_of(id, i);
		assert_int_equal(bp_provision_pause_of(p, id) != NULL, i > 0);
	}
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ae_of_a_type),
		cmocka_unit_test(test_ae_of_all),
		cmocka_unit_test(test_rejected_requests_block_no_other),
		cmocka_unit_test(test_refused_are_tried_again),
		cmocka_unit_test(test_unreadable_responses_block_no_other),
		cmocka_unit_test(test_unanswered_requests_block_no_other),
		cmocka_unit_test(test_one_is_not_answered),
		cmocka_unit_test(test_the_probe_is_not_answered),
		cmocka_unit_test(test_refused_base),
		cmocka_unit_test(test_busy_for_one),
		cmocka_unit_test(test_busy_for_all),
		cmocka_unit_test(test_without_a_listener),
		cmocka_unit_test(test_client_with_one_place),
		cmocka_unit_test(test_pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
