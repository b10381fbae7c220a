"""Numbers of torch in a record: every type, one series."""

import math
from pathlib import Path

import pytest
import torch

import fanal
from fanal.record.attempt import Start, start

pytestmark = pytest.mark.peer
TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def test_numbers_of_torch_are_those_of_python(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    for value in (math.nan, math.inf, -math.inf, -0.0, 1.5):
        run.log({"v": value})
        for dtype in TYPES:
            run.log({"v": torch.tensor(value, dtype=dtype)})
            run.log({"v": torch.tensor([value], dtype=dtype, requires_grad=True)})
    run.log({"n": torch.tensor(2**62), "b": torch.tensor(True), "many": torch.arange(3), "dtype": torch.bfloat16})
    run.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    rows = view.series("v").values.reshape(5, 9).tolist()
    assert [{str(value) for value in row} for row in rows] == [{"nan"}, {"inf"}, {"-inf"}, {"-0.0"}, {"1.5"}]
    assert (view.exact("n"), view.exact("b")) == ([2**62], [True])
    others = {other.key: other.value for other in view.others()}
    assert others["many"] == [0, 1, 2]
    assert others["dtype"]["$repr"] == "torch.bfloat16"


def test_a_config_of_torch_raises_nothing_and_names_what_is_lossy(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run = start(tmp_path / "r", Start(id="a", config={"dt": torch.bfloat16, "w": torch.ones(2, 2), "lr": 0.1}))
    run.finish()
    found = fanal.open(tmp_path / "r").runs["a"].config
    assert (found["w"], found["lr"], found["dt"]["$repr"]) == ([[1.0, 1.0]] * 2, 0.1, "torch.bfloat16")
    assert "event config: kept only as text: dt" in capfd.readouterr().err
