#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The table of privileges in docs/reference/privileges.md is the command's: service_doc_test.sh BIPLANE privileges.md
diff -u <(sed -n '/^| plane | component |/,/^$/p' "$2" | sed '/^$/d') <("$1" capabilities) ||
	{ echo "put the output of 'biplane capabilities' into $2"; exit 1; }
