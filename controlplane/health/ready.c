/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/ready.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "services/health/layout.h"
#include "services/health/manager.h"
#include "shm/hash.h"

#define PARALLEL 4u
#define NAME_MAX 64u

/* bp_phd_session.provision: queued or being provisioned; or complete, with a report still in
 * flight. */
enum { NOT_REQUESTED, REQUESTED, SUSPENDED };

/* A session that is being provisioned: the texts remain valid as long. */
struct job {
	bool used;
	uint32_t slot;
	uint16_t life;
	uint64_t needs; /* result of needs_of() */
	char type[BP_PHD_TYPE_TEXT];
	char name[BP_PHD_OBJECTS_MAX][NAME_MAX];
	const char *names[BP_PHD_OBJECTS_MAX];
};

struct bp_ready {
	struct bp_phd_tables *t;
	struct bp_phd_writer *w;
	struct bp_provision *provision;
	uint32_t *queue; /* slots, [mask + 1]: each slot once, so the queue cannot overflow */
	bool *queued;    /* by slot: its session may be another one by now */
	uint32_t mask, head, tail;
	struct job job[PARALLEL];
	bool (*busy)(void *arg, uint32_t slot); /* may be NULL */
	void *busy_arg;
	const struct bp_ready_memory *memory; /* may be NULL */
	void *memory_arg;
	uint64_t target; /* hash of the settings that the containers of all devices depend on */
	bool by_type;    /* and whether they depend on {type} */
	uint64_t spared;
	/* a copy: the configuration changes at a reload, these settings only at a restart */
	struct bp_config_phd_cse cse;
	char name[BP_NAME_MAX + 1];
};

static struct bp_phd_session *session_of(const struct bp_ready *r, uint32_t slot)
{
	return &r->t->sessions[slot];
}

/* Returns whether the session needs resources that it does not have. */
static bool lacks(const struct bp_ready *r, uint32_t slot, uint64_t *word)
{
	*word = atomic_load_explicit(&session_of(r, slot)->word, memory_order_relaxed);
	return bp_phd_word_state(*word) == BP_PHD_OPERATING &&
	       !(bp_phd_word_flags(*word) & BP_PHD_READY);
}

bool bp_ready_is(const struct bp_ready *r, uint32_t slot)
{
	uint64_t word;

	return !lacks(r, slot, &word);
}

bool bp_ready_is_suspended(const struct bp_ready *r, uint32_t slot)
{
	return session_of(r, slot)->provision == SUSPENDED;
}

uint32_t bp_ready_waiting(const struct bp_ready *r)
{
	uint32_t n = r->tail - r->head;

	for (unsigned i = 0; i < PARALLEL; i++)
		n += r->job[i].used;
	return n;
}

uint64_t bp_ready_spared(const struct bp_ready *r)
{
	return r->spared;
}

/* ---- remembered sessions ---- */

static uint64_t add_text(uint64_t h, const void *text, size_t len)
{
	static const uint64_t key[2] = {0x726561647920746full, 0x6d61646520666f72ull};

	return bp_mix64(h ^ bp_hash_bytes(key, text, len));
}

/* Without the release and the number of instances: existing containers remain unchanged. */
static uint64_t hash_target(const struct bp_config_phd_cse *c)
{
	uint64_t h = (uint64_t)c->coap_port << 8 | c->coap_address.family;

	h = add_text(h, c->coap_address.bytes, c->coap_address.family == 4 ? 4 : 16);
	h = add_text(h, c->path, strlen(c->path));
	return add_text(h, c->originator, strlen(c->originator));
}

/* Returns a hash of the values that the session's containers depend on; 0: it is not known yet. */
static uint64_t needs_of(const struct bp_ready *r, uint32_t slot)
{
	const struct bp_phd_session *s = session_of(r, slot);
	const uint64_t word = atomic_load_explicit(&s->word, memory_order_relaxed);
	const struct bp_phd_layout *l = bp_phd_layout_of(r->t, word);
	char type[BP_PHD_TYPE_TEXT];
	uint64_t h = r->target;

	/* a layout of other settings is replaced before it is used (bp_phd_manager_loaded()) */
	if (!l || l->plan != r->t->control->plan.hash)
		return 0;
	if (r->by_type) {
		bp_phd_type_text(s->spec, type);
		h = add_text(h, type, strlen(type));
	}
	if (r->t->control->plan.per_report)
		h = add_text(h, BP_PHD_REPORT_NAME, strlen(BP_PHD_REPORT_NAME));
	else
		for (unsigned i = 0; i < l->n; i++)
			h = add_text(h, l->text + l->object[i].name, l->object[i].name_len);
	return h != 0 ? h : 1;
}

