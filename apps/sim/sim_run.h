/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_SIM_SIM_RUN_H
#define BP_APPS_SIM_SIM_RUN_H

#include <signal.h>
#include <stdint.h>

/* The clock of simulators, and their termination by signals. */

uint64_t sim_mono_ns(void);

/* How often SIGINT or SIGTERM came since sim_take_signals(). */
extern volatile sig_atomic_t sim_signals;
/* From now on they arrive only while the program waits with the mask of this function (ppoll(),
 * epoll_pwait2()), so that none is missed between a check of sim_signals and the wait. */
void sim_take_signals(sigset_t *while_waiting);

#endif
