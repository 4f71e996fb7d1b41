/* SPDX-License-Identifier: BSD-3-Clause */
/* A gateway reads an association request late: the device has repeated it at another gateway, and
 * reports there. The first gateway has the lower epoch. */
#include "tests/unit/controlplane/fleet/association_steps.h"

/* Device 1 associates at gateway i, so many seconds ago, and reports there. */
static void associated_before(struct fixture *f, unsigned i, uint32_t seconds)
{
	associated(f, i, 1);
	session_of(&f->gateway[i], 1)->associated_s -= seconds;
	measure(&f->gateway[i], 1, 7, 70);
	RUN_UNTIL(f, record_has(f, 1, 7));
}

/* The gateway i has the association, the other one has ended its session, and no report is stored
 * twice at either. */
static void stays(struct fixture *f, unsigned i)
{
	struct gateway *true_one = &f->gateway[i], *late = &f->gateway[1 - i];

	RUN_UNTIL(f, counted(late)->taken == 1);
	assert_true(operates(true_one, 1));
	assert_false(operates(late, 1));
	RUN_UNTIL(f, record_has(f, 1, 7));
	measure(true_one, 1, 7, 70);
	assert_int_equal(true_one->repeats, 1);
	measure(late, 1, 7, 70);
	RUN_UNTIL(f, late->repeats == 1);
	assert_int_equal(true_one->instances + late->instances, 1);
	assert_int_equal(true_one->aborts + late->aborts, 0);
}

/* Its first write is refused. */
static void late_request_at_the_lower_epoch(void **state)
{
	struct fixture *f = *state;

	associated_before(f, 1, 12);
	send_aarq(&f->gateway[0], 1, 400);
	stays(f, 1);
}

/* Its first write is stored, and the other gateway compares its session with that record. */
static void late_request_at_the_higher_epoch(void **state)
{
	struct fixture *f = *state;

	associated_before(f, 0, 12);
	send_aarq(&f->gateway[1], 1, 400);
	stays(f, 0);
}

/* The device was restarted: the later association replaces the earlier one. */
static void replaced(struct fixture *f, unsigned i)
{
	RUN_UNTIL(f, counted(&f->gateway[i])->taken == 1);
	assert_true(operates(&f->gateway[1 - i], 1));
	assert_false(operates(&f->gateway[i], 1));
	RUN_UNTIL(f, record_has(f, 1, 0));
	measure(&f->gateway[1 - i], 1, 7, 70);
	RUN_UNTIL(f, record_has(f, 1, 7));
	assert_int_equal(f->gateway[1 - i].instances, 1);
}

static void request_after_a_minute(void **state)
{
	struct fixture *f = *state;

	associated_before(f, 0, 60);
	send_aarq(&f->gateway[1], 1, 400);
	replaced(f, 0);
}

static void request_after_a_minute_at_the_lower_epoch(void **state)
{
	struct fixture *f = *state;

	associated_before(f, 1, 60);
	send_aarq(&f->gateway[0], 1, 400);
	replaced(f, 1);
}

/* Reports at both gateways: the later association replaces the earlier one. */
static void request_before_a_report(void **state)
{
	struct fixture *f = *state;

	associated_before(f, 1, 12);
	send_aarq(&f->gateway[0], 1, 400);
	measure(&f->gateway[0], 1, 1, 75);
	RUN_UNTIL(f, counted(&f->gateway[1])->taken == 1);
	assert_true(operates(&f->gateway[0], 1));
	assert_true(record_has(f, 1, 1));
}

static void request_with_another_configuration(void **state)
{
	struct fixture *f = *state;

	associated_before(f, 0, 12);
	declare(&f->gateway[1], 1, 0x4000, 19384);
	replaced(f, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(late_request_at_the_lower_epoch, setup, teardown),
		cmocka_unit_test_setup_teardown(late_request_at_the_higher_epoch, setup, teardown),
		cmocka_unit_test_setup_teardown(request_after_a_minute, setup, teardown),
		cmocka_unit_test_setup_teardown(
			request_after_a_minute_at_the_lower_epoch, setup, teardown),
		cmocka_unit_test_setup_teardown(request_before_a_report, setup, teardown),
		cmocka_unit_test_setup_teardown(
			request_with_another_configuration, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
