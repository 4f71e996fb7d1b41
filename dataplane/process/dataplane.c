/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/process/dataplane.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "biplane/counters/general.h"
#include "config/segment.h"
#include "dataplane/capture/capture_sets.h"
#include "dataplane/process/clock.h"
#include "dataplane/process/cpu_latency.h"
#include "dataplane/process/eal.h"
#include "dataplane/exception/follow.h"
#include "dataplane/exception/thread.h"
#include "dataplane/process/history.h"
#include "dataplane/process/notifier.h"
#include "dataplane/ports/link.h"
#include "dataplane/workers/pools.h"
#include "dataplane/service.h"
#include "dataplane/ports/port_claim.h"
#include "dataplane/ports/ports.h"
#include "dataplane/process/privileges.h"
#include "dataplane/process/startup.h"
#include "dataplane/process/stats.h"
#include "dataplane/monitoring/fault_poll.h"
#include "dataplane/workers/workers.h"
#include "daemon/log.h"
#include "daemon/notify.h"
#include "daemon/pace.h"
#include "shm/doorbell.h"
#include "shm/events/plane_events.h"

#define PERIOD_NS 250000000L /* poll interval of links, clocks and statistics, ns */
#define FOLLOW_NS 20000000L  /* poll interval of kernel interfaces and ports, ns */
#define TAKE_NS 50000000L    /* poll interval of the rules without kernel interfaces, ns */
#define WAKE_SIGNAL SIGUSR1  /* from a worker that sees new rules */
#define NS_PER_SECOND 1000000000ull
/* Average interval of log lines about an overwritten segment, ns. */
#define RESTORED_LOG_NS 60000000000ull

/* The state of a data plane; one per process. */
struct dataplane {
	struct bp_config *config;
	struct bp_shm shm;
	struct bp_eal eal;
	struct bp_eal_args eal_args;
	struct bp_port ports[BP_MAX_PORTS];
	struct bp_queue_plan plan;
	struct bp_pools pools;
	struct bp_exception *exception; /* NULL: no port is routed */
	struct bp_kernel_ifs kernel_ifs;
	struct bp_exception_thread *exception_thread; /* NULL: no kernel interface */
	struct bp_follow follow;
	struct bp_workers workers;
	struct bp_clock clock;
	struct bp_fault_monitor faults;
	struct bp_history_sampler history;
	struct bp_dp_notifier notifier;
	int doorbell;    /* -1: none */
	int cpu_latency; /* descriptor of the PM QoS request; -1: none */
	unsigned stats_period;
	bool eal_started;
	/*
	 * Of the segment: parts that were damaged when it was opened, and the data that is restored
	 * after it was overwritten.
	 */
	unsigned quarantined;
	uint64_t hash_key[2], started_ns;
	struct bp_pace pace; /* rate limit of the log lines about that */
};

static uint64_t unix_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static uint64_t mono_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static double mono_seconds(void)
{
	return (double)mono_ns() / 1e9;
}

/* Logs the state of the files that existed. */
static void report_segment(const struct bp_segment *s)
{
	char text[2 * PATH_MAX + 1024];

	for (unsigned p = 0; p < BP_SEG_PARTS; p++)
		if (bp_shm_change_text(s, p, text, sizeof(text)))
			bp_log(BP_LOG_WARNING, "%s", text);
}

/*
 * Marks parts whose contents this plane cannot use as damaged for the next open. Returns their
 * number. The control plane checks its own parts.
 */
static unsigned condemn_unsound(struct bp_shm *shm)
{
	static const unsigned parts[] = {BP_SEG_DATA, BP_SEG_SHARED};
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *why = bp_shm_unsound(shm, parts[i]);
		char text[PATH_MAX + 128];

		if (!why)
			continue;
		snprintf(text, sizeof(text), "segment %s: %s",
			bp_segment_part_path(shm->segment, parts[i]), why);
		bp_log(BP_LOG_WARNING, "%s", text);
		bp_segment_condemn(shm->segment, parts[i]);
		n++;
	}
	return n;
}

/*
 * Opens and maps the segment. Returns 0; 1 if the caller must open it again; -1 with a message in
 * `err`.
 */
