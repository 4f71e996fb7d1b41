/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/harness/advance.h"

#include <string.h>

#include "bench/harness/checksum.h"
#include "proto/net/frame.h"

/*
 * The step from one connection to the next: large, and coprime to powers of ten, so that a pass
 * visits every connection once. A pass consists of whole captures, so that a connection always
 * publishes on the same topic, as a sensor does.
 */
#define STEP 618033u

#define AT_IP_LEN 16
#define AT_IP_SUM 24
#define AT_SRC 26
#define AT_SPORT 34
#define AT_SEQ 38
#define AT_FLAGS 47
#define AT_TCP_SUM 50

void bench_advance_init(struct bench_advance *a, const struct bench_traffic *t,
	uint32_t connections, uint32_t topics)
{
	memset(a, 0, sizeof(*a));
	a->traffic = t;
	a->connections = connections;
	a->step = STEP % connections;
	a->topics = topics;
	for (uint32_t i = 0; i < t->frames; i++) {
		const uint32_t c = bench_connection(t, i);

		a->over_before[i + 1] = a->over_before[i] + bench_is_over(t, c);
		a->observed_before[i + 1] = a->observed_before[i] + bench_is_observed(c);
	}
}

/* Replaces 4 bytes and adds the difference to the checksums at `sum1` and (if not 0) `sum2`. */
static inline void replace32(uint8_t *p, uint32_t at, uint32_t value, uint32_t sum1, uint32_t sum2)
{
	const uint64_t change = bench_replace32(p + at, value);

	bench_sum_move(p + sum1, change);
	if (sum2 != 0)
		bench_sum_move(p + sum2, change);
}

/* A frame from the broker: addresses and ports are swapped. Its own sequence numbers begin with 0.
 */
static void from_broker(uint8_t *p, uint32_t seq, uint32_t ack)
{
	uint8_t swap[4];

	memcpy(swap, p + AT_SRC, 4);
	memmove(p + AT_SRC, p + AT_SRC + 4, 4);
	memcpy(p + AT_SRC + 4, swap, 4);
	memcpy(swap, p + AT_SPORT, 2);
	memmove(p + AT_SPORT, p + AT_SPORT + 2, 2);
	memcpy(p + AT_SPORT + 2, swap, 2);
	bp_put_be32(p + AT_SEQ, seq);
	bp_put_be32(p + AT_SEQ + 4, ack);
}

static void prime(
	const struct bench_advance *a, unsigned step, struct rte_mbuf *m, uint8_t *p, uint32_t isn)
{
	static const uint8_t connack[] = {0x20, 2, 0, 0};
	const struct bench_traffic *t = a->traffic;
	const uint32_t c = bp_be16(p + AT_SPORT) - 32768u;
	uint16_t len = BENCH_HEADERS;

	switch (step) {
	case 0:
		p[AT_FLAGS] = BP_TCP_SYN;
		bp_put_be32(p + AT_SEQ, isn - 1);
		break;
	case 1:
		p[AT_FLAGS] = BP_TCP_SYN | BP_TCP_ACK;
		from_broker(p, 0, isn);
		break;
	case 2:
		bench_connect(t, c, p + BENCH_HEADERS);
		bp_put_be32(p + AT_SEQ, isn);
		len = (uint16_t)(BENCH_HEADERS + t->mqtt_len);
		break;
	case 3:
		memcpy(p + BENCH_HEADERS, connack, sizeof(connack));
		from_broker(p, 1, isn + t->mqtt_len);
		len = BENCH_HEADERS + sizeof(connack);
		break;
	default:
		bench_birth(t, c, p + BENCH_HEADERS);
		bp_put_be32(p + AT_SEQ, isn + t->mqtt_len);
		len = (uint16_t)(BENCH_HEADERS + t->mqtt_len);
	}
	m->pkt_len = m->data_len = len;
	bp_put_be16(p + AT_IP_LEN, (uint16_t)(len - 14));
	bench_checksums(p, len);
}

/* The next connection: a stride over all of them. */
static inline void next_connection(struct bench_advance *a)
{
	a->connection += a->step;
	if (a->connection >= a->connections)
		a->connection -= a->connections;
}

/* Writes the connection into the addresses and ports of the frame. Returns the sequence number of
 * its stream. */
static inline uint32_t write_connection(uint8_t *p, uint32_t c)
{
	uint32_t ports;

	memcpy(&ports, p + AT_SPORT, 4);
	replace32(p, AT_SRC, __builtin_bswap32(BENCH_CLIENT + c), AT_TCP_SUM, AT_IP_SUM);
	replace32(p, AT_SPORT, (ports & 0xffff0000u) | 0x0080u, AT_TCP_SUM, 0);
	return bench_isn(c);
}

static inline uint32_t take_connection(struct bench_advance *a, uint8_t *p)
{
	const uint32_t c = a->connection;

	next_connection(a);
	return write_connection(p, c);
}

