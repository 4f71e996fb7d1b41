/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/biplane/fleet/bounded_json.h"
#include "apps/biplane/fleet/etcd.h"
#include "apps/biplane/fleet/follow.h"
#include "apps/biplane/fleet/rollout.h"
#include "apps/biplane/fleet/select.h"
#include "apps/biplane/fleet/store.h"
#include "apps/biplane/fleet/trial.h"

static char dir[64];
static struct bp_fleet_signer signer, stranger;
static struct bp_fleet_keys keys;

static void in_dir(const char *name, char path[128])
{
	snprintf(path, 128, "%s/%s", dir, name);
}

static int make_keys(void **state)
{
	char path[128], err[512];

	strcpy(dir, "/tmp/biplane-fleet.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	in_dir("key", path);
	if (bp_fleet_keygen(path, err, sizeof(err)) != 0 ||
		bp_fleet_signer_read(&signer, path, err, sizeof(err)) != 0)
		return -1;
	in_dir("other", path);
	if (bp_fleet_keygen(path, err, sizeof(err)) != 0 ||
		bp_fleet_signer_read(&stranger, path, err, sizeof(err)) != 0)
		return -1;
	keys.n = 1;
	memcpy(keys.key[0], signer.key, sizeof(signer.key));
	return 0;
}

static int remove_dir(void **state)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

/* ---- keys ---- */

static void keys_are_those_of_openssl(void **state)
{
	char command[512], path[128], err[512] = "";
	struct bp_config_fleet_files files = {.n = 1};
	struct bp_fleet_keys read;
	struct bp_fleet_signer own;

	snprintf(command, sizeof(command),
		"cd %s && umask 077 && openssl genpkey -algorithm ed25519 -out o && openssl pkey "
		"-in o -pubout "
		"-out o.pub && openssl pkey -in key -pubout | cmp - key.pub",
		dir);
	assert_int_equal(system(command), 0);
	in_dir("o", path);
	assert_int_equal(bp_fleet_signer_read(&own, path, err, sizeof(err)), 0);
	snprintf(files.path[0], sizeof(files.path[0]), "%s/o.pub", dir);
	assert_int_equal(bp_fleet_keys_read(&read, &files, err, sizeof(err)), 0);
	assert_memory_equal(read.key[0], own.key, BP_ED25519_KEY);
}

static void unsafe_or_other_key_files_are_refused(void **state)
{
	char path[128], err[512] = "";
	struct bp_config_fleet_files files = {.n = 1};
	struct bp_fleet_keys read;
	struct bp_fleet_signer own;

	in_dir("key", path);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(bp_fleet_signer_read(&own, path, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "other users have access to it; expected mode 600"));
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(bp_fleet_keygen(path, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "File exists"));
	/* a private key is no public key, and the other way round */
	snprintf(files.path[0], sizeof(files.path[0]), "%s/key", dir);
	assert_int_equal(bp_fleet_keys_read(&read, &files, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "is not an Ed25519 public key in PEM"));
	in_dir("key.pub", path);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(bp_fleet_signer_read(&own, path, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "is not an Ed25519 private key"));
}

/* ---- signed documents ---- */

static struct bp_etcd_row row_of(const char *key, char *text)
{
	struct bp_etcd_row row = {.key = (char *)key, .value = json_string(text)};

	free(text);
	return row;
}

static struct bp_fleet_rollout a_rollout(uint64_t serial, const char *selector)
{
	struct bp_fleet_rollout r = {.serial = serial, .version = 1, .created = "now"};

	snprintf(r.selector, sizeof(r.selector), "%s", selector);
	memset(r.sha256, 'a', BP_SHA256_HEX - 1);
	return r;
}

static void refused(struct bp_etcd_row row, const char *fleet, const char *why)
{
	struct bp_fleet_rollout r;
	char err[512] = "";

	assert_int_equal(bp_fleet_rollout_read(&keys, fleet, &row, &r, err, sizeof(err)), -1);
	if (strstr(err, why) == NULL)
		fail_msg("expected '%s', got '%s'", why, err);
	json_decref(row.value);
}

static void signed_rollout_is_read(void **state)
{
	struct bp_fleet_rollout r = a_rollout(7, "site=north"), read;
	struct bp_etcd_row row;
	char err[512] = "";

	r.n_canaries = 1;
	strcpy(r.canary[0], "gw1");
	row = row_of("/biplane/f/rollouts/site=north", bp_fleet_rollout_sign(&signer, "f", &r));
	assert_int_equal(bp_fleet_rollout_read(&keys, "f", &row, &read, err, sizeof(err)), 0);
	assert_true(read.serial == 7 && read.version == 1 && bp_fleet_is_canary(&read, "gw1"));
	assert_false(bp_fleet_is_canary(&read, "gw2"));
	json_decref(row.value);
}

static void changed_documents_are_refused(void **state)
{
	struct bp_fleet_rollout r = a_rollout(7, "all");
	struct bp_fleet_bundle b = {.version = 7, .text = "mqtt: {}", .len = 8};
	char *text = bp_fleet_rollout_sign(&signer, "f", &r), *at;

	at = strstr(text, "\\\"serial\\\":7");
	assert_non_null(at);
	at[strlen("\\\"serial\\\":")] = '9';
	refused(row_of("/r/all", text), "f", "none of fleet.config.keys has signed it");
	refused(row_of("/r/all", bp_fleet_rollout_sign(&stranger, "f", &r)), "f",
		"none of fleet.config.keys has signed it");
	/* valid documents in the wrong place */
	refused(row_of("/r/all", bp_fleet_rollout_sign(&signer, "g", &r)), "f", "another fleet");
	refused(row_of("/r/a=b", bp_fleet_rollout_sign(&signer, "f", &r)), "f", "another selector");
	refused(row_of("/r/all", bp_fleet_bundle_sign(&signer, "f", &b)), "f",
		"none of fleet.config.keys has signed it");
	refused(row_of("/r/all", strdup("{\"body\":\"{}\"}")), "f", "not a signed document");
	refused(row_of("/r/all", strdup("{\"body\":")), "f", "not a signed document");
	r.version = 8;
	refused(row_of("/r/all", bp_fleet_rollout_sign(&signer, "f", &r)), "f", "out of range");
}

static void bundle_has_its_hash_and_version(void **state)
{
	struct bp_fleet_bundle b = {.version = 7, .text = "mqtt: {}", .len = 8}, read;
	struct bp_etcd_row row;
	char err[512] = "";

	bp_sha256_hex(b.text, b.len, b.sha256);
	assert_string_equal(b.sha256, "f82a88b9d5da0b37c72c501642eaee11"
				      "68067f9ae878288260d6b1549a3b6463");
	row = row_of("/b/7", bp_fleet_bundle_sign(&signer, "f", &b));
	assert_int_equal(bp_fleet_bundle_read(&keys, "f", &row, &read, err, sizeof(err)), 0);
	assert_string_equal(read.text, b.text);
	free(read.text);
	json_decref(row.value);
	row = row_of("/b/8", bp_fleet_bundle_sign(&signer, "f", &b));
	assert_int_equal(bp_fleet_bundle_read(&keys, "f", &row, &read, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "another version"));
	json_decref(row.value);
	b.sha256[0] ^= 1;
	row = row_of("/b/7", bp_fleet_bundle_sign(&signer, "f", &b));
	assert_int_equal(bp_fleet_bundle_read(&keys, "f", &row, &read, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "SHA-256 is wrong"));
	json_decref(row.value);
}

/* ---- selection ---- */

static void selectors_are_read_and_sorted(void **state)
{
	static const char *const bad[] = {"", "a", "a=", "=b", "a=b,", "a=b,a=c", "a=b c", "a=b/c",
		"a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1"};
	struct bp_config_fleet_labels l, member;
	char text[BP_FLEET_SELECTOR_MAX], err[512];

	assert_true(bp_fleet_selector_read("site=north,role=edge", &l, err, sizeof(err)));
	bp_fleet_selector_text(&l, text);
	assert_string_equal(text, "role=edge,site=north");
	assert_true(bp_fleet_selector_read("site=north,role=edge,x=y", &member, err, sizeof(err)));
	assert_true(bp_fleet_selector_matches(&l, &member));
	assert_false(bp_fleet_selector_matches(&member, &l));
	assert_true(bp_fleet_selector_read("all", &l, err, sizeof(err)));
	assert_true(bp_fleet_selector_matches(&l, &member));
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(bp_fleet_selector_read(bad[i], &l, err, sizeof(err)));
}

static void the_most_specific_rollout_is_chosen(void **state)
{
	struct bp_fleet_rollout all = a_rollout(9, "all"), north = a_rollout(5, "site=north"),
				south = a_rollout(8, "site=south"), chosen;
	struct bp_etcd_row row[] = {
		row_of("/r/all", bp_fleet_rollout_sign(&signer, "f", &all)),
		row_of("/r/site=north", bp_fleet_rollout_sign(&signer, "f", &north)),
		row_of("/r/site=south", bp_fleet_rollout_sign(&stranger, "f", &south)),
	};
	struct bp_etcd_rows rows = {3, row};
	struct bp_config_fleet fleet = {.name = "f"};
	char err[1024] = "";

	assert_int_equal(bp_fleet_choose(&keys, &fleet, &rows, &chosen, err, sizeof(err)), 1);
	assert_int_equal(chosen.serial, 9);
	assert_true(bp_fleet_selector_read("site=north", &fleet.labels, err, sizeof(err)));
	assert_int_equal(bp_fleet_choose(&keys, &fleet, &rows, &chosen, err, sizeof(err)), 1);
	assert_int_equal(chosen.serial, 5);
	/* one that matches and is invalid: not the next one */
	assert_true(bp_fleet_selector_read("site=south", &fleet.labels, err, sizeof(err)));
	assert_int_equal(bp_fleet_choose(&keys, &fleet, &rows, &chosen, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "rollout site=south is refused: none of fleet.config.keys"));
	rows.n = 0;
	assert_int_equal(bp_fleet_choose(&keys, &fleet, &rows, &chosen, err, sizeof(err)), 0);
	for (unsigned i = 0; i < 3; i++)
		json_decref(row[i].value);
}

static bool canary_with(const char *record, char why[512])
{
	struct bp_fleet_rollout r = a_rollout(7, "all");
	struct bp_etcd_row row = {.key = "/m/gw1", .value = json_string(record)};
	const bool passed =
		bp_fleet_canary_passed(record != NULL ? &row : NULL, &r, "gw1", why, 512);

	json_decref(row.value);
	return passed;
}

static void canary_must_pass(void **state)
{
	char why[512];

	assert_true(canary_with("{\"serial\":7,\"version\":1,\"state\":\"applied\"}", why));
	assert_false(canary_with("{\"serial\":7,\"version\":2,\"state\":\"applied\"}", why));
	assert_false(canary_with("{\"serial\":6,\"version\":1,\"state\":\"applied\"}", why));
	assert_string_equal(why, "canary gw1 has not passed its trial yet");
	assert_false(canary_with("{\"serial\":7,\"state\":\"trial\"}", why));
	assert_false(canary_with("{\"serial\":7,\"state\":\"rolled_back\"}", why));
	assert_string_equal(why, "stopped: canary gw1 has rolled back it");
	assert_false(canary_with("[7]", why));
	assert_false(canary_with("{", why));
	assert_false(canary_with(NULL, why));
	assert_string_equal(why, "canary gw1 is not connected to etcd");
}

/* ---- health ---- */

static bool worse(const char *before, const char *now, char why[512])
{
	json_error_t error;
	json_t *a = json_loads(before, 0, &error), *b = json_loads(now, 0, &error);
	bool is;

	assert_true(a != NULL && b != NULL);
	is = bp_fleet_is_worse(a, b, why, 512);
	json_decref(a);
	json_decref(b);
	return is;
}

static void new_problems_are_worse(void **state)
{
	char why[512];

	assert_false(worse("{\"problems\":[\"a\",\"b\"],\"planes\":[1,2]}",
		"{\"problems\":[\"b\"],\"planes\":[1,2]}", why));
	assert_true(worse("{\"problems\":[\"a\"],\"planes\":[1,2]}",
		"{\"problems\":[\"c\"],\"planes\":[1,2]}", why));
	assert_string_equal(why, "health became worse in the trial time: c");
	assert_true(worse(
		"{\"problems\":[],\"planes\":[1,2]}", "{\"problems\":[],\"planes\":[1,3]}", why));
	assert_string_equal(why, "a plane was restarted in the trial time");
}

/* A rollout waits for it, and does not take its restart for a result. */
static void plane_that_ended_does_not_run(void **state)
{
	json_t *status = json_pack("{s[{ss si sb} {ss si sb} {ss si sb}]}", "planes", "plane",
		"data plane", "pid", 7, "running", 0, "plane", "control plane", "pid", 8, "running",
		1, "plane", "supervisor", "pid", 9, "running", 0);
	json_t *health = json_pack("{s[] so}", "problems", "planes", bp_fleet_planes(status));

	assert_int_equal(json_array_size(json_object_get(health, "planes")), 2);
	assert_false(bp_fleet_is_running(health));
	json_object_set_new(
		json_array_get(json_object_get(status, "planes"), 0), "running", json_true());
	json_object_set_new(health, "planes", bp_fleet_planes(status));
	assert_true(bp_fleet_is_running(health));
	json_decref(health);
	json_decref(status);
}

/* ---- files ---- */

static void files_return_to_the_good_bundle(void **state)
{
	struct bp_config c = {.name = "gw1", .fleet.config.given = true};
	struct bp_fleet_store store;
	struct bp_fleet_state s = {.phase = BP_FLEET_TRIAL, .serial = 7, .version = 6}, read;
	char err[PATH_MAX + 256], text[16] = "";
	FILE *f;

	snprintf(c.fleet.config.directory, sizeof(c.fleet.config.directory), "%s", dir);
	assert_true(bp_fleet_store_init(&store, &c));
	assert_int_equal(bp_fleet_state_read(&store, &read, err, sizeof(err)), 0);
	assert_int_equal(read.phase, BP_FLEET_IDLE);
	/* without a good one the stored one is removed */
	assert_int_equal(bp_fleet_activate(&store, "one", 3, err, sizeof(err)), 0);
	assert_int_equal(bp_fleet_restore(&store, err, sizeof(err)), 0);
	assert_int_equal(access(store.active, F_OK), -1);
	assert_int_equal(bp_fleet_activate(&store, "one", 3, err, sizeof(err)), 0);
	assert_int_equal(bp_fleet_keep(&store, err, sizeof(err)), 0);
	assert_int_equal(bp_fleet_activate(&store, "two", 3, err, sizeof(err)), 0);
	assert_int_equal(bp_fleet_restore(&store, err, sizeof(err)), 0);
	/* the two files are one after a restore, and are not written */
	assert_int_equal(bp_fleet_activate(&store, "three", 5, err, sizeof(err)), 0);
	assert_int_equal(bp_fleet_restore(&store, err, sizeof(err)), 0);
	assert_int_equal(bp_fleet_restore(&store, err, sizeof(err)), 0);
	f = fopen(store.active, "r");
	assert_non_null(f);
	assert_int_equal(fread(text, 1, sizeof(text), f), 3);
	fclose(f);
	assert_string_equal(text, "one");

	strcpy(s.errors, "a\nb");
	assert_int_equal(bp_fleet_state_write(&store, &s, err, sizeof(err)), 0);
	assert_int_equal(bp_fleet_state_read(&store, &read, err, sizeof(err)), 0);
	assert_true(read.phase == BP_FLEET_TRIAL && read.serial == 7 && read.version == 6);
	assert_string_equal(read.errors, "a\nb");
	assert_int_equal(truncate(store.state_file, 20), 0);
	assert_int_equal(bp_fleet_state_read(&store, &read, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "or is damaged"));
	/* a trial may be under way: the good bundle is restored */
	assert_true(read.phase == BP_FLEET_TRIAL);
}

/* ---- a server that cannot be trusted ---- */

struct server {
	int fd;
	char url[64];
	const char *answer; /* NULL: none, the connection stays open */
	size_t fill;        /* bytes behind the answer */
	pthread_t thread;
};

static void send_filling(int fd, size_t n)
{
	char block[65536];

	memset(block, ' ', sizeof(block));
	while (n > 0) {
		const ssize_t sent =
			send(fd, block, n < sizeof(block) ? n : sizeof(block), MSG_NOSIGNAL);

		if (sent <= 0)
			return;
		n -= (size_t)sent;
	}
}

static void *serve(void *arg)
{
	struct server *s = arg;
	char request[65536];
	int fd;

	while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
		if (recv(fd, request, sizeof(request), 0) > 0 && s->answer != NULL) {
			send(fd, s->answer, strlen(s->answer), MSG_NOSIGNAL);
			send_filling(fd, s->fill);
			shutdown(fd, SHUT_WR);
		}
		while (recv(fd, request, sizeof(request), 0) > 0)
			;
		close(fd);
	}
	return NULL;
}

