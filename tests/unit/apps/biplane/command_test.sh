#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Output and exit status of the command without a data plane: command_test.sh BIPLANE
set -u
biplane=$(realpath "$1")
dir=$(mktemp -d)
name=test$$
failed=0

plane=
clean_up() {
	[ -z "$plane" ] || kill -9 "$plane"
	rm -rf "$dir" /run/biplane/$name.* /run/biplane/biplane-$name.*
	rmdir /run/biplane 2>/dev/null
}
trap clean_up EXIT

# start_plane FILE SOCKET: a control plane; returns when it answers, or is dead
start_plane() {
	"$biplane" controlplane -c "$1" 2>"$dir/log" &
	plane=$!
	until [ -S "$2" ] || ! kill -0 $plane 2>/dev/null; do
		sleep 0.1
	done
}

end_plane() {
	kill $plane
	wait $plane || { echo "FAIL: the control plane: $(cat "$dir/log")"; failed=1; }
	plane=
}

# expect STATUS PATTERN COMMAND...: exit status, and an extended regular expression in the output
expect() {
	local status=$1 pattern=$2 out got
	shift 2
	out=$("$@" 2>&1)
	got=$?
	if [ $got -ne "$status" ]; then
		echo "FAIL: $*: exit status $got, expected $status; output: $out"
		failed=1
	elif ! grep -Eq -- "$pattern" <<<"$out"; then
		echo "FAIL: $*: no '$pattern' in: $out"
		failed=1
	fi
}

cat >"$dir/good.yaml" <<Y
version: 1
name: $name
runtime: {directory: $dir/run, hugepages: never}
ports:
  - {name: devices, device: net_null0}
  - {name: cloud, device: net_null1}
bridges: [{name: bridge0, ports: [devices, cloud]}]
mqtt:
  publisher: {broker: "mqtt://192.0.2.10"}
  spool: {path: $dir/spool}
  rules:
    - name: overheat
      topic: plant/+/temperature
      value: text
      raise: "> 80"
      action: publish
      publish: {topic: "alarm/{topic}"}
Y
sed 's/"> 80"/"hot"/' "$dir/good.yaml" >"$dir/bad.yaml"

expect 0 '^biplane [0-9]+\.[0-9]+' "$biplane" --version
expect 0 'Commands:' "$biplane" --help
expect 0 '"version": "[0-9]+' "$biplane" version --json
expect 64 'Usage: biplane COMMAND' "$biplane"
expect 64 "unknown command 'statsu'; did you mean 'status'" "$biplane" statsu
expect 64 "biplane config: unknown command 'chekc'; did you mean 'check'" "$biplane" config chekc
expect 64 "unknown command 'weather'$" "$biplane" weather
expect 64 "unknown option '--verbose'" "$biplane" --verbose
expect 64 "unknown object 'flows'; use 'show connections'" "$biplane" show flows
expect 64 "unknown object 'neighbours'; use 'show neighbors'" "$biplane" show neighbours
expect 64 "unknown object 'planes'; use 'status'" "$biplane" show planes
expect 64 "unknown object 'trouble'; use 'show health'" "$biplane" show trouble
expect 64 "unknown object 'unread'; use 'show not-inspected'" "$biplane" show unread
expect 64 "unknown object 'weather'$" "$biplane" show weather
expect 64 "unknown command 'check'; use 'config check'" "$biplane" check
expect 64 "unknown command 'matrix'; use 'transform matrix'" "$biplane" matrix show
# abbreviations, as long as they are unambiguous
expect 64 "'s' is ambiguous: status, show, session$" "$biplane" s
expect 0 '^Usage: biplane config check ' "$biplane" conf ch --help
expect 0 '^Usage: biplane transform matrix set ' "$biplane" help tran m s
expect 0 '^  config check ' "$biplane" help config
expect 0 '^Usage: biplane show ports\|' "$biplane" help show
expect 0 '^  routes ' "$biplane" help show
expect 64 "unexpected argument 'check'" "$biplane" help status check
expect 64 "'n' is ambiguous: nodes, neighbors, not-inspected$" "$biplane" show n
expect 64 'Usage: biplane config COMMAND' "$biplane" config

