/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of health devices in the control plane are kept in the segment over restarts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "controlplane/health/status.h"

static struct bp_phd_control control;
static struct bp_phd_status words;
static struct bp_phd_tables tables;
static struct bp_phd_manager_counts counts;
static struct bp_phd_status_writer writer;
static struct bp_phd_status_from from;

/* A new process: its own counters begin at 0, the segment remains. */
static void restart(void)
{
	memset(&counts, 0, sizeof(counts));
	memset(&writer, 0xa5, sizeof(writer));
	bp_phd_status_begin(&writer, &words);
}

static int set_up(void **state)
{
	(void)state;
	memset(&control, 0, sizeof(control));
	memset(&words, 0, sizeof(words));
	tables = (struct bp_phd_tables){.control = &control, .status = &words};
	from = (struct bp_phd_status_from){.tables = &tables, .manager = &counts};
	restart();
	return 0;
}

static uint64_t write_and_read(enum bp_phd_status_word w)
{
	bp_phd_status_write(&writer, &from, 1);
	return atomic_load(&words.v[w]);
}

static void each_reason_has_its_word(void **state)
{
	static const struct {
		_Atomic uint64_t *n;
		enum bp_phd_status_word word;
	} pairs[] = {
		{&counts.aarq, BP_PHD_S_AARQ},
		{&counts.repeats, BP_PHD_S_AARE_REPEATED},
		{&counts.late, BP_PHD_S_AARQ_LATE},
		{&counts.aare[0], BP_PHD_S_ACCEPTED},
		{&counts.aare[1], BP_PHD_S_REJECTED_PERMANENT},
		{&counts.aare[2], BP_PHD_S_REJECTED_TRANSIENT},
		{&counts.aare[3], BP_PHD_S_ACCEPTED_UNKNOWN},
		{&counts.aare[4], BP_PHD_S_REJECTED_PROTOCOL},
		{&counts.aare[5], BP_PHD_S_REJECTED_PARAMETER},
		{&counts.aare[6], BP_PHD_S_REJECTED_UNKNOWN},
		{&counts.aare[7], BP_PHD_S_REJECTED_UNAUTHORIZED},
		{&counts.aare[8], BP_PHD_S_REJECTED_VERSION},
		{&counts.rejected_address, BP_PHD_S_REJECTED_ADDRESS},
		{&counts.rejected_rate, BP_PHD_S_REJECTED_RATE},
		{&counts.rejected_full, BP_PHD_S_REJECTED_FULL},
		{&counts.rejected_layouts, BP_PHD_S_REJECTED_LAYOUTS},
		{&counts.configs_accepted, BP_PHD_S_CONFIGS_ACCEPTED},
		{&counts.configs_refused, BP_PHD_S_CONFIGS_REFUSED},
		{&counts.aborts_sent, BP_PHD_S_ABORTS_SENT},
		{&counts.aborts_received, BP_PHD_S_ABORTS_RECEIVED},
		{&counts.releases_sent, BP_PHD_S_RELEASES_SENT},
		{&counts.releases_received, BP_PHD_S_RELEASES_RECEIVED},
		{&counts.timeout_config, BP_PHD_S_TIMEOUT_CONFIG},
		{&counts.timeout_service, BP_PHD_S_TIMEOUT_SERVICE},
		{&counts.timeout_release, BP_PHD_S_TIMEOUT_RELEASE},
		{&counts.timeout_idle, BP_PHD_S_TIMEOUT_IDLE},
		{&counts.superseded, BP_PHD_S_TAKEN_OVER},
		{&counts.adopted, BP_PHD_S_ADOPTED},
		{&counts.unknown_sessions, BP_PHD_S_STRAYS},
		{&counts.undecodable, BP_PHD_S_UNDECODABLE},
		{&counts.slow_taken, BP_PHD_S_REPORTS_TAKEN},
		{&counts.slow_refused, BP_PHD_S_REPORTS_REFUSED},
		{&counts.slow_lost, BP_PHD_S_REPORTS_LOST},
		{&counts.errors_answered, BP_PHD_S_ERRORS_ANSWERED},
	};
	const unsigned n = sizeof(pairs) / sizeof(pairs[0]);

	(void)state;
	for (unsigned i = 0; i < n; i++)
		atomic_store(pairs[i].n, 1000 + i);
	bp_phd_status_write(&writer, &from, 1);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(atomic_load(&words.v[pairs[i].word]), 1000 + i);
}

