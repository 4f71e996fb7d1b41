# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# A run of scripts/bench, which includes this, leaves nothing behind, however it ends. The script starts itself
# again, with the number of its own process in BIPLANE_BENCH, and waits: so a signal is answered at once, also while
# a case is measured. Whatever the second starts has BIPLANE_BENCH in its environment, in whatever session or group
# it may be; what it makes outside of its temporary directory has that number in its name. By these two all of it
# is found again, and what a run that was killed has left too, by the next one.
#
#   /run/biplane-bench-PID/process     which process that is (process_id)
#                          tmp         where its temporary directory is
#                          hugepages   vm.nr_hugepages before this run, and since

run_grace_s=2 # from SIGTERM to SIGKILL
run_pool=/proc/sys/vm/nr_hugepages

# run_hugepages_back RECORD: puts back what its run has raised, unless somebody has changed it since.
run_hugepages_back() {
	local before='' since='' now
	read -r before since <"$1" || return 0
	read -r now <$run_pool
	if [ -n "$before" ] && [ "$before" != "$now" ] && [ "${since:-$now}" = "$now" ]; then
		sysctl -qw "vm.nr_hugepages=$before" || true
	fi
}

# run_remove PID: all that it has left.
run_remove() {
	local record=/run/biplane-bench-$1 mount tmp=
	marked_end "BIPLANE_BENCH=$1" $run_grace_s || true
	BP_LAB=b$1 scripts/lab down || true
	while read -r _ mount _; do
		rm -f "$mount"/biplane-bench-"$1"-* "$mount/bench-$1map_"*
	done < <(grep ' hugetlbfs ' /proc/mounts)
	rm -rf "/var/run/dpdk/bench-$1" /var/run/dpdk/biplane-bench-"$1"-* /dev/shm/biplane-bench-"$1"-*
	[ ! -e "$record/hugepages" ] || run_hugepages_back "$record/hugepages"
	[ ! -e "$record/tmp" ] || read -r tmp <"$record/tmp"
	[ -z "$tmp" ] || rm -rf "$tmp"/biplane-bench-"$1".??????
	rm -rf "$record"
}

# Runs whose process is gone. One that is just beginning has no record of its process yet.
run_remove_killed() {
	local record pid
	for record in /run/biplane-bench-*; do
		pid=${record##*-}
		[ -d "$record" ] && [[ $pid =~ ^[0-9]+$ ]] || continue
		! process_lives "$record/process" || continue
		[ -e "$record/process" ] || [ ! -e "/proc/$pid" ] || continue
		say "removing what a run that was killed has left" >&2
		run_remove "$pid"
	done
}

run_end() {
	local code=$? children
	trap '' INT TERM HUP
	trap - EXIT
	# Not only by its environment, which is not its own before it has begun.
	children=$(jobs -p)
	disown -a # no word about how it ends
	# shellcheck disable=SC2086
	[ -z "$children" ] || kill -KILL $children 2>/dev/null || true
	[ $code -lt 128 ] || say "interrupted: removing what is there" >&2
	run_remove $$
	exit $code
}

# run_as_child ARGS...: this script again with these. Does not return.
run_as_child() {
	local record=/run/biplane-bench-$$ tmp before
	run_remove_killed
	trap run_end EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	mkdir "$record"
	process_id $$ >"$record/process"
	printf '%s\n' "${TMPDIR:-/tmp}" >"$record/tmp"
	tmp=$(mktemp -d "${TMPDIR:-/tmp}/biplane-bench-$$.XXXXXX")
	read -r before <$run_pool
	printf '%s\n' "$before" >"$record/hugepages"
	# A gigabyte for the mbufs, another for a million flows; of a million routes, with rte_lpm beside
	# them, it is as much.
	hugepages_until=" while this runs" hugepages 1024 >&2 || true
	printf '%s %s\n' "$before" "$(cat $run_pool)" >"$record/hugepages"
	# in a group of its own, so that what a terminal sends comes here only
	set -m
	BIPLANE_BENCH=$$ TMPDIR=$tmp "$self" "$@" &
	set +m
	wait $!
	exit
}
