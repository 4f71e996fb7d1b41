/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/capture/capture_filter.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* The instruction set of "The BSD Packet Filter" (McCanne, Jacobson 1993), as in <pcap/bpf.h>. */
#define CLASS(code) ((code)&0x07)
#define SIZE(code) ((code)&0x18)
#define MODE(code) ((code)&0xe0)
#define OP(code) ((code)&0xf0)
#define SOURCE_X 0x08
enum { LD, LDX, ST, STX, ALU, JMP, RET, MISC };
enum { W = 0x00, H = 0x08, B = 0x10 };
enum { IMM = 0x00, ABS = 0x20, IND = 0x40, MEM = 0x60, LEN = 0x80, MSH = 0xa0 };
enum { OP_DIV = 0x30, OP_NEG = 0x80, OP_MOD = 0x90, OP_XOR = 0xa0, OP_LSH = 0x60, OP_RSH = 0x70 };
enum { JA = 0x00, JSET = 0x40 };
enum { RET_K = 0x06, RET_A = 0x16, TAX = 0x07, TXA = 0x87, ST_A = 0x02, ST_X = 0x03 };
#define SCRATCH_WORDS 16u
/* Offsets from here on are Linux's extensions, or an overflow of a signed number. */
#define OFFSET_END 0x80000000u

static const char *load_invalid(const struct bp_capture_insn *i)
{
	const unsigned size = SIZE(i->code), mode = MODE(i->code);

	switch (mode) {
	case IMM:
	case LEN:
		return size == W ? NULL : "a load has an invalid size";
	case MEM:
		if (size != W)
			return "a load has an invalid size";
		return i->k < SCRATCH_WORDS ? NULL : "a load is outside of the scratch memory";
	case ABS:
	case IND:
		if (CLASS(i->code) != LD || (size != W && size != H && size != B))
			return "a load has an invalid size";
		return i->k < OFFSET_END ? NULL : "a load has an offset above 2 GiB";
	case MSH:
		if (i->code != (LDX | B | MSH))
			return "a load has an invalid mode";
		return i->k < OFFSET_END ? NULL : "a load has an offset above 2 GiB";
	default:
		return "a load has an invalid mode";
	}
}

static const char *alu_invalid(const struct bp_capture_insn *i)
{
	const unsigned op = OP(i->code);
	const bool constant = (i->code & SOURCE_X) == 0;

	if (op > OP_XOR || (op == OP_NEG && !constant))
		return "an arithmetic instruction is unknown";
	if ((op == OP_DIV || op == OP_MOD) && constant && i->k == 0)
		return "it divides by zero";
	if ((op == OP_LSH || op == OP_RSH) && constant && i->k > 31)
		return "it shifts by more than 31 bits";
	return NULL;
}

/* `left`: the number of instructions after this one. */
static const char *jump_invalid(const struct bp_capture_insn *i, uint32_t left)
{
	if (OP(i->code) > JSET || (i->code == (JMP | JA | SOURCE_X)))
		return "a jump is unknown";
	if (OP(i->code) == JA)
		return i->k < left ? NULL : "a jump leads out of it";
	return i->jt < left && i->jf < left ? NULL : "a jump leads out of it";
}

static const char *insn_invalid(const struct bp_capture_insn *i, uint32_t left)
{
	if ((i->code & ~0xffu) != 0)
		return "an instruction is unknown";
	switch (CLASS(i->code)) {
	case LD:
	case LDX:
		return load_invalid(i);
	case ST:
	case STX:
		if (i->code != ST_A && i->code != ST_X)
			return "a store is unknown";
		return i->k < SCRATCH_WORDS ? NULL : "a store is outside of the scratch memory";
	case ALU:
		return alu_invalid(i);
	case JMP:
		return jump_invalid(i, left);
	case RET:
		return i->code == RET_K || i->code == RET_A ? NULL : "a return is unknown";
	default:
		return i->code == TAX || i->code == TXA ? NULL : "an instruction is unknown";
	}
}

/* What a program has written: bit per scratch word, and these. */
#define REGISTER_A (1u << SCRATCH_WORDS)
#define REGISTER_X (2u << SCRATCH_WORDS)

/* What a valid instruction reads. */
static uint32_t reads(const struct bp_capture_insn *i)
{
	const unsigned class = CLASS(i->code);
	uint32_t what = 0;

	if (class == LD || class == LDX)
		return MODE(i->code) == MEM ? 1u << i->k : MODE(i->code) == IND ? REGISTER_X : 0;
	if (class == ST || class == ALU || i->code == RET_A || i->code == TAX ||
		(class == JMP && OP(i->code) != JA))
		what |= REGISTER_A;
	if (class == STX || i->code == TXA ||
		((class == ALU || class == JMP) && (i->code & SOURCE_X) != 0))
		what |= REGISTER_X;
	return what;
}

