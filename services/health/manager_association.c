/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "proto/health/phd_names.h"
#include "services/health/layout.h"
#include "services/health/manager_internal.h"

/* ---- configurations ---- */

/* Declarations of devices: configuration reports, the MDS, and their layouts. */

#define EXTENDED 0x4000u /* configuration ids from here on are the device's own */

bool bp_phd_type_needed(const struct bp_phd_manager *m)
{
	return strstr(m->c->cse.path, "{type}") != NULL;
}

bool bp_phd_model_of(struct bp_phd_manager *m, const uint8_t system_id[8], uint16_t config_id,
	struct bp_phd_model *out, uint16_t *spec)
{
	bool certain = false;
	const struct bp_phd_model *standard = bp_phd_standard(config_id, &certain);

	*spec = bp_phd_spec_of_standard(config_id);
	if (standard && certain) {
		*out = *standard;
		return true;
	}
	return m->ops->known(m->arg, system_id, config_id, out, spec);
}

const char *bp_phd_type_text(uint16_t spec, char out[BP_PHD_TYPE_TEXT])
{
	const char *name = spec != 0 ? bp_phd_type_name(spec) : "unknown";

	if (name)
		snprintf(out, BP_PHD_TYPE_TEXT, "%s", name);
	else
		snprintf(out, BP_PHD_TYPE_TEXT, "%u", spec);
	return out;
}

int bp_phd_layout_for(struct bp_phd_manager *m, const struct bp_phd_model *model, uint16_t spec)
{
	const struct bp_phd_target target = {m->c->cse.path, m->c->cse.originator};
	const struct bp_phd_layout *layout;
	char type[BP_PHD_TYPE_TEXT];
	struct bp_phd_settings plan;
	int n;

	if (bp_phd_settings_read(m->t, &plan) == 0)
		return -2;
	layout = bp_phd_layout_cached(
		m->layouts, model, &plan, &target, bp_phd_type_text(spec, type));
	if (!layout)
		return -1;
	n = bp_phd_layout_get(m->w, layout);
	return n >= 0 ? n : -2;
}

/* ---- the configuration report ---- */

static void config_answer(struct bp_phd_manager *m, const struct bp_phd_peer *to,
	uint16_t invoke_id, uint16_t config_id, enum bp_phd_config_result result)
{
	uint8_t out[BP_PHD_CONFIG_RSP_LEN];
	const size_t len =
		bp_phd_write_config_rsp(out, sizeof(out), invoke_id, config_id, (uint16_t)result);

	bp_phd_reply(m, to, out, len);
}

/* The session remains in the waiting state, whose timer restarts. */
static void config_refuse(struct bp_phd_manager *m, uint32_t slot, const struct bp_phd_peer *to,
	uint16_t invoke_id, uint16_t config_id, enum bp_phd_config_result result)
{
	bp_phd_count(&m->counts->configs_refused);
	bp_phd_wait(m, slot, BP_PHD_WAIT_CONFIG);
	config_answer(m, to, invoke_id, config_id, result);
}

static void config_accept(struct bp_phd_manager *m, uint32_t slot, const struct bp_phd_peer *to,
	uint16_t invoke_id, const struct bp_phd_model *model, struct bp_phd_bytes info,
	uint64_t hash, uint16_t layout)
{
	struct bp_phd_session *s = bp_phd_session_at(m, slot);

	if (s->config_content != model->content) /* the former bytes have another meaning */
		bp_phd_unanswered_end(m, slot, false);
	s->config_content = model->content;
	s->config_hash = hash;
	s->spec = bp_phd_spec_of_standard(model->config_id);
	bp_phd_session_word(m->w, slot, BP_PHD_OPERATING, 0, layout);
	bp_phd_count(&m->counts->configs_accepted);
	config_answer(m, to, invoke_id, model->config_id, BP_PHD_CONFIG_ACCEPTED);
	m->ops->learned(m->arg, s->system_id, model, info);
	bp_phd_operating(m, slot);
}

/* The fault of a decoded report; ACCEPTED: none. */
static enum bp_phd_config_result config_check(
	const struct bp_phd_session *s, const struct bp_phd_model *model)
{
	if (model->config_id != s->config_id)
		return BP_PHD_CONFIG_UNSUPPORTED;
	if (model->n > 0)
		return BP_PHD_CONFIG_ACCEPTED;
	/* A standard configuration is reported without its objects. */
	return s->config_id < EXTENDED ? BP_PHD_CONFIG_STANDARD_UNKNOWN : BP_PHD_CONFIG_UNSUPPORTED;
}

