"""What every test shares: eight simulated devices and strict arithmetic, set before JAX is loaded.

`tests/peer` needs other people's libraries, which only `make peer` installs; elsewhere it is not collected.
"""

import atexit
import os
import shutil
import tempfile
from importlib.util import find_spec

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_NUMPY_DTYPE_PROMOTION", "strict")
os.environ.setdefault("JAX_NUMPY_RANK_PROMOTION", "raise")
os.environ["FANAL_CONFIG"] = tempfile.mkdtemp(prefix="fanal-tests-")  # no test signs with, or adds to, a person's keys
os.environ.pop("FANAL_KEY_FILE", None)
atexit.register(shutil.rmtree, os.environ["FANAL_CONFIG"], ignore_errors=True)

collect_ignore = [] if find_spec("torch") else ["peer"]
