# SPDX-License-Identifier: BSD-3-Clause
"""The oracle and the judge of the fleet test find each fault in alarms that are made for it."""

import asyncio
import contextlib
import io
import json
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "fleet"))

import fleet_load  # noqa: E402
import mqtt_bytes  # noqa: E402
import oracle  # noqa: E402
from judge import judge  # noqa: E402
from oracle import ABOVE, BELOW, BETWEEN, Episode  # noqa: E402

PASSED = {"victim": "gw1", "failures": [], "verdict": {}}
TOPIC = "plant/d0/temperature"


def device(samples=60, **more):
    kinds = [oracle.CYCLE[n % len(oracle.CYCLE)] for n in range(samples)]
    return {"topic": TOPIC, "samples": [(n, k, 0.0) for n, k in enumerate(kinds)], **more}


def alarm(state, n, uid=None):
    kind = ABOVE if state == "raised" else BELOW
    return {"topic": TOPIC, "state": state, "value": float(oracle.value_of(n, kind)), "uid": uid or f"{state}{n}"}


def due(d):
    return [alarm(*t) for t in oracle.transitions(oracle.episodes([s[:2] for s in d["samples"]]))]


class Oracle(unittest.TestCase):
    def test_values_name_their_sample(self):
        for kind in (ABOVE, BETWEEN, BELOW):
            for n in (0, 1, 17, 123456, 999999):
                self.assertEqual(oracle.sample_of(float(oracle.value_of(n, kind))), (n, kind))
        for v in (0.0, 19.9, 22.5, 80.0, 79.5, 1e9):
            self.assertIsNone(oracle.sample_of(v))

    def test_the_cycle_has_one_alarm_in_ten_publications(self):
        found = oracle.episodes([s[:2] for s in device(60)["samples"]])
        self.assertEqual(found, [Episode(0, 2, 10), Episode(20, 22, 30), Episode(40, 42, 50)])
        self.assertEqual(len(oracle.transitions(found)) * 10, 60)

    def test_hold_counts_consecutive_values_only(self):
        def kinds(*ks):
            return oracle.episodes(list(enumerate(ks)))
        self.assertEqual(kinds(ABOVE, ABOVE, BETWEEN, ABOVE, ABOVE), [])
        self.assertEqual(kinds(ABOVE, ABOVE, BETWEEN, ABOVE, ABOVE, ABOVE), [Episode(3, 5, None)])
        self.assertEqual(kinds(ABOVE, ABOVE, ABOVE, BETWEEN, ABOVE, BELOW, BELOW), [Episode(0, 2, 5)])


class Judge(unittest.TestCase):
    def verdict(self, alarms, d=None, **limits):
        v = judge([d or device()], alarms)
        return v, v.failures(limits.get("repeats_max", 0))

    def test_what_is_due_passes(self):
        v, failures = self.verdict(due(device()))
        self.assertEqual((v.expected, v.received, v.exact, failures), (6, 6, 6, []))

    def test_a_missing_alarm_is_found(self):
        for i in range(6):
            alarms = due(device())
            gone = alarms.pop(i)
            v, failures = self.verdict(alarms)
            self.assertEqual([(s, n) for _, s, n in v.missing], [(gone["state"], oracle.sample_of(gone["value"])[0])])
            self.assertIn("alarms missing", failures[0])

    def test_a_repeat_is_counted_and_bounded(self):
        alarms = due(device())
        alarms.insert(3, alarms[1])
        v, failures = self.verdict(alarms, repeats_max=1)
        self.assertEqual((v.repeats, failures), (1, []))
        self.assertEqual(len(self.verdict(alarms)[1]), 1)

    def test_a_second_alarm_with_another_uid_is_found(self):
        alarms = due(device())
        alarms.insert(1, alarm("raised", 3, "other"))
        v, failures = self.verdict(alarms)
        self.assertEqual((v.seconds, v.missing), ([(TOPIC, "raised", 3)], []))
        self.assertIn("another uid", failures[0])

    def test_a_wrong_order_is_found(self):
        for i in range(5):
            alarms = due(device())
            alarms[i], alarms[i + 1] = alarms[i + 1], alarms[i]
            v, failures = self.verdict(alarms)
            self.assertTrue(v.disorder, i)
            self.assertEqual((v.missing, v.wrong), ([], []))
            self.assertIn("order", failures[0])

    def test_the_order_is_that_of_the_time_in_the_alarm(self):
        alarms = [a | {"time": f"2026-11-28T12:00:0{i}.000000000Z"} for i, a in enumerate(due(device()))]
        alarms.insert(5, alarms.pop(1))
        v, failures = self.verdict(alarms)
        self.assertEqual((v.overtaken, v.disorder, failures), (1, [], []))
        alarms[3], alarms[4] = ({**alarms[3], "time": alarms[4]["time"]}, {**alarms[4], "time": alarms[3]["time"]})
        self.assertTrue(self.verdict(alarms)[0].disorder)

    def test_a_later_sample_is_late_and_not_missing(self):
        alarms = due(device())
        alarms[2] = alarm("raised", 25)
        v, failures = self.verdict(alarms)
        self.assertEqual((v.late, v.missing, failures), ([(TOPIC, "raised", 25)], [], []))

    def test_alarms_that_nothing_raised_are_wrong(self):
        for bad in (alarm("raised", 14), alarm("raised", 1), alarm("cleared", 500), {**alarm("raised", 2), "value": 12.0},
                    {**alarm("raised", 2), "state": "odd"}, {**alarm("cleared", 10), "value": float(oracle.value_of(9, BETWEEN))},
                    {**alarm("raised", 2), "topic": "plant/other/temperature"}):
            v, failures = self.verdict([*due(device()), bad | {"uid": "bad"}])
            self.assertEqual(len(v.wrong), 1, bad)
            self.assertTrue(failures)

    def test_publications_lost_with_their_connection_excuse_what_depends_on_them(self):
        d = device(lost=[22], resets=[1.0])
        alarms = [a for a in due(device()) if oracle.sample_of(a["value"])[0] != 22]
        v, failures = self.verdict([*alarms, alarm("raised", 23)], d)
        self.assertEqual((v.excused, v.missing, failures), (1, [], []))
        self.assertTrue(self.verdict(alarms[1:], d)[1])

    def test_publications_lost_without_a_reset_are_a_failure(self):
        v, failures = self.verdict(due(device()), device(lost=[22, 23]))
        self.assertEqual(failures, [f"1 connections without a reset that lost publications, the first: {TOPIC}: 2 publications"])
        self.assertEqual(len(v.stuck), 1)

    def test_a_sample_that_was_sent_again_may_count_twice(self):
        alarms = due(device())
        alarms[2] = alarm("raised", 21)
        self.assertTrue(self.verdict(alarms)[0].wrong)
        self.assertEqual(self.verdict(alarms, device(again=[20]))[0].wrong, [])


