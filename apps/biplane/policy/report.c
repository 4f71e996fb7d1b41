/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/policy/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/events/event_json.h"
#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "biplane/counters/mqtt.h"

/* Different refused packets; more are counted, but not listed. */
#define ROWS_MAX 10000u

struct bp_policy_report {
	json_t *rows; /* by what two packets of a row have in common */
};

struct bp_policy_report *bp_policy_report_new(void)
{
	struct bp_policy_report *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->rows = json_object();
	if (r->rows != NULL)
		return r;
	free(r);
	return NULL;
}

void bp_policy_report_free(struct bp_policy_report *r)
{
	if (r == NULL)
		return;
	json_decref(r->rows);
	free(r);
}

/* A new reference to the member, or null. */
static json_t *member(const json_t *o, const char *key)
{
	json_t *value = json_object_get(o, key);

	return value != NULL ? json_incref(value) : json_null();
}

/* The row without its number and time. */
static json_t *row_of(const json_t *event)
{
	const json_t *p = json_object_get(event, "policy");

	return json_pack("{so so so so so so}", "address", member(event, "src_ip"), "client_id",
		member(p, "client_id"), "packet", member(p, "packet"), "topic", member(p, "topic"),
		"rule", member(p, "rule"), "action", member(p, "action"));
}

static void count(json_t *row, const json_t *event)
{
	const char *time = json_string_value(json_object_get(event, "timestamp"));
	const char *last = json_string_value(json_object_get(row, "last"));

	json_object_set_new(row, "packets", json_integer(bp_show_int(row, "packets") + 1));
	/* workers write events of their own */
	if (time != NULL && (last == NULL || strcmp(time, last) > 0))
		json_object_set_new(row, "last", json_string(time));
}

