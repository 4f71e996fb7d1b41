/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/capture/trace_view.h"

#include <string.h>

#include "apps/biplane/capture/frame_text.h"
#include "apps/biplane/capture/trace_explain.h"
#include "apps/biplane/text.h"
#include "biplane/counters/general.h"
#include "shm/capture/trace.h"
#include "shm/rules/rule_state.h"

static const char *const events[BP_TRACE_EVENTS] = {
	[BP_TRACE_RECEIVED] = "received",
	[BP_TRACE_NODE] = "processed",
	[BP_TRACE_SENT] = "sent",
	[BP_TRACE_LOST] = "dropped",
};
static const char *const verdicts[] = {
	[BP_VERDICT_NOTHING] = "no change",
	[BP_VERDICT_RAISED] = "raised",
	[BP_VERDICT_CLEARED] = "cleared",
};

/* The parts of a step in a record; the record is a copy. */
struct parts {
	struct bp_trace_step head;
	const struct bp_trace_next *next;
	const struct bp_trace_count *count;
	const struct bp_trace_rule *rule;
	const struct bp_trace_alarm *alarm;
	const uint8_t *bytes;
};

/* `n` elements of `size` bytes; NULL: the record is shorter. */
static const void *take(const uint8_t **at, const uint8_t *end, size_t n, size_t size)
{
	const uint8_t *first = *at;

	if ((size_t)(end - first) / size < n)
		return NULL;
	*at += n * size;
	return first;
}

/* Whether a record has a step; its parts may be missing. */
static bool read_head(const struct bp_capture_record *r, struct bp_trace_step *head)
{
	if (r->head.kind != BP_CAPTURE_RECORD_TRACE || r->captured < sizeof(*head))
		return false;
	memcpy(head, r->data, sizeof(*head));
	return head->event < BP_TRACE_EVENTS && head->n_next <= BP_TRACE_NEXT_MAX &&
	       head->n_counts <= BP_TRACE_COUNTS_MAX && head->n_rules <= BP_TRACE_RULES_MAX &&
	       head->n_alarms <= BP_TRACE_ALARMS_MAX && head->n_bytes <= BP_TRACE_BYTES_MAX;
}

static bool split(const struct bp_capture_record *r, struct parts *p)
{
	const uint8_t *at = r->data, *end = r->data + r->captured;

	if (!read_head(r, &p->head))
		return false;
	at += sizeof(p->head);
	p->next = take(&at, end, p->head.n_next, sizeof(*p->next));
	p->count = p->next == NULL ? NULL : take(&at, end, p->head.n_counts, sizeof(*p->count));
	p->rule = p->count == NULL ? NULL : take(&at, end, p->head.n_rules, sizeof(*p->rule));
	p->alarm = p->rule == NULL ? NULL : take(&at, end, p->head.n_alarms, sizeof(*p->alarm));
	p->bytes = p->alarm == NULL ? NULL : take(&at, end, p->head.n_bytes, 1);
	return p->bytes != NULL;
}

static json_t *next_json(const struct bp_capture_session *s, const struct parts *p)
{
	char name[BP_CAPTURE_NODE_NAME];
	json_t *list = json_array();

	for (unsigned i = 0; i < p->head.n_next; i++) {
		bp_capture_session_node(s, p->next[i].node, name);
		json_array_append_new(
			list, json_pack("{ss si}", "node", name, "frames", (int)p->next[i].frames));
	}
	return list;
}

static json_t *counts_json(const struct parts *p)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < p->head.n_counts; i++) {
		const struct bp_trace_count *c = &p->count[i];
		const struct bp_counter_info *info =
			c->counter < BP_C_COUNT ? &bp_counter_info[c->counter] : NULL;

		if (info == NULL || info->name == NULL)
			continue;
		json_array_append_new(
			list, json_pack("{ss ss sI ss}", "name", info->name, "group",
				      bp_counter_group_info[info->group].name, "count",
				      (json_int_t)c->n, "description", info->help));
	}
	return list;
}

/* The value that a rule has evaluated. A trace has the index of a string in the rule's list. */
static json_t *rule_value(const struct bp_trace_rule *r)
{
	if (!r->has_value)
		return json_null();
	if (r->value_type == BP_VALUE_BOOLEAN)
		return json_boolean(r->value != 0);
	if (r->value_type == BP_VALUE_STRING)
		return r->value < 0 ? json_string("another string")
				    : json_sprintf("string %.0f of the rule", r->value);
	return json_real(r->value);
}

