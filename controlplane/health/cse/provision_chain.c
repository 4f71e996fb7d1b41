/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/cse/provision_chain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controlplane/process/clock.h"

/* ---- paths ---- */

static bool add(char *out, size_t size, size_t *used, const char *p, size_t len)
{
	if (len >= size - *used)
		return false;
	memcpy(out + *used, p, len);
	*used += len;
	out[*used] = '\0';
	return true;
}

/* Returns the value of the placeholder at p ("{type}..."), and the length of the placeholder; NULL:
 * it is none. */
static const char *value(
	const char *p, const struct bp_provision_names *n, char hex[17], size_t *len)
{
	const struct {
		const char *name, *text;
	} known[] = {{"{system_id}", hex}, {"{type}", n->type}, {"{object}", n->object}};

	for (unsigned i = 0; i < 8; i++)
		snprintf(hex + (size_t)2 * i, 3, "%02x", n->system_id[i]);
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		*len = strlen(known[i].name);
		if (strncmp(p, known[i].name, *len) == 0)
			return known[i].text;
	}
	return NULL;
}

bool bp_provision_render(
	char *out, size_t size, const char *template_, const struct bp_provision_names *n)
{
	size_t used = 0, len;
	char hex[17];

	if (size == 0)
		return false;
	out[0] = '\0';
	for (const char *p = template_; *p != '\0'; p += len) {
		const char *text = p;

		len = strcspn(p, "{");
		if (len > 0) {
			if (!add(out, size, &used, p, len))
				return false;
			continue;
		}
		text = value(p, n, hex, &len);
		if (text == NULL || !add(out, size, &used, text, strlen(text)))
			return false;
	}
	return true;
}

size_t bp_provision_prefix(const char *path, unsigned n)
{
	const char *p = path;

	for (; n > 0; n--) {
		p += strcspn(p, "/");
		if (*p == '\0' || n == 1)
			break;
		p++;
	}
	return (size_t)(p - path);
}

unsigned bp_provision_segments(const char *path)
{
	unsigned n = 1;

	for (const char *p = path; (p = strchr(p, '/')) != NULL; p++)
		n++;
	return n;
}

bool bp_provision_segment(char *out, size_t size, const char *path, unsigned i)
{
	size_t from, to;

	if (i >= bp_provision_segments(path))
		return false;
	from = i == 0 ? 0 : bp_provision_prefix(path, i) + 1;
	to = bp_provision_prefix(path, i + 1);
	if (to - from >= size)
		return false;
	memcpy(out, path + from, to - from);
	out[to - from] = '\0';
	return true;
}

/* ---- pauses ---- */

struct bp_provision_pause *bp_provision_pause_of(
	struct bp_provision_pauses *p, const uint8_t system_id[8])
{
	for (unsigned i = 0; i < p->n; i++)
		if (memcmp(p->pause[i].system_id, system_id, 8) == 0)
			return &p->pause[i];
	return NULL;
}

/* Returns a free entry, or the one whose pause ends first. */
static struct bp_provision_pause *take(struct bp_provision_pauses *p)
{
	struct bp_provision_pause *first = &p->pause[0];

	if (p->n < BP_PROVISION_PAUSES)
		return &p->pause[p->n++];
	for (unsigned i = 1; i < p->n; i++)
		if (p->pause[i].due_ns < first->due_ns)
			first = &p->pause[i];
	return first;
}

void bp_provision_pause_begin(struct bp_provision_pauses *p, const uint8_t system_id[8],
	uint64_t now_ns, uint64_t first_ns, uint64_t max_ns)
{
	struct bp_provision_pause *d = bp_provision_pause_of(p, system_id);
	uint64_t ns;

	if (d == NULL) {
		d = take(p);
		*d = (struct bp_provision_pause){.next_ns = first_ns};
		memcpy(d->system_id, system_id, sizeof(d->system_id));
	}
	ns = d->next_ns < max_ns ? d->next_ns : max_ns;
	d->due_ns = now_ns + ns;
	d->next_ns = ns * 2;
}

