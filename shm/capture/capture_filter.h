/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_CAPTURE_CAPTURE_FILTER_H
#define BP_SHM_CAPTURE_CAPTURE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Filter programs: classic BPF for Ethernet frames, as pcap_compile() generates it
 * (pcap-savefile's DLT_EN10MB). Both planes validate a program before they use it.
 */

#define BP_CAPTURE_INSNS_MAX 512u

/* One instruction; the same layout as struct bpf_insn of libpcap. */
struct bp_capture_insn {
	uint16_t code;
	uint8_t jt, jf;
	uint32_t k;
};

/*
 * Why a program must not be run, as a sentence; NULL: it is valid. A valid program has 1 to
 * BP_CAPTURE_INSNS_MAX instructions of the classic instruction set without Linux's extensions, ends
 * on every path (jumps lead forward and inside), and uses no scratch word outside of the 16, and no
 * scratch word or register that it has not written.
 * Offsets into the frame are checked when the program runs.
 */
const char *bp_capture_filter_invalid(const struct bp_capture_insn *insn, uint32_t n);

/*
 * What a valid program costs a frame at most: the instructions on its most expensive path; a
 * division counts as BP_CAPTURE_DIVISION_COST.
 */
#define BP_CAPTURE_DIVISION_COST 16u
uint32_t bp_capture_filter_cost(const struct bp_capture_insn *insn, uint32_t n);

/*
 * Programs as text, as for `tc ... bpf bytecode` and the xt_bpf match of iptables: the number of
 * instructions, then "CODE JT JF K" of each, separated by commas.
 */
#define BP_CAPTURE_TEXT_MAX (8u + BP_CAPTURE_INSNS_MAX * 25u) /* with the NUL */
void bp_capture_filter_print(
	const struct bp_capture_insn *insn, uint32_t n, char text[BP_CAPTURE_TEXT_MAX]);
/* False: it is no such text, or too long. The program is not validated. */
bool bp_capture_filter_parse(const char *text, struct bp_capture_insn *insn, uint32_t *n);

#endif