static json_t *rules_json(const struct parts *p)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < p->head.n_rules; i++) {
		const struct bp_trace_rule *r = &p->rule[i];
		const struct bp_condition raise = {r->op, r->a, r->b};
		char condition[BP_TEXT_CONDITION] = "";

		if (r->op <= BP_COND_OUTSIDE)
			bp_text_condition(&raise, condition);
		json_array_append_new(list,
			json_pack("{so so ss ss}", "rule", bp_text_json(r->name, sizeof(r->name)),
				"value", rule_value(r), "raise", condition, "verdict",
				!r->has_value                      ? "no value"
				: r->verdict <= BP_VERDICT_CLEARED ? verdicts[r->verdict]
								   : "unknown"));
	}
	return list;
}

static json_t *alarms_json(const struct parts *p)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < p->head.n_alarms; i++)
		json_array_append_new(list, json_integer((json_int_t)p->alarm[i].id));
	return list;
}

static void set_unless_empty(json_t *step, const char *name, json_t *list)
{
	if (json_array_size(list) != 0)
		json_object_set_new(step, name, list);
	else
		json_decref(list);
}

static void explain(
	const struct bp_capture_session *s, const struct parts *p, const char *node, json_t *step)
{
	json_t *more = NULL;

	if (strcmp(node, "ip4") == 0 || strcmp(node, "ip6") == 0) {
		more = bp_trace_route(&s->view.shm, p->bytes, p->head.n_bytes);
		if (more != NULL)
			json_object_set_new(step, "route", more);
	}
	if (strcmp(node, "mqtt") == 0) {
		more = bp_trace_connection(&s->view.shm, s->last, &p->head, p->bytes);
		if (more != NULL)
			json_object_set_new(step, "connection", more);
	}
}

bool bp_trace_step_frame(const struct bp_capture_record *r, uint32_t *frame, bool *first)
{
	struct bp_trace_step head;

	if (!read_head(r, &head))
		return false;
	*frame = head.frame;
	*first = head.event == BP_TRACE_RECEIVED;
	return true;
}

json_t *bp_trace_step_json(const struct bp_capture_session *s, const struct bp_capture_record *r)
{
	char when[BP_TEXT_TIME], node[BP_CAPTURE_NODE_NAME], port[BP_NAME_MAX + 1],
		text[BP_FRAME_TEXT];
	struct parts p;
	json_t *step;

	if (!split(r, &p))
		return NULL;
	bp_text_time(r->time_ns, when);
	bp_capture_session_node(s, r->node, node);
	bp_capture_session_port(s, r->port, port);
	step = json_pack("{ss ss ss ss si}", "time", when, "event", events[p.head.event], "node",
		node, "port", port, "length", (int)r->length);
	if (step == NULL)
		return NULL;
	if (p.head.n_bytes != 0) {
		bp_frame_text(p.bytes, p.head.n_bytes, text);
		json_object_set_new(step, "headers", json_string(text));
	}
	if (p.head.event == BP_TRACE_LOST && r->reason < BP_C_COUNT &&
		bp_counter_info[r->reason].name != NULL)
		json_object_set_new(step, "reason", json_string(bp_counter_info[r->reason].name));
	set_unless_empty(step, "next", next_json(s, &p));
	set_unless_empty(step, "counters", counts_json(&p));
	set_unless_empty(step, "rules", rules_json(&p));
	set_unless_empty(step, "alarms", alarms_json(&p));
	if (p.head.event == BP_TRACE_NODE)
		explain(s, &p, node, step);
	return step;
}

/* ---- the outcome of the frame ---- */

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text != NULL ? text : "";
}

struct outcome {
	char text[512];
	size_t n;
};

static __attribute__((format(printf, 2, 3))) void add(struct outcome *o, const char *format, ...)
{
	char part[160];
	va_list ap;
	int n;

	va_start(ap, format);
	vsnprintf(part, sizeof(part), format, ap);
	va_end(ap);
	/* copies of one frame may end the same way */
	if (strstr(o->text, part) != NULL)
		return;
	n = snprintf(o->text + o->n, sizeof(o->text) - o->n, "%s%s", o->n != 0 ? "; " : "", part);
	if (n > 0 && (size_t)n < sizeof(o->text) - o->n)
		o->n += (size_t)n;
}

static void add_counters(struct outcome *o, const json_t *step)
{
	const json_t *count;
	size_t i;

	json_array_foreach(json_object_get(step, "counters"), i, count)
	{
		const char *group = text_of(count, "group");

		if (strcmp(group, "drop") == 0)
			add(o, "dropped: %s", text_of(count, "name"));
		else if (strcmp(group, "punted") == 0)
			add(o, "punted to the kernel: %s", text_of(count, "name"));
		else if (strcmp(group, "terminated") == 0)
			add(o, "terminated: %s", text_of(count, "name"));
	}
}

