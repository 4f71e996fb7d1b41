/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <stdio.h>
#include <sys/un.h>

#include "controlplane/process/control.h"
#include "shm/plane_dirs.h"

int bp_control_path(const char *runtime_dir, const char *name, char *path, size_t size)
{
	char dir[PATH_MAX];
	int n = !bp_control_dir(runtime_dir, dir, sizeof(dir))
			? -1
			: snprintf(path, size, "%s/%s.sock", dir, name);

	return n < 0 || (size_t)n >= size ||
			       (size_t)n >= sizeof(((struct sockaddr_un *)0)->sun_path)
		       ? -1
		       : 0;
}
