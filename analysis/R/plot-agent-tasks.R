#' Who took the CPU of the ranks, as bars
#'
#' Per node and arm the tasks that ran most on the ranks' CPUs, beside the off halves. Of several launches the mean.
#'
#' @inheritParams plot_dose
#' @return A ggplot, or a data frame with `panel`, `host`, `kind`, `level_requested_percent`, `task` (with its group),
#'   `group`, `arm`, `us_per_s` (CPU time, us per second), `n_launches`, `source`; NULL without `tasks.HOST.csv`.
#' @noRd
plot_agent_tasks <- function(analysis, draw = TRUE) {
  frame <- analysis$frames[["agent-tasks"]] %||% agent_tasks_data(analysis)
  if (!draw || is.null(frame)) return(frame)
  frame$panel <- in_order(frame$panel)
  frame$task <- factor(frame$task, rev(unique(frame$task)))
  frame$arm <- factor(frame$arm, c("on", "off"))
  scale <- shift_scale(frame["us_per_s"], frame$us_per_s[which(frame$us_per_s > 0)])
  frame$us_per_s <- scale$values$us_per_s
  ggplot2::ggplot(frame, ggplot2::aes(us_per_s, task, fill = arm)) +
    ggplot2::geom_col(na.rm = TRUE, position = ggplot2::position_dodge(width = 0.75), width = 0.7) +
    ggplot2::scale_fill_manual(NULL, values = arm_colours, breaks = c("off", "on"), labels = c(off = "off halves", on = "on halves")) +
    scale$axis + ggplot2::facet_wrap(~panel, ncol = min(2, n_panels(frame))) + theme_noiselab() +
    plot_words("Who took the CPU of the ranks",
               sprintf("%s, measured halves only; %s", counted(max(frame$n_launches), "launch"),
                       paste(unique(stats::na.omit(task_sources[frame$source])), collapse = "; ")),
               paste0(sprintf(paste("The agent, and the tasks that ran most on the CPUs of ranks (%d in all; the ranks themselves and idle left",
                                    "out), in each arm and in the off halves. In brackets their group; irq, softirq and steal are from",
                                    "/proc/stat, in steps of a clock tick."),
                       length(unique(frame$task))), scale$words),
               "CPU time, \u00b5s per second", NULL)
}

agent_tasks_data <- function(analysis, most = 10, most_panels = 12) {
  report <- agent_of(analysis)
  rows <- report$tasks
  if (NROW(rows) == 0) return(NULL)
  rows$name <- ifelse(rows$task == rows$group, rows$task, paste0(rows$task, " (", rows$group, ")"))
  rows$panel <- paste0(rows$host, ", ", arm_label(rows))
  panels <- utils::head(unique(rows$panel), most_panels)
  total <- tapply(pmax(rows$us_per_s, rows$off_us_per_s, na.rm = TRUE), rows$name, max)
  total <- total[!is.na(total)]
  # What is switched on purpose is shown, however little it is.
  switched <- unique(rows$name[rows$group %in% treated_groups & rows$us_per_s > 0])
  others <- setdiff(names(sort(total[total > 0], decreasing = TRUE)), switched)
  shown <- utils::head(c(switched, others), most)
  rows <- rows[rows$name %in% shown, ]
  rows <- rows[order(match(rows$name, shown)), ]
  rows <- rows[rows$panel %in% panels, ]
  if (nrow(rows) == 0) return(NULL)
  bind_rows(lapply(split(rows, in_order(paste(rows$panel, rows$name, sep = "\r"))), function(part) { # a part per launch
    data.frame(panel = part$panel[1], host = part$host[1], kind = part$kind[1], level_requested_percent = part$level_requested_percent[1],
               task = part$name[1], group = part$group[1], arm = c("off", "on"),
               us_per_s = c(mean_or_na(part$off_us_per_s), mean_or_na(part$us_per_s)), n_launches = nrow(part), source = part$source[1])
  }))
}

size_agent_tasks <- function(frame, analysis) {
  rows <- ceiling(n_panels(frame) / 2)
  c(9, min(40, 1.9 + rows * (0.5 + 0.26 * length(unique(frame$task)))))
}

alt_agent_tasks <- function(frame) {
  alt_panels(frame, "Who took the CPU of the ranks", function(rows) {
    on <- rows[rows$arm == "on", ]
    off <- rows[rows$arm == "off", ]
    shift <- on$us_per_s - off$us_per_s[match(on$task, off$task)]
    top <- utils::head(order(-shift), 3)
    paste(sprintf("%s %s \u00b5s/s on, %s off", on$task[top], three(on$us_per_s[top]), three(off$us_per_s[match(on$task[top], off$task)])),
          collapse = ", ")
  })
}
