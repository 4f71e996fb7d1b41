/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_FLEET_SIGN_H
#define BP_APPS_BIPLANE_FLEET_SIGN_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"

/*
 * Signed documents of a fleet, Ed25519 (RFC 8032). Keys are PEM files as openssl genpkey -algorithm
 * ed25519 and openssl pkey -pubout write them (RFC 8410).
 *
 * A document is {"body": TEXT, "signature": BASE64}: TEXT is a JSON object, and the signature
 * covers its exact bytes and its kind, so that no document passes for one of another kind.
 */
#define BP_ED25519_KEY 32
#define BP_ED25519_SIGNATURE 64

struct bp_fleet_keys {
	unsigned n;
	uint8_t key[BP_FLEET_KEYS_MAX][BP_ED25519_KEY];
};

/* Reads public keys. 0, or -1 with a sentence. */
int bp_fleet_keys_read(struct bp_fleet_keys *keys, const struct bp_config_fleet_files *files,
	char *err, size_t err_size);

struct bp_fleet_signer {
	uint8_t secret[BP_ED25519_KEY], key[BP_ED25519_KEY];
};

/* Reads a private key; a file to which other users have access is refused. 0, or -1 with a
 * sentence. Erase the signer with explicit_bzero(). */
int bp_fleet_signer_read(
	struct bp_fleet_signer *signer, const char *path, char *err, size_t err_size);

/* Creates PATH (mode 0600) and PATH.pub with a new pair of keys; replaces no file. 0, or -1 with a
 * sentence. */
int bp_fleet_keygen(const char *path, char *err, size_t err_size);

/* Returns the text of a signed document; the caller frees it. Takes the reference to `body`. NULL
 * without memory. */
char *bp_fleet_sign(const struct bp_fleet_signer *signer, const char *kind, json_t *body);

/* Returns the body of a document that one of the keys has signed, a new reference; NULL with a
 * sentence in err. */
json_t *bp_fleet_verify(const struct bp_fleet_keys *keys, const char *kind, const char *text,
	size_t len, char *err, size_t err_size);

/* SHA-256 in hexadecimal. */
#define BP_SHA256_HEX 65
void bp_sha256_hex(const char *text, size_t len, char out[BP_SHA256_HEX]);

#endif
