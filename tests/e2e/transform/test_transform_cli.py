# SPDX-License-Identifier: BSD-3-Clause
"""`biplane transform` over files, evaluated by Python's own arithmetic."""

import csv
import io
import json
import math
import random
import struct
import subprocess
from fractions import Fraction

import pytest

from lab import BIPLANE

STEP = 2.0 ** -25
MATRIX = [[0.36, 0.48, -0.8, 1.5], [-0.8, 0.6, 0, -2.25], [0.48, 0.64, 0.6, 0.125]]  # a rotation


METHODS = ["vector", "exact"]


def transform(*args, stdin=None):
    return subprocess.run([BIPLANE, "transform", "test", *map(str, args)], input=stdin, capture_output=True, text=True, check=False,
                          timeout=60)


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def xyz(row):
    return [float(row[c]) for c in "xyz"]


def table(points, header="r,phi,theta"):
    return header + "\n" + "".join(",".join(map(repr, p)) + "\n" for p in points)


def results(points, *args, header="r,phi,theta"):
    p = transform("--in", "-", *args, stdin=table(points, header))
    assert p.returncode == 0, p.stderr
    got = rows(p.stdout)
    assert len(got) == len(points)
    return got


@pytest.fixture
def matrix(tmp_path):
    (tmp_path / "m.yaml").write_text(json.dumps(MATRIX))
    return tmp_path / "m.yaml"


def ideal(point, m=None):
    """In double, which is off by 1e-14 at most."""
    r, phi, theta = point
    v = [r * math.sin(theta) * math.cos(phi), r * math.sin(theta) * math.sin(phi), r * math.cos(theta)]
    return v if m is None else [math.fsum([row[0] * v[0], row[1] * v[1], row[2] * v[2], row[3]]) for row in m]


def as_sent(value, fraction=25):
    return math.floor(Fraction(value) * 2 ** fraction) / 2 ** fraction


def random_points(n, seed):
    rng = random.Random(seed)
    return [(round(rng.uniform(0, 20), 9), round(rng.uniform(0, 2 * math.pi), 9), round(rng.uniform(0, math.pi), 9))
            for _ in range(n)]


def distance(a, b):
    return math.dist(a, b) * 1e6


@pytest.mark.parametrize("method", [None, "vector", "exact"])
def test_output_is_close_to_the_exact_result(matrix, method):
    """0.026 um: half a step along three axes, which no packet of this layout can avoid."""
    points = random_points(700, 1)
    args = ["--method", method] if method else []
    worst = 0
    for point, row in zip(points, results(points, "--matrix", matrix, *args)):
        assert all(Fraction(c) * 2 ** 25 % 1 == 0 for c in xyz(row)), "no number of the packet"
        worst = max(worst, distance(xyz(row), ideal([as_sent(c) for c in point], MATRIX)))
        assert row["saturated"] == ""
    assert worst < 0.026


def test_double_leaves_rounding_out(matrix):
    points = [*random_points(300, 2), (-1e6, -3, 1000)]
    for point, row in zip(points, results(points, "--matrix", matrix, "--double")):
        assert distance(xyz(row), ideal(point, MATRIX)) < 1e-7 * max(1, abs(point[0]))
    same = results(points, "--matrix", matrix, "--layout", "float64")
    assert same == results(points, "--matrix", matrix, "--double")


@pytest.mark.parametrize("fraction", [0, 16, 31])
def test_other_fixed_point(fraction):
    points = [(r % 1, phi % 1, theta % 1) for r, phi, theta in random_points(50, 3)]
    for point, row in zip(points, results(points, "--layout", f"fixed32:{fraction}")):
        expected = ideal([as_sent(c, fraction) for c in point])
        for got, want in zip(xyz(row), expected):
            assert abs(got - want) <= 2.0 ** -(fraction + 1) + 1e-13
            assert Fraction(got) * 2 ** fraction % 1 == 0


def test_float32_is_rounded():
    def single(v):
        return struct.unpack("f", struct.pack("f", v))[0]

    points = random_points(50, 4)
    for point, row in zip(points, results(points, "--layout", "float32")):
        for got, want in zip(xyz(row), ideal([single(c) for c in point])):
            assert got == single(got) and abs(got - want) <= abs(want) * 2 ** -24 + 1e-13


