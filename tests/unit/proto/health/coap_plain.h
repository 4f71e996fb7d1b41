/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_PROTO_HEALTH_COAP_PLAIN_H
#define BP_TESTS_UNIT_PROTO_HEALTH_COAP_PLAIN_H

#include <stdint.h>
#include <string.h>

/*
 * A second CoAP encoder, which shares nothing with proto/coap: directly from the figures of RFC
 * 7252, without checks, into a buffer that is large enough. Tests expect its output.
 */
struct plain {
	uint8_t bytes[70000];
	size_t len;
	unsigned number; /* of the last option */
};

static inline void plain_put(struct plain *m, const void *bytes, size_t n)
{
	memcpy(m->bytes + m->len, bytes, n);
	m->len += n;
}

static inline void plain_byte(struct plain *m, unsigned byte)
{
	m->bytes[m->len++] = (uint8_t)byte;
}

static inline void plain_begin(struct plain *m, unsigned type, unsigned code, unsigned mid,
	const void *token, size_t token_len)
{
	m->len = 0;
	m->number = 0;
	plain_byte(m, 0x40 + type * 16 + (unsigned)token_len);
	plain_byte(m, code);
	plain_byte(m, mid / 256);
	plain_byte(m, mid % 256);
	plain_put(m, token, token_len);
}

/* Figure 8 of RFC 7252: nibble, then none, one or two bytes more. */
static inline void plain_option(struct plain *m, unsigned number, const void *value, size_t len)
{
	const unsigned delta = number - m->number;
	const unsigned parts[2] = {delta, (unsigned)len};
	unsigned first = 0;

	for (int i = 0; i < 2; i++) {
		first *= 16;
		if (parts[i] <= 12)
			first += parts[i];
		else if (parts[i] <= 268)
			first += 13;
		else
			first += 14;
	}
	plain_byte(m, first);
	for (int i = 0; i < 2; i++) {
		if (parts[i] >= 269) {
			plain_byte(m, (parts[i] - 269) / 256);
			plain_byte(m, (parts[i] - 269) % 256);
		} else if (parts[i] >= 13) {
			plain_byte(m, parts[i] - 13);
		}
	}
	plain_put(m, value, len);
	m->number = number;
}

static inline void plain_text(struct plain *m, unsigned number, const char *text)
{
	plain_option(m, number, text, strlen(text));
}

static inline void plain_payload(struct plain *m, const void *payload, size_t len)
{
	plain_byte(m, 0xff);
	plain_put(m, payload, len);
}

#endif
