/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/rules/combination.h"

#include <string.h>

/* ---- programs ---- */

/* A program in prefix order is evaluated from its end, with a stack: a step finds its operands on
 * top. Each step before adds at most one, so the stack is as long as the program. */
bool bp_program_valid(const struct bp_program *p, unsigned n_parts)
{
	unsigned depth = 0;

	if (p->len == 0 || p->len > BP_COMBINATION_PROGRAM_MAX)
		return false;
	for (unsigned i = p->len; i-- != 0;) {
		const unsigned kind = p->step[i] & BP_STEP_KIND, n = p->step[i] & BP_STEP_NUMBER;
		const unsigned operands = kind == BP_STEP_PART ? 0 : kind == BP_STEP_NOT ? 1 : n;

		if (kind == BP_STEP_PART ? n >= n_parts : operands == 0 || operands > depth)
			return false;
		depth += 1 - operands;
	}
	return depth == 1;
}

static uint8_t negated(uint8_t truth)
{
	return (uint8_t)((truth & BP_TRUTH_FALSE) << 1 | (truth & BP_TRUTH_TRUE) >> 1);
}

/* All: true if each is, false if one is. Any: the same for the negations. */
static uint8_t all_of(const uint8_t *truth, unsigned n)
{
	uint8_t and = BP_TRUTH_TRUE, or = 0;

	for (unsigned i = 0; i < n; i++) {
		and &= truth[i];
		or |= truth[i];
	}
	return (uint8_t)((and&BP_TRUTH_TRUE) | (or &BP_TRUTH_FALSE));
}

static uint8_t any_of(const uint8_t *truth, unsigned n)
{
	uint8_t and = BP_TRUTH_FALSE, or = 0;

	for (unsigned i = 0; i < n; i++) {
		and &= truth[i];
		or |= truth[i];
	}
	return (uint8_t)((and&BP_TRUTH_FALSE) | (or &BP_TRUTH_TRUE));
}

enum bp_truth bp_program_evaluate(const struct bp_program *p, const uint8_t truth[BP_PARTS_MAX])
{
	uint8_t stack[BP_COMBINATION_PROGRAM_MAX], *top = stack + BP_COMBINATION_PROGRAM_MAX;

	for (unsigned i = p->len; i-- != 0;) {
		const unsigned n = p->step[i] & BP_STEP_NUMBER;
		uint8_t result;

		switch ((enum bp_step)(p->step[i] & BP_STEP_KIND)) {
		case BP_STEP_NOT:
			top[0] = negated(top[0]);
			continue;
		case BP_STEP_ALL:
			result = all_of(top, n);
			top += n;
			break;
		case BP_STEP_ANY:
			result = any_of(top, n);
			top += n;
			break;
		default:
			result = truth[n];
		}
		*--top = result;
	}
	return (enum bp_truth)top[0];
}

/* ---- names of levels ---- */

static bool is_word(const char *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		const char c = p[i];
		const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

		if (!letter && (i == 0 || c < '0' || c > '9'))
			return false;
	}
	return len > 0;
}

/* The placeholders of publish.topic. */
static bool is_reserved(const char *p, uint32_t len)
{
	static const char *const word[] = {"topic", "rule", "client"};

	for (unsigned i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		if (len == strlen(word[i]) && memcmp(p, word[i], len) == 0)
			return true;
	return false;
}

static bool has_mark(const char *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (p[i] == '{' || p[i] == '}' || p[i] == '+' || p[i] == '#')
			return true;
	return false;
}

/* The fault of a level with braces or a wildcard; NULL: it is a name, and fits. */
static const char *name_fault(const struct bp_level_names *names, const char *p, uint32_t len)
{
	if (memchr(p, '+', len) != NULL || memchr(p, '#', len) != NULL)
		return "the topic of a part has no wildcards";
	if (len < 2 || p[0] != '{' || p[len - 1] != '}' || !is_word(p + 1, len - 2))
		return "a name in braces is a whole level, of letters, digits and '_'";
	if (len - 2 > BP_COMBINATION_NAME_MAX)
		return "the name is longer than 31 bytes";
	if (is_reserved(p + 1, len - 2))
		return "topic, rule and client are placeholders of publish.topic";
	if (bp_level_names_find(names, p + 1, len - 2) >= 0)
		return "the name is given twice";
	return names->n == BP_COMBINATION_NAMES_MAX ? "there are more than 8 names" : NULL;
}

bool bp_level_names_read(const char *filter, uint32_t len, struct bp_level_names *names,
	const char **why, uint32_t *fault)
{
	uint32_t level = 0;

	names->n = 0;
	for (uint32_t at = 0, end; at <= len; at = end + 1, level++) {
		const char *slash = memchr(filter + at, '/', len - at), *p = filter + at;
		uint32_t n;

		end = slash != NULL ? (uint32_t)(slash - filter) : len;
		n = end - at;
		if (!has_mark(p, n))
			continue;
		*fault = at;
		*why = name_fault(names, p, n);
		if (*why != NULL)
			return false;
		names->at[names->n].name = p + 1;
		names->at[names->n].len = n - 2;
		names->at[names->n++].level = level;
	}
	return true;
}

const char *const bp_level_names_differ = "all parts have the same names in braces";

int bp_level_names_find(const struct bp_level_names *names, const char *name, uint32_t len)
{
	for (unsigned i = 0; i < names->n; i++)
		if (names->at[i].len == len && memcmp(names->at[i].name, name, len) == 0)
			return (int)i;
	return -1;
}