void bp_phd_configured(struct bp_phd_manager *m, uint32_t slot, const struct bp_phd_peer *from,
	uint16_t invoke_id, struct bp_phd_bytes info, uint64_t hash)
{
	const struct bp_phd_session *s = bp_phd_session_at(m, slot);
	struct bp_phd_model model;
	const enum bp_phd_error e = bp_phd_config_read(info, &model);
	enum bp_phd_config_result result;
	int layout;

	if (e == BP_PHD_E_FIELD) { /* more than the limits, or meaningless: unsupported */
		config_refuse(m, slot, from, invoke_id, s->config_id, BP_PHD_CONFIG_UNSUPPORTED);
		return;
	}
	if (e != BP_PHD_OK) {
		bp_phd_reply_rorj(m, from, invoke_id, BP_PHD_BADLY_STRUCTURED);
		return;
	}
	result = config_check(s, &model);
	if (result != BP_PHD_CONFIG_ACCEPTED) {
		config_refuse(m, slot, from, invoke_id, model.config_id, result);
		return;
	}
	layout = bp_phd_layout_for(m, &model, bp_phd_spec_of_standard(model.config_id));
	if (layout == -1)
		config_refuse(m, slot, from, invoke_id, model.config_id, BP_PHD_CONFIG_UNSUPPORTED);
	else if (layout < 0)
		bp_phd_reply_rorj(m, from, invoke_id, BP_PHD_RESOURCE_LIMITATION);
	else
		config_accept(m, slot, from, invoke_id, &model, info, hash, (uint16_t)layout);
}

/* ---- operating, and the MDS ---- */

void bp_phd_request_mds(struct bp_phd_manager *m, uint32_t slot)
{
	const struct bp_phd_peer to = bp_phd_peer_of(m, slot);
	uint8_t out[BP_PHD_GET_MDS_LEN];
	size_t len;

	m->note[slot].invoke_id = m->next_invoke_id++;
	len = bp_phd_write_get_mds(out, sizeof(out), m->note[slot].invoke_id);
	bp_phd_session_at(m, slot)->mds_known = BP_PHD_MDS_REQUESTED;
	bp_phd_wait(m, slot, BP_PHD_WAIT_SERVICE);
	bp_phd_reply(m, &to, out, len);
}

void bp_phd_operating(struct bp_phd_manager *m, uint32_t slot)
{
	struct bp_phd_session *s = bp_phd_session_at(m, slot);

	bp_phd_wait(m, slot, BP_PHD_WAIT_NONE);
	bp_phd_idle_begin(m, slot);
	s->mds_known = s->spec != 0 ? BP_PHD_MDS_KNOWN : BP_PHD_MDS_REQUESTED;
	m->note[slot].opened = true;
	m->ops->opened(m->arg, slot);
	if (s->spec == 0)
		bp_phd_request_mds(m, slot);
}

/* The first specialisation of a list {count, length, {type, version}...}; 0: none, or the list is
 * invalid. */
static uint16_t first_type(struct bp_phd_bytes list)
{
	const uint8_t *p = list.p;

	if (list.len < 8 || (p[0] << 8 | p[1]) == 0 || (p[2] << 8 | p[3]) != list.len - 4 ||
		4 * (p[0] << 8 | p[1]) != list.len - 4)
		return 0;
	return (uint16_t)(p[4] << 8 | p[5]);
}

static uint16_t spec_in(const struct bp_phd_get_reply *reply)
{
	struct bp_phd_bytes list = reply->attributes, value;
	uint16_t id;

	while (bp_phd_attribute_next(&list, &id, &value)) {
		if (id == BP_PHD_ATTR_SYS_TYPES)
			return first_type(value);
	}
	return 0;
}

/* If the instance names contain the specialisation, the layout depends on it. */
static void layout_renew(struct bp_phd_manager *m, uint32_t slot, uint16_t spec)
{
	const struct bp_phd_session *s = bp_phd_session_at(m, slot);
	struct bp_phd_model model;
	uint16_t stored;
	int layout;

	if (!bp_phd_type_needed(m) ||
		!bp_phd_model_of(m, s->system_id, s->config_id, &model, &stored))
		return;
	layout = bp_phd_layout_for(m, &model, spec);
	if (layout < 0)
		return;
	bp_phd_session_layout(m->w, slot, (uint16_t)layout);
}

void bp_phd_mds_received(
	struct bp_phd_manager *m, uint32_t slot, const struct bp_phd_get_reply *reply)
{
	struct bp_phd_session *s = bp_phd_session_at(m, slot);
	const uint16_t spec = reply ? spec_in(reply) : 0;

