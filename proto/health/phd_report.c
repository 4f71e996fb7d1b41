/* SPDX-License-Identifier: BSD-3-Clause */
#include "proto/health/phd_report.h"

#include "proto/health/phd_fields.h"

enum bp_phd_error bp_phd_scan_read(
	uint16_t type, struct bp_phd_bytes info, struct bp_phd_scan_head *out)
{
	if (type < BP_PHD_SCAN_FIXED || type > BP_PHD_SCAN_MP_VAR)
		return BP_PHD_E_FIELD;
	out->mp = type >= BP_PHD_SCAN_MP_FIXED;
	out->scan =
		type == BP_PHD_SCAN_VAR || type == BP_PHD_SCAN_MP_VAR ? BP_PHD_VAR : BP_PHD_FIXED;
	if (!bp_phd_take_u16(&info, &out->data_req_id) ||
		!bp_phd_take_u16(&info, &out->report_no) ||
		!bp_phd_take_list(&info, &out->n, &out->list))
		return BP_PHD_E_LENGTH;
	out->trailing = info.len;
	return BP_PHD_OK;
}

void bp_phd_scan_begin(struct bp_phd_scan_walk *w, const struct bp_phd_scan_head *h)
{
	w->outer = h->list;
	w->inner = h->list;
	w->persons = 0;
	w->left = 0;
	w->person = 0;
	w->scan = h->scan;
	w->mp = h->mp;
	if (h->mp) {
		w->persons = h->n;
		w->inner.len = 0;
	} else {
		w->left = h->n;
		w->outer.len = 0;
	}
}

/* ScanReportPerFixed, -Var: the next person's observations become w->inner. */
static enum bp_phd_error next_person(struct bp_phd_scan_walk *w)
{
	if (w->outer.len == 0)
		return BP_PHD_E_COUNT;
	if (!bp_phd_take_u16(&w->outer, &w->person) ||
		!bp_phd_take_list(&w->outer, &w->left, &w->inner))
		return BP_PHD_E_LENGTH;
	w->persons--;
	return BP_PHD_OK;
}

/* ObservationScanFixed, ObservationScan */
static enum bp_phd_error take_observation(struct bp_phd_scan_walk *w, struct bp_phd_observation *o)
{
	if (w->inner.len == 0)
		return BP_PHD_E_COUNT;
	o->person = w->person;
	o->n_attributes = 0;
	if (!bp_phd_take_u16(&w->inner, &o->handle))
		return BP_PHD_E_LENGTH;
	w->left--;
	if (w->scan == BP_PHD_FIXED)
		return bp_phd_take_bytes(&w->inner, &o->data) ? BP_PHD_OK : BP_PHD_E_LENGTH;
	if (!bp_phd_take_list(&w->inner, &o->n_attributes, &o->data))
		return BP_PHD_E_LENGTH;
	return bp_phd_attributes_prove(o->data, o->n_attributes);
}

int bp_phd_scan_next(struct bp_phd_scan_walk *w, struct bp_phd_observation *o)
{
	struct bp_phd_scan_walk at = *w; /* stored back only without an error */
	enum bp_phd_error e;

	while (at.left == 0) {
		if (at.inner.len != 0)
			return BP_PHD_E_COUNT;
		if (at.persons == 0)
			return at.outer.len == 0 ? BP_PHD_SCAN_END : BP_PHD_E_COUNT;
		e = next_person(&at);
		if (e != BP_PHD_OK)
			return (int)e;
	}
	e = take_observation(&at, o);
	if (e == BP_PHD_OK)
		*w = at;
	return (int)e;
}
