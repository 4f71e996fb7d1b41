/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "services/health/layout.h"
#include "services/health/manager_internal.h"
#include "proto/phd_names.h"

/* What devices declare: configuration reports, the MDS, and the layouts that are made of them. */

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
	struct bp_phd_plan plan;
	int n;

	if (bp_phd_plan_read(m->t, &plan) == 0)
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

/* It stays in the state of waiting, which begins anew. */
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

	if (s->config_content != model->content) /* the octets of then mean something else */
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

/* What is wrong with a report that could be read; ACCEPTED: nothing. */
static enum bp_phd_config_result config_judge(
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

	if (e == BP_PHD_E_FIELD) { /* more than there is room for, or senseless: not ours */
		config_refuse(m, slot, from, invoke_id, s->config_id, BP_PHD_CONFIG_UNSUPPORTED);
		return;
	}
	if (e != BP_PHD_OK) {
		bp_phd_reply_rorj(m, from, invoke_id, BP_PHD_BADLY_STRUCTURED);
		return;
	}
	result = config_judge(s, &model);
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

void bp_phd_ask_mds(struct bp_phd_manager *m, uint32_t slot)
{
	const struct bp_phd_peer to = bp_phd_peer_of(m, slot);
	uint8_t out[BP_PHD_GET_MDS_LEN];
	size_t len;

	m->note[slot].invoke_id = m->next_invoke_id++;
	len = bp_phd_write_get_mds(out, sizeof(out), m->note[slot].invoke_id);
	bp_phd_session_at(m, slot)->mds_known = BP_PHD_MDS_ASKED;
	bp_phd_wait(m, slot, BP_PHD_WAIT_SERVICE);
	bp_phd_reply(m, &to, out, len);
}

void bp_phd_operating(struct bp_phd_manager *m, uint32_t slot)
{
	struct bp_phd_session *s = bp_phd_session_at(m, slot);

	bp_phd_wait(m, slot, BP_PHD_WAIT_NOTHING);
	bp_phd_idle_begin(m, slot);
	s->mds_known = s->spec != 0 ? BP_PHD_MDS_TOLD : BP_PHD_MDS_ASKED;
	m->note[slot].opened = true;
	m->ops->opened(m->arg, slot);
	if (s->spec == 0)
		bp_phd_ask_mds(m, slot);
}

/* The first specialisation of a list {count, length, {type, version}...}; 0: none, or it lies. */
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

/* Where the specialisation is in the instances' names, the layout is another with it. */
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

void bp_phd_mds_told(struct bp_phd_manager *m, uint32_t slot, const struct bp_phd_get_reply *reply)
{
	struct bp_phd_session *s = bp_phd_session_at(m, slot);
	const uint16_t spec = reply ? spec_in(reply) : 0;

	bp_phd_wait(m, slot, BP_PHD_WAIT_NOTHING);
	s->mds_known = spec != 0 ? BP_PHD_MDS_TOLD : BP_PHD_MDS_UNKNOWN;
	if (spec != 0) {
		layout_renew(m, slot, spec);
		s->spec = spec;
	}
	m->ops->told(m->arg, slot, s->system_id, s->config_id, spec);
}