def test_degrees_are_converted():
    a, = results([(2, 90, 45)], "--degrees", "--double")
    assert distance(xyz(a), (0, math.sqrt(2), math.sqrt(2))) < 1e-8
    # Cartesian points have no angles
    assert xyz(*results([(2, 90, 45)], "--degrees", "--double", header="x,y,z")) == [2, 90, 45]


def test_cartesian_points(matrix):
    points = [(1, 2, 3), (-64, 10.5, 0.1)]
    for header in ("x,y,z", "from_x,from_y,from_z"):
        got = results(points, "--matrix", matrix, header=header)
        assert list(got[0]) == ["from_x", "from_y", "from_z", "x", "y", "z", "saturated"]
        for point, row in zip(points, got):
            v = [as_sent(c) for c in point]
            want = [math.fsum([m[0] * v[0], m[1] * v[1], m[2] * v[2], m[3]]) for m in MATRIX]
            assert distance(xyz(row), want) < 0.026


LAYOUT = {"byte_order": "little", "angle_unit": "degrees", "length": 80,
          "radius": {"offset": 4, "type": "float64"}, "phi": {"offset": 12, "type": "fixed32", "fraction": 16},
          "theta": {"offset": 16, "type": "ufixed32", "fraction": 4},
          "x": {"offset": 0, "type": "fixed32", "fraction": 8}, "y": {"offset": 60, "type": "float32"},
          "z": {"offset": 70, "type": "float64"}}


@pytest.fixture
def config(tmp_path):
    entry = {"port": "trackers", "sources": [{"address": "10.0.0.5"}]}
    planar = {**{k: LAYOUT[k] for k in "xyz"}, "byte_order": "big", "from_x": LAYOUT["radius"], "from_y": LAYOUT["phi"],
              "from_z": {"offset": 20, "type": "float32"}}
    (tmp_path / "plant.yaml").write_text(json.dumps({"version": 1,
        "ports": [{"name": "trackers", "device": "0000:03:00.0", "routed": {"addresses": ["10.0.0.1/24"]}}],
        "transform": {"entries": [
            {**entry, "udp_port": 10000, "layout": LAYOUT}, {**entry, "udp_port": 10001, "layout": planar, "allow_singular": True},
            {**entry, "udp_port": 10002, "method": "exact"}]}}))
    return tmp_path / "plant.yaml"


def test_a_layout_of_the_configuration(matrix, config):
    """Each number has a type of its own; angles are degrees in the packet, whatever they are in the file."""
    for in_file, args in (((20.25, -90.001, 45.07), ["--degrees"]), ((20.25, math.radians(-90.001), math.radians(45.07)), [])):
        row, = results([in_file], "-c", config, "--matrix", matrix, *args)
        sent = (20.25, math.radians(as_sent(-90.001, 16)), math.radians(as_sent(45.07, 4)))
        x, y, z = ideal(sent, MATRIX)
        assert float(row["x"]) == round(x * 256) / 256
        assert float(row["y"]) == struct.unpack("f", struct.pack("f", y))[0]
        assert float(row["z"]) == pytest.approx(z, abs=1e-13)
    # 45 degrees are 45 in the packet, not a step less by way of radians
    exact = rows(transform("--in", "-", "-c", config, "--degrees", stdin="r,phi,theta\n1,0,45\n").stdout)[0]
    assert float(exact["z"]) == pytest.approx(math.sqrt(0.5), abs=1e-15)
    p = transform("--in", "-", "-c", config, "--degrees", stdin="r,phi,theta\n1,40000,-1\n")
    assert p.returncode == 65 and p.stderr == (
        "standard input:2: phi is 40000; expected -32768 to 32767.999985, the range of the packet (layout transform.entries[0]; "
        "--double has none)\n"
        "standard input:2: theta is -1; expected 0 to 268435455.94, the range of the packet (layout transform.entries[0]; "
        "--double has none)\n")


def test_a_long_packet(config):
    """A length up to the maximum of the configuration: bytes after the fields are ignored."""
    points = random_points(200, 9)
    short = results(points, "-c", config)
    config.write_text(config.read_text().replace('"length": 80', '"length": 9000'))
    assert results(points, "-c", config) == short


