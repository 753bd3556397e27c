# The channels of a half-period. Each half-period yields several figures, and each answers another question:
# common/contract/channels.table.

# Time of one operation in ns: with synchronised starts that of all ranks on the common clock, else the loop's
# share. (Between synchronised starts ranks wait, so there the loop says nothing.)
operation_ns <- function(rows) {
  loop <- rows[["wall_ns"]] / rows[["operations"]]
  global <- rows[["global_ns"]]
  if (is.null(global)) return(loop)
  ifelse(is.na(global), loop, global / rows[["operations"]])
}

operation_ns_at <- function(rows, at) {
  columns <- intersect(c("wall_ns", "operations", "global_ns"), names(rows))
  operation_ns(lapply(stats::setNames(columns, columns), function(n) rows[[n]][at]))
}

# Time that the hypervisor took, % of wall time: by the ranks' own clocks, which resolve more, where they
# know it. What it takes comes rarely and long: most differences are next to 0, medians say nothing.
steal_percent <- function(rows) {
  unknown <- rep(NA_real_, length(rows[["wall_ns"]]))
  own <- rows[["rank_steal_ns_max"]] %||% unknown
  100 * ifelse(is.na(own), rows[["steal_ns"]] %||% unknown, own) / rows[["wall_ns"]]
}

# An expression of columns as a function of rows and the number of generators of each row's launch. Columns
# that are not there are NULL.
channel_value <- function(text) {
  if (is.na(text)) return(NULL)
  expression <- str2lang(text)
  columns <- setdiff(all.vars(expression), c("rows", "n_generators"))
  function(rows, n_generators) {
    eval(
      expression,
      c(lapply(stats::setNames(columns, columns), function(name) rows[[name]]),
        list(rows = rows, n_generators = n_generators)),
      topenv()
    )
  }
}

channels <- local({
  table <- contract_table("channels")
  has_flag <- function(row, flag) flag %in% strsplit(row$flags, " ", fixed = TRUE)[[1]]
  lapply(split(table, factor(table$name, table$name)), function(row) {
    row$flags[is.na(row$flags)] <- ""
    list(
      unit = row$unit,
      quantity = row$quantity,
      columns = if (is.na(row$columns)) {
        character()
      } else {
        strsplit(row$columns, " ", fixed = TRUE)[[1]]
      },
      formula = row$formula,
      question = row$question,
      value = channel_value(row$value),
      transform = row$transform,
      test = row$test,
      typical = has_flag(row, "typical"),
      control = has_flag(row, "control"),
      asked = has_flag(row, "asked"),
      zero_is_known = has_flag(row, "zero_is_known"),
      name = row$name
    )
  })
})

check_channels <- function(names_wanted) {
  if (is.null(names_wanted)) return(names(channels)[!vapply(channels, `[[`, TRUE, "asked")])
  unknown <- setdiff(names_wanted, names(channels))
  check_argument(length(unknown) == 0 && length(names_wanted) > 0, "channels", unknown,
                 paste("some of", paste(names(channels), collapse = ", ")))
  unique(names_wanted)
}

# Effect of a mean on the test's scale, in the unit of the channel.
to_effect <- function(channel, x) {
  if (channels[[channel]]$transform == "log_ratio") 100 * expm1(x) else x
}
