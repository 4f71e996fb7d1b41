/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_HOSTILE_TCP_ENDPOINTS_H
#define BP_TESTS_HOSTILE_TCP_ENDPOINTS_H

#include "mqtt_peer.h"

/*
 * Two ends of a TCP connection under virtual time: cumulative acknowledgements, retransmission with
 * other boundaries, a window, out-of-order segments kept, urgent bytes taken out, FIN and RST. The
 * path in between loses, repeats and reorders. Written from RFC 9293, sharing no code with what it
 * tests. Applications are called with what came in order.
 */

enum { STREAM_MAX = 65536, FLIGHT_MAX = 4096 };

struct frame {
	uint64_t at;   /* arrives then */
	unsigned hop;  /* 0: at the tap, 1: at the other end */
	unsigned from; /* CLIENT, BROKER */
	uint8_t flags;
	uint32_t seq, ack;
	uint16_t urgent; /* pointer; 0: none */
	uint16_t n;
	bool unseen; /* goes by another way than the tap */
	uint8_t data[1460];
};

struct end {
	uint32_t isn;
	uint8_t out[STREAM_MAX]; /* all that is ever sent; offset 0 is sequence number isn + 1 */
	uint32_t out_n, una, nxt, mss;
	uint32_t urgent_at; /* offset of the urgent byte; UINT32_MAX: none */
	uint64_t resend_at; /* 0: no segment is in flight */
	bool syn_acked, syn_sent, fin, fin_sent, fin_acked, open, reset;
	/* receiving: by offset, too */
	uint8_t in[STREAM_MAX], have[STREAM_MAX];
	uint32_t rcv, read, peer_isn, in_urgent;
	bool peer_known, fin_known, fin_rcvd, ack_due;
	uint32_t fin_at, peer_una;
};

struct sim {
	uint64_t now, s; /* µs; the state of the random numbers */
	struct end end[2];
	struct frame *flight[FLIGHT_MAX]; /* a heap by time */
	unsigned n_flight;
	/* of 1000 */
	unsigned lose, repeat, reorder, miss;
	uint32_t window;
	uint32_t syn_data; /* bytes that the SYN carries */
	bool syn_data_taken;
	struct peer peer;
	/* frames that the tap receives */
	void (*tap)(void *arg, const struct frame *f);
	/* bytes received in order at an end: all of end[to].in up to .rcv */
	void (*came)(void *arg, unsigned to);
	void *arg;
};

uint32_t sim_random(struct sim *s, uint32_t n);
/* The client connects; the exchange runs until no segment is in flight, or for the given number of
 * steps.
 */
void sim_run(struct sim *s, unsigned steps);
void sim_write(struct sim *s, unsigned from, const void *p, size_t n);
void sim_close(struct sim *s, unsigned from);
void sim_reset(struct sim *s, unsigned from);

#endif
