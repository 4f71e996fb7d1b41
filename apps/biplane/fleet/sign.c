/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/fleet/sign.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <nettle/base64.h>
#include <nettle/eddsa.h>
#include <nettle/sha2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/biplane/fleet/bounded_json.h"

#define PEM_MAX 1024u /* bytes of a key file */
#define DER_MAX 64u

/* RFC 8410: the bytes before the key itself. */
static const uint8_t public_head[] = {
	0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};
static const uint8_t private_head[] = {0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b,
	0x65, 0x70, 0x04, 0x22, 0x04, 0x20};

static const char public_name[] = "PUBLIC KEY", private_name[] = "PRIVATE KEY";

/* Reads a small file; the number of bytes, or -1 with errno. `mode`: that no file may have. */
static ssize_t read_small(const char *path, char text[PEM_MAX + 1], mode_t mode)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		errno = EINVAL;
	else if ((st.st_mode & mode) != 0)
		errno = EPERM;
	else
		n = read(fd, text, PEM_MAX);
	close(fd);
	if (n >= 0)
		text[n] = '\0';
	return n;
}

/* Decodes the block of this name. False: there is none, or it is not a key of this kind. */
static bool decode_pem(const char *text, const char *name, const uint8_t *head, size_t head_len,
	uint8_t key[BP_ED25519_KEY])
{
	uint8_t der[BASE64_DECODE_LENGTH(PEM_MAX)];
	char begin[48], end[48];
	struct base64_decode_ctx ctx;
	size_t len = sizeof(der);
	const char *from, *to;
	bool ok;

	snprintf(begin, sizeof(begin), "-----BEGIN %s-----", name);
	snprintf(end, sizeof(end), "-----END %s-----", name);
	from = strstr(text, begin);
	to = from != NULL ? strstr(from, end) : NULL;
	if (to == NULL)
		return false;
	from += strlen(begin);
	base64_decode_init(&ctx);
	ok = base64_decode_update(&ctx, &len, der, (size_t)(to - from), from) &&
	     base64_decode_final(&ctx) && len == head_len + BP_ED25519_KEY &&
	     memcmp(der, head, head_len) == 0;
	if (ok)
		memcpy(key, der + head_len, BP_ED25519_KEY);
	explicit_bzero(der, sizeof(der));
	return ok;
}

int bp_fleet_keys_read(struct bp_fleet_keys *keys, const struct bp_config_fleet_files *files,
	char *err, size_t err_size)
{
	char text[PEM_MAX + 1];

	keys->n = 0;
	for (uint32_t i = 0; i < files->n; i++) {
		if (read_small(files->path[i], text, 0) < 0) {
			snprintf(err, err_size, "fleet.config.keys: cannot read %s: %s",
				files->path[i], strerror(errno));
			return -1;
		}
		if (!decode_pem(text, public_name, public_head, sizeof(public_head),
			    keys->key[keys->n])) {
			snprintf(err, err_size,
				"fleet.config.keys: %s is not an Ed25519 public key in PEM; create "
				"one with biplane fleet keygen",
				files->path[i]);
			return -1;
		}
		keys->n++;
	}
	return 0;
}

int bp_fleet_signer_read(
	struct bp_fleet_signer *signer, const char *path, char *err, size_t err_size)
{
	char text[PEM_MAX + 1];
	bool ok;

	if (read_small(path, text, S_IRWXG | S_IRWXO) < 0) {
		snprintf(err, err_size, "cannot read %s: %s", path,
			errno == EPERM ? "other users have access to it; expected mode 600"
				       : strerror(errno));
		return -1;
	}
	ok = decode_pem(text, private_name, private_head, sizeof(private_head), signer->secret);
	explicit_bzero(text, sizeof(text));
	if (!ok) {
		snprintf(err, err_size,
			"%s is not an Ed25519 private key in PEM without a password", path);
		return -1;
	}
	ed25519_sha512_public_key(signer->key, signer->secret);
	return 0;
}

static int write_pem(const char *path, mode_t mode, const char *name, const uint8_t *head,
	size_t head_len, const uint8_t key[BP_ED25519_KEY])
{
	char text[BASE64_ENCODE_RAW_LENGTH(DER_MAX) + 1] = "";
	uint8_t der[DER_MAX];
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	int rc;

	if (fd < 0)
		return -1;
	memcpy(der, head, head_len);
	memcpy(der + head_len, key, BP_ED25519_KEY);
	base64_encode_raw(text, head_len + BP_ED25519_KEY, der);
	rc = dprintf(fd, "-----BEGIN %s-----\n%s\n-----END %s-----\n", name, text, name) < 0 ||
			     fsync(fd) != 0
		     ? -1
		     : 0;
	explicit_bzero(text, sizeof(text));
	explicit_bzero(der, sizeof(der));
	return close(fd) == 0 ? rc : -1;
}

