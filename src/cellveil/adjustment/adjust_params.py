"""Tuning numbers of controlled tabular adjustment, one class for each engine, `AdjustParams` for all."""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.params import Params, param, part


@dataclass(frozen=True, kw_only=True)
class ShareParams(Params):
    """How the stages of `adjust` share the time limit; what they leave is for the last one."""

    start: float = param(0.3, "Share of the time for start rules and feasibility pump.", least=0, most=1)
    first_proof: float = param(0.15, "Share for a first, short branch and cut.", least=0, most=1)
    anneal: float = param(0.4, "Share for annealing.", least=0, most=1)
    tabu: float = param(0.9, "Share for tabu search as a method of its own.", least=0, most=1)
    descent: float = param(0.9, "Share for block descent as a method of its own.", least=0, most=1)
    auto_descent: float = param(0.2, "Share for block descent within auto.", least=0, most=1)
    auto_null_space: float = param(
        0.5, "The same where blocks are solved in a null-space basis.", least=0, most=1
    )


@dataclass(frozen=True, kw_only=True)
class SplittingParams(Params):
    """Annealed Douglas–Rachford splitting over the senses."""

    relaxation: float = param(1.6, "Over-relaxation of the iteration.", least=1, most=1.99)
    hot: float = param(10.0, "First proximal step: a multiple of a typical level over price.", least=1e-6)
    cold: float = param(0.05, "Last proximal step.", least=1e-9)
    settling: float = param(0.2, "Proximal step once the senses are fixed.", least=1e-9)
    dives: int = param(24, "Times that half of the fractional cells are fixed in a dive.", least=1)
    tries: int = param(40, "Short annealings without a time limit.", least=0)
    sampled: float = param(0.5, "Share of the short annealings from random senses.", least=0, most=1)
    short: tuple[float, ...] = param((500, 2_000), "Iterations of short annealings, in turn.", least=1)
    settled: int = param(200, "Iterations with fixed senses after a short annealing.", least=1)
    heats: tuple[float, ...] = param(
        (0.5, 0.7, 1.0, 1.4, 2.0, 3.0), "First steps of short annealings from the incumbent.", least=1e-6
    )


@dataclass(frozen=True, kw_only=True)
class ImbalanceParams(Params):
    """Simulated annealing on the imbalances, and the valid inequalities made of them."""

    pricing: int = param(200, "Multiplicative steps towards the prices of relations.", least=1)
    hot: float = param(1.0, "First temperature: a multiple of the median price of a change.", least=1e-6)
    cold: float = param(0.01, "Last temperature.", least=1e-9)
    sweeps: int = param(1_000, "Sweeps of the first annealing.", least=1)
    cool: float = param(0.5, "First step of the splitting that follows.", least=1e-6)
    most_cells: int = param(14, "Imbalance rows for relations of at most as many sensitive cells.", least=0)
    most_rows: int = param(12_000, "Largest covering program that is solved, in relations.", least=0)


@dataclass(frozen=True, kw_only=True)
class LargeParams(Params):
    """Tables that are too large for programs over all cells."""

    most_movable: int = param(5_000, "Most movable cells for programs over all cells.", least=0)
    most_irregular: int = param(30_000, "The same for tables without dimensions.", least=0)
    huge: int = param(200_000, "Cells from which on iterations are few.", least=0)
    huge_iterations: int = param(300, "Iterations of an annealing there.", least=1)
    settling: int = param(400, "Iterations with fixed senses before rounding.", least=1)
    dive_sizes: tuple[float, ...] = param((20_000, 200_000), "Steps of table sizes for dives.", least=0)
    dive_iterations: tuple[float, ...] = param(
        (300, 100, 15), "Iterations after each fixing, one number more than sizes.", least=1
    )
    slower: int = param(5, "Factor of iterations in later dives.", least=1)
    most_dives: int = param(40, "Most ways to whole numbers from one set of senses.", least=1)
    jitter: float = param(0.05, "Random rise of prices in later dives, at most.", least=0, most=1)
    enough: float = param(1.3, "Time left, in expected dives, to begin another.", least=1)
    spare: tuple[float, ...] = param(
        (0, 1, 3, 10, 30), "Units beyond the level in sensitive totals.", least=0
    )
    growth: int = param(4, "Factor of the annealing's length from round to round.", least=1)
    longest: int = param(6, "Rounds in which it grows.", least=0)
    rounds: int = param(2, "Rounds without a time limit.", least=1)
    searching: float = param(
        0.7, "Share of the time for the senses; the rest is for rounding.", least=0, most=1
    )
    another: float = param(1.2, "Time left, in first annealings, to begin another.", least=1)


