/* SPDX-License-Identifier: BSD-3-Clause */
/* Processing of requests by TS-0001 and TS-0004, checked field by field. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "apps/sim/cse_sink/sink.h"

#define CODE(class_, detail) ((uint8_t)((class_) << 5 | (detail)))
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

static const struct {
	uint16_t rsc;
	uint8_t code;
} statuses[] = {{2000, CODE(2, 5)}, {2001, CODE(2, 1)}, {4000, CODE(4, 0)}, {4004, CODE(4, 4)},
	{4005, CODE(4, 5)}, {4103, CODE(4, 3)}, {4105, CODE(4, 3)}, {4117, CODE(4, 3)}};

static void set_answer(struct sink *s, struct sink_answer *a, uint16_t rsc)
{
	a->rsc = rsc;
	for (unsigned i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (statuses[i].rsc == rsc)
			a->code = statuses[i].code;
	s->counts.conflicts += rsc == 4105 || rsc == 4117;
	s->counts.refused += rsc >= 4000 && rsc != 4105 && rsc != 4117;
}

static bool name_ok(const char *name)
{
	return name[0] != '\0' && name[strspn(name, NAME_CHARACTERS)] == '\0' && strlen(name) <= 64;
}

static bool text_is(struct sink_text t, const char *text)
{
	return t.p != NULL && t.len == strlen(text) && memcmp(t.p, text, t.len) == 0;
}

static bool has(const json_t *o, const char *key, json_type type)
{
	const json_t *v = json_object_get(o, key);

	return v != NULL && json_typeof(v) == type;
}

static bool only(const json_t *o, const char *const *keys)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)o, key, v)
	{
		unsigned i = 0;

		while (keys[i] != NULL && strcmp(keys[i], key) != 0)
			i++;
		if (keys[i] == NULL)
			return false;
	}
	return true;
}

static const char *check_instance(const struct sink *s, const json_t *o)
{
	static const char *const keys[] = {"rn", "con", "cnf", "lbl", NULL};

	if (!only(o, keys))
		return "a contentInstance with an unexpected attribute";
	if (!s->o.unnamed && !has(o, "rn", JSON_STRING))
		return "a contentInstance without a name";
	if (!has(o, "con", JSON_STRING))
		return "a contentInstance without a text as content";
	if (!has(o, "cnf", JSON_STRING) ||
		strcmp(json_string_value(json_object_get(o, "cnf")), "application/json:0") != 0)
		return "a contentInstance whose cnf is not application/json:0";
	return sink_check_content(json_string_value(json_object_get(o, "con")));
}

static const char *check_ae(const struct sink *s, const json_t *o)
{
	static const char *const keys[] = {"rn", "api", "rr", "srv", "acpi", "lbl", "apn", NULL};
	const char *api = json_string_value(json_object_get(o, "api"));

	if (!only(o, keys))
		return "an AE with an unexpected attribute";
	if (api == NULL || (api[0] != 'N' && api[0] != 'R'))
		return "an AE whose api begins neither with N nor with R";
	if (json_object_get(o, "rr") == NULL || !json_is_boolean(json_object_get(o, "rr")))
		return "an AE whose rr is not a boolean";
	if (s->numbers->rvi != 0 && !has(o, "srv", JSON_ARRAY))
		return "an AE without its releases (srv)";
	return NULL;
}

static const char *check_attributes(const struct sink *s, int32_t ty, const json_t *o)
{
	static const char *const container[] = {"rn", "mni", "lbl", "acpi", NULL};
	const json_t *mni = json_object_get(o, "mni");
	const char *rn = json_string_value(json_object_get(o, "rn"));

	if (json_object_get(o, "rn") != NULL && (rn == NULL || !name_ok(rn)))
		return "an invalid resource name";
	if (ty != SINK_CIN && rn == NULL)
		return "a resource without a name";
	switch (ty) {
	case SINK_CIN:
		return check_instance(s, o);
	case SINK_AE:
		return check_ae(s, o);
	case SINK_CNT:
		if (!only(o, container))
			return "a container with an unexpected attribute";
		return mni == NULL || json_integer_value(mni) > 0
			       ? NULL
			       : "a container whose mni is not a number";
	default:
		return has(o, "pv", JSON_OBJECT) && has(o, "pvs", JSON_OBJECT)
			       ? NULL
			       : "an accessControlPolicy without its privileges";
	}
}

/* The options that every request has. */
static const char *check_options(const struct sink *s, const struct sink_message *m)
{
	char fr[256];

	if (m->path[0] == '\0')
		return "no Uri-Path";
	if (m->fr.p == NULL || m->fr.len == 0)
		return "no FR";
	snprintf(fr, sizeof(fr), "%.*s", (int)m->fr.len, m->fr.p);
	if (!name_ok(fr))
		return "an FR that is not an identifier";
	if (m->rqi.p == NULL || m->rqi.len == 0)
		return "no RQI";
	if (s->numbers->rvi != 0 && !text_is(m->rvi, s->o.rvi))
		return "an RVI of another release";
	if (m->query.p != NULL && !text_is(m->query, "rcn=0"))
		return "a Uri-Query other than rcn=0";
	if (m->code == SINK_GET)
		return m->payload.p == NULL && m->ty < 0 && m->query.p == NULL
			       ? NULL
			       : "a GET with TY, Uri-Query or a payload";
	if (m->code != SINK_POST)
		return "a method other than GET and POST";
	if (m->ty < SINK_ACP || m->ty > SINK_CIN)
		return "a TY other than 1 to 4";
	if (m->format != 50 && m->format != 10001)
		return "a Content-Format that is not JSON";
	return m->payload.p != NULL ? NULL : "no payload";
}

