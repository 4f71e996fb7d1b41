/* SPDX-License-Identifier: BSD-3-Clause */
/* Resources created in a CSE for devices, their order and originator; with a minimal CSE. */
#include "tests/unit/controlplane/test.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controlplane/health/cse/cse_client.h"
#include "controlplane/health/cse/provision.h"
#include "controlplane/health/cse/provision_chain.h"

#define ASKED_MAX 256
#define PARALLEL 4

struct resource {
	char path[256];
	char fr[64]; /* of an AE: its originator */
};

struct fixture {
	struct event_base *base;
	struct bp_cse_client *client;
	struct bp_provision *provision;
	int cse;
	struct event *cse_event;
	struct bp_provision_settings settings;
	/* The CSE. */
	struct resource there[64];
	unsigned n_there;
	const char *bare; /* an AE without its policy: access only for its originator */
	bool silent;
	uint16_t say_instead; /* RSC of every answer, with its code; 0: as it is */
	uint8_t code_instead;
	char asked[ASKED_MAX][384]; /* "TY PATH FR" of each request, "GET PATH FR" */
	char body[ASKED_MAX][512];
	unsigned n_asked;
	/* The owner. */
	struct bp_provision_target target[16];
	bool offered[16];
	unsigned n_targets, n_ready, n_refused;
	uint64_t order[32];
};

static const char *const oximeter[] = {"spo2", "pulse_rate"};

/* ---- the CSE ---- */

static struct resource *find(struct fixture *f, const char *path)
{
	for (unsigned i = 0; i < f->n_there; i++)
		if (strcmp(f->there[i].path, path) == 0)
			return &f->there[i];
	return NULL;
}

static void add(struct fixture *f, const char *path, const char *fr)
{
	struct resource *r = &f->there[f->n_there++];

	assert_true(f->n_there <= 64);
	snprintf(r->path, sizeof(r->path), "%s", path);
	snprintf(r->fr, sizeof(r->fr), "%s", fr);
}

static bool registered(const struct fixture *f, const char *fr)
{
	for (unsigned i = 0; i < f->n_there; i++)
		if (strcmp(f->there[i].fr, fr) == 0)
			return true;
	return false;
}

struct asked {
	char path[160], fr[64], rn[64];
	unsigned ty;
	bool update;
};

static void read_options(const struct bp_coap *m, struct asked *a)
{
	struct bp_coap_option o = {0};
	const uint8_t *cursor = NULL;

	memset(a, 0, sizeof(*a));
	a->update = m->code == BP_COAP_CODE(0, 3);
	while (bp_coap_next(m, &cursor, &o)) {
		size_t used = strlen(a->path);

		if (o.number == BP_COAP_URI_PATH)
			snprintf(a->path + used, sizeof(a->path) - used, "%s%.*s",
				used > 0 ? "/" : "", (int)o.len, (const char *)o.value);
		if (o.number == 279)
			snprintf(a->fr, sizeof(a->fr), "%.*s", (int)o.len, (const char *)o.value);
		if (o.number == 267)
			a->ty = o.value[0];
	}
}

/* Of `acpi`: only what is there can be named. */
static uint16_t update(struct fixture *f)
{
	if (find(f, "cse-in/biplane/phd") == NULL)
		return 4000;
	f->bare = NULL;
	return 2004;
}

/* RSC of what is asked. */
static uint16_t evaluate(struct fixture *f, const struct asked *a)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", a->path, a->rn);
	if (find(f, a->path) == NULL)
		return 4004;
	if (f->bare != NULL && strcmp(a->path, f->bare) == 0 &&
		strcmp(find(f, a->path)->fr, a->fr) != 0)
		return 4103;
	if (a->update)
		return update(f);
	if (a->ty == 0)
		return 2000;
	if (a->ty == BP_M2M_AE && registered(f, a->fr))
		return 4117;
	if (find(f, path) != NULL)
		return 4105;
	add(f, path, a->ty == BP_M2M_AE ? a->fr : "");
	return 2001;
}

static uint8_t code_of(uint16_t rsc)
{
	return rsc == 2000   ? 0x45
	       : rsc == 2001 ? 0x41
	       : rsc == 2004 ? 0x44
	       : rsc == 4004 ? 0x84
	       : rsc == 4000 ? 0x80
			     : 0x83;
}

