"""The command line says everything that can be set, and refuses everything else by name."""

from __future__ import annotations

from dataclasses import fields

import pytest
import torch

from minisgl.distributed import DistributedInfo
from minisgl.server.args import FLAGS, ServerArgs, make_args, make_parser

ALL_FLAGS = [flag for flags in FLAGS.values() for flag in flags]


def parse(*argv: str) -> ServerArgs:
    parser = make_parser("minisgl", "Serve.")
    return make_args(parser, vars(parser.parse_args(argv)))


def test_every_setting_has_a_flag() -> None:
    assert sorted(flag.field for flag in ALL_FLAGS) == sorted(field.name for field in fields(ServerArgs))


def test_help_tells_every_flag_with_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as info:
        parse("--help")
    text = "".join(capsys.readouterr().out.split())  # lines are broken anywhere
    assert info.value.code == 0
    for flag in ALL_FLAGS:
        assert "".join(flag.help.split()) in text and flag.names[0] in text
    for field in fields(ServerArgs):  # what help calls the default is the default
        if isinstance(field.default, int | float) and not isinstance(field.default, bool):
            (flag,) = (flag for flag in ALL_FLAGS if flag.field == field.name)
            assert f"(default: {field.default:g})".replace("4.1943e+06", "4194304") in flag.help, field.name


def test_values_arrive() -> None:
    args = parse(
        *("--model", "x", "--dtype", "bfloat16", "--tp", "2", "--page-size", "4", "--cuda-graph-bs", "1,2"),
        *("--emulate-graph", "--overlap", "on", "--mixed", "--port", "0", "--shutdown-grace", "1.5"),
    )
    assert (args.model, args.dtype, args.tp_info) == ("x", torch.bfloat16, DistributedInfo(0, 2))
    assert (args.page_size, args.cuda_graph_bs, args.emulate_graph) == (4, (1, 2), True)
    assert (args.overlap, args.mixed, args.port, args.shutdown_grace) == (True, True, 0, 1.5)
    assert args.model_name == "x" and parse("--served-model-name", "y").model_name == "y"
    assert parse("--overlap", "auto") == parse()


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--port", "99999"], "port must be an integer from 0 to 65535, not 99999"),
        (["--port", "x"], "invalid int value: 'x'"),
        (["--page-size", "0"], "page_size must be an integer of at least 1, not 0"),
        (["--dtype", "int8"], "must be one of auto, float32, float16, bfloat16, not 'int8'"),
        (["--tp", "0"], "the number of ranks must be an integer of at least 1, not 0"),
        (["--cuda-graph-bs", "1,x"], "must be numbers separated by commas, not '1,x'"),
        (["--overlap", "yes"], "must be one of auto, on, off, not 'yes'"),
        (["--cache-type", "tree"], "cache_type must be one of naive, radix, not 'tree'"),
        (["--shutdown-grace", "nan"], "shutdown_grace must be seconds, a number of at least 0, not nan"),
        (["--max-queue", "0"], "max_queue must be an integer of at least 1, not 0"),
        (["--surprise"], "unrecognized arguments: --surprise"),
        (["--page", "4"], "unrecognized arguments: --page"),
        (["--device", "tpu"], "device must be 'cpu' or 'cuda', not 'tpu'"),
    ],
)
def test_a_wrong_flag_is_named(argv: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as info:
        parse(*argv)
    assert info.value.code == 2 and words in capsys.readouterr().err
