/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/cse/provision.h"

#include <event2/event.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controlplane/process/clock.h"
#include "controlplane/health/cse/provision_chain.h"

#define NS_PER_S 1000000000ull
#define ALREADY_REGISTERED 4117  /* an originator's second AE (TS-0004, 6.6.3) */
#define UPDATED 2004             /* TS-0004, 6.6.3 */
#define SKIP_MAX 64u             /* paused devices that are skipped in one iteration */
#define SKIP_NS (NS_PER_S / 100) /* delay until the next iteration */
#define REFUSED_MAX 16u          /* consecutive rejections after which a chain pauses */
#define PROBE_WAITS_NS NS_PER_S  /* delay before another device sends requests too */
/* consecutive unreadable answers after which the CSE counts as unreachable */
#define UNREADABLE_MAX 16u

static void go_on(struct chain *c);
static void on_reply(void *arg, const struct bp_cse_reply *r);

static void pause_for(struct chain *c, enum step after, uint64_t ns)
{
	struct timeval t = {(time_t)(ns / NS_PER_S), (suseconds_t)(ns % NS_PER_S / 1000)};

	c->after_pause = after;
	c->step = PAUSE;
	evtimer_add(c->pause, &t);
}

/* Returns the pause after `*ns`, and doubles it. */
static uint64_t growing(const struct bp_provision *p, uint64_t *ns)
{
	uint64_t now = *ns != 0 ? *ns : p->settings.retry_first_ns;

	if (now > p->settings.retry_max_ns)
		now = p->settings.retry_max_ns;
	*ns = now * 2;
	return now;
}

/* ---- steps of a chain ---- */

static void finish(struct chain *c)
{
	struct bp_provision *p = c->p;

	c->step = IDLE;
	p->counts.provisioned++;
	p->refused_row = 0;
	bp_provision_pause_forget(&p->pauses, c->target.system_id);
	p->ops->done(p->arg, c->target.cookie, true);
}

/* Returns the device to the queue: it is retried later. */
static void suspend_chain(struct chain *c)
{
	struct bp_provision *p = c->p;

	bp_provision_pause_begin(&p->pauses, c->target.system_id, bp_mono_ns(),
		p->settings.retry_first_ns, p->settings.retry_max_ns);
	c->step = IDLE;
	p->ops->done(p->arg, c->target.cookie, false);
}

/*
 * The CSE rejects the request, and would reject an immediate repetition. If it rejects a resource
 * that all devices need, all wait for that resource; otherwise this device waits, and the chain
 * continues with other devices, slowly if all are rejected.
 */
static void refuse(
	struct chain *c, const char *what, const struct bp_m2m_reply *r, const char *hint)
{
	struct bp_provision *p = c->p;
	char path[BP_PROVISION_PATH_MAX], code[8];

	if (!bp_chain_render(c, c->object < c->target.n_objects ? c->object : 0, path))
		snprintf(path, sizeof(path), "%s", p->settings.path);
	snprintf(code, sizeof(code), "%u.%02u", r->code >> 5, r->code & 31u);
	bp_log_limited(&p->log, BP_LOG_WARNING,
		BP_LOG_FIELDS(BP_LOG_STR("path", path), BP_LOG_STR("coap_code", code),
			BP_LOG_NUM("response_status", r->rsc)),
		"CSE rejected %s%s; retrying", what, hint);
	p->counts.refused++;
	if (c->step <= POLICY_STEP) {
		pause_for(c, GATEWAY, growing(p, &p->base_ns));
		return;
	}
	suspend_chain(c);
	if (++p->refused_row > REFUSED_MAX)
		pause_for(c, IDLE, p->settings.retry_first_ns);
}

/* Returns whether this container was already created for the previous object. */
static bool is_created_before(const struct chain *c, const char *path)
{
	char before[BP_PROVISION_PATH_MAX];
	size_t len = bp_provision_prefix(path, c->depth + 1);

	return c->object > 0 && bp_chain_render(c, c->object - 1, before) &&
	       bp_provision_prefix(before, c->depth + 1) == len && memcmp(before, path, len) == 0;
}