static void answer(struct fixture *f, const struct bp_coap *m, const struct asked *a, uint16_t rsc,
	const struct sockaddr_in *to)
{
	const struct resource *r = find(f, a->path);
	uint8_t out[1024], status[] = {(uint8_t)(rsc >> 8), (uint8_t)rsc};
	struct bp_coap_writer w;
	char body[256] = "";
	size_t len;

	if (rsc == 2000)
		snprintf(body, sizeof(body), "{\"m2m:ae\":{\"aei\":\"%s\"}}", r->fr);
	bp_coap_begin(&w, out, sizeof(out), BP_COAP_ACK,
		f->say_instead != 0 ? f->code_instead : code_of(rsc), m->mid, m->token,
		m->token_len);
	bp_coap_option(&w, 307, status, 2);
	len = bp_coap_end(&w, out, body, (uint32_t)strlen(body));
	sendto(f->cse, out, len, 0, (const struct sockaddr *)to, sizeof(*to));
}

static void on_request(evutil_socket_t fd, short what, void *arg)
{
	struct fixture *f = arg;
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	uint8_t p[4096];
	ssize_t n = recvfrom(fd, p, sizeof(p), MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);
	struct bp_coap m;
	struct asked a;
	const char *rn;
	char *body;

	(void)what;
	if (n <= 0 || bp_coap_read(p, (size_t)n, &m) != BP_COAP_OK || f->n_asked == ASKED_MAX)
		return;
	read_options(&m, &a);
	body = f->body[f->n_asked];
	snprintf(body, sizeof(f->body[0]), "%.*s", (int)m.payload_len, (const char *)m.payload);
	rn = strstr(body, "\"rn\":\"");
	if (rn != NULL)
		snprintf(a.rn, sizeof(a.rn), "%.*s", (int)strcspn(rn + 6, "\""), rn + 6);
	if (a.ty == 0)
		snprintf(f->asked[f->n_asked++], sizeof(f->asked[0]), "%s %s %s",
			a.update ? "PUT" : "GET", a.path, a.fr);
	else
		snprintf(f->asked[f->n_asked++], sizeof(f->asked[0]), "%u %s/%s %s", a.ty, a.path,
			a.rn, a.fr);
	if (!f->silent)
		answer(f, &m, &a, f->say_instead != 0 ? f->say_instead : evaluate(f, &a), &from);
}

/* ---- the owner ---- */

static bool next(void *arg, struct bp_provision_target *out)
{
	struct fixture *f = arg;

	for (unsigned i = 0; i < f->n_targets; i++) {
		if (f->offered[i])
			continue;
		f->offered[i] = true;
		*out = f->target[i];
		return true;
	}
	return false;
}

static void done(void *arg, uint64_t cookie, bool ready)
{
	struct fixture *f = arg;

	f->order[f->n_ready + f->n_refused] = cookie;
	f->n_ready += ready;
	f->n_refused += !ready;
	f->offered[cookie] = ready;
}

static void device(struct fixture *f, const char *const *objects, unsigned n)
{
	struct bp_provision_target *t = &f->target[f->n_targets];

	*t = (struct bp_provision_target){.cookie = f->n_targets,
		.system_id = {0x00, 0x22, 0x09, 0x22, 0x58, 0x01, 0x00, (uint8_t)f->n_targets},
		.type = "pulse_oximeter",
		.objects = objects,
		.n_objects = n};
	f->n_targets++;
}

/* ---- rig ---- */

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct sockaddr_in at = {.sin_family = AF_INET};

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	f->base = event_base_new();
	f->cse = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->cse, (struct sockaddr *)&at, sizeof(at)), 0);
	f->cse_event = event_new(f->base, f->cse, EV_READ | EV_PERSIST, on_request, f);
	event_add(f->cse_event, NULL);
	add(f, "cse-in", "");
	f->settings = (struct bp_provision_settings){.path = "cse-in/{system_id}/{object}",
		.originator = "Cbiplane",
		.name = "biplane",
		.release = BP_M2M_R4,
		.parallel = PARALLEL,
		.retry_first_ns = 1000000,
		.retry_max_ns = 4000000};
	*state = f;
	return 0;
}

static void start(struct fixture *f, unsigned outstanding, uint64_t ack_timeout_ns)
{
	static const struct bp_provision_ops ops = {next, done};
	struct bp_cse cse;
	struct bp_cse_settings to = {.release = BP_M2M_R4,
		.outstanding = outstanding,
		.ack_timeout_ns = ack_timeout_ns,
		.id_lifetime_ns = 2550000000u};
	socklen_t len = sizeof(struct sockaddr_in);

	getsockname(f->cse, (struct sockaddr *)&to.address, &len);
	f->client = bp_cse_client_new(f->base, &to);
	cse = bp_cse_by_coap(f->client);
	f->provision = bp_provision_new(f->base, &cse, &f->settings, &ops, f);
	bp_provision_kick(f->provision);
}

