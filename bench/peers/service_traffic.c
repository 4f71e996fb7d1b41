/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/peers/service_traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/sim/cse_sink/coap.h"
#include "bench/aggregation/agg_frames.h"
#include "bench/health/association_load.h"
#include "bench/health/phd_frames.h"
#include "bench/transform/transform_frames.h"
#include "proto/aggregation/agg_lin2018.h"
#include "services/transform/accuracy.h"

/* ---- messages of sensors, in aggregates ---- */

#define SENSORS 100u
#define SENSORS_FIRST 0x0a00000au /* 10.0.0.10 */
#define SENSORS_PORT 32768u

static void message(uint32_t number, uint8_t out[BP_AGG_LIN2018_MESSAGE_LEN])
{
	bp_put_be32(out, number);
	memcpy(out + 4, "IOTMESSAGE", 10);
	out[14] = (uint8_t)('0' + number / 10 % 10);
	out[15] = (uint8_t)('0' + number % 10);
}

static unsigned make_message(uint32_t number, struct bench_service_sender *from,
	uint8_t payload[BENCH_SERVICE_PAYLOAD_MAX])
{
	/* 37 has no factor in common with the count: all take their turn, not in order */
	const uint32_t s = number * 37 % SENSORS;

	*from = (struct bench_service_sender){SENSORS_FIRST + s, (uint16_t)(SENSORS_PORT + s)};
	bp_agg_lin2018_put_header(payload, BP_AGG_LIN2018_MESSAGE);
	message(number, payload + BP_AGG_LIN2018_HEADER);
	return BENCH_AGG_PAYLOAD;
}

static unsigned check_aggregate(
	const uint8_t *payload, size_t len, uint32_t out[BENCH_SERVICE_MESSAGES])
{
	uint8_t meant[BP_AGG_LIN2018_MESSAGE_LEN];
	struct bp_agg_lin2018 a;

	if (bp_agg_lin2018_read(payload, len, BENCH_SERVICE_MESSAGES, &a) != BP_AGG_LIN2018_OK ||
		a.type != BP_AGG_LIN2018_PACKET)
		return 0;
	for (unsigned i = 0; i < a.count; i++) {
		const uint8_t *p = a.messages + (size_t)i * BP_AGG_LIN2018_MESSAGE_LEN;

		out[i] = bp_be32(p);
		message(out[i], meant);
		if (memcmp(p, meant, sizeof(meant)) != 0)
			return 0;
	}
	return a.count;
}

/* ---- readings of a tracker, as coordinates ---- */

#define AT_PLACE 12u
#define AT_STAMPS 24u
#define AT_NUMBER 28u /* in the second half of the first time stamp */
#define PLACES 2e-8   /* metres: half of the last place, and what doubles may differ */

static unsigned make_reading(uint32_t number, struct bench_service_sender *from,
	uint8_t payload[BENCH_SERVICE_PAYLOAD_MAX])
{
	static uint8_t drawn[BENCH_TRANSFORM_READINGS][BENCH_TRANSFORM_PAYLOAD];
	const uint32_t i = number % BENCH_TRANSFORM_READINGS;
	uint8_t *p = drawn[i];

	if (bp_be32(p) == 0)
		bench_transform_payload(i, p);
	*from = (struct bench_service_sender){BENCH_SERVICE_TRACKER, BENCH_TRANSFORM_UDP};
	memcpy(payload, p, BENCH_TRANSFORM_PAYLOAD);
	bp_put_be32(payload + AT_NUMBER, number);
	return BENCH_TRANSFORM_PAYLOAD;
}

static double fixed(const uint8_t *p)
{
	return (int32_t)bp_be32(p) * 0x1p-25;
}

/* Where each reading's point should be. */
static const long double *place_of(uint32_t i, const uint8_t *payload)
{
	static long double place[BENCH_TRANSFORM_READINGS][3];
	static bool known[BENCH_TRANSFORM_READINGS];
	const double reading[3] = {
		fixed(payload), bp_be32(payload + 4) * 0x1p-25, bp_be32(payload + 8) * 0x1p-25};
	double m[12]; /* column by column */

	if (known[i])
		return place[i];
	for (unsigned row = 0; row < 3; row++)
		for (unsigned column = 0; column < 4; column++)
			m[3 * column + row] = bench_service_matrix[row][column];
	bp_transform_reference(reading, m, place[i]);
	known[i] = true;
	return place[i];
}

static unsigned check_coordinates(
	const uint8_t *payload, size_t len, uint32_t out[BENCH_SERVICE_MESSAGES])
{
	static uint8_t drawn[BENCH_TRANSFORM_READINGS][BENCH_TRANSFORM_PAYLOAD];
	const long double *place;
	uint32_t i;

	if (len != BENCH_TRANSFORM_PAYLOAD)
		return 0;
	out[0] = bp_be32(payload + AT_NUMBER);
	i = out[0] % BENCH_TRANSFORM_READINGS;
	if (bp_be32(drawn[i]) == 0)
		bench_transform_payload(i, drawn[i]);
	if (memcmp(payload, drawn[i], AT_PLACE) != 0 ||
		memcmp(payload + AT_STAMPS, drawn[i] + AT_STAMPS, AT_NUMBER - AT_STAMPS) != 0 ||
		memcmp(payload + AT_NUMBER + 4, drawn[i] + AT_NUMBER + 4,
			BENCH_TRANSFORM_PAYLOAD - AT_NUMBER - 4) != 0)
		return 0;
	place = place_of(i, payload);
	for (unsigned k = 0; k < 3; k++) {
		const long double off = fixed(payload + AT_PLACE + 4 * (size_t)k) - place[k];

		if (off > PLACES || off < -PLACES)
			return 0;
	}
	return 1;
}

