/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include "proto/tls/tls.h"

typedef enum bp_tls (*read_fn)(
	const uint8_t *p, uint32_t n, uint8_t *scratch, struct bp_tls_info *info, uint32_t *need);

static void check_texts(const struct bp_tls_info *info)
{
	static const unsigned most[BP_TLS_TEXTS] = {
		BP_TLS_SERVER_NAME_MAX, BP_TLS_ALPN_MAX, BP_TLS_SUBJECT_MAX, BP_TLS_NAMES_MAX};

	for (unsigned i = 0; i < BP_TLS_TEXTS; i++) {
		HOLDS(info->text[i].len <= most[i]);
		HOLDS(memchr(info->text[i].bytes, 0, info->text[i].len) == NULL);
	}
}

static enum bp_tls read_exact(
	read_fn fn, const uint8_t *data, uint32_t n, struct bp_tls_info *info, uint32_t *need)
{
	uint8_t *p = exact_copy(data, n), *scratch = malloc(n + (n == 0));
	enum bp_tls e;

	memset(info, 0, sizeof(*info));
	e = fn(p, n, scratch, info, need);
	free(scratch);
	free(p);
	check_texts(info);
	return e;
}

/*
 * Any bytes of a client or a server. What is complete does not depend on the bytes behind it, and
 * what is not asks for more than there is: it may arrive in any segments.
 */
static void check(read_fn fn, const uint8_t *data, uint32_t n)
{
	struct bp_tls_info info, again;
	uint32_t need, need_again;
	const enum bp_tls e = read_exact(fn, data, n, &info, &need);

	if (e == BP_TLS_MORE)
		HOLDS(need > n);
	for (uint32_t cut = 1; cut < n && cut < 256; cut++) {
		const enum bp_tls before = read_exact(fn, data, cut, &again, &need_again);

		if (before == BP_TLS_OK) {
			HOLDS(e == BP_TLS_OK && same_bytes(&info, &again, sizeof(info)));
			return;
		}
		HOLDS(before != BP_TLS_BAD || e != BP_TLS_OK);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bp_tls_info info = {0};

	if (size < 2 || size - 1 > BP_TLS_BYTES_MAX)
		return 0;
	if (data[0] % 3 == 0) {
		check(bp_tls_client, data + 1, (uint32_t)size - 1);
	} else if (data[0] % 3 == 1) {
		check(bp_tls_server, data + 1, (uint32_t)size - 1);
	} else {
		uint8_t *p = exact_copy(data + 1, size - 1);

		bp_tls_certificate(p, (uint32_t)size - 1, &info);
		check_texts(&info);
		free(p);
	}
	return 0;
}
