# SPDX-License-Identifier: BSD-3-Clause
"""bench/report/peers_table.py, bench/report/services_table.py and bench/report/plot_peers on figures that are known."""

import copy
import importlib.machinery
import importlib.util
import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench" / "report"))
import peers_table  # noqa: E402
import report_latency  # noqa: E402
import report_more_tables  # noqa: E402
import report_pages  # noqa: E402
import report_peers  # noqa: E402
import services_table  # noqa: E402
import svg_bars  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("plot_peers", str(ROOT / "bench" / "report" / "plot_peers"))
plot = importlib.util.module_from_spec(importlib.util.spec_from_loader("plot_peers", LOADER))
LOADER.exec_module(plot)

LATENCY = {"median_us": 100.0, "p99_us": 2000.0, "p999_us": 3000.0, "mean_us": 120.0,
           "percentiles_us": [10.0 * i for i in range(101)]}
MEMORY = {"memory_mib": 10.0, "hugepages_mib": 0.0}


def measurements(sent, cpu, lost=0):
    return {"rate": 2000, "sent": sent, "per_second": sent, "finished_per_second": sent, "due": 10, "alarms": 10 - lost, "lost": lost,
            "behind_ms": 0.0, "cpu_s": cpu}


def frames(arrived, cpu):
    return {"rate": 20000, "sent": 1000000, "offered_pps": 1000000, "arrived": arrived, "arrived_pps": arrived,
            "lost": 1000000 - arrived, "cpu_s": cpu, "latency": copy.deepcopy(LATENCY)}


