/* SPDX-License-Identifier: BSD-3-Clause */
/* Coordinate transformation in the whole process: banks, matrices that are set by command and by
 * the loader, and what becomes of them. The test plays the data plane. */
#include "tests/unit/controlplane/process/process_rig.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "config/config.h"
#include "shm/transform/transform_writer.h"
#include "proto/transform/transform_matrix.h"

#define ENTRY                                                                                      \
	"  - port: devices\n    udp_port: 10000\n    matrix_loader: true\n"                        \
	"    sources: [{address: 10.0.0.5, receivers: [{reply_to_sender: true, matrix: "           \
	"[[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0]]}, {udp_port: 9}]}]\n"
#define OTHER "  - port: cloud\n    udp_port: 10000\n    sources: [{address: 10.0.0.5}]\n"

struct fixture {
	struct process p;
	uint16_t tcp;
};

/* A port that no one has, as far as that can be known. */
static uint16_t free_port(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(a);
	const int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	close(fd);
	return ntohs(a.sin_port);
}

static void write_config(const struct fixture *f, const char *entries)
{
	char text[2048];

	snprintf(text, sizeof(text),
		"version: 1\nname: test\nruntime: {directory: %s, hugepages: never}\n"
		"ports: [{name: devices, device: net_null0}, {name: cloud, device: net_null1}]\n"
		"bridges: [{name: bridge0, ports: [devices, cloud]}]\n"
		"transform:\n  max_matrices: 6\n  matrix_loader: {address: 127.0.0.1, tcp_port: "
		"%u, "
		"max_connections: 2}\n%s%s",
		f->p.dir, f->tcp, entries[0] != '\0' ? "  entries:\n" : "", entries);
	test_write_file(f->p.config_path, text);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	process_begin(&f->p);
	f->tcp = free_port();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	process_end(&f->p);
	free(f);
	return 0;
}

static void begin(struct fixture *f, const char *entries)
{
	write_config(f, entries);
	bp_config_free(process_attach(&f->p)); /* the data plane comes first */
	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
}

static struct bp_transform_view view(const struct fixture *f)
{
	return bp_transform_view_of(
		&f->p.shm.transform, atomic_load(&f->p.shm.transform.head->active));
}

/* The first number of a receiver's matrix; 0: there is no such source. */
static double first(const struct fixture *f, unsigned rule, const char *source, unsigned receiver)
{
	const struct bp_transform_view v = view(f);
	struct bp_prefix p = {.family = 4, .length = 32};
	double m[12];
	uint32_t s;

	assert_int_equal(inet_pton(AF_INET, source, p.bytes), 1);
	s = bp_transform_find(&v, rule, &p);
	if (s == UINT32_MAX)
		return 0;
	bp_transform_row_read(&v.row[v.source[s].first + receiver], m);
	return m[0];
}

