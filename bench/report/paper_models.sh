# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# The models of the papers. Included by scripts/bench; uses its variables and functions. No time is measured, so there
# are no rounds.

models_packets=2000 # thousand N-packets per run of case aggregate-models
models_frames=1000  # thousand frames per run of case lcl-paper
models_readings=15000 # readings of case transform-accuracy
aggregate_models=
lcl_paper=
transform_accuracy=

models_ends() { models_packets=200 models_frames=200 models_readings=3000; }

# models_run NAME COUNT VARIABLE: the output of bench/report/paper_models.py.
models_run() {
	local said
	said=$(/usr/bin/python3 bench/report/paper_models.py "$1" "$build" "$2") || die "bench/report/paper_models.py $1 failed"
	printf -v "$3" '%s' "$said"
}

models_measure() {
	attempt aggregate-models aggregate_models models_run aggregate "$models_packets" aggregate_models
	attempt lcl-paper lcl_paper models_run lcl "$models_frames" lcl_paper
	attempt transform-accuracy transform_accuracy models_run accuracy "$models_readings" transform_accuracy
}

models_json() {
	printf '"aggregate_models": %s, "lcl_paper": %s, "transform_accuracy": %s' "${aggregate_models:-null}" \
		"${lcl_paper:-null}" "${transform_accuracy:-null}"
}

# The same as in bench/report/report_sections.py.
models_tables() {
	[ -n "$aggregate_models$lcl_paper$transform_accuracy" ] || return 0
	printf '{%s}\n' "$(models_json)" | /usr/bin/python3 bench/report/paper_models.py --table
}
