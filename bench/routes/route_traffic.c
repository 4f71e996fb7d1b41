/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/routes/route_traffic.h"

#include <stdlib.h>
#include <string.h>

#include "proto/net/ip.h"

#define AT_SUM4 (BP_ETHER_HDR + 10)
#define AT_SRC4 (BP_ETHER_HDR + BP_IP4_SRC)
#define AT_DST4 (BP_ETHER_HDR + BP_IP4_DST)
#define AT_DST6 (BP_ETHER_HDR + BP_IP6_DST)

/* All frames get the source address of flow 0, so that the checksum depends on the destination
 * alone. */
static uint16_t checksum4(const struct bp_address *dst)
{
	uint8_t frame[BENCH_ROUTE6_FRAME];
	uint16_t sum;

	bench_route_frame(0, dst, frame);
	memcpy(&sum, frame + AT_SUM4, 2);
	return sum;
}

void bench_destinations_init(
	struct bench_destinations *d, const struct bp_address *address, uint32_t n)
{
	*d = (struct bench_destinations){.n = n, .family = address[0].family};
	if (d->family == 4)
		d->ip4 = calloc(n, sizeof(*d->ip4));
	else
		d->ip6 = calloc(n, sizeof(*d->ip6));
	if (d->ip4 == NULL && d->ip6 == NULL)
		abort();
	for (uint32_t i = 0; i < n; i++) {
		if (d->family == 4) {
			memcpy(d->ip4[i].address, address[i].bytes, 4);
			d->ip4[i].checksum = checksum4(&address[i]);
		} else {
			memcpy(d->ip6[i].address, address[i].bytes, 16);
		}
	}
}

static void write4(struct bench_destinations *d, struct rte_mbuf **m, uint16_t n)
{
	static const uint8_t source[4] = {10, 0, 0, 2}; /* of flow 0 */

	for (uint16_t i = 0; i < n; i++) {
		uint8_t *p = rte_pktmbuf_mtod(m[i], uint8_t *);
		const struct bench_destination4 *to = &d->ip4[d->next];

		d->next = d->next + 1 == d->n ? 0 : d->next + 1;
		memcpy(p + AT_SUM4, &to->checksum, 2);
		memcpy(p + AT_SRC4, source, 4);
		memcpy(p + AT_DST4, to->address, 4);
	}
}

static void write6(struct bench_destinations *d, struct rte_mbuf **m, uint16_t n)
{
	for (uint16_t i = 0; i < n; i++) {
		uint8_t *p = rte_pktmbuf_mtod(m[i], uint8_t *);

		memcpy(p + AT_DST6, d->ip6[d->next].address, 16);
		d->next = d->next + 1 == d->n ? 0 : d->next + 1;
	}
}

uint16_t bench_destinations_rx(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	struct bench_destinations *d = arg;

	RTE_SET_USED(port);
	RTE_SET_USED(queue);
	RTE_SET_USED(max);
	if (d->family == 4)
		write4(d, pkts, n);
	else
		write6(d, pkts, n);
	return n;
}
