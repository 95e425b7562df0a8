"""The terms of disclosure control that the report uses, each explained in a sentence or two."""

from __future__ import annotations

TERMS = {
    "primary": "A cell that a rule, or somebody, marks as disclosing: publishing it would tell too much "
    "about a contributor. It is hidden and must be protected.",
    "secondary": "A cell that is hidden only so that primary cells cannot be worked out from sums and "
    "differences.",
    "published": "A cell whose value stands in the public files.",
    "outsider": "An attacker who knows everything that is published, how cells add up, and what everybody "
    "knows of values beforehand (such as that they are not negative).",
    "insider": "A contributor who also knows its own part of each cell, alone or together with others.",
    "interval": "The feasibility interval: between which two values an attacker can be sure that a hidden "
    "cell lies. Every value in it agrees with everything published.",
    "requirement": "The protection levels: how far below and above the true value the interval must reach at "
    "least.",
    "margin": "How far the interval reaches, in per cent of what is required, on its tighter side: 100 % is "
    "just enough.",
    "demand": "One level of one primary cell in one direction: the cell must be able to rise, or to fall, by "
    "that much.",
    "witness": "Another table that agrees with everything published and in which a primary cell is higher or "
    "lower by its level. A list of witnesses proves that the pattern protects.",
    "certificate": "The list of all witnesses, in exact numbers. Anybody who may see the table can check it "
    "without a solver.",
    "cost": "The information that is lost: the sum of the weights of the secondary cells (by default their "
    "values).",
    "lower bound": "What every safe pattern costs at least. The gap says how much cheaper another pattern "
    "could be at most.",
    "pattern": "Which cells are hidden.",
    "equation": "A sum that everybody knows: a total and its parts. If only one cell of it is hidden, it can "
    "be worked out.",
    "frozen": "A cell that must be published, such as a zero or one that was published before.",
    "relaxed": "Requirements that could not be met were lowered, or cells freed that were to be published.",
    "adjusted": "A table in which every cell is published, but sensitive ones are moved beyond their levels "
    "and others with them, so that all sums hold.",
}
"""Term → what it means."""
