/* SPDX-License-Identifier: BSD-3-Clause */
#include "config_test.h"

#include "config/messages.h"
#include "config/mqtt/settings.h"
#include "config/yaml.h"
#include "tests/unit/times.h"

/* Large, deep and senseless files. */

/* The text that `f` collected. */
struct text {
	char *bytes;
	size_t len;
	FILE *f;
};

static void open_text(struct text *t)
{
	t->f = open_memstream(&t->bytes, &t->len);
	assert_non_null(t->f);
}

static struct outcome parse_text(struct text *t)
{
	struct outcome o;

	assert_int_equal(fclose(t->f), 0);
	o = parse_bytes(t->bytes, t->len);
	free(t->bytes);
	return o;
}

static void repeat(struct text *t, const char *s, size_t n)
{
	size_t len = strlen(s), block = 1024;
	char *many = malloc(len * block);

	assert_non_null(many);
	for (size_t i = 0; i < block; i++)
		memcpy(many + i * len, s, len);
	for (; n > 0; n -= block) {
		block = n < block ? n : block;
		assert_int_equal(fwrite(many, len, block, t->f), block);
	}
	free(many);
}

static void ten_thousand_rules_are_read(void **state)
{
	struct text t;
	struct outcome o;

	open_text(&t);
	fputs(EDGE "  rules:\n", t.f);
	for (int i = 0; i < 10000; i++)
		fprintf(t.f,
			"    - name: rule-%d\n      topic: plant/%d/+/temperature\n"
			"      value: {json: \"$.celsius\"}\n      raise: \"> %d\"\n      clear: "
			"\"< %d\"\n",
			i, i, i, i - 5);
	o = parse_text(&t);
	assert_string_equal(o.errors, "");
	assert_int_equal(bp_config_mqtt(o.config)->n_rules, 10000);
	assert_string_equal(
		bp_config_mqtt(o.config)->rules[9999].filter, "plant/9999/+/temperature");
	assert_true(bp_config_mqtt(o.config)->rules[9999].raise.a == 9999);
	end(&o);
}

static void lists_are_bounded(void **state)
{
	struct text t;
	struct outcome o;

	open_text(&t);
	fputs("ports:\n", t.f);
	for (int i = 0; i < BP_MAX_PORTS; i++)
		fprintf(t.f, "  - {name: p%d, device: d%d}\n", i, i);
	fputs("bridges:\n", t.f);
	for (int i = 0; i < BP_MAX_BRIDGES; i++)
		fprintf(t.f, "  - {name: b%d, ports: [p%d, p%d]}\n", i, 2 * i, 2 * i + 1);
	o = parse_text(&t);
	assert_string_equal(o.errors, "");
	assert_int_equal(o.config->n_ports, BP_MAX_PORTS);
	assert_int_equal(o.config->n_bridges, BP_MAX_BRIDGES);
	end(&o);

	open_text(&t);
	fputs("ports:\n", t.f);
	for (int i = 0; i <= BP_MAX_PORTS; i++)
		fprintf(t.f, "  - {name: p%d, device: d%d}\n", i, i);
	o = parse_text(&t);
	assert_string_equal(
		o.errors, "f.yaml:2:3: ports: 33 are given; expected a list of 1 to 32 mappings\n");
	end(&o);

	open_text(&t);
	fputs(EDGE "  max_rules: 131072\n  rules:\n", t.f);
	repeat(&t, "    - {}\n", 131073);
	o = parse_text(&t);
	assert_string_equal(o.errors, "f.yaml:7:5: mqtt.rules: 131073 are given; expected a list "
				      "of at most 131072 mappings\n");
	end(&o);
}

/* Each costs a search of the file and of its line: their number is bounded, and that search is. */
static void unquoted_conditions_are_bounded(void **state)
{
	struct text t;
	struct outcome o;

	open_text(&t);
	fputs(PORTS "mqtt: #", t.f);
	repeat(&t, "{raise: > 1, ", 200000);
	fputs("\n  rules:\n", t.f);
	repeat(&t, "    - {raise: > 1}\n", 200000);
	o = parse_text(&t);
	assert_null(o.config);
	assert_non_null(strstr(o.errors, "conditions must be quoted"));
	end(&o);
}

