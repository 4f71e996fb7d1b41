/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request for a capture as the main thread of the data plane takes it from the segment, next to
 * one that uses half of the instructions. What is taken is valid, together within the limit, and
 * native code and interpreter decide each frame as libpcap does, in one buffer and in two.
 */
#include "tests/fuzz/fuzz.h"

#include <pcap/pcap.h>

#include "dataplane/capture/capture_sets.h"

#define HEAD 8u    /* bytes of the request before its program */
#define RING 64u   /* bytes of the ring */
#define OTHER 300u /* instructions of the other request */

static struct bp_shm shm;
static uint8_t scratch[BP_CAPTURE_SNAP_MAX + 1];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	shm.control = calloc(1, sizeof(*shm.control));
	shm.capture = (struct bp_capture_tables){
		.slot = calloc(BP_CAPTURE_SLOTS, sizeof(*shm.capture.slot)),
		.status = calloc(BP_CAPTURE_SLOTS, sizeof(*shm.capture.status)),
		.rings = aligned_alloc(64, BP_CAPTURE_RING_OVERHEAD + RING),
		.ring_stride = BP_CAPTURE_RING_OVERHEAD + RING,
		.ring_capacity = RING};
	HOLDS(shm.control != NULL && shm.capture.slot != NULL && shm.capture.status != NULL &&
		shm.capture.rings != NULL);
	return 0;
}

static void request(unsigned slot, const struct bp_capture_request *r)
{
	bp_seqlock_write(&shm.capture.slot[slot].lock, r, sizeof(*r));
	atomic_fetch_add(&shm.control->captures_changed, 1);
}

/* The number of instructions may be wrong, by up to 3, or by much. */
static void fuzzed_request(const uint8_t *data, size_t size)
{
	static struct bp_capture_request r;
	const size_t n = (size - HEAD) / sizeof(r.insn[0]);

	memset(&r, 0, sizeof(r));
	r.id = 2;
	r.kind = data[1];
	r.ports = data[2] & 1 ? BP_CAPTURE_ALL_PORTS : data[2];
	r.snap_length = data[3] == 0xff ? UINT32_MAX : data[3] * 300u;
	r.frames = data[4] * 5u;
	r.rx = data[5] & 3;
	r.tx = data[5] >> 2 & 3;
	r.drops = data[5] >> 4 & 3;
	memcpy(r.insn, data + HEAD, RTE_MIN(n, BP_CAPTURE_INSNS_MAX) * sizeof(r.insn[0]));
	r.n_insns = (uint32_t)n + (data[6] & 3);
	if (data[6] & 0x80)
		r.n_insns += data[7] * 0x01010101u;
	request(data[0] % (BP_CAPTURE_SLOTS - 1), &r);
}

static void other_request(void)
{
	static struct bp_capture_request r;

	r = (struct bp_capture_request){
		.id = 1, .kind = BP_CAPTURE_FRAMES, .snap_length = 1, .rx = 1, .n_insns = OTHER};
	for (unsigned i = 0; i + 1 < OTHER; i++)
		r.insn[i].code = BPF_LD | BPF_W | BPF_LEN;
	r.insn[OTHER - 1] = (struct bp_capture_insn){BPF_RET | BPF_K, 0, 0, 1};
	request(BP_CAPTURE_SLOTS - 1, &r);
}

/* An mbuf around memory of exactly that size. */
static void wrap(struct rte_mbuf *m, uint8_t *bytes, size_t n)
{
	memset(m, 0, sizeof(*m));
	m->buf_addr = bytes;
	m->buf_len = m->data_len = (uint16_t)n;
	m->pkt_len = (uint32_t)n;
	m->nb_segs = 1;
}

/* The frame in one buffer, in two, and again in one. */
static void compare(const struct bp_capture_filter *f, const uint8_t *frame, size_t n)
{
	const size_t half = n / 2;
	uint8_t *whole = exact_copy(frame, n), *first = exact_copy(frame, half),
		*rest = exact_copy(frame + half, n - half);
	const struct bpf_program program = {f->n_insns, (struct bpf_insn *)(void *)f->insn};
	const struct pcap_pkthdr header = {.caplen = (bpf_u_int32)n, .len = (bpf_u_int32)n};
	const bool want = f->insn == NULL || pcap_offline_filter(&program, &header, whole) != 0;
	struct bp_capture_filter interpreted = *f;
	struct rte_mbuf one, chain, next, *m[] = {&one, &chain, &one};

	wrap(&one, whole, n);
	wrap(&chain, first, half);
	wrap(&next, rest, n - half);
	chain.next = &next;
	chain.nb_segs = 2;
	chain.pkt_len = (uint32_t)n;
	HOLDS(bp_capture_filter_match(f, m, 3, scratch) == (want ? 7 : 0));
	if (f->engine == BP_CAPTURE_NATIVE)
		interpreted.engine = BP_CAPTURE_INTERPRETER;
	HOLDS(bp_capture_filter_match(&interpreted, m, 3, scratch) == (want ? 7 : 0));
	free(whole);
	free(first);
	free(rest);
}

static void check(const struct bp_capture_set *set, const uint8_t *frame, size_t n)
{
	HOLDS(set->cost <= BP_CAPTURE_COST_MAX && set->n <= BP_CAPTURE_SLOTS && set->used);
	for (unsigned i = 0; i < set->n; i++) {
		const struct bp_capture_active *a = &set->of[i];

		HOLDS(a->kind == BP_CAPTURE_FRAMES || a->kind == BP_CAPTURE_TRACE);
		HOLDS(a->snap_length >= 1 && a->snap_length <= BP_CAPTURE_SNAP_MAX);
		HOLDS(a->kind != BP_CAPTURE_TRACE || a->frames <= BP_CAPTURE_TRACED_MAX);
		compare(&a->filter, frame, n);
	}
}

/* A byte with the length of the frame, the frame, and the request. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bp_capture_sets *sets;
	size_t n;

	if (size < 1 + HEAD)
		return 0;
	n = RTE_MIN((size_t)data[0], size - 1 - HEAD);
	sets = bp_capture_sets_create(&shm, 1);
	HOLDS(sets != NULL);
	for (unsigned slot = 0; slot < BP_CAPTURE_SLOTS; slot++)
		request(slot, &(struct bp_capture_request){0});
	other_request();
	fuzzed_request(data + 1 + n, size - 1 - n);
	HOLDS(bp_capture_sets_poll(sets));
	check(atomic_load(&sets->active), data + 1, n);
	bp_capture_sets_free(sets);
	return 0;
}
