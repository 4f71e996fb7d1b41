/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_OPTION_VALUES_H
#define BP_APPS_BIPLANE_OPTION_VALUES_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Values of the options of simulators. `name`: that of the option, without dashes. An error ends
 * the program with a message on standard error and status 64.
 */

/* Calls set() for each option of the command line, with its `val` and its value. */
void option_each(int argc, char **argv, const struct option *options,
	void (*set)(void *arg, int which, const char *value), void *arg);
/* The same with other words permitted, which are then argv[RETURNED], ... */
int option_each_first(int argc, char **argv, const struct option *options,
	void (*set)(void *arg, int which, const char *value), void *arg);

void option_wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
double option_number(const char *name, const char *text, double min, double max);
uint64_t option_integer(const char *name, const char *text, uint64_t min, uint64_t max);
/* A number with ns, us, ms, s or m, from 1 ns; a plain 0 if `or_zero`. */
uint64_t option_duration_ns(const char *name, const char *text, bool or_zero);
/* Index of the text in a list that ends with NULL. */
unsigned option_one_of(const char *name, const char *text, const char *const *list);
/* ADDRESS:PORT, an IPv6 address in brackets. */
void option_endpoint(
	const char *name, const char *text, uint16_t least_port, struct sockaddr_storage *out);

/* An address of either family, port 0; false: it is invalid. */
bool option_address(const char *text, struct sockaddr_storage *out);
/* `port`: in host byte order. */
void option_set_port(struct sockaddr_storage *a, uint16_t port);

#endif
