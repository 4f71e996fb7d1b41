# SPDX-License-Identifier: BSD-3-Clause
"""Which folder may include which, and which libraries: the tables below hold it for the tree."""

import re
import subprocess
import unittest
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# A folder, the other folders that it may include, and the reason.
ALLOWED = {
    "proto": ((), "wire formats depend on no table, setting or process"),
    "include": (("proto",), "the planes' common types may contain values of wire formats and nothing else"),
    "shm": (("include", "proto"), "tables hold types, and both planes map them without a configuration"),
    "services": (("include", "proto", "shm"), "tests, fuzzers, simulators and replay run them without configuration and planes"),
    "config": (("include", "proto", "services", "shm"), "it is read and checked before a plane starts"),
    "daemon": ((), "what a service manager needs depends on nothing that the program does"),
    "dataplane": (("config", "daemon", "include", "proto", "services", "shm"), "the planes are two processes that meet in the segment"),
    "controlplane": (("config", "daemon", "include", "proto", "services", "shm"), "the planes are two processes that meet in the segment"),
    "apps/biplane": (("config", "controlplane", "daemon", "dataplane", "include", "proto", "services", "shm"),
                     "the installed program contains nothing that only tests and measurements use"),
    "apps/sim": (("include", "proto", "services", "shm"), "a simulator is the peer of a gateway, not a part of it"),
    "apps/tools": (("include", "proto", "shm"), "the build runs them to generate files"),
    "bench": (("apps/sim", "config", "controlplane", "daemon", "dataplane", "include", "proto", "services", "shm"),
              "it measures the planes, not the command"),
}

# Folders of one service, in the folders named here.
SERVICES = re.findall(r"'(\w+)'", re.search(r"^services = \[(.*)\]", (ROOT / "meson.build").read_text(), re.M)[1])
BY_SERVICE = ("services", "shm", "config", "dataplane", "controlplane", "apps/biplane/show")
# Folders for all services: they include a service's folder below the same parent only where EXCEPTIONS says so.
GENERIC = ("dataplane/exception", "dataplane/forwarding", "dataplane/monitoring", "dataplane/nodes", "dataplane/ports",
           "dataplane/process", "dataplane/workers", "controlplane/process", "apps/biplane/show")

# Exceptions from the rules above, with their reasons. An unused exception is an error.
EXCEPTIONS = {
    ("apps/tools/graph_doc.c", "dataplane/*"): "the picture of the graph is drawn from the tables that nodes register",
    ("apps/tools/metrics_doc.c", "apps/biplane/metrics/metric.h"): "the page and the list of names are those of the tables",
    ("apps/sim/*", "apps/biplane/option_values.h"): "numbers and durations on the command line are written as biplane's",
    ("apps/sim/lcl/report.c", "apps/biplane/table.h"): "reports are printed as tables like biplane's",
    ("bench/hostile/hostile.h", "tests/unit/services/mqtt/rig.h"): "it measures the attacks that the tests make, with their rig",
    ("bench/alarm/absence.c", "tests/unit/services/mqtt/rig.h"): "it measures a worker alone, with the rig of its tests",
    ("bench/fleet/hold_reports.c", "tests/unit/services/mqtt/rig.h"): "it measures a worker alone, with the rig of its tests",
    ("apps/biplane/show/show.h", "apps/biplane/show/health/session_filter.h"): "options of a view include the session filter",
    ("apps/biplane/show/status_view.c", "apps/biplane/show/health/show_phd.h"): "the overview has a line on health devices",
    ("config/aggregation/check_aggregation.c", "config/health/settings.h"): "what is for the manager's own ports is not aggregated",
    ("config/transform/check_transform.c", "config/health/settings.h"): "what is for the manager's own ports is not transformed",
    ("dataplane/aggregation/*", "dataplane/lcl/lcl.h"): "the label of a packet that ends in the node ends there",
    ("dataplane/health/*", "dataplane/lcl/lcl.h"): "the label of a packet that ends in the node ends there",
    ("dataplane/transform/send.c", "dataplane/lcl/lcl.h"): "the label of a packet that ends in the node ends there",
    ("dataplane/nodes/exception.c", "dataplane/lcl/lcl.h"): "the label of a packet that ends in the node ends there",
    ("dataplane/nodes/ip4.c", "dataplane/health/worker.h"): "the edge to node phd or cse is chosen inline, per packet",
    ("dataplane/nodes/ip6.c", "dataplane/health/worker.h"): "the edge to node phd or cse is chosen inline, per packet",
    ("dataplane/nodes/next_hop.c", "dataplane/health/worker.h"): "the edge to node phd or cse is chosen inline, per packet",
    ("dataplane/transform/service.c", "dataplane/aggregation/worker.h"): "messages that node disaggregate restores pass node transform",
    ("dataplane/transform/collect.c", "dataplane/aggregation/worker.h"): "readings that an aggregation entry matches are not converted",
    ("dataplane/transform/sample.h", "services/aggregation/*.h"): "readings are UDP messages, parsed and matched as for aggregation",
}

