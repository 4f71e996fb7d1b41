/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/replay/replay_report.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "biplane/json_schema.h"
#include "biplane/counters/general.h"
#include "dataplane/ports/port_count.h"
#include "dataplane/process/stats.h"

static json_t *number(uint64_t n)
{
	return json_integer((json_int_t)n);
}

/* Client identifiers may contain any bytes; JSON strings may not. */
static json_t *text(const char *s, size_t len)
{
	json_t *j = json_stringn(s, len);
	char *clean;

	if (j)
		return j;
	clean = malloc(len + 1);
	if (!clean)
		return json_null();
	for (size_t i = 0; i < len; i++)
		clean[i] = (s[i] & 0x80) || s[i] == '\0' ? '?' : s[i];
	j = json_stringn(clean, len);
	free(clean);
	return j ? j : json_null();
}

static json_t *client(const struct bp_alarm *a)
{
	bool ip6 = (a->flags & BP_ALARM_F_IP6) != 0;
	char ip[INET6_ADDRSTRLEN] = "";
	char s[INET6_ADDRSTRLEN + 16];

	inet_ntop(ip6 ? AF_INET6 : AF_INET, a->client_ip, ip, sizeof(ip));
	snprintf(s, sizeof(s), ip6 ? "[%s]:%u" : "%s:%u", ip, a->client_port);
	return json_string(s);
}

static json_t *severity(uint8_t severity)
{
	const char *name = bp_severity_name(severity);

	return name != NULL ? json_string(name) : json_null();
}

static json_t *value(const struct bp_alarm *a)
{
	switch (bp_alarm_value_type(a->value_text)) {
	case BP_ALARM_BOOLEAN:
		return json_boolean(a->value != 0);
	case BP_ALARM_STRING:
	case BP_ALARM_STRING_TRUNCATED:
		return text(bp_alarm_value_string(a), bp_alarm_value_len(a->value_text));
	default:
		return isfinite(a->value) ? json_real(a->value) : json_null();
	}
}

json_t *bp_replay_alarm(const struct bp_alarm *a)
{
	json_t *o = json_object();

	json_object_set_new(o, "time_ns", number(a->time_ns));
	json_object_set_new(o, "rule", text(bp_alarm_rule(a), a->rule_len));
	json_object_set_new(
		o, "state", json_string(a->state == BP_ALARM_RAISED ? "raised" : "cleared"));
	json_object_set_new(o, "severity", severity(a->severity));
	json_object_set_new(o, "client", client(a));
	json_object_set_new(o, "client_id",
		a->client_id_len ? text(bp_alarm_client_id(a), a->client_id_len) : json_null());
	json_object_set_new(o, "topic", text(bp_alarm_topic(a), a->topic_len));
	json_object_set_new(o, "value", value(a));
	json_object_set_new(
		o, "action", json_string(a->flags & BP_ALARM_F_MIRROR ? "mirror" : "publish"));
	json_object_set_new(o, "publish_topic", text(bp_alarm_to(a), a->to_len));
	json_object_set_new(o, "id", number(a->id));
	return o;
}

static json_t *ports_json(const struct bp_config *c, const struct bp_totals *t)
{
	json_t *all = json_object();

	for (unsigned p = 0; p < c->n_ports; p++) {
		json_t *o = json_object();

		json_object_set_new(o, "rx_packets", number(t->port[p].rx_packets));
		json_object_set_new(o, "rx_bytes", number(t->port[p].rx_bytes));
		json_object_set_new(o, "tx_packets", number(t->port[p].tx_packets));
		json_object_set_new(o, "tx_bytes", number(t->port[p].tx_bytes));
		json_object_set_new(all, c->port[p].name, o);
	}
	return all;
}

static json_t *inputs_json(const struct bp_replay_options *o, const struct bp_replay_input *in)
{
	json_t *all = json_array();

	for (unsigned i = 0; i < o->n_in; i++) {
		json_t *j = json_object();

		json_object_set_new(j, "port", json_string(o->in[i].port));
		json_object_set_new(j, "file", text(o->in[i].path, strlen(o->in[i].path)));
		json_object_set_new(j, "frames", number(in[i].frames));
		/* of these, the capture contains only the beginning */
		json_object_set_new(j, "truncated", number(in[i].cut));
		json_object_set_new(j, "skipped", number(in[i].skipped));
		json_object_set_new(j, "invalid_tcp_checksums", number(in[i].bad_checksums));
		json_object_set_new(j, "offloaded_tcp_checksums", number(in[i].offloaded));
		json_object_set_new(j, "error",
			in[i].error ? text(in[i].error, strlen(in[i].error)) : json_null());
		json_array_append_new(all, j);
	}
	return all;
}

static json_t *counters_json(const struct bp_totals *t, bool drops)
{
	json_t *all = json_object();

	for (unsigned i = 0; i < BP_C_COUNT; i++)
		if (bp_counter_info[i].name != NULL &&
			(bp_counter_info[i].group == BP_CG_DROP) == drops)
			json_object_set_new(all, bp_counter_info[i].name, number(t->counter[i]));
	return all;
}

static json_t *rules_json(const struct bp_shm *shm)
{
	const struct bp_ruleset *rs = bp_shm_rules(shm, bp_generation_active(&shm->rules));
	json_t *all = json_object();

	for (uint32_t i = 0; i < rs->n_rules; i++) {
		const struct bp_rule *r = bp_ruleset_rule(rs, i);
		const struct bp_rule_stats *s = &shm->rule_stats[r->slot];
		json_t *o = json_object();

		json_object_set_new(o, "matched", number(bp_stat_get(&s->matched)));
		json_object_set_new(o, "raised", number(bp_stat_get(&s->raised)));
		json_object_set_new(o, "cleared", number(bp_stat_get(&s->cleared)));
		json_object_set_new(o, "value_missing", number(bp_stat_get(&s->no_value)));
		json_object_set_new(all, r->name, o);
	}
	return all;
}