	bp_phd_wait(m, slot, BP_PHD_WAIT_NONE);
	s->mds_known = spec != 0 ? BP_PHD_MDS_KNOWN : BP_PHD_MDS_UNKNOWN;
	if (spec != 0) {
		layout_renew(m, slot, spec);
		s->spec = spec;
	}
	m->ops->mds_attributes(m->arg, slot, s->system_id, s->config_id, spec);
}

/* Associations begin and end here: ISO/IEEE 11073-20601 clause 8.7, annex A.8. */

#define ASSOCIATION_VERSION 0x80000000u
#define PROTOCOL_20601 0x80000000u
#define PROTOCOL_20601A 0x40000000u
#define NOMENCLATURE 0x80000000u
#define MDER 0x8000u
#define AGENT 0x00800000u
#define CONFIG_RESERVED 0x8000u

/* A device without an answer repeats its request three times, 10 s apart. */
#define REPEAT_NS 30000000000ull
/* AARQs of this time without a report may all be late; the next of a device that waits comes 10 s
 * after the one before. */
#define LATE_NS 5000000000ull

static uint32_t protocol_chosen(const struct bp_phd_association *i)
{
	return (i->protocol_version & PROTOCOL_20601A) != 0 ? PROTOCOL_20601A : PROTOCOL_20601;
}

static void answer(struct bp_phd_manager *m, const struct bp_phd_peer *to,
	enum bp_phd_result result, uint32_t protocol)
{
	uint8_t out[BP_PHD_AARE_LEN];
	const size_t len = bp_phd_write_aare(out, sizeof(out), result, protocol, m->system_id);

	bp_phd_count(&m->counts->aare[result]);
	bp_phd_reply(m, to, out, len);
}

/* Checks the AARQ, independent of existing sessions. */
static enum bp_phd_result check(const struct bp_phd_apdu *a)
{
	const struct bp_phd_association *i = &a->aarq.info;

	if (a->aarq.version != ASSOCIATION_VERSION)
		return BP_PHD_UNSUPPORTED_VERSION;
	if (!a->aarq.has_20601)
		return BP_PHD_NO_COMMON_PROTOCOL;
	if ((i->protocol_version & (PROTOCOL_20601 | PROTOCOL_20601A)) == 0 ||
		(i->encoding_rules & MDER) == 0 || (i->nomenclature_version & NOMENCLATURE) == 0 ||
		i->system_id.len != 8 || i->config_id == 0 || i->config_id >= CONFIG_RESERVED)
		return BP_PHD_NO_COMMON_PARAMETER;
	if ((i->system_type & AGENT) == 0)
		return BP_PHD_REJECTED_PERMANENT;
	return BP_PHD_ACCEPTED;
}

/* Whether one more association is within limits.associations; the burst is that of 100 ms. */
static bool within_rate(struct bp_phd_manager *m)
{
	const uint64_t rate = m->c->limits.association_rate > 0 ? m->c->limits.association_rate : 1;
	const uint64_t each = 1000000000u / rate, burst = rate >= 10 ? rate / 10 : 1;
	uint64_t next = m->next_association_ns;

	if (next < m->now_ns)
		next = m->now_ns;
	if (next + each - m->now_ns > burst * each)
		return false;
	m->next_association_ns = next + each;
	return true;
}

static bool within_limits(
	struct bp_phd_manager *m, const struct bp_phd_peer *from, uint32_t elsewhere)
{
	uint32_t n = bp_phd_of_address(m, from->address);

	if (elsewhere != BP_PHD_NONE &&
		memcmp(bp_phd_session_at(m, elsewhere)->address, from->address, 16) == 0)
		n--; /* the old session is closed when this one opens */
	if (n >= m->c->limits.sessions_per_address) {
		bp_phd_count(&m->counts->rejected_address);
		return false;
	}
	if (!within_rate(m)) {
		bp_phd_count(&m->counts->rejected_rate);
		return false;
	}
	return true;
}

/* The session to open, from the AARQ and its sender. */
static struct bp_phd_session_spec spec_of(const struct bp_phd_manager *m,
	const struct bp_phd_peer *from, const struct bp_phd_association *i, uint64_t hash,
	uint64_t unix_ns)
{
	struct bp_phd_session_spec s = {
		.port = from->port,
		.transport = from->transport,
		.protocol = protocol_chosen(i) == PROTOCOL_20601A ? 2 : 1,
		.config_id = i->config_id,
		.state = BP_PHD_WAITING,
		.layout = BP_PHD_NO_LAYOUT,
		.associated_s = (uint32_t)(unix_ns / 1000000000u),
		.aarq_hash = hash,
		.opened_ns = m->now_ns,
	};

	memcpy(s.address, from->address, sizeof(s.address));
	memcpy(s.own, from->own, sizeof(s.own));
	memcpy(s.system_id, i->system_id.p, sizeof(s.system_id));
	return s;
}

