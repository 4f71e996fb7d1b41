/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_PROTO_HEALTH_PHD_COMPARE_H
#define BP_TESTS_UNIT_PROTO_HEALTH_PHD_COMPARE_H

#include "tests/unit/proto/exact.h"
#include "tests/unit/proto/health/phd_grammar.h"
#include "tests/unit/proto/health/phd_walk.h"

/* The codec and the grammar agree on p[0..len), whatever it is; false: on that it is wrong. */

/* The fast decoder gives the same result as the separate decoders, for all APDUs over UDP. */
static inline void assert_fast_agrees(const uint8_t *p, size_t len)
{
	struct bp_phd_event_report event;
	struct bp_phd_scan_head scan = {0};
	struct bp_phd_apdu a;
	struct bp_phd_fast f;
	bool slow = bp_phd_apdu_read(p, len, &a) == BP_PHD_OK && a.choice == BP_PHD_PRST &&
		    (a.prst.choice == BP_PHD_EVENT || a.prst.choice == BP_PHD_EVENT_CONFIRMED) &&
		    bp_phd_event_read(a.prst.body, &event) == BP_PHD_OK && event.handle == 0 &&
		    event.type == BP_PHD_SCAN_FIXED &&
		    bp_phd_scan_read(event.type, event.info, &scan) == BP_PHD_OK &&
		    scan.trailing == 0;

	assert_int_equal(bp_phd_fast_read(p, len, &f), slow && len <= UINT16_MAX);
	if (!slow || len > UINT16_MAX)
		return;
	assert_int_equal(f.invoke_id, a.prst.invoke_id);
	assert_int_equal(f.confirmed, a.prst.choice == BP_PHD_EVENT_CONFIRMED);
	assert_int_equal(f.report_no, scan.report_no);
	assert_int_equal(f.n, scan.n);
	assert_ptr_equal(p + f.at, scan.list.p);
	assert_ptr_equal(p + f.end, scan.list.p + scan.list.len);
	assert_ptr_equal(p + f.end, p + len);
}

/* An answer is possible as soon as a PRST has an invoke-id. */
static inline void assert_invoke_id_is_known(const uint8_t *p, size_t len, const struct phd_walk *w)
{
	bool there = len >= 8 && g_u16(p, 0) == 0xe700 && g_u16(p, 2) >= 4 && g_u16(p, 4) >= 2;

	assert_int_equal(w->apdu.invoke_id_known, there);
	if (there)
		assert_int_equal(w->apdu.prst.invoke_id, g_u16(p, 6));
}

static inline bool compare(const uint8_t *p, size_t len)
{
	static struct phd_walk w;
	enum bp_phd_error e = phd_walk(&w, p, len);
	bool right = g_apdu(p, len);

	assert_false(w.outside);
	/* E_FIELD: an invalid value, which the grammar does not check */
	if (e != BP_PHD_E_FIELD && (e == BP_PHD_OK) != right)
		fail_msg("%s, but the grammar says %s", bp_phd_error_text(e),
			right ? "right" : "wrong");
	assert_int_equal(e == BP_PHD_E_SHORT, len < 4);
	assert_invoke_id_is_known(p, len, &w);
	assert_fast_agrees(p, len);
	return right;
}

#endif
