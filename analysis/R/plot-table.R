#' The table of plots
#'
#' Report and front ends draw from it; adding a plot is adding a function, an entry and a test. Every
#' plot function takes an `nl_analysis` and `draw`; with `draw = FALSE` it returns the data frame it
#' would draw, units in the column names. A plot without data is NULL.
#'
#' @return A data frame, one row per plot: `name`, `title`, `question`.
#' @examples
#' plot_table()
#' @export
plot_table <- function() {
  rows <- lapply(plots(), function(plot) as.data.frame(plot[c("name", "title", "question")]))
  do.call(rbind, rows)
}

# A function, because the entries refer to functions of files that are read later.
plots <- function() list(
  list(name = "dose", title = "Slowdown by delivered level",
       question = "Which level does each operation sense?", draw = plot_dose,
       alt = "Slowdown against delivered noise level, per operation, with confidence intervals."),
  list(name = "stolen", title = "Stolen CPU time by delivered level",
       question = "How much CPU time did the load take from the ranks?", draw = plot_stolen,
       alt = "Stolen CPU time against delivered noise level, per operation, with intervals."),
  list(name = "levels", title = "Slowdown by level, every batch or launch a point",
       question = "How do the levels spread?", draw = plot_levels,
       alt = "Box plots of the slowdown by noise level, with every batch or launch as a point."),
  list(name = "trace", title = "Halves in run order",
       question = "Did the machine drift, and does the load show?", draw = plot_trace,
       alt = "Time per operation of each half in run order, off and on halves by colour and shape."),
  list(name = "tail", title = "Tail of the operation times",
       question = "How do long operations change?", draw = plot_tail,
       alt = "Share of operations at least as long as a time, per arm and level, on log axes."),
  list(name = "allan", title = "Allan deviation of the clean loop time",
       question = "How long may one average before drift wins?", draw = plot_allan,
       alt = "Allan deviation of the log loop time of off halves against averaging time."),
  list(name = "launches", title = "Slowdown by launch",
       question = "Do launches agree?", draw = plot_launches,
       alt = "Slowdown of each launch with its confidence interval, by level and operation.")
)