/* ---- reports of health devices, as requests ---- */

#define APDU                                                                                       \
	(BENCH_PHD_APDU_MIN +                                                                      \
		2)        /* with the configuration that bench/health/association_load.h sends */
#define SPO2_VALUES 2000u /* 0.1 to 200.0 */
#define AT_TOKEN_CHECK 8u /* a keyed hash, in the lower half (services/health/token.h) */
#define INSTANCE 4
#define VALUE "\\\"v\\\":"

/*
 * The device is the number's remainder, the rest is in its two values: SpO2 in tenths, and the
 * pulse.
 */
static uint32_t number_of(uint32_t device, uint32_t tenths, uint32_t pulse)
{
	return (pulse * SPO2_VALUES + tenths - 1) * BENCH_PHD_DEVICES + device;
}

static unsigned make_report(uint32_t number, struct bench_service_sender *from,
	uint8_t payload[BENCH_SERVICE_PAYLOAD_MAX])
{
	static uint8_t frame[BENCH_PHD_FRAME_MAX];
	const uint32_t device = number % BENCH_PHD_DEVICES, rest = number / BENCH_PHD_DEVICES;
	const uint16_t report_no = (uint16_t)rest;
	uint8_t *p;

	/* of an odd device, whose reports are not confirmed */
	if (frame[BENCH_PHD_AT_APDU] == 0)
		bench_phd_frame(1, APDU, frame);
	*from = (struct bench_service_sender){BENCH_DEVICES_FIRST + device, BENCH_DEVICES_PORT};
	p = memcpy(payload, frame + BENCH_PHD_AT_APDU, APDU);
	bp_put_be16(p + BENCH_PHD_AT_INVOKE - BENCH_PHD_AT_APDU, report_no);
	bp_put_be16(p + BENCH_PHD_AT_REPORT_NO - BENCH_PHD_AT_APDU, report_no);
	bp_put_be16(p + BENCH_PHD_AT_SPO2 - BENCH_PHD_AT_APDU,
		(uint16_t)(0xf000 | (rest % SPO2_VALUES + 1)));
	bp_put_be16(p + BENCH_PHD_AT_PULSE - BENCH_PHD_AT_APDU, (uint16_t)(rest / SPO2_VALUES));
	return APDU;
}

/* The value behind *at, a decimal number, in units of `scale`; moves *at behind it. -1: none. */
static long next_value(const char **at, double scale)
{
	const char *v = strstr(*at, VALUE);
	char *end;
	double d;

	if (v == NULL)
		return -1;
	v += strlen(VALUE);
	d = strtod(v, &end) * scale;
	if (end == v || d < 0 || d > 1e6)
		return -1;
	*at = end;
	return (long)(d + 0.5);
}

/* An instance of both values, below the device that a path names. */
static unsigned check_answer(
	const uint8_t *payload, size_t len, uint32_t out[BENCH_SERVICE_MESSAGES])
{
	struct sink_message m;
	unsigned device, end = 0;
	char text[1024];
	const char *at = text;
	long tenths, pulse;

	if (sink_read(&m, &sink_numbers_new, payload, len) != NULL || m.type != SINK_CON ||
		m.code != SINK_POST || m.ty != INSTANCE || m.payload.len >= sizeof(text) ||
		sscanf(m.path, "cse-in/00000000%8x/report%n", &device, &end) != 1 || end == 0 ||
		m.path[end] != '\0' || device - 1 >= BENCH_PHD_DEVICES)
		return 0;
	memcpy(text, m.payload.p, m.payload.len);
	text[m.payload.len] = '\0';
	tenths = next_value(&at, 10);
	pulse = next_value(&at, 1);
	if (tenths < 1 || tenths > (long)SPO2_VALUES || pulse < 0 || strstr(at, VALUE) != NULL)
		return 0;
	out[0] = number_of(device - 1, (uint32_t)tenths, (uint32_t)pulse);
	return 1;
}

/* ---- */

static const struct bench_service services[] = {
	{"aggregation", BENCH_AGG_UDP, BENCH_AGG_UDP, false, 0, make_message, check_aggregate},
	{"coordinates", BENCH_TRANSFORM_UDP, BENCH_TRANSFORM_RECEIVER_UDP, true, AT_NUMBER,
		make_reading, check_coordinates},
	{"health", BENCH_MANAGER_PORT, 5683, true, AT_TOKEN_CHECK, make_report, check_answer},
};

const struct bench_service *bench_service_find(const char *name)
{
	for (unsigned i = 0; i < sizeof(services) / sizeof(services[0]); i++)
		if (strcmp(services[i].name, name) == 0)
			return &services[i];
	return NULL;
}