static int try_segment(struct dataplane *d, const struct bp_seg_spec *specs, unsigned n, char *err,
	size_t err_size)
{
	const struct bp_config *c = d->config;
	const char *huge = c->hugepages == BP_HUGEPAGES_NEVER ? NULL : bp_hugepage_dir();
	struct bp_segment *s = bp_segment_open(c->name, huge, c->runtime_dir, specs, n,
		BP_SEG_OWNER | BP_SEG_READ_CONTROL | BP_SEG_HOLD, err, err_size);
	int rc = -1;

	if (!s)
		return -1;
	d->quarantined += bp_segment_quarantined(s);
	report_segment(s);
	if (c->hugepages == BP_HUGEPAGES_REQUIRE && !bp_segment_huge(s))
		snprintf(err, err_size,
			"hugepages are required (runtime.hugepages), but the segment found not "
			"enough of them; raise vm.nr_hugepages, and mount hugetlbfs where it is "
			"not");
	else if (bp_shm_map(&d->shm, s, err, err_size) == 0)
		rc = condemn_unsound(&d->shm) == 0 ? 0 : 1;
	if (rc == 0)
		return 0;
	if (!bp_segment_huge(s) && c->hugepages == BP_HUGEPAGES_REQUIRE)
		bp_segment_unlink(c->name, huge, c->runtime_dir);
	bp_segment_close(s);
	d->shm.segment = NULL;
	return rc;
}

/* Creates the segment if it is missing or does not match the configuration, and recreates damaged
 * parts. The data plane starts with any file contents. */
static int open_segment(struct dataplane *d, char *err, size_t err_size)
{
	struct bp_seg_spec specs[BP_SHM_SPECS_MAX];
	const unsigned n = bp_shm_specs(d->config, specs);
	int rc = try_segment(d, specs, n, err, err_size);

	if (rc == 1)
		rc = try_segment(d, specs, n, err, err_size);
	if (rc == 1)
		snprintf(err, err_size, "the segment is damaged as soon as it is made");
	if (rc != 0)
		return -1;
	memcpy(d->shm.global->control_key, d->shm.control->hash_key,
		sizeof(d->shm.global->control_key));
	memcpy(d->hash_key, d->shm.global->hash_key, sizeof(d->hash_key));
	return 0;
}

/* The counters cover this run: a data plane that was killed held frames that are in no sum. */
static void reset_segment(struct bp_shm *shm)
{
	memset(shm->counters, 0, shm->counter_rows * sizeof(*shm->counters));
	memset(shm->port_stats, 0, shm->workers * BP_MAX_PORTS * sizeof(*shm->port_stats));
	memset(shm->port_drops, 0, shm->workers * BP_MAX_PORTS * sizeof(*shm->port_drops));
	memset(shm->faults, 0, shm->fault_rows * sizeof(*shm->faults));
	memset(shm->capture.status, 0, BP_CAPTURE_SLOTS * sizeof(*shm->capture.status));
	memset(shm->nodes, 0, (size_t)shm->workers * BP_MAX_NODES * sizeof(*shm->nodes));
	/* a data plane that was killed did not release its routes */
	for (unsigned w = 0; w < BP_MAX_WORKERS; w++)
		atomic_store(&shm->fib.readers->seen[w], UINT64_MAX);
	bp_services_reset(shm);
}

static void count_main(struct dataplane *d, bp_counter_t c, uint64_t n)
{
	bp_shm_counters_main(&d->shm, BP_COUNTER_ROW_MAIN)->v[c] += n;
}

static int choose_ports(struct dataplane *d, char *err, size_t err_size)
{
	if (bp_ports_attach(d->config, d->ports, err, err_size) != 0 ||
		bp_ports_choose(d->config, d->ports, err, err_size) != 0)
		return -1;
	for (unsigned p = 0; p < d->config->n_ports; p++)
		if (d->ports[p].caps.all_queues && d->ports[p].caps.max_rx > BP_MAX_QUEUES) {
			snprintf(err, err_size,
				"port %s has %u receive queues; biplane polls at most %d",
				d->config->port[p].name, d->ports[p].caps.max_rx, BP_MAX_QUEUES);
			return -1;
		}
	return 0;
}

