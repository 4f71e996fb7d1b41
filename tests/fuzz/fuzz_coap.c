/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include "proto/health/coap.h"
#include "proto/health/onem2m.h"

/*
 * Any datagram: an accepted message is inside the input and, encoded again from the decoded fields,
 * has the same bytes, because CoAP has only one form of each number.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *p = exact_copy(data, size), *again = malloc(size + 1);
	struct bp_coap_option o;
	struct bp_coap_writer w;
	struct bp_m2m_reply reply;
	const uint8_t *cursor = NULL;
	uint32_t last = 0;
	struct bp_coap m;

	if (again == NULL)
		abort();
	if (bp_coap_read(p, size, &m) == BP_COAP_OK) {
		bp_coap_begin(&w, again, size, (enum bp_coap_type)m.type, m.code, m.mid, m.token,
			m.token_len);
		while (bp_coap_next(&m, &cursor, &o)) {
			HOLDS(o.number >= last);
			HOLDS(o.value >= p && o.value + o.len <= p + size);
			bp_coap_option(&w, o.number, o.value, o.len);
			last = o.number;
		}
		HOLDS(cursor == m.options + m.options_len);
		HOLDS(bp_coap_end(&w, again, m.payload, m.payload_len) == size);
		HOLDS(memcmp(again, p, size) == 0);
		for (int r = 0; r < BP_M2M_RELEASES; r++) {
			bp_m2m_reply_read(&m, (enum bp_m2m_release)r, &reply);
			HOLDS(bp_m2m_outcome(&reply, true) <= BP_M2M_REFUSED);
			HOLDS(bp_m2m_outcome(&reply, false) <= BP_M2M_REFUSED);
		}
	}
	free(again);
	free(p);
	return 0;
}
