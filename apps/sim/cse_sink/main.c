/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * biplane-cse-sink: a fast CoAP server that replaces an infrastructure CSE and checks the received
 * requests. It does not link gateway code, in particular not its codec. See --help.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "apps/sim/cse_sink/sink.h"
#include "apps/sim/sim_run.h"

#define BATCH 64
#define MESSAGE_MAX 4096

/* An answer that waits for --delay, or for the end of the batch. */
struct delayed_answer {
	struct delayed_answer *next;
	uint64_t due_ns;
	struct sockaddr_storage to;
	socklen_t to_len;
	size_t len;
	uint8_t bytes[SINK_ANSWER_MAX];
};

struct input {
	struct mmsghdr header[BATCH];
	struct iovec part[BATCH];
	struct sockaddr_storage from[BATCH];
	uint8_t bytes[BATCH][MESSAGE_MAX];
};

static struct input input;
static struct delayed_answer *first, *last; /* by due_ns: all wait equally long */
static uint16_t own_mid;
static sigset_t while_waiting;

static void fatal(const char *what)
{
	fprintf(stderr, "biplane-cse-sink: %s: %s\n", what, strerror(errno));
	exit(71);
}

static int open_socket(const struct sink_options *o)
{
	struct sockaddr_storage at = o->listen;
	socklen_t len = sizeof(at);
	int off = 0, room = 64 << 20;
	int fd = socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		fatal("socket");
	if (at.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) != 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (bind(fd, (struct sockaddr *)&at,
		    at.ss_family == AF_INET ? sizeof(struct sockaddr_in)
					    : sizeof(struct sockaddr_in6)) != 0)
		fatal("cannot bind");
	getsockname(fd, (struct sockaddr *)&at, &len);
	printf("ready %u\n",
		ntohs(at.ss_family == AF_INET ? ((struct sockaddr_in *)&at)->sin_port
					      : ((struct sockaddr_in6 *)&at)->sin6_port));
	fflush(stdout);
	return fd;
}

static uint64_t peer_hash(const struct sockaddr_storage *a)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in *four = (const struct sockaddr_in *)a;

	if (a->ss_family == AF_INET)
		return sink_hash(&four->sin_addr, 4) + four->sin_port;
	return sink_hash(&six->sin6_addr, 16) + six->sin6_port;
}

static void send_delayed(struct sink *s, int fd, const struct delayed_answer *h)
{
	if (sendto(fd, h->bytes, h->len, 0, (const struct sockaddr *)&h->to, h->to_len) < 0)
		s->counts.not_sent++;
}

/* Sends a response, immediately or after its delay. */
static void answer(struct sink *s, int fd, const struct msghdr *from, const struct sink_message *m,
	uint8_t type, uint16_t mid, const struct sink_answer *a, uint64_t delay_ns)
{
	struct delayed_answer now, *h = delay_ns > 0 ? malloc(sizeof(*h)) : &now;

	if (h == NULL)
		return;
	h->next = NULL;
	h->due_ns = s->now_ns + delay_ns;
	memcpy(&h->to, from->msg_name, from->msg_namelen);
	h->to_len = from->msg_namelen;
	h->len = sink_write(h->bytes, sizeof(h->bytes), m, s->numbers, type, mid, a->code, a->rsc,
		a->body[0] != '\0' ? a->body : NULL);
	if (h == &now) {
		send_delayed(s, fd, h);
		return;
	}
	if (last != NULL)
		last->next = h;
	else
		first = h;
	last = h;
}

static void respond(struct sink *s, int fd, const struct msghdr *from, const struct sink_message *m,
	const struct sink_answer *a, bool faults)
{
	static const struct sink_answer empty = {0};
	uint64_t delay_ns = faults ? s->o.delay_ns : 0;

	if (faults && s->o.drop_answers > 0 && sink_random(s) < s->o.drop_answers) {
		s->counts.answers_dropped++;
		return;
	}
	if (m->type == SINK_NON) {
		answer(s, fd, from, m, SINK_NON, own_mid++, a, delay_ns);
	} else if (faults && s->o.separate > 0 && sink_random(s) < s->o.separate) {
		s->counts.separate++;
		answer(s, fd, from, m, SINK_ACK, m->mid, &empty, 0);
		answer(s, fd, from, m, SINK_CON, own_mid++, a, delay_ns);
	} else {
		answer(s, fd, from, m, SINK_ACK, m->mid, a, delay_ns);
	}
}

/* A message without a code is not a request. */
static void empty_message(
	struct sink *s, int fd, const struct msghdr *from, const struct sink_message *m)
{
	static const struct sink_answer empty = {0};

	if (m->type == SINK_ACK)
		s->counts.separate_acked++;
	else if (m->type == SINK_RST)
		s->counts.resets++;
	else
		answer(s, fd, from, m, SINK_RST, m->mid, &empty, 0);
}

