/* SPDX-License-Identifier: BSD-3-Clause */
/* Filter programs of untrusted senders: which are run, and their text. */
#include <string.h>

#include <pcap/pcap.h>

#include "shm/capture/capture.h"
#include "tests/unit/shm/test.h"

static struct bp_capture_insn insn[BP_CAPTURE_INSNS_MAX + 1];
static char text[BP_CAPTURE_TEXT_MAX];

static uint32_t compile(const char *filter)
{
	pcap_t *dead = pcap_open_dead(DLT_EN10MB, BP_CAPTURE_SNAP_MAX);
	struct bpf_program p;
	uint32_t n;

	assert_non_null(dead);
	if (pcap_compile(dead, &p, filter, 1, PCAP_NETMASK_UNKNOWN) != 0)
		fail_msg("%s: %s", filter, pcap_geterr(dead));
	n = p.bf_len;
	assert_in_range(n, 1, BP_CAPTURE_INSNS_MAX);
	memcpy(insn, p.bf_insns, n * sizeof(insn[0]));
	pcap_freecode(&p);
	pcap_close(dead);
	return n;
}

static const char *const filters[] = {"", "tcp port 1883", "ip6 and udp portrange 5000-6000",
	"ether host 02:00:00:00:00:01 or vlan 5", "host 10.0.0.1 and (port 1 or port 2 or port 3)",
	"tcp[tcpflags] & (tcp-syn|tcp-fin) != 0", "len > 100 and ip[8] < 5", "icmp6 or arp",
	"ip[2:2] % 7 == 3", "mpls and ip", "(ip[0] + ip[1]) / 3 << 2 ^ 5 = 9"};

static void programs_of_pcap_compile_are_valid(void **state)
{
	for (unsigned i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		const uint32_t n = compile(filters[i]);
		const char *why = bp_capture_filter_invalid(insn, n);

		if (why != NULL)
			fail_msg("%s: %s", filters[i], why);
	}
}

static void programs_survive_as_text(void **state)
{
	struct bp_capture_insn back[BP_CAPTURE_INSNS_MAX];

	for (unsigned i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		uint32_t n = compile(filters[i]), m = 0;

		bp_capture_filter_print(insn, n, text);
		assert_true(bp_capture_filter_parse(text, back, &m));
		assert_int_equal(m, n);
		assert_memory_equal(insn, back, n * sizeof(insn[0]));
	}
}

/* The longest program fits a line of the control socket with the rest of a request. */
static void longest_text_is_bounded(void **state)
{
	uint32_t n = 0;

	memset(insn, 0xff, sizeof(insn));
	bp_capture_filter_print(insn, BP_CAPTURE_INSNS_MAX, text);
	assert_true(strlen(text) < 13000);
	assert_true(bp_capture_filter_parse(text, insn, &n));
	assert_int_equal(n, BP_CAPTURE_INSNS_MAX);
}

static void other_text_is_no_program(void **state)
{
	static const char *const bad[] = {"", " 1,6 0 0 1", "1", "1,", "1,6", "1,6 0 0",
		"1,6 0 0 1,", "1,6 0 0 1 ", "2,6 0 0 1", "1,6 0 0 -1", "1,6 0 0 4294967296",
		"1,65536 0 0 1", "1,6 256 0 1", "1,6 0 0 +1", "513,6 0 0 1",
		"99999999999999999999,6 0 0 1", "1,6  0 0 1", "1,0x6 0 0 1", "1;6 0 0 1"};
	uint32_t n;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (bp_capture_filter_parse(bad[i], insn, &n))
			fail_msg("'%s' was accepted", bad[i]);
}

#define RET                                                                                        \
	{                                                                                          \
		0x06, 0, 0, 1                                                                      \
	}