static void plan_queues(struct dataplane *d)
{
	struct bp_port_caps caps[BP_MAX_PORTS];

	for (unsigned p = 0; p < d->config->n_ports; p++)
		caps[p] = d->ports[p].caps;
	bp_queue_plan_make(d->config, caps, &d->plan);
	bp_ports_planned(d->config, d->ports, &d->plan);
}

/*
 * A port that does not distribute its frames as reported needs fewer queues, never more: so there
 * are enough buffers, and the loop ends.
 */
static int start_ports(struct dataplane *d, char *err, size_t err_size)
{
	struct bp_queue_plan before;
	int rc;

	if (choose_ports(d, err, err_size) != 0)
		return -1;
	plan_queues(d);
	if (bp_pools_create(d->config, d->ports, &d->plan, &d->pools, err, err_size) != 0)
		return -1;
	bp_ports_limit(d->config, d->ports, &d->pools);
	do {
		rc = bp_ports_start(d->config, d->ports, &d->plan, &d->pools, err, err_size);
		if (rc > 0) {
			before = d->plan;
			plan_queues(d);
			bp_ports_replanned(d->config, d->ports, &before, &d->plan);
		}
	} while (rc > 0);
	return rc;
}

/* Creates the queues and kernel interfaces if any port is routed. */
static int open_exception(struct dataplane *d, char *err, size_t err_size)
{
	const struct bp_config *c = d->config;

	if (!bp_config_routes(c))
		return 0;
	d->exception = bp_exception_create(c, &d->plan, err, err_size);
	if (!d->exception || bp_kernel_ifs_open(&d->kernel_ifs, d->exception, c, d->ports,
				     &d->pools, err, err_size) != 0)
		return -1;
	bp_follow_init(&d->follow, c, d->ports, &d->pools, &d->kernel_ifs, d->shm.fib.interfaces);
	return 0;
}

static int start_exception_thread(struct dataplane *d, char *err, size_t err_size)
{
	if (d->kernel_ifs.n == 0)
		return 0;
	d->exception_thread =
		bp_exception_thread_start(d->exception, d->kernel_ifs.of, &d->config->punt,
			bp_shm_counters_main(&d->shm, BP_COUNTER_ROW_EXCEPTION), err, err_size);
	return d->exception_thread ? 0 : -1;
}

/*
 * A stop signal ends the process immediately while tables of many gigabytes are created: no frame
 * is forwarded yet, and the next start must handle a partial state in any case, since kill -9
 * leaves the same.
 */
static void stop_immediately(int signal)
{
	(void)signal;
	_exit(EX_OK);
}

