/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_PLANE_DIRS_H
#define BP_SHM_PLANE_DIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Planes that run as two users. If the runtime directory has a directory `data`, the data plane
 * creates its files there; if it has a directory `control`, the control plane creates its socket,
 * lock and pid file there. Each belongs to that plane's user; the mode of the runtime directory
 * decides who has access. Hugepages are then allocated in the directory `biplane` of a mounted
 * hugetlbfs, if it exists; it belongs to the data plane's user, too.
 */
#define BP_DATA_SUBDIR "data"
#define BP_CONTROL_SUBDIR "control"
#define BP_HUGE_SUBDIR "biplane"

/* RUNTIME-DIR/data or RUNTIME-DIR/control, or the runtime directory where there is none. False: the
 * path is too long. */
bool bp_data_dir(const char *runtime_dir, char *dir, size_t size);
bool bp_control_dir(const char *runtime_dir, char *dir, size_t size);

/* MOUNT/biplane, or MOUNT. False: the path is too long. */
bool bp_huge_dir(const char *mount, const char *runtime_dir, char *dir, size_t size);

/*
 * Gives an open file of this process's to the group of RUNTIME-DIR/control, with `mode`, so that
 * the control plane can write it. `path`: a file in RUNTIME-DIR/data. Nothing where there are no
 * such directories, or the file is another user's. 0, or an errno: this user must be in that group.
 */
int bp_control_share(int fd, const char *path, mode_t mode);

#endif
