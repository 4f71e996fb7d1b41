/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/fleet/rollout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROLLOUT_KIND "biplane fleet rollout 1"
#define BUNDLE_KIND "biplane fleet bundle 1"

void bp_fleet_path(
	const char *fleet, const char *kind, const char *name, char out[BP_FLEET_KEY_MAX])
{
	snprintf(out, BP_FLEET_KEY_MAX, "/biplane/%s/%s%s%s", fleet, kind, name != NULL ? "/" : "",
		name != NULL ? name : "");
}

/* ---- selectors ---- */

static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

static bool take_word(const char **at, char *out, size_t size)
{
	const size_t len = strspn(*at, allowed);

	if (len == 0 || len >= size)
		return false;
	memcpy(out, *at, len);
	out[len] = '\0';
	*at += len;
	return true;
}

static int by_key(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool has_twice(const struct bp_config_fleet_labels *l)
{
	for (uint32_t i = 1; i < l->n; i++)
		if (strcmp(l->label[i - 1].key, l->label[i].key) == 0)
			return true;
	return false;
}

bool bp_fleet_selector_read(
	const char *text, struct bp_config_fleet_labels *l, char *err, size_t err_size)
{
	const char *at = text;

	memset(l, 0, sizeof(*l));
	if (strcmp(text, "all") == 0)
		return true;
	for (;;) {
		if (l->n == BP_FLEET_LABELS_MAX ||
			!take_word(&at, l->label[l->n].key, sizeof(l->label[0].key)) ||
			*at++ != '=' ||
			!take_word(&at, l->label[l->n].value, sizeof(l->label[0].value)))
			break;
		l->n++;
		if (*at == '\0') {
			qsort(l->label, l->n, sizeof(l->label[0]), by_key);
			if (!has_twice(l))
				return true;
			break;
		}
		if (*at++ != ',')
			break;
	}
	snprintf(err, err_size,
		"'%.80s' is not a selector; expected all, or at most %u different labels such as "
		"site=north,role=edge",
		text, BP_FLEET_LABELS_MAX);
	return false;
}

void bp_fleet_selector_text(const struct bp_config_fleet_labels *l, char out[BP_FLEET_SELECTOR_MAX])
{
	size_t n = 0;

	if (l->n == 0)
		snprintf(out, BP_FLEET_SELECTOR_MAX, "all");
	for (uint32_t i = 0; i < l->n; i++)
		n += (size_t)snprintf(out + n, BP_FLEET_SELECTOR_MAX - n, "%s%s=%s",
			i > 0 ? "," : "", l->label[i].key, l->label[i].value);
}

bool bp_fleet_selector_matches(
	const struct bp_config_fleet_labels *selector, const struct bp_config_fleet_labels *labels)
{
	for (uint32_t i = 0; i < selector->n; i++) {
		uint32_t k = 0;

		while (k < labels->n &&
			(strcmp(labels->label[k].key, selector->label[i].key) != 0 ||
				strcmp(labels->label[k].value, selector->label[i].value) != 0))
			k++;
		if (k == labels->n)
			return false;
	}
	return true;
}

/* ---- documents ---- */

static bool copy_text(const json_t *body, const char *name, char *out, size_t size)
{
	const json_t *v = json_object_get(body, name);

	if (!json_is_string(v) || json_string_length(v) >= size ||
		strlen(json_string_value(v)) != json_string_length(v))
		return false;
	memcpy(out, json_string_value(v), json_string_length(v) + 1);
	return true;
}

static bool copy_number(
	const json_t *body, const char *name, uint64_t min, uint64_t max, uint64_t *out)
{
	const json_t *v = json_object_get(body, name);

	if (!json_is_integer(v) || json_integer_value(v) < (json_int_t)min ||
		json_integer_value(v) > (json_int_t)max)
		return false;
	*out = (uint64_t)json_integer_value(v);
	return true;
}

static bool is_fleet(const json_t *body, const char *fleet)
{
	const char *name = json_string_value(json_object_get(body, "fleet"));

	return name != NULL && strcmp(name, fleet) == 0;
}

static int invalid(json_t *body, const char *what, char *err, size_t err_size)
{
	json_decref(body);
	snprintf(err, err_size, "%s", what);
	return -1;
}

/* The signed body of a row, or NULL with a sentence. */
static json_t *open_row(const struct bp_fleet_keys *keys, const char *kind,
	const struct bp_etcd_row *row, char *err, size_t err_size)
{
	if (row->value != NULL)
		return bp_fleet_verify(keys, kind, json_string_value(row->value),
			json_string_length(row->value), err, err_size);
	snprintf(err, err_size, "it is not text");
	return NULL;
}

static const char *name_of(const struct bp_etcd_row *row)
{
	return strrchr(row->key, '/') != NULL ? strrchr(row->key, '/') + 1 : row->key;
}

bool bp_fleet_is_canary(const struct bp_fleet_rollout *r, const char *member)
{
	for (unsigned i = 0; i < r->n_canaries; i++)
		if (strcmp(r->canary[i], member) == 0)
			return true;
	return false;
}

char *bp_fleet_rollout_sign(
	const struct bp_fleet_signer *signer, const char *fleet, const struct bp_fleet_rollout *r)
{
	json_t *canaries = json_array();

	for (unsigned i = 0; i < r->n_canaries; i++)
		json_array_append_new(canaries, json_string(r->canary[i]));
	return bp_fleet_sign(signer, ROLLOUT_KIND,
		json_pack("{ss sI ss sI ss sI ss so}", "fleet", fleet, "serial",
			(json_int_t)r->serial, "selector", r->selector, "version",
			(json_int_t)r->version, "sha256", r->sha256, "trial_time_s",
			(json_int_t)r->trial_s, "created", r->created, "canaries", canaries));
}

static bool copy_canaries(const json_t *list, struct bp_fleet_rollout *r)
{
	const json_t *name;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > BP_FLEET_CANARIES_MAX)
		return false;
	json_array_foreach(list, i, name)
	{
		if (!json_is_string(name) || json_string_length(name) >= sizeof(r->canary[0]))
			return false;
		snprintf(r->canary[i], sizeof(r->canary[0]), "%s", json_string_value(name));
	}
	r->n_canaries = (unsigned)json_array_size(list);
	return true;
}

