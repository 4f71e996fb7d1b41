/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "config/transform/type_transform.h"
#include "services/transform/layout.h"

/* transform.entries[].layout: the name of a known layout, or a mapping of its fields. */

static const struct {
	const char *name;
	const struct bp_transform_layout *layout;
} known[] = {
	{"kunze2021", &bp_transform_layout_kunze2021},
	{"kunze2021_timed", &bp_transform_layout_kunze2021_timed},
};
#define N_KNOWN (sizeof(known) / sizeof(known[0]))

static const char *const in_name[3] = {"radius", "phi", "theta"};
static const char *const from_name[3] = {"from_x", "from_y", "from_z"};
static const char *const out_name[3] = {"x", "y", "z"};
static const char *const type_name[BP_TRANSFORM_TYPES] = {
	"fixed32", "ufixed32", "float32", "float64"};

static bool is_fixed(const struct bp_transform_field *f)
{
	return f->type == BP_TRANSFORM_FIXED32 || f->type == BP_TRANSFORM_UFIXED32;
}

static bool parse_layout(const struct bp_setting *s, const struct bp_config *c, const char *text,
	void *field, struct bp_fault *fault)
{
	char shown[BP_SHOWN];

	for (size_t i = 0; i < N_KNOWN; i++) {
		if (strcmp(text, known[i].name) == 0) {
			*(struct bp_transform_layout *)field = *known[i].layout;
			return true;
		}
	}
	return bp_fault_set(
		fault, 0, "'%s' is not a known layout", bp_shown(text, strlen(text), shown));
}

/* A number without a fraction has no fraction digits; layouts of two files are compared as
 * bytes. */
static void check_fraction(struct bp_reader *r, const struct bp_setting *s, const struct bp_yaml *n,
	const char *name, struct bp_transform_field *f)
{
	struct bp_yaml *field = bp_yaml_find(n, name);
	struct bp_yaml *fraction = field != NULL ? bp_yaml_find(field, "fraction") : NULL;

	if (is_fixed(f))
		return;
	f->fraction = 0;
	if (fraction != NULL)
		bp_reader_error(r, s, fraction, "%s is of type %s and has no fraction", name,
			type_name[f->type]);
}

/* Returns whether all three coordinates of a point are given; reports the first missing one. */
static bool whole(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n,
	const bool has[3], const char *const name[3])
{
	for (unsigned i = 0; i < 3; i++) {
		if (has[i])
			continue;
		bp_reader_error(r, s, n, "'%s' is missing", name[i]);
		return false;
	}
	return true;
}

static bool any(const bool has[3])
{
	return has[0] || has[1] || has[2];
}

static void from_draft(struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n,
	struct bp_layout_draft *d, struct bp_transform_layout *l)
{
	const bool cartesian = any(d->has_from);
	uint32_t errors = r->messages->errors;
	const char *what;

	if (cartesian && any(d->has_in)) {
		bp_reader_error(r, s, n, "it has both a spherical and a Cartesian input");
		return;
	}
	if (!whole(r, s, n, cartesian ? d->has_from : d->has_in, cartesian ? from_name : in_name) ||
		!whole(r, s, n, d->has_out, out_name))
		return;
	*l = (struct bp_transform_layout){.length = (uint16_t)d->length,
		.cartesian = cartesian,
		.little_endian = d->order != 0,
		.degrees = d->angles != 0 && !cartesian};
	for (unsigned i = 0; i < 3; i++) {
		struct bp_transform_field *in = cartesian ? &d->from[i] : &d->in[i];

		check_fraction(r, s, n, cartesian ? from_name[i] : in_name[i], in);
		check_fraction(r, s, n, out_name[i], &d->out[i]);
		l->in[i] = *in;
		l->out[i] = d->out[i];
	}
	if (r->messages->errors == errors && !bp_transform_layout_finish(l, &what))
		bp_reader_error(r, s, n, "%s", what);
}

static void read_layout(
	struct bp_reader *r, const struct bp_setting *s, struct bp_yaml *n, void *field)
{
	struct bp_layout_draft draft = {.length = 0};
	uint32_t errors = r->messages->errors;

	if (!bp_reader_section_or_text(r, s, n, parse_layout, field))
		return;
	bp_read_section(r, s, n, &draft);
	if (r->messages->errors == errors)
		from_draft(r, s, n, &draft, field);
}

static void format_layout(
	const struct bp_setting *s, const struct bp_config *c, const void *field, FILE *out)
{
	for (size_t i = 0; i < N_KNOWN; i++) {
		if (memcmp(field, known[i].layout, sizeof(*known[i].layout)) == 0)
			fputs(known[i].name, out);
	}
}

_Static_assert(sizeof(struct bp_layout_draft) <= BP_UNFOLDED, "raise BP_UNFOLDED");

bool bp_transform_layout_unfold(const void *field, void *base)
{
	const struct bp_transform_layout *l = field;
	struct bp_layout_draft *d = base;

	for (size_t i = 0; i < N_KNOWN; i++) {
		if (memcmp(l, known[i].layout, sizeof(*l)) == 0)
			return false;
	}
	d->length = l->length;
	d->order = l->little_endian;
	d->angles = l->degrees;
	for (unsigned i = 0; i < 3; i++) {
		d->has_in[i] = !l->cartesian;
		d->has_from[i] = l->cartesian;
		d->has_out[i] = true;
		d->in[i] = d->from[i] = l->in[i];
		d->out[i] = l->out[i];
	}
	return true;
}

static void expect_layout(const struct bp_setting *s, FILE *out)
{
	fputs("kunze2021, kunze2021_timed, or a mapping with x, y, z and either radius, phi, theta "
	      "or "
	      "from_x, from_y, from_z",
		out);
}

const struct bp_type bp_type_transform_layout = {.parse = parse_layout,
	.read = read_layout,
	.format = format_layout,
	.expect = expect_layout};
