# SPDX-License-Identifier: BSD-3-Clause shellcheck shell=bash disable=SC2154 Two gateways in series that schedule by
# latency control labels, in the laboratory of scripts/lab --wan with a single link as its WAN.

lcl_is_there() {
	[ -e "$state/lcl" ]
}

# The two links of the WAN are one link of 100 Mb/s; frames that exceed this rate queue before it.
lcl_line() {
	local end
	ip -n "${prefix}wan" link add line type bridge mcast_snooping 0
	in_ns wan sysctl -qw net.ipv6.conf.line.disable_ipv6=1 2>/dev/null || true
	for end in near far; do
		tc -n "${prefix}wan" qdisc add dev $end root tbf rate 100mbit burst 3200 limit 16mb 2>/dev/null ||
			say "this kernel has no tbf: the line is as fast as the machine"
		ip -n "${prefix}wan" link set $end master line
	done
	ip -n "${prefix}wan" link set line up
}

# The worker of a scheduled port never sleeps: each gateway has its own core if there are two.
lcl_core() {
	/usr/bin/python3 -c 'import os, sys; print(sorted(os.sched_getaffinity(0))[{"near": 0, "far": -1}[sys.argv[1]]])' "$1"
}

# lcl_config near|far DRIVER: bridges; NEAR labels, FAR is the last node.
lcl_config() {
	local driver=$2 ring=
	# the port's ring holds frames while the machine runs other processes
	[ "$driver" != af_packet ] || ring=,framecnt=4096
	cat <<-END
		# biplane.yaml of gateway $1 in the laboratory of scripts/lab up --lcl.
		version: 1
		name: $instance-$1
		runtime: {directory: $state/$1}
		workers: [$(lcl_core "$1")]
		poll_mode: adaptive   # this machine's cores have other work too; "busy" on a real gateway
		ports:
	END
	case $1 in
	near)
		cat <<-END
			  - {name: devices, device: "net_${driver}0,iface=p-devices$ring"}
			  - {name: wan, device: "net_${driver}1,iface=p-wan$ring"}
			bridges: [{name: bridge0, ports: [devices, wan]}]
			lcl:
			  ports:
			    - {port: wan, link_rate: 100Mbps, slot: 1ms, queues: 8} # 8us on isolated cores
			  flows:
			    - {name: robot, match: {port: devices, destination: 10.6.0.3, udp_port: 7000}, latency_budget: 10ms, hops: 2,
			       rate: 4Mbps, burst: 2400, max_frame_size: 162}
		END
		;;
	far)
		cat <<-END
			  - {name: wan, device: "net_${driver}0,iface=p-wan$ring"}
			  - {name: server, device: "net_${driver}1,iface=p-server$ring"}
			bridges: [{name: bridge0, ports: [wan, server]}]
			lcl:
			  ports:
			    - {port: wan, link_rate: 100Mbps, slot: 1ms, queues: 8, trust_labels: true}
			    - {port: server, link_rate: 100Mbps, slot: 1ms, queues: 8}
		END
		;;
	esac
}