/* Whether the tables can hold it: selects its layout if its configuration is known. `gives_way`:
 * an existing session is closed when it opens. */
static bool has_room(struct bp_phd_manager *m, struct bp_phd_session_spec *s, bool gives_way)
{
	struct bp_phd_model model;
	int layout = -1;

	if (bp_phd_model_of(m, s->system_id, s->config_id, &model, &s->spec))
		layout = bp_phd_layout_for(m, &model, s->spec);
	if (layout == -2) {
		bp_phd_count(&m->counts->rejected_layouts);
		return false;
	}
	if (layout >= 0) {
		s->state = BP_PHD_OPERATING;
		s->layout = (uint16_t)layout;
		s->config_content = model.content;
	}
	if (m->t->control->sessions >= m->c->max_sessions + (gives_way ? 1 : 0)) {
		bp_phd_count(&m->counts->rejected_full);
		return false;
	}
	return true;
}

/* Opens the session: returns the result, and the slot if it is accepted. */
static enum bp_phd_result open_session(struct bp_phd_manager *m, struct bp_phd_session_spec *s,
	uint32_t connection, uint32_t *slot)
{
	s->associated_s = bp_phd_association_time(m, s->system_id, s->associated_s);
	bp_phd_unanswered_carry(m, s);
	if (bp_phd_session_open(m->w, s, slot) != 0) {
		bp_phd_count(&m->counts->rejected_full);
		return BP_PHD_REJECTED_TRANSIENT;
	}
	bp_phd_unanswered_drop(m, s->system_id);
	bp_phd_index_add(m, *slot, connection);
	return s->layout != BP_PHD_NO_LAYOUT ? BP_PHD_ACCEPTED : BP_PHD_ACCEPTED_UNKNOWN_CONFIG;
}

static enum bp_phd_result admit(struct bp_phd_manager *m, const struct bp_phd_peer *from,
	const struct bp_phd_association *i, struct bp_phd_session_spec *s, uint32_t *slot)
{
	const uint32_t elsewhere = bp_phd_of_system(m, i->system_id.p);
	enum bp_phd_result result;

	if (!m->ops->allowed(m->arg, i->system_id.p)) {
		bp_phd_count(&m->counts->rejected_unauthorized);
		return BP_PHD_UNAUTHORIZED;
	}
	if (!within_limits(m, from, elsewhere))
		return BP_PHD_REJECTED_TRANSIENT;
	if (!has_room(m, s, elsewhere != BP_PHD_NONE))
		return BP_PHD_REJECTED_TRANSIENT;
	if (elsewhere != BP_PHD_NONE) /* it may have lost its connection without a notification */
		bp_phd_unanswered_keep(m, elsewhere);
	result = open_session(m, s, from->connection, slot);
	/* the newest session replaces the other: the device may have another address. The other is
	 * closed only after the new one is open, so that a failure closes none. */
	if (*slot != BP_PHD_NONE && elsewhere != BP_PHD_NONE) {
		bp_phd_count(&m->counts->superseded);
		bp_phd_abort(m, elsewhere, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_SUPERSEDED);
	}
	return result;
}

static void associate_new(struct bp_phd_manager *m, const struct bp_phd_peer *from,
	const struct bp_phd_apdu *a, uint64_t hash, uint64_t unix_ns)
{
	const struct bp_phd_association *i = &a->aarq.info;
	enum bp_phd_result result = check(a);
	struct bp_phd_session_spec s;
	uint32_t slot = BP_PHD_NONE;

	if (result != BP_PHD_ACCEPTED) {
		answer(m, from, result, 0);
		return;
	}
	s = spec_of(m, from, i, hash, unix_ns);
	result = admit(m, from, i, &s, &slot);
	answer(m, from, result, protocol_chosen(i));
	if (result == BP_PHD_ACCEPTED)
		bp_phd_operating(m, slot);
	else if (result == BP_PHD_ACCEPTED_UNKNOWN_CONFIG)
		bp_phd_wait(m, slot, BP_PHD_WAIT_CONFIG);
}

