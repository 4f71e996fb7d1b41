/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_URL_H
#define BP_CONFIG_URL_H

#include <stddef.h>
#include <stdint.h>

#include "config/schema.h"

/* A peer as a URL: SCHEME://HOST[:PORT], RFC 3986 section 3, without path and user. */
struct bp_url {
	unsigned scheme; /* index into the allowed schemes */
	char host[256];  /* an IPv6 address without its brackets */
	uint16_t port;   /* 0: not given */
};

/* Reads a URL with one of `schemes` (NULL ends the list). False: *fault has the reason. */
bool bp_url_read(
	const char *text, const char *const *schemes, struct bp_url *out, struct bp_fault *fault);

/* Writes the URL, with brackets around an IPv6 address; a `port` of 0 is omitted. */
void bp_url_write(const char *scheme, const char *host, uint16_t port, FILE *out);

#endif
