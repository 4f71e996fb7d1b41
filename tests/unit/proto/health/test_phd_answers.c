/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/proto/health/phd_vectors.h"

#include "proto/health/phd_apdu.h"

/* A manager's answers must be the vectors', byte by byte, and fit or not be written at all. */

typedef size_t (*writer)(uint8_t *out, size_t size);

static const uint8_t manager_id[8] = {0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10};

#define WRITER(id, call)                                                                           \
	static size_t write_##id(uint8_t *out, size_t size)                                        \
	{                                                                                          \
		return call;                                                                       \
	}
#define AARE(result) bp_phd_write_aare(out, size, result, 0x80000000, manager_id)
WRITER(A09, AARE(BP_PHD_ACCEPTED))
WRITER(A12, AARE(BP_PHD_NO_COMMON_PROTOCOL))
WRITER(A13, AARE(BP_PHD_NO_COMMON_PARAMETER))
WRITER(A14, AARE(BP_PHD_REJECTED_PERMANENT))
WRITER(A15, AARE(BP_PHD_REJECTED_TRANSIENT))
WRITER(A16, AARE(BP_PHD_UNSUPPORTED_VERSION))
WRITER(C06, bp_phd_write_config_rsp(out, size, 1, 0x4001, BP_PHD_CONFIG_ACCEPTED))
WRITER(C08, bp_phd_write_config_rsp(out, size, 3, 0x4010, BP_PHD_CONFIG_UNSUPPORTED))
WRITER(C09, bp_phd_write_config_rsp(out, size, 5, 7200, BP_PHD_CONFIG_STANDARD_UNKNOWN))
WRITER(G01, bp_phd_write_get_mds(out, size, 0x3456))
WRITER(R01, bp_phd_write_simple(out, size, BP_PHD_RLRQ, 0))
WRITER(R02, bp_phd_write_simple(out, size, BP_PHD_RLRE, 0))
WRITER(R03, bp_phd_write_simple(out, size, BP_PHD_ABRT, BP_PHD_ABORT_UNDEFINED))
WRITER(R04, bp_phd_write_simple(out, size, BP_PHD_ABRT, BP_PHD_ABORT_OVERFLOW))
WRITER(R05, bp_phd_write_simple(out, size, BP_PHD_ABRT, BP_PHD_ABORT_RESPONSE))
WRITER(R06, bp_phd_write_simple(out, size, BP_PHD_ABRT, BP_PHD_ABORT_CONFIG))
WRITER(E01, bp_phd_write_roer(out, size, 0x31, BP_PHD_NO_SUCH_OBJECT))
WRITER(E02, bp_phd_write_rorj(out, size, 0x32, BP_PHD_BADLY_STRUCTURED))
WRITER(E03, bp_phd_write_rorj(out, size, 0x33, BP_PHD_UNRECOGNIZED_OPERATION))

static const struct {
	const char *id;
	writer write;
} writers[] = {
	{"A09", write_A09},
	{"A12", write_A12},
	{"A13", write_A13},
	{"A14", write_A14},
	{"A15", write_A15},
	{"A16", write_A16},
	{"C06", write_C06},
	{"C08", write_C08},
	{"C09", write_C09},
	{"G01", write_G01},
	{"R01", write_R01},
	{"R02", write_R02},
	{"R03", write_R03},
	{"R04", write_R04},
	{"R05", write_R05},
	{"R06", write_R06},
	{"E01", write_E01},
	{"E02", write_E02},
	{"E03", write_E03},
};

static void answers_are_the_vectors(void **state)
{
	for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
		size_t len;
		uint8_t *expected = vector_bytes(vector_named(*state, writers[i].id), &len);
		uint8_t *out = malloc(len);

		assert_non_null(out);
		assert_int_equal(writers[i].write(out, len), len);
		assert_memory_equal(out, expected, len);
		for (size_t size = 0; size < len; size++) {
			uint8_t *small = malloc(size); /* NOLINT(*UnixAPI): not a byte is written */

			assert_int_equal(writers[i].write(small, size), 0);
			free(small);
		}
		free(out);
		free(expected);
	}
	assert_int_equal(bp_phd_write_simple((uint8_t[6]){0}, 6, BP_PHD_PRST, 0), 0);
}

static void responses_to_reports_are_the_vector(void **state)
{
	size_t len;
	uint8_t *expected = vector_bytes(vector_named(*state, "S16"), &len);
	uint8_t *out = malloc(BP_PHD_RORS_EVENT_LEN);

	assert_non_null(out);
	assert_int_equal(len, BP_PHD_RORS_EVENT_LEN);
	bp_phd_write_rors_event(out, 0x1238, 0, BP_PHD_SCAN_FIXED);
	assert_memory_equal(out, expected, len);
	free(out);
	free(expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_the_vectors),
		cmocka_unit_test(responses_to_reports_are_the_vector),
	};

	return cmocka_run_group_tests(tests, vectors_setup, vectors_teardown);
}
