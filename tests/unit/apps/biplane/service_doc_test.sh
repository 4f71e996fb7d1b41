#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The table of privileges in docs/howto/run-as-a-service.md is the command's: service_doc_test.sh BIPLANE service.md
diff -u <(sed -n '/^| plane | for |/,/^$/p' "$2" | sed '/^$/d') <("$1" capabilities) ||
	{ echo "put the output of 'biplane capabilities' into $2"; exit 1; }