void bp_policy_report_add(struct bp_policy_report *r, const json_t *event)
{
	json_t *row, *known;
	char *key;

	/* the packet was forwarded, and counted then */
	if (json_object_get(json_object_get(event, "policy"), "reason") != NULL)
		return;
	row = row_of(event);
	key = row != NULL ? json_dumps(row, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
	if (key != NULL) {
		known = json_object_get(r->rows, key);
		if (known != NULL)
			count(known, event);
		else if (json_object_size(r->rows) < ROWS_MAX &&
			 json_object_set(r->rows, key, row) == 0)
			count(row, event);
	}
	free(key);
	json_decref(row);
}

/* ---- the report ---- */

static int by_packets(const void *x, const void *y)
{
	const json_int_t a = bp_show_int(*(json_t *const *)x, "packets");
	const json_int_t b = bp_show_int(*(json_t *const *)y, "packets");

	return (a < b) - (a > b);
}

/* The rows with most packets first; *listed: the packets of those that are given. */
static json_t *refused(const struct bp_policy_report *r, uint64_t limit, uint64_t *listed)
{
	const size_t n = json_object_size(r->rows);
	json_t **row = calloc(n + 1, sizeof(json_t *)), *list = json_array(), *value;
	const char *key;
	size_t i = 0;

	*listed = 0;
	if (row == NULL || list == NULL) {
		free(row);
		json_decref(list);
		return NULL;
	}
	json_object_foreach(r->rows, key, value) row[i++] = value;
	qsort(row, n, sizeof(json_t *), by_packets);
	for (i = 0; i < n && (limit == 0 || i < limit); i++) {
		json_array_append(list, row[i]);
		*listed += (uint64_t)bp_show_int(row[i], "packets");
	}
	free(row);
	return list;
}

static bool allows(const json_t *rule)
{
	const char *action = json_string_value(json_object_get(rule, "action"));

	return action != NULL && strcmp(action, "allow") == 0;
}

static json_t *share_of(uint64_t n, uint64_t all)
{
	return all != 0 ? json_real((double)n / (double)all) : json_null();
}

static json_t *rule_row(const json_t *rule, uint64_t all)
{
	const uint64_t n = (uint64_t)bp_show_int(rule, "decisions");

	return json_pack("{so so so so so so}", "rule", member(rule, "name"), "action",
		member(rule, "action"), "decisions", member(rule, "decisions"), "undecided",
		member(rule, "undecided"), "share", allows(rule) ? json_null() : share_of(n, all),
		"last", member(rule, "last"));
}

/* The rules of the view `show policy`, and the default, whose rule is null. */
static json_t *rule_rows(const json_t *view)
{
	const json_t *rules = json_object_get(view, "rules"), *rule;
	const json_t *preset = json_object_get(view, "default");
	json_t *list = json_array();
	uint64_t all = allows(preset) ? 0 : (uint64_t)bp_show_int(preset, "decisions");
	size_t i;

	json_array_foreach(rules, i, rule) if (!allows(rule)) all +=
		(uint64_t)bp_show_int(rule, "decisions");
	json_array_foreach(rules, i, rule) json_array_append_new(list, rule_row(rule, all));
	json_array_append_new(list, rule_row(preset, all));
	return list;
}

static void add_counter(json_t *list, const struct bp_shm *shm, unsigned c)
{
	const uint64_t n = bp_shm_counter(shm, c);

	if (n != 0 && bp_counter_info[c].name != NULL)
		json_array_append_new(
			list, json_pack("{ss sI ss}", "counter", bp_counter_info[c].name, "count",
				      (json_int_t)n, "description", bp_counter_info[c].help));
}

/* Packets and connections without decisions, and why. */
static json_t *not_decided(const struct bp_shm *shm)
{
	static const bp_counter_t reason[] = {BP_C_POLICY_UNDECIDED, BP_C_POLICY_NOT_EVALUATED,
		BP_C_POLICY_FAILED_OPEN, BP_C_POLICY_FAILED_CLOSED, BP_C_CONN_MIDSTREAM,
		BP_C_CONN_TABLE_FULL, BP_C_RESYNC_STARTED, BP_C_SEG_BAD_CHECKSUM, BP_C_SEG_FRAGMENT,
		BP_C_NOT_INSPECTED_VLAN, BP_C_NOT_INSPECTED_LLC, BP_C_NOT_INSPECTED_PPPOE,
		BP_C_NOT_INSPECTED_MPLS, BP_C_NOT_INSPECTED_TUNNEL};
	json_t *list = json_array();

	for (unsigned i = 0; i < sizeof(reason) / sizeof(reason[0]); i++)
		add_counter(list, shm, reason[i]);
	for (unsigned c = BP_C_NOT_INSPECTED_NOT_MQTT; c <= BP_C_NOT_INSPECTED_LAST; c++)
		add_counter(list, shm, c);
	return list;
}

json_t *bp_policy_report_json(const struct bp_policy_report *r, const struct bp_shm *shm,
	uint64_t limit, char *err, size_t err_size)
{
	const struct bp_show_source source = {.shm = shm};
	json_t *view = bp_show_policy.collect(&source, err, err_size), *rows, *report;
	const uint64_t packets = bp_shm_counter(shm, BP_C_MQTT_PACKETS);
	const uint64_t observed = bp_shm_counter(shm, BP_C_POLICY_OBSERVED);
	const uint64_t enforced = bp_shm_counter(shm, BP_C_POLICY_REFUSED);
	uint64_t listed, not_listed;

	if (view == NULL)
		return NULL;
	rows = refused(r, limit, &listed);
	not_listed = observed + enforced > listed ? observed + enforced - listed : 0;
	report = rows == NULL ? NULL
			      : json_pack("{sO sO sI sI so sI sI so so sI so}", "enabled",
					json_object_get(view, "enabled"), "generation",
					json_object_get(view, "generation"), "packets",
					(json_int_t)packets, "observed", (json_int_t)observed,
					"share", share_of(observed, packets), "enforced",
					(json_int_t)enforced, "connections_closed",
					(json_int_t)bp_shm_counter(shm, BP_C_POLICY_CLOSED),
					"rules", rule_rows(view), "refused", rows, "not_listed",
					(json_int_t)not_listed, "not_decided", not_decided(shm));
	json_decref(view);
	if (report == NULL)
		snprintf(err, err_size, "not enough memory");
	return report;
}

/* ---- as text ---- */

static void print_share(const json_t *report, FILE *out)
{
	const json_t *share = json_object_get(report, "share");

	fprintf(out,
		"The policy observes %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
		" inspected MQTT packets",
		bp_show_int(report, "observed"), bp_show_int(report, "packets"));
	if (json_is_real(share))
		fprintf(out, " (%.3g %%)", 100 * json_real_value(share));
	fputs("; if it is enforced, it refuses them.\n", out);
	if (bp_show_int(report, "enforced") != 0)
		fprintf(out,
			"It has refused %" JSON_INTEGER_FORMAT " packets and ended "
			"%" JSON_INTEGER_FORMAT " connections.\n",
			bp_show_int(report, "enforced"), bp_show_int(report, "connections_closed"));
}

static json_t *percent(const json_t *share)
{
	char text[32];

	if (!json_is_real(share))
		return json_null();
	snprintf(text, sizeof(text), "%.3g %%", 100 * json_real_value(share));
	return json_string(text);
}

/* Those that decided about something. */
static void print_rules(const json_t *rules, FILE *out)
{
	static const struct bp_column columns[] = {
		{"rule", "RULE", 0},
		{"action", "ACTION", 0},
		{"decisions", "DECISIONS", 1},
		{"share", "SHARE", 1},
		{"undecided", "UNDECIDED", 1},
		{"last", "LAST", 0},
		{NULL, NULL, 0},
	};
	const json_t *rule;
	json_t *used = json_array();
	size_t i, unused = 0;

	json_array_foreach(rules, i, rule)
	{
		json_t *row;

		if (bp_show_int(rule, "decisions") == 0 && bp_show_int(rule, "undecided") == 0) {
			unused++;
			continue;
		}
		row = json_copy((json_t *)rule);
		json_object_set_new(row, "share", percent(json_object_get(rule, "share")));
		if (json_is_null(json_object_get(rule, "rule")))
			json_object_set_new(row, "rule", json_string("(default)"));
		json_array_append_new(used, row);
	}
	fputc('\n', out);
	bp_table_print(out, columns, used, "No rule has decided about a packet.");
	if (unused != 0 && unused < json_array_size(rules))
		fprintf(out, "\nRules without decisions: %zu.\n", unused);
	json_decref(used);
}

static void print_refused(const json_t *report, FILE *out)
{
	static const struct bp_column columns[] = {
		{"packets", "PACKETS", 1},
		{"address", "ADDRESS", 0},
		{"client_id", "CLIENT-ID", 0},
		{"action", "ACTION", 0},
		{"packet", "PACKET", 0},
		{"topic", "TOPIC", 0},
		{"rule", "RULE", 0},
		{"last", "LAST", 0},
		{NULL, NULL, 0},
	};
	const json_t *rows = json_object_get(report, "refused");
	const json_int_t more = bp_show_int(report, "not_listed");

	if (json_array_size(rows) != 0) {
		fputc('\n', out);
		bp_table_print(out, columns, rows, "");
	}
	if (more != 0)
		fprintf(out, "\n%" JSON_INTEGER_FORMAT " further packets are not listed.\n", more);
}

static void print_not_decided(const json_t *rows, FILE *out)
{
	static const struct bp_column columns[] = {
		{"count", "COUNT", 1},
		{"counter", "COUNTER", 0},
		{"description", "DESCRIPTION", 0},
		{NULL, NULL, 0},
	};

	fputs(json_array_size(rows) != 0 ? "\nWithout decisions:\n" : "\n", out);
	bp_table_print(out, columns, rows, "All packets of clients have a decision.");
}

void bp_policy_report_print(const json_t *report, FILE *out)
{
	if (!json_is_true(json_object_get(report, "enabled"))) {
		fputs("no policy: mqtt.policy is not configured\n", out);
		return;
	}
	print_share(report, out);
	print_rules(json_object_get(report, "rules"), out);
	print_refused(report, out);
	print_not_decided(json_object_get(report, "not_decided"), out);
}

/* ---- of a replay ---- */

void bp_policy_report_event(void *arg, const struct bp_shm *shm, const struct bp_event *e)
{
	const struct bp_event_json x = {.instance = "", .shm = shm};
	json_t *event = bp_event_json(&x, e);

	if (event != NULL)
		bp_policy_report_add(arg, event);
	json_decref(event);
}

json_t *bp_policy_report_collect(void *arg, const struct bp_shm *shm)
{
	char err[256];
	json_t *report = bp_policy_report_json(arg, shm, 0, err, sizeof(err));

	if (report == NULL)
		fprintf(stderr, "biplane replay: %s\n", err);
	if (!json_is_true(json_object_get(report, "enabled"))) {
		json_decref(report);
		return NULL;
	}
	return report;
}