for sub in run dataplane controlplane "config check" replay reload; do
	expect 64 'missing option -c FILE' "$biplane" $sub
	expect 64 "unrecognized option '--nonsense'" "$biplane" $sub --nonsense
	expect 78 "$dir/bad\.yaml:[0-9]+:[0-9]+: " "$biplane" $sub -c "$dir/bad.yaml" \
		$([ "$sub" = replay ] && echo --in "devices=$dir/none.pcap")
	expect 0 "^Usage: biplane $sub " "$biplane" $sub --help
done
health=$(dirname "$0")/../../../../docs/examples/health.yaml
expect 0 ': ok: 2 ports' "$biplane" config check -c "$health"
# the file of those that may associate is part of what is checked
printf '  allow_file: %s\n' "$dir/allowed" | sed '/^health_devices:/r /dev/stdin' "$health" >"$dir/health.yaml"
expect 78 "health\.yaml: health_devices\.allow_file: $dir/allowed: No such file" \
	"$biplane" config check -c "$dir/health.yaml"
printf '# ward 3\n0022092258010007\n' >"$dir/allowed"
expect 0 ': ok: 2 ports' "$biplane" config check -c "$dir/health.yaml"
echo 22092258010007 >>"$dir/allowed"
expect 78 "$dir/allowed:3: not a system-id" "$biplane" config check -c "$dir/health.yaml"
near=$(dirname "$0")/../../../../docs/examples/aggregation-near.yaml
expect 0 ': ok: 2 ports, 1 bridge, 0 rules, entries of aggregation.encapsulate: 1, of aggregation.decapsulate: 0$' \
	"$biplane" config check -c "$near"
sed '/^aggregation:/,$s/udp_port: [0-9]*/udp_port: 0/' "$near" >"$dir/near.yaml"
expect 78 'near\.yaml:[0-9]+:[0-9]+: aggregation\.encapsulate\[0\]\.to\.udp_port: 0 is too small; expected a UDP port' \
	"$biplane" config check -c "$dir/near.yaml"
cell=$(dirname "$0")/../../../../docs/examples/transform.yaml
expect 0 ': ok: 2 ports, 0 bridges, 0 rules, transform.entries: 1, with 2 receivers$' \
	"$biplane" config check -c "$cell"
sed 's/\[0, -1, 0, 1.5\]/[0, -1, 0]/' "$cell" >"$dir/cell.yaml"
expect 78 'cell\.yaml:[0-9]+:[0-9]+: transform\.entries\[0\]\.sources\[0\]\.receivers\[0\]\.matrix' \
	"$biplane" config check -c "$dir/cell.yaml"
expect 64 'seconds from 0 to 86400' "$biplane" run -c "$dir/good.yaml" --stats-period -3
expect 64 "unexpected argument 'word'" "$biplane" run -c "$dir/good.yaml" word

expect 0 "^$dir/good\.yaml: ok: 2 ports, 1 bridge, 1 rule$" "$biplane" config check -c "$dir/good.yaml"
expect 0 'overheat' "$biplane" config show -c "$dir/good.yaml"
expect 0 '^devices +bridge [a-z0-9-]+ +- ' "$biplane" config check -c "$dir/good.yaml"
expect 0 '^lan +routed +10\.' "$biplane" config check -c "$(dirname "$0")/../../../../docs/examples/router.yaml"
expect 0 '"role": "routed"' "$biplane" config check --json -c "$(dirname "$0")/../../../../docs/examples/router.yaml"
# main settings that the file does not give, each once; with --json all, with the element
printf 'version: 1\nports: [{name: a, device: x}, {name: b, device: y}]\nbridges: [{name: l, ports: [a, b]}]\nmqtt:
  publisher: {broker: "mqtt://127.0.0.1"}\n  rules:
    - {name: one, topic: t, raise: {above: 1}}\n    - {name: two, topic: t, raise: {above: 2}, hold: 2 samples}\n' >"$dir/short.yaml"
