/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRACKER_SIM_SEND_H
#define TRACKER_SIM_SEND_H

#include <signal.h>
#include <stdio.h>

#include "apps/sim/tracker/options.h"

/* Sends all readings, each tracker's at its rate; `log`: or NULL. Ends the program with status 71
 * where the system refuses. */
void tracker_send(const struct tracker_options *o, FILE *log);
/* Takes readings until there are enough, none came for long enough, or *stop. Prints what came. */
void tracker_receive(const struct tracker_options *o, FILE *log, const volatile sig_atomic_t *stop);

/* "what: why" on standard error, and status 71. */
void tracker_fatal(const char *what) __attribute__((noreturn));
/* A UDP socket bound there. */
int tracker_socket(const struct sockaddr_storage *at);
unsigned tracker_socket_len(const struct sockaddr_storage *at);

#endif