def test_entries_of_the_configuration(tmp_path, config):
    (tmp_path / "flat.yaml").write_text("[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]")
    row, = results([(1.99, 2.5, 3)], "-c", config, "--entry", 1, "--matrix", tmp_path / "flat.yaml", header="x,y,z")
    assert xyz(row) == [round(1.99 * 256) / 256, 2.5, 0]
    points = random_points(20, 8)
    assert results(points, "-c", config, "--entry", 2) == results(points, "--method", "exact")
    assert results(points, "-c", config, "--entry", 2, "--method", "vector") == results(points, "--method", "vector")
    for args, status, says in (
            (["--entry", 3], 78, "unknown entry transform.entries[3]; expected a smaller --entry"),
            (["--entry", 1], 65, f"standard input:1: transform.entries[1] of {config} reads Cartesian points; expected columns from_x"),
            (["--double"], 64, "-c FILE has a layout"), (["--entry", "x"], 64, "--entry is 'x'")):
        p = transform("--in", "-", "-c", config, *args, stdin=table(points))
        assert p.returncode == status and says in p.stderr
    p = transform("--in", "-", "-c", config, stdin="x,y,z\n")
    assert p.returncode == 65 and "transform.entries[0] of" in p.stderr and "reads radius and angles" in p.stderr
    p = transform("--in", "-", "--entry", 0, stdin="x,y,z\n")
    assert p.returncode == 64 and "--entry is for -c FILE" in p.stderr
    config.write_text(config.read_text().replace('"transform"', '"transfrom"'))
    assert transform("--in", "-", "-c", config, stdin="x,y,z\n").returncode == 78


def test_columns_are_kept_and_a_result_is_an_input(matrix):
    text = ('\ufeffname, Theta ,"R",note,PHI\r\n'
            'a b, 1.5 ,"2","x, ""y""",0.5\r\n'
            '\r\n'
            ',+1e0,.5,,1.\r\n')
    p = transform("--in", "-", "--matrix", matrix, stdin=text)
    assert p.returncode == 0 and not p.stderr
    lines = p.stdout.splitlines()
    assert lines[0] == 'name, Theta ,"R",note,PHI,x,y,z,saturated' and len(lines) == 3
    assert lines[1].startswith('a b, 1.5 ,"2","x, ""y""",0.5,') and lines[2].startswith(",+1e0,.5,,1.,")
    again = transform("--in", "-", "--matrix", matrix, stdin=p.stdout)
    assert again.stdout == p.stdout
    cartesian = transform("--in", "-", "--matrix", matrix, stdin="id,z,y,x\n7,1,2,3\n")
    assert cartesian.stdout.splitlines()[0] == "id,from_z,from_y,from_x,x,y,z,saturated"
    assert transform("--in", "-", "--matrix", matrix, stdin=cartesian.stdout).stdout == cartesian.stdout


def test_numbers_are_read_and_written_exactly():
    """The shortest decimal that reads back as the number; inputs of any length."""
    long = "0." + "3" * 400
    p = transform("--in", "-", "--double", stdin=f"x,y,z\n{long},1e-300,-0.1\n")
    assert p.stdout.splitlines()[1].split(",")[3:] == ["0.3333333333333333", "1e-300", "-0.1", ""]


def test_values_out_of_range_are_marked(tmp_path):
    (tmp_path / "m.yaml").write_text("[[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 1, 0]]")
    p = transform("--in", "-", "--matrix", tmp_path / "m.yaml",
                  stdin="x,y,z\n31.9,-32,63\n32,-32.1,1\n0,-40,0\n")
    assert p.returncode == 0
    first, second, third = rows(p.stdout)
    assert first["saturated"] == "" and xyz(first)[1] == -64
    assert second["saturated"] == "xy" and xyz(second) == [64 - STEP, -64, 1]
    assert third["saturated"] == "y" and xyz(third) == [0, -64, 0]
    assert p.stderr == ("standard input: of 3 points 2 have a result out of the packet's range, which is saturated "
                        "(layout kunze2021)\n")


