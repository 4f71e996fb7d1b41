# SPDX-License-Identifier: BSD-3-Clause shellcheck shell=bash disable=SC2154 Delays the path to the cloud in the
# laboratory of scripts/lab, which sources this file.

isp_is_there() {
	[ -e "$state/isp" ]
}

# The link of the cloud ends in bp-isp, where biplane-wan-sim forwards its frames to the gateway and back.
isp_link() {
	link cloud eth0 far 02:99:00:00:00:02 02:99:00:00:02:02 isp
	link isp near cloud 02:99:00:00:02:01 02:99:00:00:01:02
	ip -n "${prefix}isp" link set far arp off up
	ip -n "${prefix}isp" link set near arp off up
}

isp_carries() {
	process_lives "$state/isp.pid" || die "biplane-wan-sim ended: $(cat "$state/isp.log")"
	grep -qx ready "$state/isp.log"
}

# isp_start DELAY: the delay is one way.
isp_start() {
	local wan_sim=${BIPLANE:-$(dirname "$self")/../build/apps/biplane}-wan-sim
	[ -x "$wan_sim" ] || die "no biplane-wan-sim at $wan_sim; build it: meson setup build && ninja -C build"
	setsid ip netns exec "${prefix}isp" "$(realpath "$wan_sim")" near far --delay "$1" >"$state/isp.log" 2>&1 </dev/null &
	process_id $! >"$state/isp.pid"
	wait_for 10 "the path to the cloud" isp_carries
}
