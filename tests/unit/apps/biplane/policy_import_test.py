# SPDX-License-Identifier: BSD-3-Clause
"""biplane policy import: policy_import_test.py BIPLANE"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIPLANE = sys.argv.pop(1)

ACL = b"""\
# comment
topic read $SYS/#
topic deny a/secret

user anna
topic a b/c d
topic write plant/+/x
topic read in
pattern readwrite p/%c/%u
pattern deny p/%u/secret
"""

RULES = """\
    - {name: connect, action: allow, packet: connect}
    - {name: acl-3, action: observe, anonymous: true, topic: "a/secret"}
    - {name: acl-2, action: allow, packet: subscribe, anonymous: true, topic: "$SYS/#"}
    - {name: acl-7, action: allow, packet: publish, user_name: "anna", topic: "plant/+/x"}
    - {name: acl-7-will, action: allow, packet: will, user_name: "anna", topic: "plant/+/x"}
    - {name: acl-8, action: allow, packet: subscribe, user_name: "anna", topic: "in"}
    - {name: acl-10, action: observe, topic: "p/{user}/secret"}
    - {name: acl-9, action: allow, topic: "p/{client}/{user}"}
"""

CONFIG = "version: 1\nports: [{name: a, device: x}, {name: b, device: y}]\nbridges: [{name: n, ports: [a, b]}]\nmqtt:\n"


def run(text, name="acl"):
    with tempfile.TemporaryDirectory() as d:
        path = Path(d) / name
        path.write_bytes(text)
        return subprocess.run([BIPLANE, "policy", "import", path], capture_output=True, check=False, timeout=20)


class Import(unittest.TestCase):
    def test_order_and_access(self):
        p = run(ACL.replace(b"topic a b/c d\n", b"# no entry\n"))
        self.assertEqual(p.returncode, 0, p.stderr)
        self.assertEqual(p.stdout.decode().partition("  rules:\n")[2], RULES)

    def test_the_configuration_accepts_it(self):
        p = run(ACL.replace(b"topic a b/c d\n", b"topic write t/\xc3\xa4 \"x\\\n"))
        self.assertEqual(p.returncode, 0, p.stderr)
        with tempfile.TemporaryDirectory() as d:
            path = Path(d) / "c.yaml"
            path.write_text(CONFIG + "".join(f"  {line}\n" for line in p.stdout.decode().splitlines()))
            check = subprocess.run([BIPLANE, "config", "check", "-c", path], capture_output=True, text=True, check=False, timeout=20)
        self.assertEqual(check.returncode, 0, check.stderr)

    def test_errors_name_the_line(self):
        for text, want in ((ACL, b":6: 'a' is no access"), (b"topic\n", b":1: the line has no topic"), (b"user\n", b":1: '' is no user"),
                           (b"\nuser a*b\n", b":2: 'a*b' is no user"), (b"pattern write x%c\n", b":1: 'x%c' has %c"),
                           (b"topic write a/#/b\n", b":1: 'a/#/b' is no topic"), (b"topic write {client}\n", b"no topic of a policy"),
                           (b"topics write a\n", b":1: 'topics' is no entry")):
            p = run(text)
            self.assertEqual(p.returncode, 78, text)
            self.assertIn(want, p.stderr)
            self.assertEqual(p.stdout, b"")

    def test_hostile_bytes(self):
        """No text is read beyond its end, and none reaches the terminal or leaves the comment."""
        for text in (b"user \xc2\n", b"user a\ntopic write plant/\xe2\n", b"topic \x1b]0;owned\x07 x\n", b"\x1b[2Jx\n", b"topic write \xff\n"):
            p = run(text)
            self.assertEqual(p.returncode, 78, text)
            self.assertNotIn(b"\x1b", p.stderr + p.stdout)
        p = run(b"topic write a\n", "acl\nrules: []")
        self.assertEqual(p.returncode, 0)
        self.assertTrue(all(line.startswith((b"#", b" ", b"policy:")) for line in p.stdout.splitlines()), p.stdout)


if __name__ == "__main__":
    unittest.main()
