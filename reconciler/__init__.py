"""A Git-native multi-cluster scheduler.

The functional core is `reconciler.core.reconcile`; everything in `reconciler.shell` carries data
to it or from it.
"""

__version__ = "0.1.0"
