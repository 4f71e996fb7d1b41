/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/show/show.h"
#include "apps/biplane/table.h"
#include "apps/biplane/text.h"
#include "services/mqtt/flow_show.h"
#include "shm/fault.h"

/*
 * The connections that are not inspected, by reason, and the client addresses with the largest
 * numbers of them. There can be a million addresses, so CLIENTS addresses are counted for each
 * reason. A new address replaces the address with the smallest count and inherits this count
 * (space-saving, Metwally et al. 2005). An address with more than 1/CLIENTS of the connections is
 * always included.
 */
#define REASONS 32
#define CLIENTS 256

struct client {
	uint8_t ip[16];
	bool ip6;
	uint64_t connections;
};

struct reason {
	const char *name;
	uint64_t connections, longest_ms, publishes;
	unsigned n_clients;
	bool more_clients; /* than were counted */
	struct client client[CLIENTS];
};

struct sum {
	uint64_t connections, unread;
	unsigned n;
	struct reason reason[REASONS];
};

static struct reason *reason_of(struct sum *s, const char *name)
{
	for (unsigned i = 0; i < s->n; i++) {
		if (strcmp(s->reason[i].name, name) == 0)
			return &s->reason[i];
	}
	if (s->n == REASONS) /* there are fewer */
		return &s->reason[REASONS - 1];
	s->reason[s->n].name = name;
	return &s->reason[s->n++];
}

static struct client *client_of(struct reason *r, const struct bp_flow_view *v)
{
	const size_t width = v->ip6 ? 16 : 4;
	struct client *smallest = &r->client[0];

	for (unsigned i = 0; i < r->n_clients; i++) {
		struct client *c = &r->client[i];

		if (c->ip6 == v->ip6 && memcmp(c->ip, v->client_ip, width) == 0)
			return c;
		if (c->connections < smallest->connections)
			smallest = c;
	}
	if (r->n_clients < CLIENTS)
		smallest = &r->client[r->n_clients++];
	else
		r->more_clients = true;
	memcpy(smallest->ip, v->client_ip, width);
	smallest->ip6 = v->ip6;
	return smallest;
}

static int visit(const struct bp_flow_view *v, void *arg)
{
	struct sum *s = arg;
	struct reason *r;

	s->connections++;
	if (!v->unread)
		return 0;
	s->unread++;
	r = reason_of(s, v->unread_reason);
	r->connections++;
	r->publishes += v->publishes;
	if (v->unread_ms > r->longest_ms)
		r->longest_ms = v->unread_ms;
	client_of(r, v)->connections++;
	return 0;
}

static int most_first(const void *a, const void *b)
{
	const uint64_t x = ((const struct client *)a)->connections;
	const uint64_t y = ((const struct client *)b)->connections;

	return x < y ? 1 : x > y ? -1 : 0;
}

static json_t *clients(struct reason *r, uint64_t limit)
{
	json_t *list = json_array();

	qsort(r->client, r->n_clients, sizeof(r->client[0]), most_first);
	for (unsigned i = 0; i < r->n_clients && (limit == 0 || i < limit); i++) {
		char address[INET6_ADDRSTRLEN];

		inet_ntop(r->client[i].ip6 ? AF_INET6 : AF_INET, r->client[i].ip, address,
			sizeof(address));
		json_array_append_new(list, json_pack("{ss sI}", "address", address, "connections",
						    (json_int_t)r->client[i].connections));
	}
	return list;
}

static json_t *collect(const struct bp_show_source *s, char *err, size_t err_size)
{
	struct sum *sum = calloc(1, sizeof(*sum));
	json_t *list = json_array(), *view;

	if (sum == NULL || list == NULL) {
		snprintf(err, err_size, "not enough memory");
		json_decref(list);
		free(sum);
		return NULL;
	}
	/* a configuration without an mqtt section has no such table */
	if (s->shm->flows_len != 0 && bp_flow_visit(s->shm->flows, s->shm->flows_len,
					      s->shm->workers, s->mono_ns, visit, sum) != 0) {
		snprintf(err, err_size,
			"the flow table in the segment is damaged or not set up yet");
		json_decref(list);
		free(sum);
		return NULL;
	}
	for (unsigned i = 0; i < sum->n; i++) {
		struct reason *r = &sum->reason[i];

		json_array_append_new(
			list, json_pack("{ss sI sI sI so sb}", "reason", r->name, "connections",
				      (json_int_t)r->connections, "max_duration_ms",
				      (json_int_t)r->longest_ms, "publishes_before",
				      (json_int_t)r->publishes, "clients", clients(r, s->limit),
				      "more_clients",
				      (int)(r->more_clients ||
					      (s->limit != 0 && r->n_clients > s->limit))));
	}
	view = json_pack("{sI sI so}", "connections", (json_int_t)sum->connections, "not_inspected",
		(json_int_t)sum->unread, "reasons", list);
	free(sum);
	return view;
}

/* "10.0.0.7 (12), 10.0.0.9 (3), ..." */
static json_t *clients_text(const json_t *r)
{
	const json_t *list = json_object_get(r, "clients");
	char text[1024];
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < json_array_size(list) && n < sizeof(text) - 128; i++) {
		const json_t *c = json_array_get(list, i);

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s (%" JSON_INTEGER_FORMAT ")",
			i != 0 ? ", " : "", json_string_value(json_object_get(c, "address")),
			bp_show_int(c, "connections"));
	}
	if (json_is_true(json_object_get(r, "more_clients")))
		snprintf(text + n, sizeof(text) - n, ", ...");
	return json_string(text);
}

static void print(const json_t *view, bool all, FILE *out)
{
	static const struct bp_column columns[] = {
		{"reason", "REASON", 0},
		{"connections", "CONNECTIONS", 1},
		{"max_duration", "MAX-DURATION", 1},
		{"clients", "CLIENTS", 0},
		{NULL, NULL, 0},
	};
	const json_t *reasons = json_object_get(view, "reasons");
	json_t *rows = json_array();

	(void)all;
	for (size_t i = 0; i < json_array_size(reasons); i++) {
		const json_t *r = json_array_get(reasons, i);
		char span[BP_FAULT_DURATION_LEN];
		json_t *row = json_copy((json_t *)r);

		bp_fault_duration((uint64_t)bp_show_int(r, "max_duration_ms") * 1000000, span);
		json_object_set_new(row, "max_duration", json_string(span));
		json_object_set_new(row, "clients", clients_text(r));
		json_array_append_new(rows, row);
	}
	bp_table_print(out, columns, rows, "all connections are inspected");
	fprintf(out,
		"\n%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
		" connections are not inspected\n",
		bp_show_int(view, "not_inspected"), bp_show_int(view, "connections"));
	json_decref(rows);
}

const struct bp_show_view bp_show_not_inspected = {
	.name = "not-inspected",
	.summary = "MQTT connections that are not inspected: reason, duration, clients",
	.default_limit = 5,
	.collect = collect,
	.print = print,
};
