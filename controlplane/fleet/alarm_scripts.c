/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/fleet/alarm_store_internal.h"
#include "shm/mqtt/mqtt_tables.h"
#include "shm/rules/rule_state.h"

/* Copies that no gateway renews or claims, and notes of claims, expire after this time. */
#define KEPT_MS "604800000"

/* For a script with an epoch in ARGV[1]: another process with the name of the gateway has a higher
 * one. A lease that no gateway has written does not count. */
#define FENCE                                                                                      \
	"local old = redis.pcall('GET', KEYS[1])\n"                                                \
	"if type(old) == 'table' and not string.find(old.err, 'WRONGTYPE') then return old end\n"  \
	"if type(old) == 'string' and #old == 16 and not string.find(old, '[^0-9a-f]') and\n"      \
	"  old > ARGV[1] and old <= '" BP_FLEET_EPOCH_MAX_TEXT "' then return -1 end\n"
/* KEYS: as above. ARGV: epoch, time to live of the lease (ms). A Redis without free memory refuses
 * a SET, but not to extend the lease. */
#define RENEW_SCRIPT                                                                               \
	FENCE                                                                                      \
	"if old == ARGV[1] then\n"                                                                 \
	"  redis.call('PEXPIRE', KEYS[1], ARGV[2])\n"                                              \
	"else\n"                                                                                   \
	"  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])\n"                                   \
	"end\n"                                                                                    \
	"redis.call('PEXPIRE', KEYS[2], " KEPT_MS ")\n"                                            \
	"redis.call('PEXPIRE', KEYS[3], " KEPT_MS ")\n"                                            \
	"return redis.call('SCARD', KEYS[4])\n"
/* ARGV: epoch, uid, record, name of the gateway. */
#define PUT_SCRIPT                                                                                 \
	FENCE                                                                                      \
	"if redis.call('SISMEMBER', KEYS[4], ARGV[2]) == 1 then return -2 end\n"                   \
	"if redis.call('HLEN', KEYS[2]) >= " BP_TEXT(                                              \
		MAX_COPIES) " then return -3 end\n"                                                \
			    "if redis.call('HSETNX', KEYS[2], ARGV[2], ARGV[3]) == 1 then\n"       \
			    "  redis.call('ZADD', KEYS[3], redis.call('INCR', KEYS[6]), "          \
			    "ARGV[2])\n"                                                           \
			    "  redis.call('SADD', KEYS[7], ARGV[4])\n"                             \
			    "end\n"                                                                \
			    "return 1\n"
/* ARGV: uid. */
#define REMOVE_SCRIPT                                                                              \
	"redis.call('HDEL', KEYS[2], ARGV[1])\n"                                                   \
	"redis.call('ZREM', KEYS[3], ARGV[1])\n"                                                   \
	"redis.call('SREM', KEYS[4], ARGV[1])\n"                                                   \
	"return 1\n"
/* ARGV: uid, number of records. The oldest ones are not known: a full hash is emptied. */
#define REJECT_SCRIPT                                                                              \
	"local value = redis.call('HGET', KEYS[2], ARGV[1])\n"                                     \
	"if value then\n"                                                                          \
	"  if redis.call('HLEN', KEYS[5]) >= tonumber(ARGV[2]) then\n"                             \
	"    redis.call('DEL', KEYS[5])\n"                                                         \
	"  end\n"                                                                                  \
	"  redis.call('HSET', KEYS[5], ARGV[1], value)\n"                                          \
	"  redis.call('PEXPIRE', KEYS[5], " KEPT_MS ")\n"                                          \
	"end\n"                                                                                    \
	"redis.call('HDEL', KEYS[2], ARGV[1])\n"                                                   \
	"redis.call('ZREM', KEYS[3], ARGV[1])\n"                                                   \
	"return 1\n"
/*
 * ARGV: epoch, number of copies, name of the gateway, prefix of all keys. A claim moves the copies,
 * so that a gateway that dies after its claim is itself claimed with them. The note in taken:G
 * reports to the owner, if it returns, that it must not publish them. It ends when the owner claims
 * them back.
 */