/* Sets object and depth to the next container to be created; false: all are created. */
static bool next_container(struct chain *c)
{
	char path[BP_PROVISION_PATH_MAX];

	for (c->depth++; c->object < c->target.n_objects; c->object++, c->depth = 2) {
		if (!bp_chain_render(c, c->object, path))
			return true; /* request_container() reports it */
		for (; c->depth < bp_provision_segments(path); c->depth++)
			if (!is_created_before(c, path))
				return true;
	}
	return false;
}

static void to_containers(struct chain *c)
{
	c->step = CONTAINER;
	c->object = 0;
	c->depth = 1;
	if (!next_container(c))
		finish(c);
}

static void after_base(struct chain *c)
{
	c->p->based = true;
	c->p->basing = false;
	c->p->base_ns = 0;
	bp_provision_kick(c->p); /* the other chains waited for this */
	if (bp_chain_one_ae(c->p))
		to_containers(c);
	else
		c->step = DEVICE;
}

static bool is_created(const struct bp_m2m_reply *r)
{
	return bp_m2m_outcome(r, false) == BP_M2M_STORED;
}

static bool updated(const struct bp_m2m_reply *r)
{
	return r->code == BP_COAP_CODE(2, 4) && (r->rsc == UPDATED || r->rsc == 0);
}

static bool there(const struct bp_m2m_reply *r)
{
	return r->rsc == BP_M2M_CONFLICT || r->rsc == ALREADY_REGISTERED;
}

/* Returns whether a retrieved AE is the one that we would register. */
static bool is_own_resource(const struct chain *c, const struct bp_cse_reply *r)
{
	json_t *body = r->payload != NULL
			       ? json_loadb((const char *)r->payload, r->payload_len, 0, NULL)
			       : NULL;
	const char *aei =
		json_string_value(json_object_get(json_object_get(body, "m2m:ae"), "aei"));
	char path[BP_PROVISION_PATH_MAX], ae[128], fr[256];
	bool ours = false;

	if (c->step == CHECK_GATEWAY)
		ours = aei != NULL && strcmp(aei, c->p->settings.originator) == 0;
	else if (bp_chain_render(c, 0, path) && bp_provision_segment(ae, sizeof(ae), path, 1) &&
		 bp_chain_registrant(c, ae, fr, sizeof(fr)))
		ours = aei != NULL && strcmp(aei, fr) == 0;
	json_decref(body);
	return ours && r->m2m.code == BP_COAP_CODE(2, 5);
}

/* Returns the reason why an existing AE is not ours, for the log. */
static const char *creator_of(const struct chain *c, const struct bp_m2m_reply *r)
{
	/* its name is free, so the originator has registered another AE before */
	if (bp_m2m_outcome(r, true) == BP_M2M_NO_TARGET)
		return ": its originator has registered an AE with another name; delete it, or set "
		       "another health_devices.cse.originator";
	if (c->step == CHECK_GATEWAY && !bp_chain_one_ae(c->p))
		return ": an AE with this name exists, of another originator; delete it, or set "
		       "another name";
	return ": an AE with this name exists, of another originator; delete it, or set another "
	       "health_devices.cse.path";
}

static void base_reply(struct chain *c, const struct bp_cse_reply *r)
{
	bool ok = is_created(&r->m2m) ||
		  (c->step == POLICY_STEP && r->m2m.rsc == BP_M2M_CONFLICT) ||
		  (c->step == CHECK_GATEWAY && is_own_resource(c, r));

	if (c->step == GATEWAY && there(&r->m2m))
		c->step = CHECK_GATEWAY;
	else if (!ok)
		refuse(c, c->step == POLICY_STEP ? "the access control policy" : "the gateway's AE",
			&r->m2m, c->step == CHECK_GATEWAY ? creator_of(c, &r->m2m) : "");
	else if (c->step == POLICY_STEP || bp_chain_one_ae(c->p))
		after_base(c);
	else
		c->step = POLICY_STEP;
}

