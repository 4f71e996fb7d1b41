/* SPDX-License-Identifier: BSD-3-Clause */
/* The filters of captures: native code and the interpreter decide as libpcap does, for each frame
 * of a burst. */
#include "tests/unit/dataplane/capture/capture_rig.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define WIRE                                                                                       \
	"ports:\n"                                                                                 \
	"  - {name: a, device: net_null0}\n"                                                       \
	"  - {name: b, device: net_null1}\n"                                                       \
	"bridges: [{name: bridge0, ports: [a, b]}]\n"

static uint8_t scratch[BP_CAPTURE_SNAP_MAX + 1];

static bool oracle(const uint8_t *frame, uint32_t len)
{
	const struct bpf_program program = {
		request.n_insns, (struct bpf_insn *)(void *)request.insn};
	const struct pcap_pkthdr header = {.caplen = len, .len = len};

	return pcap_offline_filter(&program, &header, frame) != 0;
}

/* A frame in `parts` buffers. */
static struct rte_mbuf *make(struct rig *r, const uint8_t *frame, uint32_t len, unsigned parts)
{
	struct rte_mbuf *first = NULL, *last = NULL;

	for (unsigned i = 0; i < parts; i++) {
		const uint32_t n = i + 1 < parts ? len / parts : len - len / parts * (parts - 1);
		struct rte_mbuf *m = rte_pktmbuf_alloc(r->pool);

		assert_non_null(m);
		memcpy(rte_pktmbuf_append(m, (uint16_t)n), frame + len / parts * i, n);
		if (first == NULL) {
			first = m;
		} else {
			last->next = m;
			first->nb_segs++;
			first->pkt_len += n;
		}
		last = m;
	}
	return first;
}

static uint32_t random_frame(uint64_t *seed, uint8_t *f);

/* A burst of 0 to 64 frames, some of several buffers. Returns how many match. */
static unsigned check(struct rig *r, const struct bp_capture_filter *f, uint64_t *seed)
{
	const unsigned n = test_below(seed, BP_CAPTURE_BURST + 1), chains = test_below(seed, 4);
	struct bp_capture_filter interpreted = *f;
	struct rte_mbuf *m[BP_CAPTURE_BURST];
	uint64_t want = 0;

	for (unsigned i = 0; i < n; i++) {
		uint8_t frame[256];
		const uint32_t len = random_frame(seed, frame);

		m[i] = make(r, frame, len, chains == 0 ? 1 : 1 + test_below(seed, chains + 1));
		want |= (uint64_t)oracle(frame, len) << i;
	}
	interpreted.engine = BP_CAPTURE_INTERPRETER;
	assert_int_equal(bp_capture_filter_match(f, m, n, scratch), want);
	assert_int_equal(bp_capture_filter_match(&interpreted, m, n, scratch), want);
	rte_pktmbuf_free_bulk(m, n);
	return (unsigned)__builtin_popcountll(want);
}

/* IPv4 or IPv6, TCP or UDP, some with tags; every field small so that filters match at times. */
static uint32_t random_frame(uint64_t *seed, uint8_t *f)
{
	const uint32_t len = 14 + test_below(seed, 150);
	uint32_t at = 12;

	for (uint32_t i = 0; i < 200; i++)
		f[i] = (uint8_t)test_below(seed, 4);
	if (test_below(seed, 4) == 0) {
		f[at] = 0x81;
		f[at + 1] = 0;
		f[at + 3] = 5;
		at += 4;
	}
	if (test_below(seed, 2)) {
		f[at] = 0x08;
		f[at + 1] = 0;
		f[at + 2] = 0x45;
		f[at + 8] = f[at + 9] = 0;
		f[at + 11] = test_below(seed, 2) ? 6 : 17;
	} else {
		f[at] = 0x86;
		f[at + 1] = 0xdd;
		f[at + 2] = 0x60;
		f[at + 8] = test_below(seed, 2) ? 6 : 17;
	}
	return len;
}