#define CLAIM_SCRIPT                                                                               \
	"if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end\n"                            \
	"if redis.call('HLEN', KEYS[2]) + ARGV[2] > " BP_TEXT(                                     \
		MAX_COPIES) " then return -3 end\n"                                                \
			    "for _, g in ipairs(redis.call('SMEMBERS', KEYS[7])) do\n"             \
			    "  if g ~= ARGV[3] and redis.call('EXISTS', ARGV[4] .. 'lease:' .. "   \
			    "g) == 0 then\n"                                                       \
			    "    local copies, order = ARGV[4] .. 'copies:' .. g, ARGV[4] .. "     \
			    "'order:' .. g\n"                                                      \
			    "    local taken = ARGV[4] .. 'taken:' .. g\n"                         \
			    "    local list = redis.call('ZRANGE', order, 0, ARGV[2] - 1, "        \
			    "'WITHSCORES')\n"                                                      \
			    "    if #list == 0 then\n"                                             \
			    "      redis.call('SREM', KEYS[7], g)\n"                               \
			    "    else\n"                                                           \
			    "      for i = 1, #list, 2 do\n"                                       \
			    "        local value = redis.call('HGET', copies, list[i])\n"          \
			    "        if value then\n"                                              \
			    "          redis.call('HSETNX', KEYS[2], list[i], value)\n"            \
			    "          redis.call('ZADD', KEYS[3], list[i + 1], list[i])\n"        \
			    "          redis.call('HDEL', copies, list[i])\n"                      \
			    "          redis.call('SADD', taken, list[i])\n"                       \
			    "          redis.call('SREM', KEYS[4], list[i])\n"                     \
			    "        end\n"                                                        \
			    "        redis.call('ZREM', order, list[i])\n"                         \
			    "      end\n"                                                          \
			    "      redis.call('PEXPIRE', taken, " KEPT_MS ")\n"                    \
			    "      redis.call('SADD', KEYS[7], ARGV[3])\n"                         \
			    "      return #list / 2\n"                                             \
			    "    end\n"                                                            \
			    "  end\n"                                                              \
			    "end\n"                                                                \
			    "return 0\n"
/*
 * ARGV: uid, state. The result is the state that wins, or nothing. A clear is stored also without
 * free memory, as its first write frees some; what it adds is bounded: the oldest clears go first,
 * a few more than one at a time, so that those which are too old go, too. Long topics shorten the
 * stream. A stored number that is ahead was
 * not written by this script: it does not count.
 */
#define STATE_SCRIPT                                                                               \
	"local t = string.sub(ARGV[2], 2, 17)\n"                                                   \
	"local now = redis.call('TIME')\n"                                                         \
	"local limit = string.format('%016x',\n"                                                   \
	"  math.floor((now[1] + " AHEAD_S ") * 1e9 / " UNIT_NS "))\n"                              \
	"if t > limit then return 'ahead' end\n"                                                   \
	"local gone = redis.call('HGET', KEYS[10], ARGV[1])\n"                                     \
	"local old = redis.call('HGET', KEYS[8], ARGV[1])\n"                                       \
	"if gone and gone > limit then gone = nil end\n"                                           \
	"if old and string.sub(old, 2, 17) > limit then old = nil end\n"                           \
	"if gone and gone >= t then\n"                                                             \
	"  if old and string.sub(old, 2, 17) <= gone then\n"                                       \
	"    redis.call('HDEL', KEYS[8], ARGV[1])\n"                                               \
	"  end\n"                                                                                  \
	"  return 'c' .. gone .. string.sub(ARGV[2], 18)\n"                                        \
	"end\n"                                                                                    \
	"if string.sub(ARGV[2], 1, 1) == 'c' then\n"                                               \
	"  if old and string.sub(old, 2, 17) > t then return '' end\n"                             \
	"  redis.call('HDEL', KEYS[8], ARGV[1])\n"                                                 \
	"  redis.call('HSET', KEYS[10], ARGV[1], t)\n"                                             \
	"  redis.call('ZADD', KEYS[11], now[1] * 1000, ARGV[1])\n"                                 \
	"  local gone = redis.call('ZRANGE', KEYS[11], 0, -" BP_TEXT(                              \
		MAX_CLEARS) " - 1)\n"                                                              \
			    "  if #gone == 0 then\n"                                               \
			    "    gone = redis.call('ZRANGEBYSCORE', KEYS[11], '-inf',\n"           \
			    "      now[1] * 1000 - " CLEARED_MS ", 'LIMIT', 0, 8)\n"               \
			    "  end\n"                                                              \
			    "  for _, uid in ipairs(gone) do\n"                                    \
			    "    redis.call('ZREM', KEYS[11], uid)\n"                              \
			    "    redis.call('HDEL', KEYS[10], uid)\n"                              \
			    "  end\n"                                                              \
			    "  redis.call('PEXPIRE', KEYS[10], " CLEARED_MS ")\n"                  \
			    "  redis.call('PEXPIRE', KEYS[11], " CLEARED_MS ")\n"                  \
			    "else\n"                                                               \
			    "  if old and string.sub(old, 2, 17) == t then return '' end\n"        \
			    "  if old and string.sub(old, 2, 17) < t then return old end\n"        \
			    "  if not old and redis.call('HLEN', KEYS[8]) >= " BP_TEXT(            \
				    MAX_COPIES) " then return 'full' end\n"                        \
						"  redis.call('HSET', KEYS[8], ARGV[1], "          \
						"ARGV[2])\n"                                       \
						"end\n"                                            \
						"local n = #ARGV[2] > 512 and 8192 or 65536\n"     \
						"redis.call('XADD', KEYS[9], 'MAXLEN', '~', n, "   \
						"'*', 's', ARGV[2])\n"                             \
						"return ''\n"
