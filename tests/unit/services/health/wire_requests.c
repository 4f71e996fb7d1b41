/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/health/rig.h"

#include <stdio.h>

/*
 * Writes requests for wire_test.py, one a line: the release, whether it is one instance a report,
 * the vector or what is created, and the bytes in hexadecimal.
 */

static void print(
	unsigned release, unsigned per_report, const char *what, const uint8_t *p, size_t len)
{
	printf("%u %u %s ", release, per_report, what);
	for (size_t i = 0; i < len; i++)
		printf("%02x", p[i]);
	printf("\n");
}

static void print_report(
	const struct bp_phd_settings *plan, const char *id, const struct bp_phd_model *m)
{
	struct bp_phd_layout *l = rig_compile(m, plan, &rig_target, "");
	struct bp_phd_conversion c;
	size_t len;
	uint8_t *apdu = rig_apdu(id, &len), out[2048];

	assert_int_equal(bp_phd_convert_plan(l, plan, apdu, len, &c), BP_PHD_CONVERT);
	for (unsigned i = 0; i < c.parts; i++) {
		const struct bp_phd_identity identity = rig_identity(i);

		len = bp_phd_convert_write(l, plan, apdu, &c, i, &identity, out, sizeof(out));
		print(plan->release, plan->per_report, id, out, len);
	}
	free(apdu);
	free(l);
}

static void print_create(unsigned release)
{
	static const char body[] = "{\"m2m:cnt\":{\"rn\":\"spo2\"}}";
	const struct bp_m2m_request q = {.ty = BP_M2M_CNT,
		.path = "cse-in/1122334455667788",
		.query = "rcn=0",
		.fr = "Cbiplane",
		.rqi = "a0b1c2d3e4f50617",
		.body = body,
		.body_len = sizeof(body) - 1};
	struct bp_coap_writer w;
	uint8_t out[512];

	bp_coap_begin(&w, out, sizeof(out), BP_COAP_CON, BP_COAP_POST, 0x1234,
		(const uint8_t *)"\xa0\xb1\xc2\xd3\xe4\xf5\x06\x17", 8);
	print(release, 0, "container", out,
		bp_m2m_create(&w, out, (enum bp_m2m_release)release, &q));
}

int main(void)
{
	static const struct {
		const char *id;
		const struct bp_phd_model *m;
	} reports[] = {{"S02", &rig_400}, {"S04", &rig_c01}, {"S06", &rig_c01}, {"S07", &rig_c01},
		{"S10", &rig_c03}, {"S12", &rig_c04}};

	for (unsigned i = 0; i < BP_M2M_RELEASES * 2; i++) {
		struct bp_phd_settings plan = rig_plan;

		plan.release = (uint8_t)(i / 2);
		plan.per_report = i % 2;
		for (size_t k = 0; k < sizeof(reports) / sizeof(reports[0]); k++)
			print_report(&plan, reports[k].id, reports[k].m);
		if (i % 2 == 0)
			print_create(i / 2);
	}
	return 0;
}