REFUSED = [
    ("", 1, "empty file; expected a first row that names the columns"),
    ("1,2,3\n", 1, "the columns of a point are missing; expected"),
    ("r;phi;theta\n1;2;3\n", 1, "expected a first row that names the columns: r, phi and theta, or from_x, from_y and from_z, or "
     "x, y and z, with commas between them"),
    ("r,phi,theta,radius\n", 1, "two columns r; expected one"),
    ("r,phi,y,z\n", 1, "the columns of a point are missing"),
    ('r,phi,theta,"a\n', 1, "quotes that do not close"),
    ("r,phi,theta\n1,2,x3\n", 2, "theta is 'x3'; expected a number"),
    ("r,phi,theta\n1,,3\n", 2, "phi is ''; expected a number"),
    ("r,phi,theta\n\n\n1,0x10,3\n", 4, "phi is '0x10'; expected a number"),
    ("r,phi,theta\n1,nan,3\n", 2, "phi is 'nan'; expected a number"),
    ("r,phi,theta\n1,1e999,3\n", 2, "phi is '1e999'; expected a number that a double can hold"),
    ("r,phi,theta\n1,2 3,3\n", 2, "phi is '2 3'; expected a number"),
    ("r,phi,theta\n1,\x1b[2J,3\n", 2, "phi is '\\x1b[2J'; expected a number"),
    ("r,phi,theta\n1,2\n", 2, "2 columns; expected 3 as in the first row"),
    ("r,phi,theta\n1,2,3,4\n", 2, "4 columns; expected 3 as in the first row"),
    ('r,phi,theta,a\n1,2,3,"b\n', 2, "quotes that do not close; expected them around a whole column, on one line"),
    ('r,phi,theta,a\n1,2,3,"b"c\n', 2, "quotes that do not close; expected them around a whole column, on one line"),
    ("r,phi,theta\n1,\0,3\n", 2, "a byte of 0; expected text"),
    ("r,phi,theta\n64,1,1\n", 2, "r is 64; expected -64 to 63.99999997, the range of the packet (layout kunze2021; --double"),
    ("r,phi,theta\n1,-1e-9,1\n", 2, "phi is -1e-09; expected 0 to 127.99999997, the range of the packet"),
    ("r,phi,theta\n1,1,128\n", 2, "theta is 128; expected 0 to 127.99999997"),
    ("x,y,z\n1,1,64\n", 2, "z is 64; expected -64 to 63.99999997"),
]


@pytest.mark.parametrize("text,line,says", REFUSED)
def test_invalid_points(text, line, says):
    p = transform("--in", "-", stdin=text)
    assert p.returncode == 65 and p.stderr.startswith(f"standard input:{line}: ") and says in p.stderr
    assert p.stderr.count("\n") == 1


def test_angles_beyond_the_bound():
    p = transform("--in", "-", "--double", stdin="r,phi,theta\n1,1048576,-1048576\n1,1,1048577\n")
    assert p.returncode == 65 and len(rows(p.stdout)) == 1
    assert p.stderr == "standard input:3: theta is 1048577 radians; expected at most +-1048576\n"


def test_every_error_is_reported_up_to_twenty(tmp_path):
    points = tmp_path / "points.csv"
    points.write_text("r,phi,theta\n" + "1,1,1\nbad,1,1\n" * 5)
    p = transform("--in", points)
    assert p.returncode == 65 and [line.split(":")[1] for line in p.stderr.splitlines()] == ["3", "5", "7", "9", "11"]
    assert len(rows(p.stdout)) == 5
    points.write_text("r,phi,theta\n" + "bad,1,1\n" * 1000)
    p = transform("--in", points)
    assert p.returncode == 65 and len(p.stderr.splitlines()) == 21 and "the remaining rows are not read" in p.stderr


def test_matrix_formats(tmp_path):
    written = [json.dumps(MATRIX), "matrix:\n" + "".join(f"  - {row}\n" for row in MATRIX),
               json.dumps({"translation": [row[3] for row in MATRIX], "matrix": [row[:3] for row in MATRIX]})]
    got = []
    for text in written:
        (tmp_path / "m.yaml").write_text(text)
        got.append(results([(10, 1, 1)], "--matrix", tmp_path / "m.yaml"))
    assert got[0] == got[1] == got[2]
    (tmp_path / "m.yaml").write_text(json.dumps({"matrix": [row[:3] for row in MATRIX]}))
    row, = results([(10, 1, 1)], "--double", "--matrix", tmp_path / "m.yaml")
    assert distance(xyz(row), ideal((10, 1, 1), [[*m[:3], 0] for m in MATRIX])) < 1e-7