static json_t *totals_json(const struct bp_totals *t)
{
	json_t *o = json_object();

	json_object_set_new(o, "rx", number(t->rx));
	json_object_set_new(o, "originated", number(t->originated));
	json_object_set_new(o, "tx", number(t->tx));
	json_object_set_new(o, "drops", number(t->drops));
	json_object_set_new(o, "punted", number(t->punted));
	json_object_set_new(o, "terminated", number(t->terminated));
	json_object_set_new(o, "balanced", json_boolean(bp_totals_exact(t)));
	return o;
}

/*
 * The minimum number of digits that represents every value exactly: 0.1 rather than
 * 0.10000000000000001.
 */
static size_t digits_needed(const json_t *alarms)
{
	const json_t *a;
	size_t i;

	json_array_foreach(alarms, i, a)
	{
		double v = json_real_value(json_object_get(a, "value"));
		char s[40];

		snprintf(s, sizeof(s), "%.15g", v);
		if (strtod(s, NULL) != v)
			return 17;
	}
	return 15;
}

static json_t *collect_policy(const struct bp_replay_options *o, const struct bp_shm *shm)
{
	return o->policy != NULL ? o->policy->collect(o->policy->arg, shm) : NULL;
}

int bp_replay_report_json(const struct bp_config *c, const struct bp_shm *shm,
	const struct bp_replay_options *o, const struct bp_replay_input *inputs,
	const struct bp_replay_phd *phd, json_t *alarms, FILE *out)
{
	size_t digits = digits_needed(alarms);
	json_t *all = json_object(), *policy;
	struct bp_totals t;
	int rc;

	bp_totals_read(shm, c->n_ports, &t);
	json_object_set_new(all, "schema_version", json_integer(BP_JSON_SCHEMA_VERSION));
	json_object_set_new(all, "inputs", inputs_json(o, inputs));
	json_object_set_new(all, "ports", ports_json(c, &t));
	json_object_set_new(all, "totals", totals_json(&t));
	json_object_set_new(all, "drops", counters_json(&t, true));
	json_object_set_new(all, "counters", counters_json(&t, false));
	json_object_set_new(all, "rules", rules_json(shm));
	json_object_set_new(all, "alarms", alarms);
	if (phd)
		json_object_set_new(all, "health_devices", bp_replay_phd_json(phd, &t));
	for (unsigned i = 0; i < o->n_parts; i++)
		if (o->parts[i]->present(shm))
			json_object_set_new(all, o->parts[i]->name, o->parts[i]->collect(shm));
	policy = collect_policy(o, shm);
	if (policy != NULL)
		json_object_set_new(all, "policy", policy);
	rc = json_dumpf(
		all, out, JSON_PRESERVE_ORDER | JSON_INDENT(2) | JSON_REAL_PRECISION(digits));
	json_decref(all);
	return rc == 0 && fputc('\n', out) != EOF && fflush(out) == 0 ? 0 : -1;
}

static void print_alarm(const json_t *a, FILE *out)
{
	json_int_t ns = json_integer_value(json_object_get(a, "time_ns"));

	fprintf(out, "  %" PRId64 ".%09" PRId64 "  %-8s %-20s %-24s %s = %.15g\n",
		(int64_t)ns / 1000000000, (int64_t)ns % 1000000000,
		json_string_value(json_object_get(a, "state")),
		json_string_value(json_object_get(a, "rule")),
		json_string_value(json_object_get(a, "client")),
		json_string_value(json_object_get(a, "topic")),
		json_real_value(json_object_get(a, "value")));
}

int bp_replay_report_policy(const struct bp_shm *shm, const struct bp_replay_options *o, FILE *out)
{
	json_t *policy = collect_policy(o, shm);

	if (policy != NULL)
		o->policy->print(policy, out);
	json_decref(policy);
	return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}

static void print_part(const struct bp_replay_part *part, const struct bp_shm *shm, FILE *out)
{
	json_t *j = part->present(shm) ? part->collect(shm) : NULL;

	if (j)
		part->print(j, out);
	json_decref(j);
}

int bp_replay_report_text(const struct bp_config *c, const struct bp_shm *shm,
	const struct bp_replay_options *o, const struct bp_replay_input *inputs,
	const struct bp_replay_phd *phd, json_t *alarms, FILE *out)
{
	struct bp_totals t;
	const json_t *a;
	size_t i;

	bp_totals_read(shm, c->n_ports, &t);
	for (unsigned k = 0; k < o->n_in; k++) {
		fprintf(out, "%s: %" PRIu64 " frames into port %s", o->in[k].path, inputs[k].frames,
			o->in[k].port);
		if (inputs[k].cut)
			fprintf(out, ", %" PRIu64 " of them truncated (snap length)",
				inputs[k].cut);
		if (inputs[k].skipped)
			fprintf(out, "; skipped %" PRIu64 " that are not Ethernet frames",
				inputs[k].skipped);
		fputc('\n', out);
	}
	bp_totals_print(c, &t, out);
	if (phd)
		bp_replay_phd_print(phd, &t, out);
	for (unsigned k = 0; k < o->n_parts; k++)
		print_part(o->parts[k], shm, out);
	(void)bp_replay_report_policy(shm, o, out);
	fprintf(out, "alarms: %zu\n", json_array_size(alarms));
	json_array_foreach(alarms, i, a) print_alarm(a, out);
	json_decref(alarms);
	return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