int bp_fleet_rollout_read(const struct bp_fleet_keys *keys, const char *fleet,
	const struct bp_etcd_row *row, struct bp_fleet_rollout *r, char *err, size_t err_size)
{
	json_t *body = open_row(keys, ROLLOUT_KIND, row, err, err_size);

	memset(r, 0, sizeof(*r));
	if (body == NULL)
		return -1;
	if (!is_fleet(body, fleet))
		return invalid(body, "it belongs to another fleet", err, err_size);
	if (!copy_number(body, "serial", 1, BP_FLEET_SERIAL_MAX, &r->serial) ||
		!copy_number(body, "version", 1, r->serial, &r->version) ||
		!copy_number(body, "trial_time_s", 0, BP_FLEET_TRIAL_MAX_S, &r->trial_s) ||
		!copy_text(body, "selector", r->selector, sizeof(r->selector)) ||
		!copy_text(body, "sha256", r->sha256, sizeof(r->sha256)) ||
		!copy_text(body, "created", r->created, sizeof(r->created)) ||
		!copy_canaries(json_object_get(body, "canaries"), r))
		return invalid(
			body, "a member of the rollout is missing or out of range", err, err_size);
	if (strcmp(r->selector, name_of(row)) != 0)
		return invalid(body, "it is the rollout of another selector", err, err_size);
	json_decref(body);
	return 0;
}

char *bp_fleet_bundle_sign(
	const struct bp_fleet_signer *signer, const char *fleet, const struct bp_fleet_bundle *b)
{
	return bp_fleet_sign(signer, BUNDLE_KIND,
		json_pack("{ss sI ss ss ss ss%}", "fleet", fleet, "version", (json_int_t)b->version,
			"selector", b->selector, "sha256", b->sha256, "created", b->created,
			"config", b->text, b->len));
}

int bp_fleet_bundle_read(const struct bp_fleet_keys *keys, const char *fleet,
	const struct bp_etcd_row *row, struct bp_fleet_bundle *b, char *err, size_t err_size)
{
	json_t *body = open_row(keys, BUNDLE_KIND, row, err, err_size);
	const json_t *config = json_object_get(body, "config");
	char sha256[BP_SHA256_HEX], version[24];

	memset(b, 0, sizeof(*b));
	if (body == NULL)
		return -1;
	if (!is_fleet(body, fleet))
		return invalid(body, "it belongs to another fleet", err, err_size);
	if (!copy_number(body, "version", 1, BP_FLEET_SERIAL_MAX, &b->version) ||
		!copy_text(body, "selector", b->selector, sizeof(b->selector)) ||
		!copy_text(body, "sha256", b->sha256, sizeof(b->sha256)) ||
		!copy_text(body, "created", b->created, sizeof(b->created)) ||
		!json_is_string(config) || json_string_length(config) > BP_BUNDLE_MAX)
		return invalid(
			body, "a member of the bundle is missing or out of range", err, err_size);
	snprintf(version, sizeof(version), "%llu", (unsigned long long)b->version);
	if (strcmp(version, name_of(row)) != 0)
		return invalid(body, "it is the bundle of another version", err, err_size);
	bp_sha256_hex(json_string_value(config), json_string_length(config), sha256);
	if (strcmp(sha256, b->sha256) != 0)
		return invalid(body, "its SHA-256 is wrong", err, err_size);
	b->len = json_string_length(config);
	b->text = malloc(b->len + 1);
	if (b->text == NULL)
		return invalid(body, "no memory", err, err_size);
	memcpy(b->text, json_string_value(config), b->len + 1);
	json_decref(body);
	return 0;
}
