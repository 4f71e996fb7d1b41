/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/fuzz.h"

#include <unistd.h>

#include <sys/mman.h>

#include "apps/biplane/transform/matrix_file.h"
#include "config/config.h"
#include "config/health/settings.h"

/*
 * Files that an operator names, of any content: a list of system-ids (allow_file), a matrix. The
 * first byte selects which. Errors are printed on standard error, which the options of libFuzzer
 * can close.
 */

static void allow_file(const uint8_t *p, size_t n)
{
	const uint32_t max = 8;
	struct bp_config_phd_ids ids = {0};
	uint32_t line = bp_config_phd_ids_parse((const char *)p, n, max, &ids);

	HOLDS(line == 0 ? ids.n <= max : ids.n == 0 && ids.id == NULL);
	free(ids.id);
}

static void matrix_file(const char *path)
{
	double m[12];

	(void)bp_matrix_file_read(path, false, m);
	(void)bp_matrix_file_read(path, true, m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	uint8_t *p;
	int fd;

	if (size < 1)
		return 0;
	p = exact_copy(data + 1, size - 1);
	fd = memfd_create("fuzzed", MFD_CLOEXEC);
	if (fd < 0 || write(fd, p, size - 1) != (ssize_t)(size - 1))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (data[0] % 2 == 0)
		allow_file(p, size - 1);
	else
		matrix_file(path);
	close(fd);
	free(p);
	return 0;
}
