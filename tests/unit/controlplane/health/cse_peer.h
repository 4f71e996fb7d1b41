/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_TESTS_UNIT_CONTROLPLANE_HEALTH_CSE_PEER_H
#define BP_TESTS_UNIT_CONTROLPLANE_HEALTH_CSE_PEER_H

#include <event2/event.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The other end of the client's socket: a UDP socket in the test's own event loop, which decodes
 * and encodes messages byte by byte, without proto/health/coap.h. The test decides how it answers.
 */
enum { PEER_CON, PEER_NON, PEER_ACK, PEER_RST };

struct peer_message {
	const uint8_t *p;
	size_t len;
	unsigned type, code, token_len;
	uint16_t mid;
	uint64_t token; /* byte 0 is the highest */
	struct sockaddr_in6 from;
};

struct peer {
	struct event_base *base;
	int fd; /* -1: closed */
	uint16_t port;
	struct event *readable;
	void (*on)(struct peer *p, const struct peer_message *m);
	void *arg;
	unsigned received;
	struct sockaddr_in6 from; /* of the last message */
};

/* Listens on ::, where IPv4 arrives, too. The port is kept over close and open. */
void peer_open(struct peer *p, struct event_base *base);
void peer_close(struct peer *p);
/* To where the last message came from. */
void peer_send(struct peer *p, const void *bytes, size_t len);
/* A message; with rsc (option 307) where that is not 0. */
void peer_put(struct peer *p, unsigned type, unsigned code, uint16_t mid, const uint64_t *token,
	unsigned rsc);
/* 2.01 with 2001 to `m`, on its acknowledgement. */
void peer_created(struct peer *p, const struct peer_message *m);

/* Value of the n-th option of that number (0: the first); NULL where it has none. */
const uint8_t *peer_option(const struct peer_message *m, unsigned number, unsigned n, size_t *len);
/* Uri-Path with slashes. */
void peer_path(const struct peer_message *m, char *out, size_t size);
/* Payload as text. */
void peer_payload(const struct peer_message *m, char *out, size_t size);

#endif