static void hostile_programs_are_refused(void **state)
{
	static const struct {
		const char *what;
		uint32_t n;
		struct bp_capture_insn insn[2];
	} bad[] = {
		{"no instruction", 0, {RET}},
		{"no return at the end", 1, {{0x00, 0, 0, 1}}},
		{"jump behind the end", 2, {{0x05, 0, 0, 1}, RET}},
		{"jump back", 2, {{0x05, 0, 0, 0xffffffff}, RET}},
		{"true branch behind the end", 2, {{0x15, 1, 0, 1}, RET}},
		{"false branch behind the end", 2, {{0x15, 0, 1, 1}, RET}},
		{"scratch load outside", 2, {{0x60, 0, 0, 16}, RET}},
		{"scratch load outside, X", 2, {{0x61, 0, 0, 0xffffffff}, RET}},
		{"return of A without a load", 1, {{0x16, 0, 0, 0}}},
		{"test of A without a load", 2, {{0x15, 0, 0, 1}, RET}},
		{"load by X without a load", 2, {{0x40, 0, 0, 1}, RET}},
		{"A from X without a load", 2, {{0x87, 0, 0, 1}, RET}},
		{"scratch load without a store", 2, {{0x60, 0, 0, 15}, RET}},
		{"scratch store outside", 2, {{0x02, 0, 0, 16}, RET}},
		{"scratch store outside, X", 2, {{0x03, 0, 0, 1u << 30}, RET}},
		{"division by zero", 2, {{0x34, 0, 0, 0}, RET}},
		{"remainder by zero", 2, {{0x94, 0, 0, 0}, RET}},
		{"shift by 32", 2, {{0x64, 0, 0, 32}, RET}},
		{"extension of Linux", 2, {{0x28, 0, 0, 0xfffff000}, RET}},
		{"indirect offset that overflows", 2, {{0x48, 0, 0, 0x80000000}, RET}},
		{"MSH offset that overflows", 2, {{0xb1, 0, 0, 0x80000000}, RET}},
		{"MSH into A", 2, {{0xb0, 0, 0, 14}, RET}},
		{"absolute load into X", 2, {{0x21, 0, 0, 14}, RET}},
		{"unknown size", 2, {{0x38, 0, 0, 14}, RET}},
		{"unknown mode", 2, {{0xc0, 0, 0, 14}, RET}},
		{"unknown arithmetic", 2, {{0xb4, 0, 0, 1}, RET}},
		{"unknown jump", 2, {{0x55, 0, 0, 1}, RET}},
		{"return of X", 1, {{0x0e, 0, 0, 0}}},
		{"unknown miscellaneous", 2, {{0x47, 0, 0, 0}, RET}},
		{"code above 8 bits", 2, {{0x0100, 0, 0, 0}, RET}},
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (bp_capture_filter_invalid(bad[i].insn, bad[i].n) == NULL)
			fail_msg("%s was accepted", bad[i].what);
	for (uint32_t i = 0; i <= BP_CAPTURE_INSNS_MAX; i++)
		insn[i] = (struct bp_capture_insn)RET;
	assert_null(bp_capture_filter_invalid(insn, BP_CAPTURE_INSNS_MAX));
	assert_non_null(bp_capture_filter_invalid(insn, BP_CAPTURE_INSNS_MAX + 1));
}

/* The oracle is libpcap's validation, which accepts more: Linux's extensions and unknown modes. */
static void valid_programs_are_valid_for_libpcap(void **state)
{
	uint64_t seed = 11;
	unsigned valid = 0;

	for (unsigned i = 0; i < 300000; i++) {
		const uint32_t n = 1 + test_below(&seed, 6);

		for (uint32_t k = 0; k < n; k++)
			insn[k] = (struct bp_capture_insn){(uint16_t)test_below(&seed, 0xb8),
				(uint8_t)test_below(&seed, 3), (uint8_t)test_below(&seed, 3),
				test_below(&seed, 20)};
		if (test_below(&seed, 8) != 0)
			insn[n - 1].code = 0x06;
		if (test_below(&seed, 8) != 0)
			insn[0].code = 0x30;
		if (bp_capture_filter_invalid(insn, n) != NULL)
			continue;
		valid++;
		assert_true(bpf_validate((const struct bpf_insn *)(const void *)insn, (int)n));
	}
	assert_true(valid > 1000);
}

static void scratch_words_are_written_before_they_are_read(void **state)
{
	/* if (A == 1) M[3] = A; A = M[3]; return A; A and X are set before */
	const struct bp_capture_insn skips[] = {{0x80, 0, 0, 0}, {0x15, 0, 1, 1}, {0x02, 0, 0, 3},
		{0x60, 0, 0, 3}, {0x16, 0, 0, 0}};
	/* the same with M[3] = X in the other branch */
	const struct bp_capture_insn both[] = {{0x80, 0, 0, 0}, {0x07, 0, 0, 0}, {0x15, 0, 2, 1},
		{0x02, 0, 0, 3}, {0x05, 0, 0, 1}, {0x03, 0, 0, 3}, {0x60, 0, 0, 3},
		{0x16, 0, 0, 0}};

	assert_non_null(bp_capture_filter_invalid(skips, 5));
	assert_null(bp_capture_filter_invalid(both, 8));
}

/* if (A == 1) goto 4; A /= X; A %= 3; goto 5; 4: A = 1; 5: return A. All ways end at a return. */
static void cost_is_of_the_most_expensive_path(void **state)
{
	const struct bp_capture_insn p[] = {{0x80, 0, 0, 0}, {0x81, 0, 0, 0}, {0x15, 3, 0, 1},
		{0x3c, 0, 0, 0}, {0x94, 0, 0, 3}, {0x05, 0, 0, 1}, {0x00, 0, 0, 1},
		{0x16, 0, 0, 0}};

	assert_null(bp_capture_filter_invalid(p, 8));
	assert_int_equal(bp_capture_filter_cost(p, 8), 3 + 2 * BP_CAPTURE_DIVISION_COST + 2);
	assert_int_equal(bp_capture_filter_cost(p + 6, 2), 2);
	assert_int_equal(bp_capture_filter_cost(p, 0), 0);
	for (uint32_t i = 0; i < BP_CAPTURE_INSNS_MAX; i++)
		insn[i] = (struct bp_capture_insn){0x80, 0, 0, 0};
	insn[BP_CAPTURE_INSNS_MAX - 1] = (struct bp_capture_insn)RET;
	assert_int_equal(bp_capture_filter_cost(insn, BP_CAPTURE_INSNS_MAX), 512);
	/* what pcap_compile() generates for usual filters leaves room for eight of them */
	for (unsigned i = 0; i < sizeof(filters) / sizeof(filters[0]); i++)
		assert_in_range(bp_capture_filter_cost(insn, compile(filters[i])), 1,
			BP_CAPTURE_COST_MAX / BP_CAPTURE_SLOTS);
}

static void requests_are_validated(void **state)
{
	static struct bp_capture_request r;
	const struct bp_capture_request good = {
		.id = 1, .kind = BP_CAPTURE_FRAMES, .snap_length = 1, .rx = 1};

	r = good;
	assert_null(bp_capture_request_invalid(&r));
	r.kind = BP_CAPTURE_KINDS;
	assert_non_null(bp_capture_request_invalid(&r));
	r = good;
	r.snap_length = 0;
	assert_non_null(bp_capture_request_invalid(&r));
	r.snap_length = BP_CAPTURE_SNAP_MAX + 1;
	assert_non_null(bp_capture_request_invalid(&r));
	r = good;
	r.drops = 2;
	assert_non_null(bp_capture_request_invalid(&r));
	r = good;
	r.frames = BP_CAPTURE_TRACED_MAX + 1;
	assert_null(bp_capture_request_invalid(&r));
	r.kind = BP_CAPTURE_TRACE;
	assert_non_null(bp_capture_request_invalid(&r));
	r.frames--;
	assert_null(bp_capture_request_invalid(&r));
	r = good;
	r.n_insns = UINT32_MAX;
	assert_non_null(bp_capture_request_invalid(&r));
	r.n_insns = 1; /* 0 0 0 0 */
	assert_non_null(bp_capture_request_invalid(&r));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_of_pcap_compile_are_valid),
		cmocka_unit_test(programs_survive_as_text),
		cmocka_unit_test(longest_text_is_bounded),
		cmocka_unit_test(other_text_is_no_program),
		cmocka_unit_test(hostile_programs_are_refused),
		cmocka_unit_test(valid_programs_are_valid_for_libpcap),
		cmocka_unit_test(scratch_words_are_written_before_they_are_read),
		cmocka_unit_test(cost_is_of_the_most_expensive_path),
		cmocka_unit_test(requests_are_validated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
