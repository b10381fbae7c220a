"""What every test shares: eight simulated devices and strict arithmetic, set before JAX is loaded.

`tests/peer` needs other people's libraries, which only `make peer` installs; elsewhere it is not collected.
"""

import os
from importlib.util import find_spec

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_NUMPY_DTYPE_PROMOTION", "strict")
os.environ.setdefault("JAX_NUMPY_RANK_PROMOTION", "raise")

collect_ignore = [] if find_spec("duckdb") else ["peer"]
