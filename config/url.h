/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_CONFIG_URL_H
#define BP_CONFIG_URL_H

#include <stddef.h>
#include <stdint.h>

#include "config/schema.h"

/* A peer as the file has it: SCHEME://HOST[:PORT], RFC 3986 section 3, without path and user. */
struct bp_url {
	unsigned scheme; /* index into the schemes that were allowed */
	char host[256];  /* an IPv6 address without its brackets */
	uint16_t port;   /* 0: not given */
};

/* Reads a URL whose scheme is one of `schemes` (NULL ends them). False: *fault says why. */
bool bp_url_read(
	const char *text, const char *const *schemes, struct bp_url *out, struct bp_fault *fault);

/* Writes it, with the brackets of an IPv6 address; `port` 0 is left out. */
void bp_url_write(const char *scheme, const char *host, uint16_t port, FILE *out);

#endif
