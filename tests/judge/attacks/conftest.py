"""One arena for the whole suite: the next attack meets the zygote that the last one attacked."""

import pytest
from arena import QUICK, Arena


@pytest.fixture(scope="session")
def arena(tmp_path_factory):
    arena = Arena(tmp_path_factory.mktemp("host"))
    yield arena
    arena.pool.close()


@pytest.fixture
def fire(arena):
    """Judge a submission; it must not be accepted, must end in time, and must leave nothing behind."""

    def fire(source, *verdicts, accepted=False, **options):
        shot = arena.fire(source, **options)
        limits = options.get("limits", QUICK)
        assert accepted or shot.verdict != "AC", shot
        assert shot.verdict in verdicts, shot
        assert shot.seconds <= limits.wall + 1, shot
        return shot

    yield fire
    arena.check()