@dataclass(frozen=True, kw_only=True)
class TabuParams(Params):
    """Tabu search over single senses."""

    steps: int = param(40, "Steps without a time limit.", least=0)
    candidates: int = param(8, "Changes that are solved in a step.", least=1)
    tenure: int = param(7, "Steps for which a change is tabu, at least.", least=1)
    stall: int = param(12, "Steps without a new incumbent before a restart.", least=1)
    kick: float = param(0.3, "Share of senses that a restart changes, at most.", least=0, most=1)
    weighed: int = param(60, "Changes weighed in a step by the null-space relaxation.", least=1)
    fitted: int = param(2, "Changes of these that are made whole.", least=1)


@dataclass(frozen=True, kw_only=True)
class DescentParams(Params):
    """Block-coordinate descent over the senses."""

    rounds: int = param(20, "Blocks without a time limit.", least=0)
    sizes: tuple[float, ...] = param((24,), "Senses in a block, in turn.", least=1)
    nodes: int = param(30, "Branch-and-cut nodes of a block.", least=1)
    tree_sizes: tuple[float, ...] = param((14, 24, 8), "Senses in a block of the null-space tree.", least=1)
    tree_nodes: int = param(100, "Nodes of such a block; more after each one in vain.", least=1)


@dataclass(frozen=True, kw_only=True)
class TreeParams(Params):
    """Branch and bound over the senses with null-space relaxations."""

    most_rows: int = param(1_000, "Most degrees of freedom.", least=0)
    most_cells: int = param(60, "Most sensitive cells for the tree over all of them.", least=0)
    tried: int = param(3, "Candidates of strong branching.", least=1)
    reliable: int = param(8, "Branchings on either side from which on pseudo-costs are trusted.", least=1)
    nodes: int = param(500, "Nodes without a time limit, unless the method is exact.", least=1)
    whole_nodes: int = param(1_000, "Nodes in all to prove leaves in whole movements.", least=0)


@dataclass(frozen=True, kw_only=True)
class ProofParams(Params):
    """Branch and cut on the mixed-integer program over all cells."""

    nodes: int = param(500, "Nodes without a time limit, unless the method is exact.", least=1)
    first_nodes: int = param(100, "Nodes of the first, short attempt.", least=1)
    work: int = param(30_000_000, "Squared movable cells times nodes, without a time limit.", least=1)
    rounds: int = param(10, "Outer approximations of squares.", least=1)
    straight: int = param(150, "Sensitive cells up to which irregular tables go straight to it.", least=0)
    ratio: int = param(4, "From breakpoint to breakpoint of squares at the start.", least=2)
    seconds_to_fit: float = param(1.0, "Seconds to round when time is over without an incumbent.", least=0)


@dataclass(frozen=True, kw_only=True)
class PumpParams(Params):
    """The feasibility pump, and the search for the least relaxation of limits."""

    rounds: int = param(30, "Rounds of the pump.", least=0)
    penalty: float = param(50.0, "Price of falling short of a level, in median prices.", least=0)
    nodes: int = param(200, "Nodes of the search for the least relaxation.", least=1)


@dataclass(frozen=True, kw_only=True)
class RoundingParams(Params):
    """From fractional to whole movements."""

    approximations: int = param(12, "Outer approximations of squares with fixed senses.", least=1)
    dives: int = param(400, "Times that fractional cells are fixed.", least=1)
    at_a_time: int = param(500, "One in this many fractional cells is fixed at a time.", least=1)
    window: int = param(2, "Units that a cell may move in the rounding program.", least=1)
    nodes: int = param(50, "Nodes of the rounding program.", least=1)
    most_cells: int = param(1_000, "Largest rounding program.", least=0)
    rounds: int = param(6, "Rounds of moving totals into the interior.", least=0)
    evaluations: float = param(3e8, "Moves weighed in each direction of such a round.", least=1)


@dataclass(frozen=True, kw_only=True)
class AdjustParams(Params):
    """All tuning numbers of `adjust`."""

    without: str = param("", "Stages to leave out, with commas between them; the first and the last stay.")
    iterations: int = param(2_000, "Iterations of a long annealing.", least=1)
    most_factored: int = param(1_500, "Most cells for annealing without dimensions.", least=0)
    farthest: int = param(
        4, "Largest movement where a bound is open, as a multiple of the sum of all levels.", least=1
    )
    most_merged: int = param(30_000, "Most cells for merging tied ones.", least=0)
    shares: ShareParams = part(ShareParams)
    splitting: SplittingParams = part(SplittingParams)
    imbalance: ImbalanceParams = part(ImbalanceParams)
    large: LargeParams = part(LargeParams)
    tabu: TabuParams = part(TabuParams)
    descent: DescentParams = part(DescentParams)
    tree: TreeParams = part(TreeParams)
    proof: ProofParams = part(ProofParams)
    pump: PumpParams = part(PumpParams)
    rounding: RoundingParams = part(RoundingParams)
