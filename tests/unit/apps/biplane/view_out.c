/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/apps/biplane/view_out.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static char err[512];

char *view_written(
	const struct bp_show_view *v, const struct bp_show_source *s, bool json, bool compact)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(v->write(s, json, compact, out, err, sizeof(err)), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

json_t *view_parsed(const struct bp_show_view *v, const struct bp_show_source *s, bool compact)
{
	char *text = view_written(v, s, true, compact);
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

	assert_non_null(json);
	if (compact)
		assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	free(text);
	return json;
}

static ssize_t take(void *arg, const char *text, size_t n)
{
	struct view_size *s = arg;
	const size_t heap = mallinfo2().uordblks;

	for (size_t i = 0; i < n; i++) {
		s->lines += text[i] == '\n';
		s->objects += text[i] == '{';
	}
	if (heap > s->heap)
		s->heap = heap;
	return (ssize_t)n;
}

struct view_size view_size(const struct bp_show_view *v, const struct bp_show_source *s, bool json)
{
	struct view_size size = {0};
	FILE *out = fopencookie(&size, "w", (cookie_io_functions_t){.write = take});
	const size_t before = mallinfo2().uordblks;

	assert_non_null(out);
	assert_int_equal(v->write(s, json, false, out, err, sizeof(err)), 0);
	assert_int_equal(fclose(out), 0);
	assert_true(size.heap >= before);
	size.heap -= before;
	return size;
}
