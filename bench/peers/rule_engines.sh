# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Systems whose rules compare a member of a JSON object and publish what is above a threshold: NanoMQ in place of the
# cloud broker, with its alarms at the edge broker, and eKuiper as a client of the cloud broker. Included by
# bench/peers/external.sh.

nanomq_missing() {
	command -v "${NANOMQ:-nanomq}" >/dev/null || echo "no nanomq in PATH, and NANOMQ does not name one"
}

# One worker: with several, it loses alarms at 5,000 messages per second and more.
nanomq_config() {
	cat <<-'END'
		listeners.tcp {bind = "0.0.0.0:1883"}
		log {to = [console], level = error}
		system {num_taskq_thread = 1, max_taskq_thread = 1, parallel = 1}
		auth {allow_anonymous = true}
		rules.repub {
		  rules = [
		    {
		      server = "mqtt-tcp://10.99.0.3:1883"
		      topic = "alarm/plant/1/temperature"
		      proto_ver = 4
		      clientid = "rule-engine"
		      keepalive = 60s
		      clean_start = true
		      sql = "SELECT payload.value as value FROM \"plant/+/temperature\" WHERE value > 80"
		    }
		  ]
		}
	END
}

start_nanomq() {
	mkdir -p "$state/nanomq"
	nanomq_config >"$state/nanomq/nanomq.conf"
	bridge
	scripts/lab broker cloud stop
	scripts/lab run cloud "${ahead[@]}" "${NANOMQ:-nanomq}" start --conf "$state/nanomq/nanomq.conf" >"$state/nanomq/log" 2>&1 &
	background=$!
	await "$background" "$state/nanomq/log" publishes_alarms 10.99.0.3 -j
}

stop_nanomq() {
	stop_background
	scripts/lab broker cloud start
	no_bridge
}

ekuiper_missing() {
	if [ -z "${EKUIPER:-}" ]; then
		echo "EKUIPER does not name a folder with the program kuiperd"
	elif ! [ -x "$EKUIPER/kuiperd" ] || ! [ -d "$EKUIPER/etc" ]; then
		echo "no kuiperd and etc in EKUIPER=$EKUIPER"
	fi
}

# kuiper PATH [JSON]: a request to eKuiper, which creates what JSON describes.
kuiper() {
	in_lab cloud /usr/bin/python3 - "$@" <<-'END'
		import sys, urllib.request
		url, body = "http://127.0.0.1:9081/" + sys.argv[1], sys.argv[2].encode() if len(sys.argv) > 2 else None
		urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"}), timeout=20).read()
	END
}

# Its source connects to the broker at 127.0.0.1, as in etc/mqtt_source.yaml.
start_ekuiper() {
	rm -rf "$state/ekuiper" # with the streams of an earlier start
	mkdir -p "$state/ekuiper"/{data,log,plugins/sources,plugins/sinks,plugins/functions,plugins/portable,plugins/wasm}
	cp -r "$(realpath "$EKUIPER")/etc" "$state/ekuiper/"
	bridge
	scripts/lab run cloud "${ahead[@]}" env "KuiperBaseKey=$state/ekuiper" "$(realpath "$EKUIPER")/kuiperd" >"$state/ekuiper/output" 2>&1 &
	background=$!
	await "$background" "$state/ekuiper/output" kuiper ping
	kuiper streams '{"sql": "CREATE STREAM plant (value BIGINT) WITH (DATASOURCE=\"plant/+/temperature\", TYPE=\"mqtt\", FORMAT=\"json\")"}'
	kuiper rules '{"id": "overheat", "sql": "SELECT value FROM plant WHERE value > 80", "actions": [{"mqtt":
		{"server": "tcp://127.0.0.1:1883", "topic": "alarm/plant/1/temperature", "qos": 1, "sendSingle": true}}]}'
	await "$background" "$state/ekuiper/output" publishes_alarms 10.99.0.2 -j
}

stop_ekuiper() {
	stop_background
	no_bridge
}
