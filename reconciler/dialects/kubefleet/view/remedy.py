"""What would have to change for a cluster that a filter turns away, as a clause."""

from reconciler.dialects.kubefleet.api.policy import SelectorTerm
from reconciler.dialects.kubefleet.scheduler.filter_affinity import Unmatched
from reconciler.dialects.kubefleet.scheduler.filter_eligibility import Ineligible
from reconciler.dialects.kubefleet.scheduler.filter_namespace import NoNamespace
from reconciler.dialects.kubefleet.scheduler.filter_taints import UntoleratedTaint
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.dialects.kubefleet.scheduler.topology import SkewViolation
from reconciler.schedule.framework import Reason


def remedy_of(reason: Reason, request: Request) -> str:
    """Return a clause that follows "to be eligible"."""
    match reason:
        case UntoleratedTaint(taint):
            value = f"={taint.value}" if taint.value else ""
            return f"tolerate {taint.key}{value}:{taint.effect}"
        case Unmatched():
            return f"match {' or '.join(map(_term, request.policy.required))}"
        case NoNamespace():
            return f"have the namespace {request.namespace}, and report it"
        case SkewViolation(constraint):
            return f"stand in another {constraint.topology_key}, or be allowed a greater maxSkew"
        case Ineligible(sentence) if "left the fleet" in sentence:
            return "stay in the fleet"
        case Ineligible():
            return "have a member agent that reports as joined and healthy"
        case _:
            return "be looked at anew"


def _term(term: SelectorTerm) -> str:
    """Return one required term as a person would say it."""
    labels = term.labels.requirements if term.labels is not None else ()
    parts = []
    for item in labels:
        values = f" ({', '.join(item.values)})" if item.values else ""
        parts.append(f"{item.key} {item.operator}{values}")
    parts += [f"{p.name} {p.operator} {', '.join(p.values)}" for p in term.properties]
    return f"[{'; '.join(parts)}]" if parts else "[anything]"