/*
 * The AE exists. If the policy was deleted or removed from the AE, only the AE's own originator has
 * access to it until it has a policy again.
 */
static void check_device(struct chain *c, const struct bp_cse_reply *r)
{
	if (is_own_resource(c, r)) {
		if (c->step == OWN_DEVICE)
			c->step = REPAIR_DEVICE;
		else
			to_containers(c);
	} else if (c->step == CHECK_DEVICE && !bp_chain_own_originators(c->p) &&
		   bp_m2m_outcome(&r->m2m, true) == BP_M2M_DENIED) {
		c->step = OWN_DEVICE;
	} else {
		refuse(c, "the AE", &r->m2m, creator_of(c, &r->m2m));
	}
}

static void device_reply(struct chain *c, const struct bp_cse_reply *r)
{
	if (c->step == CHECK_DEVICE || c->step == OWN_DEVICE) {
		check_device(c, r);
	} else if (c->step == DEVICE && there(&r->m2m)) {
		c->step = CHECK_DEVICE;
	} else if (is_created(&r->m2m) || (c->step == REPAIR_DEVICE && updated(&r->m2m))) {
		to_containers(c);
	} else {
		/* the policy may be missing: it is checked at the next attempt */
		c->p->based = false;
		refuse(c, c->step == DEVICE ? "the AE" : "the access control policy", &r->m2m, "");
	}
}

static void container_reply(struct chain *c, const struct bp_cse_reply *r)
{
	if (!is_created(&r->m2m) && r->m2m.rsc != BP_M2M_CONFLICT) {
		c->p->based = false;
		refuse(c, "a container", &r->m2m, "");
	} else if (!next_container(c)) {
		finish(c);
	}
}

/* ---- unreachable CSE ---- */

static void cse_unreachable(struct chain *c)
{
	struct bp_provision *p = c->p;

	if (p->counts.unreachable_since_ns == 0) {
		p->counts.unreachable_since_ns = bp_mono_ns();
		bp_log(BP_LOG_WARNING, "CSE does not answer, or is busy; retrying");
	}
	/* The first chain that detects it probes the CSE; the others wait for the answer. */
	if (p->probe == NULL || p->probe == c) {
		p->probe = c;
		pause_for(c, c->step, growing(p, &p->retry_pause_ns));
	} else {
		c->parked = true;
		c->after_pause = c->step;
		c->step = PAUSE;
	}
}

/*
 * The CSE is busy, or its answer is unreadable. The cause may be this device, so another device
 * asks next.
 */
static void busy(struct chain *c)
{
	struct bp_provision *p = c->p;

	if (c->step <= POLICY_STEP) {
		cse_unreachable(c);
		return;
	}
	suspend_chain(c);
	if (p->probe == NULL || p->probe == c)
		cse_unreachable(c);
}

/* The cause is probably this device: it waits, and others continue. */
static void stumbles(struct chain *c)
{
	struct bp_provision *p = c->p;
	char path[BP_PROVISION_PATH_MAX];

	if (!bp_chain_render(c, 0, path))
		snprintf(path, sizeof(path), "%s", p->settings.path);
	bp_log_limited(&p->log, BP_LOG_WARNING, BP_LOG_FIELDS(BP_LOG_STR("path", path)),
		"CSE does not answer for this path; retrying later, other paths continue");
	suspend_chain(c);
	go_on(c);
}

/*
 * The CSE is reachable if it answered a later request of another chain. It is also reachable if it
 * sends answers that are not those of a CSE, unless it sends them for all requests.
 */
