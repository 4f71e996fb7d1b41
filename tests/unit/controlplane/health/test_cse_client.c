/* SPDX-License-Identifier: BSD-3-Clause */
/* The CoAP client against a peer whose bytes are written here, by hand. */
#include "tests/unit/controlplane/test.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controlplane/health/cse/cse_client.h"

#define OUTSTANDING 3
#define HEAD 12 /* bytes before the options: the client's tokens have 8 */

struct fixture {
	struct event_base *base;
	struct bp_cse_client *client;
	int peer;
	uint16_t port;
	struct sockaddr_in from; /* of what the peer received last */
	uint8_t got[4096];
	size_t got_len;
	/* The calls of done(), in order. */
	unsigned ends;
	struct bp_cse_reply reply[8];
	uintptr_t which[8];
	char payload[64];
};

static void done(void *arg, const struct bp_cse_reply *r);

static struct fixture *the; /* done()'s argument says which request it is */

static void done(void *arg, const struct bp_cse_reply *r)
{
	unsigned n = the->ends++;

	if (n >= 8)
		return;
	the->reply[n] = *r;
	the->which[n] = (uintptr_t)arg;
	snprintf(the->payload, sizeof(the->payload), "%.*s", (int)r->payload_len,
		(const char *)r->payload);
}

static void open_peer(struct fixture *f)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(f->port)};
	socklen_t len = sizeof(at);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	f->peer = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->peer, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(f->peer, (struct sockaddr *)&at, &len), 0);
	f->port = ntohs(at.sin_port);
}

static void open_client(struct fixture *f, uint64_t ack_timeout_ns)
{
	struct bp_cse_settings settings = {.release = BP_M2M_R4,
		.outstanding = OUTSTANDING,
		.ack_timeout_ns = ack_timeout_ns,
		.id_lifetime_ns = 25500000000u};
	struct sockaddr_in *to = (struct sockaddr_in *)&settings.address;

	bp_cse_client_free(f->client);
	to->sin_family = AF_INET;
	to->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to->sin_port = htons(f->port);
	f->client = bp_cse_client_new(f->base, &settings);
	assert_non_null(f->client);
	WAIT_UNTIL(bp_cse_has_capacity(f->client)); /* a client before it may have used ids */
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	the = f;
	f->base = event_base_new();
	open_peer(f);
	open_client(f, 3600000000000ull); /* no retransmissions, unless a test sets them */
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	bp_cse_client_free(f->client);
	event_base_free(f->base);
	close(f->peer);
	free(f);
	return 0;
}

static enum bp_cse_sent ask(struct fixture *f, uintptr_t which)
{
	static const char body[] = "{\"m2m:ae\":{\"rn\":\"gwAE\",\"api\":\"Norg.example.gw\","
				   "\"rr\":false,\"srv\":[\"4\"]}}";
	const struct bp_m2m_request q = {.ty = BP_M2M_AE,
		.path = "cse-in",
		.fr = "CgwAE",
		.rqi = "r2",
		.body = body,
		.body_len = sizeof(body) - 1};

	return bp_cse_send(f->client, &q, done, (void *)which);
}

/* The next datagram at the peer, whether or not it has come yet. */
static bool received(struct fixture *f)
{
	socklen_t len = sizeof(f->from);
	ssize_t n = recvfrom(
		f->peer, f->got, sizeof(f->got), MSG_DONTWAIT, (struct sockaddr *)&f->from, &len);

	f->got_len = n > 0 ? (size_t)n : 0;
	return n > 0;
}

/* One turn of the client, and a check of the peer. */
static bool turn(struct fixture *f)
{
	event_base_loop(f->base, EVLOOP_NONBLOCK);
	return received(f);
}

#define TAKE(f) WAIT_UNTIL(turn(f))
#define RUN_CLIENT_UNTIL(f, condition)                                                             \
	WAIT_UNTIL((event_base_loop((f)->base, EVLOOP_NONBLOCK), (condition)))