static void totals_go_on_over_a_restart(void **state)
{
	(void)state;
	atomic_store(&counts.aarq, 5);
	atomic_store(&control.sessions, 3);
	assert_int_equal(write_and_read(BP_PHD_S_AARQ), 5);
	assert_int_equal(write_and_read(BP_PHD_S_AARQ), 5);
	atomic_store(&counts.aarq, 7);
	assert_int_equal(write_and_read(BP_PHD_S_AARQ), 7);
	assert_int_equal(atomic_load(&words.v[BP_PHD_S_OPEN]), 3);
	restart();
	assert_int_equal(write_and_read(BP_PHD_S_AARQ), 7);
	atomic_store(&counts.aarq, 2);
	assert_int_equal(write_and_read(BP_PHD_S_AARQ), 9);
	/* a current value is not a sum */
	assert_int_equal(atomic_load(&words.v[BP_PHD_S_OPEN]), 3);
	atomic_store(&control.sessions, 1);
	assert_int_equal(write_and_read(BP_PHD_S_OPEN), 1);
}

static void receive(void *arg, const struct bp_phd_peer *p, const uint8_t *apdu, size_t len)
{
	(void)p;
	(void)apdu;
	(void)len;
	++*(unsigned *)arg;
}

/* Sends so much to a bound socket that no one reads that some of it is dropped. */
static void overflow(int server)
{
	uint8_t apdu[1000] = {0};
	struct sockaddr_in6 a;
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);

	assert_int_equal(getsockname(server, (struct sockaddr *)&a, &len), 0);
	a.sin6_addr = in6addr_loopback;
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	for (unsigned i = 0; i < 500; i++)
		assert_int_equal(send(fd, apdu, sizeof(apdu), 0), sizeof(apdu));
	close(fd);
}

/* One process' time with a socket, which it was handed down: all that was sent is either received
 * or dropped, and in the words. */
static void serve(struct event_base *base, int fd, unsigned *received, uint64_t sent)
{
	const struct bp_phd_server_ops ops = {.receive = receive};
	char err[256];
	struct bp_phd_server *s = bp_phd_server_new(base, fd, &ops, received, err, sizeof(err));

	assert_non_null(s);
	restart();
	from.server = s;
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_int_equal(write_and_read(BP_PHD_S_UDP_RECEIVED), *received);
	assert_int_equal(write_and_read(BP_PHD_S_UDP_DROPPED), sent - *received);
	bp_phd_server_free(s);
	from.server = NULL;
}

static void drops_are_counted_once(void **state)
{
	struct event_base *base = event_base_new();
	char err[256];
	int first = bp_phd_server_socket(0, err, sizeof(err)), small = 20000, other;
	unsigned received = 0;

	(void)state;
	assert_true(first >= 0);
	assert_int_equal(setsockopt(first, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	overflow(first);
	serve(base, dup(first), &received, 500);
	assert_in_range(received, 1, 250);
	/* the socket lived on while no one read it */
	overflow(first);
	serve(base, dup(first), &received, 1000);
	serve(base, first, &received, 1000);
	/* another socket begins with none */
	other = bp_phd_server_socket(0, err, sizeof(err));
	assert_int_equal(setsockopt(other, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	overflow(other);
	serve(base, other, &received, 1500);
	event_base_free(base);
}

#define CASE(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(each_reason_has_its_word),
		CASE(totals_go_on_over_a_restart),
		CASE(drops_are_counted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
