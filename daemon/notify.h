/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DAEMON_NOTIFY_H
#define BP_DAEMON_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a service manager wants to hear, sd_notify(3), be it systemd or `biplane run`. Each does
 * nothing where there is no service manager (NOTIFY_SOCKET is not set). Not for a worker: a
 * message is a system call. None waits: a service manager that has stopped reading must not stop
 * the alarms. Each returns whether nothing is left to be said: false when the service manager has
 * no room for the message now, which the caller then says again later.
 */

/* Everything that the plane is for works. */
bool bp_notify_ready(void);
/* The end was asked for. */
bool bp_notify_stopping(void);
/* One line for `systemctl status`. */
bool bp_notify_status(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A life sign for the watchdog. */
bool bp_notify_alive(void);

/* Within which time the service manager wants the next life sign; 0: it wants none of us. */
uint64_t bp_notify_watchdog_ns(void);

#endif
