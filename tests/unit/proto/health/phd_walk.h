/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_PROTO_HEALTH_PHD_WALK_H
#define BP_TESTS_UNIT_PROTO_HEALTH_PHD_WALK_H

#include <string.h>

#include "proto/health/phd_apdu.h"
#include "proto/health/phd_config.h"
#include "proto/health/phd_report.h"
#include "proto/health/phd_value.h"

/*
 * Any APDU through every reader that is for a part of it. All bytes that a reader hands out are
 * read, so that a sanitizer sees one outside the input.
 */
struct phd_walk {
	struct bp_phd_apdu apdu;
	struct bp_phd_event_report event;
	struct bp_phd_get_reply get;
	struct bp_phd_scan_head scan;
	struct bp_phd_model model; /* with event.type BP_PHD_CONFIG */
	struct bp_phd_observation first;
	unsigned observations, attributes, bad_times;
	uint16_t refusal;
	/* private */
	const uint8_t *p;
	size_t len;
	bool outside;
	unsigned sum;
};

static inline void phd_touch(struct phd_walk *w, struct bp_phd_bytes b)
{
	if (b.p < w->p || b.len > w->len || (size_t)(b.p - w->p) > w->len - b.len) {
		w->outside = true;
		return;
	}
	for (uint16_t i = 0; i < b.len; i++)
		w->sum += b.p[i];
}

/* The values of the attributes are also converted to text. */
static inline void phd_walk_attributes(struct phd_walk *w, struct bp_phd_bytes list)
{
	char text[BP_PHD_TIME_MAX];
	enum bp_phd_special special;
	struct bp_phd_bytes v;
	uint16_t id;

	while (bp_phd_attribute_next(&list, &id, &v)) {
		phd_touch(w, v);
		w->attributes++;
		if (id == BP_PHD_ATTR_BASIC && v.len == 2)
			bp_phd_sfloat_text((uint16_t)(v.p[0] << 8 | v.p[1]), text, &special);
		if (id == BP_PHD_ATTR_TIME_ABS && v.len == 8)
			w->bad_times += bp_phd_abs_time_text(v.p, text) == 0;
		if (id == BP_PHD_ATTR_TIME_BO && v.len == 8)
			w->bad_times += bp_phd_bo_time_text(v.p, text) == 0;
	}
	w->outside |= list.len != 0; /* the lengths of a validated list are correct */
}

static inline enum bp_phd_error phd_walk_report(struct phd_walk *w)
{
	struct bp_phd_observation o;
	struct bp_phd_scan_walk at;
	enum bp_phd_error e = bp_phd_scan_read(w->event.type, w->event.info, &w->scan);
	int r;

	if (e != BP_PHD_OK)
		return e;
	bp_phd_scan_begin(&at, &w->scan);
	while ((r = bp_phd_scan_next(&at, &o)) == BP_PHD_OK) {
		phd_touch(w, o.data);
		if (w->scan.scan == BP_PHD_VAR)
			phd_walk_attributes(w, o.data);
		if (w->observations++ == 0)
			w->first = o;
	}
	/* it says the same again */
	w->outside |= bp_phd_scan_next(&at, &o) != r;
	return r == BP_PHD_SCAN_END ? BP_PHD_OK : (enum bp_phd_error)r;
}

static inline enum bp_phd_error phd_walk_event(struct phd_walk *w)
{
	enum bp_phd_error e = bp_phd_event_read(w->apdu.prst.body, &w->event);

	if (e != BP_PHD_OK || w->apdu.prst.choice == BP_PHD_RORS_EVENT)
		return e;
	phd_touch(w, w->event.info);
	if (w->event.type == BP_PHD_CONFIG)
		return bp_phd_config_read(w->event.info, &w->model);
	if (w->event.type > BP_PHD_CONFIG && w->event.type <= BP_PHD_SCAN_MP_VAR)
		return phd_walk_report(w);
	return BP_PHD_OK;
}

static inline enum bp_phd_error phd_walk_prst(struct phd_walk *w)
{
	enum bp_phd_error e;

	phd_touch(w, w->apdu.prst.body);
	switch (w->apdu.prst.choice) {
	case BP_PHD_EVENT:
	case BP_PHD_EVENT_CONFIRMED:
	case BP_PHD_RORS_EVENT:
		return phd_walk_event(w);
	case BP_PHD_RORS_GET:
		e = bp_phd_get_read(w->apdu.prst.body, &w->get);
		if (e == BP_PHD_OK)
			phd_walk_attributes(w, w->get.attributes);
		return e;
	case BP_PHD_ROER:
	case BP_PHD_RORJ:
		return bp_phd_refusal_read(w->apdu.prst.choice, w->apdu.prst.body, &w->refusal);
	default:
		return BP_PHD_OK;
	}
}

static inline void phd_walk_association(struct phd_walk *w, const struct bp_phd_association *a)
{
	phd_touch(w, a->system_id);
	phd_touch(w, a->options);
	phd_walk_attributes(w, a->options);
}

static inline enum bp_phd_error phd_walk(struct phd_walk *w, const uint8_t *p, size_t len)
{
	enum bp_phd_error e;

	memset(w, 0, sizeof(*w));
	w->p = p;
	w->len = len;
	e = bp_phd_apdu_read(p, len, &w->apdu);
	if (e != BP_PHD_OK)
		return e;
	if (w->apdu.choice == BP_PHD_AARQ && w->apdu.aarq.has_20601)
		phd_walk_association(w, &w->apdu.aarq.info);
	if (w->apdu.choice == BP_PHD_AARE && w->apdu.aare.has_info)
		phd_walk_association(w, &w->apdu.aare.info);
	return w->apdu.choice == BP_PHD_PRST ? phd_walk_prst(w) : BP_PHD_OK;
}

#endif
