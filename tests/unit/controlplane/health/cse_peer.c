/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/controlplane/health/cse_peer.h"

#include "tests/unit/controlplane/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct peer *p = arg;
	uint8_t in[9000];
	struct peer_message m = {.p = in};
	socklen_t n = sizeof(m.from);
	const ssize_t len = recvfrom(fd, in, sizeof(in), 0, (struct sockaddr *)&m.from, &n);

	if (len < 0)
		return; /* ICMP of a client that has gone */
	p->received++;
	p->from = m.from;
	assert_true(len >= 4);
	m.len = (size_t)len;
	assert_int_equal(in[0] >> 6, 1);
	m.type = in[0] >> 4 & 3;
	m.token_len = in[0] & 15;
	m.code = in[1];
	m.mid = (uint16_t)(in[2] << 8 | in[3]);
	assert_true(m.len >= 4 + m.token_len);
	for (unsigned i = 0; i < m.token_len; i++)
		m.token = m.token << 8 | in[4 + i];
	p->on(p, &m);
}

void peer_open(struct peer *p, struct event_base *base)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(p->port)};
	const int off = 0;
	socklen_t n = sizeof(a);

	p->base = base;
	p->fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_true(p->fd >= 0);
	assert_int_equal(setsockopt(p->fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)), 0);
	assert_int_equal(bind(p->fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(p->fd, (struct sockaddr *)&a, &n), 0);
	p->port = ntohs(a.sin6_port);
	p->readable = event_new(base, p->fd, EV_READ | EV_PERSIST, on_readable, p);
	assert_non_null(p->readable);
	assert_int_equal(event_add(p->readable, NULL), 0);
}

void peer_close(struct peer *p)
{
	if (p->fd < 0)
		return;
	event_free(p->readable);
	close(p->fd);
	p->fd = -1;
}

void peer_send(struct peer *p, const void *bytes, size_t len)
{
	sendto(p->fd, bytes, len, 0, (const struct sockaddr *)&p->from, sizeof(p->from));
}

void peer_put(struct peer *p, unsigned type, unsigned code, uint16_t mid, const uint64_t *token,
	unsigned rsc)
{
	uint8_t out[32];
	size_t n = 4;

	out[0] = (uint8_t)(0x40 | type << 4 | (token ? 8 : 0));
	out[1] = (uint8_t)code;
	out[2] = (uint8_t)(mid >> 8);
	out[3] = (uint8_t)mid;
	for (int i = 56; token && i >= 0; i -= 8)
		out[n++] = (uint8_t)(*token >> i);
	if (rsc != 0) {
		/* number 307 = 269 + 38, two bytes */
		const uint8_t option[] = {0xe2, 0, 38, (uint8_t)(rsc >> 8), (uint8_t)rsc};

		memcpy(out + n, option, sizeof(option));
		n += sizeof(option);
	}
	peer_send(p, out, n);
}

void peer_created(struct peer *p, const struct peer_message *m)
{
	peer_put(p, PEER_ACK, 0x41, m->mid, &m->token, 2001);
}

/* ---- what a message holds ---- */

static unsigned extended(const uint8_t *p, size_t *at, unsigned nibble)
{
	unsigned v = nibble;

	if (nibble == 13) {
		v = 13u + p[(*at)++];
	} else if (nibble == 14) {
		v = 269u + (unsigned)(p[*at] << 8 | p[*at + 1]);
		*at += 2;
	}
	return v;
}

/* The option at *at, or false at the end or the marker. */
static bool walk(const struct peer_message *m, size_t *at, unsigned *number, const uint8_t **value,
	size_t *len)
{
	unsigned first;

	if (*at >= m->len || m->p[*at] == 0xff)
		return false;
	first = m->p[(*at)++];
	*number += extended(m->p, at, first >> 4);
	*len = extended(m->p, at, first & 15);
	*value = m->p + *at;
	*at += *len;
	assert_true(*at <= m->len);
	return true;
}

const uint8_t *peer_option(const struct peer_message *m, unsigned number, unsigned n, size_t *len)
{
	size_t at = 4 + m->token_len;
	unsigned found = 0, i = 0;
	const uint8_t *value;

	while (walk(m, &at, &found, &value, len)) {
		if (found == number && i++ == n)
			return value;
	}
	return NULL;
}

void peer_path(const struct peer_message *m, char *out, size_t size)
{
	const uint8_t *value;
	size_t len, n = 0;

	out[0] = '\0';
	for (unsigned i = 0; (value = peer_option(m, 11, i, &len)) != NULL; i++) {
		n += (size_t)snprintf(out + n, size - n, "%s%.*s", i ? "/" : "", (int)len, value);
		assert_true(n < size);
	}
}

void peer_payload(const struct peer_message *m, char *out, size_t size)
{
	size_t at = 4 + m->token_len, len = 0;
	unsigned number = 0;
	const uint8_t *value;

	while (walk(m, &at, &number, &value, &len))
		;
	out[0] = '\0';
	if (at < m->len) {
		assert_true(m->len - at - 1 < size);
		memcpy(out, m->p + at + 1, m->len - at - 1);
		out[m->len - at - 1] = '\0';
	}
}
