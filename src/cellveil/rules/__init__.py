"""Which cells disclose a contributor, how far they must be protected, and what hiding a cell costs."""

from cellveil.rules.base import Judgement, Rule, options
from cellveil.rules.combinations import AllOf, AnyOf, Exempt, FirstOf
from cellveil.rules.concentration import Dominance, PPercent, PriorPosterior
from cellveil.rules.distance_costs import distance_costs
from cellveil.rules.frequency import Manual, Request, Threshold, ZeroRule
from cellveil.rules.group_disclosure import GroupDisclosure
from cellveil.rules.presets import PRESETS, acro, gauss_suppression, sdctable, tau_argus
from cellveil.rules.syntax import RULES, rule_from_dict, rule_to_dict
from cellveil.rules.weights import weights

__all__ = [
    "PRESETS",
    "RULES",
    "AllOf",
    "AnyOf",
    "Dominance",
    "Exempt",
    "FirstOf",
    "GroupDisclosure",
    "Judgement",
    "Manual",
    "PPercent",
    "PriorPosterior",
    "Request",
    "Rule",
    "Threshold",
    "ZeroRule",
    "acro",
    "distance_costs",
    "gauss_suppression",
    "options",
    "rule_from_dict",
    "rule_to_dict",
    "sdctable",
    "tau_argus",
    "weights",
]