static void remember(struct bp_ready *r, uint32_t slot, uint64_t made)
{
	const struct bp_phd_session *s = session_of(r, slot);

	if (r->memory)
		r->memory->set_created(r->memory_arg, s->system_id, s->config_id, made);
}

static bool is_remembered(const struct bp_ready *r, uint32_t slot)
{
	const struct bp_phd_session *s = session_of(r, slot);
	const uint64_t made =
		r->memory ? r->memory->made(r->memory_arg, s->system_id, s->config_id) : 0;

	return made != 0 && made == needs_of(r, slot);
}

void bp_ready_set_memory(struct bp_ready *r, const struct bp_ready_memory *memory, void *arg)
{
	r->memory = memory;
	r->memory_arg = arg;
}

/* ---- queue ---- */

static void put(struct bp_ready *r, uint32_t slot)
{
	session_of(r, slot)->provision = REQUESTED;
	if (r->queued[slot])
		return;
	r->queued[slot] = true;
	r->queue[r->tail++ & r->mask] = slot;
}

static void request_slot(struct bp_ready *r, uint32_t slot)
{
	if (session_of(r, slot)->provision == REQUESTED)
		return;
	put(r, slot);
	bp_provision_kick(r->provision);
}

static void not_ready(struct bp_ready *r, uint32_t slot)
{
	const uint64_t word =
		atomic_load_explicit(&session_of(r, slot)->word, memory_order_relaxed);

	if (bp_phd_word_flags(word) & (BP_PHD_READY | BP_PHD_STALE))
		bp_phd_session_flags(r->w, slot, 0, BP_PHD_READY | BP_PHD_STALE);
}

/* The session has all of its resources. */
static void settle(struct bp_ready *r, uint32_t slot)
{
	const bool busy = r->busy && r->busy(r->busy_arg, slot);

	session_of(r, slot)->provision = busy ? SUSPENDED : NOT_REQUESTED;
	if (!busy)
		bp_phd_session_flags(r->w, slot, BP_PHD_READY, 0);
}

void bp_ready_request(struct bp_ready *r, uint32_t slot)
{
	uint64_t word;

	not_ready(r, slot);
	if (lacks(r, slot, &word) && is_remembered(r, slot)) {
		r->spared++;
		settle(r, slot);
	} else {
		request_slot(r, slot);
	}
}

void bp_ready_lost(struct bp_ready *r, uint32_t slot)
{
	remember(r, slot, 0);
	not_ready(r, slot);
	request_slot(r, slot);
}

/* Names the objects of a layout as in the paths of their containers. */
static unsigned name_objects(const struct bp_ready *r, const struct bp_phd_layout *l, struct job *j)
{
	if (r->t->control->plan.per_report) {
		j->names[0] = BP_PHD_REPORT_NAME;
		return 1;
	}
	for (unsigned i = 0; i < l->n; i++) {
		const struct bp_phd_object *o = &l->object[i];

		snprintf(j->name[i], NAME_MAX, "%.*s", (int)o->name_len,
			(const char *)l->text + o->name);
		j->names[i] = j->name[i];
	}
	return l->n;
}

static struct job *free_job(struct bp_ready *r)
{
	for (unsigned i = 0; i < PARALLEL; i++)
		if (!r->job[i].used)
			return &r->job[i];
	return NULL;
}

