/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/shm/fib/fib_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "shm/fib/lpm/lpm_node.h"
#include "shm/fib/neighbors.h"

#define ROOT4 (1u << 24)
#define ROOT6 (1u << 16)

/* Pages that are not touched take no memory, as in the segment. */
static void *zeroed(size_t n, size_t size)
{
	void *p = mmap(NULL, n * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		fprintf(stderr, "fib_fixture: no memory\n");
		exit(1);
	}
	return p;
}

static uint32_t or_else(uint32_t n, uint32_t default_settings)
{
	return n != 0 ? n : default_settings;
}

struct bp_fib *fib_new(const struct fib_size *size)
{
	struct bp_fib *f = zeroed(1, sizeof(*f));

	f->max_routes4 = or_else(size->max_routes4, 4096);
	f->max_routes6 = or_else(size->max_routes6, 4096);
	f->max_routes = f->max_routes4 + f->max_routes6;
	f->max_nexthops = or_else(size->max_nexthops, 1u << 20);
	f->max_groups = or_else(size->max_groups, 64);
	f->max_neighbors = or_else(size->max_neighbors, 1024);
	f->max_lines = or_else(size->max_lines, 65536);
	f->hash_key[0] = 0x0123456789abcdefull;
	f->hash_key[1] = 0xfedcba9876543210ull;
	f->control = zeroed(1, sizeof(*f->control));
	f->readers = zeroed(1, sizeof(*f->readers));
	f->interfaces = zeroed(BP_ALL_INTERFACES, sizeof(*f->interfaces));
	f->nexthops = zeroed(f->max_nexthops, sizeof(*f->nexthops));
	f->groups = zeroed(f->max_groups, sizeof(*f->groups));
	f->lpm4_root = zeroed(ROOT4, sizeof(*f->lpm4_root));
	f->lpm6_root = zeroed(ROOT6, sizeof(*f->lpm6_root));
	f->vrfs = zeroed(BP_MAX_VRFS, sizeof(*f->vrfs));
	f->vrf_roots = zeroed((size_t)2 * BP_MAX_VRFS * BP_VRF_ROOT, sizeof(*f->vrf_roots));
	f->lines = zeroed(f->max_lines + BP_LPM_SLACK, sizeof(*f->lines));
	return f;
}

void fib_free(struct bp_fib *f)
{
	munmap(f->control, sizeof(*f->control));
	munmap(f->readers, sizeof(*f->readers));
	munmap(f->interfaces, BP_ALL_INTERFACES * sizeof(*f->interfaces));
	munmap(f->nexthops, f->max_nexthops * sizeof(*f->nexthops));
	munmap(f->groups, f->max_groups * sizeof(*f->groups));
	munmap(f->lpm4_root, ROOT4 * sizeof(*f->lpm4_root));
	munmap(f->lpm6_root, ROOT6 * sizeof(*f->lpm6_root));
	munmap(f->vrfs, BP_MAX_VRFS * sizeof(*f->vrfs));
	munmap(f->vrf_roots, (size_t)2 * BP_MAX_VRFS * BP_VRF_ROOT * sizeof(*f->vrf_roots));
	munmap(f->lines, (f->max_lines + BP_LPM_SLACK) * sizeof(*f->lines));
	munmap(f, sizeof(*f));
}

void fib_start(struct bp_fib *f)
{
	atomic_store(&f->control->epoch, 1);
	for (unsigned w = 0; w < BP_MAX_WORKERS; w++)
		atomic_store(&f->readers->seen[w], UINT64_MAX);
}
