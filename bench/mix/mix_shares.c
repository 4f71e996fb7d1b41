/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/mix/mix_shares.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const bench_mix_name[BENCH_MIX_PARTS] = {
	"mqtt", "phd", "messages", "readings", "lcl", "plain"};

const struct bench_mix_shares bench_mix_all = {{
	[BENCH_MIX_MQTT] = 25,
	[BENCH_MIX_PHD] = 10,
	[BENCH_MIX_MESSAGES] = 20,
	[BENCH_MIX_READINGS] = 10,
	[BENCH_MIX_LCL] = 15,
	[BENCH_MIX_PLAIN] = 20,
}};

static int part_of(const char *name, size_t length)
{
	for (unsigned i = 0; i < BENCH_MIX_PARTS; i++)
		if (strlen(bench_mix_name[i]) == length &&
			strncmp(bench_mix_name[i], name, length) == 0)
			return (int)i;
	return -1;
}

/* Parses one "NAME" or "NAME=SHARE" of `length` characters. */
static int read_part(
	const char *text, size_t length, struct bench_mix_shares *out, char *err, size_t err_size)
{
	const size_t name = strcspn(text, "=,");
	const int part = part_of(text, name);
	unsigned long share = 1;
	char *end = NULL;

	if (part < 0) {
		snprintf(err, err_size,
			"'%.*s': expected all, or of mqtt, phd, messages, readings, lcl, plain "
			"some with commas between",
			(int)name, text);
		return -1;
	}
	if (name < length) {
		const char *number = text + name + 1;

		share = strtoul(number, &end, 10);
		if (*number < '0' || *number > '9' || end != text + length)
			share = 0;
	}
	if (share == 0 || share > BENCH_MIX_PATTERN) {
		snprintf(err, err_size, "share of %s: expected a whole number from 1 to %u",
			bench_mix_name[part], BENCH_MIX_PATTERN);
		return -1;
	}
	if (out->of[part] != 0) {
		snprintf(err, err_size, "%s: expected once, and it is there twice",
			bench_mix_name[part]);
		return -1;
	}
	out->of[part] = (uint32_t)share;
	return 0;
}

int bench_mix_shares_read(
	const char *text, struct bench_mix_shares *out, char *err, size_t err_size)
{
	struct bench_mix_shares s = {{0}};

	if (strcmp(text, "all") == 0) {
		*out = bench_mix_all;
		return 0;
	}
	for (const char *p = text;; p++) {
		const size_t length = strcspn(p, ",");

		if (read_part(p, length, &s, err, err_size) != 0)
			return -1;
		p += length;
		if (*p == '\0')
			break;
	}
	if (bench_mix_length(&s) > BENCH_MIX_PATTERN) {
		snprintf(err, err_size, "the shares are %u together; expected at most %u",
			bench_mix_length(&s), BENCH_MIX_PATTERN);
		return -1;
	}
	*out = s;
	return 0;
}

uint32_t bench_mix_length(const struct bench_mix_shares *s)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < BENCH_MIX_PARTS; i++)
		sum += s->of[i];
	return sum;
}

/* The part that is furthest below its share is next: smooth weighted round robin. */
uint32_t bench_mix_pattern(const struct bench_mix_shares *s, uint8_t pattern[BENCH_MIX_PATTERN])
{
	const uint32_t length = bench_mix_length(s);
	int64_t credit[BENCH_MIX_PARTS] = {0};

	for (uint32_t at = 0; at < length && at < BENCH_MIX_PATTERN; at++) {
		unsigned next = 0;

		for (unsigned i = 0; i < BENCH_MIX_PARTS; i++) {
			credit[i] += s->of[i];
			if (credit[i] > credit[next])
				next = i;
		}
		credit[next] -= length;
		pattern[at] = (uint8_t)next;
	}
	return length;
}
