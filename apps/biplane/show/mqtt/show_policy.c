/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/show/mqtt/rules_copy.h"
#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"
#include "config/schema.h"
#include "apps/biplane/text_value.h"
#include "shm/rules/policy_value.h"

static const char *const action_name[BP_POLICY_ACTIONS] = {[BP_POLICY_ALLOW] = "allow",
	[BP_POLICY_OBSERVE] = "observe",
	[BP_POLICY_CLOSE] = "close",
	[BP_POLICY_BLANK] = "blank"};
static const char *const packet_name[BP_POLICY_PACKETS] = {[BP_POLICY_ANY] = "any",
	[BP_POLICY_CONNECT] = "connect",
	[BP_POLICY_WILL] = "will",
	[BP_POLICY_PUBLISH] = "publish",
	[BP_POLICY_SUBSCRIBE] = "subscribe"};

static void add_stats(json_t *row, const struct bp_shm *m, uint32_t slot)
{
	uint64_t matched = 0, undecided = 0, last = 0;
	char time[BP_TEXT_TIME];

	for (uint32_t w = 0; w < m->workers && slot < m->policy_slots; w++) {
		struct bp_policy_stats *s = &m->policy_stats[(uint64_t)w * m->policy_slots + slot];
		const uint64_t ns = atomic_load_explicit(&s->matched_ns, memory_order_relaxed);

		matched += atomic_load_explicit(&s->matched, memory_order_relaxed);
		undecided += atomic_load_explicit(&s->undecided, memory_order_relaxed);
		last = ns > last ? ns : last;
	}
	bp_text_time(last, time);
	json_object_set_new(row, "decisions", json_integer((json_int_t)matched));
	json_object_set_new(row, "undecided", json_integer((json_int_t)undecided));
	json_object_set_new(row, "last", last != 0 ? json_string(time) : json_null());
}

/* A text of a checked image. */
static json_t *text(const struct bp_ruleset *rs, uint32_t at, uint16_t len)
{
	return len != 0 ? bp_text_json((const char *)rs + at, len) : json_null();
}

/* The other conditions, as in the configuration: "qos 0, retain true". */
struct conditions {
	FILE *out;
	unsigned n;
};

static __attribute__((format(printf, 2, 3))) void add(struct conditions *c, const char *format, ...)
{
	va_list args;

	if (c->n++ != 0)
		fputs(", ", c->out);
	va_start(args, format);
	vfprintf(c->out, format, args);
	va_end(args);
}

