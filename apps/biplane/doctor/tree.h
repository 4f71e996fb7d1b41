/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_TREE_H
#define BP_APPS_BIPLANE_DOCTOR_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Files of a machine below a root: "" is this machine, and any other folder holds a copy of what
 * is asked of one (proc/, sys/, dev/, etc/). Each path is made as by printf and begins with "/".
 */
#define BP_TREE_PATH 1024

/* Text of a file without blanks at its end, cut to what fits. False: it can't be read; out is "".
 */
bool bp_tree_text(const char *root, char *out, size_t size, const char *path, ...)
	__attribute__((format(printf, 4, 5)));
/* The same whole, NUL terminated, up to 16 MiB; ownership to the caller. NULL: it can't be read. */
char *bp_tree_read_all(const char *root, size_t *len, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* A decimal number, which may have a sign. False: it can't be read, or is none. */
bool bp_tree_number(const char *root, int64_t *out, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* The last component of what a symbolic link leads to. False: there is no such link; out is "". */
bool bp_tree_link(const char *root, char *out, size_t size, const char *path, ...)
	__attribute__((format(printf, 4, 5)));
/* All of what it leads to. */
bool bp_tree_target(const char *root, char *out, size_t size, const char *path, ...)
	__attribute__((format(printf, 4, 5)));
bool bp_tree_exists(const char *root, const char *path, ...) __attribute__((format(printf, 2, 3)));

/* Names in a folder, sorted, without those that begin with a dot. */
struct bp_tree_names {
	size_t n;
	char **name;
};
/* Empty when the folder can't be read. */
struct bp_tree_names bp_tree_list(const char *root, const char *path, ...)
	__attribute__((format(printf, 2, 3)));
void bp_tree_names_free(struct bp_tree_names *names);

#endif