#define NO_REPEATS 3600000000000ull
#define RUN(f, condition)                                                                          \
	do {                                                                                       \
		start(f, 8, NO_REPEATS);                                                           \
		RUN_UNTIL(f, condition);                                                           \
	} while (0)

static int teardown(void **state)
{
	struct fixture *f = *state;

	bp_cse_client_free(f->client);
	bp_provision_free(f->provision);
	event_free(f->cse_event);
	event_base_free(f->base);
	close(f->cse);
	free(f);
	return 0;
}

static void was_asked(const struct fixture *f, const char *const *expected)
{
	unsigned n = 0;

	for (; expected[n] != NULL && n < f->n_asked; n++)
		assert_string_equal(f->asked[n], expected[n]);
	assert_null(expected[n]);
	assert_int_equal(f->n_asked, n);
}

/* ---- tests ---- */

static void one_device(void **state)
{
	static const char *const expected[] = {"2 cse-in/biplane Cbiplane",
		"1 cse-in/biplane/phd Cbiplane", "2 cse-in/0022092258010000 C0022092258010000",
		"3 cse-in/0022092258010000/spo2 Cbiplane",
		"3 cse-in/0022092258010000/pulse_rate Cbiplane", NULL};
	struct fixture *f = *state;

	f->settings.keep = 100;
	device(f, oximeter, 2);
	RUN(f, f->n_ready == 1);
	was_asked(f, expected);
	/* Bodies as a real CSE was seen to take them. */
	assert_string_equal(f->body[0], "{\"m2m:ae\":{\"rn\":\"biplane\",\"api\":\"Nbiplane\","
					"\"rr\":false,\"srv\":[\"4\"]}}");
	assert_string_equal(f->body[1],
		"{\"m2m:acp\":{\"rn\":\"phd\",\"pv\":{\"acr\":[{\"acor\":[\"Cbiplane\"],\"acop\":"
		"63}]},"
		"\"pvs\":{\"acr\":[{\"acor\":[\"Cbiplane\"],\"acop\":63}]}}}");
	assert_string_equal(f->body[2],
		"{\"m2m:ae\":{\"rn\":\"0022092258010000\",\"api\":\"Nbiplane\","
		"\"rr\":false,\"srv\":[\"4\"],\"acpi\":[\"cse-in/biplane/phd\"]}}");
	assert_string_equal(f->body[3], "{\"m2m:cnt\":{\"rn\":\"spo2\",\"mni\":100}}");
	assert_int_equal(bp_provision_counts(f->provision)->provisioned, 1);
}

/* The gateway's own resources are made once, however many devices wait; all get theirs. */
static void many_devices(void **state)
{
	struct fixture *f = *state;
	unsigned gateway = 0;

	for (unsigned i = 0; i < 12; i++)
		device(f, oximeter, 2);
	RUN(f, f->n_ready == 12);
	for (unsigned i = 0; i < f->n_asked; i++)
		gateway += strstr(f->asked[i], "biplane Cbiplane") != NULL;
	assert_int_equal(gateway, 1);
	assert_int_equal(f->n_asked, 2 + 12 * 3);
	assert_int_equal(f->n_there, 3 + 12 * 3);
}

static void a_client_with_room_for_one(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 6; i++)
		device(f, oximeter, 2);
	start(f, 1, NO_REPEATS);
	RUN_UNTIL(f, f->n_ready == 6);
	assert_int_equal(f->n_asked, 2 + 6 * 3);
}

static void what_is_there_is_no_error(void **state)
{
	static const char *const expected[] = {"2 cse-in/biplane Cbiplane",
		"GET cse-in/biplane Cbiplane", "1 cse-in/biplane/phd Cbiplane",
		"2 cse-in/0022092258010000 C0022092258010000",
		"GET cse-in/0022092258010000 Cbiplane", "3 cse-in/0022092258010000/spo2 Cbiplane",
		"3 cse-in/0022092258010000/pulse_rate Cbiplane", NULL};
	struct fixture *f = *state;

	add(f, "cse-in/biplane", "Cbiplane");
	add(f, "cse-in/biplane/phd", "");
	add(f, "cse-in/0022092258010000", "C0022092258010000");
	add(f, "cse-in/0022092258010000/spo2", "");
	device(f, oximeter, 2);
	RUN(f, f->n_ready == 1);
	was_asked(f, expected);
}