static void start_server(struct server *s, const char *answer, size_t fill)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);

	*s = (struct server){.fd = socket(AF_INET, SOCK_STREAM, 0), .answer = answer, .fill = fill};
	assert_true(s->fd >= 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(s->fd, 4), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &len), 0);
	snprintf(s->url, sizeof(s->url), "etcd://127.0.0.1:%u", ntohs(a.sin_port));
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void stop_server(struct server *s)
{
	shutdown(s->fd, SHUT_RDWR);
	close(s->fd);
	pthread_join(s->thread, NULL);
}

static bool never(void *arg)
{
	return false;
}

static bool after_ten(void *arg)
{
	return ++*(unsigned *)arg > 10;
}

/* What a read gives with this answer; the error in err. */
static int read_with(const char *answer, size_t fill, char err[512])
{
	struct bp_config_fleet_config c = {.given = true};
	struct bp_etcd_rows rows;
	struct server s;
	struct bp_etcd *e;
	unsigned calls = 0;
	int rc;

	start_server(&s, answer, fill);
	snprintf(c.server, sizeof(c.server), "%s", s.url);
	e = bp_etcd_new(&c, answer == NULL ? after_ten : never, &calls, err, 512);
	assert_non_null(e);
	rc = bp_etcd_read(e, "/biplane/f/", BP_ETCD_BELOW, &rows, err, 512);
	rc = rc == 0 ? (int)rows.n : rc;
	bp_etcd_rows_free(&rows);
	bp_etcd_free(e);
	stop_server(&s);
	return rc;
}

