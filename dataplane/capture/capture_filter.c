/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>

#include "dataplane/capture/capture_sets.h"

_Static_assert(sizeof(struct bpf_insn) == sizeof(struct bp_capture_insn), "one layout");

bool bp_capture_filter_compile(struct bp_capture_filter *f, const struct bp_capture_request *r)
{
	const size_t size = r->n_insns * sizeof(r->insn[0]);

	memset(f, 0, sizeof(*f));
	f->engine = BP_CAPTURE_NO_FILTER;
	if (r->n_insns == 0)
		return true;
	f->insn = malloc(size);
	if (f->insn == NULL)
		return false;
	memcpy(f->insn, r->insn, size);
	f->n_insns = r->n_insns;
	f->native = bp_filter_native_compile(f->insn, r->n_insns, &f->native_size);
	f->engine = f->native != NULL ? BP_CAPTURE_NATIVE : BP_CAPTURE_INTERPRETER;
	return true;
}

void bp_capture_filter_free(struct bp_capture_filter *f)
{
	bp_filter_native_free(f->native, f->native_size);
	free(f->insn);
	memset(f, 0, sizeof(*f));
}

static bool interpret(const struct bp_capture_filter *f, struct rte_mbuf *m, uint8_t *scratch)
{
	const uint32_t len = RTE_MIN(m->pkt_len, BP_CAPTURE_SNAP_MAX);
	const uint8_t *data = rte_pktmbuf_read(m, 0, len, scratch);
	const struct bpf_program program = {f->n_insns, (struct bpf_insn *)(void *)f->insn};
	const struct pcap_pkthdr header = {.caplen = len, .len = m->pkt_len};

	return data != NULL && pcap_offline_filter(&program, &header, data) != 0;
}

uint64_t bp_capture_filter_match(
	const struct bp_capture_filter *f, struct rte_mbuf *const *m, unsigned n, uint8_t *scratch)
{
	uint64_t matched = n < BP_CAPTURE_BURST ? (UINT64_C(1) << n) - 1 : UINT64_MAX;

	if (f->engine == BP_CAPTURE_NO_FILTER)
		return matched;
	if (f->engine == BP_CAPTURE_NATIVE)
		matched = f->native(m, n);
	for (uint64_t left = matched; left != 0; left &= left - 1) {
		const unsigned i = (unsigned)__builtin_ctzll(left);

		if (f->engine == BP_CAPTURE_NATIVE && m[i]->data_len == m[i]->pkt_len)
			continue;
		if (!interpret(f, m[i], scratch))
			matched &= ~(UINT64_C(1) << i);
	}
	return matched;
}