/* Threads inherit this setting: no thread may be started while it is true. */
static void interruptible(bool yes)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	signal(SIGTERM, stop_immediately);
	signal(SIGINT, stop_immediately);
	pthread_sigmask(yes ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

static int create_segment(struct dataplane *d, char *err, size_t err_size)
{
	int rc;

	interruptible(true);
	rc = open_segment(d, err, err_size);
	interruptible(false);
	return rc;
}

static int create_workers(struct dataplane *d, char *err, size_t err_size)
{
	int rc;

	interruptible(true);
	rc = bp_workers_create(&d->workers, d->config, d->ports, &d->plan, &d->pools, d->exception,
		&d->shm, err, err_size);
	interruptible(false);
	return rc;
}

/* Without the pipe, the control plane examines the rings by timer. */
static void open_doorbell(struct dataplane *d)
{
	char err[PATH_MAX + 256];
	const int fd =
		bp_doorbell_create(d->config->runtime_dir, d->config->name, err, sizeof(err));

	if (fd < 0)
		bp_log(BP_LOG_WARNING, "%s; alarms leave up to 1 ms later", err);
	for (unsigned w = 0; w < d->workers.n; w++) {
		d->workers.worker[w]->doorbell.fd = fd;
		d->workers.worker[w]->doorbell.sleeps = &d->shm.control->cp_sleeps;
	}
	d->doorbell = fd;
}

/* The data plane also works without the limit: alarms are only later. */
static void limit_cpu_latency(struct dataplane *d)
{
	char err[256];

	if (!d->config->has_cpu_latency_limit)
		return;
	d->cpu_latency = bp_cpu_latency_limit(d->config->cpu_latency_limit_us, err, sizeof(err));
	if (d->cpu_latency < 0)
		bp_log(BP_LOG_WARNING, "%s", err);
}

static int start(struct dataplane *d, int eal_argc, char **eal_argv, char *err, size_t err_size)
{
	const struct bp_config *c = d->config;

	limit_cpu_latency(d); /* before privileges are dropped */
	if (bp_ports_claim(c, err, err_size) != 0 ||
		bp_dataplane_privileges(c, bp_pools_estimate(c), err, err_size) != 0 ||
		create_segment(d, err, err_size) != 0 ||
		bp_eal_choose(c, bp_pools_estimate(c), &d->eal, err, err_size) != 0 ||
		bp_eal_build_args(c, &d->eal, eal_argc, eal_argv, &d->eal_args, err, err_size) !=
			0 ||
		bp_eal_start(c, &d->eal_args, err, err_size) != 0)
		return -1;
	d->eal_started = true;
	reset_segment(&d->shm);
	count_main(d, BP_C_SEGMENT_QUARANTINED, d->quarantined);
	bp_link_reset();
	bp_clock_init(&d->clock);
	if (start_ports(d, err, err_size) != 0 || open_exception(d, err, err_size) != 0 ||
		bp_services_setup(c, &d->shm, mono_ns(), err, err_size) != 0 ||
		create_workers(d, err, err_size) != 0)
		return -1;
	open_doorbell(d);
	return start_exception_thread(d, err, err_size);
}

static void show_startup(struct dataplane *d)
{
	struct bp_startup s = {d->config, &d->eal, d->ports, &d->plan, &d->pools, &d->shm};

	bp_startup_print(&s, stdout);
	bp_kernel_ifs_print(&d->kernel_ifs, stdout);
	fflush(stdout);
	bp_startup_warn(&s);
}

static void publish(struct dataplane *d)
{
	bp_clock_sync(&d->clock);
	bp_publish_links(&d->shm, d->ports, d->config->n_ports);
	bp_publish_nodes(&d->shm, d->workers.worker, d->workers.n);
	bp_publish_usage(&d->shm, d->config, &d->pools, &d->workers.fdb, &d->faults);
	bp_process_use_publish(&d->shm.global->dp_use);
	atomic_store(&d->shm.global->dp_heartbeat_ns, unix_ns());
}

static struct bp_fault_sources fault_sources(struct dataplane *d)
{
	return (struct bp_fault_sources){
		d->config, &d->shm, d->ports, &d->pools, &d->workers, &d->eal.cpus};
}

/* Applies a new log level. The control plane reloads for both planes. */
static void follow_log(const struct dataplane *d)
{
	const uint32_t log = atomic_load_explicit(&d->shm.control->cp_log, memory_order_relaxed);
	const uint32_t level = (log - 1) % 16, format = (log - 1) / 16;

	if (log != 0 && level <= BP_LOG_DEBUG && format <= BP_LOG_JSON)
		bp_log_set((enum bp_log_level)level, (enum bp_log_format)format);
}

/* Called after publish(), which reads the drivers. */
static void watch(struct dataplane *d)
{
	const struct bp_fault_sources s = fault_sources(d);

	bp_fault_monitor_poll(&d->faults, &s, mono_ns(), unix_ns());
}

/* Applies changes of one side of a kernel interface to the other. */
static void follow(struct dataplane *d)
{
	uint32_t changed;

	if (d->kernel_ifs.n == 0)
		return;
	bp_kernel_ifs_restore(&d->kernel_ifs, d->exception_thread, mono_ns());
	changed = bp_follow_poll(&d->follow);
	for (unsigned p = 0; p < d->config->n_ports; p++) {
		if (!(changed >> p & 1))
			continue;
		bp_publish_address(&d->shm, d->ports, p);
		for (unsigned w = 0; w < d->workers.n; w++)
			__atomic_store_n(&d->workers.worker[w]->mtu[p], (uint16_t)d->ports[p].mtu,
				__ATOMIC_RELAXED);
	}
}

static void announce(struct dataplane *d)
{
	struct bp_shm_global *g = d->shm.global;

	bp_publish_ports(&d->shm, d->config, d->ports, &d->plan);
	atomic_store(&g->dp_workers, d->workers.n);
	atomic_store(&g->dp_ports, d->config->n_ports);
	atomic_store(&g->dp_started_ns, d->started_ns);
	atomic_store(&g->dp_heartbeat_ns, unix_ns());
	atomic_store(&g->dp_pid, (uint64_t)getpid());
}

/*
 * Another process, a defect or an operator may overwrite the files. This plane uses copies that it
 * has validated, and restores the data by which other processes find its tables.
 */
static void restore_segment(struct dataplane *d)
{
	static const unsigned parts[] = {BP_SEG_DATA, BP_SEG_SHARED};
	struct bp_shm_global *g = d->shm.global;

	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!bp_segment_restore(d->shm.segment, parts[i]))
			continue;
		count_main(d, BP_C_SEGMENT_QUARANTINED, 1);
		if (!bp_pace_may(&d->pace, true, mono_ns()))
			continue;
		bp_pace_take(&d->pace, mono_ns());
		bp_log_event(BP_LOG_WARNING,
			BP_LOG_FIELDS(BP_LOG_STR(
				"segment", bp_segment_part_path(d->shm.segment, parts[i]))),
			"header of the shared segment was overwritten and is restored; other "
			"damage is detected only when the data plane restarts");
	}
	if (atomic_load(&g->dp_pid) == (uint64_t)getpid() &&
		memcmp(g->hash_key, d->hash_key, sizeof(d->hash_key)) == 0)
		return;
	memcpy(g->hash_key, d->hash_key, sizeof(d->hash_key));
	memcpy(g->control_key, d->shm.fib.hash_key, sizeof(g->control_key));
	announce(d);
}

