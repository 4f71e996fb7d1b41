/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/fleet/operator.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apps/biplane/exit_status.h"
#include "apps/biplane/fleet/bounded_json.h"
#include "apps/biplane/print_json.h"
#include "apps/biplane/text.h"
#include "config/schema.h"

#define COMMAND_MS 60000 /* for all requests of a command */

void bp_fleet_now(char out[40])
{
	struct timespec t;

	_Static_assert(BP_TEXT_TIME <= 40, "a time fits");
	clock_gettime(CLOCK_REALTIME, &t);
	bp_text_time((uint64_t)t.tv_sec * 1000000000ull, out);
}

int bp_fleet_operator_open(
	struct bp_fleet_operator *o, const struct bp_cli_command *command, const char *path)
{
	char err[1024];
	size_t len = 0;
	char *text;

	*o = (struct bp_fleet_operator){.command = command};
	text = bp_config_read_file(path, &len, stderr);
	if (text != NULL)
		o->config = bp_config_parse_with(path, text, len, NULL, stderr);
	free(text);
	if (o->config == NULL)
		return BP_EX_CONFIG;
	if (!o->config->fleet.config.given)
		return bp_cli_fail(command, BP_EX_CONFIG,
			"%s has no fleet.config; expected the name of the fleet and the server of "
			"etcd there",
			path);
	o->fleet = o->config->fleet.name;
	if (bp_fleet_keys_read(&o->keys, &o->config->fleet.config.keys, err, sizeof(err)) != 0)
		return bp_cli_fail(command, BP_EX_CONFIG, "%s", err);
	o->etcd = bp_etcd_new(&o->config->fleet.config, NULL, NULL, err, sizeof(err));
	if (o->etcd == NULL)
		return bp_cli_fail(command, BP_EX_CONFIG, "%s", err);
	bp_etcd_begin(o->etcd, COMMAND_MS);
	return BP_EX_OK;
}

void bp_fleet_operator_close(struct bp_fleet_operator *o)
{
	bp_etcd_free(o->etcd);
	bp_config_free(o->config);
}

int bp_fleet_operator_read(const struct bp_fleet_operator *o, const char *kind, const char *name,
	struct bp_etcd_rows *rows)
{
	char key[BP_FLEET_KEY_MAX], err[1024];

	bp_fleet_path(o->fleet, kind, name != NULL ? name : "", key);
	if (bp_etcd_read(o->etcd, key, name != NULL ? BP_ETCD_KEY : BP_ETCD_BELOW, rows, err,
		    sizeof(err)) == 0)
		return BP_EX_OK;
	bp_etcd_rows_free(rows);
	return bp_cli_fail(o->command, BP_EX_UNAVAILABLE, "%s", err);
}

/* ---- members ---- */

static json_t *typed(const json_t *o, const char *name, json_type type)
{
	json_t *v = json_object_get(o, name);

	return v != NULL && json_typeof(v) == type ? json_incref(v) : json_null();
}

json_t *bp_fleet_members(const struct bp_etcd_rows *rows)
{
	static const struct {
		const char *name;
		json_type type;
	} member[] = {{"labels", JSON_OBJECT}, {"serial", JSON_INTEGER}, {"version", JSON_INTEGER},
		{"sha256", JSON_STRING}, {"state", JSON_STRING}, {"errors", JSON_ARRAY},
		{"problems", JSON_ARRAY}, {"since", JSON_STRING}, {"biplane", JSON_STRING}};
	json_t *list = json_array();

	for (unsigned i = 0; i < rows->n; i++) {
		const char *name = strrchr(rows->row[i].key, '/');
		json_t *record = rows->row[i].value == NULL
					 ? NULL
					 : bp_fleet_json(json_string_value(rows->row[i].value),
						   json_string_length(rows->row[i].value));
		json_t *out = json_pack("{ss}", "member", name != NULL ? name + 1 : "?");

		for (unsigned k = 0; k < sizeof(member) / sizeof(member[0]); k++)
			json_object_set_new(
				out, member[k].name, typed(record, member[k].name, member[k].type));
		json_array_append_new(list, out);
		json_decref(record);
	}
	return list;
}

bool bp_fleet_member_matches(const json_t *member, const struct bp_config_fleet_labels *selector)
{
	const json_t *labels = json_object_get(member, "labels");

	for (uint32_t i = 0; i < selector->n; i++) {
		const char *v = json_string_value(json_object_get(labels, selector->label[i].key));

		if (v == NULL || strcmp(v, selector->label[i].value) != 0)
			return false;
	}
	return json_is_object(labels);
}

