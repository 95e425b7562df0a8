# GaussSuppression: GaussSuppressionFromData with functions for primary, forced and candidate cells.
#
# exact: no primary value follows exactly, which is what the package asks by default. intervals: the step that
# adds cells until feasibility intervals reach the levels, with the package highs for linear programs.
# The dearest cells come first among the candidates for publication. Singletons are off: the comparison is
# about outsiders.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
source(file.path(dirname(script), "cells.R"))
suppressPackageStartupMessages(library(GaussSuppression))

table <- read_table()
cells <- table[["cells"]]
dimensions <- table[["dimensions"]]
if (any(dimensions %in% c("cellvalue", "freq", "primary", "suppressed"))) {
  refuse("a dimension has a name that is needed for a column")
}
if (given[["method"]] == "intervals" && any(cells[["status"]] == "z")) {
  refuse("the step for intervals takes no cells that must be published")
}
inner <- cells[is_interior(table), c(dimensions, "value")]
names(inner) <- c(dimensions, "cellvalue")
inner[["freq"]] <- 1

place_of <- function(crossTable) {
  place <- match(key_of(crossTable, dimensions), key_of(cells, dimensions))
  if (anyNA(place)) stop("GaussSuppression has cells that the table does not have")
  place
}
is_primary <- function(crossTable, ...) {
  place <- place_of(crossTable)
  primary <- cells[["status"]][place] == "u"
  if (given[["method"]] == "exact") return(primary)
  value <- cells[["value"]][place]
  limits <- data.frame(lomax_cellvalue = ifelse(primary, value - cells[["lpl"]][place], NA),
                       upmin_cellvalue = ifelse(primary, value + cells[["upl"]][place], NA),
                       rlim_cellvalue = ifelse(primary, cells[["spl"]][place], NA))
  list(primary, limits)
}
is_forced <- function(crossTable, ...) which(cells[["status"]][place_of(crossTable)] == "z")
by_weight <- function(crossTable, ...) order(cells[["weight"]][place_of(crossTable)], decreasing = TRUE)

options <- list(data = inner, hierarchies = table[["hierarchies"]], freqVar = "freq", numVar = "cellvalue",
                primary = is_primary, candidates = by_weight, singleton = NULL, singletonMethod = "none",
                protectZeros = FALSE, secondaryZeros = FALSE, preAggregate = FALSE, removeEmpty = TRUE,
                printInc = FALSE)
if (any(cells[["status"]] == "z")) options[["forced"]] <- is_forced
if (given[["method"]] == "intervals") options[["lpPackage"]] <- "highs"
run <- timed(function() do.call(GaussSuppressionFromData, options))

final <- as.data.frame(run[["found"]])
status <- ifelse(final[["primary"]], "u", ifelse(final[["suppressed"]], "m", "s"))
write_pattern(table, final, status)
hand_in(seconds = run[["seconds"]])