int bp_fleet_keygen(const char *path, char *err, size_t err_size)
{
	struct bp_fleet_signer s;
	char public_path[PATH_MAX];
	const char *failed = NULL;

	if (snprintf(public_path, sizeof(public_path), "%s.pub", path) >=
		(int)sizeof(public_path)) {
		snprintf(err, err_size, "the path is too long");
		return -1;
	}
	if (getrandom(s.secret, sizeof(s.secret), 0) != (ssize_t)sizeof(s.secret)) {
		snprintf(err, err_size, "no random numbers: %s", strerror(errno));
		return -1;
	}
	ed25519_sha512_public_key(s.key, s.secret);
	if (write_pem(path, 0600, private_name, private_head, sizeof(private_head), s.secret) != 0)
		failed = path;
	else if (write_pem(public_path, 0644, public_name, public_head, sizeof(public_head),
			 s.key) != 0)
		failed = public_path;
	explicit_bzero(&s, sizeof(s));
	if (failed == NULL)
		return 0;
	snprintf(err, err_size, "%s cannot be created: %s", failed, strerror(errno));
	return -1;
}

/* The signed bytes: the kind, a line break and the body. */
static char *signed_bytes(const char *kind, const char *body, size_t len, size_t *total)
{
	const size_t head = strlen(kind) + 1;
	char *bytes = malloc(head + len + 1);

	if (bytes == NULL)
		return NULL;
	snprintf(bytes, head + 1, "%s\n", kind);
	memcpy(bytes + head, body, len);
	*total = head + len;
	return bytes;
}

char *bp_fleet_sign(const struct bp_fleet_signer *signer, const char *kind, json_t *body)
{
	char *text = body != NULL ? json_dumps(body, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
	char base64[BASE64_ENCODE_RAW_LENGTH(BP_ED25519_SIGNATURE) + 1] = "";
	uint8_t signature[BP_ED25519_SIGNATURE];
	json_t *document;
	size_t total = 0;
	char *bytes, *out;

	json_decref(body);
	bytes = text != NULL ? signed_bytes(kind, text, strlen(text), &total) : NULL;
	if (bytes == NULL) {
		free(text);
		return NULL;
	}
	ed25519_sha512_sign(signer->key, signer->secret, total, (const uint8_t *)bytes, signature);
	base64_encode_raw(base64, sizeof(signature), signature);
	document = json_pack("{ss ss}", "body", text, "signature", base64);
	out = document != NULL ? json_dumps(document, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
	json_decref(document);
	free(bytes);
	free(text);
	return out;
}

static bool decode_signature(const char *text, uint8_t signature[BP_ED25519_SIGNATURE])
{
	uint8_t raw[BASE64_DECODE_LENGTH(128)];
	struct base64_decode_ctx ctx;
	size_t len = sizeof(raw);

	if (text == NULL || strlen(text) > 128)
		return false;
	base64_decode_init(&ctx);
	if (!base64_decode_update(&ctx, &len, raw, strlen(text), text) ||
		!base64_decode_final(&ctx) || len != BP_ED25519_SIGNATURE)
		return false;
	memcpy(signature, raw, len);
	return true;
}

static bool is_signed(const struct bp_fleet_keys *keys, const char *kind, const json_t *body,
	const uint8_t signature[BP_ED25519_SIGNATURE])
{
	size_t total = 0;
	char *bytes = signed_bytes(kind, json_string_value(body), json_string_length(body), &total);
	bool ok = false;

	for (unsigned i = 0; bytes != NULL && !ok && i < keys->n; i++)
		ok = ed25519_sha512_verify(
			     keys->key[i], total, (const uint8_t *)bytes, signature) != 0;
	free(bytes);
	return ok;
}

json_t *bp_fleet_verify(const struct bp_fleet_keys *keys, const char *kind, const char *text,
	size_t len, char *err, size_t err_size)
{
	json_error_t error;
	json_t *document = bp_fleet_json(text, len);
	const json_t *body = json_object_get(document, "body");
	uint8_t signature[BP_ED25519_SIGNATURE];
	json_t *out = NULL;

	err[0] = '\0';
	if (!json_is_string(body) ||
		!decode_signature(
			json_string_value(json_object_get(document, "signature")), signature))
		snprintf(err, err_size, "it is not a signed document");
	else if (!is_signed(keys, kind, body, signature))
		snprintf(err, err_size,
			"none of fleet.config.keys has signed it: it was changed, or signed with "
			"another key");
	else
		out = json_loadb(json_string_value(body), json_string_length(body),
			JSON_REJECT_DUPLICATES, &error);
	if (out == NULL && err[0] == '\0')
		snprintf(err, err_size, "its body is not JSON: %s", error.text);
	json_decref(document);
	return out;
}

void bp_sha256_hex(const char *text, size_t len, char out[BP_SHA256_HEX])
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	struct sha256_ctx ctx;

	sha256_init(&ctx);
	sha256_update(&ctx, len, (const uint8_t *)text);
	sha256_digest(&ctx, sizeof(digest), digest);
	for (unsigned i = 0; i < sizeof(digest); i++)
		snprintf(out + (size_t)2 * i, 3, "%02x", digest[i]);
}