static json_t *request(struct fixture *f, json_t *what)
{
	json_t *reply = NULL;
	char err[512];

	if (bp_control_call(f->p.socket_path, what, &reply, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	return reply;
}

/* matrix-set with a matrix of that number in the diagonal. */
static json_t *ask_set(
	struct fixture *f, const char *source, double a, int entry, int receiver, bool add)
{
	return request(f, json_pack("{ss ss sb so si s[[fiii][ifii][iifi]]}", "command",
				  "matrix-set", "source", source, "add", (int)add, "entry",
				  entry < 0 ? json_null() : json_integer(entry), "receiver",
				  receiver, "matrix", a, 0, 0, 0, 0, a, 0, 0, 0, 0, a, 0));
}

static void takes(json_t *reply, int entries)
{
	if (!json_is_true(json_object_get(reply, "ok")))
		fail_msg("%s", json_dumps(reply, 0));
	assert_int_equal(json_integer_value(json_object_get(reply, "entries")), entries);
	json_decref(reply);
}

static void refuses(json_t *reply, const char *why)
{
	const json_t *errors = json_object_get(reply, "errors"), *line;
	bool said = false;
	size_t i;

	assert_true(json_is_false(json_object_get(reply, "ok")));
	json_array_foreach(errors, i, line)
	{
		said = said || strstr(json_string_value(line), why) != NULL;
	}
	if (!said)
		fail_msg("not refused for '%s', but: %s", why, json_dumps(errors, 0));
	json_decref(reply);
}

static void reload(struct fixture *f, int kept, int lost)
{
	json_t *reply = process_ask(&f->p, "reload");

	if (!json_is_true(json_object_get(reply, "ok")))
		fail_msg("%s", json_dumps(reply, 0));
	assert_int_equal(json_integer_value(json_object_get(reply, "matrices_kept")), kept);
	assert_int_equal(json_integer_value(json_object_get(reply, "matrices_lost")), lost);
	json_decref(reply);
}

/* ---- commands ---- */

static void file_settings_are_active(void **state)
{
	struct fixture *f = *state;

	begin(f, ENTRY);
	assert_true(bp_transform_valid(view(f).bank, 6));
	assert_int_equal(view(f).bank->n_rules, 1);
	assert_true(first(f, 0, "10.0.0.5", 0) == 2);
	write_config(f, OTHER ENTRY);
	reload(f, 0, 0);
	assert_int_equal(view(f).bank->n_rules, 2);
	assert_true(first(f, 0, "10.0.0.5", 0) == 1);
	assert_true(first(f, 1, "10.0.0.5", 0) == 2);
	/* a refused matrix changes nothing */
	write_config(f, "");
	refuses(process_ask(&f->p, "reload"), "removing the last entry needs a restart");
	assert_int_equal(view(f).bank->n_rules, 2);
}

static void set_values_persist(void **state)
{
	struct fixture *f = *state;

	begin(f, ENTRY OTHER);
	takes(ask_set(f, "10.0.0.5", 3, -1, 0, false), 2); /* in all that have it */
	assert_true(first(f, 0, "10.0.0.5", 0) == 3 && first(f, 1, "10.0.0.5", 0) == 3);
	takes(ask_set(f, "10.0.0.5", 4, 0, 1, false), 1);
	takes(ask_set(f, "10.0.0.6", 5, 1, 0, true), 1);
	reload(f, 4, 0);
	process_kill(&f->p);
	process_start(&f->p);
	json_decref(process_ask(&f->p, "status"));
	assert_true(first(f, 0, "10.0.0.5", 0) == 3 && first(f, 0, "10.0.0.5", 1) == 4);
	assert_true(first(f, 1, "10.0.0.5", 0) == 3 && first(f, 1, "10.0.0.6", 0) == 5);
	/* as the file says again */
	takes(request(f, json_pack("{ss ss}", "command", "matrix-clear", "source", "10.0.0.5")), 2);
	assert_true(first(f, 0, "10.0.0.5", 0) == 2 && first(f, 0, "10.0.0.5", 1) == 1);
	assert_true(first(f, 1, "10.0.0.5", 0) == 1 && first(f, 1, "10.0.0.6", 0) == 5);
	takes(request(f, json_pack("{ss ss si}", "command", "matrix-clear", "source", "10.0.0.6",
				 "entry", 1)),
		1);
	assert_true(first(f, 1, "10.0.0.6", 0) == 0);
	/* an entry that goes takes what was set in it along */
	takes(ask_set(f, "10.0.0.5", 6, -1, 0, false), 2);
	write_config(f, ENTRY);
	reload(f, 1, 1);
}

static void errors_are_reported(void **state)
{
	struct fixture *f = *state;

	begin(f, ENTRY OTHER);
	refuses(ask_set(f, "10.0.0.6", 1, -1, 0, false), "no entry of transform has a source");
	refuses(ask_set(f, "10.0.0.6", 1, -1, 0, true), "select an entry");
	refuses(ask_set(f, "10.0.0.6", 1, 0, 0, false), "entry 0 of transform has no source");
	refuses(ask_set(f, "10.0.0.5", 1, 2, 0, false), "there is no entry 2 in transform.entries");
	refuses(ask_set(f, "10.0.0.5", 1, 0, 2, false), "has no receiver 2");
	refuses(ask_set(f, "10.0.0.5", 0, 0, 0, false), "is singular");
	refuses(ask_set(f, "10.0.0.5", 1, 0, -1, false), "receiver is not the number");
	refuses(ask_set(f, "10.0.0.5/8", 1, 0, 0, false), "source is not an address or prefix");
	refuses(ask_set(f, "10.0.0.5", 0x1p31, 0, 0, false), "2^31");
	refuses(request(f, json_pack("{ss ss s[[iii]]}", "command", "matrix-set", "source",
				   "10.0.0.5", "matrix", 1, 2, 3)),
		"three rows of four numbers");
	refuses(request(f, json_pack("{ss}", "command", "matrix-clear")),
		"source is not an address");
	refuses(request(f, json_pack("{ss ss}", "command", "matrix-clear", "source", "10.0.0.7")),
		"no entry of transform has a source 10.0.0.7/32");
	for (unsigned i = 0; i < 3; i++) {
		char source[16];

		snprintf(source, sizeof(source), "10.0.1.%u", i);
		takes(ask_set(f, source, 1, 0, 0, true), 1);
	}
	refuses(ask_set(f, "10.0.1.9", 1, 0, 0, true), "no free matrix");
	assert_int_equal(atomic_load(&f->p.shm.transform.head->set), 3);
	assert_true(first(f, 0, "10.0.0.5", 0) == 2);
}

static void missing_entries_are_reported(void **state)
{
	struct fixture *f = *state;

	begin(f, "");
	assert_null(f->p.shm.transform.head);
	refuses(ask_set(f, "10.0.0.5", 1, -1, 0, true), "its file has no section transform");
	refuses(request(f, json_pack("{ss ss}", "command", "matrix-clear", "source", "10.0.0.5")),
		"its file has no section transform");
	reload(f, 0, 0);
}

/* ---- the loader ---- */

static int loader(const struct fixture *f)
{
	const struct sockaddr_in a = {.sin_family = AF_INET,
		.sin_port = htons(f->tcp),
		.sin_addr = {htonl(INADDR_LOOPBACK)}};
	const struct timeval patience = {20, 0};
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

static void put(uint8_t *message, const char *source, double a)
{
	const double m[12] = {a, 0, 0, 0, a, 0, 0, 0, a, 1, 2, 3};
	uint8_t ip4[4];

	assert_int_equal(inet_pton(AF_INET, source, ip4), 1);
	bp_transform_loader_write(message, ip4, m);
}

static void sends(int fd, const void *bytes, size_t n)
{
	assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

/* The following messages begin with it, byte by byte. */
static void answers(int fd, const char *expected)
{
	char got[256] = "";
	size_t n = 0;

	while (n < strlen(expected)) {
		const ssize_t more = recv(fd, got + n, strlen(expected) - n, 0);

		if (more <= 0)
			fail_msg("'%s' and no more came, not '%s'", got, expected);
		n += (size_t)more;
	}
	assert_string_equal(got, expected);
}

static void rest_of_line(int fd)
{
	char c = 0;

	while (c != '\n')
		assert_int_equal(recv(fd, &c, 1, 0), 1);
}

static void closed(int fd)
{
	char c;

	assert_int_equal(recv(fd, &c, 1, 0), 0);
	close(fd);
}

static void load(int fd, const char *source, double a)
{
	uint8_t message[BP_TRANSFORM_LOADER_MESSAGE];

	put(message, source, a);
	sends(fd, message, sizeof(message));
}

static void the_loader_sets_and_adds(void **state)
{
	struct fixture *f = *state;
	uint8_t many[3 * BP_TRANSFORM_LOADER_MESSAGE];
	int fd;

	begin(f, ENTRY OTHER);
	fd = loader(f);
	load(fd, "10.0.0.5", 7);
	answers(fd, "ok");
	/* active with the answer; not in the entry that does not let it */
	assert_true(first(f, 0, "10.0.0.5", 0) == 7 && first(f, 1, "10.0.0.5", 0) == 1);
	assert_true(first(f, 0, "10.0.0.5", 1) == 1);
	put(many, "10.0.0.6", 8);
	put(many + 100, "10.0.0.6", 9);
	put(many + 200, "127.0.0.1", 10); /* as the authors' own examples */
	sends(fd, many, 33);
	sends(fd, many + 33, 180);
	sends(fd, many + 213, 87);
	answers(fd, "okokok");
	assert_true(first(f, 0, "10.0.0.6", 0) == 9 && first(f, 0, "127.0.0.1", 0) == 10);
	sends(fd, "exit", 4);
	closed(fd);
	/* the server is still there */
	fd = loader(f);
	load(fd, "10.0.0.5", 11);
	shutdown(fd, SHUT_WR);
	answers(fd, "ok");
	closed(fd);
	reload(f, 3, 0);
	assert_true(first(f, 0, "10.0.0.5", 0) == 11 && first(f, 0, "10.0.0.6", 0) == 9);
	assert_int_equal(atomic_load(&f->p.shm.transform.head->set), 5);
	assert_int_equal(atomic_load(&f->p.shm.transform.head->refused), 0);
}

static void the_loader_refuses(void **state)
{
	struct fixture *f = *state;
	int fd;

	begin(f, ENTRY OTHER);
	fd = loader(f);
	load(fd, "10.0.0.5", 0);
	answers(fd, "error: the matrix is singular");
	rest_of_line(fd);
	load(fd, "10.0.0.5", (double)__builtin_inff());
	answers(fd, "error: the matrix has a number that is not finite");
	rest_of_line(fd);
	load(fd, "239.1.1.1", 1);
	answers(fd, "error: its address is not the address of a host\n");
	for (unsigned i = 0; i < 3; i++) {
		char source[16];

		snprintf(source, sizeof(source), "10.0.1.%u", i);
		load(fd, source, 1);
		answers(fd, "ok");
	}
	load(fd, "10.0.1.9", 1);
	answers(fd, "error: no free matrix for source 10.0.1.9/32 in transform.entries[0]");
	rest_of_line(fd);
	/* the connection continues */
	load(fd, "10.0.0.5", 12);
	answers(fd, "ok");
	assert_true(first(f, 0, "10.0.0.5", 0) == 12);
	assert_int_equal(atomic_load(&f->p.shm.transform.head->refused), 4);
	/* no entry that lets it */
	write_config(f, OTHER);
	reload(f, 0, 4);
	load(fd, "10.0.0.5", 13);
	answers(fd, "error: no entry has matrix_loader: true\n");
	close(fd);
}

/* One more than there may be waits until another ends. */
static void connections_are_bounded(void **state)
{
	struct fixture *f = *state;
	int fd[3];

	begin(f, ENTRY);
	for (unsigned i = 0; i < 3; i++)
		fd[i] = loader(f);
	load(fd[0], "10.0.0.5", 20);
	answers(fd[0], "ok");
	load(fd[1], "10.0.0.5", 21);
	answers(fd[1], "ok");
	load(fd[2], "10.0.0.5", 22);
	load(fd[1], "10.0.0.5", 23);
	answers(fd[1], "ok");
	assert_true(first(f, 0, "10.0.0.5", 0) == 23);
	close(fd[0]);
	answers(fd[2], "ok");
	assert_true(first(f, 0, "10.0.0.5", 0) == 22);
	close(fd[1]);
	close(fd[2]);
}

/* A client that does not read its answers is not read either, and delays no other. */
static void client_that_does_not_read_is_disconnected(void **state)
{
	struct fixture *f = *state;
	const int deaf = (begin(f, ENTRY), loader(f));
	const struct timeval little = {0, 200000};
	uint8_t message[BP_TRANSFORM_LOADER_MESSAGE];
	const int small = 2048;
	uint64_t sent = 0;
	int fd;

	setsockopt(deaf, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	setsockopt(deaf, SOL_SOCKET, SO_SNDTIMEO, &little, sizeof(little));
	put(message, "10.0.0.5", 0); /* whose answers are long */
	while (sent < (64u << 20) &&
		send(deaf, message, sizeof(message), MSG_NOSIGNAL) == sizeof(message))
		sent += sizeof(message);
	assert_true(sent < 64u << 20);
	fd = loader(f);
	load(fd, "10.0.0.5", 24);
	answers(fd, "ok");
	assert_true(first(f, 0, "10.0.0.5", 0) == 24);
	close(fd);
	close(deaf);
}

/* Killed while a client loads: acknowledged matrices are kept. */
static void killed_in_the_middle(void **state)
{
	struct fixture *f = *state;

	begin(f, ENTRY);
	for (unsigned round = 1; round <= 10; round++) {
		const int fd = loader(f);
		unsigned last = 0;

		for (unsigned i = 1; i <= 20 * round; i++) {
			load(fd, "10.0.0.5", 1000 * round + i);
			answers(fd, "ok");
			last = 1000 * round + i;
		}
		load(fd, "10.0.0.5", 1000 * round + 999);
		process_kill(&f->p);
		close(fd);
		assert_true(bp_transform_valid(view(f).bank, 6));
		assert_true(first(f, 0, "10.0.0.5", 0) == last ||
			    first(f, 0, "10.0.0.5", 0) == 1000 * round + 999);
		process_start(&f->p);
		json_decref(process_ask(&f->p, "status"));
		assert_true(first(f, 0, "10.0.0.5", 0) >= last);
	}
}

int main(int argc, char **argv)
{
	int status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(file_settings_are_active, setup, teardown),
		cmocka_unit_test_setup_teardown(set_values_persist, setup, teardown),
		cmocka_unit_test_setup_teardown(errors_are_reported, setup, teardown),
		cmocka_unit_test_setup_teardown(missing_entries_are_reported, setup, teardown),
		cmocka_unit_test_setup_teardown(the_loader_sets_and_adds, setup, teardown),
		cmocka_unit_test_setup_teardown(the_loader_refuses, setup, teardown),
		cmocka_unit_test_setup_teardown(connections_are_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(
			client_that_does_not_read_is_disconnected, setup, teardown),
		cmocka_unit_test_setup_teardown(killed_in_the_middle, setup, teardown),
	};

	if (process_is_controlplane(argc, argv, &status))
		return status;
	return cmocka_run_group_tests_name("controlplane transform", tests, NULL, NULL);
}
