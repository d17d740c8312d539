"""The type of options that are spans of time, as kubectl takes them: `90s`, `1h30m`, `0`."""

import click

LONGEST_SECONDS = 7 * 24 * 3600.0
"""Of a span that is below zero, as kubectl has it: a week."""

NANOSECONDS = 10**9


class TimeSpan(click.ParamType[float]):
    """A span of time, in seconds; one below zero is a week."""

    name = "span"

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse it."""
        if isinstance(value, float):
            return value
        from reconciler.errors import UserError
        from reconciler.manifests.durations import parse_duration
        from reconciler.model.message_text import shown

        try:
            seconds = parse_duration(str(value)) / NANOSECONDS
        except UserError:
            self.fail(f"{shown(str(value))} must be a span of time such as 90s or 5m", param, ctx)
        return seconds if seconds >= 0 else LONGEST_SECONDS
