"""What is measured together, in the order of the table."""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain

from benchmarks import (
    advice,
    asked_alone,
    commands,
    commits,
    delivery,
    floor,
    karmada_schedule,
    kubefleet_schedule,
    long_history,
    memory,
    observed,
    ocm_schedule,
    page_views,
    passes,
    plan_cold,
    questions,
    reaction,
    reported,
    verify_history,
    whole_repository,
    work_counters,
)
from benchmarks.figure import Figure
from benchmarks.workers import roots
from benchmarks.worst import protection

Group = Callable[[bool], Iterator[Figure]]
"""Takes whether 100,000 manifests are wanted, too."""

GROUPS: Mapping[str, Group] = {
    "karmada": lambda _: karmada_schedule.figures(),
    "ocm": lambda _: ocm_schedule.figures(),
    "kubefleet": lambda _: kubefleet_schedule.figures(),
    "passes": passes.figures,
    "delivery": lambda _: delivery.figures(),
    "room": lambda _: protection.figures(),
    "everywhere": lambda _: delivery.full_figures(),
    "commits": commits.figures,
    "reaction": lambda _: reaction.figures(),
    "memory": memory.figures,
    "observed": lambda _: observed.figures(),
    "reported": lambda _: reported.figures(),
    "commands": lambda _: commands.figures(),
    "questions": lambda _: questions.figures(),
    "sized": lambda _: questions.sized_figures(),
    "smaller": lambda _: questions.sized_figures(200, 2000),
    "whole": whole_repository.figures,
    "floor": lambda _: floor.figures(),
    "asked": lambda large: chain(asked_alone.figures(large), advice.figures(large)),
    "plan": plan_cold.figures,
    "page": page_views.figures,
    "objects": page_views.object_figures,
    "history": lambda _: long_history.figures(),
    "verify": lambda _: verify_history.figures(),
    "workers": roots.figures,
    "counters": lambda _: work_counters.figures(),
}
