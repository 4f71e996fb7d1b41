# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# grout as a router between the ports of the laboratory, with the drivers af_packet and af_xdp of DPDK. Included by
# bench/peers/external.sh.

grout_missing() {
	if [ -z "${GROUT:-}" ]; then
		echo "GROUT does not name a build folder of grout"
	elif ! [ -x "$GROUT/grout" ] || ! [ -x "$GROUT/grcli" ]; then
		echo "no programs grout and grcli in GROUT=$GROUT"
	fi
}

in_grout() { in_lab gw "$GROUT/grcli" -s "$state/grout/socket" "$@"; }

# start_grout DRIVER: ports 0 and 1 have the MAC addresses of the interfaces. A frame of the ring of af_packet (2,016 bytes)
# must fit in an mbuf, and a chunk of af_xdp in a page. The file prefix is one that scripts/lab removes.
start_grout() {
	local options=() number=0 port
	[ "$1" != af_packet ] || options=(--max-mtu 2048)
	mkdir -p "$state/grout"
	ulimit -l unlimited 2>/dev/null || true
	scripts/lab run gw "${ahead[@]}" "$GROUT/grout" "${options[@]}" -s "$state/grout/socket" -M "unix:$state/grout/metrics" -- \
		"--file-prefix=biplane-lab-$BP_LAB" >"$state/grout/log" 2>&1 &
	background=$!
	await "$background" "$state/grout/log" in_grout interface show
	for port in devices cloud; do
		in_grout interface add port "p$number" devargs "net_$1$number,iface=$port$(driver_options "$1")" >&2
		in_grout address add "10.$((96 + number)).0.1/24" iface "p$number" >&2
		number=$((number + 1))
	done
}

stop_grout() {
	local port
	stop_background
	rm -rf "/var/run/dpdk/biplane-lab-$BP_LAB"
	for port in devices cloud; do
		in_lab gw ip link set $port promisc on # as scripts/lab has made it
		in_lab gw ip link set $port xdpdrv off # what af_xdp may have left
	done
}
