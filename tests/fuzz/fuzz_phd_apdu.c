/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include "proto/health/phd_names.h"
#include "tests/unit/proto/health/phd_grammar.h"
#include "tests/unit/proto/health/phd_walk.h"

/*
 * The input is an APDU, and then each part of one by itself, so that a report or a configuration is
 * reached without the lengths around it. Whatever it is, the codec stays in bounds, evaluates as
 * the grammar does, and what it accepts has the properties that its callers rely on.
 */

static void check_model(const struct bp_phd_model *m)
{
	HOLDS(m->n <= BP_PHD_OBJECTS_MAX);
	HOLDS(m->content == bp_phd_model_content(m));
	for (uint16_t i = 0; i < m->n; i++) {
		const struct bp_phd_object_model *o = &m->object[i];

		HOLDS(o->handle != 0 && o->n_map <= BP_PHD_MAP_MAX);
		HOLDS(o->n_ids <= BP_PHD_IDS_MAX);
		HOLDS(o->n_supplemental <= BP_PHD_SUPPLEMENTAL_MAX);
		for (uint16_t k = 0; k < i; k++)
			HOLDS(m->object[k].handle != o->handle);
		bp_phd_object_name(o->partition, o->code);
		bp_phd_unit_name(o->unit);
	}
}

static void check_fast(const uint8_t *p, size_t len)
{
	struct bp_phd_event_report event;
	struct bp_phd_scan_head scan;
	struct bp_phd_apdu a;
	struct bp_phd_fast f;

	if (!bp_phd_fast_read(p, len, &f))
		return;
	HOLDS(bp_phd_apdu_read(p, len, &a) == BP_PHD_OK && a.choice == BP_PHD_PRST);
	HOLDS(a.prst.choice == (f.confirmed ? BP_PHD_EVENT_CONFIRMED : BP_PHD_EVENT));
	HOLDS(bp_phd_event_read(a.prst.body, &event) == BP_PHD_OK);
	HOLDS(event.handle == 0 && event.type == BP_PHD_SCAN_FIXED);
	HOLDS(bp_phd_scan_read(event.type, event.info, &scan) == BP_PHD_OK);
	HOLDS(f.invoke_id == a.prst.invoke_id && f.report_no == scan.report_no && f.n == scan.n);
	HOLDS(p + f.at == scan.list.p && p + f.end == scan.list.p + scan.list.len);
}

static void check_apdu(const uint8_t *p, size_t len)
{
	static struct phd_walk w;
	enum bp_phd_error e = phd_walk(&w, p, len);

	HOLDS(!w.outside);
	HOLDS(e == BP_PHD_E_FIELD || (e == BP_PHD_OK) == g_apdu(p, len));
	HOLDS(bp_phd_error_text(e) != NULL);
	HOLDS(e != BP_PHD_OK || bp_phd_apdu_size(p, len) == len);
	if (e == BP_PHD_OK && w.apdu.choice == BP_PHD_PRST && w.model.n != 0)
		check_model(&w.model);
	check_fast(p, len);
}

/* The same bytes as the content. */
static void check_parts(const uint8_t *p, uint16_t len)
{
	/* agents append bytes to them */
	static const char *const reports[] = {"22{2O}", "22{2{2O}}", "22{2{2O}}", "22{2{2{2O}}}"};
	static struct phd_walk w;
	static struct bp_phd_model model;
	struct bp_phd_bytes b = {p, len};
	struct bp_phd_get_reply get;
	struct bp_phd_bytes entries;
	enum bp_phd_error e;
	uint16_t n;

	memset(&w, 0, sizeof(w));
	w.p = p;
	w.len = len;
	w.event.info = b;
	for (unsigned i = 0; i < 4; i++) {
		w.event.type = (uint16_t)(BP_PHD_SCAN_FIXED + i);
		HOLDS((phd_walk_report(&w) == BP_PHD_OK) == g_begins(reports[i], p, 0, len));
	}
	e = bp_phd_config_read(b, &model);
	HOLDS(e == BP_PHD_E_FIELD || (e == BP_PHD_OK) == g_config(p, 0, len));
	if (e == BP_PHD_OK)
		check_model(&model);
	HOLDS((bp_phd_get_read(b, &get) == BP_PHD_OK) == g_all("2{2O}", p, 0, len));
	e = bp_phd_attributes_read(b, &n, &entries);
	HOLDS((e == BP_PHD_OK) == g_all("{2O}", p, 0, len));
	if (e == BP_PHD_OK)
		phd_walk_attributes(&w, entries);
	HOLDS(!w.outside);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *p = exact_copy(data, size);

	check_apdu(p, size);
	if (size <= UINT16_MAX)
		check_parts(p, (uint16_t)size);
	free(p);
	return 0;
}