/* The parent of the created resource, which --any creates on demand. */
static struct sink_resource *target(struct sink *s, const char *path, const char *fr)
{
	struct sink_resource *r = sink_tree_find(s->tree, path), *parent = NULL;
	char part[SINK_PATH_MAX], *rest = part, *name;

	if (r != NULL || !s->o.any)
		return r;
	snprintf(part, sizeof(part), "%s", path);
	for (unsigned depth = 0; (name = strsep(&rest, "/")) != NULL; depth++) {
		r = sink_tree_child(s->tree, parent, name);
		if (r == NULL && depth == 0)
			return NULL;
		if (r == NULL)
			r = sink_tree_add(
				s->tree, parent, depth == 1 ? SINK_AE : SINK_CNT, name, fr, NULL);
		parent = r;
	}
	return r;
}

static bool is_allowed_child(uint8_t parent, int32_t ty)
{
	static const uint8_t parents[] = {[SINK_ACP] = 1 << SINK_CSE | 1 << SINK_AE,
		[SINK_AE] = 1 << SINK_CSE,
		[SINK_CNT] = 1 << SINK_CSE | 1 << SINK_AE | 1 << SINK_CNT,
		[SINK_CIN] = 1 << SINK_CNT};

	return (parents[ty] >> parent & 1) != 0;
}

static void count_created(struct sink *s, int32_t ty)
{
	uint64_t *const counters[] = {[SINK_ACP] = &s->counts.acps,
		[SINK_AE] = &s->counts.aes,
		[SINK_CNT] = &s->counts.containers,
		[SINK_CIN] = &s->counts.instances};

	++*counters[ty];
	if (ty != SINK_CIN)
		return;
	if (s->first_ns == 0)
		s->first_ns = s->now_ns;
	s->last_ns = s->now_ns;
}

static void create(
	struct sink *s, const struct sink_message *m, const json_t *o, struct sink_answer *a)
{
	const char *rn = json_string_value(json_object_get(o, "rn"));
	struct sink_resource *parent;
	char fr[256], made[32], *attributes = NULL;

