/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_DAEMON_NOTIFY_H
#define BP_DAEMON_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Messages to the service manager, sd_notify(3): systemd or `biplane run`. Each function does
 * nothing without a service manager (NOTIFY_SOCKET is not set). Workers must not call them: a
 * message is a system call. No call blocks: a service manager that does not read must not delay
 * alarms. Each function returns true when the message was sent or none is needed; false when the
 * socket buffer of the service manager is full, and the caller then repeats the message later.
 */

/* The plane is fully operational. */
bool bp_notify_ready(void);
/* The plane is shutting down. */
bool bp_notify_stopping(void);
/* One line for `systemctl status`. */
bool bp_notify_status(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A heartbeat for the watchdog. */
bool bp_notify_alive(void);

/* Watchdog timeout of the service manager, in nanoseconds; 0: no heartbeat is required. */
uint64_t bp_notify_watchdog_ns(void);

#endif