/* Over UDP, responses may be lost, and requests late: the same bytes from the same address. */
static bool is_repeat(const struct bp_phd_manager *m, uint32_t slot, uint64_t hash)
{
	const struct bp_phd_session *s = bp_phd_session_at(m, slot);
	const enum bp_phd_state state = bp_phd_state_at(m, slot);

	return s->transport == BP_PHD_TRANSPORT_UDP && s->aarq_hash == hash &&
	       (state == BP_PHD_WAITING || state == BP_PHD_OPERATING) &&
	       m->now_ns - s->opened_ns < REPEAT_NS;
}

/* Whether a repeated AARQ of a session with reports is of a device that still has its association:
 * it knows the response, and the AARQ was late (in the network, or in our socket). A device that
 * has lost its association sends AARQs and no reports. An ABRT to the former would make it
 * associate again and repeat a report that the CSE has, without words to recognize it; a response
 * to the latter would make its first report look like a repetition. */
static bool is_late(struct bp_phd_manager *m, uint32_t slot, uint32_t reports)
{
	struct bp_phd_note *n = &m->note[slot];

	if (n->late_reports != reports) {
		n->late_reports = reports;
		n->late_ns = m->now_ns;
	}
	return m->now_ns - n->late_ns < LATE_NS;
}

void bp_phd_associate(struct bp_phd_manager *m, const struct bp_phd_peer *from, uint32_t slot,
	const struct bp_phd_apdu *a, uint64_t hash, uint64_t unix_ns)
{
	const struct bp_phd_session *s;
	uint32_t reports;

	bp_phd_count(&m->counts->aarq);
	if (slot == BP_PHD_NONE) {
		bp_phd_unassociated(m, from);
		associate_new(m, from, a, hash, unix_ns);
		return;
	}
	s = bp_phd_session_at(m, slot);
	reports = s->reports;
	if (!is_repeat(m, slot, hash) || (reports != 0 && !is_late(m, slot, reports))) {
		/* rules 6.8, 8.8, 9.8 */
		bp_phd_abort(m, slot, BP_PHD_ABORT_UNDEFINED, BP_PHD_CLOSED_FAULT);
		return;
	}
	bp_phd_count(reports != 0 ? &m->counts->late : &m->counts->repeats);
	if (reports != 0)
		return;
	answer(m, from,
		bp_phd_state_at(m, slot) == BP_PHD_OPERATING && s->config_hash == 0
			? BP_PHD_ACCEPTED
			: BP_PHD_ACCEPTED_UNKNOWN_CONFIG,
		protocol_chosen(&a->aarq.info));
}

/* ---- endings ---- */

/* A device that releases has its responses, and a superseded session has passed its report to its
 * successor. */
static bool may_repeat(enum bp_phd_closed why)
{
	return why != BP_PHD_CLOSED_RELEASED && why != BP_PHD_CLOSED_BY_US &&
	       why != BP_PHD_CLOSED_SUPERSEDED;
}

void bp_phd_close(struct bp_phd_manager *m, uint32_t slot, enum bp_phd_closed why)
{
	bp_phd_timers_drop(m, slot);
	if (m->note[slot].opened)
		m->ops->closed(m->arg, slot, why);
	m->note[slot].opened = false;
	m->note[slot].restored = false;
	if (m->note[slot].refit)
		m->refits--;
	m->note[slot].refit = false;
	bp_phd_index_remove(m, slot);
	bp_phd_unanswered_end(m, slot, may_repeat(why));
	bp_phd_session_close(m->w, slot);
}

void bp_phd_abort(
	struct bp_phd_manager *m, uint32_t slot, enum bp_phd_abort reason, enum bp_phd_closed why)
{
	const struct bp_phd_peer to = bp_phd_peer_of(m, slot);

	bp_phd_close(m, slot, why);
	bp_phd_reply_simple(m, &to, BP_PHD_ABRT, (uint16_t)reason);
}

int bp_phd_manager_release(struct bp_phd_manager *m, const uint8_t system_id[8], uint64_t mono_ns)
{
	const uint32_t slot = bp_phd_of_system(m, system_id);
	struct bp_phd_peer to;

	m->now_ns = mono_ns;
	if (slot == BP_PHD_NONE || bp_phd_state_at(m, slot) == BP_PHD_RELEASING)
		return -1;
	to = bp_phd_peer_of(m, slot);
	bp_phd_session_word(
		m->w, slot, BP_PHD_RELEASING, 0, bp_phd_word_layout(bp_phd_word_at(m, slot)));
	bp_phd_wait(m, slot, BP_PHD_WAIT_RELEASE);
	bp_phd_reply_simple(m, &to, BP_PHD_RLRQ, 0);
	return 0;
}
