/* SPDX-License-Identifier: BSD-3-Clause */
/* bench/service_load accepts correct frames and answers, and rejects all others. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bench/peers/service_traffic.h"
#include "proto/aggregation/agg_lin2018.h"
#include "proto/net/frame.h"
#include "services/transform/accuracy.h"

#define NUMBER 1234567890u

static const struct bench_service *service;
static uint32_t number[BENCH_SERVICE_MESSAGES];

static int find(void **state)
{
	service = bench_service_find(*state);
	return service != NULL ? 0 : -1;
}

static unsigned check_reply(const uint8_t *p, size_t len)
{
	return service->check_reply(p, len, number);
}

/* Of each byte from `from` up to `to`. */
static void refuses_any_other(uint8_t *p, size_t from, size_t to, size_t len)
{
	for (size_t i = from; i < to; i++) {
		p[i] ^= 1;
		assert_int_equal(check_reply(p, len), 0);
		p[i] ^= 1;
	}
	assert_int_not_equal(check_reply(p, len), 0);
	assert_int_equal(check_reply(p, len - 1), 0);
}

static void messages_differ(void **state)
{
	struct bench_service_sender a, b;
	uint8_t p[BENCH_SERVICE_PAYLOAD_MAX], q[BENCH_SERVICE_PAYLOAD_MAX];
	const unsigned len = service->make(NUMBER, &a, p);

	(void)state;
	assert_int_equal(service->make(NUMBER + 1, &b, q), len);
	assert_true(memcmp(p, q, len) != 0 || a.address != b.address);
	assert_int_equal(service->make(NUMBER + 1000, &b, q), len);
	assert_memory_not_equal(p, q, len);
	assert_true(a.port != 0 && a.address >> 24 == 10);
}

/* ---- aggregates ---- */

static void aggregates_are_verified(void **state)
{
	uint8_t out[BP_AGG_LIN2018_LEN(3)], p[BENCH_SERVICE_PAYLOAD_MAX];
	struct bench_service_sender from;

	(void)state;
	bp_agg_lin2018_put_header(out, BP_AGG_LIN2018_PACKET);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(service->make(NUMBER + i, &from, p), BP_AGG_LIN2018_LEN(1));
		bp_agg_lin2018_put(out, i, p + BP_AGG_LIN2018_HEADER);
	}
	assert_int_equal(check_reply(out, sizeof(out)), 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(number[i], NUMBER + i);
	refuses_any_other(out, BP_AGG_LIN2018_HEADER, sizeof(out), sizeof(out));
	/* a message that was not aggregated */
	assert_int_equal(check_reply(p, BP_AGG_LIN2018_LEN(1)), 0);
}

/* ---- coordinates ---- */

static void transform(uint8_t *p, int32_t off)
{
	const double reading[3] = {
		(int32_t)bp_be32(p) * 0x1p-25, bp_be32(p + 4) * 0x1p-25, bp_be32(p + 8) * 0x1p-25};
	double m[12];
	long double place[3];

	for (unsigned i = 0; i < 12; i++)
		m[i] = bench_service_matrix[i % 3][i / 3];
	bp_transform_reference(reading, m, place);
	for (unsigned k = 0; k < 3; k++)
		bp_put_be32(p + 12 + 4 * (size_t)k,
			(uint32_t)((int32_t)lrintl(place[k] * 0x1p25L) + off));
}

static void transformed_readings_are_verified(void **state)
{
	uint8_t p[BENCH_SERVICE_PAYLOAD_MAX];
	struct bench_service_sender from;
	const unsigned len = service->make(NUMBER, &from, p);

	(void)state;
	assert_int_equal(from.address, BENCH_SERVICE_TRACKER);
	assert_int_equal(check_reply(p, len), 0); /* no one has transformed it */
	transform(p, 2);
	assert_int_equal(check_reply(p, len), 0);
	transform(p, 0);
	assert_int_equal(check_reply(p, len), 1);
	assert_int_equal(number[0], NUMBER);
	refuses_any_other(p, 0, 12, len);
	refuses_any_other(p, 24, len, len);
}

/* ---- requests ---- */

struct request {
	uint8_t bytes[512];
	size_t len;
	unsigned last; /* option */
};