#define OK "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"

static void bad_answers_are_errors(void **state)
{
	static const struct {
		const char *answer;
		size_t fill;
		const char *error;
	} bad[] = {
		{OK "", 0, "not a JSON object"},
		{OK "[]", 0, "not a JSON object"},
		{OK "{\"kvs\":[{\"key\":\"YQ==\"", 0, "not a JSON object"},
		{OK "{\"kvs\":1}", 0, "invalid keys or values"},
		/* a row without a key has an empty one */
		{OK "{\"kvs\":[1]}", 0, "a key that was not requested"},
		/* "a", "/biplane/f", "/biplane/g/a" */
		{OK "{\"kvs\":[{\"key\":\"YQ==\"}]}", 0,
			"expected keys that begin with /biplane/f/"},
		{OK "{\"kvs\":[{\"key\":\"L2JpcGxhbmUvZg==\"}]}", 0,
			"a key that was not requested"},
		{OK "{\"kvs\":[{\"key\":\"L2JpcGxhbmUvZi9h\"},{\"key\":\"L2JpcGxhbmUvZy9h\"}]}", 0,
			"a key that was not requested"},
		{OK "{\"kvs\":[{\"key\":\"!\"}]}", 0, "invalid keys or values"},
		{OK "{\"kvs\":[{\"key\":\"AA==\"}]}", 0, "invalid keys or values"},
		{OK "{\"kvs\":[{\"key\":\"YQ==\",\"mod_revision\":\"x\"}]}", 0,
			"invalid keys or values"},
		{OK "{\"kvs\":[{\"key\":\"YQ==\",\"mod_revision\":\"99999999999999999999\"}]}", 0,
			"invalid keys or values"},
		{OK "{\"more\":true}", 0, "invalid keys or values"},
		/* the same key for ever */
		{OK "{\"more\":true,\"kvs\":[{\"key\":\"L2JpcGxhbmUvZi9h\"}]}", 0,
			"more than 4096 keys"},
		{OK "{\"more\":true,\"kvs\":[{\"key\":\"L2JpcGxhbmUvZi9h\"}]}", 1u << 20,
			"or 32 MiB below"},
		{OK "{\"a\":1,\"a\":1}", 0, "not a JSON object"},
		{OK "{}", BP_ETCD_ANSWER_MAX, "the answer is too long"},
		{"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nConnection: close\r\n\r\n",
			0, "HTTP status 302"},
		{"HTTP/1.1 503 No\r\nConnection: close\r\n\r\n{\"error\":\"no leader\\n\"}", 0,
			"HTTP status 503: no leader\\x0a"},
		{"garbage\r\n\r\n", 0, "etcd 127.0.0.1"},
	};
	char err[512];

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err[0] = '\0';
		if (read_with(bad[i].answer, bad[i].fill, err) != -1 ||
			strstr(err, bad[i].error) == NULL)
			fail_msg("answer %u: expected '%s', got '%s'", i, bad[i].error, err);
	}
}