/* Connection setup: the connections of the capture in passes; more than may be opening at the same
 * time connect one after another. */
static void prime_frames(struct bench_advance *a, struct rte_mbuf **m, uint16_t n, bool many)
{
	for (uint16_t i = 0; i < n; i++) {
		uint8_t *p = rte_pktmbuf_mtod(m[i], uint8_t *);

		a->publishes += (many ? a->primed : a->pass) == BENCH_OPENING; /* a birth */
		if (many) {
			prime(a, a->primed, m[i], p, write_connection(p, a->connection));
			a->primed = (a->primed + 1) % bench_priming(a->traffic);
			if (a->primed == 0)
				next_connection(a);
		} else {
			prime(a, (unsigned)a->pass, m[i], p, bp_be32(p + AT_SEQ));
		}
	}
}

/* Whether the broker acknowledges in this pass what each client has published. */
static bool acknowledges(const struct bench_advance *a)
{
	return a->acknowledged &&
	       (a->pass - bench_priming(a->traffic)) % BENCH_ACK_EVERY == BENCH_ACK_EVERY - 1;
}

/* Bytes of each stream behind its first one, before this pass. */
static uint32_t moved_before(const struct bench_advance *a)
{
	uint64_t passes = a->pass - (BENCH_OPENING - 1);

	if (a->acknowledged)
		passes -= (a->pass - bench_priming(a->traffic)) / BENCH_ACK_EVERY;
	return (uint32_t)passes * a->traffic->mqtt_len;
}

static void acknowledge_frames(struct bench_advance *a, struct rte_mbuf **m, uint16_t n, bool many)
{
	const uint32_t moved = moved_before(a);

	for (uint16_t i = 0; i < n; i++) {
		uint8_t *p = rte_pktmbuf_mtod(m[i], uint8_t *);
		const uint32_t isn = many ? take_connection(a, p) : bp_be32(p + AT_SEQ);

		from_broker(p, 5, isn + moved); /* behind the CONNACK */
		m[i]->pkt_len = m[i]->data_len = BENCH_HEADERS;
		bp_put_be16(p + AT_IP_LEN, BENCH_HEADERS - 14);
		bench_checksums(p, BENCH_HEADERS);
	}
}

/* Advances each stream by the bytes that all earlier passes published on it. */
static void advance_frames(struct bench_advance *a, struct rte_mbuf **m, uint16_t n, bool many)
{
	const uint32_t moved = moved_before(a);
	/* of data, behind the NBIRTH with 0 */
	const bool sparkplug = a->traffic->kind == BENCH_SPARKPLUG;
	const uint32_t seq =
		bench_sparkplug_seq((uint8_t)(a->pass - bench_priming(a->traffic) + 1));
	uint32_t level;

	memcpy(&level, bench_topic_level[a->pass % a->topics], sizeof(level));
	for (uint16_t i = 0; i < n; i++) {
		uint8_t *p = rte_pktmbuf_mtod(m[i], uint8_t *);
		uint32_t isn = many ? take_connection(a, p) : bp_be32(p + AT_SEQ);

		replace32(p, AT_SEQ, __builtin_bswap32(isn + moved), AT_TCP_SUM, 0);
		if (sparkplug)
			replace32(p, a->traffic->frame_len - 4, seq, AT_TCP_SUM, 0);
		if (a->topics > 1)
			replace32(p, BENCH_TOPIC_LEVEL_AT, level, AT_TCP_SUM, 0);
	}
	a->publishes += n;
	a->over += a->over_before[a->in_capture + n] - a->over_before[a->in_capture];
	a->observed += a->observed_before[a->in_capture + n] - a->observed_before[a->in_capture];
}

static uint16_t shorter(uint16_t n, uint32_t limit)
{
	return n < limit ? n : (uint16_t)limit;
}

uint16_t bench_advance_rx(
	uint16_t port, uint16_t queue, struct rte_mbuf *pkts[], uint16_t n, uint16_t max, void *arg)
{
	struct bench_advance *a = arg;
	bool many = a->connections != a->traffic->frames;
	uint16_t run;

	RTE_SET_USED(port);
	RTE_SET_USED(queue);
	RTE_SET_USED(max);
	/* in runs that do not cross the end of the capture or of the pass */
	for (uint16_t i = 0; i < n; i = (uint16_t)(i + run)) {
		run = shorter((uint16_t)(n - i), a->traffic->frames - a->in_capture);
		run = shorter(run, a->connections - a->in_pass);
		if (unlikely(a->pass < bench_priming(a->traffic)))
			prime_frames(a, pkts + i, run, many);
		else if (unlikely(acknowledges(a)))
			acknowledge_frames(a, pkts + i, run, many);
		else
			advance_frames(a, pkts + i, run, many);
		a->in_capture = (a->in_capture + run) % a->traffic->frames;
		a->in_pass += run;
		if (a->in_pass == a->connections) {
			a->in_pass = 0;
			a->pass++;
		}
	}
	return n;
}
