"""Pictures are kept whole and readable by other programs."""

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image as Pillow

import fanal
from fanal.tracker.media import Classes
from tests.tracker.conftest import blob, logged

PIXELS = (np.arange(12 * 16 * 3) % 256).astype(np.uint8).reshape(12, 16, 3)


def opened(ref: dict[str, Any]) -> Any:
    return np.asarray(Pillow.open(io.BytesIO(blob(ref))))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (PIXELS, PIXELS),
        (PIXELS[..., 0], PIXELS[..., 0]),
        (PIXELS[..., :1], PIXELS[..., 0]),
        (np.linspace(0, 1, 6).reshape(2, 3), np.array([[0, 51, 102], [153, 204, 255]])),
        (np.array([[-1.0, 1.0]]), np.array([[0, 255]])),
        (np.array([[math.nan, 300.0, 0.0]]), np.array([[0, 255, 0]])),
        (np.array([[True, False]]), np.array([[255, 0]])),
        (Pillow.fromarray(PIXELS), PIXELS),
    ],
    ids=["colour", "grey", "one channel", "0 to 1", "-1 to 1", "beyond", "bool", "pillow"],
)
def test_pictures_are_pngs_of_their_pixels(given: Any, wanted: Any) -> None:
    found = logged(fanal.Image(given, caption="a ramp"))
    assert (found["$media"], found["caption"], found["file"]["type"]) == ("image", "a ramp", "image/png")
    assert np.array_equal(opened(found["file"]), wanted)
    assert (found["height"], found["width"]) == wanted.shape[:2]


def test_a_pictures_file_is_kept_byte_for_byte(tmp_path: Path) -> None:
    Pillow.fromarray(PIXELS).save(tmp_path / "x.jpg")
    found = logged(fanal.Image(tmp_path / "x.jpg"))
    assert blob(found["file"]) == (tmp_path / "x.jpg").read_bytes()
    assert found["file"]["type"] == "image/jpeg"


def test_masks_boxes_and_classes_go_with_a_picture() -> None:
    mask = np.array([[0, 1], [300, 2]])
    box = {"position": {"minX": 0.1, "maxX": 0.2, "minY": 0.3, "maxY": 0.4}, "class_id": 2}
    image = fanal.Image(
        PIXELS,
        masks={"truth": {"mask_data": mask, "class_labels": {1: "cat"}}},
        boxes={"found": {"box_data": [box]}},
        classes=Classes([{"id": 1, "name": "cat"}]),
    )
    found = logged(image)
    assert np.array_equal(opened(found["masks"]["truth"]["file"]), mask)
    assert found["masks"]["truth"]["class_labels"] == {1: "cat"}
    assert found["boxes"] == {"found": {"box_data": [box]}}
    assert found["classes"] == [{"id": 1, "name": "cat"}]


def test_several_pictures_and_pictures_of_other_libraries_are_one_medium() -> None:
    found = logged([fanal.Image(PIXELS), fanal.Image(PIXELS[::-1])])
    assert found["$media"] == "image"
    assert [opened(item["file"]).tolist() for item in found["items"]] == [PIXELS.tolist(), PIXELS[::-1].tolist()]


def test_a_figure_is_a_picture() -> None:
    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([0, 1], [1, 0])
    assert opened(logged(figure)["file"]).shape[:2] == (100, 200)


@pytest.mark.parametrize(
    ("wrong", "message"), [(np.zeros((2, 3, 5)), "1 to 4"), (np.zeros((0, 3)), "shape"), (np.zeros(4), "shape")]
)
def test_what_is_no_picture_is_an_error_that_names_the_shape(wrong: Any, message: str) -> None:
    with pytest.raises(fanal.UsageError, match=message):
        fanal.Image(wrong)
