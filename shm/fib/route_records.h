/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BP_SHM_FIB_ROUTE_RECORDS_H
#define BP_SHM_FIB_ROUTE_RECORDS_H

#include "shm/fib/fib.h"

/*
 * The writer of tables routes4 and routes6. A record is committed by its state word, and only its
 * next hop's word ever changes: a route with another change gets another record, and of two records
 * of one prefix the one with the later state is valid.
 */
struct bp_route_records {
	struct bp_fib *f;
	uint32_t *free[2]; /* stacks of record numbers: IPv4, IPv6 */
	uint32_t n_free[2], count[2];
};

bool bp_route_records_init(struct bp_route_records *r, struct bp_fib *f);
void bp_route_records_free(struct bp_route_records *r);

/* Numbers: of IPv4 from 0, of IPv6 from 0 of their own table. */
static inline struct bp_route_record *bp_route_record(
	const struct bp_fib *f, uint8_t family, uint32_t number)
{
	return family == 4 ? &f->routes4[number] : &f->routes6[number];
}
static inline uint32_t bp_route_records_max(const struct bp_fib *f, uint8_t family)
{
	return family == 4 ? f->max_routes4 : f->max_routes6;
}

/* Whether one more route of that family may have a record. */
bool bp_route_records_room(const struct bp_route_records *r, uint8_t family);
/* Enters `what` (state is ignored); instead of record `old`, unless that is UINT32_MAX. There must
 * be room for one that is instead of none. */
uint32_t bp_route_record_put(
	struct bp_route_records *r, const struct bp_route_record *what, uint32_t old);
void bp_route_record_nexthop(
	struct bp_route_records *r, uint8_t family, uint32_t number, uint32_t nexthop);
void bp_route_record_remove(struct bp_route_records *r, uint8_t family, uint32_t number);

/*
 * Called for each record of an earlier writer, from the highest number down: whether record
 * `number` is valid and is kept. *repaired: it was not empty, and its content was invalid.
 */
bool bp_route_record_load(
	struct bp_route_records *r, uint8_t family, uint32_t number, bool *repaired);
/* Whether record a was committed after record b. */
static inline bool bp_route_record_later(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

#endif