static void say(struct fixture *f, const void *p, size_t len)
{
	assert_int_equal(
		sendto(f->peer, p, len, 0, (struct sockaddr *)&f->from, sizeof(f->from)), (int)len);
}

/* A message of four bytes. */
static void say_empty(struct fixture *f, uint8_t first, const uint8_t mid[2])
{
	const uint8_t p[] = {first, 0, mid[0], mid[1]};

	say(f, p, sizeof(p));
}

/* A response to `request` (of the client): type in the first byte's bits, RSC, payload. */
static void say_response(struct fixture *f, uint8_t first, const uint8_t mid[2],
	const uint8_t *request, uint8_t code, uint16_t rsc, const char *payload)
{
	uint8_t p[256] = {first | 8, code, mid[0], mid[1]};
	const uint8_t option[] = {0xe2, 0x00, 0x26, (uint8_t)(rsc >> 8), (uint8_t)rsc}; /* 307 */
	size_t len = HEAD;

	memcpy(p + 4, request + 4, 8);
	memcpy(p + len, option, sizeof(option));
	len += sizeof(option);
	if (payload != NULL) {
		p[len++] = 0xff;
		memcpy(p + len, payload, strlen(payload));
		len += strlen(payload);
	}
	say(f, p, len);
}

#define ACK 0x60
#define CON 0x40
#define NON 0x50
#define RST 0x70

static void ack_created(struct fixture *f, const uint8_t *request)
{
	say_response(f, ACK, request + 2, request, 0x41, 2001, NULL);
}

/* Options and payload are what a real CSE was seen to accept. */
static void a_request_and_its_response(void **state)
{
	static const char options[] = "\xb6"
				      "cse-in\x11\x32\xd1\xf2\x02\x41\x34\x85"
				      "CgwAE\x42r2\xff"
				      "{\"m2m:ae\":{\"rn\":\"gwAE\",\"api\":\"Norg.example.gw\","
				      "\"rr\":false,\"srv\":[\"4\"]}}";
	struct fixture *f = *state;

	assert_int_equal(ask(f, 7), BP_CSE_TAKEN);
	assert_int_equal(f->ends, 0);
	TAKE(f);
	assert_int_equal(f->got[0], CON | 8);
	assert_int_equal(f->got[1], 0x02);
	assert_int_equal(f->got_len, HEAD + sizeof(options) - 1);
	assert_memory_equal(f->got + HEAD, options, sizeof(options) - 1);
	say_response(f, ACK, f->got + 2, f->got, 0x41, 2001, "{\"m2m:ae\":{}}");
	RUN_CLIENT_UNTIL(f, f->ends == 1);
	assert_int_equal(f->reply[0].end, BP_CSE_ANSWERED);
	assert_int_equal(f->reply[0].m2m.code, 0x41);
	assert_int_equal(f->reply[0].m2m.rsc, 2001);
	assert_string_equal(f->payload, "{\"m2m:ae\":{}}");
	assert_int_equal(f->which[0], 7);
	assert_int_equal(bp_cse_outstanding(f->client), 0);
}

static void what_is_lost_is_repeated(void **state)
{
	struct fixture *f = *state;
	uint8_t first[4096];
	size_t len;

	open_client(f, 3000000);
	ask(f, 1);
	TAKE(f);
	len = f->got_len;
	memcpy(first, f->got, len);
	for (unsigned i = 0; i < 2; i++) {
		TAKE(f);
		assert_int_equal(f->got_len, len);
		assert_memory_equal(f->got, first, len);
	}
	ack_created(f, first);
	RUN_CLIENT_UNTIL(f, f->ends == 1);
	assert_int_equal(f->reply[0].end, BP_CSE_ANSWERED);
	assert_true(bp_cse_counts(f->client)->repeats >= 2);
}

