/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/sfloat_table.h"

#include <string.h>

#include "proto/frame.h"
#include "proto/phd_value.h"

static struct bp_phd_sfloat table[UINT16_MAX + 1] __attribute__((aligned(64)));
const struct bp_phd_sfloat *bp_phd_sfloats;

void bp_phd_sfloat_prepare(void)
{
	if (bp_phd_sfloats != NULL)
		return;
	for (uint32_t v = 0; v <= UINT16_MAX; v++) {
		enum bp_phd_special special;
		char text[BP_PHD_NUMBER_MAX];
		const unsigned n = bp_phd_sfloat_text((uint16_t)v, text, &special);

		memcpy(table[v].text, text, n);
		table[v].sum = bp_sum_fold(bp_sum((const uint8_t *)text, n, 0));
		table[v].len = (uint8_t)n;
	}
	bp_phd_sfloats = table;
}