/* "[{},{},...": n values with the list. */
static char *many_values(unsigned n)
{
	const size_t head = strlen(OK);
	char *text = malloc(head + 3 * (size_t)n + 32);

	assert_non_null(text);
	strcpy(text, OK "{\"a\":[{}");
	for (unsigned i = 3; i < n; i++)
		strcat(text + head + 3 * (size_t)(i - 3), ",{}");
	strcat(text, "]}");
	return text;
}

/* Some hundred bytes of memory for each value of three bytes. */
static void values_of_an_answer_are_bounded(void **state)
{
	/* of each value but the first, a bracket and a comma count */
	char *text = many_values(BP_FLEET_JSON_VALUES_MAX / 2), err[512] = "";

	assert_int_equal(read_with(text, 0, err), 0);
	free(text);
	text = many_values(BP_FLEET_JSON_VALUES_MAX / 2 + 2);
	assert_int_equal(read_with(text, 0, err), -1);
	assert_non_null(strstr(err, "at most 8192 values"));
	free(text);
	/* not those in strings */
	text = malloc(30000);
	assert_non_null(text);
	strcpy(text, OK "{\"a\":\"\\\"");
	memset(text + strlen(text), ',', 20000);
	strcpy(text + strlen(OK "{\"a\":\"\\\"") + 20000, "\"}");
	assert_int_equal(read_with(text, 0, err), 0);
	free(text);
}