expect 0 '^mqtt\.max_connections: 65536 \(default\)$' "$biplane" config check -c "$dir/short.yaml"
for line in 'mqtt\.rules\[\]\.repeat: every \(default\)' 'workers: 1 \(default\)'; do
	expect 0 '^1$' sh -c '"$0" config check -c "$2" | grep -Ec "^$1\$"' "$biplane" "$line" "$dir/short.yaml"
done
# neither settings of sections that the file does not use, nor those that it gives
expect 0 '^0$' sh -c '"$0" config check -c "$1" | grep -Ec "^(routing|lcl|transform|mqtt.publisher.broker)" || true' \
	"$biplane" "$dir/short.yaml"
expect 0 '"mqtt\.rules\[one\]\.hold"' "$biplane" config check --json -c "$dir/short.yaml"
expect 0 '^0$' sh -c '"$0" config check --json -c "$1" | grep -c "rules.two..hold" || true' "$biplane" "$dir/short.yaml"
expect 78 '"ok": false' "$biplane" config check --json -c "$dir/bad.yaml"
expect 78 'bad\.yaml:[0-9]+:[0-9]+: ' "$biplane" config check --json -c "$dir/bad.yaml"
expect 78 'bad\.yaml:[0-9]+:[0-9]+: ' "$biplane" config check -c "$dir/bad.yaml"
expect 78 'none\.yaml' "$biplane" config check -c "$dir/none.yaml"
# the effective configuration is a configuration, and its own effective one
"$biplane" config show -c "$dir/good.yaml" >"$dir/dump.yaml"
expect 0 ': ok: 2 ports, 1 bridge, 1 rule$' "$biplane" config check -c "$dir/dump.yaml"
"$biplane" config show -c "$dir/dump.yaml" >"$dir/again.yaml"
cmp "$dir/dump.yaml" "$dir/again.yaml" || failed=1
"$biplane" config show -c "$dir/good.yaml" --json >"$dir/config.json"
expect 0 'overheat' python3 -c '
import json, sys
config = json.load(open(sys.argv[1]))
assert [p["name"] for p in config["ports"]] == ["devices", "cloud"]
print(config["mqtt"]["rules"][0]["name"])' "$dir/config.json"

for what in captures ports nodes drops alarms latency connections not-inspected rules counters interfaces neighbors routes health sessions \
	aggregates; do
	expect 69 "no instance named '$name' is running: start one with" \
		"$biplane" show $what -c "$dir/good.yaml"
	expect 69 "no instance named '$name' is running" "$biplane" show $what -i $name --json
done
expect 69 "warning: $dir/bad\.yaml has errors, see 'biplane config check -c $dir/bad\.yaml'" \
	"$biplane" show ports -c "$dir/bad.yaml"
expect 78 "$dir/bad\.yaml:[0-9]+:[0-9]+: " "$biplane" config show -c "$dir/bad.yaml"
expect 64 "unknown object 'prots'; did you mean 'ports'" "$biplane" show prots
expect 64 'missing object, one of: ports, nodes, ' "$biplane" show
expect 69 "no instance named '$name' is running" "$biplane" sh port -i $name
expect 64 '--config and --instance exclude each other' "$biplane" show ports -i a -c b
expect 64 "'10\.0\.0\.0/33': an address .* or a prefix" "$biplane" show routes 10.0.0.0/33
expect 64 "unexpected argument '10\.0\.0\.1'" "$biplane" show neighbors 10.0.0.1
expect 64 "unexpected argument 'b'" "$biplane" show routes 10.0.0.1 b
expect 64 "'::1' is not of IPv4" "$biplane" show routes -4 ::1
expect 64 'exclude each other' "$biplane" show routes -4 -6
expect 64 'for neighbors and routes, not for ports' "$biplane" show ports -6
expect 64 'diff is for interfaces, neighbors and routes, not for ports' "$biplane" show ports --diff
expect 64 'exclude each other' "$biplane" show routes --diff --watch 1
expect 64 'openmetrics is for metrics, not for ports' "$biplane" show ports --openmetrics
expect 64 'openmetrics and --json exclude each other' "$biplane" show metrics --openmetrics --json
expect 64 'step is longer than --since' "$biplane" show rates --since 10s --step 1m
expect 64 'step is longer than --since' "$biplane" show rates --step 11m
expect 64 "capture: -c plant\.yaml: .*--config FILE selects the configuration file" "$biplane" capture -c plant.yaml
expect 64 'capture: --config and --instance exclude each other' "$biplane" capture --config a --instance b
expect 64 "unknown section 'foo'; expected ports, workers, rules, connections or nodes" "$biplane" top -s foo
expect 64 "has no column 'XX'; expected PORT, LINK, " "$biplane" top -s ports --sort XX
expect 64 "unknown object 'foo'; expected connection, topic or client" "$biplane" explain foo bar
expect 64 'give 10.0.0.1/32' "$biplane" show routes --diff 10.0.0.1
expect 69 "no instance named '$name' is running" "$biplane" show routes --diff -i $name
expect 64 'state was expected: configuring, operating or releasing' \
	"$biplane" show sessions --state open