	snprintf(fr, sizeof(fr), "%.*s", (int)m->fr.len, m->fr.p);
	parent = target(s, m->path, fr);
	if (parent == NULL) {
		set_answer(s, a, 4004);
		return;
	}
	if (!is_allowed_child(parent->ty, m->ty)) {
		set_answer(s, a, 4000);
		return;
	}
	if (m->ty == SINK_AE && sink_tree_ae(s->tree, fr) != NULL) {
		set_answer(s, a, 4117);
		return;
	}
	if (rn == NULL) {
		snprintf(made, sizeof(made), "cin_%llu", (unsigned long long)s->counts.instances);
		rn = made;
	}
	if (sink_tree_child(s->tree, parent, rn) != NULL) {
		set_answer(s, a, 4105);
		return;
	}
	if (m->ty != SINK_CIN || s->counts.instances < s->o.keep)
		attributes = json_dumps(o, JSON_COMPACT);
	sink_tree_add(s->tree, parent, (uint8_t)m->ty, rn, fr, attributes);
	free(attributes);
	count_created(s, m->ty);
	set_answer(s, a, 2001);
}

/* {"m2m:cin":{...}} without a blank. */
static json_t *read_body(const struct sink_message *m, json_t **attributes)
{
	static const char *const keys[] = {[SINK_ACP] = "m2m:acp",
		[SINK_AE] = "m2m:ae",
		[SINK_CNT] = "m2m:cnt",
		[SINK_CIN] = "m2m:cin"};
	json_t *body = json_loadb(m->payload.p, m->payload.len, JSON_REJECT_DUPLICATES, NULL);

	*attributes = json_object_size(body) == 1 ? json_object_get(body, keys[m->ty]) : NULL;
	if (!json_is_object(*attributes)) {
		json_decref(body);
		return NULL;
	}
	return body;
}

static const char *post(struct sink *s, const struct sink_message *m, struct sink_answer *a)
{
	json_t *attributes, *body = read_body(m, &attributes);
	const char *wrong;

	set_answer(s, a, 4000);
	if (body == NULL)
		return "a payload that is not the JSON of its TY";
	wrong = check_attributes(s, m->ty, attributes);
	if (wrong == NULL && m->ty == SINK_CIN &&
		(memchr(m->payload.p, ' ', m->payload.len) != NULL ||
			memchr(m->payload.p, '\n', m->payload.len) != NULL))
		wrong = "a contentInstance that is not compact JSON";
	if (wrong == NULL) {
		s->counts.refused--;
		create(s, m, attributes, a);
	}
	json_decref(body);
	return wrong;
}

static void retrieve(struct sink *s, const struct sink_message *m, struct sink_answer *a)
{
	static const char *const keys[] = {[SINK_ACP] = "acp",
		[SINK_AE] = "ae",
		[SINK_CNT] = "cnt",
		[SINK_CIN] = "cin",
		[SINK_CSE] = "cb"};
	const struct sink_resource *r = sink_tree_find(s->tree, m->path);

	s->counts.retrieves++;
	if (r == NULL) {
		set_answer(s, a, 4004);
		return;
	}
	set_answer(s, a, 2000);
	snprintf(a->body, sizeof(a->body), "{\"m2m:%s\":{\"rn\":\"%s\",\"ty\":%u%s%s%s}}",
		keys[r->ty], r->rn, r->ty, r->ty == SINK_AE ? ",\"aei\":\"" : "",
		r->ty == SINK_AE ? r->fr : "", r->ty == SINK_AE ? "\"" : "");
}

void sink_do(struct sink *s, const struct sink_message *m, const uint8_t *p, size_t len,
	struct sink_answer *a)
{
	const char *wrong = check_options(s, m);

	s->counts.requests++;
	a->body[0] = '\0';
	a->code = 0;
	if (wrong != NULL)
		set_answer(s, a, 4000);
	else if (m->code == SINK_GET)
		retrieve(s, m, a);
	else
		wrong = post(s, m, a);
	if (wrong != NULL)
		sink_violation(s, wrong, p, len);
}
