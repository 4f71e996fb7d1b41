/* SPDX-License-Identifier: BSD-3-Clause */
/* A writer that is killed at any instruction: its state is readable, each matrix is consistent,
 * acknowledged ones are present, and the next writer continues. */
#include "tests/unit/shm/transform/transform_rig.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILLS TEST_TIMES(200u)
#define SOURCES 30u
#define MATRICES 4000u

struct shared {
	struct bp_transform_head head;
	_Atomic uint64_t said; /* mark that the writer said was active, of source 0 */
	_Atomic uint32_t added;
};

static struct bp_prefix added_prefix(uint32_t i)
{
	return xform_prefix4(0x0b000000u + (i << 8), 24 - i % 12);
}

/* Sets the matrices of the file's sources round after round, and adds sources. */
static void write_on(struct transform_rig *x, struct shared *s)
{
	for (uint64_t mark = atomic_load(&s->said) + 1;; mark++) {
		const struct bp_transform_view v = xform_view(x);
		double m[12];

		xform_matrix((double)mark, m);
		for (uint32_t i = 0; i < SOURCES; i++) {
			const struct bp_prefix p = xform_prefix4(0x0a000000u + i, 32);

			if (bp_transform_set(&v, 0, &p, 0, m, false, &x->head.next_uid) !=
				BP_TRANSFORM_SET_DONE)
				_exit(1);
		}
		atomic_store(&s->said, mark);
		if (mark % 16 == 0 && atomic_load(&s->added) < 1000) {
			const struct bp_prefix p = added_prefix(atomic_load(&s->added));

			if (bp_transform_set(&v, 0, &p, 0, m, true, &x->head.next_uid) !=
				BP_TRANSFORM_SET_DONE)
				_exit(1);
			atomic_fetch_add(&s->added, 1);
		}
		if (mark % 64 == 0 && xform_load(x) != 0)
			_exit(1);
	}
}

static void look(const struct transform_rig *x, const struct shared *s)
{
	const struct bp_transform_view v = xform_view(x);
	const uint64_t said = atomic_load(&s->said);

	assert_true(bp_transform_valid(v.bank, MATRICES));
	for (uint32_t i = 0; i < SOURCES; i++) {
		const struct bp_prefix p = xform_prefix4(0x0a000000u + i, 32);
		double mark;

		xform_row(x, 0, &p, 0, &mark);
		assert_true(mark == (double)said || mark == (double)(said + 1));
	}
	for (uint32_t i = 0; i < atomic_load(&s->added); i++) {
		const struct bp_prefix p = added_prefix(i);
		double mark;

		xform_row(x, 0, &p, 0, &mark);
		assert_true(mark >= 0);
	}
}

static void test_kill(void **state)
{
	struct shared *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct transform_rig x;
	uint64_t seed = 3;

	assert_ptr_not_equal(s, MAP_FAILED);
	xform_open(&x, MATRICES, 1);
	free(x.t.generation.banks);
	x.t.generation.banks = mmap(NULL, 2 * x.t.generation.bank_size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(x.t.generation.banks, MAP_FAILED);
	x.t.head = &s->head;
	x.t.generation.active = &s->head.active;
	xform_rule(&x, 0, 1);
	for (uint32_t i = 0; i < SOURCES; i++) {
		xform_source(&x, 0, xform_prefix4(0x0a000000u + i, 32));
		xform_receiver(&x, 0);
	}
	assert_int_equal(xform_load(&x), 0);
	for (unsigned kill_no = 0; kill_no < KILLS; kill_no++) {
		const struct timespec some = {.tv_nsec = 1000 + test_below(&seed, 3000000)};
		const pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (pid == 0)
			write_on(&x, s);
		nanosleep(&some, NULL);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status)); /* it did not fail of itself */
		look(&x, s);
	}
	/* it came to something */
	assert_true(atomic_load(&s->said) > KILLS / 10);
	munmap(x.t.generation.banks, 2 * x.t.generation.bank_size);
	x.t.generation.banks = NULL;
	xform_close(&x);
	munmap(s, sizeof(*s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kill),
	};

	return cmocka_run_group_tests_name("shm transform kill", tests, NULL, NULL);
}
