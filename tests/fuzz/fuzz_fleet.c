/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include <unistd.h>

#include <sys/mman.h>

#include "apps/biplane/fleet/bounded_json.h"
#include "apps/biplane/fleet/rollout.h"
#include "apps/biplane/fleet/select.h"
#include "apps/biplane/fleet/store.h"
#include "config/schema.h"

/*
 * What the agent of a fleet reads: answers of etcd, documents that an operator has signed, its
 * files on the disk. The first byte selects which. Documents get a valid signature here: without
 * one, their content is not read.
 */

static const char file[] =
	"version: 1\n"
	"name: gw1\n"
	"ports: [{name: a, device: net_null0}, {name: b, device: net_null1}]\n"
	"bridges: [{name: line, ports: [a, b]}]\n"
	"mqtt:\n"
	"  publisher: {broker: \"mqtt://10.0.0.9\"}\n"
	"  rules: [{name: hot, topic: t, raise: {above: 80}}]\n"
	"fleet:\n"
	"  name: plant\n"
	"  labels: {site: north, role: edge}\n"
	"  config: {server: \"etcd://127.0.0.1:1\", keys: [/k.pub], directory: /f}\n";

static struct bp_fleet_signer signer;
static struct bp_fleet_keys keys;
static struct bp_config *config;

