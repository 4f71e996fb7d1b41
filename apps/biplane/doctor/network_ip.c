/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/doctor/network_ip.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/doctor/tree.h"
#include "apps/biplane/show/fib_text.h"

#define TABLE_MAIN 254u

struct folder {
	const struct bp_survey *survey;
	uint32_t (*index)(void *arg, const char *name);
};

static json_t *read_array(const char *root, const char *name, char *err, size_t err_size)
{
	size_t len;
	char *text = bp_tree_read_all(root, &len, "/%s", name);
	json_t *v = text ? json_loadb(text, len, 0, NULL) : NULL;

	free(text);
	if (!json_is_array(v)) {
		snprintf(err, err_size, "%s/%s: expected a JSON array of `ip -j`", root, name);
		json_decref(v);
		return NULL;
	}
	return v;
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static void take_address(const struct folder *f, const char *dev, const json_t *info)
{
	struct bp_address a = {0};
	struct bp_prefix p;
	bool has_length;

	if (!bp_text_to_prefix(text_of(info, "local"), &p, &has_length))
		return;
	a.family = p.family;
	memcpy(a.bytes, p.bytes, sizeof(a.bytes));
	f->survey->address(f->survey->arg, f->index(f->survey->arg, dev), &a,
		(unsigned)json_integer_value(json_object_get(info, "prefixlen")));
}

static void take_route(const struct folder *f, const json_t *route, uint8_t family)
{
	const struct bp_survey *s = f->survey;
	const char *type = text_of(route, "type"), *table = text_of(route, "table");
	const json_t *hops = json_object_get(route, "nexthops"), *hop;
	struct bp_prefix to = {.family = family};
	uint32_t number = TABLE_MAIN;
	bool has_length;
	size_t i;

	if (*type && strcmp(type, "unicast") != 0)
		return;
	if (strcmp(text_of(route, "dst"), "default") != 0 &&
		!bp_text_to_prefix(text_of(route, "dst"), &to, &has_length))
		return;
	if (*table >= '0' && *table <= '9')
		number = (uint32_t)strtoul(table, NULL, 10);
	if (!hops) {
		s->way(s->arg, &to, number, f->index(s->arg, text_of(route, "dev")));
		return;
	}
	json_array_foreach(hops, i, hop)
		s->way(s->arg, &to, number, f->index(s->arg, text_of(hop, "dev")));
}

static int take_routes(const char *root, const struct folder *f, const char *name, uint8_t family,
	char *err, size_t err_size)
{
	json_t *routes = read_array(root, name, err, err_size), *route;
	size_t i;

	json_array_foreach(routes, i, route) take_route(f, route, family);
	json_decref(routes);
	return routes ? 0 : -1;
}

int bp_doctor_survey_folder(const char *root, const struct bp_survey *s,
	uint32_t (*index)(void *arg, const char *name), char *err, size_t err_size)
{
	const struct folder f = {s, index};
	json_t *links = read_array(root, "ip-address.json", err, err_size), *link, *info;
	size_t i, k;

	if (!links)
		return -1;
	json_array_foreach(links, i, link) json_array_foreach(json_object_get(link, "addr_info"), k,
		info) take_address(&f, text_of(link, "ifname"), info);
	json_decref(links);
	if (take_routes(root, &f, "ip-route-4.json", 4, err, err_size) != 0)
		return -1;
	return take_routes(root, &f, "ip-route-6.json", 6, err, err_size);
}