/*
 * KEYS: a stream. ARGV: where to begin, or 'last', and a number of entries. An entry that no
 * gateway has written may have any number of fields, of any length: only its id is returned.
 */
#define ENTRIES_SCRIPT                                                                             \
	"local all\n"                                                                              \
	"if ARGV[1] == 'last' then\n"                                                              \
	"  all = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', ARGV[2])\n"                   \
	"else\n"                                                                                   \
	"  all = redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', ARGV[2])\n"                  \
	"end\n"                                                                                    \
	"for _, e in ipairs(all) do\n"                                                             \
	"  if #e[2] ~= 2 or #e[2][1] > 16 or #e[2][2] > " ENTRY_MAX_TEXT " then e[2] = {} end\n"   \
	"end\n"                                                                                    \
	"return all\n"
/*
 * KEYS: of any type. ARGV: bytes of a text, a command, and its words behind the key. A text that no
 * gateway has written may have any length: one with more bytes is returned as ''.
 */
#define READ_SCRIPT                                                                                \
	"local max = tonumber(ARGV[1])\n"                                                          \
	"local function shorten(v)\n"                                                              \
	"  if type(v) == 'string' and #v > max then return '' end\n"                               \
	"  if type(v) == 'table' then\n"                                                           \
	"    for i = 1, #v do v[i] = shorten(v[i]) end\n"                                          \
	"  end\n"                                                                                  \
	"  return v\n"                                                                             \
	"end\n"                                                                                    \
	"return shorten(redis.call(ARGV[2], KEYS[1], unpack(ARGV, 3)))\n"
#define CLEARED_MS "86400000"
/* A number from a clock that is ahead would outlast all real raises of the next time. */
#define AHEAD_S "5"
#define UNIT_NS "16384"
_Static_assert(1 << BP_TRANSITION_SHIFT == 16384, "the script has the unit as a text");
#define MAX_COPIES 65536
#define MAX_CLEARS 65536
#define ENTRY_MAX 8192
#define ENTRY_MAX_TEXT BP_TEXT(ENTRY_MAX)
_Static_assert(ENTRY_MAX >= BP_STATE_TOPIC_MAX + 256, "a state or hold: a head and a topic");
_Static_assert(ENTRY_MAX < BP_RESP_TEXT_MAX / BP_ALARM_CHANGES_PAGE, "a page is read");
_Static_assert(MAX_COPIES == BP_ALARM_STORE_MAX, "the scripts have the bound as a text");
const char *const bp_alarm_scripts[] = {RENEW_SCRIPT, PUT_SCRIPT, REMOVE_SCRIPT, CLAIM_SCRIPT,
	STATE_SCRIPT, REJECT_SCRIPT, ENTRIES_SCRIPT, READ_SCRIPT, NULL};