static uint32_t writes(const struct bp_capture_insn *i)
{
	switch (CLASS(i->code)) {
	case LD:
	case ALU:
		return REGISTER_A;
	case LDX:
		return REGISTER_X;
	case ST:
	case STX:
		return 1u << i->k;
	case MISC:
		return i->code == TAX ? REGISTER_X : REGISTER_A;
	default:
		return 0;
	}
}

/*
 * Whether a register or scratch word may be read before it is written: their values are not defined
 * alike by all engines. `written[i]`: what every path to instruction i has written. Jumps lead
 * forward, so one pass is enough.
 */
static bool reads_unwritten(const struct bp_capture_insn *insn, uint32_t n)
{
	uint32_t written[BP_CAPTURE_INSNS_MAX];

	written[0] = 0;
	for (uint32_t i = 1; i < n; i++)
		written[i] = UINT32_MAX; /* no path is known yet */
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t after = written[i] | writes(&insn[i]);

		if ((reads(&insn[i]) & ~written[i]) != 0)
			return true;
		if (CLASS(insn[i].code) == RET)
			continue;
		if (CLASS(insn[i].code) != JMP) {
			written[i + 1] &= after;
		} else if (OP(insn[i].code) == JA) {
			written[i + 1 + insn[i].k] &= after;
		} else {
			written[i + 1 + insn[i].jt] &= after;
			written[i + 1 + insn[i].jf] &= after;
		}
	}
	return false;
}

const char *bp_capture_filter_invalid(const struct bp_capture_insn *insn, uint32_t n)
{
	if (n == 0 || n > BP_CAPTURE_INSNS_MAX)
		return "it has no instruction, or more than 512";
	for (uint32_t i = 0; i < n; i++) {
		const char *why = insn_invalid(&insn[i], n - 1 - i);

		if (why != NULL)
			return why;
	}
	if (CLASS(insn[n - 1].code) != RET)
		return "its last instruction is not a return";
	return reads_unwritten(insn, n) ? "it uses what it has not written" : NULL;
}

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Jumps lead forward, so one pass from the end is enough. */
uint32_t bp_capture_filter_cost(const struct bp_capture_insn *insn, uint32_t n)
{
	uint32_t cost[BP_CAPTURE_INSNS_MAX]; /* from this instruction on */

	for (uint32_t i = n; i-- > 0;) {
		const unsigned class = CLASS(insn[i].code), op = OP(insn[i].code);

		cost[i] = class == ALU && (op == OP_DIV || op == OP_MOD) ? BP_CAPTURE_DIVISION_COST
									 : 1;
		if (class == JMP)
			cost[i] +=
				op == JA ? cost[i + 1 + insn[i].k]
					 : max(cost[i + 1 + insn[i].jt], cost[i + 1 + insn[i].jf]);
		else if (class != RET)
			cost[i] += cost[i + 1];
	}
	return n != 0 ? cost[0] : 0;
}

/* ---- text ---- */

void bp_capture_filter_print(
	const struct bp_capture_insn *insn, uint32_t n, char text[BP_CAPTURE_TEXT_MAX])
{
	int at = snprintf(text, BP_CAPTURE_TEXT_MAX, "%u", n);

	for (uint32_t i = 0; i < n; i++)
		at += snprintf(text + at, BP_CAPTURE_TEXT_MAX - (size_t)at, ",%u %u %u %u",
			insn[i].code, insn[i].jt, insn[i].jf, insn[i].k);
}

/* A decimal number of at most `max` at *text, which is moved behind it. */
static bool number(const char **text, uint64_t max, uint64_t *value)
{
	char *end;

	/* strtoull accepts blanks and signs */
	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	*value = strtoull(*text, &end, 10);
	*text = end;
	return errno == 0 && *value <= max;
}

static bool after(const char **text, char separator)
{
	if (**text != separator)
		return false;
	(*text)++;
	return true;
}

static bool parse_insn(const char **text, struct bp_capture_insn *insn)
{
	uint64_t code, jt, jf, k;

	if (!after(text, ',') || !number(text, UINT16_MAX, &code) || !after(text, ' ') ||
		!number(text, UINT8_MAX, &jt) || !after(text, ' ') ||
		!number(text, UINT8_MAX, &jf) || !after(text, ' ') || !number(text, UINT32_MAX, &k))
		return false;
	*insn = (struct bp_capture_insn){(uint16_t)code, (uint8_t)jt, (uint8_t)jf, (uint32_t)k};
	return true;
}

bool bp_capture_filter_parse(const char *text, struct bp_capture_insn *insn, uint32_t *n)
{
	uint64_t count;

	if (!number(&text, BP_CAPTURE_INSNS_MAX, &count))
		return false;
	for (uint64_t i = 0; i < count; i++)
		if (!parse_insn(&text, &insn[i]))
			return false;
	*n = (uint32_t)count;
	return *text == '\0';
}