static void unanswered(struct chain *c, enum bp_cse_end end)
{
	struct bp_provision *p = c->p;
	const bool said = end == BP_CSE_RESET && ++p->unreadable_row <= UNREADABLE_MAX;

	if (c->step > POLICY_STEP && (p->answered_ns > c->requested_ns || said))
		stumbles(c);
	else
		busy(c);
}

/* Wakes a waiting chain. */
static void unpark(struct chain *c)
{
	event_active(c->pause, EV_TIMEOUT, 1);
	c->parked = c->roomless = false;
}

static void back(struct bp_provision *p)
{
	if (p->counts.unreachable_since_ns == 0)
		return;
	bp_log(BP_LOG_INFO, "CSE answers again");
	p->counts.unreachable_since_ns = 0;
	p->retry_pause_ns = 0;
	p->probe = NULL;
	for (unsigned i = 0; i < p->settings.parallel; i++)
		if (p->chain[i].parked)
			unpark(&p->chain[i]);
	bp_provision_kick(p);
}

static void on_reply(void *arg, const struct bp_cse_reply *r)
{
	struct chain *c = arg;

	if (r->end == BP_CSE_CANCELLED)
		return;
	if (r->end != BP_CSE_ANSWERED) {
		unanswered(c, r->end);
		return;
	}
	if (bp_m2m_outcome(&r->m2m, true) == BP_M2M_BUSY) {
		busy(c);
		return;
	}
	if (c->requested_ns > c->p->answered_ns)
		c->p->answered_ns = c->requested_ns;
	c->p->unreadable_row = 0;
	back(c->p);
	switch (c->step) {
	case GATEWAY:
	case CHECK_GATEWAY:
	case POLICY_STEP:
		base_reply(c, r);
		break;
	case DEVICE:
	case CHECK_DEVICE:
	case OWN_DEVICE:
	case REPAIR_DEVICE:
		device_reply(c, r);
		break;
	case CONTAINER:
		container_reply(c, r);
		break;
	case IDLE:
	case PAUSE:
		return; /* nothing was requested */
	}
	go_on(c);
}

/* ---- next device ---- */

static void wake_in(struct bp_provision *p, uint64_t ns)
{
	const struct timeval t = {(time_t)(ns / NS_PER_S), (suseconds_t)(ns % NS_PER_S / 1000 + 1)};

	evtimer_add(p->wake, &t);
}

/*
 * Returns the next device whose pause is over. Devices with a pause are returned to the queue, once
 * each, so that they do not block those behind them; false: no device is ready.
 */
static bool next_device(struct bp_provision *p, struct bp_provision_target *out)
{
	const uint64_t now = bp_mono_ns();
	unsigned skipped = 0;

	p->round++;
	while (p->ops->next(p->arg, out)) {
		struct bp_provision_pause *d = bp_provision_pause_of(&p->pauses, out->system_id);

		if (d == NULL || d->due_ns <= now)
			return true;
		p->ops->done(p->arg, out->cookie, false);
		if (d->round == p->round || ++skipped == SKIP_MAX)
			break;
		d->round = p->round;
	}
	if (skipped == SKIP_MAX)
		wake_in(p, SKIP_NS);
	else if (skipped > 0)
		wake_in(p, bp_provision_pause_end(&p->pauses, now) - now);
	return false;
}

/* The CSE is unreachable, and the probing chain has no device: another chain with a device becomes
 * the probe. */
static void pass_probe(struct bp_provision *p)
{
	p->probe = NULL;
	for (unsigned i = 0; i < p->settings.parallel && p->probe == NULL; i++)
		if (p->chain[i].parked) {
			p->probe = &p->chain[i];
			unpark(p->probe);
		}
}

