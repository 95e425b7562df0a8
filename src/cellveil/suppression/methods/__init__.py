"""The suppression methods, one module each; `METHODS` is their table.

The module of a method, its function and its class of parameters go by its name. A module is imported when its
method is asked for: whoever runs `auto` loads none of those for comparison.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.errors import InputError, nearest_name
from cellveil.params import Parameter, Params
from cellveil.problem import Problem
from cellveil.suppression.draft import Draft


@dataclass(frozen=True)
class MethodEntry:
    """A line of the table of methods.

    Parameters
    ----------
    is_for_comparison
        Whether it is there to compare with, not to be recommended.
    finds_bound
        Whether it looks for a lower bound itself; `suppress` finds one for the others.
    is_divisible
        Whether it may run on independent parts of a problem one by one; not where it keeps a file of its
        state.
    """

    name: str
    summary: str
    is_for_comparison: bool = False
    finds_bound: bool = False
    is_divisible: bool = True

    def run(self, problem: Problem, *, deadline: Deadline = NO_LIMIT, **options: Any) -> Draft:
        """Propose which cells to hide, with keywords seed, progress and params.

        Of patterns of equal cost it is the one with smaller cells and fewer totals, as far as exchanges find.
        """
        from cellveil.suppression.engines.equal_cost import with_preferred_cells, without_exchanges
        from cellveil.suppression.presolve.preparation import prepared

        share = without_exchanges(problem, deadline)
        draft: Draft = prepared(self._own(self.name))(problem, deadline=share, **options)
        return with_preferred_cells(problem, draft, deadline)

    @property
    def params(self) -> type[Params]:
        """The class of its parameters."""
        found: type[Params] = self._own(f"{self.name.capitalize()}Params")
        return found

    @property
    def options(self) -> Mapping[str, Parameter]:
        """Its parameters by name; those of its engines as engine.name."""
        return self.params.described()

    def read(self, options: Mapping[str, object]) -> Params:
        """The parameters with the options that were given, checked."""
        try:
            return self.params().changed(options)
        except InputError as error:
            known = self.options
            name = next((name for name in options if name not in known), None)
            if name is None:
                raise
            remedy = nearest_name(name, list(known)) if known else "It takes no options."
            raise InputError(f"method {self.name!r} has no option {name!r}", remedy=remedy) from error

    def _own(self, name: str) -> Any:
        return getattr(import_module(f"{__name__}.{self.name}"), name)


METHODS: Mapping[str, MethodEntry] = {
    entry.name: entry
    for entry in (
        MethodEntry("auto", "the best means for the table at hand, until the limit", finds_bound=True),
        MethodEntry("sequential", "cheapest deviations, one demand after the other"),
        MethodEntry("grouped", "cheapest deviations for groups of primaries", True),
        MethodEntry("genetic", "the best order of groups, by a genetic algorithm", True, is_divisible=False),
        MethodEntry("network", "cheapest flows, for two-way tables", finds_bound=True),
        MethodEntry("cycles", "alternating cycles (Cox), for two-way tables", True),
        MethodEntry("hypercube", "cubes: no solver, millions of cells"),
        MethodEntry("modular", "subtable by subtable (HiTaS), then mended on the whole", True),
        MethodEntry("elimination", "from everything hidden, publishing what can be spared", True),
        MethodEntry("optimal", "branch and cut: the least cost, or how far off it can be", finds_bound=True),
        MethodEntry("textbook", "the incremental program on the whole table: a yardstick", True),
    )
}
"""The suppression methods; those for comparison have never been cheapest in our own figures."""


@dataclass(frozen=True)
class PeerName:
    """What another program calls something that is here.

    Parameters
    ----------
    of
        The programs that call it so.
    method
        Our method; None where it is no method here.
    instead
        Where it is no method: what to do, as a sentence.
    """

    of: str
    method: str | None = None
    instead: str = ""


ADJUSTMENT = "Tables are adjusted by `cellveil adjust`, or [adjust] in a job"
PEER_NAMES: Mapping[str, PeerName] = {
    "hitas": PeerName("tau-ARGUS and sdcTable", "modular"),
    "mod": PeerName("tau-ARGUS batches", "modular"),
    "ghmiter": PeerName("tau-ARGUS", "hypercube"),
    "gh": PeerName("tau-ARGUS batches", "hypercube"),
    "opt": PeerName("tau-ARGUS batches and sdcTable", "optimal"),
    "jj": PeerName("tau-ARGUS", "optimal"),
    "net": PeerName("tau-ARGUS batches", "network"),
    "gauss": PeerName("sdcTable and GaussSuppression", "elimination"),
    "gausssuppression": PeerName("R", "elimination"),
    "simpleheuristic": PeerName("sdcTable", "sequential"),
    "g-confid": PeerName("Statistics Canada", "sequential"),
    "gconfid": PeerName("Statistics Canada", "sequential"),
    "cta": PeerName("tau-ARGUS batches", instead=ADJUSTMENT),
    "rcta": PeerName("R", instead=ADJUSTMENT),
    "rnd": PeerName("tau-ARGUS batches", instead=f"There is no controlled rounding. {ADJUSTMENT}"),
    "rounding": PeerName("tau-ARGUS", instead=f"There is no controlled rounding. {ADJUSTMENT}"),
    "cellkey": PeerName("R", instead=f"There is no random noise. {ADJUSTMENT}"),
}
"""Names in other programs, in small letters."""


def unknown_method(name: str, known: Sequence[str] = tuple(METHODS)) -> InputError:
    """The error for a name that is none of ours: it tells the nearest, or what a name elsewhere means here.

    Examples
    --------
    >>> print(unknown_method("HiTaS"))
    unknown method 'HiTaS'. HiTaS, of tau-ARGUS and sdcTable, is called modular here.
    >>> print(unknown_method("hypercub"))
    unknown method 'hypercub'. Did you mean 'hypercube'?
    """
    peer = PEER_NAMES.get(name.casefold())
    return InputError(
        f"unknown method {name!r}",
        remedy=nearest_name(name, known) if peer is None else told_peer(name, peer),
    )


def told_peer(name: str, peer: PeerName) -> str:
    """What a name elsewhere means here, as a sentence."""
    if peer.method is None:
        return f"{peer.instead}."
    return f"{name}, of {peer.of}, is called {peer.method} here."
