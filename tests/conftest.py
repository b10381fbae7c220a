"""What every test shares: eight simulated devices, one cache of compiled steps, seeds that are printed."""

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
