/* SPDX-License-Identifier: BSD-3-Clause */
#include "services/health/request.h"

#include <stdio.h>
#include <string.h>

#include "services/health/token.h"
#include "proto/onem2m.h"

/*
 * What is patched later is rendered as a run of one of these, is found again by it, and so is where
 * the CoAP writer put it. No text of the file can hold one, and no header of an option is that
 * long.
 */
#define MARK_SYSTEM_ID '\1'
#define MARK_RQI '\2'
#define MARK_RN '\3'

#define RENDERED_MAX 512

static bool has_control_character(const char *text)
{
	for (; *text != '\0'; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return true;
	}
	return false;
}

struct placeholder {
	const char *text, *value;
};
#define PLACEHOLDERS 3

/* Replaces the placeholders of `template`. Returns 0, or -1 with a sentence in err. */
static int render_template(char out[RENDERED_MAX], const char *template,
	const struct placeholder known[PLACEHOLDERS], char *err, size_t err_size)
{
	size_t n = 0;

	for (const char *p = template; *p != '\0';) {
		const char one[2] = {*p, '\0'}, *value = one;
		size_t taken = 1, len;

		if (*p == '{' || *p == '}') {
			unsigned i = 0;

			while (i < PLACEHOLDERS &&
				strncmp(p, known[i].text, strlen(known[i].text)) != 0)
				i++;
			if (i == PLACEHOLDERS) {
				snprintf(err, err_size,
					"a brace that is none of {system_id}, {type}, {object}: "
					"'%.64s'",
					template);
				return -1;
			}
			taken = strlen(known[i].text);
			value = known[i].value;
		}
		len = strlen(value);
		if (len >= RENDERED_MAX - n) {
			snprintf(err, err_size, "longer than %d octets when rendered: '%.64s'",
				RENDERED_MAX - 1, template);
			return -1;
		}
		memcpy(out + n, value, len);
		n += len;
		p += taken;
	}
	out[n] = '\0';
	return 0;
}

/* The body up to the value; services/health/render.c knows how it goes on. */
static size_t render_body(char *out, size_t size, const struct bp_phd_plan *plan)
{
	char mark[BP_PHD_RN_TEXT + 1] = "", rn[sizeof("\"rn\":\"\",") + BP_PHD_RN_TEXT] = "";

	memset(mark, MARK_RN, BP_PHD_RN_TEXT);
	if (plan->named != 0)
		snprintf(rn, sizeof(rn), "\"rn\":\"%s\",", mark);
	return (size_t)snprintf(out, size,
		"{\"m2m:cin\":{\"cnf\":\"application/json:0\",%s\"con\":\"%s", rn,
		plan->per_report != 0 ? "[" : "{\\\"v\\\":");
}

/* The places in head[0..len) of `run` octets that are `mark`: at most `max` go to at[]. Returns how
 * many there are. */
static unsigned find_marks(
	const uint8_t *head, size_t len, char mark, size_t run, uint16_t *at, unsigned max)
{
	unsigned found = 0;
	size_t same = 0;

	for (size_t i = 0; i < len; i++) {
		same = head[i] == (uint8_t)mark ? same + 1 : 0;
		if (same != run)
			continue;
		if (found < max)
			at[found] = (uint16_t)(i + 1 - run);
		found++;
		same = 0;
	}
	return found;
}

/* Writes the request's options and body to out->head. False: the path can't be one. */
static bool render_message(
	struct bp_phd_request *out, enum bp_m2m_release release, const struct bp_m2m_request *q)
{
	static const uint8_t token[BP_PHD_TOKEN_LEN];
	const size_t before = BP_COAP_HEADER_LEN + BP_PHD_TOKEN_LEN;
	uint8_t message[BP_COAP_HEADER_LEN + BP_PHD_TOKEN_LEN + sizeof(out->head)];
	struct bp_coap_writer w;
	size_t len;

	bp_coap_begin(&w, message, sizeof(message), BP_COAP_CON, BP_COAP_POST, 0, token,
		BP_PHD_TOKEN_LEN);
	len = bp_m2m_create(&w, message, release, q);
	if (len == 0)
		return false;
	out->len = (uint16_t)(len - before);
	memcpy(out->head, message + before, out->len);
	return true;
}

int bp_phd_request_render(struct bp_phd_request *out, const struct bp_phd_plan *plan,
	const struct bp_phd_target *target, const char *type, const char *object, char *err,
	size_t err_size)
{
	char system_id[BP_PHD_SYSTEM_ID_TEXT + 1] = "", rqi[BP_PHD_RQI_TEXT + 1] = "";
	char path[RENDERED_MAX], fr[RENDERED_MAX], body[256];
	const struct placeholder known[PLACEHOLDERS] = {
		{"{system_id}", system_id}, {"{type}", type}, {"{object}", object}};
	const struct bp_m2m_request q = {.ty = BP_M2M_CIN,
		.path = path,
		.query = "rcn=0",
		.fr = fr,
		.rqi = rqi,
		.body = body,
		.body_len = render_body(body, sizeof(body), plan)};
	unsigned n;

	memset(system_id, MARK_SYSTEM_ID, BP_PHD_SYSTEM_ID_TEXT);
	memset(rqi, MARK_RQI, BP_PHD_RQI_TEXT);
	if (has_control_character(target->path) || has_control_character(target->originator) ||
		has_control_character(type)) {
		snprintf(err, err_size, "path, originator and type have no control characters");
		return -1;
	}
	if (render_template(path, target->path, known, err, err_size) != 0 ||
		render_template(fr, target->originator, known, err, err_size) != 0)
		return -1;
	if (plan->release >= BP_M2M_RELEASES ||
		!render_message(out, (enum bp_m2m_release)plan->release, &q)) {
		snprintf(err, err_size, "no request can be made: path '%.64s', originator '%.64s'",
			target->path, target->originator);
		return -1;
	}
	n = find_marks(out->head, out->len, MARK_SYSTEM_ID, BP_PHD_SYSTEM_ID_TEXT, out->patch,
		BP_PHD_PATCHES);
	if (n > BP_PHD_PATCHES) {
		snprintf(err, err_size, "path and originator have {system_id} more than %u times",
			BP_PHD_PATCHES);
		return -1;
	}
	out->patches = (uint8_t)n;
	out->rqi = out->rn = 0;
	find_marks(out->head, out->len, MARK_RQI, BP_PHD_RQI_TEXT, &out->rqi, 1);
	find_marks(out->head, out->len, MARK_RN, BP_PHD_RN_TEXT, &out->rn, 1);
	return 0;
}