# Pairs of folders that include each other for the reason given; others may not.
MUTUAL = {
    ("bench/harness", "bench/*"): "the program's options and graph name each topic, and the topics use its rig",
    ("controlplane/process", "controlplane/*"): "the process starts each part, and the parts use its clock, log and loop",
    ("dataplane/capture", "dataplane/nodes"): "nodes report the frames that they receive and drop, and captures wrap nodes",
    ("dataplane/capture", "dataplane/ports"): "ports report the frames that they send and drop, which captures hand to the driver",
    ("dataplane/capture", "dataplane/process"): "the main thread applies the requests, and records have the time of its clock",
    ("dataplane/capture", "dataplane/workers"): "a worker applies captures between two walks",
    ("dataplane/exception", "dataplane/ports"): "a port owns its kernel link, and the exception thread serves ports",
    ("dataplane/exception", "dataplane/workers"): "a worker has the rings to the exception thread",
    ("dataplane/forwarding", "dataplane/workers"): "a worker has the tables that its lookups use",
    ("dataplane/health", "dataplane/nodes"): "see EXCEPTIONS: the edge is chosen inline",
    ("dataplane/lcl", "dataplane/nodes"): "see EXCEPTIONS: node exception ends labelled packets",
    ("dataplane/monitoring", "dataplane/process"): "the main thread runs the monitor, which checks its CPUs",
    ("dataplane/nodes", "dataplane/ports"): "received packets are repaired by what the nodes use",
    ("dataplane/nodes", "dataplane/workers"): "the graph names the nodes, which use their worker",
    ("dataplane/ports", "dataplane/workers"): "a worker polls its ports, whose queues are made for workers",
    ("dataplane/process", "dataplane/workers"): "the process starts the workers, which use its clock",
}

# Headers of libraries that folders may not include, and the reason.
PURE = ("proto", "include", "services")
LIBRARIES = (
    (r"rte_", PURE + ("shm", "config", "daemon", "controlplane", "apps/biplane"), "only the data plane is a DPDK process"),
    (r"event2/|event\.h|mosquitto|librdkafka/|sqlite3|curl/", PURE + ("shm", "config", "daemon", "dataplane"),
     "event loop, MQTT and Kafka clients, database and HTTP client run in the control plane"),
    (r"netlink/|linux/(rt)?netlink\.h", PURE + ("shm", "config", "daemon", "dataplane"), "the sync manager mirrors the kernel's tables"),
    (r"sys/(socket|un|epoll)\.h|net(inet|ipx|packet)?/|arpa/|netdb\.h|linux/(if|net)", PURE, "pure code opens no socket"),
)
LIBRARY_EXCEPTIONS = {
    ("dataplane/exception/kernel_link.c", "linux/netlink.h"): "sets the state of the kernel interfaces that it owns",
    ("dataplane/exception/kernel_link.c", "linux/rtnetlink.h"): "sets the state of the kernel interfaces that it owns",
    ("services/mqtt/alarm.c", "arpa/inet.h"): "inet_ntop() writes an address as text",
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
LISTED = "; or list it with a reason in tests/unit/scripts/layering_test.py"


def folder_of(name):
    return name.rpartition("/")[0]


def key_of(name):
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] == "apps" else parts[0]


def is_in(name, folder):
    return name.startswith(folder + "/")


def service_of(name):
    """(parent, service) of a file in a service's folder, else (None, None)."""
    for parent in BY_SERVICE:
        service = name.removeprefix(parent + "/").split("/")[0] if is_in(name, parent) else None
        if service in SERVICES:
            return parent, service
    return None, None


