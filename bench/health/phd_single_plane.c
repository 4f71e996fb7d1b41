/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/health/phd_single_plane.h"

#include "config/health/settings.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "bench/health/association_load.h"
#include "bench/health/phd_place.h"
#include "services/health/convert.h"
#include "services/health/manager.h"
#include "services/health/settings.h"
#include "proto/net/frame.h"
#include "shm/health/phd_writer.h"

#define BATCH 64u
#define DATAGRAM_MAX 2048u
#define SOCKET_BYTES (8 << 20)

struct gateway {
	struct bench_single_plane *n;
	struct bp_phd_tables *t;
	struct bp_phd_writer *w;
	struct bp_phd_manager *m;
	struct bp_phd_manager_counts counts;
	struct bp_phd_settings plan;
	int devices, cse;
	uint16_t mid;
	uint64_t now_ns;
	struct sockaddr_in from[BATCH];
	struct iovec in_data[BATCH], out_data[BATCH];
	struct mmsghdr in[BATCH], out[BATCH];
	unsigned n_out;
	uint8_t in_bytes[BATCH][DATAGRAM_MAX], out_bytes[BATCH][DATAGRAM_MAX];
};

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: single plane: %s: %s\n", program_invocation_short_name, what,
		strerror(errno));
	exit(1);
}

static void add(_Atomic uint64_t *n, uint64_t by)
{
	atomic_store_explicit(
		n, atomic_load_explicit(n, memory_order_relaxed) + by, memory_order_relaxed);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- owner of the manager: no store, and a CSE with all containers ---- */

static void on_reply(void *arg, const struct bp_phd_peer *to, const uint8_t *apdu, size_t len)
{
	struct gateway *g = arg;
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(to->port)};

	memcpy(&a.sin_addr, to->address + 12, 4);
	must(sendto(g->devices, apdu, len, 0, (struct sockaddr *)&a, sizeof(a)) == (ssize_t)len,
		"answer to a device");
}

static bool on_known(void *arg, const uint8_t system_id[8], uint16_t config_id,
	struct bp_phd_model *out, uint16_t *spec)
{
	(void)arg, (void)system_id, (void)config_id, (void)out, (void)spec;
	return false;
}

static void on_learned(void *arg, const uint8_t system_id[8], const struct bp_phd_model *m,
	struct bp_phd_bytes report)
{
	(void)arg, (void)system_id, (void)m, (void)report;
}

static void on_told(
	void *arg, uint32_t slot, const uint8_t system_id[8], uint16_t config_id, uint16_t spec)
{
	(void)arg, (void)slot, (void)system_id, (void)config_id, (void)spec;
}

static void on_opened(void *arg, uint32_t slot)
{
	struct gateway *g = arg;

	bp_phd_session_flags(g->w, slot, BP_PHD_READY, 0);
}

static void on_closed(void *arg, uint32_t slot, enum bp_phd_closed why)
{
	(void)arg, (void)slot, (void)why;
}

static bool on_allowed(void *arg, const uint8_t system_id[8])
{
	(void)arg, (void)system_id;
	return true;
}

static enum bp_phd_taken on_report(void *arg, uint32_t slot, const uint8_t *apdu, size_t len)
{
	(void)arg, (void)slot, (void)apdu, (void)len;
	return BP_PHD_TAKEN_FULL;
}

/* ---- user data ---- */

static void send_requests(struct gateway *g)
{
	for (unsigned i = 0; i < g->n_out;) {
		const int n = sendmmsg(g->cse, g->out + i, g->n_out - i, 0);

		add(n > 0 ? &g->n->requests : &g->n->refused, n > 0 ? (unsigned)n : 1);
		i += n > 0 ? (unsigned)n : 1;
	}
	g->n_out = 0;
}

