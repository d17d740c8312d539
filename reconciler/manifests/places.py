"""Where an object stands: file and line, as people follow them."""

from reconciler.model.identity import ObjectKey
from reconciler.model.world import Fault, World


def input_place(world: World, key: ObjectKey) -> str:
    """Return file and line of an input, `""` if it is not there."""
    found = world.inputs.get(key)
    if found is None:
        return ""
    origin = found.origin
    return f"{origin.path}:{origin.line}" if origin.line else origin.path


def doubt_about(world: World, key: ObjectKey) -> str:
    """Return why an object is not as its file has it, and where, `""` if it is."""
    name = str(key)
    fault = next((one for one in world.faults if one.subject == name), None)
    if fault is not None:
        return f"it is faulty ({fault_place(fault)})"
    held = next((entry for entry in world.held if key in entry.keys), None)
    if held is None:
        return ""
    paths = (held.path, *held.beside)
    fault = next((one for one in world.faults if one.path in paths), None)
    place = held.path if fault is None else fault_place(fault)
    return f"its file cannot be understood ({place})"


def with_place(world: World, key: ObjectKey, why: str) -> str:
    """Return a clause about an input with the place where it stands, `""` for none."""
    place = input_place(world, key) if why else ""
    return f"{why} ({place})" if place else why


def fault_place(fault: Fault) -> str:
    """Return file and line of a fault."""
    return f"{fault.path}:{fault.line}" if fault.line else fault.path
