/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maximum association rate: the service of the control plane with sockets, store and provisioning
 * in one process, and devices in another (bench/health/association_load.h), in a network namespace
 * that ends with them. A device is associated when its AARQ and its configuration were accepted and
 * its MDS was requested.
 *
 *   phd_associations SINK DIRECTORY [--devices N (100000)] [--seconds S (5)] [--under-way N (1024)]
 *
 * SINK is biplane-cse-sink, which replaces the CSE: provisioning continues at the rate of the
 * client. Prints one JSON object. Fails if the answers to a device do not conform to the standard,
 * or if a device is missing in the session table or in the store's file.
 */
#include <errno.h>
#include <event2/event.h>
#include <getopt.h>
#include <inttypes.h>
#include <net/if.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/health/association_load.h"
#include "bench/harness/phd_lab.h"
#include "controlplane/health/phd_service.h"

#define SECOND_NS 1000000000ull
#define PATIENCE_NS (5 * SECOND_NS)
#define OXIMETER 4100 /* the type of the devices of bench/health/association_load.c */
#define SESSIONS_MAX (1u << 20)
#define CSE "10.0.0.2"

struct options {
	const char *sink, *directory;
	uint32_t devices, under_way;
	double seconds;
};

/* ---- network namespace ---- */

/* A namespace that also has the CSE's address. */
static void make_place(void)
{
	static struct bench_kernel kernel;
	const struct bp_address cse = bench_address4(BENCH_MANAGER + 1);

	bench_phd_lab(&kernel);
	bench_kernel_address(&kernel, (int)if_nametoindex("lo"), &cse, 32);
}

static pid_t start_sink(const struct options *o)
{
	char to[300];
	pid_t pid = fork();

	bench_must(pid >= 0, "fork", strerror(errno));
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	snprintf(to, sizeof(to), "%s/sink.json", o->directory);
	bench_must(freopen("/dev/null", "we", stdout) != NULL, "/dev/null", strerror(errno));
	execl(o->sink, o->sink, "--listen", CSE ":5683", "--report-file", to, (char *)NULL);
	bench_must(false, o->sink, strerror(errno));
	return -1;
}

/* ---- control plane process ---- */

static struct bp_config *configure(const struct options *o)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	struct bp_config *c;

	fprintf(f,
		"name: bench\nports:\n"
		"  - {name: devices, device: net_null0, routed: {addresses: [10.0.0.1/24]}}\n"
		"health_devices:\n  listen: {udp_port: %u, tcp_port: off}\n  max_sessions: %u\n"
		"  limits: {association_rate: 1000000}\n  store: {path: %s/phd.db}\n"
		"  cse: {coap: \"coap://" CSE "\"}\n",
		BENCH_MANAGER_PORT, SESSIONS_MAX, o->directory);
	fclose(f);
	c = bench_phd_lab_config(text);
	free(text);
	return c;
}

static bool no_workers(void *arg)
{
	(void)arg;
	return true;
}

static void stop(evutil_socket_t signal, short what, void *arg)
{
	(void)signal;
	(void)what;
	event_base_loopbreak(arg);
}

