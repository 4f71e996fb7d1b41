/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/dataplane/test.h"
#include "tests/unit/dataplane/lcl/lcl_rig.h"

#include <string.h>

static uint8_t *put_be(uint8_t *p, uint32_t v, unsigned bytes)
{
	while (bytes-- > 0)
		*p++ = (uint8_t)(v >> 8 * bytes);
	return p;
}

uint32_t lcl_frame(const uint8_t *plain, uint32_t len, const struct label *l, uint8_t *out)
{
	uint8_t *p = out + 12;

	memcpy(out, plain, 12);
	p = put_be(p, l->type ? l->type : 0x88b5, 2);
	p = put_be(p, l->version ? l->version : 1, 1);
	p = put_be(p, l->n, 1);
	p = put_be(p, (uint32_t)l->d, 4);
	p = put_be(p, l->flow, 2);
	p = put_be(p, l->sequence, 4);
	memcpy(p, plain + 12, len - 12);
	return len + LCL_LABEL;
}

uint32_t lcl_datagram(uint8_t f[UDP_FRAME_MAX])
{
	struct udp u = agg_message(0);

	u.dport = 7000;
	return agg_frame(&u, f);
}

void lcl_pass(struct rig *r, uint64_t ns)
{
	agg_pass(r, ns);
	rig_walk(r);
}

void lcl_put(
	struct rig *r, unsigned port, const uint8_t *plain, uint32_t len, const struct label *l)
{
	uint8_t f[UDP_FRAME_MAX + LCL_LABEL];

	rig_put(r, port, f, lcl_frame(plain, len, l, f));
}

void lcl_expect(
	struct rig *r, unsigned port, const uint8_t *plain, uint32_t len, const struct label *l)
{
	uint8_t f[UDP_FRAME_MAX + LCL_LABEL];

	rig_expect(r, port, f, lcl_frame(plain, len, l, f));
}

struct rte_mbuf *lcl_last_put(struct rig *r, unsigned port)
{
	const unsigned n = rte_ring_count(r->ports.in[port]);
	void *m = NULL;

	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(rte_ring_dequeue(r->ports.in[port], &m), 0);
		assert_int_equal(rte_ring_enqueue(r->ports.in[port], m), 0);
	}
	return m;
}