static void without_an_answer_it_ends(void **state)
{
	struct fixture *f = *state;

	open_client(f, 2000000);
	ask(f, 1);
	for (unsigned i = 0; i <= BP_CSE_RETRANSMISSIONS; i++)
		TAKE(f);
	RUN_CLIENT_UNTIL(f, f->ends == 1);
	assert_int_equal(f->reply[0].end, BP_CSE_TIMED_OUT);
	assert_false(turn(f));
	assert_int_equal(bp_cse_counts(f->client)->repeats, BP_CSE_RETRANSMISSIONS);
	/* And its answer, which comes too late, is no one's. */
	ask(f, 2);
	TAKE(f);
}

static void a_separate_response(void **state)
{
	static const uint8_t mid[] = {0x12, 0x34};
	struct fixture *f = *state;
	uint8_t request[4096];

	ask(f, 1);
	TAKE(f);
	memcpy(request, f->got, f->got_len);
	say_empty(f, ACK, request + 2);
	/* Twice: the client's acknowledgement of the first may have got lost. */
	for (unsigned i = 0; i < 2; i++) {
		say_response(f, CON, mid, request, 0x41, 2001, NULL);
		TAKE(f);
		assert_int_equal(f->got_len, 4);
		assert_int_equal(f->got[0], ACK);
		assert_int_equal(f->got[1], 0);
		assert_memory_equal(f->got + 2, mid, 2);
	}
	assert_int_equal(f->ends, 1);
	assert_int_equal(f->reply[0].m2m.rsc, 2001);
	assert_int_equal(bp_cse_counts(f->client)->separate, 1);
	assert_int_equal(bp_cse_counts(f->client)->unmatched, 1);
}

/* Once acknowledged it is not repeated; without a response it ends all the same. */
static void an_acknowledgement_stops_the_repetitions(void **state)
{
	struct fixture *f = *state;
	uint64_t repeats;

	open_client(f, 10000000);
	ask(f, 1);
	TAKE(f);
	say_empty(f, ACK, f->got + 2);
	event_base_loop(f->base, EVLOOP_NONBLOCK); /* takes it: loopback has it there already */
	repeats = bp_cse_counts(f->client)->repeats;
	RUN_CLIENT_UNTIL(f, f->ends == 1);
	assert_int_equal(f->reply[0].end, BP_CSE_TIMED_OUT);
	assert_int_equal(bp_cse_counts(f->client)->repeats, repeats);
}

static void a_response_overtakes_its_acknowledgement(void **state)
{
	static const uint8_t mid[] = {0x77, 0x78};
	struct fixture *f = *state;
	uint8_t request[4096];

	ask(f, 1);
	TAKE(f);
	memcpy(request, f->got, f->got_len);
	say_response(f, NON, mid, request, 0x83, 4105, NULL);
	say_empty(f, ACK, request + 2);
	RUN_CLIENT_UNTIL(f, f->ends == 1 && bp_cse_counts(f->client)->unmatched == 1);
	assert_int_equal(f->reply[0].m2m.code, 0x83);
	assert_int_equal(f->reply[0].m2m.rsc, 4105);
	assert_false(turn(f)); /* a NON is not acknowledged */
}

static void a_reset_ends_it(void **state)
{
	struct fixture *f = *state;

	ask(f, 1);
	TAKE(f);
	say_empty(f, RST, f->got + 2);
	RUN_CLIENT_UNTIL(f, f->ends == 1);
	assert_int_equal(f->reply[0].end, BP_CSE_RESET);
}

