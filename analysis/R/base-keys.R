# One number per (launch, operation, bytes).
cell_key <- function(rows) {
  combine_keys(code_of(rows[["launch"]]), code_of(rows[["operation"]]), rows[["bytes"]])
}

# Dense codes 1, 2, ... in order of first appearance.
code_of <- function(x) match(x, unique(x))

# The same in sorted order: for split(), which turns every number of a long column into text otherwise.
rank_of <- function(x) match(x, sort(unique(x)))

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

# Whole numbers serve as their own codes, which saves hashing the long columns.
cheap_code <- function(x) {
  if (length(x) == 0) return(numeric())
  if (is.numeric(x) && !anyNA(x) && min(x) >= 0 && max(x) < 2^26 && all(x == floor(x))) x else code_of(x)
}
