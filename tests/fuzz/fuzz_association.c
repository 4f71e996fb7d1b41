/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "services/health/association_record.h"
#include "services/health/last_report.h"

/*
 * A record of an association, as a gateway of a fleet gets it: it is read within its bounds, a
 * valid one is the same after it was written again, and its last report has a time that this
 * machine can compare.
 */
#define SECOND 1000000000ull

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t out[BP_ASSOCIATION_RECORD_MAX];
	const uint64_t mono_ns = 10 * SECOND, unix_ns = 1800000000 * SECOND;
	uint8_t *exact = exact_copy(data, size);
	struct bp_association a;

	if (bp_association_read(exact, size, &a)) {
		const uint64_t sent = bp_association_sent(&a, mono_ns, unix_ns);

		HOLDS(bp_association_write(&a, out, sizeof(out)) == size);
		HOLDS(memcmp(out, exact, size) == 0);
		HOLDS(sent == 0 || (!bp_phd_sent_has_number(sent) &&
					   bp_phd_sent_age(sent, mono_ns) < BP_PHD_REPEAT_AGE));
		HOLDS(sent == 0 || a.session.carried.origin.associated_s != 0);
	}
	free(exact);
	return 0;
}