static bool next(void *arg, struct bp_provision_target *out)
{
	struct bp_ready *r = arg;
	struct job *j = free_job(r);

	while (j && r->head != r->tail) {
		const uint32_t slot = r->queue[r->head++ & r->mask];
		struct bp_phd_session *s = session_of(r, slot);
		const struct bp_phd_layout *l;
		uint64_t word;

		r->queued[slot] = false;
		if (s->provision != REQUESTED)
			continue; /* complete, or another session has the slot */
		s->provision = NOT_REQUESTED;
		j->needs = needs_of(r, slot);
		if (!lacks(r, slot, &word) || j->needs == 0)
			continue;
		l = bp_phd_layout_of(r->t, word);
		j->used = true;
		j->slot = slot;
		j->life = bp_phd_word_life(word);
		s->provision = REQUESTED; /* and being provisioned: it is not queued again */
		*out = (struct bp_provision_target){.cookie = (uint64_t)(j - r->job),
			.type = bp_phd_type_text(s->spec, j->type),
			.objects = j->names,
			.n_objects = name_objects(r, l, j)};
		memcpy(out->system_id, s->system_id, sizeof(out->system_id));
		return true;
	}
	return false;
}

static void done(void *arg, uint64_t cookie, bool ready)
{
	struct bp_ready *r = arg;
	struct job *j = &r->job[cookie];
	const uint32_t slot = j->slot;
	uint64_t word;

	j->used = false;
	session_of(r, slot)->provision = NOT_REQUESTED;
	if (!lacks(r, slot, &word))
		return;
	if (!ready || bp_phd_word_life(word) != j->life || needs_of(r, slot) != j->needs) {
		put(r, slot); /* again, or for the next session in that slot */
		return;
	}
	remember(r, slot, j->needs);
	settle(r, slot);
}

void bp_ready_hold(struct bp_ready *r, bool (*busy)(void *arg, uint32_t slot), void *arg)
{
	r->busy = busy;
	r->busy_arg = arg;
}

void bp_ready_idle(struct bp_ready *r, uint32_t slot)
{
	uint64_t word;

	/* another session in the slot has another state: bp_phd_session_open() sets it */
	if (session_of(r, slot)->provision != SUSPENDED)
		return;
	session_of(r, slot)->provision = NOT_REQUESTED;
	if (lacks(r, slot, &word))
		bp_phd_session_flags(r->w, slot, BP_PHD_READY, 0);
}

struct bp_ready *bp_ready_new(struct event_base *base, struct bp_phd_tables *tables,
	struct bp_phd_writer *writer, const struct bp_cse *cse, const struct bp_config_phd *c,
	const char *name)
{
	struct bp_provision_settings settings = {.release = (enum bp_m2m_release)c->cse.release,
		.keep = c->cse.max_instances,
		.parallel = PARALLEL,
		.retry_max_ns = c->cse.max_retry_interval_ns};
	static const struct bp_provision_ops ops = {.next = next, .done = done};
	struct bp_ready *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->cse = c->cse;
	snprintf(r->name, sizeof(r->name), "%s", name);
	settings.path = r->cse.path;
	settings.originator = r->cse.originator;
	settings.name = r->name;
	r->t = tables;
	r->w = writer;
	for (r->mask = 1; r->mask < tables->n_slots; r->mask = r->mask * 2 + 1)
		;
	r->target = hash_target(&r->cse);
	r->by_type = strstr(r->cse.path, "{type}") || strstr(r->cse.originator, "{type}");
	r->queue = calloc((size_t)r->mask + 1, sizeof(*r->queue));
	r->queued = calloc((size_t)r->mask + 1, sizeof(*r->queued));
	if (r->queue && r->queued)
		r->provision = bp_provision_new(base, cse, &settings, &ops, r);
	if (!r->provision) {
		free(r->queue);
		free(r->queued);
		free(r);
		return NULL;
	}
	for (uint32_t slot = 0; slot < tables->n_slots; slot++) {
		uint64_t word;

		if (lacks(r, slot, &word))
			put(r, slot);
	}
	bp_provision_kick(r->provision);
	return r;
}

void bp_ready_free(struct bp_ready *r)
{
	if (!r)
		return;
	bp_provision_free(r->provision);
	free(r->queue);
	free(r->queued);
	free(r);
}

const struct bp_provision_counts *bp_ready_counts(const struct bp_ready *r)
{
	return bp_provision_counts(r->provision);
}