class Devices(unittest.TestCase):
    """The end of a device of which something waits."""

    def ended(self, index, up=True, **state):
        d = fleet_load.Device(SimpleNamespace(prefix="d"), index)
        with contextlib.ExitStack() as stack:
            d.sock, peer = map(stack.enter_context, socket.socketpair())
            stack.enter_context(peer)
            d.up, d.transport = up, mock.Mock(**{"get_write_buffer_size.return_value": 1})
            vars(d).update(state)
            stack.enter_context(mock.patch.object(fleet_load, "LAST_ACKS", 0))
            asyncio.run(d.end())
        return d.log()

    def test_a_connection_that_is_never_forwarded_again_has_a_gap(self):
        since = time.time() - 30
        samples = [(n, ABOVE, since + n) for n in range(3)]
        for index, state in ((0, {"stalled": (1, since)}), (2, {"unacked": {2: (1, since), 3: (2, since + 1)}})):
            log = self.ended(index, samples=list(samples), **state)
            self.assertEqual((log["qos"], log["gap_at"], log["lost"], log["resets"]), (index // 2, since, [1, 2, 3], []))
            self.assertGreaterEqual(log["gap"], 30)

    def test_a_connection_that_is_never_established_again_has_a_gap(self):
        log = self.ended(0, up=False, down=time.time() - 30)
        self.assertGreaterEqual(log["gap"], 30)


class Run(unittest.TestCase):
    """scripts/fleet-test, with rounds that are made up."""

    def run_with(self, *rounds):
        modules = {m: mock.Mock() for m in ("paho", "paho.mqtt", "paho.mqtt.client", "paho.mqtt.enums", "fleet_lab", "peer_lab", "under_load")}
        modules["fleet_lab"].REPEATS_MAX = modules["peer_lab"].PEER_FAULTS = 0
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.dict(sys.modules, modules))
            stack.enter_context(mock.patch.object(sys, "path", [*sys.path, str(ROOT / "tests" / "e2e")]))
            file = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "figures"
            stack.enter_context(mock.patch.object(sys, "argv", ["fleet-test", "--fault", "none", "--rounds", str(len(rounds)), "--json", str(file)]))
            import run  # noqa: PLC0415
            stack.enter_context(mock.patch.object(run.signal, "signal"))
            stack.enter_context(mock.patch.object(run, "table", lambda rounds: f"{len(rounds)} in the table"))
            stack.enter_context(mock.patch.object(run, "Round", return_value=mock.Mock(victim="gw1", run=mock.Mock(side_effect=rounds))))
            out = stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            stack.enter_context(contextlib.redirect_stderr(io.StringIO()))
            return run.main(), out.getvalue(), json.loads(file.read_text())

    def test_rounds_that_pass(self):
        status, out, figures = self.run_with(PASSED, PASSED)
        self.assertEqual((status, figures["complete"], len(figures["rounds"])), (0, True, 2))
        self.assertIn("passed", out.splitlines()[-1])

    def test_a_round_that_is_not_completed_has_failed(self):
        for e in (subprocess.TimeoutExpired("biplane", 10), AssertionError("timeout"), OSError("none")):
            status, out, figures = self.run_with(PASSED, e, PASSED)
            self.assertEqual((status, figures["complete"], len(figures["rounds"])), (1, False, 2))
            self.assertIn(type(e).__name__, figures["rounds"][1]["failures"][0])
            self.assertIn("1 in the table", out)
            self.assertTrue(out.endswith("1 of 2 rounds failed; not completed\n"), out)


class Bytes(unittest.TestCase):
    def test_packets_are_found_in_any_pieces(self):
        stream = mqtt_bytes.publish("a/b", b"x" * 300, 1, 7) + mqtt_bytes.disconnect() + b"\x40\x02\x00\x07"
        for size in (1, 2, 7, 1000):
            buffer, got = bytearray(), []
            for i in range(0, len(stream), size):
                buffer += stream[i:i + size]
                got += mqtt_bytes.packets(buffer)
            self.assertEqual([k for k, _ in got], [3, 14, mqtt_bytes.PUBACK])
            self.assertEqual((got[2][1], bytes(buffer)), (b"\0\x07", b""))

    def test_a_length_without_end_is_refused(self):
        with self.assertRaises(ValueError):
            list(mqtt_bytes.packets(bytearray(b"\x30\xff\xff\xff\xff\x01")))


if __name__ == "__main__":
    unittest.main()
