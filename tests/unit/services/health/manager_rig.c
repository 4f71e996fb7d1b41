/* SPDX-License-Identifier: BSD-3-Clause */
#include "manager_rig.h"

#include <stdarg.h>

#define UNIX_NS 1767225600000000000ull /* 2026-01-01 */

/* ---- the owner ---- */

static void note(struct rig *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(struct rig *r, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	r->n += (size_t)vsnprintf(r->log + r->n, sizeof(r->log) - r->n, format, list);
	va_end(list);
	assert_true(r->n < sizeof(r->log));
}

static const char *id_text(const uint8_t id[8])
{
	static char out[17];

	for (unsigned i = 0; i < 8; i++)
		snprintf(out + 2 * i, 3, "%02x", id[i]);
	return out;
}

static bool by_tcp(unsigned device)
{
	return device >= 100 && device < 1000;
}

static unsigned device_of(const struct rig *r, const struct bp_phd_peer *p)
{
	const unsigned n = p->port - 40000u;

	assert_true(p->address[15] == (uint8_t)n || p->address[15] == 200);
	assert_int_equal(p->transport, by_tcp(n) ? BP_PHD_TRANSPORT_TCP : BP_PHD_TRANSPORT_UDP);
	assert_int_equal(p->connection, by_tcp(n) ? n + r->reconnected : 0);
	assert_int_equal(p->own[15], 1 + n % 2);
	return n;
}

static void reply(void *arg, const struct bp_phd_peer *to, const uint8_t *apdu, size_t len)
{
	struct rig *r = arg;

	note(r, "%u ", device_of(r, to));
	for (size_t i = 0; i < len; i++)
		note(r, "%02x", apdu[i]);
	note(r, "\n");
}

static bool known(void *arg, const uint8_t system_id[8], uint16_t config_id,
	struct bp_phd_model *out, uint16_t *spec)
{
	struct rig *r = arg;

	for (unsigned i = 0; i < r->n_known; i++) {
		if (memcmp(r->known[i].system_id, system_id, 8) != 0 ||
			r->known[i].config_id != config_id)
			continue;
		*out = r->known[i].model;
		*spec = r->known[i].spec;
		return true;
	}
	return false;
}

static void learned(void *arg, const uint8_t system_id[8], const struct bp_phd_model *m,
	struct bp_phd_bytes report)
{
	struct rig *r = arg;
	struct rig_known *k;

	assert_true(r->n_known < sizeof(r->known) / sizeof(r->known[0]));
	k = &r->known[r->n_known++];
	memcpy(k->system_id, system_id, 8);
	k->config_id = m->config_id;
	k->spec = 0;
	k->model = *m;
	memcpy(r->learned, report.p, report.len);
	r->learned_len = report.len;
	note(r, "learned %s %04x\n", id_text(system_id), m->config_id);
}

static void told(
	void *arg, uint32_t slot, const uint8_t system_id[8], uint16_t config_id, uint16_t spec)
{
	struct rig *r = arg;

	assert_true(slot < r->x.t->n_slots);
	for (unsigned i = 0; i < r->n_known; i++) {
		if (memcmp(r->known[i].system_id, system_id, 8) == 0 &&
			r->known[i].config_id == config_id)
			r->known[i].spec = spec;
	}
	note(r, "told %s %u\n", id_text(system_id), spec);
}

static const uint8_t *id_at(const struct rig *r, uint32_t slot)
{
	assert_int_not_equal(bp_phd_word_state(r->x.t->sessions[slot].word), BP_PHD_FREE);
	return r->x.t->sessions[slot].system_id;
}

static void opened(void *arg, uint32_t slot)
{
	struct rig *r = arg;

	assert_int_equal(bp_phd_word_state(r->x.t->sessions[slot].word), BP_PHD_OPERATING);
	note(r, "opened %s\n", id_text(id_at(r, slot)));
}

static void closed(void *arg, uint32_t slot, enum bp_phd_closed why)
{
	static const char *const words[BP_PHD_CLOSED_REASONS] = {"released", "by_us", "aborted",
		"fault", "timeout", "taken_over", "idle", "gone", "moved"};
	struct rig *r = arg;

	note(r, "closed %s %s\n", id_text(id_at(r, slot)), words[why]);
}

static bool allowed(void *arg, const uint8_t system_id[8])
{
	return !((struct rig *)arg)->denies;
}

static void unassociated(void *arg, const struct bp_phd_peer *device)
{
	struct rig *r = arg;

	note(r, "unassociated %u\n", device_of(r, device));
}

static bool unknown(void *arg, const struct bp_phd_peer *from, const uint8_t *apdu, size_t len)
{
	struct rig *r = arg;

	if (r->searches)
		note(r, "searched %u\n", device_of(r, from));
	return r->searches;
}

static enum bp_phd_taken report(void *arg, uint32_t slot, const uint8_t *apdu, size_t len)
{
	struct rig *r = arg;

	assert_int_equal(bp_phd_apdu_size(apdu, len), len);
	note(r, "report %s\n", id_text(id_at(r, slot)));
	return r->taken;
}

/* ---- the rig ---- */

void rig_id(const char *system_id, uint8_t out[8])
{
	size_t len;
	uint8_t *p = unhex(system_id, &len);

	assert_int_equal(len, 8);
	memcpy(out, p, 8);
	free(p);
}

static void manager_open(struct rig *r)
{
	const struct bp_phd_settings plan = {.max_message = 1024,
		.family = 4,
		.release = BP_PHD_RELEASE_4,
		.named = 1,
		.con = 1,
		.hash = r->plan};
	uint8_t id[8];

	rig_id(MANAGER_ID, id);
	bp_phd_settings_publish(r->x.w, &plan);
	r->m = bp_phd_manager_new(&r->c, r->x.t, r->x.w, id, &r->counts, &r->ops, r);
	assert_non_null(r->m);
	bp_phd_manager_adopt(r->m, r->now_ms * 1000000);
}

void rig_open(struct rig *r, const json_t *vectors, uint32_t sessions, uint32_t layouts)
{
	memset(r, 0, sizeof(*r));
	r->vectors = vectors;
	r->c.enabled = true;
	r->c.max_sessions = sessions;
	r->c.max_configurations = layouts;
	r->c.limits.sessions_per_address = 1000;
	r->c.limits.association_rate = 1000000;
	r->c.timeouts.config_ns = 10000000000;
	r->c.timeouts.service_ns = 3000000000;
	r->c.timeouts.release_ns = 3000000000;
	strcpy(r->c.cse.path, "cse-in/{system_id}/{object}");
	strcpy(r->c.cse.originator, "Cbiplane");
	r->ops = (struct bp_phd_manager_ops){.reply = reply,
		.known = known,
		.learned = learned,
		.mds_attributes = told,
		.opened = opened,
		.closed = closed,
		.allowed = allowed,
		.unassociated = unassociated,
		.unknown = unknown,
		.report = report};
	r->now_ms = 1000000;
	r->plan = 1;
	phd_open(&r->x, sessions, layouts, 1);
	manager_open(r);
}

void rig_restart(struct rig *r)
{
	bp_phd_manager_free(r->m);
	assert_int_equal(phd_take_over(&r->x), 0);
	manager_open(r);
}

void rig_restart_bare(struct rig *r, uint32_t sessions, uint32_t layouts)
{
	bp_phd_manager_free(r->m);
	phd_close(&r->x);
	phd_open(&r->x, sessions, layouts, 1);
	manager_open(r);
}

void rig_close(struct rig *r)
{
	assert_int_equal(phd_take_over(&r->x), 0);
	bp_phd_manager_free(r->m);
	phd_close(&r->x);
}

static struct bp_phd_peer peer(const struct rig *r, unsigned device)
{
	struct bp_phd_peer p = {
		.address = {[10] = 0xff, 0xff, 10, 0, (uint8_t)(device >> 8), (uint8_t)device},
		.own = {[10] = 0xff, 0xff, 10, 0, 0, (uint8_t)(1 + device % 2)},
		.port = (uint16_t)(40000 + device),
		.transport = by_tcp(device) ? BP_PHD_TRANSPORT_TCP : BP_PHD_TRANSPORT_UDP,
		.connection = by_tcp(device) ? device : 0,
	};

	if (by_tcp(device))
		p.connection += r->reconnected;
	if (r->one_address)
		p.address[15] = 200;
	return p;
}

void rig_send_bytes(struct rig *r, unsigned device, const uint8_t *p, size_t len)
{
	const struct bp_phd_peer from = peer(r, device);
	uint8_t *exact = exact_copy(p, len);

	bp_phd_manager_receive(r->m, &from, exact, len, r->now_ms * 1000000,
		UNIX_NS + (r->now_ms - r->set_back_ms) * 1000000);
	free(exact);
}

void rig_send(struct rig *r, unsigned device, const char *what)
{
	const char *hex = strlen(what) == 3 ? text(vector_named(r->vectors, what), "hex") : what;
	size_t len;
	uint8_t *p = unhex(hex, &len);

	rig_send_bytes(r, device, p, len);
	free(p);
}

const char *rig_aarq(const char *system_id, unsigned config_id)
{
	static char out[200];

	snprintf(out, sizeof(out),
		"e2000032800000000001002a507900268000000080008000000000000000008000000008%s%04x"
		"00010100"
		"00000000",
		system_id, config_id);
	return out;
}

const char *rig_patched(const struct rig *r, const char *id, size_t at, unsigned byte)
{
	static char out[4096];
	const char *hex = text(vector_named(r->vectors, id), "hex");
	char two[3];

	assert_true(strlen(hex) < sizeof(out) && 2 * at + 1 < strlen(hex));
	strcpy(out, hex);
	snprintf(two, sizeof(two), "%02x", byte & 0xff);
	memcpy(out + 2 * at, two, 2);
	return out;
}

void rig_wait(struct rig *r, uint64_t ms)
{
	const uint64_t end = r->now_ms + ms;

	for (;;) {
		const uint64_t next = bp_phd_manager_tick(r->m, r->now_ms * 1000000);
		const uint64_t next_ms = next / 1000000 + (next % 1000000 != 0);

		if (r->now_ms == end)
			return;
		r->now_ms = next_ms > r->now_ms && next_ms < end ? next_ms : end;
	}
}

void rig_said(struct rig *r, const char *lines, const char *file, int line)
{
	if (strcmp(r->log, lines) != 0) {
		print_error("%s:%d: said\n%sexpected\n%s", file, line, r->log, lines);
		_fail(file, line);
	}
	r->n = 0;
	r->log[0] = '\0';
}

uint32_t rig_slot(const struct rig *r, unsigned device)
{
	const struct bp_phd_peer p = peer(r, device);
	uint32_t slot;

	if (bp_phd_find(r->x.t, bp_phd_hash(r->x.t->hash_key, p.address, p.port, p.transport),
		    p.address, p.port, p.transport, &slot) != 0)
		return UINT32_MAX;
	return slot;
}

enum bp_phd_state rig_state(const struct rig *r, unsigned device)
{
	const uint32_t slot = rig_slot(r, device);

	return slot == UINT32_MAX ? BP_PHD_FREE : bp_phd_word_state(r->x.t->sessions[slot].word);
}
