# Pairing of off and on rows. All keys are numbers: text joins would dominate 10^6 rows.

# One number per (launch, operation, bytes).
cell_key <- function(rows) {
  combine_keys(code_of(rows[["launch"]]), code_of(rows[["operation"]]), rows[["bytes"]])
}

# Dense codes 1, 2, ... in order of first appearance.
code_of <- function(x) match(x, unique(x))

# The same in sorted order: for split(), which turns every number of a long column into text otherwise.
rank_of <- function(x) match(x, sort(unique(x)))

# Whole numbers serve as their own codes, which saves hashing the long columns.
cheap_code <- function(x) {
  if (length(x) == 0) return(numeric())
  if (is.numeric(x) && !anyNA(x) && min(x) >= 0 && max(x) < 2^26 && all(x == floor(x))) x else code_of(x)
}

# One number per combination of the values of several vectors (not dense; to compare within one call only).
combine_keys <- function(...) {
  parts <- list(...)
  key <- cheap_code(parts[[1]])
  for (x in parts[-1]) {
    code <- cheap_code(x)
    if (length(code) > 0 && min(code) == max(code)) next  # a constant tells nothing apart
    span <- max(code, 0) + 1
    if (max(key, 0) * span > 2^52) key <- code_of(key)  # sums stay exact below 2^53
    key <- key * span + code
  }
  key
}

#' Pair off and on rows
#'
#' In design `lockin` an off and an on half with the same pair number belong together; in designs
#' `blocks` and `single` every on block of a set pairs with the off block of that set. Pairs that an
#' interruption left incomplete are left out and counted. A cell is what is judged together: pairs of one
#' launch, operation, size, treatment and level.
#'
#' @param rows Data frame: rows of a campaign, columns `launch`, `operation`, `bytes`, `pair`, `arm`,
#'   `level_requested_percent` and, where several treatments were run, `kind`, `pattern`, `placement`,
#'   `phase` (NA in off rows).
#' @return A list: `off`, `on` (integer: row numbers of the two halves of each pair, in run order),
#'   `cell` (integer: one code per launch x operation x bytes x treatment x level), `cells` (data frame,
#'   one row per code: `launch`, `operation`, `bytes`, `ranks`, `design`, `kind`, `pattern`, `placement`,
#'   `phase`, `level_requested_percent`, as far as the rows have them), `n_unpaired` (integer: rows
#'   without a partner).
#' @noRd
pair_rows <- function(rows) {
  cells <- cell_key(rows)
  key <- combine_keys(cells, rows[["pair"]])
  off <- which(rows[["arm"]] == "off")
  on <- which(rows[["arm"]] == "on")
  partner <- off[match(key[on], key[off])]
  # an undisturbed stretch of an agent has none by design
  alone <- if (is.null(rows[["design"]])) FALSE else rows[["design"]][on] == "quick"
  n_unpaired <- sum(is.na(partner) & !alone) + length(off) - length(unique(partner[!is.na(partner)]))
  on <- on[!is.na(partner)]
  partner <- partner[!is.na(partner)]
  cell <- code_of(combine_keys(cells[on], rows[["level_requested_percent"]][on], treatment_code(rows, on)))
  first <- on[!duplicated(cell)]
  columns <- intersect(c("launch", "operation", "bytes", "ranks", "design",
                         "level_requested_percent"), names(rows))
  cells <- as.data.frame(c(lapply(stats::setNames(columns, columns), function(n) rows[[n]][first]),
                           treatment_of(rows, first)))
  list(off = partner, on = on, cell = cell, cells = cells, n_unpaired = n_unpaired)
}
