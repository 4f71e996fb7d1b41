/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/health/control_phd.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/checksum.h"
#include "bench/health/phd_frames.h"
#include "bench/health/phd_place.h"
#include "proto/net/ip.h"

#define NEW_FIRST (BENCH_PHD_FIRST + (1u << 21)) /* source addresses of the devices */
#define NEW_MAX (1u << 21)
#define AT_UDP (BP_ETHER_HDR + BP_IP4_HDR)

static const uint8_t devices_mac[6] = {2, 0, 0, 0, 2, 1}, cloud_mac[6] = {2, 0, 0, 0, 2, 2};

static void must(bool ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "biplane-bench: %s: %s\n", what, why);
	exit(1);
}

/* ---- the messages ---- */

/* Two per device: its AARQ, and its configuration. */
static void make(void *user, struct rte_mbuf *m, uint64_t number)
{
	const struct bench_control_phd *c = user;
	const uint32_t device = (uint32_t)(number / 2 % NEW_MAX);
	const bool associates = number % 2 == 0;
	const uint32_t len = associates ? c->aarq_len : c->config_len;
	uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);

	memcpy(p, associates ? c->aarq : c->config, len);
	bench_sum_move(p + BENCH_PHD_AT_IP_SUM,
		bench_replace32(p + BENCH_PHD_AT_SRC, __builtin_bswap32(NEW_FIRST + device)));
	if (associates)
		bp_put_be32(p + BENCH_PHD_AT_APDU + BENCH_PHD_AARQ_NUMBER, device + 1);
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
}

/* Builds a datagram of the first device, without a UDP checksum. Returns the frame length. */
static uint32_t make_frame(const uint8_t *apdu, uint32_t len, uint8_t frame[256])
{
	uint8_t whole[BENCH_PHD_FRAME_MAX];
	uint64_t change;

	bench_phd_frame(0, BENCH_PHD_APDU_MIN, whole);
	change = bench_replace32(whole + BENCH_PHD_AT_SRC, __builtin_bswap32(NEW_FIRST));
	change += (uint16_t)~__builtin_bswap16(bp_be16(whole + BP_ETHER_HDR + BP_IP4_TOTAL));
	bp_put_be16(whole + BP_ETHER_HDR + BP_IP4_TOTAL, (uint16_t)(BP_IP4_HDR + 8 + len));
	change += __builtin_bswap16((uint16_t)(BP_IP4_HDR + 8 + len));
	bench_sum_move(whole + BENCH_PHD_AT_IP_SUM, change);
	bp_put_be16(whole + AT_UDP + 4, (uint16_t)(8 + len));
	memset(whole + BENCH_PHD_AT_UDP_SUM, 0, 2);
	memcpy(frame, whole, BENCH_PHD_HEADERS);
	memcpy(frame + BENCH_PHD_HEADERS, apdu, len);
	return BENCH_PHD_HEADERS + len;
}

/* ---- the control plane ---- */

static void look(void *user)
{
	struct bench_control_phd *c = user;

	event_base_loop(c->base, EVLOOP_NONBLOCK);
}

/* The timer of the service ends the wait after 100 ms at the latest. */
static void wait_and_look(void *user)
{
	struct bench_control_phd *c = user;

	event_base_loop(c->base, EVLOOP_ONCE);
}

/* An AARQ is counted when it was read, a configuration when its session is operating. */
static uint64_t applied(void *user)
{
	const struct bench_control_phd *c = user;
	const struct bp_phd_manager_counts *n = bp_phd_service_counts(c->service);

	return atomic_load(&n->aarq) + atomic_load(&c->t->control->operating) - c->before;
}

/* ---- set-up ---- */

static struct bp_address address4(uint32_t a)
{
	struct bp_address out = {.family = 4};

	bp_put_be32(out.bytes, a);
	return out;
}

/* The routes and neighbors that the kernel needs for answers to devices and requests to the CSE. */
static void make_routes(struct bench_control *c, int devices, int cloud)
{
	const struct bp_address router = address4(BENCH_CONTROL_OWN + 1);
	struct bp_prefix to = {.family = 4, .length = 10};
	struct in_addr source, cse;
	struct bp_address gateway;

	must(inet_pton(AF_INET, BENCH_PHD_SOURCE, &source) == 1 &&
			inet_pton(AF_INET, BENCH_CSE, &cse) == 1,
		"addresses", "none");
	bench_kernel_neighbor(&c->kernel, devices, &router);
	bp_put_be32(to.bytes, BENCH_PHD_FIRST);
	bench_kernel_route(&c->kernel, RTM_NEWROUTE, &to, devices, &router);
	gateway = address4(ntohl(source.s_addr) + 1);
	bench_kernel_neighbor(&c->kernel, cloud, &gateway);
	to.length = 32;
	memcpy(to.bytes, &cse, 4);
	bench_kernel_route(&c->kernel, RTM_NEWROUTE, &to, cloud, &gateway);
	bench_kernel_flush(&c->kernel);
}

void bench_control_phd(struct bench_control *c, struct bench_control_phd *p, struct bp_shm *shm,
	const struct bp_config *config, struct rte_mempool *pool)
{
	static const struct bench_control_user user = {make, wait_and_look, look, applied};
	const struct bp_phd_service_setup setup = {.config = config,
		.tables = &shm->phd,
		.epochs = &shm->fib,
		.mac = {2, 0, 0, 0, 2, 1},
		.udp = -1,
		.tcp = -1};
	struct in_addr source;
	char err[512];
	uint8_t apdu[256];
	int devices, cloud;

	must(inet_pton(AF_INET, BENCH_PHD_SOURCE, &source) == 1, "address", "none");
	devices = bench_control_tap(c, 0, "control", devices_mac, BENCH_CONTROL_OWN, pool);
	cloud = bench_control_tap(c, 1, "cloud", cloud_mac, ntohl(source.s_addr), pool);
	make_routes(c, devices, cloud);
	p->aarq_len = make_frame(bench_phd_aarq, BENCH_PHD_AARQ_LEN, p->aarq);
	p->config_len =
		make_frame(apdu, bench_phd_config_report(BENCH_PHD_APDU_MIN + 2, apdu), p->config);
	p->t = &shm->phd;
	p->before = atomic_load(&shm->phd.control->operating);
	p->base = event_base_new();
	must(p->base != NULL, "event loop", "no memory");
	p->service = bp_phd_service_new(p->base, &setup, err, sizeof(err));
	must(p->service != NULL, "service", err);
	must(atomic_load(&shm->phd.control->operating) == p->before, "service",
		"it did not take all sessions over");
	c->user = &user;
	c->arg = p;
}

void bench_control_phd_end(struct bench_control_phd *p)
{
	bp_phd_service_free(p->service);
	event_base_free(p->base);
}