/* Runs until SIGTERM; then the store writes pending rows. */
static pid_t start_service(struct bp_shm *shm, const struct bp_config *c)
{
	struct bp_phd_service_setup setup = {.config = c,
		.tables = &shm->phd,
		.epochs = &shm->fib,
		.readers_gone = no_workers,
		.mac = {2, 0, 0, 0, 0, 1},
		.udp = -1,
		.tcp = -1};
	struct bp_phd_service *s;
	struct event_base *base;
	struct event *term;
	char err[256], ready = 'r';
	int way[2];
	pid_t pid;

	bench_must(pipe(way) == 0, "pipe", strerror(errno));
	pid = fork();
	bench_must(pid >= 0, "fork", strerror(errno));
	if (pid != 0) {
		close(way[1]);
		bench_must(read(way[0], &ready, 1) == 1, "the service", "did not start");
		close(way[0]);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(way[0]);
	base = event_base_new();
	term = evsignal_new(base, SIGTERM, stop, base);
	event_add(term, NULL);
	s = bp_phd_service_new(base, &setup, err, sizeof(err));
	bench_must(s != NULL, "service", err);
	bench_must(write(way[1], &ready, 1) == 1, "pipe", strerror(errno));
	event_base_dispatch(base);
	bp_phd_service_free(s);
	event_free(term);
	event_base_free(base);
	exit(0);
}

static void end(pid_t pid, const char *what)
{
	int status;

	kill(pid, SIGTERM);
	bench_must(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0,
		what, "did not end well");
}

/* Waits until the service has read the last answers, with the types of the devices; at most a few
 * seconds. */
static void await_told(const struct bp_phd_tables *t)
{
	const uint64_t end = bench_now_ns() + PATIENCE_NS;

	for (uint32_t i = 0; i < t->n_slots; i++) {
		const struct bp_phd_session *s = &t->sessions[i];

		while (bp_phd_word_state(atomic_load(&s->word)) != BP_PHD_FREE &&
			__atomic_load_n(&s->spec, __ATOMIC_RELAXED) != OXIMETER &&
			bench_now_ns() < end)
			usleep(1000);
	}
}

/* Private memory of a process without the segment, bytes. */
static double own_memory(pid_t pid)
{
	char path[64], line[128];
	unsigned long kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	bench_must(f != NULL, path, strerror(errno));
	while (fgets(line, sizeof(line), f) != NULL && sscanf(line, "RssAnon: %lu kB", &kib) != 1)
		continue;
	fclose(f);
	bench_must(kib != 0, path, "says no RssAnon");
	return (double)kib * 1024;
}

/* ---- check of the store's file ---- */

static uint64_t number(sqlite3 *db, const char *query)
{
	sqlite3_stmt *st = NULL;
	uint64_t n = 0;

	if (sqlite3_prepare_v2(db, query, -1, &st, NULL) == SQLITE_OK &&
		sqlite3_step(st) == SQLITE_ROW)
		n = (uint64_t)sqlite3_column_int64(st, 0);
	else
		bench_must(false, "what the store wrote", sqlite3_errmsg(db));
	sqlite3_finalize(st);
	return n;
}

/* The number of devices whose session, configuration and specialisation are in the store. */
static uint64_t stored(const char *directory)
{
	char path[300];
	sqlite3 *db = NULL;
	uint64_t n;

	snprintf(path, sizeof(path), "%s/phd.db", directory);
	bench_must(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK, path,
		"cannot be opened");
	n = number(db, "SELECT count(*) FROM sessions JOIN known USING(system_id, config_id)"
		       " JOIN configs ON configs.content = known.content WHERE spec = 4100");
	sqlite3_close(db);
	return n;
}

/* ---- */

static void parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {{"devices", required_argument, NULL, 'd'},
		{"seconds", required_argument, NULL, 's'},
		{"under-way", required_argument, NULL, 'u'}, {NULL, 0, NULL, 0}};
	int c;

	*o = (struct options){.devices = 100000, .under_way = 1024, .seconds = 5};
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'd')
			o->devices = (uint32_t)strtoul(optarg, NULL, 0);
		else if (c == 's')
			o->seconds = strtod(optarg, NULL);
		else if (c == 'u')
			o->under_way = (uint32_t)strtoul(optarg, NULL, 0);
		else
			exit(64);
	}
	if (optind + 2 != argc || o->devices == 0 || o->devices > SESSIONS_MAX ||
		o->under_way == 0 || !(o->seconds >= 0)) {
		fprintf(stderr,
			"usage: phd_associations SINK DIRECTORY [--devices N] [--seconds S] "
			"[--under-way N]\n");
		exit(64);
	}
	o->sink = argv[optind];
	o->directory = argv[optind + 1];
}

int main(int argc, char **argv)
{
	struct bench_association_load load = {.at_most = SESSIONS_MAX};
	struct bp_config *c;
	struct options o;
	struct bp_shm shm;
	uint64_t begun, in_file, took_with_file;
	double loop, all, memory;
	uint32_t in_table;
	pid_t sink, service;
	bool proven;

	parse(argc, argv, &o);
	make_place();
	c = configure(&o);
	bench_phd_lab_segment(&shm, c);
	sink = start_sink(&o);
	service = start_service(&shm, c);
	load.under_way = o.under_way;
	load.at_least = o.devices;
	load.for_ns = (uint64_t)(o.seconds * 1e9);
	loop = bench_process_ns(service, false);
	all = bench_process_ns(service, true);
	memory = own_memory(service);
	begun = bench_now_ns();
	bench_association_load(&load);
	loop = bench_process_ns(service, false) - loop;
	all = bench_process_ns(service, true) - all;
	await_told(&shm.phd);
	memory = own_memory(service) - memory;
	in_table = atomic_load(&shm.phd.control->operating);
	end(service, "service");
	took_with_file = bench_now_ns() - begun;
	end(sink, "biplane-cse-sink");
	in_file = stored(o.directory);
	proven = !load.stuck && load.others == 0 && load.done == load.begun &&
		 load.aares == load.done && load.configured == load.done && in_table == load.done &&
		 in_file == load.done;
	printf("{\"per_second\": %.0f, \"per_second_stored\": %.0f, \"per_cpu_second\": %.0f"
	       ", \"seconds\": %.2f, \"devices\": %" PRIu32 ", \"loop_us\": %.2f"
	       ", \"store_us\": %.2f, \"octets_a_device\": %.0f, \"operating\": %" PRIu32
	       ", \"in_file\": %" PRIu64 ", \"others\": %" PRIu64 ", \"proven\": %s}\n",
		load.done * 1e9 / (double)load.took_ns, load.done * 1e9 / (double)took_with_file,
		load.done * 1e9 / loop, (double)load.took_ns / 1e9, load.done,
		loop / load.done / 1e3, (all - loop) / load.done / 1e3, memory / load.done,
		in_table, in_file, load.others, proven ? "true" : "false");
	return proven ? 0 : 1;
}
