/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/capture/filter_native.h"

#include <stdbool.h>
#include <string.h>

#ifdef __x86_64__

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <pcap/pcap.h>

/*
 * A loop over the frames, from the last to the first, with the program in it: r9 is the address of
 * the frame's pointer, r10 that of the first one, and r11 has the bits of the frames so far.
 * Registers: A is eax, X is edx, the frame is at rdi, its length is rsi; ecx and r8 are temporary.
 * The 16 scratch words are in the 128 bytes below rsp that a leaf function may use. All constants
 * have 32 bits, so each instruction has the same size in both passes.
 */
#define SCRATCH (-64)
#define OFFSET(member) ((uint8_t)offsetof(struct rte_mbuf, member))
_Static_assert(offsetof(struct rte_mbuf, data_len) < 128, "offsets of 8 bits");

struct code {
	uint8_t *out; /* NULL in the first pass, which only measures */
	uint32_t n;
	uint32_t at[BP_CAPTURE_INSNS_MAX]; /* of each instruction */
	uint32_t next, match, end;         /* of the loop; next: this frame does not match */
	uint32_t n_insns;
};

static void bytes(struct code *c, const void *from, uint32_t n)
{
	if (c->out != NULL)
		memcpy(c->out + c->n, from, n);
	c->n += n;
}

