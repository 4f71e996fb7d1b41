/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/lcl/lcl_source.h"

#include <string.h>

#include <rte_memcpy.h>

#include "bench/harness/draw.h"
#include "bench/lcl/lcl_time.h"
#include "bench/lcl/lcl_wire.h"

#define DISCARD_UDP 9u     /* RFC 863 */
#define START_NS 50000000u /* until the worker runs */

static uint64_t wire_ns(uint32_t bytes, uint64_t rate_bps)
{
	return (bytes + BP_LCL_LINK_OVERHEAD) * 8000000000ull / rate_bps;
}

/* All frames have this length in their headers: bridge and scheduler do not check it. */
static void begin_with(struct bench_lcl_source *s, uint32_t bytes, uint16_t udp)
{
	uint8_t frame[BENCH_LCL_LONGEST];

	bench_lcl_plain(frame, bytes, udp);
	memcpy(s->frame, frame, sizeof(s->frame));
}

void bench_lcl_source_bursts(struct bench_lcl_source *s, struct rte_mempool *pool, uint32_t flow,
	uint32_t burst, double load, uint64_t rate_bps)
{
	const uint64_t each = wire_ns(BENCH_LCL_FRAME, rate_bps);

	*s = (struct bench_lcl_source){.pool = pool,
		.frame_ns = each,
		/* flows without drift would coincide in each burst, or in none */
		.pause_ns = (uint64_t)((double)(each * burst) * (1 / load - 1)) + each + 37 * flow,
		.burst = burst,
		.left = burst,
		.flow = flow};
	s->due_ns = bench_lcl_now_ns() + START_NS + s->pause_ns * flow / 5;
	begin_with(s, BENCH_LCL_FRAME, (uint16_t)(BENCH_LCL_UDP + flow));
}

void bench_lcl_source_best_effort(struct bench_lcl_source *s, struct rte_mempool *pool,
	uint64_t seed, double load, uint64_t rate_bps)
{
	*s = (struct bench_lcl_source){.pool = pool,
		.due_ns = bench_lcl_now_ns() + START_NS,
		.ps_per_byte = (uint64_t)(8e12 / (load * (double)rate_bps)),
		.seed = seed};
	begin_with(s, BENCH_LCL_LONGEST, DISCARD_UDP);
}

static uint32_t next_length(struct bench_lcl_source *s)
{
	uint32_t bytes;

	if (s->burst != 0) {
		s->left = s->left == 1 ? s->burst : s->left - 1;
		s->due_ns += s->left == s->burst ? s->pause_ns : s->frame_ns;
		return BENCH_LCL_FRAME;
	}
	bytes = BENCH_LCL_SHORTEST +
		bench_draw(&s->seed, BENCH_LCL_LONGEST - BENCH_LCL_SHORTEST + 1);
	s->due_ns += (bytes + BP_LCL_LINK_OVERHEAD) * s->ps_per_byte / 1000;
	return bytes;
}

uint16_t bench_lcl_source_take(struct bench_lcl_source *s, uint64_t now_ns, uint16_t port,
	struct rte_mbuf **out, uint16_t max)
{
	uint16_t n = 0;

	for (; n < max && s->due_ns <= now_ns; n++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(s->pool);
		struct bench_lcl_trailer t = {
			.due_ns = s->due_ns, .flow = s->flow, .mark = BENCH_LCL_MARK};

		if (m == NULL) { /* the rest is still due */
			s->no_mbuf++;
			break;
		}
		m->port = port;
		m->pkt_len = m->data_len = (uint16_t)next_length(s);
		/* the payload of best effort is not used */
		rte_memcpy(rte_pktmbuf_mtod(m, void *), s->frame, BENCH_LCL_SHORTEST);
		if (s->burst != 0)
			memcpy(bench_lcl_trailer(m), &t, sizeof(t));
		else
			bench_lcl_trailer(m)->mark = 0;
		s->made++;
		out[n] = m;
	}
	return n;
}