void bp_provision_pause_forget(struct bp_provision_pauses *p, const uint8_t system_id[8])
{
	struct bp_provision_pause *d = bp_provision_pause_of(p, system_id);

	if (d != NULL)
		*d = p->pause[--p->n];
}

uint64_t bp_provision_pause_end(const struct bp_provision_pauses *p, uint64_t now_ns)
{
	uint64_t end = UINT64_MAX;

	for (unsigned i = 0; i < p->n; i++)
		if (p->pause[i].due_ns > now_ns && p->pause[i].due_ns < end)
			end = p->pause[i].due_ns;
	return end;
}

/* ---- requests of a chain ---- */

#define POLICY "phd" /* name of the access control policy */
#define BODY_MAX 1024
#define POLICY_PATH_MAX (256 + sizeof(POLICY) + 1)

/* ---- originators ---- */

static bool holds(const char *text, const char *template_)
{
	return strstr(text, template_) != NULL;
}

bool bp_chain_one_ae(const struct bp_provision *p)
{
	char ae[BP_PROVISION_PATH_MAX];

	return bp_provision_segment(ae, sizeof(ae), p->settings.path, 1) && !holds(ae, "{");
}

bool bp_chain_own_originators(const struct bp_provision *p)
{
	return holds(p->settings.originator, "{system_id}");
}

bool bp_chain_render(const struct chain *c, unsigned object, char out[BP_PROVISION_PATH_MAX])
{
	const struct bp_provision_names n = {c->target.system_id, c->target.type,
		c->target.n_objects > object ? c->target.objects[object] : ""};

	return bp_provision_render(out, BP_PROVISION_PATH_MAX, c->p->settings.path, &n);
}

/* Writes the originator of requests for containers and instances. */
static bool originator(const struct chain *c, char *out, size_t size)
{
	const struct bp_provision_names n = {c->target.system_id, c->target.type, ""};

	return bp_provision_render(out, size, c->p->settings.originator, &n);
}

bool bp_chain_registrant(const struct chain *c, const char *ae, char *out, size_t size)
{
	if (bp_chain_own_originators(c->p))
		return originator(c, out, size);
	/* from the name of the AE: devices that share an AE share its originator */
	return (size_t)snprintf(out, size, "C%s", ae) < size;
}

/* ---- requests ---- */

/* False: the request cannot be sent at all. Without capacity it is sent later. */
static bool ask(struct chain *c, uint8_t ty, const char *path, const char *fr, const char *body)
{
	const struct bp_m2m_request q = {.ty = ty,
		.path = path,
		.fr = fr,
		.body = body,
		.body_len = body != NULL ? strlen(body) : 0};

	switch (bp_cse_send_request(&c->p->cse, &q, c->p->on_reply, c)) {
	case BP_CSE_TAKEN:
		c->requested_ns = bp_mono_ns();
		return true;
	case BP_CSE_QUEUE_FULL:
		c->after_pause = c->step;
		c->step = PAUSE;
		c->roomless = true;
		return true;
	default:
		return false;
	}
}

/* {"m2m:ae":...}: with the policy at `acpi`, unless NULL. */
static void ae_body(
	const struct bp_provision *p, char out[BODY_MAX], const char *rn, const char *acpi)
{
	const char *rvi = bp_m2m_options[p->settings.release].rvi_text;
	char srv[32] = "", policy[BP_PROVISION_PATH_MAX + 16] = "";

	if (rvi != NULL)
		snprintf(srv, sizeof(srv), ",\"srv\":[\"%s\"]", rvi);
	if (acpi != NULL)
		snprintf(policy, sizeof(policy), ",\"acpi\":[\"%s\"]", acpi);
	snprintf(out, BODY_MAX,
		"{\"m2m:ae\":{\"rn\":\"%.128s\",\"api\":\"Nbiplane\",\"rr\":false%s%s}}", rn, srv,
		policy);
}

