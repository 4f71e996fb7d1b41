/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/association_record.h"

#include <string.h>

#include "services/health/last_report.h"

static const uint8_t magic[4] = {'B', 'P', 'A', '1'};

/* What `sent` says besides hash and time. */
enum report { NO_REPORT, REPORT, REPORT_OF_MANY_PARTS };

#define CONFIG_ID_END 0x8000u

/* ---- writing ---- */

static uint8_t *put(uint8_t *p, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*p++ = (uint8_t)(v >> 8 * i);
	return p;
}

static uint8_t *put_bytes(uint8_t *p, const void *from, size_t n)
{
	memcpy(p, from, n);
	return p + n;
}

static enum report report_of(const struct bp_association *a)
{
	if (a->report_s == 0 || a->session.carried.sent == 0)
		return NO_REPORT;
	return bp_phd_sent_number(a->session.carried.sent) == BP_PHD_SENT_MANY
		       ? REPORT_OF_MANY_PARTS
		       : REPORT;
}

size_t bp_association_write(const struct bp_association *a, uint8_t *out, size_t size)
{
	const struct bp_phd_session_spec *s = &a->session;
	const struct bp_phd_carried *c = &s->carried;
	const enum report report = report_of(a);
	const size_t len = BP_ASSOCIATION_FIXED + (size_t)a->config.len;
	uint8_t *p = out;

	if (len > size || len > BP_ASSOCIATION_RECORD_MAX)
		return 0;
	p = put_bytes(p, magic, sizeof(magic));
	p = put_bytes(p, s->address, sizeof(s->address));
	p = put(p, s->port, 2);
	p = put_bytes(p, s->system_id, sizeof(s->system_id));
	p = put(p, s->protocol, 1);
	p = put(p, s->config_id, 2);
	p = put(p, s->spec, 2);
	p = put(p, s->associated_s, 4);
	p = put(p, s->reports, 4);
	p = put(p, s->config_content, 8);
	p = put(p, a->owner, 8);
	p = put(p, a->segment, 8);
	p = put(p, a->made, 8);
	p = put(p, report, 1);
	p = put(p, report != NO_REPORT ? a->report_s : 0, 8);
	p = put(p, report != NO_REPORT ? c->last : 0, 8);
	p = put(p, report != NO_REPORT ? bp_phd_sent_hash(c->sent) : 0, 2);
	p = put(p, report != NO_REPORT ? c->origin.associated_s : 0, 4);
	p = put(p, report != NO_REPORT ? c->origin.report : 0, 4);
	p = put(p, report != NO_REPORT ? c->origin.life : 0, 2);
	p = put(p, 0, 3); /* reserved */
	p = put(p, a->config.len, 2);
	if (a->config.len != 0)
		p = put_bytes(p, a->config.p, a->config.len);
	return (size_t)(p - out);
}

/* ---- reading ---- */

static uint64_t get(const uint8_t **p, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)(*p)[i] << 8 * i;
	*p += bytes;
	return v;
}

static void get_bytes(const uint8_t **p, void *out, size_t n)
{
	memcpy(out, *p, n);
	*p += n;
}

/* A device that can have a session: see answerable() of controlplane/health/server.c. */
static bool is_device(const struct bp_phd_session_spec *s)
{
	static const uint8_t any[16], any4[16] = {[10] = 0xff, [11] = 0xff};

	return s->port != 0 && memcmp(s->address, any, 16) != 0 &&
	       memcmp(s->address, any4, 16) != 0 && s->address[0] != 0xff &&
	       !(s->address[0] == 0xfe && (s->address[1] & 0xc0) == 0x80);
}

/* The configuration is the one that the other fields name. */
static bool config_valid(const struct bp_association *a)
{
	const struct bp_phd_session_spec *s = &a->session;
	const struct bp_phd_model *standard;
	struct bp_phd_model model;
	bool certain = false;

	if (s->config_id == 0 || s->config_id >= CONFIG_ID_END)
		return false;
	if (a->config.len != 0)
		return bp_phd_config_read(a->config, &model) == BP_PHD_OK && model.n > 0 &&
		       model.config_id == s->config_id && model.content == s->config_content;
	standard = bp_phd_standard(s->config_id, &certain);
	return standard != NULL && certain;
}

