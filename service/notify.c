/* SPDX-License-Identifier: BSD-3-Clause */
#include "service/notify.h"

#include <stdarg.h>
#include <stdio.h>

#ifdef BP_SYSTEMD

#include <systemd/sd-daemon.h>

#define STATUS_SIZE 256

void bp_notify_ready(void)
{
	sd_notify(0, "READY=1");
}

void bp_notify_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}

void bp_notify_status(const char *format, ...)
{
	char text[STATUS_SIZE];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	sd_notifyf(0, "STATUS=%s", text);
}

void bp_notify_alive(void)
{
	sd_notify(0, "WATCHDOG=1");
}

uint64_t bp_notify_watchdog_ns(void)
{
	uint64_t us = 0;

	return sd_watchdog_enabled(0, &us) > 0 && us < UINT64_MAX / 1000 ? us * 1000 : 0;
}

#else

void bp_notify_ready(void)
{
}

void bp_notify_stopping(void)
{
}

void bp_notify_status(const char *format, ...)
{
	(void)format;
}

void bp_notify_alive(void)
{
}

uint64_t bp_notify_watchdog_ns(void)
{
	return 0;
}

#endif
