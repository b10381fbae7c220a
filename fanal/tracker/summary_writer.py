"""`SummaryWriter`: TensorBoard's writer over a run, so that a script that writes event files writes a record instead.

Each writer logs to the current run, or to one of its own, named by its folder, where there is none. Tags are keys;
what TensorBoard keeps as float32 is kept exactly.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fanal.record.scalars import as_number
from fanal.tracker import current
from fanal.tracker.errors import UsageError, shown
from fanal.tracker.histogram import Histogram
from fanal.tracker.image import Image
from fanal.tracker.media import Audio, Text, Video
from fanal.tracker.pixels import is_tensor
from fanal.tracker.rows import listed


class SummaryWriter:
    """Writes to the current run, or to one of its own."""

    def __init__(self, log_dir: Any = None, comment: str = "", *_: Any, **__: Any) -> None:
        open_run = current.current()
        self.log_dir = str(log_dir) if log_dir is not None else "runs"
        self._own = open_run is None
        name = (Path(self.log_dir).name if log_dir is not None else "run") + comment
        self._run = open_run if open_run is not None else current.init(name=name)

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None, *_: Any, **__: Any
    ) -> None:
        """One number."""
        self._put({tag: scalar_value}, global_step, walltime)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any], global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Several numbers under one tag, a key each."""
        self._put({f"{main_tag}/{tag}": value for tag, value in tag_scalar_dict.items()}, global_step, walltime)

    def add_histogram(self, tag: str, values: Any, global_step: Any = None, bins: Any = 64, *_: Any, **__: Any) -> None:
        """The distribution of some numbers; TensorBoard's names of binnings give 64 bins."""
        self._put({tag: Histogram(values, num_bins=bins if isinstance(bins, int) else 64)}, global_step, None)

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """Words."""
        self._put({tag: Text(str(text_string))}, global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """A picture of the axes `dataformats` names."""
        self._put({tag: Image(_as_hwc("add_image", img_tensor, dataformats))}, global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Pictures of the axes `dataformats` names."""
        inner = dataformats.replace("N", "")
        self._put({tag: [Image(_as_hwc("add_images", image, inner)) for image in img_tensor]}, global_step, walltime)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, *_: Any, **__: Any
    ) -> None:
        """A figure of matplotlib, or several; they are the script's to close."""
        del close
        pictures = [Image(one) for one in listed(figure)]
        self._put({tag: pictures if len(pictures) > 1 else pictures[0]}, global_step, None)

    def add_video(self, tag: str, vid_tensor: Any, global_step: Any = None, fps: int = 4, *_: Any, **__: Any) -> None:
        """Frames N×T×C×H×W, of which N is 1."""
        self._put({tag: Video(vid_tensor, fps=fps)}, global_step, None)

    def add_audio(self, tag: str, snd_tensor: Any, global_step: Any = None, sample_rate: int = 44100, *_: Any) -> None:
        """Samples."""
        if not hasattr(snd_tensor, "reshape"):
            raise UsageError(f"add_audio: snd_tensor must be an array, got {shown(snd_tensor)}; log Audio(path)")
        self._put({tag: Audio(snd_tensor.reshape(-1), sample_rate=sample_rate)}, global_step, None)

    def add_hparams(self, hparam_dict: Mapping[str, Any], metric_dict: Mapping[str, Any], *_: Any, **__: Any) -> None:
        """Hyperparameters go to the configuration, their metrics to the summary."""
        self._run.config.update(dict(hparam_dict))
        numbers = {name: as_number(value) for name, value in metric_dict.items()}
        self._run.summary.update({n: v if (v := numbers[n]) is not None else metric_dict[n] for n in numbers})

    def add_graph(self, *_: Any, **__: Any) -> None:
        """Nothing, said once: the model's code is in the record, its graph is not."""
        self._run.notices.once("graph", "add_graph: a model's graph is not recorded")

    def add_embedding(self, *_: Any, **__: Any) -> None:
        """Nothing, said once."""
        self._run.notices.once("embedding", "add_embedding: embeddings are not recorded: log a Table")

    def add_pr_curve(
        self, tag: str, labels: Any, predictions: Any, global_step: Any = None, *_: Any, **__: Any
    ) -> None:
        """Precision and recall of a yes-or-no question, as the labels and predictions they come from."""
        self._put({f"{tag}/labels": labels, f"{tag}/predictions": predictions}, global_step, None)

    def get_logdir(self) -> str:
        """The folder as given."""
        return self.log_dir

    def flush(self) -> None:
        """Write what waits: changes of configuration and summary; rows never wait."""
        self._run.flush()

    def close(self) -> None:
        """End the run, if it is this writer's own."""
        self.flush()
        if self._own:
            self._run.finish()

    def __enter__(self) -> "SummaryWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _put(self, row: dict[str, Any], step: Any, walltime: float | None) -> None:
        self._run.log(row if walltime is None else {**row, "_timestamp": walltime}, step)


def _as_hwc(call: str, image: Any, axes: str) -> Any:
    """An image with its axes in the order H, W, C.

    Raises:
        UsageError: it is no array, or its axes are others.
    """
    if not hasattr(image, "transpose"):
        raise UsageError(f"{call}: img_tensor must be an array of the axes {axes}, got {shown(image)}; log Image(path)")
    array = image.detach().cpu().numpy() if is_tensor(image) else image
    if axes == "HW":
        return array
    if sorted(axes) != ["C", "H", "W"]:
        raise UsageError(f"{call}: dataformats must name H, W and C, got {shown(axes)}")
    order = [axes.index(axis) for axis in "HWC"]
    return array.transpose(order)
