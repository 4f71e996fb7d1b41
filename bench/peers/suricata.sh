# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Suricata as an inline IPS on the uplink to the cloud broker, and a program that publishes its alerts at the edge
# broker (bench/alarm/eve_alarms.c). Included by bench/peers/external.sh.

suricata_missing() {
	local version
	version=$("${SURICATA:-suricata}" -V 2>/dev/null | sed -n 's/.*version \([0-9]*\)\..*/\1/p') || true
	[ "${version:-0}" -ge 7 ] || echo "no suricata 7 or newer in PATH, or SURICATA does not name one"
}

# EVE has the topic and the payload of the PUBLISH in each alert. Not inspected without these settings: what is in a
# connection after the first MiB, and more than 15 alerts of one segment.
suricata_config() {
	cat <<-END
		%YAML 1.1
		---
		stats: {enabled: no}
		logging:
		  default-log-level: notice
		  outputs: [{console: {enabled: yes}}]
		outputs:
		  - eve-log:
		      enabled: yes
		      filetype: unix_stream
		      filename: $state/suricata/eve.sock
		      types: [{alert: {metadata: {app-layer: true, flow: false, rule: {metadata: false, raw: false}}}}]
		packet-alert-max: 255
		af-packet:
		  - {interface: ips1, cluster-id: 98, cluster-type: cluster_flow, threads: 1, copy-mode: ips, copy-iface: cloud, ring-size: 8192}
		  - {interface: cloud, cluster-id: 97, cluster-type: cluster_flow, threads: 1, copy-mode: ips, copy-iface: ips1, ring-size: 8192}
		app-layer: {protocols: {mqtt: {enabled: yes}}}
		stream: {inline: auto, memcap: 256mb, reassembly: {memcap: 512mb, depth: 0}}
	END
}

suricata_rule() {
	printf '%s' 'alert mqtt any any -> any any (msg:"overheat"; mqtt.type:PUBLISH;' \
		' mqtt.publish.topic; content:"plant/"; startswith; content:"/temperature"; endswith;' \
		' mqtt.publish.message; pcre:"/^(8[1-9]|9[0-9]|[1-9][0-9]{2,})$/"; sid:1; rev:1;)'
	echo
}

# Devices and edge broker on a bridge, from which a veth pair leads to Suricata, and from there to the cloud broker.
suricata_links() {
	local end
	in_lab gw ip link add ips0 numtxqueues 1 numrxqueues 1 type veth peer name ips1 numtxqueues 1 numrxqueues 1
	in_lab gw ip link add br0 type bridge mcast_snooping 0
	for end in ips0 ips1; do
		in_lab gw ethtool -K $end tx off rx off tso off gso off gro off >/dev/null
		in_lab gw sysctl -qw net.ipv6.conf.$end.disable_ipv6=1 2>/dev/null || true
	done
	in_lab gw ip link set ips1 arp off promisc on up
	in_lab gw sysctl -qw net.ipv4.conf.ips1.rp_filter=1
	for end in devices edge ips0; do
		in_lab gw ip link set "$end" master br0 up
	done
	in_lab gw ip link set br0 up
}

reader= # the program that publishes the alerts
stop_reader() {
	[ -z "$reader" ] || kill "$reader" 2>/dev/null || true
	[ -z "$reader" ] || wait "$reader" 2>/dev/null || true
	reader=
}

start_suricata() {
	mkdir -p "$state/suricata"
	suricata_config >"$state/suricata/suricata.yaml"
	suricata_rule >"$state/suricata/alarm.rules"
	suricata_links
	scripts/lab run gw "${ahead[@]}" "$build/bench/eve_alarms" "$state/suricata/eve.sock" 10.98.0.3 >"$state/suricata/reader.log" 2>&1 &
	reader=$!
	await "$reader" "$state/suricata/reader.log" grep -qx ready "$state/suricata/reader.log"
	scripts/lab run gw "${ahead[@]}" "${SURICATA:-suricata}" -c "$state/suricata/suricata.yaml" -S "$state/suricata/alarm.rules" \
		-l "$state/suricata" --af-packet --runmode workers >"$state/suricata/log" 2>&1 &
	background=$!
	await "$background" "$state/suricata/log" grep -q 'Engine started' "$state/suricata/log"
	reachable 10.99.0.2
	await "$background" "$state/suricata/log" publishes_alarms 10.99.0.3
}

stop_suricata() {
	stop_background
	stop_reader
	in_lab gw ip link delete br0
	in_lab gw ip link delete ips0
}
