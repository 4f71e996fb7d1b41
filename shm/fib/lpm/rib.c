/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm/fib/lpm/rib.h"

#include <sys/mman.h>

#include "shm/hash.h"

#define ROOT 1u
#define NODES_AT_FIRST 4096u

bool bp_rib_init(struct bp_rib *rib)
{
	void *p = mmap(NULL, NODES_AT_FIRST * sizeof(*rib->node), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*rib = (struct bp_rib){.used = ROOT + 1, .capacity = NODES_AT_FIRST};
	if (p == MAP_FAILED)
		return false;
	rib->node = p;
	return true;
}

void bp_rib_free(struct bp_rib *rib)
{
	if (rib->node != NULL)
		munmap(rib->node, rib->capacity * sizeof(*rib->node));
	rib->node = NULL;
}

struct bp_rib_key bp_rib_key(const struct bp_prefix *p)
{
	struct bp_rib_key key = {{__builtin_bswap64(bp_load64(p->bytes)), 0}};

	if (p->family == 6)
		key.word[1] = __builtin_bswap64(bp_load64(p->bytes + 8));
	else
		key.word[0] &= 0xffffffff00000000ull;
	return key;
}

/* How many of the first bits are the same. */
static unsigned common(const struct bp_rib_key *a, const struct bp_rib_key *b)
{
	uint64_t differ = a->word[0] ^ b->word[0];

	if (differ != 0)
		return (unsigned)__builtin_clzll(differ);
	differ = a->word[1] ^ b->word[1];
	return differ != 0 ? 64 + (unsigned)__builtin_clzll(differ) : 128;
}

static unsigned min_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static void cut(struct bp_rib_key *key, unsigned length)
{
	if (length < 64) {
		key->word[0] &= ~(~0ull >> length);
		key->word[1] = 0;
	} else if (length < 128) {
		key->word[1] &= ~(~0ull >> (length - 64));
	}
}

/* Reserves two more nodes, the maximum of an insertion. mremap() moves pages without copying. */
static bool reserve(struct bp_rib *rib)
{
	void *p;

	if (rib->used + 2 <= rib->capacity)
		return true;
	if (rib->capacity > UINT32_MAX / 2)
		return false;
	p = mremap(rib->node, rib->capacity * sizeof(*rib->node),
		2 * (size_t)rib->capacity * sizeof(*rib->node), MREMAP_MAYMOVE);
	if (p == MAP_FAILED)
		return false;
	rib->node = p;
	rib->capacity *= 2;
	/* Walks access nodes at random. Without support in the kernel they are only slower. */
	(void)madvise(rib->node, rib->capacity * sizeof(*rib->node), MADV_HUGEPAGE);
	return true;
}

static uint32_t new_node(struct bp_rib *rib, const struct bp_rib_key *key, unsigned length)
{
	uint32_t i = rib->free;

	if (i != 0)
		rib->free = rib->node[i].child[0];
	else
		i = rib->used++;
	rib->node[i] = (struct bp_rib_node){.key = *key, .length = (uint8_t)length};
	cut(&rib->node[i].key, length);
	return i;
}

static void free_node(struct bp_rib *rib, uint32_t i)
{
	rib->node[i] = (struct bp_rib_node){.child = {rib->free}};
	rib->free = i;
}

/* Inserts a node in place of `old` below `parent`, as a branch or as the parent of `old`; they
 * share the first `bits` bits. */
static uint32_t insert_above(struct bp_rib *rib, uint32_t parent, uint32_t old, unsigned bits,
	const struct bp_rib_key *key, unsigned length)
{
	uint32_t above = new_node(rib, key, bits), made = above;

	rib->node[above].child[bp_rib_bit(&rib->node[old].key, bits)] = old;
	if (bits < length) {
		made = new_node(rib, key, length);
		rib->node[above].child[bp_rib_bit(key, bits)] = made;
	}
	rib->node[parent].child[bp_rib_bit(key, rib->node[parent].length)] = above;
	return made;
}

uint32_t bp_rib_insert(struct bp_rib *rib, const struct bp_rib_key *key, unsigned length)
{
	uint32_t at = ROOT;

	if (!reserve(rib))
		return 0;
	while (rib->node[at].length < length) {
		uint32_t *next = &rib->node[at].child[bp_rib_bit(key, rib->node[at].length)];
		unsigned bits;

		if (*next == 0) {
			uint32_t made = new_node(rib, key, length);

			*next = made;
			return made;
		}
		bits = min_of(common(key, &rib->node[*next].key), length);
		if (bits < rib->node[*next].length)
			return insert_above(rib, at, *next, bits, key, length);
		at = *next;
	}
	return at;
}

/* The node of exactly this prefix or branch, and the two above it. */
static uint32_t find(const struct bp_rib *rib, const struct bp_rib_key *key, unsigned length,
	uint32_t *parent, uint32_t *grandparent)
{
	uint32_t at = ROOT;

	*parent = *grandparent = 0;
	while (at != 0 && rib->node[at].length < length) {
		*grandparent = *parent;
		*parent = at;
		at = rib->node[at].child[bp_rib_bit(key, rib->node[at].length)];
	}
	if (at == 0 || rib->node[at].length != length || common(key, &rib->node[at].key) < length)
		return 0;
	return at;
}

uint32_t bp_rib_find(const struct bp_rib *rib, const struct bp_rib_key *key, unsigned length)
{
	uint32_t parent, grandparent;
	uint32_t at = find(rib, key, length, &parent, &grandparent);

	return at != 0 && rib->node[at].nexthop != 0 ? at : 0;
}

/* Removes a node that has no child or one. */
static void splice(struct bp_rib *rib, uint32_t parent, uint32_t at)
{
	struct bp_rib_node *p = &rib->node[parent];
	const struct bp_rib_node *n = &rib->node[at];

	p->child[p->child[1] == at] = n->child[0] | n->child[1];
	free_node(rib, at);
}

bool bp_rib_remove(struct bp_rib *rib, const struct bp_rib_key *key, unsigned length)
{
	uint32_t parent, grandparent;
	uint32_t at = find(rib, key, length, &parent, &grandparent);
	struct bp_rib_node *n = &rib->node[at], *p = &rib->node[parent];

	if (at == 0 || n->nexthop == 0)
		return false;
	n->nexthop = 0;
	n->refused = false;
	if (at == ROOT || (n->child[0] != 0 && n->child[1] != 0))
		return true;
	splice(rib, parent, at);
	if (parent != ROOT && p->nexthop == 0 && (p->child[0] == 0 || p->child[1] == 0))
		splice(rib, grandparent, parent);
	return true;
}

struct bp_rib_position bp_rib_down(const struct bp_rib *rib, struct bp_rib_position from,
	const struct bp_rib_key *key, unsigned length)
{
	while (from.node != 0) {
		const struct bp_rib_node *n = &rib->node[from.node];

		if (common(key, &n->key) < min_of(n->length, length)) {
			from.node = 0;
			break;
		}
		if (n->length <= length && n->nexthop != 0)
			from.nexthop = n->nexthop;
		if (n->length >= length)
			break;
		from.node = n->child[bp_rib_bit(key, n->length)];
	}
	return from;
}
