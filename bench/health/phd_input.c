/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/health/phd_input.h"

#include "bench/harness/checksum.h"
#include "proto/net/frame.h"

/* See bench/harness/advance.c. */
#define STEP 618033u

/* Values of the next pass. All frames have numbers 0, so that the change of the checksum is the
 * same for all. */
static void begin_pass(struct bench_phd_input *in)
{
	in->in_pass = 0;
	in->pass++;
	in->raise = in->pass % BENCH_PHD_SPREAD;
	/* invoke-id and report number from 0 to those of the pass, and two increased values */
	in->change = 2 * (uint64_t)__builtin_bswap16(in->pass) +
		     2 * (uint64_t)__builtin_bswap16(in->raise);
}

void bench_phd_input_init(struct bench_phd_input *in, uint32_t devices)
{
	*in = (struct bench_phd_input){.devices = devices, .step = STEP % devices};
	begin_pass(in);
}

static inline void raise16(uint8_t *p, uint16_t by)
{
	bp_put_be16(p, (uint16_t)(bp_be16(p) + by));
}

static inline void advance(struct bench_phd_input *in, uint8_t *p, bool many)
{
	uint64_t change = in->change, moved;

	bp_put_be16(p + BENCH_PHD_AT_INVOKE, in->pass);
	bp_put_be16(p + BENCH_PHD_AT_REPORT_NO, in->pass);
	raise16(p + BENCH_PHD_AT_SPO2, in->raise);
	raise16(p + BENCH_PHD_AT_PULSE, in->raise);
	if (many) {
		moved = bench_replace32(
			p + BENCH_PHD_AT_SRC, __builtin_bswap32(BENCH_PHD_FIRST + in->device));
		bench_sum_move(p + BENCH_PHD_AT_IP_SUM, moved);
		change += moved;
		in->device += in->step;
		if (in->device >= in->devices)
			in->device -= in->devices;
	}
	bench_sum_move(p + BENCH_PHD_AT_UDP_SUM, change);
}

uint16_t bench_phd_input_rx(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	struct bench_phd_input *in = arg;
	const bool many = in->devices != BENCH_PHD_DEVICES;

	RTE_SET_USED(port);
	RTE_SET_USED(queue);
	RTE_SET_USED(max);
	for (uint16_t i = 0; i < n; i++) {
		advance(in, rte_pktmbuf_mtod(pkts[i], uint8_t *), many);
		if (++in->in_pass == in->devices)
			begin_pass(in);
	}
	in->made += n;
	return n;
}
