/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRACKER_SIM_SEND_H
#define TRACKER_SIM_SEND_H

#include <signal.h>
#include <stdio.h>

#include "apps/sim/tracker/options.h"

/* Sends all readings, at the rate of each tracker; `log`: or NULL. Ends the program with status 71
 * on a system error. */
void tracker_send(const struct tracker_options *o, FILE *log);
/* Receives readings until the count is reached, no packet arrived for idle_ns, or *stop. Prints
 * the result. */
void tracker_receive(const struct tracker_options *o, FILE *log, const volatile sig_atomic_t *stop);

/* "WHAT: ERROR" on standard error, and status 71. */
void tracker_fatal(const char *what) __attribute__((noreturn));
/* A UDP socket bound there. */
int tracker_socket(const struct sockaddr_storage *at);
unsigned tracker_socket_len(const struct sockaddr_storage *at);

#endif