/* ---- rollouts ---- */

/* Reads one key; *revision 0: it does not exist. */
static int read_key(const struct bp_fleet_operator *o, const char *key, struct bp_etcd_rows *rows,
	int64_t *revision)
{
	char err[1024];

	*revision = 0;
	if (bp_etcd_read(o->etcd, key, BP_ETCD_KEY, rows, err, sizeof(err)) != 0)
		return bp_cli_fail(o->command, BP_EX_UNAVAILABLE, "%s", err);
	if (rows->n > 0)
		*revision = rows->row[0].mod_revision;
	return BP_EX_OK;
}

static int read_revision(const struct bp_fleet_operator *o, const char *key, int64_t *revision)
{
	struct bp_etcd_rows rows;
	const int status = read_key(o, key, &rows, revision);

	bp_etcd_rows_free(&rows);
	return status;
}

/* The highest serial number of the signed rollouts; an invalid rollout does not count. */
static int read_serial(const struct bp_fleet_operator *o, uint64_t *serial)
{
	struct bp_fleet_rollout *r = malloc(sizeof(*r));
	struct bp_etcd_rows rows = {.n = 0};
	char err[512];
	int status = r != NULL ? bp_fleet_operator_read(o, "rollouts", NULL, &rows)
			       : bp_cli_fail(o->command, BP_EX_OSERR, "no memory");

	*serial = 0;
	for (unsigned i = 0; status == BP_EX_OK && i < rows.n; i++)
		if (bp_fleet_rollout_read(&o->keys, o->fleet, &rows.row[i], r, err, sizeof(err)) ==
				0 &&
			r->serial > *serial)
			*serial = r->serial;
	bp_etcd_rows_free(&rows);
	free(r);
	return status;
}

/*
 * The next serial number, from what is signed: one more than that of any rollout, and no number of
 * a signed bundle, whose rollout may have been removed. An unsigned value under the key of the next
 * bundle is overwritten, so that only an owner of a key can use the numbers up. *revision: of this
 * key.
 */
static int next_serial(const struct bp_fleet_operator *o, struct bp_fleet_rollout *r,
	char bundle_key[BP_FLEET_KEY_MAX], int64_t *revision)
{
	uint64_t last;
	int status = read_serial(o, &last);
	bool taken = true;

	if (status != BP_EX_OK)
		return status;
	if (r->serial != 0 && (r->serial <= last || r->serial - last > BP_FLEET_SERIAL_STEP))
		return bp_cli_fail(o->command, BP_EX_USAGE,
			"--serial %" PRIu64 ": expected a number from %" PRIu64 " to %" PRIu64,
			r->serial, last + 1, last + BP_FLEET_SERIAL_STEP);
	if (r->serial != 0)
		last = r->serial - 1;
	while (status == BP_EX_OK && taken && last < BP_FLEET_SERIAL_MAX) {
		struct bp_fleet_bundle b;
		struct bp_etcd_rows rows;
		char name[24], err[512];

		r->serial = ++last;
		snprintf(name, sizeof(name), "%" PRIu64, r->serial);
		bp_fleet_path(o->fleet, "bundles", name, bundle_key);
		status = read_key(o, bundle_key, &rows, revision);
		taken = status == BP_EX_OK && rows.n > 0 &&
			bp_fleet_bundle_read(
				&o->keys, o->fleet, &rows.row[0], &b, err, sizeof(err)) == 0;
		if (taken)
			free(b.text);
		bp_etcd_rows_free(&rows);
	}
	if (status == BP_EX_OK && taken)
		return bp_cli_fail(
			o->command, BP_EX_DATAERR, "the fleet has no more serial numbers");
	return status;
}

int bp_fleet_operator_bundle(const struct bp_fleet_operator *o, uint64_t version,
	struct bp_fleet_bundle *b, char *err, size_t err_size)
{
	char key[BP_FLEET_KEY_MAX], name[24], why[512] = "";
	struct bp_etcd_rows rows;
	int rc;

	*b = (struct bp_fleet_bundle){.text = NULL};
	snprintf(name, sizeof(name), "%" PRIu64, version);
	bp_fleet_path(o->fleet, "bundles", name, key);
	rc = bp_etcd_read(o->etcd, key, BP_ETCD_KEY, &rows, err, err_size);
	if (rc == 0 && rows.n == 0)
		snprintf(err, err_size, "there is no bundle %s in etcd", name);
	else if (rc == 0 &&
		 bp_fleet_bundle_read(&o->keys, o->fleet, &rows.row[0], b, why, sizeof(why)) == 0)
		rc = 1;
	else if (rc == 0)
		snprintf(err, err_size, "bundle %s: %s", name, why);
	bp_etcd_rows_free(&rows);
	return rc;
}

