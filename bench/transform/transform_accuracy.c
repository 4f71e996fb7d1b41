/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors of the methods of coordinate transformation, as in Table I of Kunze et al. (2021), over
 * random readings and matrices with the distributions of the authors, one matrix per 100 readings.
 *
 *   transform_accuracy [READINGS]
 *
 * Prints a JSON array with one object per method.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/transform/kunze2021.h"
#include "services/transform/accuracy.h"

#define A_MATRIX 100u
#define METHODS (BP_TRANSFORM_METHODS + BENCH_KUNZE2021_METHODS)

static const struct bp_transform_ops *method(unsigned i)
{
	return i < BP_TRANSFORM_METHODS ? bp_transform_ops((enum bp_transform_method)i)
					: bench_kunze2021(i - BP_TRANSFORM_METHODS);
}

int main(int argc, char **argv)
{
	const unsigned long readings = argc > 1 ? strtoul(argv[1], NULL, 10) : 15000;
	static struct bp_transform_accuracy accuracy[METHODS];
	struct bp_transform_draw d = {1};

	if (argc > 2 || readings == 0) {
		fprintf(stderr, "usage: transform_accuracy [READINGS]\n");
		return 64;
	}
	bp_transform_methods_init();
	bench_kunze2021_init();
	for (unsigned long done = 0; done < readings; done += A_MATRIX) {
		double meant[A_MATRIX][3], sent[A_MATRIX][3], m[12];
		const double *matrix[A_MATRIX];

		bp_transform_draw_matrix(&d, m);
		for (unsigned i = 0; i < A_MATRIX; i++) {
			bp_transform_draw_sample(&d, meant[i], sent[i]);
			matrix[i] = m;
		}
		for (unsigned i = 0; i < METHODS; i++)
			bp_transform_accuracy_measure(&accuracy[i], method(i), sent, meant, matrix,
				A_MATRIX, BP_TRANSFORM_LIMIT);
	}
	for (unsigned i = 0; i < METHODS; i++)
		printf("%s{\"method\": \"%s\", \"mean_um\": %.4f, \"worst_um\": %.3f, "
		       "\"beyond_percent\": %.3f}",
			i == 0 ? "[" : ", ", method(i)->name,
			bp_transform_accuracy_mean(&accuracy[i]) * 1e6, accuracy[i].worst * 1e6,
			bp_transform_accuracy_share(&accuracy[i]) * 100);
	puts("]");
	return 0;
}