def messages(rate, arrived, cpu, lost=0):
    return {"rate": rate, "sent": arrived + lost, "per_second": arrived + lost, "finished_per_second": arrived, "arrived": arrived,
            "lost": lost, "datagrams": arrived // 8, "behind_ms": 0.0, "cpu_s": {"gateway": cpu, "softirq": 3.0, "load": 9.0}}


RUN = {"percent": 10, "alarms": [
    {"name": "mosquitto-c", "sustained": 5000, "limit": "late", "idle_cpu": 0.125, "memory": MEMORY,
     "moderate": {**measurements(2000, {"broker": 0.1, "application": 0.05, "load": 9.0}),
                  "latency": copy.deepcopy(LATENCY)},
     "steps": [{**measurements(5000, {"broker": 0.2, "load": 9.0}), "rate": 5000},
               {**measurements(9000, {"broker": 0.3, "load": 9.0}, 3), "rate": 10000}]}],
    "packets": [
        {"name": "direct", "idle_cpu": 0, "memory": MEMORY, "moderate": frames(1000000, {"load": 2.0}),
         "most": frames(1000000, {"load": 2.0})},
        {"name": "kernel-bridge", "idle_cpu": 0, "memory": MEMORY, "moderate": frames(500000, {"load": 2.0, "softirq": 0.5}),
         "most": frames(0, {"load": 2.0})}],
    "services": [
        {"name": "health-sockets", "sustained": 40000, "limit": "lost", "idle_cpu": 0.25, "memory": MEMORY,
         "moderate": {**messages(20000, 20000, 0.5), "latency": copy.deepcopy(LATENCY)},
         "steps": [messages(20000, 20000, 0.5), messages(40000, 40000, 0.25), messages(80000, 70000, 0.125, 10000)]}]}


class Peers(unittest.TestCase):
    def test_processor_time_of_a_million(self):
        self.assertEqual(peers_table.per_million(RUN["alarms"][0]["moderate"], "sent", ("load",)),
                         {"broker": 50.0, "application": 25.0})

    def test_time_between_nodes(self):
        direct, bridge = RUN["packets"]
        self.assertEqual(peers_table.direct_of(RUN["packets"]), direct)
        self.assertEqual(peers_table.beyond(bridge, direct, "moderate"), 5.0 - 2.0)
        self.assertIsNone(peers_table.beyond(bridge, direct, "most"))  # nothing arrived
        self.assertIsNone(peers_table.beyond(bridge, None, "moderate"))

    def test_best_rate_is_without_loss(self):
        self.assertEqual(peers_table.best(RUN["alarms"][0])["sent"], 5000)

    def test_several_runs_are_their_medians(self):
        runs = [copy.deepcopy(RUN) for _ in range(3)]
        runs[1]["alarms"][0]["sustained"] = 7000
        runs[2]["alarms"][0]["sustained"] = 6000
        runs[0]["alarms"][0]["steps"].pop()  # was ended earlier
        runs[2]["alarms"][0]["steps"][1]["lost"] = 5
        runs[1]["alarms"][0]["moderate"]["latency"]["percentiles_us"][50] = 900.0
        runs[2]["alarms"][0]["moderate"]["latency"]["percentiles_us"][50] = 700.0
        m = peers_table.merge(runs)
        self.assertEqual(m["alarms"][0]["sustained"], 6000)
        self.assertEqual([(s["rate"], s["lost"]) for s in m["alarms"][0]["steps"]], [(5000, 0), (10000, 4)])
        self.assertEqual(m["alarms"][0]["moderate"]["latency"]["percentiles_us"][50], 700.0)
        self.assertEqual(m["packets"], RUN["packets"])
        self.assertEqual(peers_table.merge([RUN]), RUN)

    def test_tables_list_existing_entries(self):
        lines = list(peers_table.tables(RUN))
        row = next(line for line in lines if line.startswith("mosquitto-c "))
        self.assertEqual(row.split(), ["mosquitto-c", "5000", "late", "0.100", "2.000", "3.000", "75.0", "40.0",
                                       "0.125", "4500.0", "10.0", "0"])
        row = next(line for line in lines if line.startswith("kernel-bridge "))
        self.assertEqual(row.split()[1], "500000")
        self.assertIn("100.0", row.split())  # percent lost at most
        empty = list(peers_table.tables({"percent": 10, "alarms": [], "packets": []}))
        self.assertTrue(empty)

    def test_services_have_rows(self):
        health = RUN["services"][0]
        self.assertEqual(services_table.cpu(health["moderate"]), 25.0)  # of the gateway alone
        self.assertIsNone(services_table.cpu(None))
        lines = list(peers_table.tables(RUN))
        row = next(line for line in lines if line.startswith("health-sockets "))
        self.assertEqual(row.split()[1:], ["40000", "lost", "100.0", "2000.0", "3000.0", "25.0", "6.2", "0.250", "10.0", "0"])
        lossy = {**health, "sustained": 0, "steps": [messages(20000, 19999, 0.5, 1)]}
        lossy["moderate"] = {**lossy["steps"][0], "latency": None}
        row = next(line for line in services_table.tables([lossy]) if line.startswith("health-sockets "))
        self.assertEqual(row.split()[1:], ["0", "lost", "-", "-", "-", "25.0", "-", "0.250", "10.0", "0"])

    def test_services_in_the_report(self):
        lines = report_more_tables.peers({"peers": RUN})
        row = next(line for line in lines if "health-sockets" in line)
        self.assertEqual([c.strip() for c in row.strip("|").split("|")],
                         ["health-sockets", "40,000", "100.0", "2000.0", "3000.0", "25.0", "6.2", "10", "0"])

    def test_a_run_without_services(self):
        old = {k: v for k, v in RUN.items() if k != "services"}
        self.assertTrue(list(peers_table.tables(old)))
        self.assertTrue(report_more_tables.peers({"peers": old}))
        plot.draw(old)

    def external(self):
        """A run with systems of other projects, and one that is not installed."""
        run = copy.deepcopy(RUN)
        run["alarms"].append({**copy.deepcopy(run["alarms"][0]), "name": "suricata", "sustained": 4321})
        run["alarms"].append({**copy.deepcopy(run["alarms"][0]), "name": "biplane-af_xdp"})
        run["packets"] += [{**copy.deepcopy(run["packets"][1]), "name": name}
                           for name in ("xdp-bridge", "xdp-route", "grout-route-af_xdp", "biplane-bridge-af_xdp", "biplane-route-af_xdp")]
        run["missing"] = [{"name": "nanomq", "why": "no nanomq in PATH"}, {"name": "grout-route-af_packet", "why": "no GROUT"}]
        return run

    def test_external_systems(self):
        run = self.external()
        rows = list(report_peers.peers({"peers": run}))
        named = {(row[0].split(" ")[0], row[1]) for row in rows}
        self.assertLessEqual({("MQTT", report_peers.NAMES["suricata"]), ("bridge", report_peers.NAMES["xdp-bridge"]),
                              ("routing", report_peers.NAMES["xdp-route"]), ("routing", "grout, AF_XDP")}, named)
        self.assertNotIn(("bridge", report_peers.NAMES["xdp-route"]), named)
        lines = "\n".join(report_pages.frames({"peers": run}))
        for name in ("XDP bridge", "XDP routing", "grout routing, AF_XDP"):
            self.assertIn(f"| {name} |", lines)
        self.assertIn("| Suricata, inline | **4,321** |", "\n".join(report_pages.alarms({"peers": run})))
        plot.draw(run)

    def test_alarm_delay_of_external_systems(self):
        lines = report_latency.delays({"floor": LATENCY, "suricata": {**LATENCY, "median_us": 321.0}, "missing": []})
        self.assertIn("| 321 |", next(line for line in lines if "Suricata" in line))
        self.assertFalse([line for line in lines if "eKuiper" in line])

    def test_ratio_to_the_relay_of_the_same_mode(self):
        run = {"floor": LATENCY, "cloud": LATENCY, "relay": {**LATENCY, "median_us": 50.0, "p99_us": 100.0},
               "relay_busy": {**LATENCY, "median_us": 25.0, "p99_us": 100.0},
               "biplane": {**LATENCY, "median_us": 100.0, "p99_us": 150.0}, "biplane_busy": {**LATENCY, "median_us": 100.0, "p99_us": 300.0}}
        last = {line.split("|")[1].strip(): [c.strip() for c in line.split("|")[-3:-1]] for line in report_latency.delays(run)}
        self.assertEqual(last["System"], ["Ratio to the relay: median", "p99"])
        self.assertEqual(last["biplane, AF_PACKET, adaptive"], ["2.00", "1.50"])
        self.assertEqual(last["biplane, AF_PACKET, busy"], ["4.00", "3.00"])
        self.assertEqual(last["mosquitto, application in C"], ["", ""])
        self.assertFalse([line for line in report_latency.delays({k: v for k, v in run.items() if "relay" not in k}) if "relay" in line])

    def test_half_rate_and_pause(self):
        run = copy.deepcopy(RUN)
        self.assertFalse([line for line in report_pages.alarms({"peers": run}) + report_pages.frames({"peers": run})
                          if "half" in line or "pause" in line])
        run["alarms"][0]["half"] = {**run["alarms"][0]["moderate"], "latency": {**LATENCY, "median_us": 1234.0}}
        run["packets"][1]["first"] = {**run["packets"][1]["moderate"], "latency": {**LATENCY, "median_us": 4321.0}}
        self.assertIn("| 1.23 |", report_pages.alarms({"peers": run})[2])
        self.assertIn("| 4,321 |", "\n".join(report_pages.frames({"peers": run})))

    def test_busy_workers_have_rows(self):
        run = self.external()
        run["packets"].append({**copy.deepcopy(run["packets"][1]), "name": "biplane-bridge-af_xdp-busy"})
        self.assertIn("| biplane bridge, AF_XDP, busy |", "\n".join(report_pages.frames({"peers": run})))
        self.assertIn("af_xdp, busy: ", "\n".join(row[3] for row in report_peers.peers({"peers": run})))

    def test_missing_systems_are_named(self):
        run = self.external()
        self.assertIn("not installed: nanomq: no nanomq in PATH", list(peers_table.tables(run)))
        self.assertEqual(report_pages.alarms({"peers": run})[-1], "Not installed in this run: NanoMQ.")
        self.assertEqual(report_pages.frames({"peers": run})[-1], "Not installed in this run: grout routing, AF_PACKET.")
        self.assertEqual(peers_table.merge([run, run])["missing"], run["missing"])
        self.assertNotIn("Not installed", "\n".join(report_pages.alarms({"peers": RUN})))

    def only_installed(self, names, **environment):
        """What bench/peers/external.sh leaves of these, and what it says of the others."""
        out = subprocess.run(["bash", "-euo", "pipefail", "-c", f'cd {ROOT}; . bench/peers/external.sh; names=({names}); only_installed names; '
                              'missing_json; echo; printf "%s\n" "${names[@]}"'], check=True, capture_output=True, text=True,
                             env={"PATH": "/usr/bin:/bin", **environment}).stdout.splitlines()
        return json.loads(out[0]), out[1:]

    def test_what_is_not_installed_is_left_out(self):
        missing, left = self.only_installed("kernel-bridge route:grout-af_xdp nanomq ekuiper suricata mosquitto-c",
                                            NANOMQ="/nonexistent/nanomq", EKUIPER="/nonexistent", SURICATA="/nonexistent/suricata")
        self.assertEqual(left, ["kernel-bridge", "mosquitto-c"])
        self.assertEqual([m["name"] for m in missing], ["route:grout-af_xdp", "nanomq", "ekuiper", "suricata"])
        self.assertTrue(all(m["why"] for m in missing))

    def test_what_is_installed_is_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("grout", "grcli", "kuiperd", "nanomq"):
                path = Path(folder) / name
                path.touch()
                path.chmod(0o755)
            (Path(folder) / "etc").mkdir()
            missing, left = self.only_installed("grout-route-af_packet ekuiper nanomq", GROUT=folder, EKUIPER=folder, NANOMQ=f"{folder}/nanomq")
        self.assertEqual((missing, left), ([], ["grout-route-af_packet", "ekuiper", "nanomq"]))

    def test_figure_is_drawn(self):
        with tempfile.NamedTemporaryFile(suffix=".svg") as f:
            plot.draw(RUN).write(f.name)
            texts = [t.text for t in xml.etree.ElementTree.parse(f.name).iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn("mosquitto and C", texts)
        self.assertIn("Linux bridge", texts)
        self.assertIn("direct link", texts)
        self.assertIn("11073, sockets", texts)

    def test_every_entry_has_a_name(self):
        out = subprocess.run(["bash", "-euc", f'. {ROOT}/bench/peers/peers.sh; printf "%s\\n" "${{peers_deciders[@]}}" '
                              '"${peers_ways[@]}"; peers_ends; printf "%s\\n" "${peers_ways[0]}"'],
                             check=True, capture_output=True, text=True).stdout.split()
        self.assertEqual(out.pop(), "direct")  # the ends have what the others are compared to
        self.assertEqual(set(out), set(plot.NAMES))
        out = subprocess.run(["bash", "-euc", f'. {ROOT}/bench/peers/peers.sh; printf "%s\\n" "${{peers_services[@]}}"; peers_ends; '
                              'printf "%s\\n" "${peers_services[@]}"'],
                             check=True, capture_output=True, text=True).stdout.split()
        self.assertEqual(set(out), {f"{service}-{by}" for service in plot.SERVICES for by in plot.BY})
        self.assertEqual(len(out), 9 + 2)  # the ends are two of them

    def test_merge_command(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump(RUN, f)
            f.flush()
            out = subprocess.run([sys.executable, ROOT / "bench" / "report" / "peers_table.py", "--merge", f.name, f.name],
                                 check=True, capture_output=True, text=True).stdout
        self.assertEqual(json.loads(out), RUN)


class Bars(unittest.TestCase):
    def test_three_digits(self):
        self.assertEqual([svg_bars.short(v) for v in (0, 0.01234, 1.234, 12.34, 123.4, 12345.6)],
                         ["0", "0.0123", "1.23", "12.3", "123", "12,346"])


if __name__ == "__main__":
    unittest.main()
