"""Properties are tested alike on every machine: the same examples, however slow it is."""

from hypothesis import settings

settings.register_profile("alike", deadline=None, derandomize=True)
settings.load_profile("alike")