def listed(words):
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def join(chain):
    return " > ".join(chain)


class Tree:
    """The includes of a tree: `files` has the text of each file by its path."""

    def __init__(self, files, exceptions=None, mutual=None, library_exceptions=None):
        self.exceptions, self.mutual, self.library_exceptions = exceptions or {}, mutual or {}, library_exceptions or {}
        self.used, self.findings, self.includes, self.system = set(), [], {}, []
        for name, text in sorted(files.items()):
            self.includes.setdefault(name, [])
            for mark, header in INCLUDE.findall(text):
                target = self.resolve(files, name, header)
                if target:
                    self.includes[name].append(target)
                elif mark == "<":
                    self.system.append((name, header))
                else:
                    self.findings.append(f'{name} includes "{header}", which is no file of the tree: write it from the top of the tree')

    @staticmethod
    def resolve(files, name, header):
        if is_in(header, "tests"):  # not read, and in no row of ALLOWED
            return header
        for path in (header, f"include/{header}", f"{folder_of(name)}/{header}"):
            if path in files or path + ".in" in files:  # configured by meson
                return path
        return None

    def excepted(self, table, name, target):
        found = [key for key in table if fnmatchcase(name, key[0]) and fnmatchcase(target, key[1])]
        self.used.update(found)
        return bool(found)

    def pairs(self):
        return [(name, target) for name, targets in self.includes.items() for target in targets]

    def check_folders(self):
        for name, target in self.pairs():
            key, other = key_of(name), key_of(target)
            if key not in ALLOWED:
                self.findings.append(f"{name}: the table ALLOWED has no folder {key}")
                continue
            allowed, reason = ALLOWED[key]
            if other != key and other not in allowed and not self.excepted(self.exceptions, name, target):
                may = f"{listed(allowed)} only" if allowed else "no other folder"
                self.findings.append(f"{name} includes {target}: {key} may include {may}, since {reason}; "
                                     "move the type down or the code up")

    def check_services(self):
        for name, target in self.pairs():
            parent, service = service_of(target)
            generic = next((g for g in GENERIC if folder_of(name) == g), None)
            own = service_of(name)[1]
            if generic and parent in (generic, folder_of(generic)):
                sentence = f"{generic} is for all services and may not include one of them"
            elif own and service and own != service:
                sentence = f"a service may not include another one, here {own} {service}"
            else:
                continue
            if not self.excepted(self.exceptions, name, target):
                self.findings.append(f"{name} includes {target}: {sentence}; pass a pointer or a callback" + LISTED)

    def check_libraries(self):
        for name, header in self.system:
            for pattern, folders, reason in LIBRARIES:
                if key_of(name) in folders and re.match(pattern, header) \
                        and not self.excepted(self.library_exceptions, name, header):
                    self.findings.append(f"{name} includes <{header}>: {key_of(name)} may not, since {reason}; "
                                         "move the code to a folder that may" + LISTED)

    def check_mutual(self):
        first = {}
        for name, target in self.pairs():
            keys, folders = (key_of(name), key_of(target)), (folder_of(name), folder_of(target))
            first.setdefault(folders if keys[0] == keys[1] else keys, (name, target))
        for (one, other), (name, target) in sorted(first.items()):
            if one >= other or (other, one) not in first or is_in(other, one):
                continue
            if not any(self.excepted(self.mutual, *pair) for pair in ((one, other), (other, one))):
                back = first[other, one]
                self.findings.append(f"{one} and {other} include each other ({name} includes {target}, {back[0]} includes {back[1]}): "
                                     "one of them must be the lower; move the type there" + LISTED)

    def check_cycles(self):
        done, chain = set(), []

        def visit(name):
            if name in chain:
                cycle = chain[chain.index(name):] + [name]
                self.findings.append(f"{listed(cycle[:-1])} include each other ({join(cycle)}): move what they share to a header of its own")
            elif name not in done:
                chain.append(name)
                for target in self.includes.get(name, ()):
                    visit(target)
                chain.pop()
                done.add(name)

        for name in self.includes:
            visit(name)

    def check(self):
        for check in (self.check_folders, self.check_services, self.check_libraries, self.check_mutual, self.check_cycles):
            check()
        for key in [*self.exceptions, *self.mutual, *self.library_exceptions]:
            if key not in self.used:
                self.findings.append(f"the exception {join(key)} is not needed: remove it from tests/unit/scripts/layering_test.py")
        return self.findings


