#' The channels of a half-period
#'
#' Each half-period yields several figures, and each answers another question.
#'
#' @return A data frame, one row per channel: `name`; `unit` of the effect; `transform`
#'   (`log_ratio`: the effect is the percent change of the mean log ratio on/off; `difference`: the
#'   effect is on minus off, in points); `test` (`mean`: sign-flip test of the mean; `signed_rank`:
#'   Wilcoxon's, for channels with a heavy-tailed background); `pseudo_median` (may the pseudo-median
#'   be reported where every on half holds the same whole number of bursts); `control` (not an effect
#'   of the treatment on the code); `formula` in terms of the columns of `halves.csv`; `question`.
#' @examples
#' channel_table()[, c("name", "unit", "formula")]
#' @export
channel_table <- function() {
  rows <- lapply(channels, function(channel) {
    as.data.frame(channel[c("name", "unit", "transform", "test", "pseudo_median", "control",
                            "formula", "question")])
  })
  do.call(rbind, unname(rows))
}

# One entry per channel. `value` gets the rows and the number of generators of each row's launch;
# `columns` must not be empty for the channel to exist. Adding a channel is adding an entry.
channels <- list(
  time = list(
    name = "time", unit = "%", transform = "log_ratio", test = "mean", pseudo_median = FALSE,
    control = FALSE, columns = c("wall_ns", "operations"),
    formula = "wall_ns / operations",
    question = "How much slower is the synchronised code?",
    value = function(rows, n_generators) rows[["wall_ns"]] / rows[["operations"]]
  ),
  stolen = list(
    name = "stolen", unit = "% of one CPU per generator", transform = "difference",
    test = "signed_rank", pseudo_median = TRUE, control = FALSE,
    columns = c("stolen_ns_sum", "wall_ns"),
    formula = "100 * stolen_ns_sum / (wall_ns * max(1, n_generators))",
    question = "How much CPU time did other processes of this system take from the ranks?",
    value = function(rows, n_generators) {
      100 * rows[["stolen_ns_sum"]] / (rows[["wall_ns"]] * n_generators)
    }
  ),
  detour = list(
    name = "detour", unit = "% of wall time", transform = "difference", test = "signed_rank",
    pseudo_median = TRUE, control = FALSE, columns = c("detour_ns", "wall_ns"),
    formula = "100 * detour_ns / wall_ns",
    question = "How much time went into operations that took unusually long?",
    value = function(rows, n_generators) 100 * rows[["detour_ns"]] / rows[["wall_ns"]]
  ),
  base = list(
    name = "base", unit = "%", transform = "log_ratio", test = "mean", pseudo_median = FALSE,
    control = FALSE, columns = "base_ns",
    formula = "base_ns",
    question = "Did the undisturbed operation become slower (cache, memory, frequency)?",
    value = function(rows, n_generators) rows[["base_ns"]]
  ),
  steal = list(
    name = "steal", unit = "% of wall time", transform = "difference", test = "signed_rank",
    # The clock behind this channel ticks every 10 ms: most differences are 0, medians say nothing.
    pseudo_median = FALSE, control = TRUE, columns = c("steal_ns", "wall_ns"),
    formula = "100 * steal_ns / wall_ns",
    question = "Did the hypervisor take time meanwhile (a control, not an effect)?",
    value = function(rows, n_generators) 100 * rows[["steal_ns"]] / rows[["wall_ns"]]
  )
)

check_channels <- function(names_wanted) {
  if (is.null(names_wanted)) return(names(channels))
  unknown <- setdiff(names_wanted, names(channels))
  check_argument(length(unknown) == 0 && length(names_wanted) > 0, "channels", unknown,
                 paste("some of", paste(names(channels), collapse = ", ")))
  unique(names_wanted)
}

# Effect of a mean on the test's scale, in the unit of the channel.
to_effect <- function(channel, x) {
  if (channels[[channel]]$transform == "log_ratio") 100 * expm1(x) else x
}