/* The last node of the frame is known, but not what became of it. */
static void add_last(struct outcome *o, const json_t *steps)
{
	const char *node = text_of(json_array_get(steps, json_array_size(steps) - 1), "node");
	const char *why = "";
	const json_t *step, *count;
	size_t i, k;

	if (strcmp(node, "exception") != 0) {
		add(o, "not known: held in node %s, or steps were lost", node);
		return;
	}
	/* the thread of the host interfaces continues */
	json_array_foreach(steps, i, step)
	{
		json_array_foreach(json_object_get(step, "counters"), k, count)
		{
			if (strncmp(text_of(count, "name"), "punt_", 5) == 0)
				why = text_of(count, "name");
		}
	}
	add(o, "queued for the kernel%s%s", why[0] != '\0' ? ": " : "", why);
}

json_t *bp_trace_json(unsigned number, json_t *steps)
{
	const json_t *first = json_array_get(steps, 0), *step;
	struct outcome o = {.n = 0};
	size_t i;

	json_array_foreach(steps, i, step)
	{
		const char *event = text_of(step, "event");

		if (strcmp(event, "sent") == 0)
			add(&o, "sent on %s", text_of(step, "port"));
		else if (strcmp(event, "dropped") == 0)
			add(&o, "dropped: %s", text_of(step, "reason"));
		else
			add_counters(&o, step);
	}
	if (o.n == 0)
		add_last(&o, steps);
	return json_pack("{si ss ss sI ss ss so}", "frame", (int)number, "time",
		text_of(first, "time"), "port", text_of(first, "port"), "length",
		json_integer_value(json_object_get(first, "length")), "headers",
		text_of(first, "headers"), "outcome", o.text, "steps", steps);
}

/* ---- text ---- */

static void print_next(const json_t *step, FILE *out)
{
	const json_t *next = json_object_get(step, "next"), *to;
	size_t i;

	fprintf(out, "  %s", text_of(step, "node"));
	json_array_foreach(next, i, to)
	{
		const json_int_t frames = json_integer_value(json_object_get(to, "frames"));

		fprintf(out, "%s%s", i == 0 ? " -> " : ", ", text_of(to, "node"));
		if (frames != 1)
			fprintf(out, " (%" JSON_INTEGER_FORMAT " frames)", frames);
	}
	fputc('\n', out);
}

static void print_rules(const json_t *step, FILE *out)
{
	const json_t *rule, *alarm;
	size_t i;

	json_array_foreach(json_object_get(step, "rules"), i, rule)
	{
		const json_t *value = json_object_get(rule, "value");

		fputs("      rule ", out);
		bp_text_print_safe(text_of(rule, "rule"), out);
		fputs(": ", out);
		if (json_is_real(value))
			fprintf(out, "value %.15g, ", json_real_value(value));
		else if (json_is_string(value))
			fprintf(out, "value %s, ", json_string_value(value));
		else if (json_is_boolean(value))
			fprintf(out, "value %s, ", json_is_true(value) ? "true" : "false");
		fprintf(out, "raise %s: %s\n", text_of(rule, "raise"), text_of(rule, "verdict"));
	}
	json_array_foreach(json_object_get(step, "alarms"), i, alarm)
		fprintf(out, "      alarm %" JSON_INTEGER_FORMAT "\n", json_integer_value(alarm));
}

static void print_step(const json_t *step, FILE *out)
{
	const char *event = text_of(step, "event");
	const json_t *count;
	size_t i;

	if (strcmp(event, "received") == 0)
		return;
	if (strcmp(event, "processed") != 0) {
		fprintf(out, "      %s on %s%s%s\n", event, text_of(step, "port"),
			text_of(step, "reason")[0] != '\0' ? ": " : "", text_of(step, "reason"));
		return;
	}
	print_next(step, out);
	bp_trace_route_print(json_object_get(step, "route"), out);
	bp_trace_connection_print(json_object_get(step, "connection"), out);
	print_rules(step, out);
	json_array_foreach(json_object_get(step, "counters"), i, count) fprintf(out,
		"      %s +%" JSON_INTEGER_FORMAT ": %s\n", text_of(count, "name"),
		json_integer_value(json_object_get(count, "count")), text_of(count, "description"));
}

void bp_trace_print(const json_t *trace, FILE *out)
{
	const json_t *steps = json_object_get(trace, "steps"), *step;
	size_t i;

	fprintf(out, "frame %" JSON_INTEGER_FORMAT ": %s %s %" JSON_INTEGER_FORMAT " bytes %s\n",
		json_integer_value(json_object_get(trace, "frame")), text_of(trace, "time"),
		text_of(trace, "port"), json_integer_value(json_object_get(trace, "length")),
		text_of(trace, "headers"));
	json_array_foreach(steps, i, step) print_step(step, out);
	fprintf(out, "  => %s\n\n", text_of(trace, "outcome"));
}