def read_tree():
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--", *ALLOWED], stdout=subprocess.PIPE, check=True, text=True).stdout
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in names.split("\0")
            if name.endswith((".c", ".h", ".h.in")) and (ROOT / name).is_file()}


class Product(unittest.TestCase):
    @unittest.skipUnless((ROOT / ".git").exists(), "no git repository")
    def test_the_tree_keeps_the_rules(self):
        files = read_tree()
        self.assertEqual({key_of(name) for name in files}, set(ALLOWED))
        self.assertGreater(len(Tree(files).pairs()), 1000)
        findings = Tree(files, EXCEPTIONS, MUTUAL, LIBRARY_EXCEPTIONS).check()
        self.assertFalse(findings, "\n" + "\n".join(findings))

    def test_the_table_is_an_order(self):
        rank = {}
        while len(rank) < len(ALLOWED):
            ready = [key for key, (allowed, _) in ALLOWED.items() if key not in rank and set(allowed) <= set(rank)]
            self.assertTrue(ready, f"these may include each other: {set(ALLOWED) - set(rank)}")
            rank.update(dict.fromkeys(ready, len(rank)))


class Rules(unittest.TestCase):
    """Each rule, with trees that break it."""

    def check(self, includes, **exceptions):
        """`includes`: FILE -> its includes; included files of the project exist."""
        files = {name: "".join(f"#include {h if h[0] == '<' else chr(34) + h + chr(34)}\n" for h in headers) for name, headers in includes.items()}
        for headers in includes.values():
            for header in headers:
                if header[0] != "<" and "/" in header and not (f"include/{header}" in files or f"include/{header}.in" in files):
                    files.setdefault(header, "")
        return Tree(files, **exceptions).check()

    def assert_finding(self, findings, *parts):
        self.assertEqual(len(findings), 1, findings)
        for part in parts:
            self.assertIn(part, findings[0])

    def test_allowed_by_the_table(self):
        for key, (allowed, _) in ALLOWED.items():
            for other in (key, *allowed):
                with self.subTest(key, other=other):
                    self.assertEqual(self.check({f"{key}/x.c": [f"{other}/y.h", "<stdio.h>"]}), [])

    def test_rejected_by_the_table(self):
        for key, (allowed, reason) in ALLOWED.items():
            for other in set(ALLOWED) - {key, *allowed}:
                with self.subTest(key, other=other):
                    self.assert_finding(self.check({f"{key}/x.c": [f"{other}/y.h"]}), f"{key}/x.c includes {other}/y.h: ", reason)

    def test_the_sentence(self):
        self.assertEqual(self.check({"shm/layout.c": ["config/config.h"]}), [
            "shm/layout.c includes config/config.h: shm may include include and proto only, since "
            f"{ALLOWED['shm'][1]}; move the type down or the code up"])

    def test_every_spelling_of_an_include(self):
        for line in ('#include "config/config.h"', ' #  include "config/config.h" /* why */', "#include <config/config.h>"):
            with self.subTest(line):
                self.assert_finding(Tree({"shm/x.c": f"int x;\n{line}\n", "config/config.h": ""}).check(), "shm/x.c includes config/config.h")

    def test_paths_below_include_and_next_to_the_file(self):
        self.assert_finding(self.check({"proto/x.c": ["biplane/y.h"], "include/biplane/y.h": []}), "proto/x.c includes include/biplane/y.h: ")
        self.assert_finding(self.check({"proto/x.c": ["biplane/y.h"], "include/biplane/y.h.in": []}), "proto/x.c includes include/biplane/y.h: ")
        self.assertEqual(self.check({"shm/fib/x.c": ["y.h"], "shm/fib/y.h": []}), [])
        self.assert_finding(self.check({"shm/x.c": ["y.h"]}), 'shm/x.c includes "y.h", which is no file')

    def test_product_code_includes_no_tests(self):
        for key in ALLOWED:
            with self.subTest(key):
                self.assert_finding(self.check({f"{key}/x.c": ["tests/unit/y.h"]}), f"{key}/x.c includes tests/unit/y.h: ")

    def test_a_folder_without_a_row(self):
        self.assert_finding(self.check({"user/x.c": ["proto/y.h"]}), "no folder user")

    def test_generic_folders_include_no_service(self):
        for generic in GENERIC:
            below = generic if generic == "apps/biplane/show" else folder_of(generic)
            with self.subTest(generic):
                self.assert_finding(self.check({f"{generic}/x.c": [f"{below}/lcl/y.h"]}), f"{generic} is for all services")
                self.assertEqual(self.check({f"{generic}/x.c": ["services/lcl/y.h"]}), [])

    def test_services_include_no_other_service(self):
        for name, target in (("services/lcl/x.c", "services/mqtt/y.h"), ("dataplane/lcl/x.c", "dataplane/mqtt/y.h"),
                             ("config/health/x.c", "shm/mqtt/y.h"), ("controlplane/health/store/x.c", "services/mqtt/y.h")):
            with self.subTest(name):
                self.assert_finding(self.check({name: [target]}), f"{name} includes {target}: a service may not include another")
        self.assertEqual(self.check({"dataplane/lcl/x.c": ["services/lcl/y.h", "shm/lcl/z.h", "dataplane/nodes/n.h"]}), [])

    def test_forbidden_libraries_are_found(self):
        for header, folder in (("rte_mbuf.h", "shm"), ("rte_mbuf.h", "controlplane"), ("event2/event.h", "dataplane"), ("mosquitto.h", "dataplane"),
                               ("librdkafka/rdkafka.h", "dataplane"),
                               ("sqlite3.h", "dataplane"), ("netlink/netlink.h", "dataplane"), ("linux/rtnetlink.h", "dataplane"),
                               ("sys/socket.h", "services"), ("netinet/in.h", "proto"), ("arpa/inet.h", "include")):
            with self.subTest(header, folder=folder):
                self.assert_finding(self.check({f"{folder}/x.c": [f"<{header}>"]}), f"{folder}/x.c includes <{header}>: {folder} may not, since ")
        self.assertEqual(self.check({"dataplane/x.c": ["<rte_mbuf.h>", "<sys/socket.h>"], "controlplane/x.c": ["<event2/event.h>"]}), [])

    def test_folders_that_include_each_other(self):
        both = {"dataplane/ports/x.c": ["dataplane/nodes/y.h"], "dataplane/nodes/z.c": ["dataplane/ports/w.h"]}
        self.assert_finding(self.check(both), "dataplane/nodes and dataplane/ports include each other")
        self.assertEqual(self.check({"shm/x.c": ["shm/fib/y.h"], "shm/fib/z.c": ["shm/w.h"]}), [])  # a folder and its own sub-folder
        self.assertEqual(self.check(both, mutual={("dataplane/ports", "dataplane/*"): "why"}), [])

    def test_headers_that_include_each_other(self):
        self.assert_finding(self.check({"shm/a.h": ["shm/b.h"], "shm/b.h": ["shm/a.h"]}), "shm/a.h and shm/b.h include each other")
        self.assert_finding(self.check({"shm/x.c": ["shm/a.h"], "shm/a.h": ["shm/b.h"], "shm/b.h": ["shm/c.h"], "shm/c.h": ["shm/a.h"]}),
                            "shm/a.h > shm/b.h > shm/c.h > shm/a.h")
        self.assertEqual(self.check({"shm/a.h": ["shm/b.h", "shm/c.h"], "shm/b.h": ["shm/d.h"], "shm/c.h": ["shm/d.h"]}), [])

    def test_exceptions_are_needed(self):
        tree, why = {"apps/sim/lcl/x.c": ["apps/biplane/y.h"]}, "why"
        self.assertEqual(self.check(tree, exceptions={("apps/sim/*", "apps/biplane/y.h"): why}), [])
        self.assertEqual(len(self.check(tree, exceptions={("apps/sim/*", "apps/biplane/z.h"): why})), 2)
        self.assertEqual(self.check({"services/x.c": ["<arpa/inet.h>"]}, library_exceptions={("services/x.c", "arpa/inet.h"): why}), [])
        for table in ("exceptions", "mutual", "library_exceptions"):
            with self.subTest(table):
                self.assert_finding(self.check({"shm/x.c": ["proto/y.h"]}, **{table: {("shm/x.c", "z"): why}}), "shm/x.c > z is not needed")


if __name__ == "__main__":
    unittest.main()
