/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hostile CSE over CoAP, which sees the requests: any answers to them, in any order, of any type
 * and code, with right and wrong message ids and tokens, repeated, late, and what is no CoAP at
 * all. Each request ends once, and is answered by nothing without its token.
 *
 * The input is a list of steps. The lowest three bits of a step's first byte say which:
 *
 *   0        another request
 *   1        time for repetitions; the client may be silent, so only a few of them
 *   2        a datagram: a length, and its bytes
 *   3        the same of the longest that there can be: bytes that are all the same
 *   4 to 7   a message for a request: bits 3 and 4 its type, bit 5 the message id of the request,
 *            else one of its own, bit 6 its token, else one byte of it is wrong, bit 7 from
 * another port; then its code, a length, and options and payload
 */
#include <netinet/in.h>
#include <unistd.h>

#include <event2/event.h>

#include "controlplane/health/cse/cse_client.h"
#include "tests/fuzz/fuzz.h"

#define REQUESTS 6u
#define OUTSTANDING 3u
#define WAITS_MAX 3u
#define ACK_TIMEOUT_NS 1000000u
#define ID_LIFETIME_NS 2550000u

static int peer = -1, other = -1;
static struct sockaddr_in at;
static struct event_base *base;

struct request {
	bool asked, ended, answered, seen;
	uint8_t head[12]; /* as it came: header and token */
	struct sockaddr_in from;
};
static struct request request[REQUESTS];
static unsigned asked;
static uint64_t sum; /* of payloads: all of them can be read */

struct input {
	const uint8_t *p, *end;
};

static uint8_t take(struct input *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

static int udp_socket(struct sockaddr_in *name)
{
	socklen_t len = sizeof(*name);
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	*name = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (fd < 0 || bind(fd, (struct sockaddr *)name, len) != 0 ||
		getsockname(fd, (struct sockaddr *)name, &len) != 0)
		abort();
	return fd;
}

static void start(void)
{
	struct sockaddr_in elsewhere;

	peer = udp_socket(&at);
	other = udp_socket(&elsewhere);
	base = event_base_new();
	if (base == NULL)
		abort();
}

static void done(void *arg, const struct bp_cse_reply *r)
{
	struct request *q = arg;

	HOLDS(q->asked && !q->ended);
	HOLDS(r->end <= BP_CSE_REFUSED);
	HOLDS(r->payload != NULL || r->payload_len == 0);
	q->ended = true;
	q->answered = r->end == BP_CSE_ANSWERED;
	if (q->answered)
		sum += (uint64_t)bp_m2m_outcome(&r->m2m, true);
	for (uint32_t i = 0; i < r->payload_len; i++)
		sum += r->payload[i];
}

static void ask(struct bp_cse_client *c)
{
	const struct bp_m2m_request q = {
		.ty = 4, .path = "cse-in/a", .fr = "C", .rqi = "1", .body = "{}", .body_len = 2};

	if (asked == REQUESTS || !bp_cse_has_capacity(c))
		return;
	request[asked].asked = true;
	HOLDS(bp_cse_send(c, &q, done, &request[asked]) == BP_CSE_TAKEN);
	asked++;
}

/* The requests of the client: a retransmission has the same token. */
static void hear(void)
{
	uint8_t p[2048];
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	ssize_t n;

	while ((n = recvfrom(peer, p, sizeof(p), 0, (struct sockaddr *)&from, &len)) >= 0) {
		len = sizeof(from);
		if (n < 12 || (p[0] & 0x0f) != 8)
			continue;
		for (unsigned i = 0; i < asked; i++) {
			struct request *q = &request[i];

			if (q->seen && memcmp(q->head + 4, p + 4, 8) != 0)
				continue;
			memcpy(q->head, p, sizeof(q->head));
			q->from = from;
			q->seen = true;
			break;
		}
	}
}

static void turn(void)
{
	event_base_loop(base, EVLOOP_NONBLOCK);
	hear();
}

static void say(int fd, const struct request *to, const void *p, size_t n)
{
	(void)sendto(fd, p, n, MSG_DONTWAIT, (const struct sockaddr *)&to->from, sizeof(to->from));
	turn();
}

static void answer(struct input *in, uint8_t how, const struct request *q)
{
	const bool before = q->answered, right = (how & 0xc0) == 0x40;
	uint8_t p[12 + 255];
	size_t n = 12;

	memcpy(p, q->head, n);
	p[0] = (uint8_t)(0x48 | (how >> 3 & 3) << 4);
	p[1] = take(in);
	if (!(how & 0x20))
		p[3] ^= 0x5a;
	if (!(how & 0x40))
		p[4 + (p[1] & 7)] ^= 1;
	if (p[1] == 0) { /* an empty message has no token (RFC 7252 4.1) */
		p[0] &= 0xf0;
		n = 4;
	}
	for (unsigned more = take(in); more > 0 && in->p < in->end; more--)
		p[n++] = take(in);
	say(how & 0x80 ? other : peer, q, p, n);
	/* a message with another token, or from another address, is no answer to it */
	HOLDS(right || q->answered == before);
}

static void step(struct input *in, struct bp_cse_client *c, unsigned *waits)
{
	static uint8_t long_one[65000];
	const uint8_t how = take(in);
	const struct request *q = &request[asked != 0 ? take(in) % asked : 0];
	size_t n = 0;

	switch (how & 7) {
	case 0:
		ask(c);
		turn();
		return;
	case 1:
		if ((*waits)++ < WAITS_MAX)
			usleep(1600);
		turn();
		return;
	case 2:
		for (unsigned more = take(in); more > 0 && in->p < in->end; more--)
			long_one[n++] = take(in);
		break;
	case 3:
		n = sizeof(long_one);
		memset(long_one, take(in), n);
		break;
	default:
		if (asked != 0 && q->seen)
			answer(in, how, q);
		return;
	}
	if (asked != 0 && q->seen)
		say(peer, q, long_one, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bp_cse_settings s = {.release = BP_M2M_R4,
		.outstanding = OUTSTANDING,
		.ports = 2,
		.ack_timeout_ns = ACK_TIMEOUT_NS,
		.id_lifetime_ns = ID_LIFETIME_NS};
	struct input in = {data, data + size};
	struct bp_cse_client *c;
	unsigned waits = 0;

	if (base == NULL)
		start();
	hear(); /* state of an earlier input */
	memset(request, 0, sizeof(request));
	asked = 0;
	memcpy(&s.address, &at, sizeof(at));
	c = bp_cse_client_new(base, &s);
	if (c == NULL)
		abort();
	while (!bp_cse_has_capacity(c))
		usleep(10);
	ask(c);
	turn();
	for (unsigned steps = 0; in.p < in.end && steps < 64; steps++) {
		step(&in, c, &waits);
		HOLDS(bp_cse_outstanding(c) <= OUTSTANDING);
	}
	bp_cse_client_free(c);
	for (unsigned i = 0; i < asked; i++)
		HOLDS(request[i].ended);
	return 0;
}
