/* SPDX-License-Identifier: BSD-3-Clause */
/* Names in the hellos of TLS: real ones, cut at every byte, and what a bad end may send. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "proto/tls/tls.h"
#include "tests/unit/proto/tls/hellos.h"

typedef enum bp_tls (*read_fn)(
	const uint8_t *p, uint32_t n, uint8_t *scratch, struct bp_tls_info *info, uint32_t *need);

static uint8_t scratch[BP_TLS_BYTES_MAX];

static void text_is(const struct bp_tls_info *info, enum bp_tls_name which, const char *want)
{
	const struct bp_tls_text *t = &info->text[which];

	if (t->len != strlen(want) || memcmp(t->bytes, want, t->len) != 0)
		fail_msg("'%.*s', not '%s'", (int)t->len, (const char *)t->bytes, want);
}

/* From exact memory, which a sanitizer watches. */
static enum bp_tls read_exact(
	read_fn fn, const uint8_t *p, uint32_t n, struct bp_tls_info *info, uint32_t *need)
{
	uint8_t *exact = malloc(n), *out = malloc(n);
	enum bp_tls e;

	memcpy(exact, p, n);
	e = fn(exact, n, out, info, need);
	free(exact);
	free(out);
	return e;
}

static void clients(void **state)
{
	static const struct {
		const uint8_t *p;
		uint32_t n;
	} hello[] = {{tls_client12, sizeof(tls_client12)}, {tls_client13, sizeof(tls_client13)}};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct bp_tls_info info;
		uint32_t need;

		for (uint32_t n = 1; n < hello[i].n; n++) {
			assert_int_equal(read_exact(bp_tls_client, hello[i].p, n, &info, &need),
				BP_TLS_MORE);
			assert_true(need > n && need <= hello[i].n);
		}
		assert_int_equal(
			read_exact(bp_tls_client, hello[i].p, hello[i].n, &info, &need), BP_TLS_OK);
		text_is(&info, BP_TLS_SERVER_NAME, "mqtt.plant.example");
		text_is(&info, BP_TLS_ALPN, "mqtt,x-amzn-mqtt-ca");
		text_is(&info, BP_TLS_SUBJECT, "");
	}
}

static void servers(void **state)
{
	struct bp_tls_info info = {0};
	uint32_t need, done = 0;

	(void)state;
	for (uint32_t n = 1; n <= sizeof(tls_server12); n++) {
		const enum bp_tls e = read_exact(bp_tls_server, tls_server12, n, &info, &need);

		assert_true(e == BP_TLS_OK || (e == BP_TLS_MORE && need > n));
		if (e == BP_TLS_OK && done == 0)
			done = n;
	}
	assert_true(done > 400 && done < sizeof(tls_server12));
	text_is(&info, BP_TLS_SUBJECT, "broker.plant.example");
	text_is(&info, BP_TLS_NAMES, "broker.plant.example,mqtt.plant.example");
	/* of TLS 1.3 the certificate is encrypted */
	memset(&info, 0, sizeof(info));
	assert_int_equal(bp_tls_server(tls_server13, sizeof(tls_server13), scratch, &info, &need),
		BP_TLS_OK);
	text_is(&info, BP_TLS_SUBJECT, "");
	text_is(&info, BP_TLS_NAMES, "");
}

/* The same hello in records of a few bytes. */
static void small_records(void **state)
{
	static uint8_t cut[6 * sizeof(tls_client12)];
	struct bp_tls_info info;
	uint32_t need;

	(void)state;
	for (uint32_t size = 1; size < 100; size++) {
		uint32_t n = 0;

		for (uint32_t at = 5; at < sizeof(tls_client12); at += size) {
			const uint32_t rest = (uint32_t)sizeof(tls_client12) - at,
				       len = size < rest ? size : rest;
			const uint8_t head[] = {22, 3, 1, 0, (uint8_t)len};

			memcpy(cut + n, head, 5);
			memcpy(cut + n + 5, tls_client12 + at, len);
			n += 5 + len;
		}
		assert_int_equal(read_exact(bp_tls_client, cut, n, &info, &need), BP_TLS_OK);
		text_is(&info, BP_TLS_SERVER_NAME, "mqtt.plant.example");
		assert_int_equal(read_exact(bp_tls_client, cut, n - 1, &info, &need), BP_TLS_MORE);
		assert_int_equal(need, n);
	}
}