static void good_answers_are_read(void **state)
{
	char err[512];

	assert_int_equal(read_with(OK "{\"header\":{},\"count\":\"0\"}", 0, err), 0);
	assert_int_equal(
		read_with(OK
			"{\"kvs\":[{\"key\":\"L2JpcGxhbmUvZi9h\",\"mod_revision\":\"5\",\"value\":"
			"\"/w==\"}]}",
			0, err),
		1);
}

/* For one key, the answer has this key. */
static void another_key_is_refused(void **state)
{
	struct bp_config_fleet_config c = {.given = true};
	struct bp_etcd_rows rows;
	struct server s;
	struct bp_etcd *e;
	char err[512];

	start_server(&s, OK "{\"kvs\":[{\"key\":\"L2JpcGxhbmUvZi9h\"}]}", 0);
	snprintf(c.server, sizeof(c.server), "%s", s.url);
	e = bp_etcd_new(&c, NULL, NULL, err, sizeof(err));
	assert_non_null(e);
	assert_int_equal(bp_etcd_read(e, "/biplane/f/", BP_ETCD_KEY, &rows, err, sizeof(err)), -1);
	assert_string_equal(
		err, "etcd: the answer has a key that was not requested; expected /biplane/f/");
	bp_etcd_rows_free(&rows);
	assert_int_equal(bp_etcd_read(e, "/biplane/f/a", BP_ETCD_KEY, &rows, err, sizeof(err)), 0);
	assert_int_equal(rows.n, 1);
	bp_etcd_rows_free(&rows);
	bp_etcd_free(e);
	stop_server(&s);
}

