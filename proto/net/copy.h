/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_NET_COPY_H
#define BP_PROTO_NET_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * memcpy() for mostly short data of any length, such as topics and values: overlapping moves
 * instead of a call.
 */
static inline void bp_copy(void *to, const void *from, size_t n)
{
	uint8_t *t = to;
	const uint8_t *f = from;

	if (n > 48) {
		memcpy(t, f, n);
	} else if (n > 32) {
		uint8_t a[16], b[16], c[16];

		memcpy(a, f, 16);
		memcpy(b, f + 16, 16);
		memcpy(c, f + n - 16, 16);
		memcpy(t, a, 16);
		memcpy(t + 16, b, 16);
		memcpy(t + n - 16, c, 16);
	} else if (n >= 16) {
		uint8_t a[16], b[16];

		memcpy(a, f, 16);
		memcpy(b, f + n - 16, 16);
		memcpy(t, a, 16);
		memcpy(t + n - 16, b, 16);
	} else if (n >= 8) {
		uint64_t a, b;

		memcpy(&a, f, 8);
		memcpy(&b, f + n - 8, 8);
		memcpy(t, &a, 8);
		memcpy(t + n - 8, &b, 8);
	} else if (n >= 4) {
		uint32_t a, b;

		memcpy(&a, f, 4);
		memcpy(&b, f + n - 4, 4);
		memcpy(t, &a, 4);
		memcpy(t + n - 4, &b, 4);
	} else {
		for (size_t i = 0; i < n; i++)
			t[i] = f[i];
	}
}

#endif
