"""The whole path on a CPU in seconds: tokenizer, data, training, export."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from minisgl.models.weight import load_weights
from tools.train_tiny import data, mix
from tools.train_tiny.evaluate import ask, difference, load, samples
from tools.train_tiny.mix import SOURCES, written
from tools.train_tiny.net import Net, Shape
from tools.train_tiny.tokenizer import END, SPECIAL, sample, train
from tools.train_tiny.train import Options, batches, fit, rate, run

SHAPE = Shape(vocab=400, hidden=32, layers=2, heads=2, kv_heads=1, head_dim=16, ffn=64, max_len=128)
OPTIONS = Options(tokens=24_000, batch_tokens=512, short=32, long=64, warmup=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained toy: its tokenizer, its data and the exported model in ``model``."""
    path = tmp_path_factory.mktemp("tiny")
    texts = [text for s in SOURCES if s.write for text in written(s.name, "test", 20)]
    train(texts, SHAPE.vocab).save(str(path / "tokenizer.json"))
    data.build(path, tokens=20_000, workers=1, held_out=4)
    return path


@pytest.fixture(scope="module")
def report(folder: Path):
    return run(folder, folder / "model", SHAPE, OPTIONS)


def test_the_tokenizer_has_the_size_and_the_special_tokens_last(folder: Path):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.get_vocab_size() == SHAPE.vocab
    assert [tokenizer.token_to_id(token) for token in SPECIAL] == [397, 398, 399]
    for text in ("KV 缓存是什么？", "1 + 1 = 2\n", "def f(x):\n    return x", "emoji 🙂, é"):
        assert tokenizer.decode(tokenizer.encode(text).ids) == text
    assert max(len(token) for token in tokenizer.get_vocab() if token not in SPECIAL) <= 12


def test_a_sentence_is_not_sampled_without_end(tmp_path: Path):
    sentences = sample(tmp_path, count=300, most=5)
    assert max(sentences.count(s) for s in set(sentences)) == 5


def test_the_pool_holds_the_documents_whole(folder: Path):
    pool = np.fromfile(folder / "pool.bin", dtype=np.uint16)
    starts = np.load(folder / "starts.npy")
    end = Tokenizer.from_file(str(folder / "tokenizer.json")).token_to_id(END)
    assert 10_000 < len(pool) < 40_000
    assert starts[0] == 0 and (pool[starts[1:] - 1] == end).all() and pool[-1] == end
    assert (pool == end).sum() == len(starts)


def test_a_cut_changes_the_tokens_but_not_the_text(folder: Path):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    texts = written("tale-en", "cut", 200)
    whole, cut = data.encode(texts, tokenizer), data.encode_cut(texts, tokenizer, data.Random(0))
    assert (whole.lengths != cut.lengths).sum() > 10
    assert tokenizer.decode(list(map(int, cut.tokens)), skip_special_tokens=False) == tokenizer.decode(
        list(map(int, whole.tokens)), skip_special_tokens=False
    )


def test_fetched_texts_are_repeated_to_their_share(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    monkeypatch.setattr(data, "SOURCES", [mix.Source("poetry", 1.0)])
    monkeypatch.setattr(data, "fetched", lambda name, at: [f"poem {i}" for i in range(100)])
    data.build(tmp_path, tokens=5000, workers=1)
    shown = capsys.readouterr().out
    assert len(np.fromfile(tmp_path / "pool.bin", dtype=np.uint16)) == pytest.approx(5000, rel=0.05)
    assert "epochs" in shown


def test_rows_begin_where_documents_begin():
    pool, starts = torch.arange(2000, dtype=torch.int32), torch.tensor([0, 100, 700, 1990])
    for _, rows in zip(range(10), batches(pool, starts, OPTIONS), strict=False):
        assert set(rows[:, 0].tolist()) <= {0, 100, 700}
        assert rows.shape[1] - 1 in (32, 64) and (rows.shape[1] - 1) * rows.shape[0] == 512


def test_the_rate_warms_up_stays_and_falls():
    options = Options(tokens=1, warmup=4, decay=0.5)
    assert [rate(0.0, step, options) for step in range(5)] == [0.25, 0.5, 0.75, 1.0, 1.0]
    assert [rate(p, 100, options) for p in (0.5, 0.75, 1.0)] == [1.0, 0.5, 0.0]


def test_the_loss_falls(report):
    assert report.steps == 24_000 // 512 + 1
    assert report.curve[0][1] > 5.8  # log(400) is 5.99
    assert report.losses["mean"] < 4.8
    assert set(report.losses) == {s.name for s in SOURCES if s.write} | {"mean"}


def test_more_training_starts_from_the_exported_weights(folder: Path, report, tmp_path: Path):
    again = run(folder, tmp_path / "model", SHAPE, OPTIONS, start=folder / "model")
    assert again.curve[0][1] < report.curve[0][1] - 1
    assert again.losses["mean"] < report.losses["mean"]


def test_the_exported_folder_is_transformers_qwen3_and_loads_in_the_engine(folder: Path, report):
    net, tokenizer = load(folder / "model")
    assert difference(folder / "model", net, tokenizer) < 1e-5
    ours = dict(load_weights(folder / "model", torch.device("cpu"), torch.float32))
    assert sum(w.numel() for w in ours.values()) == sum(w.numel() for w in net.parameters())


def test_time_ends_a_run_that_is_too_slow():
    net = Net(SHAPE)
    pool = torch.zeros(200, dtype=torch.int32)
    options = Options(tokens=1e12, seconds=1e-9, batch_tokens=64, short=32, long=64)
    report = fit(net, pool, torch.tensor([0]), {"x": pool}, options)
    assert report.steps == 0


def test_samples_ask_chat_prompts_in_the_template():
    seen: list[str] = []
    shown = samples(lambda prompts, limit: seen.extend(prompts) or ["x"] * len(prompts))
    assert [s["kind"] for s in shown].count("chat") == 20 and len(shown) == 40
    assert [s["lang"] for s in shown].count("zh") == 20
    assert ask("你是谁？") in seen and "法国的首都是" in seen
