"""What the API takes and gives, as the OpenAPI document shows it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

Words = dict[Literal["zh", "en"], str]


class SubmissionIn(BaseModel):
    """A submission: an exercise by number or name, and the whole file."""

    model_config = ConfigDict(extra="forbid")

    exercise: StrictInt | StrictStr = Field(description="192, cache_req or 192_cache_req", examples=[192])
    code: StrictStr = Field(description="The learner's module as text")
    samples_only: StrictBool = Field(False, description="Run the public samples alone; not counted")
    key: StrictStr | None = Field(
        None,
        min_length=1,
        max_length=80,
        pattern=r"^[\w.:-]+$",
        description="The client's name for this submission; sent again, it is the same submission",
    )


class SubmissionBrief(BaseModel):
    """One entry of the list of submissions."""

    id: int
    exercise: int
    slug: str
    status: Literal["queued", "running", "done"]
    samples_only: bool
    attempt: int
    created_at: str
    finished_at: str | None
    verdict: str | None
    score: float | None


class SubmissionOut(SubmissionBrief):
    """A submission; `result` is the JSON object that the command line prints, null until it is judged."""

    code: str
    events: str = Field(description="Where its progress is streamed")
    result: dict[str, Any] | None


class SubmissionList(BaseModel):
    submissions: list[SubmissionBrief]
    next: int | None = Field(description="`before` of the next page; null at the end")


class ExerciseBrief(BaseModel):
    """One entry of the list of exercises."""

    id: int
    slug: str
    title: Words
    chapter: str
    level: Literal["easy", "medium", "hard"]
    points: int
    minutes: int
    form: Literal["write", "find_the_bug", "write_the_tests"]
    place: Literal["engine", "adapter", "none"]
    state: Literal["untouched", "tried", "accepted"]


class ExerciseOut(ExerciseBrief):
    """An exercise with all that a learner may see before a pass."""

    lang: Literal["zh", "en"]
    target: str
    members: list[str]
    browser: Literal["all", "unit", "server"]
    limits: dict[str, int | float]
    filename: str
    statement: str
    statement_html: str
    rules: list[dict[str, Any]]
    hints: list[Words]
    samples: str
    starter: str


class Judge(BaseModel):
    """What the pages say of this judge."""

    python: str = Field(description="Python that submissions run on", examples=["3.11"])
    isolation: str | None = Field(description="How workers isolate; null while none is alive")


class ExerciseList(BaseModel):
    exercises: list[ExerciseBrief]
    judge: Judge


class SolutionOut(BaseModel):
    """The reference of an exercise."""

    id: int
    slug: str
    code: str


class ErrorBody(BaseModel):
    code: str
    message: Words


class ErrorOut(BaseModel):
    """Every refusal has this shape."""

    error: ErrorBody
