"""Which control groups are used, and what is read from them, for both versions."""

import pytest

from judge.sandbox import cgroup


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A host whose control groups are folders of ours: mounts by name, own path by controller."""
    mounts, own = {}, {}
    monkeypatch.setattr(cgroup, "_mounts", lambda: mounts)
    monkeypatch.setattr(cgroup, "_own_paths", lambda: own)

    def mount(name, own_path, **controls):
        root = tmp_path / name
        mounts[name] = root
        own["" if name == "cgroup2" else name] = own_path
        for folder, enabled in {"/": "", own_path: "", **controls}.items():
            path = root / folder.lstrip("/")
            path.mkdir(parents=True, exist_ok=True)
            (path / "cgroup.subtree_control").write_text(enabled)
        return root

    return mount


def test_version_1_groups_are_made_below_our_own(host):
    memory, pids = host("memory", "/docker/abc"), host("pids", "/")
    assert cgroup._places() == [(1, memory / "docker/abc", pids)]


def test_version_1_falls_back_on_the_root_where_our_path_is_not_visible(host):
    memory, pids = host("memory", "/"), host("pids", "/")
    cgroup._own_paths()["memory"] = "/not/mounted/here"
    assert cgroup._places() == [(1, memory, pids)]


def test_version_2_wants_both_controllers(host, monkeypatch):
    monkeypatch.setattr(cgroup, "_try_to_enable", lambda control: None)
    root = host("cgroup2", "/user/scope", **{"/user": "memory pids cpu"})
    assert cgroup._places() == [(2, root / "user", root / "user")]


def test_version_2_comes_before_version_1(host, monkeypatch):
    monkeypatch.setattr(cgroup, "_try_to_enable", lambda control: None)
    host("memory", "/"), host("pids", "/")
    root = host("cgroup2", "/", **{"/": "memory pids"})
    assert [place[0] for place in cgroup._places()] == [2, 1]
    assert cgroup._places()[0][1] == root


def test_version_2_without_controllers_is_no_place(host, monkeypatch):
    """Some hosts mount version 2 beside version 1, with no controller for us in it."""
    monkeypatch.setattr(cgroup, "_try_to_enable", lambda control: None)
    host("cgroup2", "/", **{"/": "hugetlb"})
    assert cgroup._places() == []


def test_controllers_that_may_be_enabled_are(host):
    root = host("cgroup2", "/")
    assert cgroup._places() == []  # what is written does not appear in our imitation
    assert (root / "cgroup.subtree_control").read_text() == "+memory +pids"


@pytest.mark.parametrize("killed", [0, 3])
def test_facts_of_both_versions(tmp_path, killed):
    group = cgroup.Group.__new__(cgroup.Group)
    group._memory = group._pids = tmp_path
    (tmp_path / "memory.peak").write_text(f"{7 << 20}\n")
    (tmp_path / "memory.events").write_text(f"low 0\nmax 5\noom 9\noom_kill {killed}\noom_group_kill 0\n")
    (tmp_path / "memory.max_usage_in_bytes").write_text(f"{8 << 20}\n")
    (tmp_path / "memory.oom_control").write_text(f"oom_kill_disable 0\nunder_oom 0\noom_kill {killed}\n")
    for version, peak in ((1, 8.0), (2, 7.0)):
        group._version = version
        assert group.facts() == cgroup.Facts(peak, bool(killed))


def test_without_any_there_are_no_groups(monkeypatch):
    monkeypatch.setattr(cgroup, "_mounts", dict)
    assert cgroup.find() is None


def test_a_place_that_may_not_be_used_is_passed_over(monkeypatch, tmp_path):
    monkeypatch.setattr(cgroup, "_places", lambda: [(1, tmp_path / "no", tmp_path / "no")])
    assert cgroup.find() is None
