/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CPU time per reading of each method of coordinate transformation: the calculation time of the
 * paper (Kunze et al. 2021, Figure 5), measured with the gateway's own code on the paper's packets:
 * three numbers are read from a payload, the point is computed and multiplied by a matrix, and
 * three numbers are written back. The methods are measured in turn in one run.
 *
 *   transform_methods [--readings N] [--rounds N]
 *
 * Prints one line of JSON for every method (the vector method for each vector width of the CPU;
 * "none": reading and writing only), burst size, and matrices: "one" for the whole burst, as of one
 * tracker, or one for "each" reading.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/transform/kunze2021.h"
#include "proto/net/frame.h"
#include "services/transform/accuracy.h"
#include "services/transform/layout.h"

#define PAYLOAD 40u /* as in the paper */
#define ROUNDS_MAX 999u
#define VARIANTS_MAX 16u
#define MATRICES 256u

static const unsigned bursts[] = {1, 3, 8, 32, 64};
#define BURSTS (sizeof(bursts) / sizeof(bursts[0]))

struct variant {
	const struct bp_transform_ops *ops; /* NULL: none */
	unsigned width;
	double ns[2][BURSTS][ROUNDS_MAX]; /* [matrix per reading] */
};

static uint32_t readings = 15000, rounds = 30; /* readings: as in the paper */
static uint8_t *payloads;
static double matrices[MATRICES][12];
static struct variant variants[VARIANTS_MAX];
static unsigned n_variants;

static void die(const char *what)
{
	fprintf(stderr, "transform_methods: %s\n", what);
	exit(1);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void make_payloads(void)
{
	struct bp_transform_draw d = {1};

	payloads = calloc(readings, PAYLOAD);
	if (payloads == NULL)
		die("no memory");
	for (uint32_t i = 0; i < readings; i++) {
		double meant[3], sent[3];

		bp_transform_draw_sample(&d, meant, sent);
		for (unsigned k = 0; k < 3; k++)
			bp_put_be32(payloads + (size_t)i * PAYLOAD + 4 * (size_t)k,
				(uint32_t)(int32_t)ldexp(sent[k], 25));
	}
	for (unsigned i = 0; i < MATRICES; i++)
		bp_transform_draw_matrix(&d, matrices[i]);
}

static void add(const struct bp_transform_ops *ops, unsigned width)
{
	if (n_variants == VARIANTS_MAX)
		die("too many methods");
	variants[n_variants].ops = ops;
	variants[n_variants++].width = width;
}

/* Processes all readings once, in bursts of this size; returns nanoseconds per reading. */
static double pass(const struct bp_transform_ops *ops, unsigned burst, bool each)
{
	const double *matrix[BP_TRANSFORM_BURST];
	uint8_t *payload[BP_TRANSFORM_BURST], state[BP_TRANSFORM_BURST];
	static struct bp_transform_points p;
	uint64_t bad = 0;
	double start = now_ns();

	for (uint32_t i = 0; i < readings; i += burst) {
		const unsigned n = readings - i < burst ? readings - i : burst;

		for (unsigned k = 0; k < n; k++) {
			payload[k] = payloads + (size_t)(i + k) * PAYLOAD;
			matrix[k] = matrices[each ? (i + k) % MATRICES : 0];
		}
		bad |= bp_transform_layout_read_all(&bp_transform_layout_kunze2021,
			(const uint8_t *const *)payload, n, &p, state);
		if (ops != NULL) {
			ops->to_cartesian(&p, n);
			ops->affine(&p, matrix, n);
		}
		bad |= bp_transform_layout_write_all(
			&bp_transform_layout_kunze2021, payload, n, &p, state);
	}
	if (bad != 0)
		die("a reading of the paper's range was not taken or did not fit");
	return (now_ns() - start) / readings;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(struct variant *v, unsigned each, unsigned b)
{
	double *ns = v->ns[each][b], sum = 0, squares = 0, mean;

	qsort(ns, rounds, sizeof(*ns), by_size);
	for (uint32_t i = 0; i < rounds; i++)
		sum += ns[i];
	mean = sum / rounds;
	for (uint32_t i = 0; i < rounds; i++)
		squares += (ns[i] - mean) * (ns[i] - mean);
	printf("{\"method\": \"%s\", \"how\": \"%s\", \"width\": %u, \"burst\": %u, \"matrices\": "
	       "\"%s\", \"readings\": %u, \"rounds\": %u, \"ns_least\": %.3f, \"ns_median\": %.3f, "
	       "\"ns_mean\": %.3f, \"ns_sd\": %.3f}\n",
		v->ops != NULL ? v->ops->name : "none",
		v->ops != NULL ? v->ops->how : "payloads read and written only", v->width,
		bursts[b], each ? "each" : "one", readings, rounds, ns[0], ns[rounds / 2], mean,
		rounds > 1 ? sqrt(squares / (rounds - 1)) : 0);
}

static uint32_t number(const char *text, uint32_t most)
{
	char *end;
	const unsigned long v = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end != '\0' || v == 0 || v > most)
		die("usage: transform_methods [--readings N] [--rounds N]");
	return (uint32_t)v;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i += 2) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (strcmp(argv[i], "--readings") == 0)
			readings = number(value, 10000000);
		else if (strcmp(argv[i], "--rounds") == 0)
			rounds = number(value, ROUNDS_MAX);
		else
			number("", 0);
	}
	bp_transform_methods_init();
	bench_kunze2021_init();
	make_payloads();
	add(NULL, 0);
	for (unsigned width = 8; width >= 2; width /= 2)
		if (bp_transform_vector_ops(width) != NULL)
			add(bp_transform_vector_ops(width), width);
	add(bp_transform_ops(BP_TRANSFORM_EXACT), 1);
	for (unsigned m = 0; m < BENCH_KUNZE2021_METHODS; m++)
		add(bench_kunze2021(m), 1);
	for (uint32_t round = 0; round < rounds; round++)
		for (unsigned i = 0; i < n_variants; i++)
			for (unsigned k = 0; k < 2 * BURSTS; k++)
				variants[i].ns[k % 2][k / 2][round] =
					pass(variants[i].ops, bursts[k / 2], k % 2 == 1);
	for (unsigned i = 0; i < n_variants; i++)
		for (unsigned k = 0; k < 2 * BURSTS; k++)
			print(&variants[i], k % 2, k / 2);
	free(payloads);
	return 0;
}