static void no_tls(void **state)
{
	static const uint8_t bad[][10] = {
		{22, 2, 0, 0, 5, 1, 0, 0, 1, 0},  /* SSL 2 */
		{22, 3, 1, 0, 0, 1, 0, 0, 1, 0},  /* an empty record */
		{22, 3, 1, 65, 1, 1, 0, 0, 1, 0}, /* too long */
		{22, 3, 1, 0, 5, 2, 0, 0, 1, 0},  /* a ServerHello of the client */
		{21, 3, 1, 0, 2, 2, 40, 0, 0, 0}, /* an alert */
		{22, 3, 1, 0, 1, 1, 23, 3, 3, 0}, /* data within the ClientHello */
	};
	struct bp_tls_info info;
	uint32_t need;

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (bp_tls_client(bad[i], 10, scratch, &info, &need) == BP_TLS_OK ||
			(bp_tls_client(bad[i], 10, scratch, &info, &need) == BP_TLS_MORE && i != 5))
			fail_msg("accepted: %u", i);
	assert_false(bp_tls_begins(bad[4], 10));
	assert_false(bp_tls_begins(bad[0], 10));
	assert_true(bp_tls_begins(tls_client12, 1));
}

/* Each byte of both hellos with another value: no length in them is trusted. */
static void damaged(void **state)
{
	static uint8_t copy[1024];
	struct bp_tls_info info;
	uint32_t need;

	(void)state;
	for (unsigned i = 0; i < 256; i += 51) {
		for (uint32_t at = 0; at < sizeof(tls_server12); at++) {
			memcpy(copy, tls_server12, sizeof(tls_server12));
			copy[at] ^= (uint8_t)(i + 1);
			(void)read_exact(bp_tls_server, copy, sizeof(tls_server12), &info, &need);
		}
		for (uint32_t at = 0; at < sizeof(tls_client13); at++) {
			memcpy(copy, tls_client13, sizeof(tls_client13));
			copy[at] ^= (uint8_t)(i + 1);
			(void)read_exact(bp_tls_client, copy, sizeof(tls_client13), &info, &need);
		}
	}
}

/* Longer than is kept, and a NUL that would end the text too early. */
static void texts(void **state)
{
	struct bp_tls_info info = {0};
	uint8_t name[300];

	(void)state;
	memset(name, 'x', sizeof(name));
	name[2] = 0;
	for (unsigned i = 0; i < BP_TLS_TEXTS; i++)
		for (unsigned k = 0; k < 3; k++)
			bp_tls_add(&info, (enum bp_tls_name)i, name, k == 0 ? 60 : 299, true);
	assert_int_equal(info.text[BP_TLS_SERVER_NAME].len, BP_TLS_SERVER_NAME_MAX);
	assert_int_equal(info.text[BP_TLS_ALPN].len, BP_TLS_ALPN_MAX);
	assert_int_equal(info.text[BP_TLS_SUBJECT].len, BP_TLS_SUBJECT_MAX);
	assert_int_equal(info.text[BP_TLS_NAMES].len, BP_TLS_NAMES_MAX);
	assert_memory_equal(info.text[BP_TLS_ALPN].bytes, "xx?x", 4);
	assert_memory_equal(info.text[BP_TLS_ALPN].bytes + 58, "xx,xx?", 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients),
		cmocka_unit_test(servers),
		cmocka_unit_test(small_records),
		cmocka_unit_test(no_tls),
		cmocka_unit_test(damaged),
		cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
