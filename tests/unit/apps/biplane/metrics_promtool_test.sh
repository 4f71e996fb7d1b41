#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Prometheus accepts the metrics of a segment with all services without a remark: metrics_promtool_test.sh TEST_APPS_METRICS
set -euo pipefail

command -v promtool >/dev/null || {
	echo "no promtool: install the package prometheus (scripts/setup)"
	exit 77
}
metrics=$("$1" prometheus)
if ! said=$(promtool check metrics <<<"$metrics" 2>&1) || [ -n "$said" ]; then
	printf '%s\n' "$said"
	exit 1
fi
# the check finds something where there is something to find
! promtool check metrics <<<"# TYPE x counter
x 1" >/dev/null 2>&1
