/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/transform/transform_command.h"

#include <limits.h>
#include <stdio.h>

#include "config/schema.h"
#include "controlplane/process/control.h"
#include "controlplane/transform/transform.h"
#include "proto/transform/transform_matrix.h"

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Returns a number from 0 to INT_MAX, or `otherwise` if there is none; -2: the value is not such a
 * number. */
static int number(const json_t *request, const char *key, int otherwise)
{
	const json_t *value = json_object_get(request, key);

	if (value == NULL || json_is_null(value))
		return otherwise;
	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
		json_integer_value(value) > INT_MAX)
		return -2;
	return (int)json_integer_value(value);
}

/* Returns NULL on success: *w is the selection of the request. */
static const char *read_source_id(const json_t *request, struct bp_transform_source_id *w)
{
	const char *source = json_string_value(json_object_get(request, "source"));
	struct bp_fault fault;

	if (source == NULL || !bp_prefix_read(source, &w->source, &fault))
		return "source is not an address or prefix; expected one such as 10.0.0.5 or "
		       "10.0.0.0/24";
	w->entry = number(request, "entry", BP_TRANSFORM_EVERY);
	return w->entry < BP_TRANSFORM_EVERY
		       ? "entry is not the number of an entry of transform; expected 0 or more"
		       : NULL;
}

/* Reads three rows of four numbers. */
static bool read_matrix(const json_t *rows, double m[12])
{
	double row[3][4];

	if (json_array_size(rows) != 3)
		return false;
	for (size_t i = 0; i < 12; i++) {
		const json_t *of = json_array_get(rows, i / 4);
		const json_t *number = json_array_get(of, i % 4);

		if (json_array_size(of) != 4 || !json_is_number(number))
			return false;
		row[i / 4][i % 4] = json_number_value(number);
	}
	bp_transform_matrix_from_rows((const double(*)[4])row, m);
	return true;
}

json_t *bp_transform_set_command(struct bp_shm *m, const json_t *request)
{
	const int receiver = number(request, "receiver", 0);
	struct bp_transform_source_id whose;
	const char *wrong = read_source_id(request, &whose);
	double matrix[12];
	char err[256];
	int n;

	if (wrong == NULL && receiver < 0)
		wrong = "receiver is not the number of a receiver; expected 0 or more";
	if (wrong == NULL && !read_matrix(json_object_get(request, "matrix"), matrix))
		wrong = "matrix is invalid; expected three rows of four numbers";
	if (wrong != NULL)
		return bp_control_refusal(wrong);
	n = bp_transform_set_matrix(m, &whose, (unsigned)receiver, matrix,
		json_is_true(json_object_get(request, "add")), err, sizeof(err));
	if (n >= 0) {
		count(&m->transform.head->set);
		return json_pack("{s:b, s:i}", "ok", 1, "entries", n);
	}
	if (m->transform.head != NULL)
		count(&m->transform.head->refused);
	return bp_control_refusal(err);
}

json_t *bp_transform_clear_command(struct bp_shm *m, const json_t *request, int *entries)
{
	struct bp_transform_source_id whose;
	const char *wrong = read_source_id(request, &whose);
	char err[256];

	if (wrong != NULL)
		return bp_control_refusal(wrong);
	*entries = bp_transform_remove_source(m, &whose, err, sizeof(err));
	return *entries >= 0 ? NULL : bp_control_refusal(err);
}