/* "hours 22:00..06:00 mon fri" */
static void write_hours(struct conditions *c, const struct bp_policy_rule *r)
{
	static const char *const day[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

	add(c, "hours %02u:%02u..%02u:%02u", r->from / 60u, r->from % 60u, r->to / 60u,
		r->to % 60u);
	for (unsigned i = 0; i < 7 && r->days != 0x7f; i++)
		if (r->days >> i & 1)
			fprintf(c->out, " %s", day[i]);
}

/* "rate above 30/m (burst 5) per client" */
static void write_rate(struct conditions *c, const struct bp_policy_rule *r)
{
	static const char *const per[] = {"client", "address", "topic"};
	static const char unit[] = {'s', 'm', 'h'};
	double n = 1e9 / (double)r->rate_period_ns;
	unsigned u = 0;

	for (; u + 1 < sizeof(unit) && n < 1; u++)
		n *= 60;
	add(c, "rate above %g/%c (burst %" PRIu64 ") per %s", n, unit[u],
		r->rate_depth_ns / r->rate_period_ns, per[r->rate_per]);
}

static void write_conditions(
	struct conditions *c, const struct bp_shm *m, const struct bp_policy_rule *r)
{
	static const char *const version[] = {[3] = "3.1", [4] = "3.1.1", [5] = "5.0"};
	char address[BP_ADDRESS_TEXT];

	if (r->identity != BP_POLICY_EVERYBODY)
		add(c, "anonymous %s", r->identity == BP_POLICY_ANONYMOUS ? "true" : "false");
	if (r->has_address)
		add(c, "address %s", bp_prefix_text(&r->address, address));
	if (r->port != 0 && r->port <= bp_show_ports_in_use(m)) {
		const char *of = m->ports[r->port - 1].name;
		json_t *name = bp_text_json(of, sizeof(m->ports[0].name));

		add(c, "port %s", json_string_value(name));
		json_decref(name);
	}
	if (r->version >= 3 && r->version <= 5)
		add(c, "mqtt_version %s", version[r->version]);
	if (r->qos != 0)
		add(c, "qos %u", r->qos - 1u);
	if (r->retain != 0)
		add(c, "retain %s", r->retain == 2 ? "true" : "false");
	if (r->has_size)
		add(c, "larger_than %" PRIu32, r->larger_than);
	if (r->has_packet_size)
		add(c, "packet_larger_than %" PRIu32, r->packet_larger_than);
	if (r->has_keep_alive && r->keep_alive_min != 0)
		add(c, "keep_alive above %" PRIu32 "s", r->keep_alive_min - 1);
	if (r->has_keep_alive && r->keep_alive_max != BP_POLICY_KEEP_ALIVE_NONE)
		add(c, "keep_alive below %" PRIu32 "s", r->keep_alive_max + 1);
	if (r->connections != 0)
		add(c, "connections above %" PRIu32, r->connections);
	if (r->days != 0)
		write_hours(c, r);
	if (r->rate_period_ns != 0 && r->rate_per <= BP_POLICY_PER_TOPIC)
		write_rate(c, r);
}

static void write_value(struct conditions *c, const struct bp_policy_value *v)
{
	char condition[BP_TEXT_RULE_CONDITION], source[BP_TEXT_SOURCE];

	bp_text_source(&v->source, source);
	bp_text_value_condition(&v->source, v->source.type == BP_VALUE_STRING ? &v->strings : NULL,
		&v->condition, condition);
	add(c, "payload %s %s", source, condition);
}

json_t *bp_policy_conditions(
	const struct bp_ruleset *rs, const struct bp_shm *m, const struct bp_policy_rule *r)
{
	char *text = NULL;
	size_t size;
	struct conditions c = {.out = open_memstream(&text, &size)};
	json_t *value;

	if (c.out == NULL)
		return NULL;
	write_conditions(&c, m, r);
	if (r->value != 0)
		write_value(&c, bp_policy_value(rs, r));
	value = fclose(c.out) != 0 ? NULL : c.n != 0 ? json_string(text) : json_null();
	free(text);
	return value;
}

static json_t *rule_row(
	const struct bp_ruleset *rs, const struct bp_shm *m, const struct bp_policy_rule *r)
{
	json_t *row = json_pack("{so ss ss so so so so}", "name",
		bp_text_json(r->name, sizeof(r->name)), "action", action_name[r->action], "packet",
		packet_name[r->packet], "topic", text(rs, r->topic, r->topic_len), "client_id",
		text(rs, r->client, r->client_len), "user_name", text(rs, r->user, r->user_len),
		"conditions", bp_policy_conditions(rs, m, r));

	if (row != NULL)
		add_stats(row, m, r->slot);
	return row;
}

static const char *fail_name(bool closed)
{
	return closed ? "closed" : "open";
}

/* Ports that fail in another way than the policy. */
static json_t *overrides(const struct bp_ruleset *rs, const struct bp_shm *m)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < bp_show_ports_in_use(m); i++) {
		const bool closed = bp_policy_fails_closed(rs, i + 1);

		if (closed != bp_policy_fails_closed(rs, 0))
			json_array_append_new(list,
				json_pack("{so ss}", "port",
					bp_text_json(m->ports[i].name, sizeof(m->ports[0].name)),
					"fail", fail_name(closed)));
	}
	return list;
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	struct bp_ruleset *rs = bp_rules_copy(s->shm, err, err_size);
	json_t *list = json_array(), *preset = NULL, *view;

	if (rs == NULL) {
		json_decref(list);
		return NULL;
	}
	for (uint32_t i = 0; i < rs->n_policy; i++) {
		if (json_array_append_new(list, rule_row(rs, s->shm, bp_policy_rule(rs, i))) != 0) {
			snprintf(err, err_size, "not enough memory");
			json_decref(list);
			free(rs);
			return NULL;
		}
	}
	preset = json_pack("{ss}", "action", action_name[rs->policy_preset]);
	add_stats(preset, s->shm, 0);
	view = json_pack("{sb sI so so ss so}", "enabled", (int)rs->policy_given, "generation",
		(json_int_t)rs->generation, "rules", list, "default", preset, "fail",
		fail_name(bp_policy_fails_closed(rs, 0)), "fail_overrides", overrides(rs, s->shm));
	free(rs);
	return view;
}

static void print(const json_t *view, bool all, FILE *out)
{
	static const struct bp_column columns[] = {
		{"name", "RULE", 0},
		{"action", "ACTION", 0},
		{"packet", "PACKET", 0},
		{"topic", "TOPIC", 0},
		{"client_id", "CLIENT-ID", 0},
		{"user_name", "USER-NAME", 0},
		{"conditions", "CONDITIONS", 0},
		{"decisions", "DECISIONS", 1},
		{"undecided", "UNDECIDED", 1},
		{"last", "LAST", 0},
		{NULL, NULL, 0},
	};
	const json_t *rules = json_object_get(view, "rules");
	const json_t *preset = json_object_get(view, "default"), *o;
	size_t i;

	(void)all;
	if (!json_is_true(json_object_get(view, "enabled"))) {
		fputs("no policy: mqtt.policy is not configured\n", out);
		return;
	}
	bp_table_print(out, columns, rules, "no rules");
	fprintf(out,
		"\ndefault: %s, %" JSON_INTEGER_FORMAT " decisions, last %s; generation "
		"%" JSON_INTEGER_FORMAT "\n",
		json_string_value(json_object_get(preset, "action")),
		bp_show_int(preset, "decisions"),
		json_is_string(json_object_get(preset, "last"))
			? json_string_value(json_object_get(preset, "last"))
			: "-",
		bp_show_int(view, "generation"));
	fprintf(out, "fail: %s", json_string_value(json_object_get(view, "fail")));
	json_array_foreach(json_object_get(view, "fail_overrides"), i, o)
		fprintf(out, "%s %s at port %s", i == 0 ? ";" : ",",
			json_string_value(json_object_get(o, "fail")),
			json_string_value(json_object_get(o, "port")));
	fputc('\n', out);
}

const struct bp_show_view bp_show_policy = {
	.name = "policy",
	.summary = "the MQTT policy, with the decisions of its rules",
	.collect = collect,
	.print = print,
};
