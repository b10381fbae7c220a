"""Every name of the tracker that `fanal.<name>` gives: one list, imported when the first of them is asked for."""

from fanal.record.withhold import Withhold
from fanal.tracker import errors, plot, util
from fanal.tracker.alert import AlertLevel
from fanal.tracker.artifact import Artifact
from fanal.tracker.calls import (
    Api,
    agent,
    alert,
    attach,
    controller,
    define_metric,
    describe,
    ensure_configured,
    get_run,
    link_artifact,
    link_model,
    log_artifact,
    log_code,
    log_model,
    login,
    mark_preempting,
    pin_config_keys,
    require,
    restore,
    save,
    setup,
    sweep,
    teardown,
    termerror,
    termlog,
    termwarn,
    unwatch,
    use_artifact,
    use_model,
    watch,
    write_logs,
)
from fanal.tracker.current import finish, init, log
from fanal.tracker.errors import CommError, Error, UsageError
from fanal.tracker.histogram import Histogram
from fanal.tracker.image import Image
from fanal.tracker.media import Audio, Classes, Html, Molecule, Object3D, Plotly, Text, Video
from fanal.tracker.names import Config, Summary
from fanal.tracker.run import Run
from fanal.tracker.settings import Settings
from fanal.tracker.shim import shim
from fanal.tracker.summary_writer import SummaryWriter
from fanal.tracker.table import Table

__all__ = [
    "AlertLevel",
    "Api",
    "Artifact",
    "Audio",
    "Classes",
    "CommError",
    "Config",
    "Error",
    "Histogram",
    "Html",
    "Image",
    "Molecule",
    "Object3D",
    "Plotly",
    "Run",
    "Settings",
    "Summary",
    "SummaryWriter",
    "Table",
    "Text",
    "UsageError",
    "Video",
    "Withhold",
    "agent",
    "alert",
    "attach",
    "controller",
    "define_metric",
    "describe",
    "ensure_configured",
    "errors",
    "finish",
    "get_run",
    "init",
    "link_artifact",
    "link_model",
    "log",
    "log_artifact",
    "log_code",
    "log_model",
    "login",
    "mark_preempting",
    "pin_config_keys",
    "plot",
    "require",
    "restore",
    "save",
    "setup",
    "shim",
    "sweep",
    "teardown",
    "termerror",
    "termlog",
    "termwarn",
    "unwatch",
    "use_artifact",
    "use_model",
    "util",
    "watch",
    "write_logs",
]
