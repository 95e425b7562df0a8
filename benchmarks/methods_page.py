"""Write stages and parameters into docs/lab/stages.md and docs/adjustment.md, from the classes.

python benchmarks/methods_page.py
"""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
BEGIN, END = "<!-- tables: made by benchmarks/methods_page.py -->", "<!-- end of tables -->"


def suppression_tables() -> str:
    """Stages of `auto` and `optimal`, and the parameters of every method and of a run, as Markdown."""
    from cellveil.suppression import METHODS
    from cellveil.suppression.engines.stages import ALL
    from cellveil.suppression.methods import auto, optimal
    from cellveil.suppression.suppressing import RUN, RunParams

    lines = ["", "Shares are relative to those of the stages that apply and are still to come."]
    plans = {f"Plan *{name}* of `auto`": plan for name, plan in auto.PLANS.items()}
    plans |= {f"Plan *{name}* of `optimal`": plan for name, plan in optimal.PLANS.items()}
    for title, plan in plans.items():
        lines += ["", f"{title}:", "", "| stage | share | when | runs |", "|---|--:|---|---|"]
        for stage in plan:
            share = "all there is" if stage.share == ALL else f"{stage.share:.2f}"
            when, runs = (" ".join((each.__doc__ or "").split()) for each in (stage.applies, stage.runs))
            lines.append(f"| {stage.name} | {share} | {when} | {runs} |")
    tables = {f"`{name}`": entry.options for name, entry in METHODS.items()}
    tables["any run"] = {f"{RUN}{key}": one for key, one in RunParams.described().items()}
    for title, options in tables.items():
        if options:
            lines += ["", f"Parameters of {title}:", "", "| name | default | meaning |", "|---|---|---|"]
            lines += [f"| `{key}` | {one.default} | {one.what} |" for key, one in options.items()]
    return "\n".join([*lines, "", ""])


def adjustment_tables() -> str:
    """Stages and parameters of `adjust`, as Markdown."""
    from cellveil.adjustment.adjust_params import AdjustParams
    from cellveil.adjustment.adjusting import plans_table

    lines = ["", plans_table(), "", "| parameter | default | meaning |", "|---|---|---|"]
    lines += [f"| `{key}` | {one.default} | {one.what} |" for key, one in AdjustParams.described().items()]
    return "\n".join([*lines, "", ""])


PAGES = {DOCS / "lab" / "stages.md": suppression_tables, DOCS / "adjustment.md": adjustment_tables}


def page(path: Path) -> str:
    """The page with its tables as they are now."""
    text = path.read_text("utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return f"{before}{BEGIN}\n{PAGES[path]()}{END}{after}"


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(page(path), "utf-8")
