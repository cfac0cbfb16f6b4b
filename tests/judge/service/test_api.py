"""The routes over a real socket."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jsonschema
import pytest

ERRORS = {"zh", "en"}


def refused(answer: Any, status: int, code: str) -> dict[str, str]:
    """Check that `answer` is such a refusal, and return its words."""
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert error["code"] == code
    assert set(error["message"]) == ERRORS and all(error["message"].values())
    assert "Traceback" not in answer.text
    return dict(error["message"])


def test_a_submission_is_judged_and_kept(service: Any) -> None:
    made = service.submit("pass")
    assert made.status_code == 201
    body = made.json()
    assert (body["exercise"], body["slug"], body["status"], body["result"]) == (176, "double", "queued", None)
    assert made.headers["location"] == f"/api/v1/submissions/{body['id']}"

    done = service.result(body["id"])
    assert (done["status"], done["verdict"], done["score"], done["attempt"]) == ("done", "AC", 1.0, 1)
    assert done["code"] == "pass"
    result = done["result"]
    assert (result["exercise"], result["slug"], result["verdict"]) == (176, "double", "AC")
    assert result["engine"]["texts"][0]["text"] == " holds tokens."
    assert "trace" not in result

    traced = service.client.get(f"/api/v1/submissions/{body['id']}?trace=true").json()
    assert traced["result"]["trace"] == [{"v": 1, "seq": 0, "type": "queued"}]


def test_exercise_by_number_and_by_name(service: Any) -> None:
    for name in (176, "176", "double", "176_double"):
        assert service.submit("pass", exercise=name).json()["exercise"] == 176


def test_unknown_exercises_are_404(idle: Any) -> None:
    for name in (999, -1, 10**30, "nothing", "１７６", "", "../176", "\u0000"):
        refused(idle.submit("pass", exercise=name), 404, "no_exercise")
    refused(idle.client.get("/api/v1/exercises/999"), 404, "no_exercise")
    refused(idle.client.get("/api/v1/exercises/999/solution"), 404, "no_exercise")


def test_list_is_newest_first_and_pages(service: Any) -> None:
    ids = [service.submit("wrong").json()["id"] for _ in range(5)]
    service.submit("pass", samples_only=True)
    service.submit("pass", exercise=192)
    for one in ids:
        service.result(one)
    first = service.client.get("/api/v1/submissions?mine&exercise=176&limit=3").json()
    assert [one["id"] for one in first["submissions"]] == ids[:1:-1]
    assert all("code" not in one and "result" not in one for one in first["submissions"])
    rest = service.client.get(f"/api/v1/submissions?mine&exercise=176&limit=3&before={first['next']}").json()
    assert ([one["id"] for one in rest["submissions"]], rest["next"]) == (ids[1::-1], None)


def test_samples_are_not_counted(service: Any) -> None:
    made = service.submit("pass", samples_only=True).json()
    assert service.result(made["id"])["result"]["samples"][0]["ok"] is True
    assert service.client.get("/api/v1/submissions?mine").json()["submissions"] == []
    assert service.client.get("/api/v1/exercises/176").json()["state"] == "untouched"
    refused(service.client.get("/api/v1/exercises/176/solution"), 403, "not_passed")


def test_exercises_show_state_statement_and_starter(service: Any) -> None:
    listed = service.client.get("/api/v1/exercises").json()["exercises"]
    assert [(one["id"], one["state"]) for one in listed] == [(176, "untouched"), (192, "untouched")]

    zh = service.client.get("/api/v1/exercises/176?lang=zh").json()
    en = service.client.get("/api/v1/exercises/176", headers={"accept-language": "en-GB,zh;q=0.5"}).json()
    assert (zh["lang"], en["lang"]) == ("zh", "en")
    assert "乘以二" in zh["starter"] and "multiply by two" in en["starter"]
    assert "return 2 * x" not in zh["starter"]
    assert zh["rules"] == [{"number": 1, "zh": "结果是 `x` 的两倍。", "en": "The result is twice `x`."}]
    assert len(zh["hints"]) == 2 and "def test_two" in zh["samples"]
    assert zh["limits"] == {"cpu_s": 2.0, "memory_mb": 256, "source_kb": 64}


def test_statement_is_sanitised(idle: Any) -> None:
    html = idle.client.get("/api/v1/exercises/176?lang=en").json()["statement_html"]
    assert "<script" not in html and 'href="javascript' not in html
    assert "&lt;script&gt;" in html and "<code>code</code>" in html and "<table>" in html


def test_solution_only_after_a_pass(service: Any) -> None:
    service.result(service.submit("wrong").json()["id"])
    words = refused(service.client.get("/api/v1/exercises/double/solution"), 403, "not_passed")
    assert "176" in words["zh"] and "176" in words["en"]
    assert service.client.get("/api/v1/exercises/176").json()["state"] == "tried"

    service.result(service.submit("pass").json()["id"])
    answer = service.client.get("/api/v1/exercises/double/solution")
    assert "return 2 * x" in answer.json()["code"]
    assert service.client.get("/api/v1/exercises/176").json()["state"] == "accepted"
    refused(service.client.get("/api/v1/exercises/192/solution"), 403, "not_passed")


def test_a_submission_of_another_learner_is_not_there(idle: Any) -> None:
    store = idle.store
    with store._writing.begin() as session:  # there is no way to make a second learner yet
        from judge.service.models import User

        other = User(name="other", role="learner", created_at=0.0)
        session.add(other)
        session.flush()
        other_id = other.id
    view, _ = store.submit(other_id, 176, "double", b"secret", samples_only=False, key="k")
    refused(idle.client.get(f"/api/v1/submissions/{view.id}"), 404, "no_submission")
    refused(idle.client.get(f"/api/v1/submissions/{view.id}/events"), 404, "no_submission")
    assert idle.client.get("/api/v1/submissions?mine").json()["submissions"] == []
    assert idle.submit("pass", key="k").json()["id"] != view.id, "keys are each learner's own"


def test_two_at_once_get_one_result_each(service: Any) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda order: service.submit(order).json(), ["pass", "wrong"] * 3))
    assert len({one["id"] for one in made}) == 6
    for one in made:
        done = service.result(one["id"])
        assert done["verdict"] == {"pass": "AC", "wrong": "WA"}[done["code"]]
        events = [event for event in service.events(one["id"]) if event["event"] == "verdict"]
        assert len(events) == 1


def test_the_same_key_is_the_same_submission(service: Any) -> None:
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: service.submit("pass", key="abc-1"), range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len(service.client.get("/api/v1/submissions?mine").json()["submissions"]) == 1


def test_too_many_within_a_minute(make_service: Any, settings: Any) -> None:
    service = make_service(dataclasses.replace(settings, per_minute=3))
    service.start_worker()
    for _ in range(3):
        service.result(service.submit("pass").json()["id"])
    answer = service.submit("pass")
    words = refused(answer, 429, "too_often")
    wait = answer.headers["retry-after"]
    assert 1 <= int(wait) <= 60
    assert words["zh"] == f"一分钟内提交了 3 次。{wait} 秒后可以再交；样例不受限制。"
    assert service.submit("pass", samples_only=True).status_code == 201


def test_share_of_the_queue(make_service: Any, settings: Any) -> None:
    service = make_service(dataclasses.replace(settings, unfinished=2))
    ids = [service.submit("pass").json()["id"] for _ in range(2)]
    refused(service.submit("pass"), 429, "queue_share")
    service.start_worker()
    for one in ids:
        service.result(one)
    assert service.submit("pass").status_code == 201


def test_openapi_document_is_whole(idle: Any) -> None:
    document = idle.client.get("/api/v1/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) == {
        "/api/v1/submissions",
        "/api/v1/submissions/{submission_id}",
        "/api/v1/submissions/{submission_id}/events",
        "/api/v1/exercises",
        "/api/v1/exercises/{name}",
        "/api/v1/exercises/{name}/solution",
    }
    known = set(document["components"]["schemas"])
    references: list[str] = []

    def collect(node: Any) -> None:
        if isinstance(node, dict):
            references.extend([node["$ref"]] if "$ref" in node else [])
            for value in node.values():
                collect(value)
        elif isinstance(node, list):
            for value in node:
                collect(value)

    collect(document["paths"])
    assert references and {one.removeprefix("#/components/schemas/") for one in references} <= known
    for path in document["paths"].values():
        for operation in path.values():
            assert operation["responses"] and operation["operationId"] and operation["description"]


@pytest.mark.parametrize("schema", ["SubmissionOut", "ExerciseOut"])
def test_answers_fit_the_document(service: Any, schema: str) -> None:
    document = service.client.get("/api/v1/openapi.json").json()
    made = service.submit("pass").json()
    service.result(made["id"])
    path = f"submissions/{made['id']}" if schema == "SubmissionOut" else "exercises/176?lang=en"
    answer = service.client.get(f"/api/v1/{path}").json()
    jsonschema.validate(answer, {"$ref": f"#/components/schemas/{schema}", **document})


def test_health(service: Any, make_service: Any, settings: Any, tmp_path: Any) -> None:
    assert service.client.get("/healthz").json() == {"ok": True}
    ready = service.client.get("/readyz")
    assert (ready.status_code, ready.json()["isolation"]) == (200, "namespaces")
    service.result(service.submit("pass").json()["id"])
    metrics = service.client.get("/metrics").text
    assert 'judge_verdicts{verdict="AC"} 1' in metrics and 'judge_runs{status="done"} 1' in metrics

    alone = make_service(dataclasses.replace(settings, var=tmp_path / "var2"))
    assert (alone.client.get("/healthz").status_code, alone.client.get("/readyz").status_code) == (200, 503)
