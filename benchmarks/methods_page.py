"""Write the stages of `auto` and the parameters of all methods into docs/methods.md, from the classes.

python benchmarks/methods_page.py
"""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "methods.md"
BEGIN, END = "<!-- tables: made by benchmarks/methods_page.py -->", "<!-- end of tables -->"


def tables() -> str:
    """All tables, as Markdown."""
    from cellveil.suppression import METHODS
    from cellveil.suppression.engines.stages import ALL
    from cellveil.suppression.methods.auto import PLANS

    lines = ["", "Shares are relative to those of the stages that apply and are still to come."]
    for name, plan in PLANS.items():
        lines += ["", f"Plan *{name}* of `auto`:", "", "| stage | share | when | runs |", "|---|--:|---|---|"]
        for stage in plan:
            share = "all there is" if stage.share == ALL else f"{stage.share:.2f}"
            when, runs = (" ".join((each.__doc__ or "").split()) for each in (stage.applies, stage.runs))
            lines.append(f"| {stage.name} | {share} | {when} | {runs} |")
    for name, entry in METHODS.items():
        if entry.options:
            lines += ["", f"Parameters of `{name}`:", "", "| name | default | meaning |", "|---|---|---|"]
            lines += [f"| `{key}` | {one.default} | {one.what} |" for key, one in entry.options.items()]
    return "\n".join([*lines, "", ""])


def page() -> str:
    """The page with its tables as they are now."""
    text = PAGE.read_text("utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return f"{before}{BEGIN}\n{tables()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
