"""The type of `wait --for`."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from reconciler.cli.waiting.awaited_state import AwaitedState


class Awaited(click.ParamType["AwaitedState"]):
    """What is waited for."""

    name = "state"

    def convert(
        self,
        value: "str | AwaitedState",
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> "AwaitedState":
        """Parse it."""
        if not isinstance(value, str):
            return value
        from reconciler.cli.waiting.awaited_state import parse_awaited

        try:
            return parse_awaited(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