static void filters_decide_as_libpcap(void **state)
{
	static const char *const filters[] = {"ip", "ip6", "vlan 5 and ip",
		"tcp port 1 or udp port 2", "ip src 1.2.3.0", "tcp[13] & 2 != 0", "ip[2:2] % 3 = 1",
		"len > 60", "ether[20] + ether[21] = 3", "ether[ether[14] + 2] = 1",
		"(udp or tcp) and (src port 257 or dst port 514)", "ip proto 6 and ip[8] < 3",
		"ether src 00:01:02:03:00:01", "portrange 0-300", "greater 100 and less 120",
		"ether[140:4] = 0x01020300", "ether[150] >> 1 = 1"};
	unsigned matches = 0, native = 0;
	uint64_t seed = 21;
	struct rig r;

	rig_start(&r, WIRE, false, false);
	for (unsigned i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		struct bp_capture_filter f;

		new_request(1);
		filter_request(filters[i]);
		assert_true(bp_capture_filter_compile(&f, &request));
		assert_int_not_equal(f.engine, BP_CAPTURE_NO_FILTER);
		native += f.engine == BP_CAPTURE_NATIVE;
		for (unsigned k = 0; k < 200; k++)
			matches += check(&r, &f, &seed);
		bp_capture_filter_free(&f);
	}
	assert_true(matches > 1000);
#if defined(__x86_64__)
	assert_int_equal(native, sizeof(filters) / sizeof(filters[0]));
#endif
	rig_stop(&r);
}

/* Valid programs of no compiler, which read outside of the frame, or divide by an X of 0. */
static unsigned compare_programs(
	struct rig *r, const uint16_t *codes, unsigned n_codes, unsigned programs, uint64_t *seed)
{
	unsigned valid = 0;

	for (unsigned i = 0; i < programs; i++) {
		const uint32_t n = 3 + test_below(seed, 12);
		struct bp_capture_filter f;

		new_request(1)->n_insns = n;
		for (uint32_t k = 0; k < n; k++)
			request.insn[k] = (struct bp_capture_insn){codes[test_below(seed, n_codes)],
				(uint8_t)test_below(seed, 4), (uint8_t)test_below(seed, 4),
				test_below(seed, 8) ? test_below(seed, 40)
						    : (uint32_t)test_random(seed) >> 1};
		/* both registers are written */
		request.insn[0] = (struct bp_capture_insn){0x30, 0, 0, test_below(seed, 30)};
		request.insn[1] = (struct bp_capture_insn){0xb1, 0, 0, 14};
		request.insn[n - 1] = (struct bp_capture_insn){0x16, 0, 0, 0};
		if (bp_capture_filter_invalid(request.insn, n) != NULL)
			continue;
		assert_true(bp_capture_filter_compile(&f, &request));
		valid++;
		check(r, &f, seed);
		bp_capture_filter_free(&f);
	}
	return valid;
}

static void random_programs_decide_as_libpcap(void **state)
{
	/* the second list has mainly loads and jumps */
	static const uint16_t all[] = {0x00, 0x01, 0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x60, 0x61,
		0x80, 0x81, 0xb1, 0x02, 0x03, 0x04, 0x0c, 0x14, 0x1c, 0x24, 0x2c, 0x34, 0x3c, 0x44,
		0x4c, 0x54, 0x5c, 0x64, 0x6c, 0x74, 0x7c, 0x84, 0x94, 0x9c, 0xa4, 0xac, 0x05, 0x15,
		0x1d, 0x25, 0x2d, 0x35, 0x3d, 0x45, 0x4d, 0x06, 0x16, 0x07, 0x87};
	static const uint16_t common[] = {0x20, 0x28, 0x30, 0x40, 0x48, 0x50, 0x80, 0xb1, 0x54,
		0x05, 0x15, 0x25, 0x35, 0x45, 0x06, 0x15, 0x25, 0x35, 0x16};
	uint64_t seed = 77;
	struct rig r;

	rig_start(&r, WIRE, false, false);
	assert_true(compare_programs(&r, all, sizeof(all) / sizeof(all[0]), 30000, &seed) > 3000);
	assert_true(compare_programs(&r, common, sizeof(common) / sizeof(common[0]), 30000, &seed) >
		    3000);
	rig_stop(&r);
}