/* RFC 7252, 3.1. */
static void put_option(struct request *r, unsigned option, const char *text)
{
	const unsigned delta = option - r->last, len = (unsigned)strlen(text);
	const unsigned d = delta < 13 ? delta : 13, l = len < 13 ? len : 13;

	assert_true(delta < 13 + 256 && len < 13 + 256);
	r->bytes[r->len++] = (uint8_t)(d << 4 | l);
	if (d == 13)
		r->bytes[r->len++] = (uint8_t)(delta - 13);
	if (l == 13)
		r->bytes[r->len++] = (uint8_t)(len - 13);
	memcpy(r->bytes + r->len, text, len);
	r->len += len;
	r->last = option;
}

static unsigned request(const char *device, const char *container, const char *ty, const char *con)
{
	static const uint8_t head[] = {0x48, 2, 0x12, 0x34, 1, 2, 3, 4, 5, 6, 7, 8};
	struct request r = {.len = sizeof(head)};

	memcpy(r.bytes, head, sizeof(head));
	put_option(&r, 11, "cse-in");
	put_option(&r, 11, device);
	put_option(&r, 11, container);
	put_option(&r, 12, "2");
	put_option(&r, 267, ty);
	put_option(&r, 279, "Cbiplane");
	r.bytes[r.len++] = 0xff;
	r.len += (size_t)sprintf(
		(char *)r.bytes + r.len, "{\"m2m:cin\":{\"rn\":\"1\",\"con\":\"[%s]\"}}", con);
	return check_reply(r.bytes, r.len);
}

#define SPO2(v_) "{\\\"o\\\":\\\"spo2\\\",\\\"v\\\":" v_ ",\\\"u\\\":\\\"%%\\\",\\\"t\\\":null}"
#define PULSE(v_) ",{\\\"o\\\":\\\"pulse\\\",\\\"v\\\":" v_ ",\\\"u\\\":\\\"bpm\\\",\\\"t\\\":null}"

static void cse_requests_are_verified(void **state)
{
	uint8_t p[BENCH_SERVICE_PAYLOAD_MAX];
	struct bench_service_sender from;
	char con[256];

	(void)state;
	/* the values of the report follow from its number */
	assert_int_equal(service->make(NUMBER, &from, p), 44);
	assert_int_equal(from.address, 0x0a400000u + NUMBER % 1000);
	assert_int_equal(p[9], 0); /* not confirmed */
	assert_int_equal(bp_be16(p + 34) >> 12, 0xf);
	snprintf(con, sizeof(con), SPO2("%.1f") PULSE("%u"), (bp_be16(p + 34) & 0xfff) / 10.0,
		bp_be16(p + 40));
	/* device 890 has system-id 891 */
	assert_int_equal(request("000000000000037b", "report", "\4", con), 1);
	assert_int_equal(number[0], NUMBER);
	assert_int_equal(request("000000000000037c", "report", "\4", con), 1);
	assert_int_equal(number[0], NUMBER + 1);
	assert_int_equal(request("00000000000003e9", "report", "\4", con), 0);
	assert_int_equal(request("000000000000037b", "spo2", "\4", con), 0);
	assert_int_equal(request("000000000000037b", "report", "\3", con), 0);
	assert_int_equal(request("000000000000037b", "report", "\4", SPO2("90.0") PULSE("60")), 1);
	assert_int_not_equal(number[0], NUMBER);
	assert_int_equal(request("000000000000037b", "report", "\4", SPO2("90.0")), 0);
	assert_int_equal(request("000000000000037b", "report", "\4", SPO2("null") PULSE("60")), 0);
	assert_int_equal(
		request("000000000000037b", "report", "\4", SPO2("90.0") PULSE("60") PULSE("61")),
		0);
}

int main(void)
{
#define OF(test_, name_)                                                                           \
	{                                                                                          \
		name_ ": " #test_, test_, find, NULL, (void *)(uintptr_t)name_                     \
	}
	const struct CMUnitTest tests[] = {
		OF(messages_differ, "aggregation"),
		OF(messages_differ, "coordinates"),
		OF(messages_differ, "health"),
		OF(aggregates_are_verified, "aggregation"),
		OF(transformed_readings_are_verified, "coordinates"),
		OF(cse_requests_are_verified, "health"),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
