/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdarg.h>
#include <time.h>

#include "apps/sim/phd/sim.h"

void sim_log_begin(struct sim *s, const struct sim_device *d, const char *event)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	fprintf(s->log, "{\"time\":%lld.%06ld,\"device\":\"%016" PRIx64 "\",\"event\":\"%s\"",
		(long long)t.tv_sec, t.tv_nsec / 1000, d->system_id, event);
}

void sim_log(struct sim *s, const struct sim_device *d, const char *event, const char *more, ...)
{
	va_list args;

	if (s->log == NULL)
		return;
	sim_log_begin(s, d, event);
	va_start(args, more);
	vfprintf(s->log, more, args);
	va_end(args);
	fputs("}\n", s->log);
}

void sim_summary(const struct sim *s, FILE *out)
{
	const struct sim_counts *c = &s->counts;
	uint64_t mean = c->answered > 0 ? c->wait_sum_ns / c->answered : 0;

	fprintf(out, "{\"event\":\"summary\",\"devices\":%u,\"done\":%u,\"seconds\":%.3f",
		s->o.count, s->done, (double)(s->now_ns - s->started_ns) / 1e9);
#define COUNT(name) fprintf(out, ",\"" #name "\":%" PRIu64, c->name)
	COUNT(associations);
	COUNT(configurations);
	COUNT(rejected);
	COUNT(aborted);
	COUNT(aborts_sent);
	COUNT(released);
	COUNT(reports);
	COUNT(observations);
	COUNT(repeats);
	COUNT(answered);
	COUNT(refused);
	COUNT(later);
	COUNT(given_up);
	COUNT(late_answers);
	COUNT(unreadable);
	COUNT(lost_out);
	COUNT(lost_in);
	COUNT(duplicated);
	COUNT(not_sent);
#undef COUNT
	fprintf(out, ",\"answer_ms\":{\"min\":%.3f,\"mean\":%.3f,\"max\":%.3f}}\n",
		(double)c->wait_min_ns / 1e6, (double)mean / 1e6, (double)c->wait_max_ns / 1e6);
	fflush(out);
}
