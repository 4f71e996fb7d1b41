/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_PROTO_WEBSOCKET_SHA1_H
#define BP_PROTO_WEBSOCKET_SHA1_H

#include <stddef.h>
#include <stdint.h>

/* SHA-1 (FIPS 180-4), which RFC 6455 uses without any need for its security. */
#define BP_SHA1_SIZE 20u
void bp_sha1(const uint8_t *p, size_t n, uint8_t out[BP_SHA1_SIZE]);

#endif
