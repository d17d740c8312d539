"""What Open Cluster Management answers about the files of a world, in one place."""

from reconciler.dialects.ocm.view.placed import is_placed, owner_of
from reconciler.dialects.view import View

VIEW = View(is_placed=is_placed, owner_of=owner_of)
