"""The types of a Job's fields, which pruning relies on: a Job that has others is not delivered."""

from collections.abc import Callable, Mapping
from functools import partial

from reconciler.errors import UserError
from reconciler.model.body import Body

Check = Callable[[str, object], None]
"""Raises a `UserError` that names the path where a value has the wrong type."""

MOST = {32: 2**31 - 1, 64: 2**63 - 1}


def require_job(manifest: Body) -> None:
    """Raise unless a manifest can be read as a Job; unknown fields and nulls are passed over.

    Raises:
        UserError: A field has another type than a Job's.

    Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/prune/prune.go
    `removeJobIrrelevantField`, which converts it to batch/v1 `Job`.
    """
    _JOB("", manifest)


def _text(path: str, value: object) -> None:
    if not isinstance(value, str):
        raise UserError(f"`{path}` must be a text")


def _flag(path: str, value: object) -> None:
    if not isinstance(value, bool):
        raise UserError(f"`{path}` must be true or false")


def _whole(path: str, value: object, *, bits: int) -> None:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or not -MOST[bits] - 1 <= value <= MOST[bits]:  # type: ignore[operator]  # a number, as `whole` says
        raise UserError(f"`{path}` must be a whole number of {bits} bits")


def _texts(path: str, value: object) -> None:
    _mapping(path, value)
    for name, one in value.items():  # type: ignore[attr-defined]  # a mapping, as checked above
        if one is not None:
            _text(f"{path}.{name}", one)


def _mapping(path: str, value: object) -> None:
    if not isinstance(value, Mapping):
        raise UserError(f"`{path}` must be a mapping")


def _list_of(check: Check, path: str, value: object) -> None:
    if not isinstance(value, list):
        raise UserError(f"`{path}` must be a list")
    for position, item in enumerate(value):
        if item is not None:
            check(f"{path}/{position}", item)


def _fields(checks: Mapping[str, Check], path: str, value: object) -> None:
    _mapping(path, value)
    for name, check in checks.items():
        inner = value.get(name)  # type: ignore[attr-defined]  # a mapping, as checked above
        if inner is not None:
            check(f"{path}.{name}" if path else name, inner)


def _object(**checks: Check) -> Check:
    return partial(_fields, checks)


_int32 = partial(_whole, bits=32)
_int64 = partial(_whole, bits=64)
_METADATA = _object(name=_text, namespace=_text, labels=_texts, annotations=_texts)
_REQUIREMENT = _object(key=_text, operator=_text, values=partial(_list_of, _text))
_SELECTOR = _object(matchLabels=_texts, matchExpressions=partial(_list_of, _REQUIREMENT))
_CONTAINERS = partial(
    _list_of,
    _object(
        name=_text,
        image=_text,
        command=partial(_list_of, _text),
        args=partial(_list_of, _text),
        workingDir=_text,
        env=partial(_list_of, _object(name=_text, value=_text, valueFrom=_mapping)),
        ports=partial(_list_of, _object(name=_text, containerPort=_int32, protocol=_text)),
        resources=_object(limits=_mapping, requests=_mapping),
    ),
)
_POD = _object(
    activeDeadlineSeconds=_int64,
    containers=_CONTAINERS,
    initContainers=_CONTAINERS,
    nodeName=_text,
    nodeSelector=_texts,
    restartPolicy=_text,
    schedulerName=_text,
    serviceAccountName=_text,
    terminationGracePeriodSeconds=_int64,
    tolerations=partial(
        _list_of, _object(key=_text, operator=_text, value=_text, tolerationSeconds=_int64)
    ),
    volumes=partial(_list_of, _object(name=_text)),
)
_JOB = _object(
    metadata=_METADATA,
    spec=_object(
        activeDeadlineSeconds=_int64,
        backoffLimit=_int32,
        backoffLimitPerIndex=_int32,
        completionMode=_text,
        completions=_int32,
        managedBy=_text,
        manualSelector=_flag,
        maxFailedIndexes=_int32,
        parallelism=_int32,
        podReplacementPolicy=_text,
        selector=_SELECTOR,
        suspend=_flag,
        template=_object(metadata=_METADATA, spec=_POD),
        ttlSecondsAfterFinished=_int32,
    ),
)