/* Writes the base of the CSE, and the gateway's own AE in it. */
static void gateway_names(const struct bp_provision *p, char base[64], char ae[128], char path[256])
{
	if (!bp_provision_segment(base, 64, p->settings.path, 0))
		base[0] = '\0';
	if (!bp_chain_one_ae(p) || !bp_provision_segment(ae, 128, p->settings.path, 1))
		snprintf(ae, 128, "%s", p->settings.name);
	snprintf(path, 256, "%s/%s", base, ae);
}

static bool request_gateway(struct chain *c)
{
	char base[64], ae[128], path[256], body[BODY_MAX];

	gateway_names(c->p, base, ae, path);
	if (c->step == CHECK_GATEWAY)
		return ask(c, 0, path, c->p->settings.originator, NULL);
	if (c->step == GATEWAY) {
		ae_body(c->p, body, ae, NULL);
		return ask(c, BP_M2M_AE, base, c->p->settings.originator, body);
	}
	snprintf(body, sizeof(body),
		"{\"m2m:acp\":{\"rn\":\"" POLICY
		"\",\"pv\":{\"acr\":[{\"acor\":[\"%.128s\"],\"acop\":63}]},"
		"\"pvs\":{\"acr\":[{\"acor\":[\"%.128s\"],\"acop\":63}]}}}",
		c->p->settings.originator, c->p->settings.originator);
	return ask(c, BP_M2M_ACP, path, c->p->settings.originator, body);
}

/* Path of the policy that devices' AEs are under. */
static void policy_path(const struct bp_provision *p, char out[POLICY_PATH_MAX])
{
	char base[64], own[128];

	gateway_names(p, base, own, out);
	snprintf(out + strlen(out), POLICY_PATH_MAX - strlen(out), "/" POLICY);
}

static bool request_device(struct chain *c)
{
	char base[64], acpi[POLICY_PATH_MAX], path[BP_PROVISION_PATH_MAX], ae[128], fr[256];
	char body[BODY_MAX];

	if (!bp_chain_render(c, 0, path) || !bp_provision_segment(ae, sizeof(ae), path, 1) ||
		!bp_provision_segment(base, sizeof(base), path, 0) ||
		!bp_chain_registrant(c, ae, fr, sizeof(fr)))
		return false;
	path[bp_provision_prefix(path, 2)] = '\0';
	policy_path(c->p, acpi);
	if (c->step == CHECK_DEVICE)
		return originator(c, fr, sizeof(fr)) && ask(c, 0, path, fr, NULL);
	if (c->step == OWN_DEVICE)
		return ask(c, 0, path, fr, NULL);
	if (c->step == REPAIR_DEVICE) {
		snprintf(body, sizeof(body), "{\"m2m:ae\":{\"acpi\":[\"%s\"]}}", acpi);
		return ask(c, 0, path, fr, body);
	}
	ae_body(c->p, body, ae, bp_chain_own_originators(c->p) ? NULL : acpi);
	return ask(c, BP_M2M_AE, base, fr, body);
}

static bool request_container(struct chain *c)
{
	char path[BP_PROVISION_PATH_MAX], rn[128], fr[256], mni[32] = "", body[BODY_MAX];

	if (!bp_chain_render(c, c->object, path) ||
		!bp_provision_segment(rn, sizeof(rn), path, c->depth) ||
		!originator(c, fr, sizeof(fr)))
		return false;
	path[bp_provision_prefix(path, c->depth)] = '\0';
	if (c->p->settings.keep != 0)
		snprintf(mni, sizeof(mni), ",\"mni\":%" PRIu32, c->p->settings.keep);
	snprintf(body, sizeof(body), "{\"m2m:cnt\":{\"rn\":\"%s\"%s}}", rn, mni);
	return ask(c, BP_M2M_CNT, path, fr, body);
}

bool bp_chain_request(struct chain *c)
{
	if (c->step <= POLICY_STEP)
		return request_gateway(c);
	return c->step == CONTAINER ? request_container(c) : request_device(c);
}