/* The signer must be one that the members accept. */
static bool is_known(const struct bp_fleet_operator *o, const struct bp_fleet_signer *signer)
{
	for (unsigned i = 0; i < o->keys.n; i++)
		if (memcmp(o->keys.key[i], signer->key, sizeof(signer->key)) == 0)
			return true;
	return false;
}

static int write_all(const struct bp_fleet_operator *o, const struct bp_etcd_write *w, unsigned n)
{
	char err[1024];
	const int rc = bp_etcd_write(o->etcd, w, n, err, sizeof(err));

	if (rc < 0)
		return bp_cli_fail(o->command, BP_EX_UNAVAILABLE, "%s", err);
	if (rc == 0)
		return bp_cli_fail(o->command, BP_EX_UNAVAILABLE,
			"another operator changed the fleet at the same time; nothing was changed, "
			"try again");
	return BP_EX_OK;
}

int bp_fleet_operator_store(const struct bp_fleet_operator *o, const struct bp_fleet_signer *signer,
	struct bp_fleet_rollout *r, struct bp_fleet_bundle *bundle)
{
	char lock_key[BP_FLEET_KEY_MAX], rollout_key[BP_FLEET_KEY_MAX],
		bundle_key[BP_FLEET_KEY_MAX], serial[24];
	struct bp_etcd_write w[3] = {{.key = lock_key, .value = serial, .conditional = true},
		{.key = rollout_key, .conditional = true},
		{.key = bundle_key, .conditional = true}};
	char *rollout_text, *bundle_text = NULL;
	int status;

	if (!is_known(o, signer))
		return bp_cli_fail(o->command, BP_EX_CONFIG,
			"the key does not belong to one of fleet.config.keys; the members would "
			"refuse its signature");
	bp_fleet_path(o->fleet, "serial", NULL, lock_key);
	bp_fleet_path(o->fleet, "rollouts", r->selector, rollout_key);
	/* before the rollouts are read: only the revision matters, not the value */
	status = read_revision(o, lock_key, &w[0].mod_revision);
	if (status == BP_EX_OK)
		status = read_revision(o, rollout_key, &w[1].mod_revision);
	if (status == BP_EX_OK)
		status = next_serial(o, r, bundle_key, &w[2].mod_revision);
	if (status != BP_EX_OK)
		return status;
	snprintf(serial, sizeof(serial), "%" PRIu64, r->serial);
	bp_fleet_now(r->created);
	if (bundle != NULL) {
		r->version = bundle->version = r->serial;
		memcpy(bundle->created, r->created, sizeof(bundle->created));
		memcpy(bundle->selector, r->selector, sizeof(bundle->selector));
		w[2].value = bundle_text = bp_fleet_bundle_sign(signer, o->fleet, bundle);
	}
	w[1].value = rollout_text = bp_fleet_rollout_sign(signer, o->fleet, r);
	if (rollout_text == NULL || (bundle != NULL && bundle_text == NULL))
		status = bp_cli_fail(o->command, BP_EX_OSERR, "no memory");
	else
		status = write_all(o, w, bundle != NULL ? 3 : 2);
	free(rollout_text);
	free(bundle_text);
	return status;
}

int bp_fleet_print_rollout(const struct bp_fleet_rollout *r, size_t members, bool json)
{
	json_t *canaries = json_array();

	for (unsigned i = 0; i < r->n_canaries; i++)
		json_array_append_new(canaries, json_string(r->canary[i]));
	if (json) {
		bp_print_json_new(json_pack("{ss sI sI sI so}", "selector", r->selector, "serial",
					  (json_int_t)r->serial, "version", (json_int_t)r->version,
					  "members", (json_int_t)members, "canaries", canaries),
			false, stdout);
		return BP_EX_OK;
	}
	printf("rollout %" PRIu64 ": version %" PRIu64 " for %s, %zu member%s", r->serial,
		r->version, r->selector, members, members == 1 ? "" : "s");
	for (unsigned i = 0; i < r->n_canaries; i++)
		printf("%s%s", i > 0 ? ", " : "; canaries first: ", r->canary[i]);
	putchar('\n');
	json_decref(canaries);
	return BP_EX_OK;
}