expect 64 'or its name, one of unknown, pulse_oximeter, .*, thermometer, ' \
	"$biplane" show sessions --type oximeter
expect 64 'a specialisation was expected' "$biplane" show sessions --type 65536
expect 64 'an address .* or a prefix' "$biplane" show sessions --address 10.1.0.0/33
expect 64 "'0022' is no system-id: 16 hexadecimal digits" "$biplane" show sessions 0022
expect 64 "unexpected argument 'b'" "$biplane" show sessions 0022092258010000 b
for filter in '--state operating' '--type unknown' '--address ::/0'; do
	expect 64 'are for sessions, not for connections' "$biplane" show connections $filter
	expect 69 "no instance named '$name' is running" \
		"$biplane" show sessions -i $name $filter 0022092258010000
done
for filter in '--entry 31' '--address 10.1.0.0/16' '-n 5'; do
	expect 69 "no instance named '$name' is running" "$biplane" show aggregates -i $name $filter
done
expect 64 '--entry is for aggregates and transform, not for sessions' "$biplane" show sessions --entry 0
expect 64 'are for sessions, not for aggregates' "$biplane" show aggregates --state operating
expect 64 "unexpected argument '10.1.0.9'" "$biplane" show aggregates 10.1.0.9
for number in -1 32 x; do
	expect 64 'a number from 0 to 31 was expected' "$biplane" show aggregates --entry $number
done
expect 64 'seconds from 1' "$biplane" show ports --watch 0
expect 64 'from 0' "$biplane" show alarms -n many
expect 64 'is not a valid name of an instance' "$biplane" show ports -i ../../etc
expect 69 "no control plane answers at /run/biplane/$name.sock" "$biplane" config show -i $name
expect 69 'no control plane answers' "$biplane" reload -c "$dir/good.yaml"

expect 0 '^Usage: biplane session disconnect ID' "$biplane" session disconnect --help
expect 64 'Usage: biplane session COMMAND' "$biplane" session
expect 64 'missing argument: the system-id' "$biplane" session disconnect
for id in 002209225801 00220922580100001 0022092258010g00 0000000000000000; do
	expect 64 "'$id' is not a system-id; expected 16 hexadecimal digits" "$biplane" session disconnect $id
done
expect 64 "unexpected argument 'now'" "$biplane" session disconnect 0022092258010000 now
expect 64 '--config and --instance exclude each other' "$biplane" session disconnect 0022092258010000 -i a -c b
expect 64 'is not a valid name of an instance' "$biplane" session disconnect 0022092258010000 -i a/b
expect 69 'no control plane answers.* is this instance running' \
	"$biplane" session disconnect 0022092258010000 -c "$dir/good.yaml"