static void start(void)
{
	const struct bp_bundle none = {"none", "mqtt: {}\n", 9};
	char path[64] = "/tmp/biplane-fuzz-fleet-XXXXXX", public_path[80], err[512];

	/* only the name is needed: bp_fleet_keygen() creates the files */
	if (mkdtemp(path) == NULL)
		abort();
	strcat(path, "/k");
	snprintf(public_path, sizeof(public_path), "%s.pub", path);
	if (bp_fleet_keygen(path, err, sizeof(err)) != 0 ||
		bp_fleet_signer_read(&signer, path, err, sizeof(err)) != 0)
		abort();
	unlink(path);
	unlink(public_path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	keys.n = 1;
	memcpy(keys.key[0], signer.key, sizeof(signer.key));
	config = bp_config_parse_with("gw1.yaml", file, sizeof(file) - 1, &none, stderr);
	if (config == NULL)
		abort();
}

static void check_rollout(const struct bp_etcd_row *row)
{
	static struct bp_fleet_rollout r;
	struct bp_config_fleet_labels labels;
	char err[512] = "";

	if (bp_fleet_rollout_read(&keys, "plant", row, &r, err, sizeof(err)) != 0) {
		HOLDS(err[0] != '\0');
		return;
	}
	HOLDS(r.serial >= 1 && r.serial <= BP_FLEET_SERIAL_MAX && r.version >= 1 &&
		r.version <= r.serial && r.trial_s <= BP_FLEET_TRIAL_MAX_S);
	HOLDS(r.n_canaries <= BP_FLEET_CANARIES_MAX);
	HOLDS(strcmp(strrchr(row->key, '/') + 1, r.selector) == 0);
	if (bp_fleet_selector_read(r.selector, &labels, err, sizeof(err)))
		(void)bp_fleet_selector_matches(&labels, &config->fleet.labels);
}

static void check_bundle(const struct bp_etcd_row *row)
{
	struct bp_fleet_bundle b;
	char err[512] = "", sha256[BP_SHA256_HEX];

	if (bp_fleet_bundle_read(&keys, "plant", row, &b, err, sizeof(err)) != 0) {
		HOLDS(err[0] != '\0' && b.text == NULL);
		return;
	}
	bp_sha256_hex(b.text, b.len, sha256);
	HOLDS(b.len <= BP_BUNDLE_MAX && b.text[b.len] == '\0' && strcmp(sha256, b.sha256) == 0);
	free(b.text);
}

static void check_rows(const struct bp_etcd_rows *rows)
{
	static struct bp_fleet_rollout r;
	char err[1024] = "";

	for (unsigned i = 0; i < rows->n; i++) {
		const struct bp_etcd_row *row = &rows->row[i];

		HOLDS(row->value == NULL || json_is_string(row->value));
		check_rollout(row);
		check_bundle(row);
		r.serial = r.version = 7;
		if (!bp_fleet_canary_passed(row, &r, "gw1", err, sizeof(err)))
			HOLDS(err[0] != '\0');
	}
	(void)bp_fleet_choose(&keys, &config->fleet, rows, &r, err, sizeof(err));
}

static void answer(const char *text, size_t len)
{
	json_t *o = bp_fleet_json(text, len);
	struct bp_etcd_rows rows = {.n = 0};

	if (bp_etcd_rows_add(json_object_get(o, "kvs"), &rows)) {
		HOLDS(rows.n <= BP_ETCD_PAGE);
		check_rows(&rows);
	}
	bp_etcd_rows_free(&rows);
	json_decref(o);
}

/* A body with a signature, below the key that it names itself. */
static void document(const char *text, size_t len, const char *kind, const char *name,
	void (*check)(const struct bp_etcd_row *row))
{
	json_error_t error;
	json_t *body = json_loadb(text, len, 0, &error);
	const json_t *own = json_object_get(body, name);
	char key[BP_FLEET_KEY_MAX], *document;
	struct bp_etcd_row row = {.key = key};

	if (!json_is_object(body)) {
		json_decref(body);
		return;
	}
	if (json_is_integer(own))
		snprintf(key, sizeof(key), "/x/%" JSON_INTEGER_FORMAT, json_integer_value(own));
	else
		snprintf(key, sizeof(key), "/x/%s",
			json_is_string(own) ? json_string_value(own) : "all");
	document = bp_fleet_sign(&signer, kind, body);
	if (document == NULL)
		abort();
	row.value = json_string(document);
	check(&row);
	json_decref(row.value);
	free(document);
}

static void state_file(const char *path)
{
	static struct bp_fleet_store store;
	static struct bp_fleet_state s;
	char err[PATH_MAX + 256] = "";

	snprintf(store.state_file, sizeof(store.state_file), "%s", path);
	if (bp_fleet_state_read(&store, &s, err, sizeof(err)) != 0)
		HOLDS(s.phase == BP_FLEET_TRIAL && err[0] != '\0');
	HOLDS(s.phase < BP_FLEET_PHASES && memchr(s.errors, '\0', sizeof(s.errors)) != NULL);
}

static void key_files(const char *path)
{
	struct bp_config_fleet_files files = {.n = 1};
	struct bp_fleet_signer other;
	struct bp_fleet_keys read;
	char err[512];

	snprintf(files.path[0], sizeof(files.path[0]), "%s", path);
	if (bp_fleet_keys_read(&read, &files, err, sizeof(err)) == 0)
		HOLDS(read.n == 1);
	(void)bp_fleet_signer_read(&other, path, err, sizeof(err));
}

/* The stored bundle never changes what describes one gateway. */
static void stored_bundle(const char *text, size_t len)
{
	const struct bp_bundle bundle = {"bundle", text, len};
	char *errors = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&errors, &n);
	struct bp_config *c;

	if (out == NULL)
		abort();
	c = bp_config_parse_with("gw1.yaml", file, sizeof(file) - 1, &bundle, out);
	fclose(out);
	HOLDS(c != NULL || n > 0);
	if (c != NULL)
		HOLDS(strcmp(c->name, "gw1") == 0 && c->n_ports == 2 &&
			strcmp(c->runtime_dir, config->runtime_dir) == 0 &&
			strcmp(c->fleet.config.directory, "/f") == 0 &&
			c->fleet.config.keys.n == 1 && c->fleet.labels.n == 2);
	bp_config_free(c);
	free(errors);
}

static void with_file(const char *text, size_t len, void (*read)(const char *path))
{
	const int fd = memfd_create("fuzzed", MFD_CLOEXEC);
	char path[64];

	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	read(path);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len;
	char *text;

	if (config == NULL)
		start();
	if (size < 1 || size > 65536)
		return 0;
	len = size - 1;
	text = (char *)exact_copy(data + 1, len);
	switch (data[0] % 6) {
	case 0:
		answer(text, len);
		break;
	case 1:
		document(text, len, "biplane fleet rollout 1", "selector", check_rollout);
		break;
	case 2:
		document(text, len, "biplane fleet bundle 1", "version", check_bundle);
		break;
	case 3:
		with_file(text, len, state_file);
		break;
	case 4:
		with_file(text, len, key_files);
		break;
	default:
		stored_bundle(text, len);
	}
	free(text);
	return 0;
}
