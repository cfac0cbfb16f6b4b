"""An exercise loads whole, or says which file and field is wrong and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
import toy

from judge.exercise_toml import ExerciseError
from judge.exercises import find, load_exercise, load_exercises


def test_a_whole_exercise(make_toy):
    exercise = make_toy()
    assert (exercise.key, exercise.name, exercise.kind) == ("160_double_all", "double_all", "function")
    assert exercise.title == {"zh": "全部加倍", "en": "Double everything"}
    assert exercise.limits.cpu_s == 1.0 and exercise.limits.memory_mb == 256
    assert [rule.number for rule in exercise.rules] == [1, 2]
    assert exercise.statement("zh").startswith("# 全部加倍")
    assert [group.name for group in exercise.hidden.groups] == ["some", "negative"]


def test_found_by_number_by_slug_and_by_both(tmp_path):
    toy.write(tmp_path)
    assert load_exercises(tmp_path).keys() == {160}
    for name in ("160", "double_all", "160_double_all"):
        assert find(name, tmp_path).id == 160
    for name in ("161", "double", "160_double", "", "161_double_all"):
        with pytest.raises(KeyError):
            find(name, tmp_path)


BROKEN_TOML = {
    "id": ("id = 160", "id = 16"),
    "id missing": ("id = 160\n", ""),
    "slug": ('"double_all"\nchapter', '"Double-all"\nchapter'),
    "slug other": ('"double_all"\nchapter', '"double_none"\nchapter'),
    "chapter": ("00_tiny_engine", "01_core"),
    "level": ('"easy"', '"simple"'),
    "points": ("points = 5", "points = 0"),
    "points text": ("points = 5", 'points = "5"'),
    "form": ('"write"', '"read"'),
    "place": ('place = "none"', 'place = "somewhere"'),
    "target": ('target = "double_all"', 'target = "minisgl.core:Req.x"'),
    "target form": ('target = "double_all"', 'target = "double all"'),
    "browser": ('browser = "all"', 'browser = "some"'),
    "title.zh": ('zh = "全部加倍"\n', ""),
    "limits.cpu_s": ("cpu_s = 1", "cpu_s = 0"),
    "limits.cpus": ("cpu_s = 1", "cpus = 1"),
    "rules[2].number": ("number = 2", "number = 3"),
    "rules[1].en": ('en = "Each number is doubled."\n', 'en = " "\n'),
    "hints[1].en": ('en = "One comprehension will do."\n', ""),
    "colour": ("points = 5", 'points = 5\ncolour = "red"'),
}


@pytest.mark.parametrize("name", BROKEN_TOML)
def test_a_wrong_field_is_named_with_its_file(tmp_path, name):
    before, after = BROKEN_TOML[name]
    assert before in toy.TOML
    folder = toy.write(tmp_path, toml=toy.TOML.replace(before, after))
    with pytest.raises(ExerciseError) as error:
        load_exercise(folder, tmp_path)
    assert f"160_double_all/exercise.toml: `{name.partition(' ')[0]}`" in str(error.value)
    assert str(error.value).count(". ") >= 1, "it says what to do, too"


def test_rules_are_needed(tmp_path):
    toml = toy.TOML.partition("[[rules]]")[0]
    folder = toy.write(tmp_path, toml=toml)
    with pytest.raises(ExerciseError, match="`rules` is missing"):
        load_exercise(folder, tmp_path)


def test_toml_that_does_not_parse(tmp_path):
    folder = toy.write(tmp_path, toml="id = ")
    with pytest.raises(ExerciseError, match="is not TOML"):
        load_exercise(folder, tmp_path)


@pytest.mark.parametrize("file", ["exercise.toml", "zh.md", "en.md", "samples.py"])
@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"])
def test_a_file_that_is_missing_empty_or_not_utf8(tmp_path, file, content):
    folder = toy.write(tmp_path)
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_bytes(content)
    problem = {None: "is missing", b"": "is empty", b"\xff\xfe": "is not UTF-8"}[content]
    with pytest.raises(ExerciseError, match=f"{file} {problem}"):
        load_exercise(folder, tmp_path)


@pytest.mark.parametrize(
    ("samples", "problem"),
    [
        ("def test_x(target:\n", "does not parse"),
        ("def helper(target): pass\n", "has no sample"),
        ("def test_x(): pass\n", "does not take one argument"),
    ],
)
def test_samples_are_looked_at(tmp_path, samples, problem):
    folder = toy.write(tmp_path, samples=samples)
    with pytest.raises(ExerciseError, match=problem):
        load_exercise(folder, tmp_path)


@pytest.mark.parametrize(
    ("own_run", "problem"),
    [
        ("def own_run(target:\n", "line 1 does not parse"),
        ("OWN = 1\n", "does not define own_run"),
        ("def own_run(pool): pass\n", "does not define own_run"),
        ("def own_run(target, trace, more): pass\n", "does not define own_run"),
    ],
)
def test_an_own_run_is_looked_at(tmp_path, own_run, problem):
    folder = toy.write(tmp_path)
    (folder / "own_run.py").write_text(own_run)
    with pytest.raises(ExerciseError, match=f"own_run.py:? {problem}"):
        load_exercise(folder, tmp_path)


def test_an_own_run_is_for_what_the_engine_does_not_call(tmp_path):
    folder = toy.write(tmp_path)
    assert load_exercise(folder, tmp_path).own_run is None
    (folder / "own_run.py").write_text("def own_run(target): pass\n")
    assert load_exercise(folder, tmp_path).own_run == "def own_run(target): pass\n"
    toml = folder / "exercise.toml"
    toml.write_text(toml.read_text("utf-8").replace('place = "none"', 'place = "adapter"'), "utf-8")
    with pytest.raises(ExerciseError, match=r"own_run\.py does not fit place = 'adapter'"):
        load_exercise(folder, tmp_path)


@pytest.mark.parametrize("name", ["GROUPS", "cases", "drive", "MUTANTS"])
def test_a_name_missing_in_the_hidden_module(make_toy, name):
    exercise = make_toy(hidden=toy.HIDDEN + f"\ndel {name}\n")
    with pytest.raises(ExerciseError, match=f"`{name}` is missing"):
        _ = exercise.hidden


def test_a_hidden_module_that_is_missing_or_does_not_load(make_toy):
    exercise = make_toy(hidden="import no_such_module\n")
    with pytest.raises(ExerciseError, match="does not load: ModuleNotFoundError"):
        _ = exercise.hidden
    exercise.hidden_path.unlink()
    with pytest.raises(ExerciseError, match=r"160_double_all\.py is missing"):
        _ = exercise.hidden


def test_letters_and_groups_are_distinct(make_toy):
    exercise = make_toy(hidden=toy.HIDDEN.replace('Mutant("b"', 'Mutant("a"'))
    with pytest.raises(ExerciseError, match="`MUTANTS` uses a letter twice"):
        _ = exercise.hidden


def test_cases_and_groups_fit_together(make_toy):
    exercise = make_toy(hidden=toy.HIDDEN.replace('Case("negative"', 'Case("other"'))
    with pytest.raises(ExerciseError, match="uses group 'other'"):
        exercise.hidden.cases("seed")


def test_a_group_without_a_case(make_toy):
    exercise = make_toy(hidden=toy.HIDDEN.replace("for size in (1, 2, 5):", "for size in ():"))
    with pytest.raises(ExerciseError, match="has 'some' without a case"):
        exercise.hidden.cases("seed")


def test_the_seed_decides_the_cases(make_toy):
    hidden = make_toy().hidden
    assert hidden.cases("one") == hidden.cases("one")
    assert hidden.cases("one") != hidden.cases("two")


def test_the_exercises_of_the_course_load():
    exercises = load_exercises()
    assert {176, 188, 192, 193, 196} <= exercises.keys()
    for exercise in exercises.values():
        assert exercise.hidden.cases("seed")
        assert isinstance(exercise.solution_path, Path) and exercise.solution