static void request(struct sink *s, int fd, const struct msghdr *from, const struct sink_message *m,
	const uint8_t *p, size_t len)
{
	bool faults = !s->o.instances_only || m->ty == SINK_CIN;
	uint64_t content = sink_hash(p, len);
	struct sink_exchange *x;
	struct sink_answer a = {0};

	if (faults && s->o.drop > 0 && sink_random(s) < s->o.drop) {
		s->counts.dropped++;
		return;
	}
	x = sink_exchange(&s->exchanges, peer_hash(from->msg_name), m->mid,
		(uint32_t)(s->now_ns / 1000000000));
	if (x != NULL && x->code != 0 && x->content == content) {
		s->counts.repeats++;
		a.code = x->code;
		a.rsc = x->rsc;
		respond(s, fd, from, m, &a, faults);
		return;
	}
	if (x != NULL && x->code != 0)
		sink_violation(s, "a message id used again within 247 s", p, len);
	if (faults && s->o.error > 0 && sink_random(s) < s->o.error) {
		s->counts.errors++;
		a.code = s->o.error_code;
		a.rsc = s->o.error_rsc;
	} else {
		sink_do(s, m, p, len, &a);
	}
	if (x != NULL) {
		x->content = content;
		x->code = a.code;
		x->rsc = a.rsc;
	}
	respond(s, fd, from, m, &a, faults);
}

static void message(struct sink *s, int fd, const struct msghdr *from, const uint8_t *p, size_t len)
{
	static const struct sink_answer empty = {0};
	struct sink_message m;
	const char *wrong = sink_read(&m, s->numbers, p, len);

	if (wrong == NULL && m.code == 0) {
		empty_message(s, fd, from, &m);
		return;
	}
	if (wrong == NULL && (m.code >= 32 || m.type > SINK_NON))
		wrong = "a message that is not a request";
	if (wrong == NULL) {
		request(s, fd, from, &m, p, len);
		return;
	}
	sink_violation(s, wrong, p, len);
	if (len >= 4 && m.type == SINK_CON)
		answer(s, fd, from, &m, SINK_RST, m.mid, &empty, 0);
}

static void receive(struct sink *s, int fd)
{
	int n;

	do {
		for (unsigned i = 0; i < BATCH; i++) {
			input.part[i] = (struct iovec){input.bytes[i], MESSAGE_MAX};
			input.header[i].msg_hdr = (struct msghdr){.msg_name = &input.from[i],
				.msg_namelen = sizeof(input.from[i]),
				.msg_iov = &input.part[i],
				.msg_iovlen = 1};
		}
		n = recvmmsg(fd, input.header, BATCH, 0, NULL);
		s->now_ns = sim_mono_ns();
		for (int i = 0; i < n; i++)
			message(s, fd, &input.header[i].msg_hdr, input.bytes[i],
				input.header[i].msg_len);
	} while (n == BATCH && sim_signals == 0);
}

static void send_due(struct sink *s, int fd)
{
	while (first != NULL && first->due_ns <= s->now_ns) {
		struct delayed_answer *h = first;

		first = h->next;
		if (first == NULL)
			last = NULL;
		send_delayed(s, fd, h);
		free(h);
	}
}

static void wait_for_input(const struct sink *s, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t wait = first != NULL && first->due_ns > s->now_ns ? first->due_ns - s->now_ns : 0;
	struct timespec t = {(time_t)(wait / 1000000000), (long)(wait % 1000000000)};

	ppoll(&p, 1, first != NULL ? &t : NULL, &while_waiting);
}

static void finish(struct sink *s)
{
	FILE *out = s->o.report_file != NULL ? fopen(s->o.report_file, "we") : stdout;

	if (out == NULL)
		fatal(s->o.report_file);
	sink_report(s, out);
	fclose(out);
	for (struct delayed_answer *h = first, *next; h != NULL; h = next) {
		next = h->next;
		free(h);
	}
	for (unsigned i = 0; i < SINK_VIOLATIONS_KEPT; i++)
		free(s->violation[i]);
	sink_tree_free(s->tree);
	free(s->exchanges.slot);
}

int main(int argc, char **argv)
{
	static struct sink s;
	int fd;

	sink_options_read(&s.o, argc, argv);
	s.numbers = s.o.rvi[0] != '\0' ? &sink_numbers_new : &sink_numbers_old;
	s.random = s.o.seed;
	s.tree = sink_tree_new(s.o.cse);
	if (s.tree == NULL || !sink_exchanges_make(&s.exchanges))
		fatal("memory");
	sim_take_signals(&while_waiting);
	fd = open_socket(&s.o);
	while (sim_signals == 0) {
		wait_for_input(&s, fd);
		s.now_ns = sim_mono_ns();
		receive(&s, fd);
		send_due(&s, fd);
	}
	finish(&s);
	return s.counts.violations > 0 ? 1 : 0;
}
