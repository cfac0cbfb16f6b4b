"""Attacks on what is secret: expected values, other learners' code, the reference, the judge's environment."""

import ast
import inspect
import os
import secrets
import textwrap

import pytest
from arena import HONEST, Limits, body

SLOW = Limits(cpu_s=20, memory_mb=512, wall_s=60)

SCAN = '''
import ctypes, gc, os, sys, torch

def prefix_sum(x):
    """Look for a needle in every object the collector knows, and in all mapped memory near objects."""
    needle = bytes(a ^ 255 for a in MASKED)  # put together here, so that our own source does not hold it
    found = objects = pages = 0
    gc.unfreeze()
    known = gc.get_objects()
    near = {id(o) >> 21 for o in known} | {id(r) >> 21 for o in known for r in gc.get_referents(o)}
    seen = set()
    for o in known:
        for r in gc.get_referents(o):
            if type(r) in (str, bytes, bytearray) and id(r) not in seen:
                seen.add(id(r))
                objects += 1
                data = r.encode("utf-8", "replace") if type(r) is str else r
                found += needle in data
    reader, writer = os.pipe()
    libc = ctypes.CDLL(None)
    libc.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
    own = {id(needle) >> 12, (id(needle) + 256) >> 12}  # reading these would copy the needle about
    for window in sorted({w + d for w in near for d in (-1, 0, 1)}):
        for page in set(range(window << 9, (window + 1) << 9)) - own:
            if libc.write(writer, page << 12, 4096) == 4096:  # fails where nothing is mapped
                pages += 1
                found += needle in os.read(reader, 4096)
    os.write(1, f"{found} {objects} {pages}".encode())
    os._exit(0)
'''


def scan(arena, needle, prelude=""):
    """How often a box finds ``needle`` in its own memory, having looked at much of it."""
    masked = bytes(byte ^ 255 for byte in needle)
    source = f"{prelude}\nMASKED = {masked!r}\n{SCAN}"
    shot = arena.fire(source, limits=SLOW)
    assert shot.verdict == "RE" and shot.detail["reason"] == "exit", shot
    found, objects, pages = map(int, shot.stdout.split())
    assert objects > 10_000 and pages > 10_000
    return found


def test_24_frames_hold_no_expected_values(fire):
    attack = """
frame, names, values = sys._getframe(), set(), []
while frame:
    names |= set(frame.f_locals) | set(frame.f_globals)
    values += [v for v in frame.f_locals.values() if isinstance(v, torch.Tensor)]
    frame = frame.f_back
due = torch.cumsum(x, 0)
hits = [o for o in gc.get_objects() if isinstance(o, torch.Tensor) and o is not due and o.shape == x.shape and (o == due).all()]
hits += [v for v in values if v.shape == x.shape and (v == due).all()]
words = sorted(n for n in names if any(w in n.lower() for w in ("expect", "answer", "reference", "check", "hidden", "zygote", "secret", "seed")))
os.write(1, repr((len(hits), words)).encode())
os._exit(0)"""
    shot = fire(body(attack), "RE")
    assert shot.stdout.startswith("(0, ['seed_all'])"), shot.stdout


def test_24_the_forking_process_left_no_frame(fire):
    attack = """
frame, code = sys._getframe(), []
while frame:
    code.append(frame.f_code.co_filename.rpartition('/')[2] + ':' + frame.f_code.co_name)
    frame = frame.f_back
os.write(1, ' '.join(code).encode())
os._exit(0)"""
    shot = fire(body(attack), "RE")
    assert shot.stdout.split()[-3:] == ["zygote.py:become_box", "zygote.py:enter", "<string>:<module>"]
    assert "serve" not in " ".join(shot.stdout.split()[-3:])


def test_26_another_learners_marker(arena):
    marker = ("mark" + secrets.token_hex(12)).encode()
    first = b"MARKER = " + repr(marker).encode() + b"\nopen('/box/keep', 'wb').write(MARKER * 100)\n" + HONEST
    assert arena.fire(first).verdict == "AC"
    assert scan(arena, marker) == 0
    assert scan(arena, marker, prelude=f"KEEP = {{'a': {marker!r} * 30}}") > 0  # the positive control
    arena.check()


def test_45_environment(fire, monkeypatch):
    attack = """
lines = [f"{k}={v}" for k, v in os.environ.items()] + sys.argv + sys.path + [os.getcwd(), sys.executable]
libc = ctypes.CDLL(None)
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
n = 0
while environ and environ[n]: lines.append(environ[n].decode()); n += 1
os.write(1, "\\n".join(lines).encode())
os._exit(0)"""
    shot = fire(body(attack), "RE")
    names = {line.partition("=")[0] for line in shot.stdout.splitlines() if "=" in line}
    assert names <= {"HOME", "TMPDIR", "PATH", "LANG", "OMP_NUM_THREADS", "LC_CTYPE"}
    assert os.environ.get("HOSTNAME", "no host name") not in shot.stdout


def test_45_an_environment_variable_of_the_judge(monkeypatch, tmp_path):
    """A key in the judge's environment is in no memory of a box."""
    from arena import Arena

    secret = secrets.token_hex(16)
    monkeypatch.setenv("JUDGE_SERVER_KEY", secret)
    arena = Arena(tmp_path)
    try:
        assert scan(arena, secret.encode()) == 0
    finally:
        arena.pool.close()


