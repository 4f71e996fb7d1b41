/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include <jansson.h>

#include "services/health/template.h"
#include "services/health/decode.h"
#include "proto/health/coap.h"
#include "proto/net/frame.h"
#include "proto/health/onem2m.h"

/*
 * The input is what a device declares and one of its reports:
 *
 *   flags 1 | edits 1, each {offset u16, byte} 3 | length u16 | ConfigReport | APDU
 *
 * The edits are made to the compiled layout. Whatever is in them, a layout that is accepted and any
 * APDU give requests that stay in the room that was promised; without edits they are CoAP with JSON
 * in it.
 */
struct input {
	const uint8_t *p, *end;
};

static unsigned take(struct input *in, unsigned width)
{
	unsigned v = 0;

	while (width-- > 0)
		v = v << 8 | (in->p != in->end ? *in->p++ : 0);
	return v;
}

static struct bp_phd_bytes take_bytes(struct input *in, size_t n)
{
	struct bp_phd_bytes b = {in->p, 0};

	b.len = (uint16_t)(n < (size_t)(in->end - in->p) ? n : (size_t)(in->end - in->p));
	in->p += b.len;
	return b;
}

static void check_request(const uint8_t *p, size_t len)
{
	uint8_t *exact = exact_copy(p, len);
	struct bp_coap m;
	json_t *root, *con;
	const char *text;

	HOLDS(bp_coap_read(exact, len, &m) == BP_COAP_OK);
	root = json_loadb((const char *)m.payload, m.payload_len, 0, NULL);
	text = json_string_value(json_object_get(json_object_get(root, "m2m:cin"), "con"));
	HOLDS(text != NULL);
	con = json_loads(text, 0, NULL);
	HOLDS(con != NULL);
	json_decref(con);
	json_decref(root);
	free(exact);
}

/* The checksum of the message is correct; with a damaged layout that of the header is not. */
static void check_sum(const struct bp_phd_conversion *c, const uint8_t *out, size_t n)
{
	const uint64_t rest = bp_sum(out + c->summed, n - c->summed, 0);

	HOLDS(c->summed <= n);
	HOLDS(bp_sum_fold(bp_sum(out, n, 0)) ==
		bp_sum_fold(bp_sum_add(c->sum, bp_sum_moved(rest, c->summed))));
}

/* The quick way, where there is one, writes the same; also over the report. */
static void check_quick(const struct bp_phd_layout *l, const struct bp_phd_settings *plan,
	const struct bp_phd_conversion *c, const uint8_t *apdu, size_t len,
	const struct bp_phd_identity *id, const uint8_t *message, size_t n)
{
	static const uint8_t before[42] = {1, 2, 3};
	static struct bp_phd_template q;
	const struct bp_phd_sfloat *value[BP_PHD_TEMPLATE_VALUES];
	uint8_t *frame;
	uint64_t sum;

	if (!bp_phd_template_init(&q, l, plan, c, apdu, len, before, sizeof(before)))
		return;
	frame = calloc(1, q.bound);
	if (frame == NULL)
		abort();
	memcpy(frame + sizeof(before), apdu, len);
	HOLDS(bp_phd_template_is(&q, l, frame + sizeof(before), (uint32_t)len));
	if (bp_phd_template_read(&q, frame + sizeof(before), value, &sum)) {
		HOLDS(bp_sum_fold(sum) == bp_sum_fold(bp_sum(apdu, len, 0)));
		HOLDS(bp_phd_template_write(&q, id, value, frame, &sum) == sizeof(before) + n);
		HOLDS(memcmp(frame, before, sizeof(before)) == 0);
		HOLDS(memcmp(frame + sizeof(before), message, n) == 0);
		HOLDS(bp_sum_fold(sum) == bp_sum_fold(bp_sum(message, n, 0)));
	}
	free(frame);
}

static void convert(const struct bp_phd_layout *l, const struct bp_phd_settings *plan,
	struct bp_phd_bytes bytes, bool whole)
{
	static const uint8_t system_id[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	uint8_t *apdu = exact_copy(bytes.p, bytes.len);
	struct bp_phd_conversion c;

	if (bp_phd_convert_plan(l, plan, apdu, bytes.len, &c) == BP_PHD_CONVERT) {
		HOLDS(c.parts >= 1 && c.parts <= BP_PHD_TOKEN_PARTS && c.answerable);
		for (unsigned i = 0; i < c.parts; i++) {
			const struct bp_phd_identity id = {.system_id = system_id, .token = i};
			uint8_t *out = malloc(c.part[i].len);
			size_t n;

			if (out == NULL)
				abort();
			n = bp_phd_convert_write(l, plan, apdu, &c, i, &id, out, c.part[i].len);
			HOLDS(n != 0 && n + BP_PHD_RENDER_SLACK <= c.part[i].len);
			HOLDS(n <= plan->max_message);
			if (whole) {
				check_request(out, n);
				check_sum(&c, out, n);
				check_quick(l, plan, &c, apdu, bytes.len, &id, out, n);
			}
			free(out);
		}
	}
	free(apdu);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct bp_phd_target target = {
		"cse-in/{type}/{system_id}/{object}", "C{system_id}"};
	struct input in = {data, data + size};
	const unsigned flags = take(&in, 1), n_edits = take(&in, 1);
	const struct bp_phd_bytes edits = take_bytes(&in, 3 * (size_t)n_edits);
	const unsigned config_len = take(&in, 2);
	const struct bp_phd_bytes config = take_bytes(&in, config_len);
	struct bp_phd_settings plan = {.max_message = 20000,
		.release = (uint8_t)(flags % 6),
		.per_report = flags >> 3 & 1,
		.named = flags >> 4 & 1,
		.con = flags >> 5 & 1};
	static struct bp_phd_model model;
	struct bp_phd_layout *l = aligned_alloc(64, BP_PHD_LAYOUT_SIZE);
	char err[64];

	/* as workers have it, and as the control plane has it */
	if (flags >> 6 & 1)
		bp_phd_sfloat_prepare();
	if (l == NULL)
		abort();
	memset((void *)l, 0, BP_PHD_LAYOUT_SIZE);
	if (bp_phd_config_read(config, &model) == BP_PHD_OK &&
		bp_phd_layout_compile(l, &model, &plan, &target, "type", err, sizeof(err)) == 0) {
		HOLDS(bp_phd_layout_valid(l));
		for (unsigned i = 0; i + 3 <= edits.len; i += 3)
			((uint8_t *)l)[(edits.p[i] << 8 | edits.p[i + 1]) % BP_PHD_LAYOUT_SIZE] =
				edits.p[i + 2];
		if (bp_phd_layout_valid(l))
			convert(l, &plan, take_bytes(&in, UINT16_MAX), n_edits == 0);
	}
	free(l);
	return 0;
}