static void somebody_elses_ae(void **state)
{
	struct fixture *f = *state;

	add(f, "cse-in/0022092258010000", "Cother");
	device(f, oximeter, 2);
	device(f, oximeter, 2);
	RUN(f, f->n_ready == 1 && f->n_refused >= 3);
	assert_null(find(f, "cse-in/0022092258010000/spo2"));
	assert_non_null(find(f, "cse-in/0022092258010001/pulse_rate"));
	/* Its owner goes; then it is ours. */
	f->there[1].path[0] = f->there[1].fr[0] = '\0';
	RUN_UNTIL(f, f->n_ready == 2);
}

/* The CSE lost its tree between two devices: all is made again. */
static void the_tree_is_gone(void **state)
{
	struct fixture *f = *state;

	device(f, oximeter, 2);
	RUN(f, f->n_ready == 1);
	f->n_there = 1;
	device(f, oximeter, 2);
	bp_provision_kick(f->provision);
	/* This CSE takes an AE without its policy, so that nothing shows the loss: the containers
	 * are there. */
	RUN_UNTIL(f, f->n_ready == 2);
	assert_non_null(find(f, "cse-in/0022092258010001/pulse_rate"));
	/* Under an AE that is gone they cannot be made: the AE is made first the next time. */
	f->n_there = 1;
	f->offered[0] = false;
	f->n_ready = 0;
	bp_provision_kick(f->provision);
	RUN_UNTIL(f, f->n_ready == 1);
	assert_non_null(find(f, "cse-in/0022092258010000/spo2"));
}

static void a_refusal_makes_the_policy_anew(void **state)
{
	struct fixture *f = *state;

	device(f, oximeter, 2);
	RUN(f, f->n_ready == 1);
	f->n_there = 1;
	f->n_asked = 0;
	f->say_instead = 4000; /* the policy that the AE names is not there */
	f->code_instead = 0x80;
	device(f, oximeter, 2);
	bp_provision_kick(f->provision);
	RUN_UNTIL(f, f->n_refused >= 1);
	f->say_instead = 0;
	RUN_UNTIL(f, f->n_ready == 2);
	assert_non_null(find(f, "cse-in/biplane/phd"));
}

/* The gateway may not even look: the device's originator does, and lets it in again. */
static void the_policy_is_gone(void **state)
{
	static const char *const expected[] = {/* the policy that the AE refers to does not exist */
		"2 cse-in/0022092258010000 C0022092258010000",
		"GET cse-in/0022092258010000 Cbiplane",
		"GET cse-in/0022092258010000 C0022092258010000",
		"PUT cse-in/0022092258010000 C0022092258010000",
		/* so it is looked for first */
		"2 cse-in/biplane Cbiplane", "GET cse-in/biplane Cbiplane",
		"1 cse-in/biplane/phd Cbiplane", "2 cse-in/0022092258010000 C0022092258010000",
		"GET cse-in/0022092258010000 Cbiplane",
		"GET cse-in/0022092258010000 C0022092258010000",
		"PUT cse-in/0022092258010000 C0022092258010000",
		"3 cse-in/0022092258010000/spo2 Cbiplane",
		"3 cse-in/0022092258010000/pulse_rate Cbiplane", NULL};
	struct fixture *f = *state;

	device(f, oximeter, 2);
	RUN(f, f->n_ready == 1);
	assert_non_null(find(f, "cse-in/biplane/phd"));
	find(f, "cse-in/biplane/phd")->path[0] = '\0';
	f->bare = "cse-in/0022092258010000";
	f->n_asked = f->n_ready = 0;
	f->offered[0] = false;
	bp_provision_kick(f->provision);
	RUN_UNTIL(f, f->n_ready == 1);
	assert_null(f->bare);
	was_asked(f, expected);
	assert_string_equal(f->body[3], "{\"m2m:ae\":{\"acpi\":[\"cse-in/biplane/phd\"]}}");
}

/* Away: one asks, however many wait, and the rest continue when the CSE is back. */
static void away_and_back(void **state)
{
	struct fixture *f = *state;

	for (unsigned i = 0; i < 8; i++)
		device(f, oximeter, 2);
	start(f, 8, 1000000);
	RUN_UNTIL(f, f->n_ready == 2);
	f->silent = true;
	RUN_UNTIL(f, bp_cse_counts(f->client)->timed_out >= PARALLEL);
	assert_true(bp_provision_counts(f->provision)->unreachable_since_ns != 0);
	RUN_UNTIL(f, bp_cse_counts(f->client)->timed_out >= PARALLEL + 4);
	assert_true(bp_cse_outstanding(f->client) <= 1);
	assert_true(f->n_refused > 0); /* each time another one asks */
	f->silent = false;
	RUN_UNTIL(f, f->n_ready == 8);
	assert_int_equal(bp_provision_counts(f->provision)->unreachable_since_ns, 0);
	assert_int_equal(f->n_there, 3 + 8 * 3);
}