expect 0 '^  transform matrix set ' "$biplane" transform --help
expect 64 "unknown command 'get'; did you mean 'set'" "$biplane" transform matrix get 10.0.0.5
expect 64 'missing argument SOURCE' "$biplane" transform matrix set
expect 64 'missing argument SOURCE' "$biplane" transform matrix clear
expect 64 'missing argument FILE' "$biplane" transform matrix set 10.0.0.5
expect 64 "unexpected argument '-'" "$biplane" transform matrix clear 10.0.0.5 -
expect 64 "'tracker' is neither an address nor a prefix" "$biplane" transform matrix set tracker -
expect 64 "'32' is not a number from 0 to 31" "$biplane" transform matrix set 10.0.0.5 - --entry 32
expect 64 "'64' is not a number from 0 to 63" "$biplane" transform matrix set 10.0.0.5 - --receiver 64
expect 64 "unrecognized option '--add'" "$biplane" transform matrix clear 10.0.0.5 --add
expect 64 "unrecognized option '--entry'" "$biplane" transform matrix list --entry 1
expect 64 '--config and --instance exclude each other' "$biplane" transform matrix list -i a -c b
printf '[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]\n' >"$dir/frame.yaml"
expect 69 'no control plane answers' "$biplane" transform matrix set 10.0.0.5 "$dir/frame.yaml" -c "$dir/good.yaml"
expect 69 "no instance named '$name' is running" "$biplane" transform matrix list -c "$dir/good.yaml"

# doctor: the machine that this runs on may be ready or not; a folder that is empty is not
expect 0 '^Usage: biplane doctor ' "$biplane" doctor --help
mkdir "$dir/machine"
expect 1 '^skip +capabilities +/proc/self/status' "$biplane" doctor --sysroot "$dir/machine"
expect 1 '"verdict": "fail"' "$biplane" doctor --sysroot "$dir/machine" --json
expect 0 '^(fail|ok|skip|warn) ' sh -c '"$1" doctor; [ $? -le 1 ]' sh "$biplane"
"$biplane" doctor --json -c "$dir/good.yaml" >"$dir/doctor.json"
expect 0 '^ok$' python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
assert report["verdict"] in ("ok", "warn", "skip", "fail")
items = {i["item"]: i for i in report["items"]}
assert items["IOMMU"]["verdict"] == "ok" # no port of the file is on PCI
assert items["vfio-pci"]["verdict"] == "ok"
assert all(n["address"] and n["grade"] for n in report["nics"])
print("ok")' "$dir/doctor.json"
expect 78 "$dir/bad\.yaml:[0-9]+:[0-9]+: " "$biplane" doctor -c "$dir/bad.yaml"
expect 64 'need --fix' "$biplane" doctor --nic 0000:03:00.0
expect 64 'need --fix' "$biplane" doctor --yes
expect 64 'exclude each other' "$biplane" doctor --fix --undo
expect 64 'expected no -c' "$biplane" doctor --undo -c "$dir/good.yaml"
expect 64 'cannot be used with --fix' "$biplane" doctor --fix --json
for pages in 0 -1 x 1=x x=1 1024=1 =4; do
	expect 64 'NODE=PAGES, was expected' "$biplane" doctor --fix --hugepages $pages
done
expect 64 "unexpected argument 'eth0'" "$biplane" doctor eth0

# a supervisor of that name that runs already
mkdir -p "$dir/run"
exec 9>"$dir/run/$name.pid"
flock 9
echo $$ >&9
expect 69 "'$name' is running already \(pid $$" "$biplane" run -c "$dir/good.yaml"
exec 9>&-

# With an invalid file the running instance can be shown, but not reloaded.
start_plane "$dir/good.yaml" "$dir/run/$name.sock"
cp "$dir/good.yaml" "$dir/kept.yaml"
for damage in 's/"> 80"/"hot"/' 's/^bridges: .*/bridges: [{name: b, ports: [devices, cloud]/' '$a surplus: 1'; do
	sed -i "$damage" "$dir/good.yaml"
	expect 78 "good\.yaml:[0-9]+:[0-9]+: " "$biplane" config check -c "$dir/good.yaml"
	expect 2 '^control plane +[0-9]+ +yes' "$biplane" status -c "$dir/good.yaml"
	expect 0 "^overheat " "$biplane" show rules -c "$dir/good.yaml"
	expect 0 '^no difference: 0 routes' "$biplane" show routes --diff -c "$dir/good.yaml"
	"$biplane" show rules --json -c "$dir/good.yaml" >"$dir/rules.json" 2>"$dir/err"
	expect 0 overheat python3 -m json.tool "$dir/rules.json"
	expect 0 "^1 biplane show: warning: $dir/good\.yaml has errors, .*'$name' of $dir/run$" \
		sh -c 'echo $(wc -l <"$1") $(cat "$1")' sh "$dir/err"
	expect 78 "good\.yaml:[0-9]+:[0-9]+: " "$biplane" reload -c "$dir/good.yaml"
	expect 78 "good\.yaml:[0-9]+:[0-9]+: " "$biplane" config diff -c "$dir/good.yaml"
	cp "$dir/kept.yaml" "$dir/good.yaml"
