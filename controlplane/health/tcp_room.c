/* SPDX-License-Identifier: BSD-3-Clause */
#include "controlplane/health/tcp_room.h"

#include <sys/resource.h>

#include "controlplane/process/log.h"

uint32_t bp_phd_tcp_room(uint32_t wanted)
{
	const rlim_t needed = (rlim_t)wanted + BP_PHD_TCP_RESERVE;
	struct rlimit had, now;
	rlim_t room;

	if (getrlimit(RLIMIT_NOFILE, &had) != 0)
		return wanted;
	now = had;
	if (now.rlim_cur < needed)
		now.rlim_cur = needed < now.rlim_max ? needed : now.rlim_max;
	if (now.rlim_cur != had.rlim_cur && setrlimit(RLIMIT_NOFILE, &now) != 0)
		now = had;
	if (now.rlim_cur >= needed)
		return wanted;
	room = now.rlim_cur > BP_PHD_TCP_RESERVE ? now.rlim_cur - BP_PHD_TCP_RESERVE : 1;
	bp_log(BP_LOG_WARNING,
		"phd.listen.tcp: room for %llu connections of devices, not %u: this process may "
		"have %llu files open; expected %llu (ulimit -n, or LimitNOFILE of the service)",
		(unsigned long long)room, wanted, (unsigned long long)now.rlim_cur,
		(unsigned long long)needed);
	return (uint32_t)room;
}