static void busy_is_away(void **state)
{
	struct fixture *f = *state;

	f->say_instead = 5207;
	f->code_instead = 0xa3;
	for (unsigned i = 0; i < 3; i++)
		device(f, oximeter, 2);
	start(f, 8, NO_REPEATS);
	RUN_UNTIL(f, f->n_asked >= 5);
	assert_true(bp_provision_counts(f->provision)->unreachable_since_ns != 0);
	f->say_instead = 0;
	RUN_UNTIL(f, f->n_ready == 3);
	assert_int_equal(f->n_refused, 0);
}

static void an_originator_of_its_own(void **state)
{
	static const char *const expected[] = {"2 cse-in/0022092258010000 Cphd-0022092258010000",
		"3 cse-in/0022092258010000/spo2 Cphd-0022092258010000", NULL};
	struct fixture *f = *state;

	f->settings.originator = "Cphd-{system_id}";
	device(f, oximeter, 1);
	RUN(f, f->n_ready == 1);
	was_asked(f, expected);
	assert_null(strstr(f->body[0], "acpi"));
}

static void one_ae_for_all(void **state)
{
	static const char *const expected[] = {"2 cse-in/ward Cbiplane",
		"3 cse-in/ward/0022092258010000 Cbiplane",
		"3 cse-in/ward/0022092258010000/spo2 Cbiplane",
		"3 cse-in/ward/0022092258010000/pulse_rate Cbiplane", NULL};
	struct fixture *f = *state;

	f->settings.path = "cse-in/ward/{system_id}/{object}";
	device(f, oximeter, 2);
	RUN(f, f->n_ready == 1);
	was_asked(f, expected);
}

static void a_path_without_objects(void **state)
{
	static const char *const expected[] = {"2 cse-in/biplane Cbiplane",
		"1 cse-in/biplane/phd Cbiplane", "2 cse-in/pulse_oximeter Cpulse_oximeter",
		"3 cse-in/pulse_oximeter/all Cbiplane", NULL};
	struct fixture *f = *state;

	f->settings.path = "cse-in/{type}/all";
	device(f, oximeter, 2);
	RUN(f, f->n_ready == 1);
	was_asked(f, expected);
}

static void path_templates_are_rendered(void **state)
{
	static const uint8_t id[] = {0, 1, 2, 0xab, 0xcd, 0xef, 0x10, 0xff};
	const struct bp_provision_names n = {id, "t", "o"};
	char out[64];

	(void)state;
	assert_true(bp_provision_render(out, sizeof(out), "a/{system_id}-{type}/x{object}", &n));
	assert_string_equal(out, "a/000102abcdef10ff-t/xo");
	assert_false(bp_provision_render(out, sizeof(out), "a/{other}", &n));
	assert_false(bp_provision_render(out, sizeof(out), "a/{system_id", &n));
	assert_true(bp_provision_render(out, 19, "a/{system_id}", &n));
	assert_false(bp_provision_render(out, 18, "a/{system_id}", &n));
	assert_int_equal(bp_provision_segments("a/bc/d"), 3);
	assert_int_equal(bp_provision_prefix("a/bc/d", 1), 1);
	assert_int_equal(bp_provision_prefix("a/bc/d", 2), 4);
	assert_int_equal(bp_provision_prefix("a/bc/d", 9), 6);
	assert_true(bp_provision_segment(out, 3, "a/bc/d", 1));
	assert_string_equal(out, "bc");
	assert_false(bp_provision_segment(out, 2, "a/bc/d", 1));
	assert_false(bp_provision_segment(out, sizeof(out), "a/bc/d", 3));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_device),
		TEST(many_devices),
		TEST(a_client_with_room_for_one),
		TEST(what_is_there_is_no_error),
		TEST(somebody_elses_ae),
		TEST(the_tree_is_gone),
		TEST(a_refusal_makes_the_policy_anew),
		TEST(the_policy_is_gone),
		TEST(away_and_back),
		TEST(busy_is_away),
		TEST(an_originator_of_its_own),
		TEST(one_ae_for_all),
		TEST(a_path_without_objects),
		cmocka_unit_test(path_templates_are_rendered),
	};

	return cmocka_run_group_tests_name("provisioning", tests, NULL, NULL);
}
