"""The reference of all verbs: `python -m reconciler.cli.reference > docs/cli.md`."""

import inspect
from collections.abc import Iterator

import click

from reconciler.cli.main import EPILOG, GROUPS, VERBS, cli

HEAD = """\
# The command line

<!-- Written by `make docs` from the commands themselves; edit their help instead. -->

[json.md](json.md) documents the fields of `-o json`.
"""


def reference() -> str:
    """Return the whole page."""
    context = cli.make_context("reconciler", [], resilient_parsing=True)
    parts = [HEAD, *_described(f"{cli.help}\n\n{EPILOG}"), *_options(cli, context)]
    parts += map(_group, GROUPS)
    for verb in sorted(VERBS):
        command = cli.get_command(context, verb)
        if command is not None:
            parts += _verb(command, click.Context(command, info_name=verb, parent=context))
    return "\n".join(parts)


def _group(title: str) -> str:
    """Return the rows of a group of verbs."""
    verbs = GROUPS[title].items()
    rows = (f"| [{verb}](#reconciler-{verb}) | {_cell(line)} |\n" for verb, line in verbs)
    return f"| {title} | |\n| --- | --- |\n{''.join(rows)}"


def _verb(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the section of one verb."""
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"## reconciler {command.name}\n"
    yield f"```\n{context.command_path} {usage}\n```\n"
    yield from _described(command.help or "")
    yield from _options(command, context)


def _described(text: str) -> Iterator[str]:
    """Yield paragraphs; what click keeps line by line is a block of code behind its heading."""
    for block in _blocks(text):
        head, *rest = block
        if rest and all(line.startswith("  ") for line in rest):
            yield f"{head}\n"
            yield "\n".join(("```", *(line[2:] for line in rest), "```\n"))
        else:
            yield "\n".join(line.strip() for line in block) + "\n"


def _blocks(text: str) -> Iterator[list[str]]:
    """Yield the lines of each paragraph; click's mark ends one, too."""
    block: list[str] = []
    for line in inspect.cleandoc(text).splitlines():
        if line.strip() in ("", "\b"):
            if block:
                yield block
            block = []
        else:
            block.append(line)
    if block:
        yield block


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the table of options."""
    rows = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None or isinstance(parameter, click.Argument):
            continue
        variable = f" (`{parameter.envvar}`)" if isinstance(parameter.envvar, str) else ""
        rows.append(f"| `{_cell(record[0])}` | {_cell(record[1])}{variable} |\n")
    if rows:
        yield "| option | meaning |\n| --- | --- |\n" + "".join(rows)


def _cell(text: str) -> str:
    """Return text fit for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    click.echo(reference(), nl=False)