static void silent_server_is_left(void **state)
{
	char err[512];

	assert_int_equal(read_with(NULL, 0, err), -1);
	assert_non_null(strstr(err, "aborted"));
}

static void dead_server_is_followed_by_the_next(void **state)
{
	struct bp_config_fleet_config c = {.given = true};
	struct bp_etcd_rows rows;
	struct server s;
	struct bp_etcd *e;
	char err[512];

	start_server(&s, OK "{}", 0);
	snprintf(c.server, sizeof(c.server), "etcd://127.0.0.1:1,%s", s.url + strlen("etcd://"));
	e = bp_etcd_new(&c, NULL, NULL, err, sizeof(err));
	assert_non_null(e);
	assert_int_equal(bp_etcd_read(e, "/a", BP_ETCD_KEY, &rows, err, sizeof(err)), 0);
	bp_etcd_rows_free(&rows);
	bp_etcd_free(e);
	stop_server(&s);
}

/* Servers that accept and say nothing: each gets a part of the time, and all together get no more.
 */
static void silent_servers_share_the_time(void **state)
{
	struct bp_config_fleet_config c = {.given = true};
	struct bp_etcd_rows rows;
	struct server s[8];
	struct bp_etcd *e;
	char err[512] = "";
	size_t n = 0;

	for (unsigned i = 0; i < 8; i++) {
		start_server(&s[i], i < 7 ? NULL : OK "{}", 0);
		n += (size_t)snprintf(c.server + n, sizeof(c.server) - n, "%s%s",
			i == 0 ? "etcd://" : ",", s[i].url + strlen("etcd://"));
	}
	e = bp_etcd_new(&c, NULL, NULL, err, sizeof(err));
	assert_non_null(e);
	/* the last one still has its part */
	bp_etcd_begin(e, 4000);
	assert_int_equal(bp_etcd_read(e, "/a", BP_ETCD_KEY, &rows, err, sizeof(err)), 0);
	bp_etcd_rows_free(&rows);
	/* without time nothing is sent, also to a server that would answer */
	bp_etcd_begin(e, 0);
	assert_int_equal(bp_etcd_read(e, "/a", BP_ETCD_KEY, &rows, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "no time is left"));
	bp_etcd_rows_free(&rows);
	bp_etcd_free(e);
	for (unsigned i = 0; i < 8; i++)
		stop_server(&s[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_those_of_openssl),
		cmocka_unit_test(unsafe_or_other_key_files_are_refused),
		cmocka_unit_test(signed_rollout_is_read),
		cmocka_unit_test(changed_documents_are_refused),
		cmocka_unit_test(bundle_has_its_hash_and_version),
		cmocka_unit_test(selectors_are_read_and_sorted),
		cmocka_unit_test(the_most_specific_rollout_is_chosen),
		cmocka_unit_test(canary_must_pass),
		cmocka_unit_test(new_problems_are_worse),
		cmocka_unit_test(plane_that_ended_does_not_run),
		cmocka_unit_test(files_return_to_the_good_bundle),
		cmocka_unit_test(bad_answers_are_errors),
		cmocka_unit_test(values_of_an_answer_are_bounded),
		cmocka_unit_test(good_answers_are_read),
		cmocka_unit_test(another_key_is_refused),
		cmocka_unit_test(silent_server_is_left),
		cmocka_unit_test(dead_server_is_followed_by_the_next),
		cmocka_unit_test(silent_servers_share_the_time),
	};

	return cmocka_run_group_tests(tests, make_keys, remove_dir);
}
