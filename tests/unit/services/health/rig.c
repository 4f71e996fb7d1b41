/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/services/health/rig.h"

#include "services/health/decode.h"
#include "proto/net/frame.h"

#include <stdio.h>

#include <jansson.h>

const struct bp_phd_settings rig_plan = {
	.max_message = 1024,
	.family = 4,
	.release = BP_M2M_R4,
	.named = 1,
	.con = 1,
};
const struct bp_phd_target rig_target = {"cse-in/{system_id}/{object}", "Cbiplane"};

#define OBJECT(handle_, class_, partition_, code_, unit_)                                          \
	.class = (class_), .handle = (handle_), .partition = (partition_), .code = (code_),        \
	.unit = (unit_)
#define MAP1(a, n) .n_map = 1, .map = {{a, n}}
#define MAP2(a, n, b, m) .n_map = 2, .map = {{a, n}, {b, m}}

const struct bp_phd_model rig_400 = {.config_id = 400,
	.n = 2,
	.object = {{OBJECT(1, 6, 2, 19384, 544), MAP1(2636, 2)},
		{OBJECT(10, 6, 2, 18458, 2720), MAP1(2636, 2)}}};
const struct bp_phd_model rig_c01 = {.config_id = 0x4001,
	.n = 2,
	.object = {{OBJECT(1, 6, 2, 19384, 544), MAP2(2636, 2, 2448, 8)},
		{OBJECT(10, 6, 2, 18458, 2720), MAP2(2636, 2, 2448, 8)}}};
const struct bp_phd_model rig_c03 = {.config_id = 0x4000,
	.n = 5,
	.object = {{OBJECT(1, 6, 129, 103, 6656), .n_map = 3,
			   .map = {{2646, 4}, {2649, 4}, {2448, 8}}},
		{OBJECT(2, 6, 129, 103, 1280), MAP2(2646, 4, 2448, 8)},
		{OBJECT(3, 6, 129, 125, 2208), MAP2(2646, 4, 2448, 8)},
		{OBJECT(4, 6, 129, 127, 544), MAP2(2636, 2, 2448, 8)},
		{OBJECT(5, 6, 129, 119, 6784), MAP2(2646, 4, 2448, 8)}}};
const struct bp_phd_model rig_c04 = {.config_id = 0x4010,
	.n = 2,
	.object = {{OBJECT(1, 5, 130, 1, 0), MAP2(2661, 4, 2448, 8)},
		{OBJECT(2, 5, 130, 7, 0), MAP2(2661, 4, 2448, 8)}}};
const struct bp_phd_model rig_c05 = {.config_id = 0x4002,
	.n = 2,
	.object = {{OBJECT(1, 6, 130, 13312, 0), MAP2(2636, 2, 2448, 8)},
		{OBJECT(2, 6, 130, 13313, 1618), MAP2(2646, 4, 2448, 8)}}};
const struct bp_phd_model rig_700 = {.config_id = 700,
	.n = 2,
	.object = {{OBJECT(1, 6, 2, 18948, 3872), .n_ids = 3, .ids = {18949, 18950, 18951},
			   MAP2(2677, 10, 2448, 8)},
		{OBJECT(2, 6, 2, 18474, 2720), MAP2(2636, 2, 2448, 8)}}};

struct bp_phd_layout *rig_layout_new(void)
{
	struct bp_phd_layout *l = aligned_alloc(64, BP_PHD_LAYOUT_SIZE);

	assert_non_null(l);
	memset((void *)l, 0, BP_PHD_LAYOUT_SIZE);
	if (getenv("BP_SFLOAT_TABLE") != NULL)
		bp_phd_sfloat_prepare();
	return l;
}