@pytest.mark.parametrize("text,says", [
    ("", "1:1: no matrix; expected three rows of four numbers"),
    ("[[1, 0, 0, 0], [0, 1, 0, 0]]", "1:1: no matrix; expected three rows of four numbers"),
    ("[[1, 0, 0, 0], [0, 1, 0], [0, 0, 1, 0]]", "1:16: row 2 is no list of 4 numbers"),
    ("- [1, 0, 0, 0]\n- [0, 1, 0, 0]\n- [0, 0, one, 0]\n", "3:10: 'one'; expected a number"),
    ("[[1, 0, 0, [0]], [0, 1, 0, 0], [0, 0, 1, 0]]", "1:12: a list; expected a number"),
    ("[[1, 0, 0, .inf], [0, 1, 0, 0], [0, 0, 1, 0]]", "1:12: '.inf'; expected a number"),
    ("[[1, 0, 0, 0], [2, 0, 0, 0], [0, 0, 1, 0]]", "1:1: the matrix flattens space"),
    ("[[1, 0, 0, 4e9], [0, 1, 0, 0], [0, 0, 1, 0]]", "1:1: the matrix has an entry of 2147483648 or more"),
    ("matrx: 1", "1:1: 'matrx' is not known here"),
    ("translation: [1, 2, 3]", "1:1: no matrix; expected"),
    ("matrix: [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]\ntranslation: [1, 2, 3]", "2:14: a translation, and a matrix whose rows"),
    ("matrix: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\ntranslation: [1, 2]", "2:14: no translation; expected three numbers"),
    ("matrix: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\ntranslation: [1, 2, x]", "2:21: 'x'; expected a number"),
    ("[[1, 0", "expected"),
])
def test_invalid_matrices(tmp_path, text, says):
    (tmp_path / "m.yaml").write_text(text)
    p = transform("--in", "-", "--matrix", tmp_path / "m.yaml", stdin="x,y,z\n1,2,3\n")
    assert p.returncode == 65 and not p.stdout
    assert p.stderr.startswith(f"{tmp_path}/m.yaml:") and says in p.stderr


def test_singular_matrix_with_allow_singular(tmp_path):
    (tmp_path / "m.yaml").write_text("[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]")
    row, = results([(1, 2, 3)], "--matrix", tmp_path / "m.yaml", "--singular", header="x,y,z")
    assert xyz(row) == [1, 2, 0]


def test_input_and_output_files(tmp_path):
    points, out = tmp_path / "points.csv", tmp_path / "out.csv"
    points.write_text("x,y,z\n1,2,3\n")
    p = transform("--in", points, "--out", out)
    assert p.returncode == 0 and not p.stdout and not p.stderr
    assert out.read_text() == "from_x,from_y,from_z,x,y,z,saturated\n1,2,3,1,2,3,\n"
    assert transform("--in", points, "--out", "-").stdout == out.read_text()
    p = transform("--in", points, "--out", points)
    assert p.returncode == 64 and "are the same file" in p.stderr and points.read_text() == "x,y,z\n1,2,3\n"
    p = transform("--in", tmp_path / "none.csv")
    assert p.returncode == 66 and p.stderr == f"{tmp_path}/none.csv: cannot be opened: No such file or directory\n"
    p = transform("--in", points, "--matrix", tmp_path / "none.yaml")
    assert p.returncode == 66 and f"{tmp_path}/none.yaml" in p.stderr
    p = transform("--in", points, "--out", tmp_path / "no" / "folder.csv")
    assert p.returncode == 73 and "cannot be written" in p.stderr
    p = transform("--in", points, "--out", "/dev/full")
    assert p.returncode == 74 and "cannot be written" in p.stderr
    p = transform("--in", tmp_path)
    assert p.returncode != 0 and p.stderr