/* Starts the next device; false: there is none, or it must wait. */
static bool begin(struct chain *c)
{
	struct bp_provision *p = c->p;
	bool needs_base = !bp_chain_own_originators(p);

	if (p->probe != NULL && p->probe != c)
		return false;
	if ((needs_base && p->basing) || !next_device(p, &c->target)) {
		if (p->probe == c)
			pass_probe(p);
		return false;
	}
	if (p->counts.unreachable_since_ns != 0) {
		p->probe = c;
		wake_in(p, PROBE_WAITS_NS);
	}
	c->object = 0;
	if (needs_base && !p->based) {
		p->basing = true;
		c->step = GATEWAY;
	} else if (needs_base && bp_chain_one_ae(p)) {
		to_containers(c);
	} else {
		c->step = DEVICE;
	}
	return true;
}

static void go_on(struct chain *c)
{
	static const struct bp_m2m_reply none;

	for (;;) {
		/* A device without objects may be ready immediately. */
		while (c->step == IDLE)
			if (!begin(c))
				return;
		if (c->step == PAUSE || bp_chain_request(c))
			return;
		refuse(c, "a path that is too long", &none, "");
	}
}

static void on_pause(evutil_socket_t fd, short what, void *arg)
{
	struct chain *c = arg;

	(void)fd;
	(void)what;
	c->step = c->after_pause;
	go_on(c);
}

static void on_capacity(void *arg)
{
	struct bp_provision *p = arg;

	for (unsigned i = 0; i < p->settings.parallel; i++)
		if (p->chain[i].roomless)
			unpark(&p->chain[i]);
}

/* The probe was not answered for some time: another device may get an answer. */
static void free_probe(struct bp_provision *p)
{
	const struct chain *c = p->probe;

	if (c != NULL && c->step > POLICY_STEP && c->step != PAUSE &&
		bp_mono_ns() - c->requested_ns > PROBE_WAITS_NS / 2)
		p->probe = NULL;
}

static void on_kick(evutil_socket_t fd, short what, void *arg)
{
	struct bp_provision *p = arg;

	(void)fd;
	(void)what;
	free_probe(p);
	for (unsigned i = 0; i < p->settings.parallel; i++)
		if (p->chain[i].step == IDLE)
			go_on(&p->chain[i]);
}

void bp_provision_kick(struct bp_provision *p)
{
	event_active(p->kick, EV_TIMEOUT, 1);
}

/* ---- start and end ---- */

struct bp_provision *bp_provision_new(struct event_base *base, const struct bp_cse *cse,
	const struct bp_provision_settings *settings, const struct bp_provision_ops *ops, void *arg)
{
	struct bp_provision *p = calloc(1, sizeof(*p) + settings->parallel * sizeof(struct chain));

	if (p == NULL)
		return NULL;
	p->cse = *cse;
	p->settings = *settings;
	if (p->settings.retry_first_ns == 0)
		p->settings.retry_first_ns = BP_PROVISION_RETRY_FIRST_NS;
	p->ops = ops;
	p->on_reply = on_reply;
	p->arg = arg;
	p->kick = evtimer_new(base, on_kick, p);
	p->wake = evtimer_new(base, on_kick, p);
	for (unsigned i = 0; i < settings->parallel; i++) {
		p->chain[i].p = p;
		p->chain[i].pause = evtimer_new(base, on_pause, &p->chain[i]);
		if (p->chain[i].pause == NULL || p->kick == NULL || p->wake == NULL) {
			bp_provision_free(p);
			return NULL;
		}
	}
	p->room = (struct bp_cse_watch){.room = on_capacity, .arg = p};
	cse->binding->watch_capacity(cse->client, &p->room);
	return p;
}

void bp_provision_free(struct bp_provision *p)
{
	if (p == NULL)
		return;
	for (unsigned i = 0; i < p->settings.parallel; i++)
		if (p->chain[i].pause != NULL)
			event_free(p->chain[i].pause);
	if (p->kick != NULL)
		event_free(p->kick);
	if (p->wake != NULL)
		event_free(p->wake);
	free(p);
}

const struct bp_provision_counts *bp_provision_counts(const struct bp_provision *p)
{
	return &p->counts;
}