/* Applies new rules of the control plane. */
static void apply_rules(struct dataplane *d)
{
	const enum bp_ruleset_copies_result result =
		bp_ruleset_copies_poll(d->workers.ruleset_copies);

	if (result == BP_RULESET_COPIES_APPLIED)
		bp_workers_ring(&d->workers);
	if (result != BP_RULESET_COPIES_REJECTED)
		return;
	count_main(d, BP_C_RULES_REFUSED, 1);
	bp_log(BP_LOG_ERROR, "rule set in the shared segment is damaged and was rejected; the "
			     "previous rules stay active; restart the control plane");
}

/* Runs until a stop signal. The signals are blocked in all threads and received here. */
static void supervise(struct dataplane *d, const sigset_t *signals)
{
	const long step = d->kernel_ifs.n ? FOLLOW_NS : TAKE_NS;
	const struct timespec period = {.tv_nsec = step};
	struct bp_totals before, now;
	double printed = mono_seconds();
	long passed = 0;

	bp_totals_read(&d->shm, d->config->n_ports, &before);
	for (;;) {
		int signal = sigtimedwait(signals, NULL, &period);
		double seconds;

		if (signal == SIGTERM || signal == SIGINT)
			return;
		apply_rules(d);
		if (bp_capture_sets_poll(d->workers.captures))
			bp_workers_ring(&d->workers);
		follow(d); /* SIGHUP: the control plane reloads, no action here */
		bp_history_sampler_poll(&d->history, mono_ns(), unix_ns());
		passed += step;
		if (passed < PERIOD_NS)
			continue;
		passed = 0;
		restore_segment(d);
		follow_log(d);
		publish(d);
		bp_port_claims_serve();
		watch(d);
		bp_dp_notifier_update(&d->notifier, &d->shm, mono_ns());
		seconds = mono_seconds() - printed;
		if (d->stats_period == 0 || seconds < d->stats_period)
			continue;
		bp_totals_read(&d->shm, d->config->n_ports, &now);
		bp_rates_print(d->config, &before, &now, seconds, stdout);
		before = now;
		printed += seconds;
	}
}

