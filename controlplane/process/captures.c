/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/process/captures.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "controlplane/process/clock.h"
#include "daemon/log.h"

#define TRACED_FRAMES 10u /* that a trace follows by default */

struct bp_cp_captures {
	const struct bp_plane_context *x;
	uint64_t next_id;
	uint64_t client[BP_CAPTURE_SLOTS]; /* 0: the slot is free */
	uint32_t cost[BP_CAPTURE_SLOTS];   /* of its filter */
	struct bp_log_limit log;
	struct bp_capture_request request; /* to be written */
};

/* The data plane applies the request of a slot. */
static void write_slot(struct bp_cp_captures *c, unsigned slot, struct bp_capture_request *r)
{
	_Atomic uint64_t *changed = &c->x->shm->control->captures_changed;
	const uint64_t next = atomic_load_explicit(changed, memory_order_relaxed) + 1;

	c->cost[slot] = bp_capture_request_cost(r);
	r->since = next;
	bp_seqlock_write(&c->x->shm->capture.slot[slot].lock, r, sizeof(*r));
	atomic_store_explicit(changed, next, memory_order_release);
}

/* Without points: nothing is captured. `held`: a command still reads what was. */
static void clear_slot(struct bp_cp_captures *c, unsigned slot, bool held)
{
	memset(&c->request, 0, sizeof(c->request));
	c->request.id = held;
	write_slot(c, slot, &c->request);
}

/* The slot of a client, or BP_CAPTURE_SLOTS; of client 0: a free slot. */
static unsigned slot_of(const struct bp_cp_captures *c, uint64_t client)
{
	unsigned slot = 0;

	while (slot < BP_CAPTURE_SLOTS && c->client[slot] != client)
		slot++;
	return slot;
}

static void on_close(void *arg, uint64_t client)
{
	struct bp_cp_captures *c = arg;
	const unsigned slot = slot_of(c, client);

	if (slot == BP_CAPTURE_SLOTS)
		return;
	c->client[slot] = 0;
	clear_slot(c, slot, false);
}

/* ---- requests ---- */

static bool read_ports(const struct bp_config *config, const json_t *names, uint32_t *ports,
	char *err, size_t err_size)
{
	const json_t *name;
	size_t i;

	*ports = names == NULL ? BP_CAPTURE_ALL_PORTS : 0;
	json_array_foreach(names, i, name)
	{
		const char *text = json_string_value(name);
		uint32_t p = 0;

		while (text != NULL && p < config->n_ports &&
			strcmp(config->port[p].name, text) != 0)
			p++;
		if (text == NULL || p == config->n_ports) {
			snprintf(err, err_size, "there is no port '%s'; see 'biplane show ports'",
				text != NULL ? text : "");
			return false;
		}
		*ports |= 1u << p;
	}
	if (*ports == 0)
		snprintf(err, err_size, "member ports must be a list of names of ports");
	return *ports != 0;
}

/* Only for `biplane show captures`. */
static void copy_expression(struct bp_capture_request *r, const json_t *expression)
{
	if (json_is_string(expression) && json_string_length(expression) < sizeof(r->expression))
		snprintf(r->expression, sizeof(r->expression), "%s", json_string_value(expression));
}

static bool flag(const json_t *request, const char *name)
{
	return json_is_true(json_object_get(request, name));
}

/* Fills r. False with a sentence. */
static bool read_request(const struct bp_cp_captures *c, const json_t *request,
	struct bp_capture_request *r, char *err, size_t err_size)
{
	const char *kind = json_string_value(json_object_get(request, "kind"));
	const json_t *filter = json_object_get(request, "filter");
	const json_t *snap = json_object_get(request, "snap_length");
	const json_t *frames = json_object_get(request, "frames");
	const char *why;

	memset(r, 0, sizeof(*r));
	if (!read_ports(c->x->config, json_object_get(request, "ports"), &r->ports, err, err_size))
		return false;
	r->kind = kind != NULL && strcmp(kind, "trace") == 0 ? BP_CAPTURE_TRACE : BP_CAPTURE_FRAMES;
	r->rx = flag(request, "rx");
	r->tx = flag(request, "tx");
	r->drops = flag(request, "drops");
	copy_expression(r, json_object_get(request, "expression"));
	r->frames = TRACED_FRAMES;
	if (json_is_integer(frames) && json_integer_value(frames) > 0 &&
		json_integer_value(frames) <= BP_CAPTURE_TRACED_MAX)
		r->frames = (uint32_t)json_integer_value(frames);
	r->snap_length = BP_CAPTURE_SNAP_MAX;
	if (json_is_integer(snap))
		r->snap_length = json_integer_value(snap) > 0 &&
						 json_integer_value(snap) <= BP_CAPTURE_SNAP_MAX
					 ? (uint32_t)json_integer_value(snap)
					 : 0;
	if (filter != NULL &&
		(!json_is_string(filter) || !bp_capture_filter_parse(json_string_value(filter),
						    r->insn, &r->n_insns))) {
		snprintf(err, err_size,
			"member filter is not a program of at most %u BPF instructions",
			BP_CAPTURE_INSNS_MAX);
		return false;
	}
	why = filter != NULL && r->n_insns == 0 ? "it has no instruction"
						: bp_capture_request_invalid(r);
	if (why != NULL)
		snprintf(err, err_size, "the filter is not valid: %s", why);
	return why == NULL;
}

