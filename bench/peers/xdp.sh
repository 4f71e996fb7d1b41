# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Forwarding by XDP programs (bench/peers/xdp_redirect.c) in biplane's place. Included by bench/peers/systems.sh.

# xdp_missing: prints the reason why XDP programs cannot be built here, if there is one.
xdp_missing() {
	if ! command -v clang >/dev/null || [ ! -e /usr/include/bpf/bpf_helpers.h ]; then
		echo "needs clang and libbpf-dev"
	elif [[ $(ip -V) != *libbpf* ]]; then
		echo "needs an iproute2 that loads XDP programs"
	fi
}

# xdp_attach NAMESPACE INTERFACE PROGRAM [INTERFACE]: in native mode; the last one is where it redirects to.
xdp_attach() {
	local object=$state/xdp-$1-$2.o to=0
	[ $# -lt 4 ] || to=$(in_lab "$1" cat "/sys/class/net/$4/ifindex")
	clang -O2 -g -Wall -Werror -target bpf "-DXDP_TO=$to" "-I/usr/include/$(uname -m)-linux-gnu" \
		-c bench/peers/xdp_redirect.c -o "$object"
	ip -n "bp-$BP_LAB-$1" link set dev "$2" xdpdrv obj "$object" sec "$3" 2>"$state/xdp.log" ||
		fail "XDP program '$3' was not loaded: $(tail -n 5 "$state/xdp.log")"
}

# xdp bridge|route: a veth pair whose other end has no program does not receive redirected frames.
xdp() {
	[ "$1" = bridge ] || kernel_route # for what the program passes to the kernel, and for its tables
	xdp_attach dev eth0 pass
	xdp_attach cloud eth0 pass
	xdp_attach gw devices "$1" cloud
	xdp_attach gw cloud "$1" devices
	[ "$1" = route ] || reachable 10.99.0.2
}

no_xdp() {
	local end
	for end in dev:eth0 cloud:eth0 gw:devices gw:cloud; do
		ip -n "bp-$BP_LAB-${end%%:*}" link set dev "${end#*:}" xdpdrv off
	done
	[ "$1" = bridge ] || no_kernel_route
}
