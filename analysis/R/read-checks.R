# What the contract says of the checks of acceptance: common/contract/checks.table.

contract_checks <- contract_table("checks")

# A list by check: `what`, `todo`, `head`, `best`, `variants`, `size`, as the table has them; NULL where it
# has nothing.
acceptance_checks <- local({
  words <- function(text) if (!is.na(text)) sub("^\"\"$", "", strsplit(text, " ", fixed = TRUE)[[1]])
  lapply(split(contract_checks, factor(contract_checks$name, contract_checks$name)), function(row) {
    list(what = row$what, todo = row$todo, head = if (!is.na(row$head)) row$head, best = words(row$best),
         variants = words(row$variants), size = if (!is.na(row$size)) row$size)
  })
})

# Names of the checks of which a field of the table is this.
checks_with <- function(field, value) contract_checks$name[contract_checks[[field]] %in% value]

# Of what class nodes are that are held against each other by a check: hardware or network. One that the
# table does not know is refused: nodes of two switches, or of two kinds of hardware, would be compared in
# silence.
class_of_check <- function(check) {
  class <- contract_checks$class[match(check, contract_checks$name)]
  if (anyNA(class)) {
    abort_data("nodes cannot be compared by the check '", check[is.na(class)][1],
               "': common/contract/checks.table has no class for it")
  }
  class
}