struct bp_phd_layout *rig_compile(const struct bp_phd_model *m, const struct bp_phd_settings *plan,
	const struct bp_phd_target *target, const char *type)
{
	struct bp_phd_layout *l = rig_layout_new();
	char err[256] = "";

	if (bp_phd_layout_compile(l, m, plan, target, type, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	assert_true(bp_phd_layout_valid(l));
	return l;
}

uint8_t *rig_apdu(const char *id, size_t *len)
{
	char path[1024];
	json_t *root, *item;
	uint8_t *p = NULL;
	size_t i;

	snprintf(path, sizeof(path), "%s/phd-apdus.json", FIXTURES);
	root = json_load_file(path, 0, NULL);
	assert_non_null(root);
	json_array_foreach(root, i, item)
	{
		const char *hex = json_string_value(json_object_get(item, "hex"));
		size_t n;

		if (strcmp(json_string_value(json_object_get(item, "id")), id) != 0)
			continue;
		n = strlen(hex) / 2;
		p = malloc(n);
		assert_non_null(p);
		for (size_t k = 0; k < n; k++) {
			unsigned byte;

			assert_int_equal(sscanf(hex + 2 * k, "%2x", &byte), 1);
			p[k] = (uint8_t)byte;
		}
		*len = n;
	}
	json_decref(root);
	if (p == NULL)
		fail_msg("there is no vector %s", id);
	return p;
}

struct bp_phd_identity rig_identity(unsigned part)
{
	static const uint8_t system_id[8] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};

	return (struct bp_phd_identity){.system_id = system_id,
		.associated_s = 0x6955b9f0,
		.report = 42,
		.life = 0x0102,
		.mid = (uint16_t)(0x1234 + part),
		.token = 0xa0b1c2d3e4f50617ull + part};
}

void rig_expect(struct plain *m, const struct bp_phd_settings *plan, const struct rig_request *q,
	unsigned part, const char *con)
{
	static const char *const rvi[] = {NULL, NULL, "2a", "3", "4", "5"};
	static char body[65536];
	const uint8_t token[8] = {0xa0, 0xb1, 0xc2, 0xd3, 0xe4, 0xf5, 0x06, (uint8_t)(0x17 + part)};
	char rqi[32];
	size_t n;

	plain_begin(m, plan->con ? 0 : 1, 2, 0x1234 + part, token, sizeof(token));
	for (unsigned i = 0; q->segment[i] != NULL; i++)
		plain_text(m, 11, q->segment[i]);
	plain_text(m, 12, "\x32");
	plain_text(m, 15, "rcn=0");
	snprintf(rqi, sizeof(rqi), "a0b1c2d3e4f506%02x", 0x17 + part);
	if (rvi[plan->release] != NULL) {
		plain_text(m, 267, "\4");
		plain_text(m, 271, rvi[plan->release]);
		plain_text(m, 279, q->originator);
		plain_text(m, 283, rqi);
	} else {
		plain_text(m, 256, q->originator);
		plain_text(m, 257, rqi);
		plain_text(m, 267, "\4");
	}
	n = (size_t)sprintf(body, "{\"m2m:cin\":{\"cnf\":\"application/json:0\",");
	if (plan->named)
		n += (size_t)sprintf(body + n,
			"\"rn\":\"6955b9f0010200000"
			"02a%02x\",",
			part);
	n += (size_t)sprintf(body + n, "\"con\":\"");
	for (; *con != '\0'; con++) {
		assert_true(n + 8 < sizeof(body));
		if (*con == '"')
			body[n++] = '\\';
		body[n++] = *con;
	}
	n += (size_t)sprintf(body + n, "\"}}");
	plain_payload(m, body, n);
}

/* RFC 1071, in this machine's order, as slowly as it is written there. */
static uint16_t plain_sum(const uint8_t *p, size_t len)
{
	const uint8_t zero[2] = {0};
	uint32_t sum = 0;
	uint16_t word;

	for (size_t i = 0; i < len; i += 2) {
		memcpy(&word, zero, sizeof(word));
		memcpy(&word, p + i, len - i > 1 ? 2 : 1);
		sum += word;
		sum = (sum & 0xffff) + (sum >> 16);
	}
	return (uint16_t)sum;
}

void rig_assert_part(const struct bp_phd_layout *l, const struct bp_phd_settings *plan,
	const uint8_t *apdu, struct bp_phd_conversion *c, unsigned i, const struct plain *m)
{
	const struct bp_phd_identity id = rig_identity(i);
	const size_t room = c->part[i].len;
	uint8_t *out = malloc(room);
	size_t len;

	assert_non_null(out);
	assert_int_equal(bp_phd_convert_write(l, plan, apdu, c, i, &id, out, room - 1), 0);
	len = bp_phd_convert_write(l, plan, apdu, c, i, &id, out, room);
	if (len != m->len || memcmp(out, m->bytes, len) != 0) {
		char *got = rig_content(out, len), *expected = rig_content(m->bytes, m->len);

		fail_msg("part %u is %zu bytes, not %zu:\n%s\n%s", i, len, m->len,
			got != NULL ? got : "(no request)", expected);
	}
	assert_true(len <= room);
	/* its checksum matches the written bytes */
	assert_true(c->summed <= len);
	assert_int_equal(plain_sum(out, len),
		bp_sum_fold(bp_sum_add(c->sum,
			bp_sum_moved(bp_sum(out + c->summed, len - c->summed, 0), c->summed))));
	free(out);
}

char *rig_content(const uint8_t *message, size_t len)
{
	const uint8_t *body = memchr(message, 0xff, len);
	json_t *root, *inner;
	const char *con;
	char *copy = NULL;

	/* the first 0xff may be of the token */
	while (body != NULL && body + 1 < message + len && body[1] != '{')
		body = memchr(body + 1, 0xff, (size_t)(message + len - body - 1));
	if (body == NULL)
		return NULL;
	root = json_loadb((const char *)body + 1, (size_t)(message + len - body - 1), 0, NULL);
	con = json_string_value(json_object_get(json_object_get(root, "m2m:cin"), "con"));
	if (con != NULL) {
		inner = json_loads(con, 0, NULL);
		if (inner != NULL) {
			copy = malloc(strlen(con) + 1);
			if (copy != NULL)
				strcpy(copy, con);
		}
		json_decref(inner);
	}
	json_decref(root);
	return copy;
}
