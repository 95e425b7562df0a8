# sdcTable: makeProblem, setInfo, protectTable, getInfo.
#
# Its attacker works on the variable of frequencies, so that the values stand there: levels then mean what they
# mean here. Costs are the same variable; totals and bounds are the package's own.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
source(file.path(dirname(script), "cells.R"))
suppressPackageStartupMessages(library(sdcTable))

table <- read_table()
cells <- table[["cells"]]
dimensions <- table[["dimensions"]]
taken <- c("id", "freq", "Freq", "sdcStatus", "strID", "cellvalue")
if (any(dimensions %in% taken)) refuse("a dimension has a name that sdcTable keeps for itself")
if (any(cells[["value"]] != round(cells[["value"]]))) refuse("values that are not whole")
if (any(abs(cells[["weight"]] - pmax(cells[["value"]], 1)) > 1e-9)) refuse("weights that are not the values")

inner <- cells[is_interior(table), c(dimensions, "value")]
names(inner) <- c(dimensions, "cellvalue")
problem <- makeProblem(data = inner, dimList = table[["hierarchies"]], freqVarInd = "cellvalue")

# The numbers of cells are places in strID; codes are those of the hierarchies.
known <- as.data.frame(sdcProb2df(problem, addDups = FALSE, addNumVars = FALSE, dimCodes = "original"))
for (name in dimensions) {
  if (!name %in% names(known)) known[[name]] <- known[[paste0(name, "_o")]]
}
index <- match(known[["strID"]], getInfo(problem, type = "strID"))
place <- index[match(key_of(cells, dimensions), key_of(known, dimensions))]
if (anyNA(place)) stop("sdcTable lacks cells of the table")

is_primary <- cells[["status"]] == "u"
is_frozen <- cells[["status"]] == "z"
problem <- setInfo(problem, type = "sdcStatus", index = place[is_primary], input = rep("u", sum(is_primary)))
if (any(is_frozen)) {
  problem <- setInfo(problem, type = "sdcStatus", index = place[is_frozen], input = rep("z", sum(is_frozen)))
}
for (level in c("lpl", "upl", "spl")) {
  problem <- setInfo(problem, type = toupper(level), index = place[is_primary], input = cells[[level]][is_primary])
}

method <- given[["method"]]
options <- list(object = problem, method = method, verbose = FALSE)
if (method %in% c("OPT", "HITAS")) {
  minutes <- max(1, ceiling(as.numeric(given[["limit"]]) / 60))
  options <- c(options, list(useC = TRUE, timeLimit = minutes))
}
run <- timed(function() do.call(protectTable, options))

final <- as.data.frame(getInfo(run[["found"]], type = "finalData"))
letters_of <- c(u = "u", x = "m", s = "s", z = "s")
write_pattern(table, final, unname(letters_of[as.character(final[["sdcStatus"]])]))
hand_in(seconds = run[["seconds"]])