#define EMIT(c_, ...)                                                                              \
	bytes(c_, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void word(struct code *c, uint32_t v)
{
	bytes(c, &v, sizeof(v));
}

/* The distance from the end of a jump, which is here plus 4, to a place in the code. */
static void distance(struct code *c, uint32_t to)
{
	word(c, to - (c->n + 4));
}

enum condition { BELOW = 0x2, ABOVE_EQUAL = 0x3, EQUAL = 0x4, NOT_EQUAL = 0x5, ABOVE = 0x7 };

static void jump_if(struct code *c, enum condition condition, uint32_t to)
{
	EMIT(c, 0x0f, (uint8_t)(0x80 | condition)); /* jcc rel32 */
	distance(c, to);
}

static void jump(struct code *c, uint32_t to)
{
	EMIT(c, 0xe9); /* jmp rel32 */
	distance(c, to);
}

/* ---- loads ---- */

static uint32_t load_size(uint16_t code)
{
	return BPF_SIZE(code) == BPF_W ? 4 : BPF_SIZE(code) == BPF_H ? 2 : 1;
}

/* A from the frame: at rdi + disp32, or rdi + rcx. */
static void load(struct code *c, uint16_t code, bool indirect, uint32_t k)
{
	/* the ModRM byte for eax, [rdi + disp32], or for a SIB byte of [rdi + rcx] */
	const uint8_t modrm = indirect ? 0x04 : 0x87;

	switch (BPF_SIZE(code)) {
	case BPF_W:
		EMIT(c, 0x8b, modrm); /* mov eax, */
		break;
	case BPF_H:
		EMIT(c, 0x0f, 0xb7, modrm); /* movzx eax, word */
		break;
	default:
		EMIT(c, 0x0f, 0xb6, modrm); /* movzx eax, byte */
	}
	if (indirect)
		EMIT(c, 0x0f); /* [rdi + rcx * 1] */
	else
		word(c, k);
	if (BPF_SIZE(code) == BPF_W)
		EMIT(c, 0x0f, 0xc8); /* bswap eax */
	else if (BPF_SIZE(code) == BPF_H)
		EMIT(c, 0x66, 0xc1, 0xc0, 0x08); /* rol ax, 8 */
}

/* No match if the frame has less than k + size bytes; k is below 2^31. */
static void check_absolute(struct code *c, uint32_t k, uint32_t size)
{
	EMIT(c, 0x81, 0xfe); /* cmp esi, imm32 */
	word(c, k + size);
	jump_if(c, BELOW, c->next);
}

static void load_indirect(struct code *c, const struct bp_capture_insn *i)
{
	EMIT(c, 0x89, 0xd1);       /* mov ecx, edx */
	EMIT(c, 0x48, 0x81, 0xc1); /* add rcx, imm32: below 2^33 */
	word(c, i->k);
	EMIT(c, 0x4c, 0x8d, 0x41, (uint8_t)load_size(i->code)); /* lea r8, [rcx + size] */
	EMIT(c, 0x49, 0x39, 0xf0);                              /* cmp r8, rsi */
	jump_if(c, ABOVE, c->next);
	load(c, i->code, true, 0);
}

static void compile_ld(struct code *c, const struct bp_capture_insn *i)
{
	switch (BPF_MODE(i->code)) {
	case BPF_IMM:
		EMIT(c, 0xb8); /* mov eax, imm32 */
		word(c, i->k);
		break;
	case BPF_LEN:
		EMIT(c, 0x89, 0xf0); /* mov eax, esi */
		break;
	case BPF_MEM:
		EMIT(c, 0x8b, 0x44, 0x24, (uint8_t)(SCRATCH + 4 * (int)i->k)); /* mov eax, [rsp] */
		break;
	case BPF_ABS:
		check_absolute(c, i->k, load_size(i->code));
		load(c, i->code, false, i->k);
		break;
	default:
		load_indirect(c, i);
	}
}

static void compile_ldx(struct code *c, const struct bp_capture_insn *i)
{
	switch (BPF_MODE(i->code)) {
	case BPF_IMM:
		EMIT(c, 0xba); /* mov edx, imm32 */
		word(c, i->k);
		break;
	case BPF_LEN:
		EMIT(c, 0x89, 0xf2); /* mov edx, esi */
		break;
	case BPF_MEM:
		EMIT(c, 0x8b, 0x54, 0x24, (uint8_t)(SCRATCH + 4 * (int)i->k)); /* mov edx, [rsp] */
		break;
	default:
		check_absolute(c, i->k, 1);
		EMIT(c, 0x0f, 0xb6, 0x97); /* movzx edx, byte [rdi + disp32] */
		word(c, i->k);
		EMIT(c, 0x83, 0xe2, 0x0f); /* and edx, 15 */
		EMIT(c, 0xc1, 0xe2, 0x02); /* shl edx, 2 */
	}
}

/* ---- arithmetic ---- */

/* A / ecx, or A % ecx; ecx is not 0. */
static void divide(struct code *c, bool remainder)
{
	EMIT(c, 0x41, 0x89, 0xd0); /* mov r8d, edx */
	EMIT(c, 0x31, 0xd2);       /* xor edx, edx */
	EMIT(c, 0xf7, 0xf1);       /* div ecx */
	if (remainder)
		EMIT(c, 0x89, 0xd0); /* mov eax, edx */
	EMIT(c, 0x44, 0x89, 0xc2);   /* mov edx, r8d */
}

static void compile_alu_k(struct code *c, const struct bp_capture_insn *i)
{
	static const uint8_t simple[16] = {[BPF_ADD >> 4] = 0x05,
		[BPF_SUB >> 4] = 0x2d,
		[BPF_AND >> 4] = 0x25,
		[BPF_OR >> 4] = 0x0d,
		[BPF_XOR >> 4] = 0x35};

	switch (BPF_OP(i->code)) {
	case BPF_MUL:
		EMIT(c, 0x69, 0xc0); /* imul eax, eax, imm32 */
		word(c, i->k);
		break;
	case BPF_DIV:
	case BPF_MOD:
		EMIT(c, 0xb9); /* mov ecx, imm32 */
		word(c, i->k);
		divide(c, BPF_OP(i->code) == BPF_MOD);
		break;
	case BPF_LSH:
		EMIT(c, 0xc1, 0xe0, (uint8_t)i->k); /* shl eax, imm8 */
		break;
	case BPF_RSH:
		EMIT(c, 0xc1, 0xe8, (uint8_t)i->k); /* shr eax, imm8 */
		break;
	case BPF_NEG:
		EMIT(c, 0xf7, 0xd8); /* neg eax */
		break;
	default:
		EMIT(c, simple[BPF_OP(i->code) >> 4]); /* op eax, imm32 */
		word(c, i->k);
	}
}

/* A shift by X; by 32 and more the result is 0, unlike that of the processor. */
static void shift_x(struct code *c, uint8_t modrm)
{
	EMIT(c, 0x89, 0xd1);       /* mov ecx, edx */
	EMIT(c, 0xd3, modrm);      /* shl or shr eax, cl */
	EMIT(c, 0x83, 0xf9, 0x20); /* cmp ecx, 32 */
	EMIT(c, 0x19, 0xc9);       /* sbb ecx, ecx: all ones if below */
	EMIT(c, 0x21, 0xc8);       /* and eax, ecx */
}

static void compile_alu_x(struct code *c, const struct bp_capture_insn *i)
{
	static const uint8_t simple[16] = {[BPF_ADD >> 4] = 0x01,
		[BPF_SUB >> 4] = 0x29,
		[BPF_AND >> 4] = 0x21,
		[BPF_OR >> 4] = 0x09,
		[BPF_XOR >> 4] = 0x31};

	switch (BPF_OP(i->code)) {
	case BPF_MUL:
		EMIT(c, 0x0f, 0xaf, 0xc2); /* imul eax, edx */
		break;
	case BPF_DIV:
	case BPF_MOD:
		EMIT(c, 0x89, 0xd1); /* mov ecx, edx */
		EMIT(c, 0x85, 0xc9); /* test ecx, ecx */
		jump_if(c, EQUAL, c->next);
		divide(c, BPF_OP(i->code) == BPF_MOD);
		break;
	case BPF_LSH:
		shift_x(c, 0xe0);
		break;
	case BPF_RSH:
		shift_x(c, 0xe8);
		break;
	default:
		EMIT(c, simple[BPF_OP(i->code) >> 4], 0xd0); /* op eax, edx */
	}
}

/* ---- jumps ---- */

static void compare(struct code *c, const struct bp_capture_insn *i)
{
	const bool test = BPF_OP(i->code) == BPF_JSET;

	if (BPF_SRC(i->code) == BPF_X) {
		EMIT(c, test ? 0x85 : 0x39, 0xd0); /* test or cmp eax, edx */
		return;
	}
	EMIT(c, test ? 0xa9 : 0x3d); /* test or cmp eax, imm32 */
	word(c, i->k);
}

static void compile_jump(struct code *c, const struct bp_capture_insn *i, uint32_t next)
{
	static const enum condition holds[] = {[BPF_JEQ >> 4] = EQUAL,
		[BPF_JGT >> 4] = ABOVE,
		[BPF_JGE >> 4] = ABOVE_EQUAL,
		[BPF_JSET >> 4] = NOT_EQUAL};

	if (BPF_OP(i->code) == BPF_JA) {
		jump(c, c->at[next + i->k]);
		return;
	}
	compare(c, i);
	/* the lowest bit of a condition inverts it */
	if (i->jt == 0) {
		jump_if(c, holds[BPF_OP(i->code) >> 4] ^ 1, c->at[next + i->jf]);
		return;
	}
	jump_if(c, holds[BPF_OP(i->code) >> 4], c->at[next + i->jt]);
	if (i->jf != 0)
		jump(c, c->at[next + i->jf]);
}

static void compile_return(struct code *c, const struct bp_capture_insn *i)
{
	if (BPF_RVAL(i->code) != BPF_K) {
		EMIT(c, 0x85, 0xc0); /* test eax, eax */
		jump_if(c, NOT_EQUAL, c->match);
		jump(c, c->next);
		return;
	}
	jump(c, i->k != 0 ? c->match : c->next);
}

static void compile_insn(struct code *c, const struct bp_capture_insn *i, uint32_t next)
{
	switch (BPF_CLASS(i->code)) {
	case BPF_LD:
		compile_ld(c, i);
		break;
	case BPF_LDX:
		compile_ldx(c, i);
		break;
	case BPF_ST:
		EMIT(c, 0x89, 0x44, 0x24, (uint8_t)(SCRATCH + 4 * (int)i->k)); /* mov [rsp], eax */
		break;
	case BPF_STX:
		EMIT(c, 0x89, 0x54, 0x24, (uint8_t)(SCRATCH + 4 * (int)i->k)); /* mov [rsp], edx */
		break;
	case BPF_ALU:
		if (BPF_SRC(i->code) == BPF_X)
			compile_alu_x(c, i);
		else
			compile_alu_k(c, i);
		break;
	case BPF_JMP:
		compile_jump(c, i, next);
		break;
	case BPF_RET:
		compile_return(c, i);
		break;
	default:
		if (i->code == (BPF_MISC | BPF_TAX))
			EMIT(c, 0x89, 0xc2); /* mov edx, eax */
		else
			EMIT(c, 0x89, 0xd0); /* mov eax, edx */
	}
}

/* The next frame. One in several buffers matches here. */
static void load_frame(struct code *c)
{
	EMIT(c, 0x49, 0x83, 0xe9, 0x08);             /* sub r9, 8 */
	EMIT(c, 0x49, 0x8b, 0x09);                   /* mov rcx, [r9] */
	EMIT(c, 0x4d, 0x01, 0xdb);                   /* add r11, r11 */
	EMIT(c, 0x0f, 0xb7, 0x71, OFFSET(data_len)); /* movzx esi, word [rcx + data_len] */
	EMIT(c, 0x3b, 0x71, OFFSET(pkt_len));        /* cmp esi, [rcx + pkt_len] */
	jump_if(c, NOT_EQUAL, c->match);
	EMIT(c, 0x0f, 0xb7, 0x79, OFFSET(data_off)); /* movzx edi, word [rcx + data_off] */
	EMIT(c, 0x48, 0x03, 0x79, OFFSET(buf_addr)); /* add rdi, [rcx + buf_addr] */
}

static void compile(struct code *c, const struct bp_capture_insn *insn)
{
	c->n = 0;
	EMIT(c, 0x49, 0x89, 0xfa);       /* mov r10, rdi */
	EMIT(c, 0x41, 0x89, 0xf1);       /* mov r9d, esi */
	EMIT(c, 0x4f, 0x8d, 0x0c, 0xca); /* lea r9, [r10 + r9 * 8] */
	EMIT(c, 0x45, 0x31, 0xdb);       /* xor r11d, r11d */
	c->next = c->n;
	EMIT(c, 0x4d, 0x39, 0xd1); /* cmp r9, r10 */
	jump_if(c, EQUAL, c->end);
	load_frame(c);
	for (uint32_t i = 0; i < c->n_insns; i++) {
		/* a jump to `ret 0` goes to the next frame */
		c->at[i] = insn[i].code == (BPF_RET | BPF_K) && insn[i].k == 0 ? c->next : c->n;
		compile_insn(c, &insn[i], i + 1);
	}
	c->match = c->n;
	EMIT(c, 0x49, 0x83, 0xcb, 0x01); /* or r11, 1 */
	jump(c, c->next);
	c->end = c->n;
	EMIT(c, 0x4c, 0x89, 0xd8); /* mov rax, r11 */
	EMIT(c, 0xc3);             /* ret */
}

/*
 * Executable memory with these bytes, from a sealed file in memory: no mapping of it was ever
 * writable, so MemoryDenyWriteExecute= of systemd permits it. NULL: not permitted, or no memory.
 */
static void *map_code(const void *code, size_t size)
{
	const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	const int fd = memfd_create("biplane-capture-filter", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *memory = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (write(fd, code, size) == (ssize_t)size && fcntl(fd, F_ADD_SEALS, seals) == 0)
		memory = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

bp_filter_native_fn bp_filter_native_compile(
	const struct bp_capture_insn *insn, uint32_t n, size_t *size)
{
	struct code c = {.n_insns = n};
	bp_filter_native_fn fn;
	void *memory;

	compile(&c, insn); /* places of the instructions */
	*size = c.n;
	c.out = malloc(c.n);
	if (c.out == NULL)
		return NULL;
	compile(&c, insn);
	memory = map_code(c.out, c.n);
	free(c.out);
	memcpy(&fn, &memory, sizeof(fn));
	return fn;
}

void bp_filter_native_free(bp_filter_native_fn fn, size_t size)
{
	void *memory;

	if (fn == NULL)
		return;
	memcpy(&memory, &fn, sizeof(memory));
	munmap(memory, size);
}

#else

bp_filter_native_fn bp_filter_native_compile(
	const struct bp_capture_insn *insn, uint32_t n, size_t *size)
{
	(void)insn;
	(void)n;
	*size = 0;
	return NULL;
}

void bp_filter_native_free(bp_filter_native_fn fn, size_t size)
{
	(void)fn;
	(void)size;
}

#endif