/* 2^100 paths: a verifier that follows each would not end. */
static void program_with_many_paths_is_compiled(void **state)
{
	struct bp_capture_filter f;
	uint64_t seed = 1;
	struct rig r;

	rig_start(&r, WIRE, false, false);
	new_request(1)->n_insns = 2 * 100 + 2;
	request.insn[0] = (struct bp_capture_insn){0x30, 0, 0, 0};
	for (uint32_t i = 0; i < 100; i++) {
		request.insn[1 + 2 * i] = (struct bp_capture_insn){0x15, 0, 1, i};
		request.insn[2 + 2 * i] = (struct bp_capture_insn){0x04, 0, 0, 1};
	}
	request.insn[201] = (struct bp_capture_insn){0x16, 0, 0, 0};
	assert_null(bp_capture_filter_invalid(request.insn, request.n_insns));
	assert_true(bp_capture_filter_compile(&f, &request));
	for (unsigned k = 0; k < 10; k++)
		check(&r, &f, &seed);
	bp_capture_filter_free(&f);
	rig_stop(&r);
}

/* `ret A`, a jump to `ret 0`, and programs of one instruction. */
static void results_select_frames(void **state)
{
	static const struct {
		struct bp_capture_insn insn[4];
		uint32_t n;
	} programs[] = {{{{0x06, 0, 0, 0}}, 1}, {{{0x06, 0, 0, UINT32_MAX}}, 1},
		{{{0x80, 0, 0, 0}, {0x16, 0, 0, 0}}, 2}, {{{0x00, 0, 0, 0}, {0x16, 0, 0, 0}}, 2},
		{{{0x30, 0, 0, 20}, {0x15, 0, 1, 2}, {0x06, 0, 0, 0}, {0x06, 0, 0, 1}}, 4},
		{{{0x30, 0, 0, 20}, {0x15, 1, 0, 2}, {0x06, 0, 0, 1}, {0x06, 0, 0, 0}}, 4}};
	uint64_t seed = 3;
	struct rig r;

	rig_start(&r, WIRE, false, false);
	for (unsigned i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct bp_capture_filter f;

		new_request(1)->n_insns = programs[i].n;
		memcpy(request.insn, programs[i].insn, sizeof(programs[i].insn));
		assert_null(bp_capture_filter_invalid(request.insn, request.n_insns));
		assert_true(bp_capture_filter_compile(&f, &request));
		for (unsigned k = 0; k < 200; k++)
			check(&r, &f, &seed);
		bp_capture_filter_free(&f);
	}
	rig_stop(&r);
}

/* Whether a process that cannot make this system call with these flags has native code. */
static bool native_without(int call, unsigned argument, uint32_t flags)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[argument])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, flags, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct bp_capture_filter f;

		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
			prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0 ||
			!bp_capture_filter_compile(&f, &request))
			_exit(2);
		_exit(f.engine == BP_CAPTURE_NATIVE);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status) == 1;
}

/* As MemoryDenyWriteExecute= of systemd, which the unit of the data plane has. */
static void native_code_was_never_writable_memory(void **state)
{
	new_request(1);
	filter_request("udp port 9");
#ifdef __x86_64__
	assert_true(native_without(SYS_mprotect, 2, PROT_EXEC));
#endif
	assert_false(native_without(SYS_memfd_create, 1, MFD_CLOEXEC));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_decide_as_libpcap),
		cmocka_unit_test(random_programs_decide_as_libpcap),
		cmocka_unit_test(program_with_many_paths_is_compiled),
		cmocka_unit_test(results_select_frames),
		cmocka_unit_test(native_code_was_never_writable_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
