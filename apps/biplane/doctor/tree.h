/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_APPS_BIPLANE_DOCTOR_TREE_H
#define BP_APPS_BIPLANE_DOCTOR_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Files of a machine below a root directory. "" is this machine; any other root contains copies of
 * the files (proc/, sys/, dev/, etc/). Each path is formatted as by printf and begins with "/".
 */
#define BP_TREE_PATH 1024

/* Text of a file without trailing blanks, truncated to `size`. False: it cannot be read; out is "".
 */
bool bp_tree_text(const char *root, char *out, size_t size, const char *path, ...)
	__attribute__((format(printf, 4, 5)));
/* The complete file, NUL terminated, up to 16 MiB. The caller frees it. NULL: it cannot be read. */
char *bp_tree_read_all(const char *root, size_t *len, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* A decimal number, optionally with a sign. False: it cannot be read, or is not a number. */
bool bp_tree_number(const char *root, int64_t *out, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
/* The last component of the target of a symbolic link. False: there is no such link; out is "". */
bool bp_tree_link(const char *root, char *out, size_t size, const char *path, ...)
	__attribute__((format(printf, 4, 5)));
/* The complete target of a symbolic link. */
bool bp_tree_target(const char *root, char *out, size_t size, const char *path, ...)
	__attribute__((format(printf, 4, 5)));
bool bp_tree_exists(const char *root, const char *path, ...) __attribute__((format(printf, 2, 3)));

/* Names in a directory, sorted, without names that begin with a dot. */
struct bp_tree_names {
	size_t n;
	char **name;
};
/* Empty if the directory cannot be read. */
struct bp_tree_names bp_tree_list(const char *root, const char *path, ...)
	__attribute__((format(printf, 2, 3)));
void bp_tree_names_free(struct bp_tree_names *names);

#endif
