/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/sim/sim_run.h"

#include <stddef.h>
#include <time.h>

volatile sig_atomic_t sim_signals;

uint64_t sim_mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void on_signal(int number)
{
	(void)number;
	sim_signals++;
}

void sim_take_signals(sigset_t *while_waiting)
{
	struct sigaction a = {.sa_handler = on_signal};
	sigset_t both;

	sigemptyset(&both);
	sigaddset(&both, SIGINT);
	sigaddset(&both, SIGTERM);
	sigprocmask(SIG_BLOCK, &both, while_waiting);
	sigdelset(while_waiting, SIGINT);
	sigdelset(while_waiting, SIGTERM);
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
}
