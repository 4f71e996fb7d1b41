/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/fib_interfaces.h"

#include <string.h>

#include "shm/words.h"

_Static_assert(sizeof(struct bp_interface_info) % 4 == 0, "copied by words");

_Static_assert(sizeof(struct bp_vrf_info) % 4 == 0, "copied by words");

static void seq_step(_Atomic uint32_t *at)
{
	const uint32_t seq = atomic_load_explicit(at, memory_order_relaxed);

	atomic_store_explicit(at, seq + 1, memory_order_release);
	atomic_thread_fence(memory_order_release);
}

static uint32_t vlan_word(const struct bp_interface_info *info)
{
	return info->vlan_id == 0 ? 0 : (uint32_t)info->parent << 16 | info->vlan_id;
}

/* Each word is valid independently of the others, which is sufficient for workers. */
static void words_set(struct bp_interface *e, const struct bp_interface_info *info)
{
	atomic_store_explicit(&e->mac, bp_mac_word(info->mac), memory_order_relaxed);
	atomic_store_explicit(&e->mtu, info->mtu, memory_order_relaxed);
	atomic_store_explicit(&e->vlan, vlan_word(info), memory_order_relaxed);
	atomic_store_explicit(&e->vrf, info->vrf, memory_order_relaxed);
	atomic_store_explicit(&e->vrf_table, info->vrf_table, memory_order_relaxed);
	atomic_store_explicit(&e->flags, info->flags, memory_order_release);
}

static bool words_same(const struct bp_interface *e, const struct bp_interface_info *info)
{
	return atomic_load_explicit(&e->mac, memory_order_relaxed) == bp_mac_word(info->mac) &&
	       atomic_load_explicit(&e->mtu, memory_order_relaxed) == info->mtu &&
	       atomic_load_explicit(&e->vlan, memory_order_relaxed) == vlan_word(info) &&
	       atomic_load_explicit(&e->vrf, memory_order_relaxed) == info->vrf &&
	       atomic_load_explicit(&e->vrf_table, memory_order_relaxed) == info->vrf_table &&
	       atomic_load_explicit(&e->flags, memory_order_relaxed) == info->flags;
}

/* A comparison of all bytes: padding is 0 in the table. */
static bool info_same(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct bp_interface_info)) == 0;
}

static bool vlan_valid(unsigned i, const struct bp_interface_info *info)
{
	if (!bp_is_subinterface(i))
		return info->vlan_id == 0;
	return info->vlan_id >= 1 && info->vlan_id <= BP_VLAN_ID_MAX && info->parent < BP_MAX_PORTS;
}

enum bp_fib_result bp_interface_set(
	struct bp_fib *f, unsigned i, const struct bp_interface_info *info)
{
	struct bp_interface *e = &f->interfaces[i];
	struct bp_interface_info plain;

	memset(&plain, 0, sizeof(plain));
	if (info->flags & BP_IF_PRESENT) {
		if (info->n_addresses > BP_ADDRESSES_MAX || !vlan_valid(i, info))
			return BP_FIB_INVALID;
		memcpy(plain.name, info->name, strnlen(info->name, sizeof(plain.name) - 1));
		plain.flags = info->flags;
		plain.ifindex = info->ifindex;
		plain.mtu = info->mtu;
		memcpy(plain.mac, info->mac, sizeof(plain.mac));
		plain.n_addresses = info->n_addresses;
		plain.parent = info->parent;
		plain.vlan_id = info->vlan_id;
		plain.vrf = info->vrf;
		plain.vrf_table = info->vrf_table;
		memcpy(plain.address, info->address, info->n_addresses * sizeof(info->address[0]));
	}
	if (info_same(&e->info, &plain) && words_same(e, &plain))
		return BP_FIB_SAME;
	if (i >= bp_fib_interfaces(f))
		atomic_store_explicit(&f->control->subinterfaces, i + 1 - BP_MAX_INTERFACES,
			memory_order_release);
	seq_step(&e->seq);
	bp_words_store(&e->info, &plain, sizeof(plain));
	words_set(e, &plain);
	seq_step(&e->seq);
	return BP_FIB_DONE;
}

enum bp_fib_result bp_vrf_set(struct bp_fib *f, unsigned vrf, const struct bp_vrf_info *info)
{
	struct bp_vrf *e = &f->vrfs[vrf - 1];
	struct bp_vrf_info plain;

	memset(&plain, 0, sizeof(plain));
	plain.table = info->table;
	if (info->table != 0)
		memcpy(plain.name, info->name, strnlen(info->name, sizeof(plain.name) - 1));
	if (memcmp(&e->info, &plain, sizeof(plain)) == 0)
		return BP_FIB_SAME;
	seq_step(&e->seq);
	bp_words_store(&e->info, &plain, sizeof(plain));
	seq_step(&e->seq);
	return BP_FIB_DONE;
}

bool bp_fib_has_ifindex(const struct bp_fib *f, uint32_t ifindex)
{
	const unsigned n = bp_fib_interfaces(f);

	for (unsigned i = 0; ifindex != 0 && i < n; i++) {
		const struct bp_interface_info *info = &f->interfaces[i].info;

		if (info->flags & BP_IF_PRESENT && info->ifindex == ifindex)
			return true;
	}
	return false;
}

uint64_t bp_interfaces_load(struct bp_fib *f)
{
	uint64_t repaired = 0;

	for (unsigned i = 0; i < BP_ALL_INTERFACES; i++) {
		struct bp_interface *e = &f->interfaces[i];

		if (atomic_load_explicit(&e->seq, memory_order_relaxed) % 2 == 0)
			continue;
		/* A mixture of old and new fields: the next update from the kernel rewrites all of
		 * it. */
		if (e->info.n_addresses > BP_ADDRESSES_MAX) {
			const uint8_t none = 0;

			__atomic_store_n(&e->info.n_addresses, none, __ATOMIC_RELAXED);
		}
		seq_step(&e->seq);
		repaired++;
	}
	for (unsigned i = 0; i < BP_MAX_VRFS; i++) {
		if (atomic_load_explicit(&f->vrfs[i].seq, memory_order_relaxed) % 2 == 0)
			continue;
		seq_step(&f->vrfs[i].seq);
		repaired++;
	}
	return repaired;
}