static void messages_are_bounded(void **state)
{
	struct text t;
	struct outcome o;
	size_t lines = 0;

	open_text(&t);
	fputs(PORTS, t.f);
	for (int i = 0; i < BP_MESSAGES_MAX + 50; i++)
		fprintf(t.f, "k%d: 1\n", i);
	o = parse_text(&t);
	assert_null(o.config);
	for (const char *p = o.errors; *p != '\0'; p++)
		lines += *p == '\n';
	assert_int_equal(lines, BP_MESSAGES_MAX + 1);
	assert_non_null(strstr(o.errors, "f.yaml:1:1: 50 more messages; correct these first\n"));
	end(&o);
}

/* Refused with exactly this, before it costs much. */
static void refused(struct text *t, const char *message)
{
	struct outcome o = parse_text(t);

	assert_null(o.config);
	assert_string_equal(o.errors, message);
	end(&o);
}

static void files_are_bounded(void **state)
{
	struct text t;
	struct outcome o;

	open_text(&t);
	fputs(PORTS, t.f);
	repeat(&t, "#", BP_YAML_BYTES_MAX - strlen(PORTS));
	o = parse_text(&t);
	assert_non_null(o.config);
	end(&o);
	open_text(&t);
	fputs(PORTS, t.f);
	repeat(&t, "#", BP_YAML_BYTES_MAX - strlen(PORTS) + 1);
	refused(&t, "f.yaml:1:1: the file is too large; expected at most 32 MiB\n");
}

static void nodes_are_bounded(void **state)
{
	struct text t;

	/* A root, a key and a list are there before the first item. */
	open_text(&t);
	fputs("ports:\n", t.f);
	repeat(&t, "- a\n", BP_YAML_NODES_MAX);
	refused(&t, "f.yaml:3145727:3: too many values; expected at most 3145728 in a file\n");
}

static void depth_is_bounded(void **state)
{
	struct text t;
	struct outcome o;

	/* The root's mapping is the first level. */
	open_text(&t);
	fputs("x: ", t.f);
	repeat(&t, "[", BP_YAML_DEPTH_MAX - 1);
	repeat(&t, "]", BP_YAML_DEPTH_MAX - 1);
	o = parse_text(&t);
	assert_null(strstr(o.errors, "nested too deep"));
	end(&o);
	open_text(&t);
	fputs("x: ", t.f);
	repeat(&t, "[", BP_YAML_DEPTH_MAX);
	repeat(&t, "]", BP_YAML_DEPTH_MAX);
	refused(&t, "f.yaml:1:35: nested too deep; expected at most 32 levels\n");
	open_text(&t);
	repeat(&t, "- ", BP_YAML_DEPTH_MAX + 1);
	refused(&t, "f.yaml:1:65: nested too deep; expected at most 32 levels\n");
}

#define TOO_LONG                                                                                   \
	"the brackets that open here enclose too much; expected at most 1 MiB, or the block "      \
	"style of "                                                                                \
	"one setting per line\n"

