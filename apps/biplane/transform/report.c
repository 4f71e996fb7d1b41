/* SPDX-License-Identifier: BSD-3-Clause */
#include "biplane/json_schema.h"
#include "apps/biplane/transform/report.h"

#include <inttypes.h>
#include <math.h>

#include "apps/biplane/table.h"

#define UM 1e6 /* micrometres in a metre */

static void to_cartesian(const struct bp_packets *k, const double from[3], long double place[3])
{
	const double *m = k->with_matrix ? k->m : NULL;

	if (k->gateway.cartesian)
		bp_transform_reference_cartesian(from, m, place);
	else
		bp_transform_reference(from, m, place);
}

void bp_transform_report_add(
	struct bp_transform_report *r, const struct bp_packets *k, const struct bp_burst *burst)
{
	static long double meant[BP_TRANSFORM_BURST][3], sent[BP_TRANSFORM_BURST][3];
	struct bp_results results;

	for (unsigned i = 0; i < burst->n; i++) {
		to_cartesian(k, burst->meant[i], meant[i]);
		to_cartesian(k, burst->sent[i], sent[i]);
	}
	r->points += burst->n;
	for (unsigned method = 0; method < BP_TRANSFORM_METHODS; method++) {
		bp_packets_compute(k, bp_transform_ops(method), burst, &results);
		for (unsigned i = 0; i < burst->n; i++) {
			if (results.saturated[i] != 0) {
				r->of[method].saturated++;
				continue;
			}
			bp_transform_accuracy_add(
				&r->of[method].whole, results.v[i], meant[i], r->limit);
			bp_transform_accuracy_add(
				&r->of[method].alone, results.v[i], sent[i], r->limit);
		}
	}
}

/* JSON has no infinity, which radii of 1e300 can lead to. */
static json_t *um(double metres)
{
	return isfinite(metres * UM) ? json_real(metres * UM) : json_null();
}

static json_t *errors(const struct bp_transform_accuracy *a)
{
	return json_pack("{s:o,s:o,s:I,s:f}", "mean_um", um(bp_transform_accuracy_mean(a)),
		"worst_um", um(a->worst), "beyond", (json_int_t)a->violations, "beyond_share",
		bp_transform_accuracy_share(a));
}

static json_t *to_json(const struct bp_transform_report *r, const struct bp_packets *k)
{
	json_t *methods = json_array();

	for (unsigned i = 0; i < BP_TRANSFORM_METHODS; i++) {
		const struct bp_transform_ops *ops = bp_transform_ops(i);

		json_array_append_new(methods,
			json_pack("{s:s,s:s,s:I,s:o,s:o}", "method", ops->name, "implementation",
				ops->how, "saturated", (json_int_t)r->of[i].saturated, "error",
				errors(&r->of[i].whole), "error_of_method",
				errors(&r->of[i].alone)));
	}
	return json_pack("{s:i,s:I,s:s,s:b,s:b,s:f,s:o}", "schema_version", BP_JSON_SCHEMA_VERSION,
		"points", (json_int_t)r->points, "layout", k->name, "cartesian",
		k->gateway.cartesian, "matrix", k->with_matrix, "limit_um", r->limit * UM,
		"methods", methods);
}

/* Four digits that count, so that 0.03 um and 90 m both can be read. */
static json_t *length_text(double metres)
{
	return json_sprintf("%.4g", metres * UM);
}

static json_t *row_of(const struct bp_transform_report *r, unsigned i)
{
	const struct bp_transform_accuracy *whole = &r->of[i].whole, *alone = &r->of[i].alone;

	return json_pack("{s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:I}", "method", bp_transform_ops(i)->name,
		"mean", length_text(bp_transform_accuracy_mean(whole)), "worst",
		length_text(whole->worst), "share",
		json_sprintf("%.4g", bp_transform_accuracy_share(whole) * 100), "alone_mean",
		length_text(bp_transform_accuracy_mean(alone)), "alone_worst",
		length_text(alone->worst), "alone_share",
		json_sprintf("%.4g", bp_transform_accuracy_share(alone) * 100), "saturated",
		(json_int_t)r->of[i].saturated);
}

static const struct bp_column columns[] = {
	{"method", "method", 0},
	{"mean", "mean um", 1},
	{"worst", "worst um", 1},
	{"share", "beyond %", 1},
	{"alone_mean", "method: mean um", 1},
	{"alone_worst", "worst um", 1},
	{"alone_share", "beyond %", 1},
	{"saturated", "saturated", 1},
	{NULL, NULL, 0},
};

static void print_table(
	const struct bp_transform_report *r, const struct bp_packets *k, json_t *rows, FILE *out)
{
	for (unsigned i = 0; i < BP_TRANSFORM_METHODS; i++)
		json_array_append_new(rows, row_of(r, i));
	fprintf(out, "points: %" PRIu64 " (%s), layout: %s, matrix: %s\n", r->points,
		k->gateway.cartesian ? "Cartesian" : "spherical", k->name,
		k->with_matrix ? "yes" : "none");
	bp_table_print(out, columns, rows, "no methods");
	fprintf(out,
		"Euclidean distances; beyond: points that are off by more than %g um along an "
		"axis.\nFirst against the points of the file, then against those that are in the "
		"packets:\nthe method's own part. Points with a saturated result are counted "
		"separately.\n",
		r->limit * UM);
}

bool bp_transform_report_print(
	const struct bp_transform_report *r, const struct bp_packets *k, bool json, FILE *out)
{
	json_t *all = json ? to_json(r, k) : json_array();

	if (all == NULL)
		return false;
	if (!json) {
		print_table(r, k, all, out);
	} else {
		json_dumpf(all, out, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
		fputc('\n', out);
	}
	json_decref(all);
	return true;
}