static bool report_valid(const struct bp_association *a, uint64_t report, uint64_t reserved)
{
	const struct bp_phd_carried *c = &a->session.carried;

	if (reserved != 0 || report > REPORT_OF_MANY_PARTS)
		return false;
	if (report == NO_REPORT)
		return a->report_s == 0 && c->last == 0 && c->sent == 0 &&
		       c->origin.associated_s == 0 && c->origin.report == 0 && c->origin.life == 0;
	return a->report_s != 0 && c->origin.associated_s != 0;
}

bool bp_association_read(const uint8_t *p, size_t n, struct bp_association *a)
{
	struct bp_phd_session_spec *s = &a->session;
	struct bp_phd_carried *c = &s->carried;
	const uint8_t *const end = p + n;
	uint64_t report, reserved;
	uint16_t hash;

	memset(a, 0, sizeof(*a));
	if (n < BP_ASSOCIATION_FIXED || n > BP_ASSOCIATION_RECORD_MAX ||
		memcmp(p, magic, sizeof(magic)) != 0)
		return false;
	p += sizeof(magic);
	get_bytes(&p, s->address, sizeof(s->address));
	s->port = (uint16_t)get(&p, 2);
	get_bytes(&p, s->system_id, sizeof(s->system_id));
	s->transport = BP_PHD_TRANSPORT_UDP;
	s->protocol = (uint8_t)get(&p, 1);
	s->config_id = (uint16_t)get(&p, 2);
	s->spec = (uint16_t)get(&p, 2);
	s->associated_s = (uint32_t)get(&p, 4);
	s->reports = (uint32_t)get(&p, 4);
	s->config_content = get(&p, 8);
	a->owner = get(&p, 8);
	a->segment = get(&p, 8);
	a->made = get(&p, 8);
	report = get(&p, 1);
	a->report_s = get(&p, 8);
	c->last = get(&p, 8);
	hash = (uint16_t)get(&p, 2);
	c->origin.associated_s = (uint32_t)get(&p, 4);
	c->origin.report = (uint32_t)get(&p, 4);
	c->origin.life = (uint16_t)get(&p, 2);
	reserved = get(&p, 3);
	a->config = (struct bp_phd_bytes){.len = (uint16_t)get(&p, 2)};
	if ((size_t)(end - p) != a->config.len)
		return false;
	a->config.p = a->config.len != 0 ? p : NULL;
	c->sent = bp_phd_sent_at(report == REPORT_OF_MANY_PARTS ? BP_PHD_SENT_MANY
				 : report == REPORT             ? BP_PHD_SENT_NONE
								: 0,
		hash, 0);
	return is_device(s) && (s->protocol == 1 || s->protocol == 2) && s->associated_s != 0 &&
	       report_valid(a, report, reserved) && config_valid(a);
}

/* ---- times ---- */

uint64_t bp_association_report_s(uint64_t sent, uint64_t mono_ns, uint64_t unix_ns)
{
	const uint64_t age = sent != 0 ? bp_phd_sent_age(sent, mono_ns) : BP_PHD_REPEAT_AGE;
	const uint64_t now_s = unix_ns / 1000000000u;

	if (age >= BP_PHD_REPEAT_AGE || now_s <= age * BP_PHD_REPEAT_UNIT_S)
		return 0;
	return now_s - age * BP_PHD_REPEAT_UNIT_S;
}

uint64_t bp_association_sent(const struct bp_association *a, uint64_t mono_ns, uint64_t unix_ns)
{
	const uint64_t sent = a->session.carried.sent, now_s = unix_ns / 1000000000u;
	const uint64_t age_s = now_s > a->report_s ? now_s - a->report_s : 0;
	const uint64_t unit = BP_PHD_REPEAT_UNIT_S * 1000000000ull;

	if (a->report_s == 0 || sent == 0 || age_s / BP_PHD_REPEAT_UNIT_S >= BP_PHD_REPEAT_AGE)
		return 0;
	/* the clock of a machine that has just started may not reach as far back: the time is
	 * modulo 2^16 units */
	return bp_phd_sent_at(bp_phd_sent_number(sent), bp_phd_sent_hash(sent),
		(uint16_t)(mono_ns / unit - age_s / BP_PHD_REPEAT_UNIT_S));
}