@pytest.mark.parametrize("args,says", [
    ([], "--in FILE is missing"),
    (["--in", "-", "more"], "unexpected argument 'more'"),
    (["--in", "-", "--method", "fast"], "unknown method 'fast'; expected one of vector, exact\n"),
    (["--in", "-", "--method", "kunze2021_large"], "unknown method 'kunze2021_large'; expected one of vector, exact\n"),
    (["--in", "-", "--layout", "fixed32:32"], "unknown layout 'fixed32:32'; expected kunze2021, fixed32:FRACTION, float32 or"),
    (["--in", "-", "--layout", "kunze2021", "--double"], "--layout or --double is given twice"),
    (["--in", "-", "--json"], "--json and --limit are for --report"),
    (["--in", "-", "--report", "--limit", "-1"], "--limit is '-1'; expected micrometres"),
    (["--in", "-", "--report", "--limit", "10um"], "--limit is '10um'; expected micrometres"),
    (["--in", "-", "--report", "--out", "-"], "--report and --out - are both for standard output"),
])
def test_invalid_command_lines(args, says):
    p = transform(*args, stdin="x,y,z\n1,2,3\n")
    assert p.returncode == 64 and says in p.stderr and not p.stdout


def test_the_report_is_the_errors_of_the_results(matrix):
    """Each method's figures are computed again from what --method writes."""
    # the last one is parallel to the matrix's first row: x is 63.5 + 1.5
    points = [*random_points(200, 5), (63.5, math.atan2(0.48, 0.36), math.acos(-0.8))]
    text = table(points)
    p = transform("--in", "-", "--matrix", matrix, "--report", "--json", "--limit", "3", stdin=text)
    assert p.returncode == 0
    report = json.loads(p.stdout)
    assert (report["points"], report["layout"], report["matrix"], report["cartesian"], report["limit_um"]) == (
        201, "kunze2021", True, False, 3)
    assert [m["method"] for m in report["methods"]] == METHODS
    for m in report["methods"]:
        errors = {"error": [], "error_of_method": []}
        beyond = {"error": 0, "error_of_method": 0}
        saturated = 0
        for point, row in zip(points, results(points, "--matrix", matrix, "--method", m["method"])):
            if row["saturated"]:
                saturated += 1
                continue
            for kind, start in (("error", point), ("error_of_method", [as_sent(c) for c in point])):
                want = ideal(start, MATRIX)
                errors[kind].append(distance(xyz(row), want))
                beyond[kind] += any(abs(a - b) > 3e-6 for a, b in zip(xyz(row), want))
        assert m["saturated"] == saturated == 1
        for kind, e in errors.items():
            assert m[kind]["mean_um"] == pytest.approx(sum(e) / len(e), abs=1e-6)
            assert m[kind]["worst_um"] == pytest.approx(max(e), abs=1e-6)
            assert m[kind]["beyond"] == beyond[kind]
            assert m[kind]["beyond_share"] == pytest.approx(beyond[kind] / len(e))
    share = {m["method"]: m["error"]["beyond_share"] for m in report["methods"]}
    assert share == {"vector": 0, "exact": 0}


def test_the_report_as_a_table(tmp_path, matrix):
    text = table(random_points(50, 6))
    p = transform("--in", "-", "--matrix", matrix, "--report", "--out", tmp_path / "out.csv", stdin=text)
    assert p.returncode == 0 and not p.stderr
    lines = p.stdout.splitlines()
    assert lines[0] == "points: 50 (spherical), layout: kunze2021, matrix: yes"
    assert lines[1].split()[:3] == ["method", "mean", "um"]
    assert [line.split()[0] for line in lines[2:4]] == METHODS
    assert "more than 10 um along an axis" in p.stdout
    assert (tmp_path / "out.csv").read_text() == transform("--in", "-", "--matrix", matrix, stdin=text).stdout


def test_report_of_readings_out_of_range():
    p = transform("--in", "-", "--double", "--report", "--json", stdin="r,phi,theta\n1e300,-1,2\n1,-1,2\n")
    assert p.returncode == 0
    vector = json.loads(p.stdout)["methods"][0]
    assert vector["saturated"] == 0 and vector["error"] == vector["error_of_method"]


def test_header_only():
    p = transform("--in", "-", stdin="r,phi,theta")
    assert (p.returncode, p.stdout) == (0, "r,phi,theta,x,y,z,saturated\n")
    p = transform("--in", "-", "--report", "--json", stdin="r,phi,theta")
    assert json.loads(p.stdout)["points"] == 0