/* Records the last report in the session, as biplane's workers do. */
static void note(struct gateway *g, struct bp_phd_session *s, const struct bp_phd_conversion *c)
{
	const uint64_t last = (uint64_t)c->invoke_id << 48 | (uint64_t)c->report_no << 32 |
			      ((UINT64_C(1) << c->parts) - 1);

	atomic_store_explicit(&s->last, last, memory_order_relaxed);
	atomic_store_explicit(
		&s->sent, (uint64_t)g->mid << 32 | (g->now_ns >> 32), memory_order_relaxed);
	atomic_store_explicit(&s->reports,
		atomic_load_explicit(&s->reports, memory_order_relaxed) + 1, memory_order_relaxed);
}

static void write_requests(struct gateway *g, uint32_t slot, uint64_t word,
	const struct bp_phd_layout *l, const uint8_t *apdu, struct bp_phd_conversion *c)
{
	struct bp_phd_session *s = &g->t->sessions[slot];
	struct bp_phd_identity id = {.system_id = s->system_id,
		.associated_s = s->associated_s,
		.report = atomic_load_explicit(&s->reports, memory_order_relaxed),
		.life = bp_phd_word_life(word)};
	struct bp_phd_token token = {.slot = slot,
		.invoke_id = c->invoke_id,
		.type = (uint8_t)(c->type - BP_PHD_SCAN_FIXED),
		.only = c->parts == 1,
		.confirmed = c->confirmed};

	for (unsigned i = 0; i < c->parts; i++) {
		size_t len;

		if (g->n_out == BATCH)
			send_requests(g);
		token.part = (uint8_t)i;
		id.mid = g->mid++;
		id.token = bp_phd_token_pack(&token, id.life, g->t->hash_key);
		len = bp_phd_convert_write(
			l, &g->plan, apdu, c, i, &id, g->out_bytes[g->n_out], DATAGRAM_MAX);
		must(len != 0, "request");
		g->out_data[g->n_out++].iov_len = len;
	}
	note(g, s, c);
	add(&g->n->reports, 1);
}

/* Returns false if the manager must process it. */
static bool convert(struct gateway *g, const uint8_t address[16], uint16_t port,
	const uint8_t *apdu, size_t len)
{
	const uint64_t hash = bp_phd_hash(g->t->hash_key, address, port, BP_PHD_TRANSPORT_UDP);
	const struct bp_phd_layout *l;
	struct bp_phd_conversion c;
	uint64_t word;
	uint32_t slot;

	if (bp_phd_find(g->t, hash, address, port, BP_PHD_TRANSPORT_UDP, &slot) != 0)
		return false;
	word = atomic_load_explicit(&g->t->sessions[slot].word, memory_order_acquire);
	l = bp_phd_layout_of(g->t, word);
	if (bp_phd_word_state(word) != BP_PHD_OPERATING || l == NULL ||
		!(bp_phd_word_flags(word) & BP_PHD_READY) ||
		bp_phd_convert_plan(l, &g->plan, apdu, len, &c) != BP_PHD_CONVERT)
		return false;
	write_requests(g, slot, word, l, apdu, &c);
	return true;
}

static void mapped(uint8_t out[16], const struct in_addr *a)
{
	memset(out, 0, 10);
	memset(out + 10, 0xff, 2);
	memcpy(out + 12, a, 4);
}

static void take(struct gateway *g, unsigned i)
{
	struct bp_phd_peer peer = {.transport = BP_PHD_TRANSPORT_UDP};
	const struct in_addr own = {htonl(BENCH_MANAGER)};
	const size_t len = g->in[i].msg_len;

	mapped(peer.address, &g->from[i].sin_addr);
	peer.port = ntohs(g->from[i].sin_port);
	if (convert(g, peer.address, peer.port, g->in_bytes[i], len))
		return;
	mapped(peer.own, &own);
	add(&g->n->others, 1);
	bp_phd_manager_receive(
		g->m, &peer, g->in_bytes[i], len, g->now_ns, clock_ns(CLOCK_REALTIME));
}

