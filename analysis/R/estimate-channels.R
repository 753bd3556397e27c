# The channels of a half-period. Each half-period yields several figures, and each answers another question.
# `columns`: without a value in them there is no channel; `value` gets the rows and the number of generators of each row's launch; `unit` of the
# effect; `transform` (`log_ratio`: the effect is the percent change of the mean log ratio on/off; `difference`: on minus off, in points); `test`
# where the number of bursts varies from half to half (`mean`: sign-flip test of the mean; `signed_rank`: Wilcoxon's, for channels with a
# heavy-tailed background); `typical` (where the design gives every on half the same whole number of bursts, the typical shift is tested: signed
# rank and pseudo-median); `control` (not an effect of the treatment on the code); `asked` (analyzed only when asked for by name);
# `zero_is_known` (a half of 0 was measured); `formula` in terms of the columns of `halves.csv`; `question`.
channel <- function(unit, columns, formula, question, value, transform = "difference", test = "mean", typical = TRUE, control = FALSE, asked = FALSE,
                    zero_is_known = FALSE) as.list(environment())

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

channels <- local({
  all <- list(
    time = channel("%", c("wall_ns", "operations"), "wall_ns / operations; with synchronised starts global_ns / operations",
      "How much slower is the synchronised code?", function(rows, n_generators) operation_ns(rows), transform = "log_ratio"),
    # the scheduler counts nanoseconds: halves in which nobody waited are 0, and known to be
    preempted = channel("% of one CPU per generator", c("preempted_ns_sum", "wall_ns"), "100 * preempted_ns_sum / (wall_ns * max(1, n_generators))",
      "How much CPU time did other tasks of this system take from the ranks?",
      function(rows, n_generators) 100 * rows[["preempted_ns_sum"]] / (rows[["wall_ns"]] * n_generators), test = "signed_rank", zero_is_known = TRUE),
    # Of bursts, not of pairs: see locked_verdict().
    locked = channel("%", character(), "x / (1 - x), x = cost of a burst (slices.HOST.bin) * bursts per second",
      "How much slower is the code by the load's own bursts on the ranks' CPUs?", NULL, typical = FALSE),
    detour = channel("% of wall time", c("detour_ns", "wall_ns"), "100 * detour_ns / wall_ns",
      "How much time went into operations that took unusually long?",
      function(rows, n_generators) 100 * rows[["detour_ns"]] / rows[["wall_ns"]], test = "signed_rank"),
    base = channel("%", "base_ns", "base_ns", "Did the undisturbed operation become slower (cache, memory, frequency)?",
      function(rows, n_generators) rows[["base_ns"]], transform = "log_ratio"),
    # What a hypervisor takes comes rarely and long: most differences are next to 0, medians say nothing.
    steal = channel("% of wall time", "wall_ns", "100 * rank_steal_ns_max / wall_ns; where that is not known 100 * steal_ns / wall_ns",
      "Did the hypervisor take time meanwhile (a control, not an effect)?",
      function(rows, n_generators) {
        unknown <- rep(NA_real_, length(rows[["wall_ns"]]))
        own <- rows[["rank_steal_ns_max"]] %||% unknown
        100 * ifelse(is.na(own), rows[["steal_ns"]] %||% unknown, own) / rows[["wall_ns"]]
      }, typical = FALSE, control = TRUE, zero_is_known = TRUE),
    arrival = channel("%", "spread_ns", "spread_ns / operations", "How much further apart do the ranks start?",
      function(rows, n_generators) rows[["spread_ns"]] / rows[["operations"]], transform = "log_ratio", asked = TRUE)
  )
  Map(function(one, name) c(one, name = name), all, names(all))
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
