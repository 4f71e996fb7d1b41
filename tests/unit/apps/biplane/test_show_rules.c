/* SPDX-License-Identifier: BSD-3-Clause */
/* `show rules`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "apps/biplane/show/mqtt/rules_copy.h"
#include "show_view.h"

static void load_rules(uint64_t generation, unsigned bank, const char *second)
{
	struct bp_rule_spec specs[2];

	memset(specs, 0, sizeof(specs));
	snprintf(specs[0].name, sizeof(specs[0].name), "overheat");
	snprintf(specs[0].filter, sizeof(specs[0].filter), "plant/+/temperature");
	specs[0].value.kind = BP_VALUE_TEXT;
	specs[0].raise = (struct bp_condition){.op = BP_COND_GT, .a = 80};
	specs[0].clear = (struct bp_condition){.op = BP_COND_LT, .a = 75};
	specs[0].has_clear = true;
	snprintf(specs[0].to, sizeof(specs[0].to), "alarm/{topic}");
	snprintf(specs[1].name, sizeof(specs[1].name), "%s", second);
	snprintf(specs[1].filter, sizeof(specs[1].filter), "#");
	specs[1].value.kind = BP_VALUE_BINARY;
	specs[1].value.binary.type = BP_BIN_INT16;
	specs[1].raise = (struct bp_condition){.op = BP_COND_OUTSIDE, .a = -1, .b = 1};
	specs[1].hold = BP_HOLD_TIME;
	specs[1].hold_ns = 2500000000ull;
	specs[1].repeat = BP_REPEAT_ON_CHANGE;
	specs[1].action = BP_ACTION_MIRROR;
	snprintf(specs[1].to, sizeof(specs[1].to), "x");
	assert_int_equal(bp_ruleset_build(shm.rules.banks + bank * shm.rules.bank_size,
				 shm.rules.bank_size, specs, 2, shm.max_rules, &mqtt.mirror, NULL,
				 generation, source.unix_ns, err, sizeof(err)),
		0);
	atomic_store(&shm.control->rules_active, generation << 1 | bank);
}

static void rules_of_the_active_bank(void **state)
{
	load_rules(1, 0, "old");
	load_rules(2, 1, "new");

	const struct bp_rule *first = bp_ruleset_rule(bp_shm_rules(&shm, 1), 0);

	atomic_store(&shm.rule_stats[first->slot].matched, 10);
	atomic_store(&shm.rule_stats[shm.max_rules + first->slot].matched, 5);
	atomic_store(&shm.rule_stats[shm.max_rules + first->slot].raised, 2);

	json_t *v = collect(&bp_show_rules);
	json_t *overheat = row(v, "rules", 0), *other = row(v, "rules", 1);

	if (strcmp(json_string_value(json_object_get(overheat, "name")), "overheat") != 0) {
		overheat = row(v, "rules", 1);
		other = row(v, "rules", 0);
	}
	assert_number(v, "generation", 2);
	assert_text(overheat, "name", "overheat");
	assert_text(overheat, "filter", "plant/+/temperature");
	assert_text(overheat, "raise", "> 80");
	assert_text(overheat, "clear", "< 75");
	assert_text(overheat, "repeat", "every");
	assert_text(overheat, "action", "publish");
	assert_text(overheat, "publish_topic", "alarm/{topic}");
	assert_text(other, "name", "new");
	assert_text(other, "value", "binary int16 at 0, big endian");
	assert_text(other, "raise", "outside -1..1");
	assert_true(json_is_null(json_object_get(other, "clear")));
	assert_text(other, "hold", "2.5 s");
	assert_text(other, "repeat", "on_change");
	assert_text(other, "action", "mirror");
	assert_int_equal(json_integer_value(json_object_get(overheat, "matched")) +
				 json_integer_value(json_object_get(other, "matched")),
		15);
	assert_int_equal(json_integer_value(json_object_get(overheat, "raised")) +
				 json_integer_value(json_object_get(other, "raised")),
		2);

	char *text = text_of(&bp_show_rules, v, false);

	assert_non_null(strstr(text, "plant/+/temperature"));
	assert_non_null(strstr(text, "2 rules, generation 2, loaded 1970-01-01T02:46:40"));
	free(text);
}

static void no_rules_yet(void **state)
{
	char *text = text_of(&bp_show_rules, collect(&bp_show_rules), false);

	assert_string_equal(text, "no rules\n");
	free(text);
}

/* The reader must not trust what it copies: every single damaged word of the image. */
static void damaged_rules_are_refused_or_harmless(void **state)
{
	load_rules(1, 0, "other");

	uint32_t *image = (uint32_t *)shm.rules.banks;
	uint64_t words = bp_shm_rules(&shm, 0)->size / sizeof(*image);
	unsigned refused = 0;

	for (uint64_t i = 0; i < words; i++) {
		const uint32_t bad[] = {UINT32_MAX, 0x7fffff01, image[i] + 1};

		for (unsigned k = 0; k < 3; k++) {
			uint32_t good = image[i];

			image[i] = bad[k];

			json_t *v = bp_show_rules.collect(&source, err, sizeof(err));

			if (v)
				free(text_of(&bp_show_rules, v, false));
			else
				refused++;
			image[i] = good;
		}
	}
	assert_true(refused > 0);
	json_decref(collect(&bp_show_rules));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(rules_of_the_active_bank),
		CASE(no_rules_yet),
		CASE(damaged_rules_are_refused_or_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