@pytest.mark.parametrize(
    "name", ["torch.py", "sitecustomize.py", "usercustomize.py", "x.pth", "conftest.py", "json.py"]
)
def test_50_shadowing_modules(fire, name):
    attack = f"""
with open('/box/{name}', 'w') as file: file.write('raise ImportError')
import importlib
importlib.invalidate_caches()
sys.path.insert(0, '/box')
return torch.zeros_like(x)"""
    fire(body(attack), "WA")


def test_51_nothing_persists(arena):
    first = body("""
open('/box/note', 'w').write('1')
sys.modules['note'] = sys
import builtins, random, tempfile
builtins.note = 1
torch.note = 1
os.environ['NOTE'] = '1'
random.seed(1); torch.manual_seed(1); tempfile.tempdir = '/box/note'
return torch.cumsum(x, 0)""")
    second = body("""
import builtins, random, tempfile
assert os.listdir('/box') == [] and 'note' not in sys.modules and not hasattr(builtins, 'note')
assert not hasattr(torch, 'note') and 'NOTE' not in os.environ and tempfile.gettempdir() == '/box'
return torch.cumsum(x, 0)""")
    assert arena.fire(first).verdict == "AC"
    shot = arena.fire(second)
    assert shot.verdict == "AC", shot
    arena.check()


def test_51_random_state_is_the_same_for_everyone(arena):
    attack = body("""
import numpy, random
os.write(1, f"{random.random()} {numpy.random.rand()} {torch.rand(1).item()}".encode())
os._exit(0)""")
    first, second = arena.fire(attack).stdout, arena.fire(attack).stdout
    assert first == second and first


def test_53_the_file_system_holds_nothing_of_the_project(fire):
    attack = """
import sysconfig
hits, seen = [], 0
for folder, names, files in os.walk('/'):
    for name in names + files:
        seen += 1
        low = name.lower()
        if low in ('.git', 'solutions', 'hidden', 'judge', 'practice', 'chapters', 'pwned') or low.startswith('minisgl') or 'cache_req' in low:
            hits.append(os.path.join(folder, name))
os.write(1, repr((seen > 1000, hits, sorted(os.listdir('/')))).encode())
os._exit(0)"""
    shot = fire(body(attack), "RE", limits=SLOW)
    seen, hits, root = ast.literal_eval(shot.stdout)
    assert seen
    for hit in hits:
        name = hit.rpartition("/")[2]
        installed = name.startswith("minisgl_course") and "site-packages" in hit  # a .pth or a dist-info
        model = hit.startswith("/minisgl") and (hit == "/minisgl" or hit.startswith("/minisgl/assets"))
        empty = "site-packages" in hit or "dist-packages" in hit
        assert installed or model or empty, hit
    assert set(root) <= {
        "box",
        "dev",
        "old",
        "empty",
        "minisgl",
        "usr",
        "root",
        "work",
        "opt",
        "home",
        "lib",
        "lib64",
        "srv",
        "tmp",
        "var",
        *[p.split("/")[1] for p in _package_roots()],
    }


def _package_roots():
    from judge.sandbox.zygotes import _folders

    return _folders()


def test_53_hidden_where_the_project_is_installed(fire):
    """A package folder that holds the project itself shows empty folders in its place."""
    attack = """
import site, sysconfig
found = []
for entry in sys.path:
    for name in ('minisgl', 'judge', 'solutions', 'practice'):
        path = os.path.join(entry, name)
        if os.path.isdir(path): found += os.listdir(path)
os.write(1, repr(found).encode())
os._exit(0)"""
    assert fire(body(attack), "RE").stdout == "[]"


def test_53_memory_holds_no_body_of_the_target(arena):
    """A string of the target's body is nowhere; one of a neighbour's body is (so the search works)."""
    from minisgl.scheduler.cache import CacheManager

    own = _longest_line(CacheManager.cache_req)
    neighbour = _longest_line(CacheManager.allocate_paged)
    assert scan(arena, own) == 0
    assert scan(arena, neighbour) > 0
    arena.check()


def _longest_line(function):
    """The longest line of the body as ``ast.unparse`` writes it, which is how a bundle holds it."""
    definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    statements = [
        s for s in definition.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
    ]
    lines = [line.strip() for statement in statements for line in ast.unparse(statement).splitlines()]
    longest = max(lines, key=len)
    assert len(longest) > 20
    return longest.encode()


def test_53_no_code_object_of_the_target(fire):
    attack = """
import types
from minisgl.scheduler.cache import CacheManager
gc.unfreeze()
code = CacheManager.cache_req.__code__
bodies = [o for o in gc.get_objects() if type(o) is types.FunctionType and o.__name__ == 'cache_req']
import inspect
os.write(1, repr((len(bodies), list(code.co_names), inspect.getsource(CacheManager.cache_req).count(chr(10)))).encode())
os._exit(0)"""
    shot = fire(body(attack), "RE")
    assert ast.literal_eval(shot.stdout) == (1, ["NotImplementedError"], 2)


@pytest.mark.parametrize(
    "name",
    [
        "judge.hidden_module",
        "judge.harness",
        "judge.types",
        "judge.run",
        "judge.exercises",
        "solutions",
        "judge.solution",
    ],
)
def test_53_imports_of_the_judge(fire, name):
    shot = fire(body(f"import {name}\nreturn torch.cumsum(x, 0)"), "WA")
    assert shot.emitted[0][0] == {"error": "ModuleNotFoundError"}
