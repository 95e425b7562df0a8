# Common to the scripts: the tidy folder of a table goes in, a pattern and figures come out.
#
# Rscript --vanilla SCRIPT.R INSTANCE FOLDER METHOD LIMIT SEED cpu|wall
#
# INSTANCE is a tidy folder (cells.csv, one hier_<dimension>.csv for each dimension); a JJ file, or a table
# with further equations or several hierarchies of one dimension, is refused.

given <- commandArgs(trailingOnly = TRUE)
if (length(given) != 6) stop("six arguments: INSTANCE FOLDER METHOD LIMIT SEED cpu|wall")
names(given) <- c("instance", "folder", "method", "limit", "seed", "clock")
set.seed(as.integer(given[["seed"]]))

amounts <- c("value", "status", "weight", "lb", "ub", "lpl", "upl", "spl", "contributors")

# Texts that begin with an apostrophe were guarded against spreadsheets.
unguarded <- function(text) sub("^'", "", text)

read_texts <- function(name) {
  utils::read.csv(file.path(given[["instance"]], name), colClasses = "character", check.names = FALSE,
                  encoding = "UTF-8", na.strings = character(0))
}

# figures.json without a package: texts lose what would need an escape.
hand_in <- function(seconds = NULL, refused = "", reason = "") {
  plain <- function(text) gsub("[^A-Za-z0-9 .,:;()=<>%+*/_-]", " ", text)
  number <- if (is.null(seconds)) "null" else format(seconds, digits = 6, scientific = FALSE)
  line <- sprintf('{"seconds": %s, "bound": null, "refused": "%s", "reason": "%s"}',
                  number, plain(refused), plain(reason))
  writeLines(line, file.path(given[["folder"]], "figures.json"))
}

refuse <- function(why) {
  hand_in(refused = why)
  quit(save = "no", status = 0)
}

# One tree as the two columns that sdcTable and SSBtools read: marks for the level, and codes, depth first.
tree_of <- function(dimension) {
  edges <- read_texts(sprintf("hier_%s.csv", dimension))
  parent <- unguarded(edges[["parent"]])
  child <- unguarded(edges[["child"]])
  root <- setdiff(parent, child)
  if (length(root) != 1) stop("a hierarchy without one root")
  levels <- character(0)
  codes <- character(0)
  waiting <- list(list(code = root, depth = 1))
  while (length(waiting) > 0) {
    now <- waiting[[1]]
    waiting <- waiting[-1]
    levels <- c(levels, strrep("@", now[["depth"]]))
    codes <- c(codes, now[["code"]])
    below <- child[parent == now[["code"]]]
    waiting <- c(lapply(below, function(code) list(code = code, depth = now[["depth"]] + 1)), waiting)
  }
  data.frame(levels = levels, codes = codes, stringsAsFactors = FALSE)
}

read_table <- function() {
  folder <- given[["instance"]]
  if (!dir.exists(folder)) refuse("a JJ file carries no hierarchies")
  if (file.exists(file.path(folder, "equations.csv"))) refuse("the table has equations beyond its hierarchies")
  cells <- read_texts("cells.csv")
  dimensions <- setdiff(names(cells), amounts)
  trees <- list.files(folder, pattern = "^hier_.*[.]csv$")
  if (!setequal(trees, sprintf("hier_%s.csv", dimensions))) refuse("not exactly one hierarchy for each dimension")
  for (name in dimensions) cells[[name]] <- unguarded(cells[[name]])
  for (name in setdiff(intersect(amounts, names(cells)), "status")) {
    cells[[name]] <- as.numeric(ifelse(cells[[name]] == "", NA, cells[[name]]))
  }
  if (any(cells[["value"]] < 0)) refuse("negative values")
  if (any(cells[["status"]] == "m")) refuse("cells that are hidden at the start")
  for (name in c("lpl", "upl", "spl")) {
    if (is.null(cells[[name]])) cells[[name]] <- 0
    cells[[name]][is.na(cells[[name]])] <- 0
  }
  hierarchies <- lapply(stats::setNames(dimensions, dimensions), tree_of)
  list(cells = cells, dimensions = dimensions, hierarchies = hierarchies)
}

# Rows of interior cells: codes that are nobody's parent in every dimension.
is_interior <- function(table) {
  inside <- rep(TRUE, nrow(table[["cells"]]))
  for (name in table[["dimensions"]]) {
    tree <- table[["hierarchies"]][[name]]
    depth <- nchar(tree[["levels"]])
    is_parent <- c(depth[-1] > depth[-length(depth)], FALSE)
    inside <- inside & table[["cells"]][[name]] %in% tree[["codes"]][!is_parent]
  }
  inside
}

# One text for each row of codes, to match cells by.
key_of <- function(codes, dimensions) {
  do.call(paste, c(lapply(dimensions, function(name) as.character(codes[[name]])), sep = "\r"))
}

# Seconds of an expression on the clock of the limit, children included.
timed <- function(run) {
  before <- proc.time()
  found <- run()
  spent <- proc.time() - before
  seconds <- if (given[["clock"]] == "cpu") sum(spent[-3], na.rm = TRUE) else spent[["elapsed"]]
  list(found = found, seconds = as.numeric(seconds))
}

# codes: data frame of codes; status: u, m or s for each of its rows.
write_pattern <- function(table, codes, status) {
  dimensions <- table[["dimensions"]]
  place <- match(key_of(table[["cells"]], dimensions), key_of(codes, dimensions))
  if (anyNA(place)) stop("the result lacks cells of the table")
  pattern <- table[["cells"]][dimensions]
  pattern[["status"]] <- status[place]
  if (!all(pattern[["status"]] %in% c("u", "m", "s", "z"))) stop("a status that is none of u, m, s and z")
  utils::write.csv(pattern, file.path(given[["folder"]], "pattern.csv"), row.names = FALSE,
                   fileEncoding = "UTF-8", quote = TRUE)
}
