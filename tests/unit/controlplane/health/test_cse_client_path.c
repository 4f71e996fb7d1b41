/* SPDX-License-Identifier: BSD-3-Clause */
/* The client of the CSE when the way there becomes another. */
#include "tests/unit/controlplane/health/cse_rig.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "tests/unit/controlplane/sync/sync_net.h"

/*
 * The CSE is in a network namespace of its own, 10.7.0.9, behind a pair of interfaces: near is
 * ours, with 10.7.0.1.
 */
static bool own_namespace;

static void enter(int fd)
{
	assert_int_equal(setns(fd, CLONE_NEWNET), 0);
}

static struct fixture *begin_far(
	void (*on)(struct peer *, const struct peer_message *), uint64_t ack_timeout_ns)
{
	const int near = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	struct fixture *f;
	int far;

	assert_true(near >= 0);
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	far = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_true(far >= 0);
	f = rig_make(on);
	enter(near);
	sync_rig_ip("link add near type veth peer name far netns /proc/%d/fd/%d", getpid(), far);
	sync_rig_ip("address add 10.7.0.1/24 dev near");
	sync_rig_ip("link set near up");
	enter(far);
	sync_rig_ip("address add 10.7.0.9/24 dev far");
	sync_rig_ip("link set far up");
	enter(near);
	close(near);
	close(far);
	/* until then the kernel drops what is sent there */
	WAIT_UNTIL(sync_rig_try("link show near | grep -q 'state UP'") == 0);
	rig_begin_at(f, "10.7.0.9",
		(struct bp_cse_settings){.outstanding = 4, .ack_timeout_ns = ack_timeout_ns});
	return f;
}

static void finish_far(struct fixture *f)
{
	rig_finish(f);
	sync_rig_try("link delete near");
}

/* Last byte of where the last message came from, and its port. */
static unsigned from_byte(const struct fixture *f)
{
	return f->peer.from.sin6_addr.s6_addr[15];
}

static void skip_without_namespace(void)
{
	if (!own_namespace)
		skip();
}

/* No timeout is needed: the kernel reports immediately that it cannot send from that address. */
static void test_address_removed(void **state)
{
	struct fixture *f;
	in_port_t port;

	(void)state;
	skip_without_namespace();
	f = begin_far(rig_answer, NEVER_NS);
	assert_int_equal(rig_ask(f, 0), BP_CSE_TAKEN);
	BOTH_UNTIL(f, f->ends == 1);
	assert_int_equal(from_byte(f), 1);
	port = f->peer.from.sin6_port;
	sync_rig_ip("address del 10.7.0.1/24 dev near");
	sync_rig_ip("address add 10.7.0.2/24 dev near");
	assert_int_equal(rig_ask(f, 1), BP_CSE_TAKEN);
	BOTH_UNTIL(f, f->ends == 2);
	assert_int_equal(f->by_end[BP_CSE_ANSWERED], 2);
	assert_int_equal(from_byte(f), 2);
	assert_int_equal(f->peer.from.sin6_port, port);
	assert_int_equal(bp_cse_counts(f->client)->not_sent, 0);
	finish_far(f);
}

static unsigned deaf_to;       /* last byte of an address */
static uint64_t deaf_to_token; /* or all of a request */

static void answer_some(struct peer *p, const struct peer_message *m)
{
	if (m->from.sin6_addr.s6_addr[15] == deaf_to)
		return;
	rig_note(p, m);
	if (m->token != deaf_to_token)
		peer_created(p, m);
}

/* The route prefers another address, and nothing comes back to the old one. */
static void test_route_changes(void **state)
{
	const struct bp_cse_counts *c;
	struct fixture *f;
	in_port_t port;

	(void)state;
	skip_without_namespace();
	deaf_to = 0;
	deaf_to_token = 0;
	f = begin_far(answer_some, QUICK_NS);
	c = bp_cse_counts(f->client);
	while (f->by_end[BP_CSE_ANSWERED] == 0) {
		const unsigned before = f->ends;

		assert_int_equal(rig_ask(f, 0), BP_CSE_TAKEN);
		BOTH_UNTIL(f, f->ends > before);
	}
	assert_int_equal(from_byte(f), 1);
	port = f->peer.from.sin6_port;
	sync_rig_ip("address add 10.7.0.2/24 dev near");
	sync_rig_ip("route replace 10.7.0.0/24 dev near scope link src 10.7.0.2 proto kernel");
	deaf_to = 1;
	/* a late word to what was asked before may save the first from it */
	for (const uint64_t before = c->reconnects; c->reconnects == before;) {
		const unsigned ends = f->ends;

		assert_int_equal(rig_ask(f, 1), BP_CSE_TAKEN);
		BOTH_UNTIL(f, f->ends > ends);
		assert_int_equal(rig_ended[1], BP_CSE_TIMED_OUT);
	}
	for (bool answered = false; !answered;) {
		const unsigned before = f->ends;

		assert_int_equal(rig_ask(f, 2), BP_CSE_TAKEN);
		BOTH_UNTIL(f, f->ends > before);
		answered = rig_ended[2] == BP_CSE_ANSWERED;
	}
	assert_int_equal(from_byte(f), 2);
	assert_int_equal(f->peer.from.sin6_port, port);
	finish_far(f);
}

/* One request that has no answer says nothing about the way while others have theirs. */
static void test_silence_about_one(void **state)
{
	struct fixture *f = rig_begin(answer_some, 4, 4 * QUICK_NS);

	(void)state;
	deaf_to = 0;
	deaf_to_token = 0;
	rig_ended[0] = BP_CSE_ANSWERED;
	assert_int_equal(rig_ask(f, 0), BP_CSE_TAKEN);
	/* it is the first that the peer reads; its transmissions all have the same token */
	f->peer.on = rig_note;
	BOTH_UNTIL(f, f->n > 0);
	deaf_to_token = f->token[0];
	f->peer.on = answer_some;
	assert_int_equal(rig_ask(f, 1), BP_CSE_TAKEN);
	BOTH_UNTIL(f, f->ends == 2);
	assert_int_equal(rig_ended[0], BP_CSE_TIMED_OUT);
	/* a machine that stood still is excused */
	if (f->by_end[BP_CSE_ANSWERED] == 1)
		assert_int_equal(bp_cse_counts(f->client)->reconnects, 0);
	rig_finish(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_address_removed),
		cmocka_unit_test(test_route_changes),
		cmocka_unit_test(test_silence_about_one),
	};

	own_namespace = sync_rig_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