/* ---- set-up ---- */

static int udp_socket(const char *own, uint16_t own_port, const char *peer, uint16_t peer_port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(own_port)};
	struct sockaddr_in b = {.sin_family = AF_INET, .sin_port = htons(peer_port)};
	const int size = SOCKET_BYTES;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, own, &a.sin_addr);
	must(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0, own);
	must(setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) == 0 &&
			setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) == 0,
		"buffers");
	if (peer == NULL)
		return fd;
	inet_pton(AF_INET, peer, &b.sin_addr);
	must(connect(fd, (struct sockaddr *)&b, sizeof(b)) == 0, peer);
	return fd;
}

static void open_manager(struct gateway *g, struct bp_shm *shm, const struct bp_config *c)
{
	static const struct bp_phd_manager_ops ops = {.reply = on_reply,
		.known = on_known,
		.learned = on_learned,
		.mds_attributes = on_told,
		.opened = on_opened,
		.closed = on_closed,
		.allowed = on_allowed,
		.report = on_report};
	static const uint8_t system_id[8] = {2, 0, 0, 0xff, 0xfe, 0, 0, 1};
	struct bp_address source = {.family = 4};
	char err[256];

	inet_pton(AF_INET, BENCH_PHD_SOURCE, source.bytes);
	g->t = &shm->phd;
	g->w = bp_phd_writer_new(g->t, &shm->fib, NULL, NULL, err, sizeof(err));
	must(g->w != NULL, "session tables");
	bp_phd_settings_init(&g->plan, bp_config_phd(c), &source);
	bp_phd_settings_publish(g->w, &g->plan);
	g->m = bp_phd_manager_new(bp_config_phd(c), g->t, g->w, system_id, &g->counts, &ops, g);
	must(g->m != NULL, "manager");
	bp_phd_manager_adopt(g->m, clock_ns(CLOCK_MONOTONIC));
}

static void point_heads(struct gateway *g)
{
	for (unsigned i = 0; i < BATCH; i++) {
		g->in_data[i] = (struct iovec){g->in_bytes[i], DATAGRAM_MAX};
		g->out_data[i] = (struct iovec){g->out_bytes[i], 0};
		g->in[i].msg_hdr = (struct msghdr){.msg_name = &g->from[i],
			.msg_namelen = sizeof(g->from[i]),
			.msg_iov = &g->in_data[i],
			.msg_iovlen = 1};
		g->out[i].msg_hdr = (struct msghdr){.msg_iov = &g->out_data[i], .msg_iovlen = 1};
	}
}

void bench_single_plane_run(
	struct bench_single_plane *n, struct bp_shm *shm, const struct bp_config *c)
{
	struct gateway *g = calloc(1, sizeof(*g));
	uint64_t due_ns = 0;

	must(g != NULL, "memory");
	g->n = n;
	open_manager(g, shm, c);
	point_heads(g);
	g->devices = udp_socket("10.0.0.1", BENCH_MANAGER_PORT, NULL, 0);
	g->cse = udp_socket(BENCH_PHD_SOURCE, bp_config_phd(c)->cse.source_ports[0], BENCH_CSE,
		bp_config_phd(c)->cse.coap_port);
	atomic_store(&n->ready, 1);
	for (;;) {
		const int got = recvmmsg(g->devices, g->in, BATCH, MSG_WAITFORONE, NULL);

		must(got > 0 || errno == EINTR, "recvmmsg");
		g->now_ns = clock_ns(CLOCK_MONOTONIC);
		for (int i = 0; i < got; i++)
			take(g, (unsigned)i);
		send_requests(g);
		if (g->now_ns >= due_ns) {
			const uint64_t next = bp_phd_manager_tick(g->m, g->now_ns);
			const uint64_t soon = g->now_ns + 100000000u;

			due_ns = next < soon ? next : soon;
		}
	}
}
