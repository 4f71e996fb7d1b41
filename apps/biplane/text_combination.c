/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/biplane/text_combination.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/biplane/show/mqtt/rules_copy.h"
#include "apps/biplane/text.h"
#include "apps/biplane/text_value.h"

/* Writes the step at *at with its operands. The program is valid, so this ends. */
static void write_step(
	const struct bp_ruleset *rs, const struct bp_rule *rule, unsigned *at, FILE *out)
{
	const struct bp_rule_combination *c = &rule->combination;
	const unsigned step = c->program.step[(*at)++], kind = step & BP_STEP_KIND;
	const unsigned n = kind == BP_STEP_NOT ? 1 : step & BP_STEP_NUMBER;

	if (kind == BP_STEP_PART) {
		const struct bp_rule *part = bp_ruleset_rule(rs, c->first_part + n);
		char condition[BP_TEXT_RULE_CONDITION];

		bp_text_rule_condition(rs, part, &part->raise, condition);
		fprintf(out, "%.*s %s", (int)part->filter_len, bp_rules_filter(rs, part),
			condition);
		return;
	}
	fputs(kind == BP_STEP_NOT ? "not(" : kind == BP_STEP_ALL ? "all(" : "any(", out);
	for (unsigned i = 0; i < n; i++) {
		fputs(i == 0 ? "" : ", ", out);
		write_step(rs, rule, at, out);
	}
	fputc(')', out);
}

/* `write`, as a text to free. */
static char *written(const struct bp_ruleset *rs, const struct bp_rule *rule,
	void (*write)(const struct bp_ruleset *, const struct bp_rule *, unsigned *, FILE *))
{
	unsigned at = 0;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	write(rs, rule, &at, out);
	return fclose(out) == 0 ? text : NULL;
}

char *bp_text_combination(const struct bp_ruleset *rs, const struct bp_rule *rule)
{
	return written(rs, rule, write_step);
}

static void write_topics(
	const struct bp_ruleset *rs, const struct bp_rule *rule, unsigned *at, FILE *out)
{
	for (; *at < rule->combination.n_parts; ++*at) {
		const struct bp_rule *part =
			bp_ruleset_rule(rs, rule->combination.first_part + *at);

		fprintf(out, "%s%.*s", *at == 0 ? "" : ", ", (int)part->filter_len,
			bp_rules_filter(rs, part));
	}
}

char *bp_text_combination_topics(const struct bp_ruleset *rs, const struct bp_rule *rule)
{
	return written(rs, rule, write_topics);
}

/* Takes the text. */
static json_t *to_json(char *text)
{
	json_t *j = text != NULL ? bp_text_json(text, strlen(text)) : json_null();

	free(text);
	return j;
}

json_t *bp_text_rule_topics(const struct bp_ruleset *rs, const struct bp_rule *rule)
{
	if (rule->role == BP_RULE_COMBINATION)
		return to_json(bp_text_combination_topics(rs, rule));
	return bp_text_json(bp_rules_filter(rs, rule), rule->filter_len);
}

json_t *bp_text_rule_raise(const struct bp_ruleset *rs, const struct bp_rule *rule)
{
	char condition[BP_TEXT_RULE_CONDITION];

	if (rule->role == BP_RULE_COMBINATION)
		return to_json(bp_text_combination(rs, rule));
	bp_text_rule_condition(rs, rule, &rule->raise, condition);
	return json_string(condition);
}
