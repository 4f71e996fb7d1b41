/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include "proto/redis/resp.h"

/* The values below values[i], as preorder: returns the index after them. */
static uint32_t check_value(const struct bp_resp *values, uint32_t i, const char *begin,
	const char *end, unsigned depth)
{
	const struct bp_resp *v = &values[i];
	uint32_t next = i + 1;

	HOLDS(i < BP_RESP_VALUES_MAX && depth <= BP_RESP_DEPTH_MAX);
	HOLDS(v->type <= BP_RESP_ARRAY);
	if (v->type == BP_RESP_TEXT || v->type == BP_RESP_STATUS || v->type == BP_RESP_ERROR) {
		HOLDS(v->text >= begin && v->text + v->len + 2 <= end);
		HOLDS(v->len <= (v->type == BP_RESP_TEXT ? BP_RESP_TEXT_MAX : BP_RESP_LINE_MAX));
		HOLDS(memcmp(v->text + v->len, "\r\n", 2) == 0);
	}
	HOLDS(v->type == BP_RESP_ARRAY || v->n == 0);
	for (uint32_t k = 0; k < v->n; k++)
		next = check_value(values, next, begin, end, depth + 1);
	HOLDS(v->skip == next - i);
	return next;
}

/*
 * Any bytes of a server: values and texts are inside the input. A reply does not depend on the
 * bytes behind it, and each part of it is incomplete, not invalid: it may arrive in any segments.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bp_resp values[BP_RESP_VALUES_MAX], again[BP_RESP_VALUES_MAX];
	uint8_t *p = exact_copy(data, size);
	const char *text = (const char *)p;
	const ssize_t n = bp_resp_read(text, size, values);

	HOLDS(n >= -1 && n <= (ssize_t)size);
	if (n > 0) {
		uint8_t *exact = exact_copy(data, (size_t)n);

		check_value(values, 0, text, text + n, 0);
		HOLDS(bp_resp_read((const char *)exact, (size_t)n, again) == n);
		HOLDS(again[0].type == values[0].type && again[0].skip == values[0].skip &&
			again[0].integer == values[0].integer && again[0].len == values[0].len);
		free(exact);
		for (size_t cut = 0; cut < (size_t)n && cut < 512; cut++)
			HOLDS(bp_resp_read(text, cut, again) == 0);
	}
	free(p);
	return 0;
}
