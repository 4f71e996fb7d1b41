/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include "dataplane/forwarding/router.h"
#include "shm/fib/lpm/lpm.h"

/*
 * Lookups of a burst with packets of several VRFs. The main VRF has tables of another shape than
 * the others, so there are two lookups at most.
 */

#define BURST 64u

/* Which packets of a burst are in the main VRF: the first n_main of `at`, the others from the end
 * on. vrf[i] is that of packet at[i]. */
struct split {
	uint8_t at[BURST], vrf[BURST];
	unsigned n_main;
};

static void split(struct split *s, const struct bp_router *r, struct rte_mbuf *const *m, unsigned n)
{
	unsigned last = n;

	s->n_main = 0;
	for (unsigned i = 0; i < n; i++) {
		const uint8_t vrf = bp_router_vrf(r, m[i]->port);
		const unsigned at = vrf == BP_VRF_MAIN ? s->n_main++ : --last;

		s->at[at] = (uint8_t)i;
		s->vrf[at] = vrf;
	}
}

void bp_router_lookup4(const struct bp_router *r, struct rte_mbuf *const *m, const uint32_t *dst,
	uint32_t *nexthop, unsigned n)
{
	uint32_t main_dst[BURST], bytes[BURST], result[BURST];
	const uint8_t *vrf_dst[BURST];
	struct split s;

	split(&s, r, m, n);
	for (unsigned k = 0; k < s.n_main; k++)
		main_dst[k] = dst[s.at[k]];
	for (unsigned k = s.n_main; k < n; k++) {
		bytes[k] = rte_cpu_to_be_32(dst[s.at[k]]);
		vrf_dst[k] = (const uint8_t *)&bytes[k];
	}
	if (s.n_main != 0)
		bp_lpm4_lookup(r->fib, main_dst, result, s.n_main);
	if (s.n_main != n)
		bp_lpm_vrf_lookup(r->fib, 4, s.vrf + s.n_main, vrf_dst + s.n_main,
			result + s.n_main, n - s.n_main);
	for (unsigned k = 0; k < n; k++)
		nexthop[s.at[k]] = result[k];
}

void bp_router_lookup6(const struct bp_router *r, struct rte_mbuf *const *m,
	const uint8_t *const *dst, uint32_t *nexthop, unsigned n)
{
	const uint8_t *sorted[BURST];
	uint32_t result[BURST];
	struct split s;

	split(&s, r, m, n);
	for (unsigned k = 0; k < n; k++)
		sorted[k] = dst[s.at[k]];
	if (s.n_main != 0)
		bp_lpm6_lookup(r->fib, sorted, result, s.n_main);
	if (s.n_main != n)
		bp_lpm_vrf_lookup(r->fib, 6, s.vrf + s.n_main, sorted + s.n_main, result + s.n_main,
			n - s.n_main);
	for (unsigned k = 0; k < n; k++)
		nexthop[s.at[k]] = result[k];
}