done
# The differences to the running configuration, and a dry run of a reload; neither changes anything.
expect 0 '^no difference$' "$biplane" config diff -c "$dir/good.yaml"
expect 0 '^no difference$' "$biplane" reload --dry-run -c "$dir/good.yaml"
sed -i 's/overheat$/hot/' "$dir/good.yaml"
expect 1 '^mqtt\.rules\[hot\] +added .* reload$' "$biplane" config diff -c "$dir/good.yaml"
expect 1 '"applies": "reload"' "$biplane" config diff --json -c "$dir/good.yaml"
expect 0 '^mqtt\.rules\[overheat\] +removed ' "$biplane" reload --dry-run -c "$dir/good.yaml"
expect 0 "^overheat " "$biplane" show rules -c "$dir/good.yaml"
echo 'mbufs: 4096' >>"$dir/good.yaml"
expect 1 '^mbufs +changed +auto +4096 +restart$' "$biplane" config diff -c "$dir/good.yaml"
expect 78 'reload would be refused: 1 change needs a restart' "$biplane" reload --dry-run -c "$dir/good.yaml"
expect 78 '"restart": true' "$biplane" reload --dry-run --json -c "$dir/good.yaml"
expect 1 '^mbufs ' "$biplane" config diff "$dir/kept.yaml" "$dir/good.yaml"
expect 0 '^no difference$' "$biplane" config diff "$dir/kept.yaml" "$dir/kept.yaml"
expect 64 'expected -c FILE' "$biplane" config diff "$dir/kept.yaml"
expect 64 'expected -c FILE' "$biplane" config diff
cp "$dir/kept.yaml" "$dir/good.yaml"
end_plane
expect 69 'no control plane answers' "$biplane" config diff -c "$dir/good.yaml"

# Somewhere else there is another kernel's network, which no one here mirrors.
start_plane "$dir/good.yaml" "$dir/run/$name.sock"
expect 69 'its file has no section health_devices' \
	"$biplane" session disconnect 0022092258010000 -c "$dir/good.yaml"
if unshare -n true 2>/dev/null; then
	expect 69 "control plane \(process $plane\) is in another network namespace" \
		unshare -n "$biplane" show routes --diff -c "$dir/good.yaml"
fi
end_plane

# The active configuration, although the file has changed.
if [ -w /run ]; then
	sed "s|^runtime: .*|runtime: {hugepages: never}|" "$dir/good.yaml" >"$dir/default.yaml"
	cd "$dir" || exit 1
	start_plane default.yaml /run/biplane/$name.sock
	cd / || exit 1
	"$biplane" config show -c "$dir/default.yaml" >"$dir/dump.yaml"
	echo 'ports: none' >"$dir/default.yaml"
	"$biplane" config show -i $name >"$dir/running.yaml"
	echo "# running configuration of instance '$name', from $(realpath "$dir")/default.yaml" |
		cat - "$dir/dump.yaml" | diff - "$dir/running.yaml" || failed=1
	expect 0 '"overheat"' "$biplane" config show -i $name --json
	end_plane
fi

if [ -e /dev/full ]; then
	"$biplane" --help >/dev/full 2>"$dir/err"
	[ $? -eq 74 ] || { echo "FAIL: a full disk looks like success"; failed=1; }
fi
[ $failed -eq 0 ] && echo ok
exit $failed