static void run(struct dataplane *d, const sigset_t *signals)
{
	const struct bp_fault_sources s = fault_sources(d);
	struct bp_totals totals;

	show_startup(d);
	d->started_ns = unix_ns();
	bp_shm_events_begin(&d->shm, BP_EVENTS_DATAPLANE);
	bp_plane_event_started(&d->shm.main_events, BP_EVENT_DATAPLANE, (uint64_t)getpid(),
		atomic_load(&d->shm.global->dp_pid) != 0, d->started_ns);
	d->faults.sink.events = &d->shm.main_events;
	bp_pace_init(&d->pace, RESTORED_LOG_NS, mono_ns());
	announce(d);
	publish(d);
	follow(d);
	bp_fault_monitor_start(&d->faults, &s, mono_ns());
	bp_history_sampler_init(&d->history, &d->shm, d->config->n_ports, mono_ns());
	bp_history_sampler_poll(&d->history, mono_ns(), unix_ns());
	d->workers.ruleset_copies->wake_signal = WAKE_SIGNAL;
	apply_rules(d);
	bp_workers_launch(
		&d->workers, &d->clock, d->eal.cpus.floating ? &d->eal.cpus.allowed : NULL);
	bp_dp_notifier_init(&d->notifier, &d->workers, d->exception_thread, mono_ns());
	supervise(d, signals);
	bp_notify_stopping();
	bp_workers_stop(&d->workers);
	bp_exception_thread_stop(d->exception_thread);
	d->exception_thread = NULL;
	publish(d);
	bp_history_sampler_take(&d->history, mono_ns(), unix_ns());
	bp_totals_read(&d->shm, d->config->n_ports, &totals);
	bp_totals_print(d->config, &totals, stdout);
	bp_plane_event_stopped(
		&d->shm.main_events, BP_EVENT_DATAPLANE, (uint64_t)getpid(), unix_ns());
	atomic_store(&d->shm.global->dp_pid, 0);
}

static void close_all(struct dataplane *d)
{
	bp_exception_thread_stop(d->exception_thread);
	bp_workers_free(&d->workers);
	bp_kernel_ifs_close(&d->kernel_ifs, d->exception);
	bp_exception_free(d->exception);
	if (d->ports[0].config) /* EAL runs and some ports are attached */
		bp_ports_stop(d->config);
	bp_port_claims_release();
	bp_pools_free(&d->pools);
	if (d->shm.segment)
		bp_segment_close(d->shm.segment);
	if (d->doorbell >= 0)
		close(d->doorbell);
	if (d->cpu_latency >= 0)
		close(d->cpu_latency);
	bp_config_free(d->config);
	if (d->eal_started)
		rte_eal_cleanup();
	free(d);
}

int bp_dataplane_run(const char *config_path, int eal_argc, char **eal_argv, unsigned stats_period)
{
	struct dataplane *d = aligned_alloc(
		RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(sizeof(struct dataplane), RTE_CACHE_LINE_SIZE));
	char err[1024] = "";
	sigset_t signals;
	int status = EX_OK;

	bp_log_begin("dataplane");
	if (!d) {
		bp_log(BP_LOG_ERROR, "no memory");
		return EX_UNAVAILABLE;
	}
	memset(d, 0, sizeof(*d));
	d->stats_period = stats_period;
	d->doorbell = -1;
	d->cpu_latency = -1;
	d->config = bp_config_load(config_path, bp_log_stream(BP_LOG_WARNING));
	if (!d->config) {
		free(d);
		return EX_CONFIG;
	}
	bp_log_set(
		(enum bp_log_level)d->config->log.level, (enum bp_log_format)d->config->log.format);
	/* before EAL starts its threads, which inherit the mask */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, WAKE_SIGNAL);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN); /* a closed output must not stop the traffic */
	if (start(d, eal_argc, eal_argv, err, sizeof(err)) == 0) {
		run(d, &signals);
	} else {
		bp_log(BP_LOG_ERROR, "%s", err);
		status = EX_UNAVAILABLE;
	}
	close_all(d);
	return status;
}