/* Why no capture can begin for this client; NULL: one can. */
static const char *cannot_begin(const struct bp_cp_captures *c, uint64_t client)
{
	if (c->x->shm->capture.ring_capacity == 0)
		return "captures are off: monitoring.capture_buffer is off in the configuration";
	if (slot_of(c, client) != BP_CAPTURE_SLOTS)
		return "this connection has a capture already; each needs a connection of its own";
	if (slot_of(c, 0) == BP_CAPTURE_SLOTS)
		return "8 captures and traces are running, which is the maximum; end one of them";
	return NULL;
}

/* Whether the workers can run the filter in addition to those of other captures; false with a
 * sentence. */
static bool is_affordable(const struct bp_cp_captures *c, const struct bp_capture_request *r,
	char *err, size_t err_size)
{
	const uint32_t cost = bp_capture_request_cost(r);
	uint32_t used = 0;

	for (unsigned slot = 0; slot < BP_CAPTURE_SLOTS; slot++)
		used += c->cost[slot];
	if (used + cost <= BP_CAPTURE_COST_MAX)
		return true;
	snprintf(err, err_size,
		"the filter takes up to %u instructions for a frame (a division counts as %u), and "
		"those of the running captures %u; all together may take %u: use a shorter filter, "
		"or end a capture",
		cost, BP_CAPTURE_DIVISION_COST, used, BP_CAPTURE_COST_MAX);
	return false;
}

static json_t *begin_capture(struct bp_cp_captures *c, const json_t *request, uint64_t client)
{
	const unsigned slot = slot_of(c, 0);
	const char *why = cannot_begin(c, client);
	struct bp_capture_request *r = &c->request;
	char err[256];

	if (why != NULL)
		return bp_control_refusal(why);
	if (!read_request(c, request, r, err, sizeof(err)) ||
		!is_affordable(c, r, err, sizeof(err)))
		return bp_control_refusal(err);
	r->id = ++c->next_id;
	r->uid = (uint32_t)bp_control_uid(c->x->control, client);
	r->pid = (uint32_t)bp_control_pid(c->x->control, client);
	r->started_ns = bp_unix_ns();
	write_slot(c, slot, r);
	c->client[slot] = client;
	bp_control_hold(c->x->control, client, true);
	bp_log_limited(&c->log, BP_LOG_INFO,
		BP_LOG_FIELDS(BP_LOG_NUM("uid", r->uid), BP_LOG_NUM("slot", slot)), "%s begins",
		r->kind == BP_CAPTURE_TRACE ? "trace" : "capture");
	return json_pack("{s:b, s:I, s:i, s:I}", "ok", 1, "id", (json_int_t)r->id, "slot",
		(int)slot, "since", (json_int_t)r->since);
}

static void on_begin(void *arg, const json_t *request, uint64_t client)
{
	struct bp_cp_captures *c = arg;

	bp_control_reply(c->x->control, client, begin_capture(c, request, client));
}

static void on_keep(void *arg, const json_t *request, uint64_t client)
{
	struct bp_cp_captures *c = arg;

	(void)request;
	bp_control_reply(c->x->control, client,
		slot_of(c, client) == BP_CAPTURE_SLOTS
			? bp_control_refusal("this connection has no capture")
			: json_pack("{s:b}", "ok", 1));
}

/* The slot is kept until the connection ends: the command still reads what was captured. */
static void on_stop(void *arg, const json_t *request, uint64_t client)
{
	struct bp_cp_captures *c = arg;
	const unsigned slot = slot_of(c, client);

	if (slot != BP_CAPTURE_SLOTS)
		clear_slot(c, slot, true);
	on_keep(arg, request, client);
}

struct bp_cp_captures *bp_cp_captures_new(const struct bp_plane_context *x)
{
	static const struct bp_control_command commands[] = {
		{.name = "capture-start",
			.members = ",\"kind\":\"frames\",\"rx\":true,\"tx\":true,\"drops\":false",
			.begin = on_begin},
		{.name = "capture-keep", .begin = on_keep},
		{.name = "capture-stop", .begin = on_stop},
	};
	struct bp_cp_captures *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->x = x;
	/* unlike those of a predecessor, whose clients may still read */
	c->next_id = atomic_load_explicit(&x->shm->control->cp_started_ns, memory_order_relaxed);
	for (unsigned slot = 0; slot < BP_CAPTURE_SLOTS; slot++)
		clear_slot(c, slot, false);
	if (bp_control_add(x->control, commands, sizeof(commands) / sizeof(commands[0]), c) != 0) {
		free(c);
		return NULL;
	}
	bp_control_on_close(x->control, on_close, c);
	return c;
}

void bp_cp_captures_free(struct bp_cp_captures *c)
{
	free(c);
}