/* libfyaml would take gigabytes for these. */
static void brackets_are_bounded(void **state)
{
	static const struct {
		const char *before, *repeated, *place;
	} cases[] = {
		{"", "[", "1:1"},
		{"\n\n{", "a: b, ", "3:1"},
		{"x: ", "[", "1:4"},
		{"x:\n  - ", "[a,\n", "2:5"},
		{"--- ", "[", "1:5"},
		{"&a", "[", "1:3"},
		{"x: !t", "{", "1:6"},
		{"\"a # \": ", "[", "1:9"},
		{"\"a\":", "[", "1:5"},
		{"\xef\xbb\xbf", "[", "1:1"},
		{"['a'']', ", "a, ", "1:1"},
		{"[\"a\\\"]\", ", "a, ", "1:1"},
		{"x: [1]\n# [\n", "? [", "3:3"},
		{"x: [a, # ]\n", "b,", "1:4"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text t;
		char message[256];

		open_text(&t);
		fputs(cases[i].before, t.f);
		repeat(&t, cases[i].repeated, BP_YAML_FLOW_MAX + 1);
		snprintf(message, sizeof(message), "f.yaml:%s: " TOO_LONG, cases[i].place);
		refused(&t, message);
	}
}

/* libfyaml's time would grow with the square of the lines. */
static void texts_are_bounded(void **state)
{
	struct text t;
	struct outcome o;

	open_text(&t);
	fputs(PORTS "runtime:\n  directory: a", t.f);
	repeat(&t, "\n    b", BP_YAML_LINES_MAX);
	fputs("\nname: x\n", t.f);
	o = parse_text(&t);
	assert_non_null(o.config);
	assert_string_equal(o.config->runtime_dir, "a b b b b b b b b b b b b b b b b");
	end(&o);
	open_text(&t);
	fputs(PORTS "runtime:\n  directory: a", t.f);
	repeat(&t, "\n    b", BP_YAML_LINES_MAX + 1);
	fputs("\nname: x\n", t.f);
	refused(&t, "f.yaml:3:14: a text of 17 lines; expected at most 16\n");
	open_text(&t);
	fputs(PORTS "name: |\n  x\n", t.f);
	repeat(&t, "\n", 1 << 20);
	refused(&t, "f.yaml:3:1: a text of 1048577 lines; expected at most 16\n");
}

/* The same characters where they are text do no harm. */
static void brackets_in_texts_are_not_counted(void **state)
{
	struct text t;
	struct outcome o;

	open_text(&t);
	fputs("# [see it's {\nports: [{name: a, device: \"x['{\", routed: {}}, # ]\n"
	      "  {name: b, device: 'y''[', routed: {}}]\n",
		t.f);
	repeat(&t, "# it's [nothing {\n", BP_YAML_FLOW_MAX / 8);
	o = parse_text(&t);
	assert_string_equal(o.errors, "");
	assert_non_null(o.config);
	end(&o);
}

/* A generator of its own: the same texts in every run. */
static uint32_t random_below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % n;
}

static const char sample[] =
	EDGE "  mirror: {port: b, mac: \"02:00:00:00:00:01\", ipv4_address: 192.0.2.1}\n  rules:\n"
	     "    - {name: r, topic: a/+/b, raise: \"> 1\", clear: inside 0..1, hold: 3s}\n"
	     "    - name: s\n      topic: '#'\n      value: {json: \"$.a['b'][2]\"}\n"
	     "      raise: \"outside 1..2\"\n      action: mirror\n      publish: {topic: "
	     "\"x/{topic}\"}\n";

/* Whatever comes out of a damaged file is either refused with a message or dumps and reads back. */
static void damaged_files_are_tolerated(void **state)
{
	static const char junk[] = "\n\t -:?,[]{}#&*!|>'\"%@`\\09azAZ\x7f\xc3\xa4\xff\x01~.+$";
	uint64_t seed = 1;

	for (int round = 0; round < TEST_TIMES(8000); round++) {
		char text[sizeof(sample) + 64];
		size_t len = sizeof(sample) - 1;
		struct outcome o;

		memcpy(text, sample, len);
		for (uint32_t k = 1 + random_below(&seed, 4); k > 0; k--) {
			size_t at = random_below(&seed, (uint32_t)len);
			size_t n = random_below(&seed, 8);

			switch (random_below(&seed, 3)) {
			case 0:
				text[at] = junk[random_below(&seed, sizeof(junk) - 1)];
				break;
			case 1: /* a piece goes */
				n = n < len - at ? n : len - at;
				memmove(text + at, text + at + n, len - at - n);
				len -= n;
				break;
			default: /* a piece comes twice */
				n = n < len - at ? n : len - at;
				memmove(text + at + n, text + at, len - at);
				len += n;
			}
		}
		o = parse_bytes(text, len);
		if (o.config == NULL) {
			assert_int_equal(strncmp(o.errors, "f.yaml:", 7), 0);
		} else {
			char *x = dump(o.config), *y;
			struct bp_config *again = accepted(x);

			y = dump(again);
			assert_string_equal(x, y);
			bp_config_free(again);
			free(x);
			free(y);
		}
		end(&o);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_thousand_rules_are_read),
		cmocka_unit_test(lists_are_bounded),
		cmocka_unit_test(unquoted_conditions_are_bounded),
		cmocka_unit_test(messages_are_bounded),
		cmocka_unit_test(files_are_bounded),
		cmocka_unit_test(nodes_are_bounded),
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(brackets_are_bounded),
		cmocka_unit_test(texts_are_bounded),
		cmocka_unit_test(brackets_in_texts_are_not_counted),
		cmocka_unit_test(damaged_files_are_tolerated),
	};

	return cmocka_run_group_tests_name("config limits", tests, NULL, NULL);
}