static void what_is_not_the_response(void **state)
{
	static const uint8_t ping[] = {0x40, 0x00, 0x43, 0x21};
	static const uint8_t odd_reset[] = {0x70, 0x80, 0x01, 0xda}; /* seen from a CSE */
	struct fixture *f = *state;
	uint8_t request[4096], wrong[4096], other_mid[2];

	ask(f, 1);
	TAKE(f);
	memcpy(request, f->got, f->got_len);
	memcpy(wrong, f->got, f->got_len);
	other_mid[0] = request[2];
	other_mid[1] = (uint8_t)(request[3] + 1);
	wrong[4] ^= 1;
	ack_created(f, wrong);                                      /* another token */
	say_response(f, ACK, other_mid, request, 0x41, 2001, NULL); /* another message id */
	say(f, "\x00\x01\x02", 3);
	say(f, odd_reset, sizeof(odd_reset));
	/* codes of a request, and of reserved classes, are no response, whatever else is right */
	say_response(f, ACK, request + 2, request, 0x02, 2001, NULL);
	say_response(f, ACK, request + 2, request, 0x21, 2001, NULL);
	say_response(f, ACK, request + 2, request, 0xe1, 2001, NULL);
	RUN_CLIENT_UNTIL(f, bp_cse_counts(f->client)->unmatched == 3 &&
				    bp_cse_counts(f->client)->unreadable == 4);
	say(f, ping, sizeof(ping));
	TAKE(f);
	assert_int_equal(f->got_len, 4);
	assert_int_equal(f->got[0], RST);
	assert_memory_equal(f->got + 2, ping + 2, 2);
	assert_int_equal(f->ends, 0);
	ack_created(f, request);
	RUN_CLIENT_UNTIL(f, f->ends == 1);
}

static void so_many_at_a_time(void **state)
{
	struct fixture *f = *state;
	uint8_t request[OUTSTANDING][4096];

	for (uintptr_t i = 0; i < OUTSTANDING; i++) {
		assert_int_equal(ask(f, i + 1), BP_CSE_TAKEN);
		TAKE(f);
		memcpy(request[i], f->got, f->got_len);
	}
	assert_int_equal(ask(f, 9), BP_CSE_QUEUE_FULL);
	/* Answered the other way round. */
	for (unsigned i = OUTSTANDING; i-- > 0;)
		ack_created(f, request[i]);
	RUN_CLIENT_UNTIL(f, f->ends == OUTSTANDING);
	for (unsigned i = 0; i < OUTSTANDING; i++)
		assert_int_equal(f->which[i], OUTSTANDING - i);
	assert_int_equal(ask(f, 9), BP_CSE_TAKEN);
}

static void away_and_back(void **state)
{
	struct fixture *f = *state;

	open_client(f, 4000000);
	close(f->peer);
	ask(f, 1);
	RUN_CLIENT_UNTIL(f, f->ends == 1); /* no one listens there, and its host says so */
	assert_int_equal(f->reply[0].end, BP_CSE_REFUSED);
	open_peer(f);
	ask(f, 2);
	TAKE(f);
	ack_created(f, f->got);
	RUN_CLIENT_UNTIL(f, f->ends == 2);
	assert_int_equal(f->reply[1].end, BP_CSE_ANSWERED);
}

static void freed_it_cancels(void **state)
{
	struct fixture *f = *state;

	ask(f, 1);
	ask(f, 2);
	bp_cse_client_free(f->client);
	f->client = NULL;
	assert_int_equal(f->ends, 2);
	assert_int_equal(f->reply[0].end, BP_CSE_CANCELLED);
	assert_int_equal(f->reply[1].end, BP_CSE_CANCELLED);
}

static void what_does_not_fit(void **state)
{
	struct fixture *f = *state;
	char segment[400];
	struct bp_m2m_request q = {.path = segment, .fr = "C1"};

	memset(segment, 'a', sizeof(segment) - 1);
	segment[sizeof(segment) - 1] = '\0';
	assert_int_equal(bp_cse_send(f->client, &q, done, NULL), BP_CSE_TOO_LONG);
	assert_int_equal(bp_cse_outstanding(f->client), 0);
	assert_int_equal(f->ends, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_request_and_its_response),
		TEST(what_is_lost_is_repeated),
		TEST(without_an_answer_it_ends),
		TEST(a_separate_response),
		TEST(an_acknowledgement_stops_the_repetitions),
		TEST(a_response_overtakes_its_acknowledgement),
		TEST(a_reset_ends_it),
		TEST(what_is_not_the_response),
		TEST(so_many_at_a_time),
		TEST(away_and_back),
		TEST(freed_it_cancels),
		TEST(what_does_not_fit),
	};

	return cmocka_run_group_tests_name("CSE client", tests, NULL, NULL);
}
