"""What does not keep a rule of the house yet, and the constants that are facts."""

KNOWN: dict[str, set[str]] = {
    "a package is entered by its door": {
        *("adjustment", "argus", "attack", "attackers", "certificate", "cli", "datasets", "deviations"),
        *(
            "explaining",
            "formats",
            "job",
            "loops",
            "judge",
            "microdata",
            "previous",
            "progress",
            "publishing",
        ),
        *("report", "rules", "service", "solvers", "suppression", "tables", "tasks"),
    },
}

STRUCTURAL: dict[str, str] = {
    "attack.bound_propagation.MAX_ROUNDS": "ends what creeps for ever; `unpick` takes another number",
    "attack.derivation.MAX_TERMS": "names shown in a text",
    "deviations.cubes.WORK_PER_CALL": "work between two looks at the clock",
    "deviations.cubes.MAX_DIMENSIONS": "two to this power corners make a cube, of which arrays hold MAX_CUBE",
    "deviations.integer_kernel.GRID_BITS": "bits of a double",
    "deviations.kernel_basis.LARGEST": "entries whose sums fit into 64 bits",
    "deviations.kernel_basis.PRIME": "the field that residues are computed in",
    "deviations.pattern_kernel.GRID_BITS": "bits of a whole number",
    "deviations.residue_tableau.PRIME": "the field that residues are computed in",
    "deviations.ledger.CHANGES_PER_ENTRY": "an entry hides a cell and meets its demands in both directions",
    "deviations.ledger.GARBAGE": "memory of unused witnesses; changes no result",
    "deviations.network_form.BATCH": "memory in use; no result depends on it",
    "deviations.witness.CHUNK": "memory of a check, block by block; changes no result",
    "judge.exposure.SIZE_FACTOR": "definition of the class K_s of cells",
    "judge.published.BANDS": "the bands that reports show",
    "judge.published.MAX_MARKS": "names shown in a text",
    "judge.verdict.NAMED": "names shown in a text",
    "solvers.exchange_descent.MOST_ENTRIES": "size of an array of the compiled loops",
    "solvers.min_cost_flow.COST_BITS": "bits of a whole number",
    "solvers.parallel.LEAST_PART": "work of a thread; no result depends on it",
    "solvers.projection.STRIP": "memory in use; no result depends on it",
    "suppression.engines.flow_search.BATCH": "work between two looks at the clock; changes no result",
    "suppression.engines.flow_search.ROOM_AHEAD": "room of the compiled loops; changes no result",
}
"""Constants that are no tuning numbers, and what they are."""
