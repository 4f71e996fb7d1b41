/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/controlplane/health/cse_rig.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static struct fixture *the;
enum bp_cse_end rig_ended[REQUESTS_MAX];

void rig_done(void *arg, const struct bp_cse_reply *r)
{
	assert_false(the->in_call);
	rig_ended[(uintptr_t)arg] = r->end;
	the->ends++;
	the->by_end[r->end]++;
	if (the->reopen)
		peer_open(&the->peer, the->peer_base);
	the->reopen = false;
	for (unsigned i = 0; i < 2 && the->retry > 0; i++) {
		the->retry--;
		assert_int_equal(rig_ask(the, (uintptr_t)arg + 100), BP_CSE_TAKEN);
	}
}

enum bp_cse_sent rig_ask(struct fixture *f, uintptr_t which)
{
	const struct bp_m2m_request q = {
		.ty = BP_M2M_CIN, .path = "cse-in/ae/spo2", .fr = "C", .body = "{}", .body_len = 2};
	enum bp_cse_sent sent;

	f->in_call = true;
	sent = bp_cse_send(f->client, &q, rig_done, (void *)which);
	f->in_call = false;
	return sent;
}

void rig_note(struct peer *p, const struct peer_message *m)
{
	struct fixture *f = p->arg;

	if (m->type == PEER_RST) {
		f->resets++;
		return;
	}
	if (f->n < SEEN_MAX) {
		f->mid[f->n] = m->mid;
		f->token[f->n] = m->token;
	}
	f->n++;
}

void rig_answer(struct peer *p, const struct peer_message *m)
{
	rig_note(p, m);
	peer_created(p, m);
}

void rig_begin_at(struct fixture *f, const char *address, struct bp_cse_settings s)
{
	struct sockaddr_in6 *to6 = (struct sockaddr_in6 *)&s.address;
	struct sockaddr_in *to = (struct sockaddr_in *)&s.address;

	s.release = BP_M2M_R4;
	if (s.id_lifetime_ns == 0)
		s.id_lifetime_ns = 25500000000u;
	if (strchr(address, ':') != NULL) {
		to6->sin6_family = AF_INET6;
		to6->sin6_port = htons(f->peer.port);
		assert_int_equal(inet_pton(AF_INET6, address, &to6->sin6_addr), 1);
	} else {
		to->sin_family = AF_INET;
		to->sin_port = htons(f->peer.port);
		assert_int_equal(inet_pton(AF_INET, address, &to->sin_addr), 1);
	}
	f->client = bp_cse_client_new(f->base, &s);
	assert_non_null(f->client);
	WAIT_UNTIL(bp_cse_has_capacity(f->client)); /* a client before it may have used ids */
	event_base_loop(f->base, EVLOOP_NONBLOCK);
}

struct fixture *rig_make(void (*on)(struct peer *, const struct peer_message *))
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	the = f;
	f->base = event_base_new();
	f->peer_base = event_base_new();
	assert_true(f->base != NULL && f->peer_base != NULL);
	f->peer.on = on;
	f->peer.arg = f;
	peer_open(&f->peer, f->peer_base);
	return f;
}

struct fixture *rig_begin(void (*on)(struct peer *, const struct peer_message *),
	unsigned outstanding, uint64_t ack_timeout_ns)
{
	struct fixture *f = rig_make(on);

	rig_begin_at(f, "127.0.0.1",
		(struct bp_cse_settings){
			.outstanding = outstanding, .ack_timeout_ns = ack_timeout_ns});
	return f;
}

void rig_finish(struct fixture *f)
{
	bp_cse_client_free(f->client);
	peer_close(&f->peer);
	event_base_free(f->base);
	event_base_free(f->peer_base);
	free(f);
}

void rig_peer_turn(struct fixture *f)
{
	event_base_loop(f->peer_base, EVLOOP_ONCE);
}
