# The table of plots, of `noise`, `acceptance`, `nights` (several acceptance campaigns), `profile` (a
# program's) or `scale` (a projection). A plot function takes the analysis (of acceptance the verdict, of a
# profile its report, of a projection all of it) and `draw`: FALSE: the data frame that it would draw, units
# in the column names. A plot without data is NULL.
plot_table <- function() {
  rows <- lapply(plots(), function(plot) {
    data.frame(name = plot$name, of = plot$of %||% "noise", plot[c("title", "needs")])
  })
  do.call(rbind, rows)
}

# `asks`: the section of the report; `alt`: its words, from its data frame; `size`: width and height, inches
# (else by the number of panels). A function, because the entries refer to functions of files that are read
# later.
plots <- function() {
  list(
    list(name = "pareto", asks = "slower", compares = TRUE,
         title = "Quiet time against what noise and late ranks cost",
         question = "Which algorithm is fast, and little disturbed by noise and late ranks?",
         needs = "algorithms compared in some launches (noiselab run advise)", draw = plot_pareto,
         alt = alt_pareto, size = function(frame, analysis) c(9, 1.6 + 1.5 * n_panels(frame))),
    list(name = "dose", asks = "slower", compares = TRUE, title = "Slowdown by delivered level",
         question = "Which level does each operation sense?", needs = "the time channel, both arms",
         draw = plot_dose, alt = function(frame) alt_dose(frame, "Slowdown, %")),
    list(name = "forest", asks = "slower", compares = TRUE, title = "Slowdown of every cell",
         question = "Which cells are slowed, how surely, and by more than the margin?",
         needs = "the time channel, a level above 0", draw = plot_forest, alt = alt_forest,
         size = size_forest, margin = TRUE),
    list(
      name = "preempted",
      asks = "cpu",
      compares = TRUE,
      title = "Preempted CPU time by delivered level",
      question = "How much CPU time did the load take from the ranks?",
      needs = "the channel preempted, both arms",
      draw = plot_preempted,
      alt = function(frame) {
        alt_dose(frame, "Preempted CPU time, % of one CPU per generator")
      }
    ),
    list(name = "power", asks = "seen", compares = TRUE, title = "Power: chance of detecting a slowdown",
         question = "How small a slowdown would this run have found?",
         needs = "the time channel, a known scatter", draw = plot_power, alt = alt_power),
    list(name = "trace", asks = "trust", compares = FALSE, title = "Halves in run order",
         question = "Did the machine drift, and does the load show?", needs = "two halves of an operation",
         draw = plot_trace, alt = alt_trace),
    list(name = "tail", asks = "slower", compares = FALSE, title = "Tail of the operation times",
         question = "How do long operations change?", needs = "latency histograms (hist.csv)",
         draw = plot_tail, alt = alt_tail),
    list(name = "nodes", asks = "where", compares = TRUE, title = "Extra preempted time by node",
         question = "Which node got the noise?", needs = "shifts by node (nodes.csv), both arms",
         draw = plot_nodes, alt = alt_nodes, size = size_nodes),
    list(name = "intervals", asks = "slower", compares = TRUE, title = "Slowdown by sampling interval",
         question = "How often may the agent sample?",
         needs = "launches of an agent at two sampling intervals", draw = plot_intervals, alt = alt_intervals,
         size = size_intervals, margin = TRUE),
    list(name = "agent-phase", asks = "cpu", compares = FALSE, title = "When the agent takes the CPU",
         question = "Does the agent keep to its period, and when in it does it strike?",
         needs = "bursts of an agent (bursts.HOST.trace)", draw = plot_agent_phase, alt = alt_agent_phase),
    list(name = "acceptance-matrix", asks = "failed", of = "acceptance", compares = FALSE,
         title = "Verdicts by node and check", question = "Which node failed what?",
         needs = "an acceptance campaign", draw = plot_acceptance_matrix, alt = alt_acceptance_matrix,
         margin = TRUE, size = function(frame, result) size_hosts(frame$host, 2.4, 0.28)),
    list(name = "acceptance-map", asks = "where", of = "acceptance", compares = FALSE,
         title = "Time lost on every CPU, over the run", question = "Which CPU lost time, and when?",
         needs = "an acceptance campaign with the check detour", draw = plot_acceptance_map,
         alt = alt_acceptance_map, size = function(frame, result) size_hosts(frame$line, 2.6, 0.2)),
    list(name = "acceptance-causes", asks = "who", of = "acceptance", compares = FALSE,
         title = "Who used the CPUs", question = "Which CPU lost time to whom?",
         needs = "an acceptance campaign with the check detour, or a record of who ran",
         draw = plot_acceptance_causes, alt = alt_acceptance_causes,
         size = function(frame, result) size_hosts(frame$line, 2.4, 0.28)),
    list(name = "acceptance-scale", asks = "who", of = "acceptance", compares = FALSE,
         title = "What each cause would cost at scale",
         question = "Whose bursts cost most where many such nodes wait for each other?",
         needs = "an acceptance campaign with a record of who ran", draw = plot_acceptance_scale,
         alt = alt_acceptance_scale, margin = TRUE,
         size = function(frame, result) c(9, 1.9 + 0.3 * nrow(frame))),
    list(name = "acceptance-trend", asks = "failed", of = "nights", compares = FALSE,
         title = "Figures of every node, night by night",
         question = "What changed, on which node, and since which night?",
         needs = "two acceptance campaigns or more", draw = plot_acceptance_trend, alt = alt_acceptance_trend,
         size = function(frame, trend) c(9, 1.7 + 2 * ceiling(n_panels(frame) / 2)), margin = TRUE),
    list(name = "profile", asks = "where", of = "profile", compares = FALSE,
         title = "Where each rank's time went", question = "Which rank works, which waits, and what for?",
         needs = "a run of noiselab profile", draw = plot_profile, alt = alt_profile, size = size_profile),
    list(name = "scale", asks = "scale", of = "scale", compares = FALSE,
         title = "Slowdown by number of nodes", question = "What does the measured noise cost on many nodes?",
         needs = "a campaign or profile whose bursts are known", draw = plot_scale, alt = alt_scale,
         size = function(frame, projection) c(9, 4.4))
  )
}

plots_of <- function(kind) Filter(function(plot) (plot$of %||% "noise") == kind, plots())

alt_panels <- function(frame, title, phrase) {
  parts <- split(frame, in_order(as.character(frame$panel)))
  more <- length(parts) - 8
  text <- vapply(utils::head(names(parts), 8), function(name) paste0(name, ": ", phrase(parts[[name]])), "")
  paste0(title, ". ", paste(text, collapse = "; "),
         if (more > 0) sprintf("; and %d more, in the table beside", more), ".")
}

alt_dose <- function(frame, effect) {
  alt_panels(frame, paste0(effect, ", by level"), function(rows) {
    rows <- rows[order(-rows$level_requested_percent), ]
    level <- ifelse(rows$level_requested_percent == 0, "the placebo",
                    paste(format_level(rows$level_requested_percent), "%"))
    words <- c("detected" = "detected at", "detected alone" = "detected alone at", "not detected" = "not at",
               "inconclusive" = "inconclusive at")
    found <- intersect(names(words), rows$series)
    text <- vapply(found, function(kind) {
      paste(words[[kind]], paste(level[rows$series == kind], collapse = ", "))
    }, "")
    text[text == text[1]] <- sub("^not at", "not detected at", text[1])
    paste0(paste(text, collapse = ", "), " (", format_effect(rows$estimate[1]), " % at ", level[1], ")")
  })
}

alt_trace <- function(frame) {
  alt_panels(frame, "Time per operation in run order", function(rows) {
    arm <- function(name) plain(stats::median(rows$time_us[rows$arm == name]))
    sprintf("median %s \u00b5s off, %s \u00b5s on; slowest half %s \u00b5s", arm("off"), arm("on"),
            plain(max(rows$time_us)))
  })
}

alt_tail <- function(frame) {
  reached <- function(rows) plain(max(rows$lo_us[rows$probability >= 1e-4]))
  alt_panels(frame, "Time that 1 in 10 000 operations reaches", function(rows) {
    off <- rows[rows$arm == "off", ]
    on <- rows[rows$arm == "on", ]
    on <- on[on$level == max(on$level, -Inf), ]
    paste(
      c(
        if (nrow(off) > 0) paste(reached(off), "\u00b5s off"),
        if (nrow(on) > 0) {
          paste(
            reached(on),
            "\u00b5s on",
            if (has_level(on$level[1])) {
              paste("at", format_level(on$level[1]), "%")
            } else {
              "under the treatment"
            }
          )
        }
      ),
      collapse = ", "
    )
  })
}

plot_frame <- function(plot, analysis) {
  if (plot$compares && is_clean(analysis)) return(NULL)
  frame <- plot$draw(analysis, draw = FALSE)
  if (NROW(frame) == 0) return(NULL)
  # Clean launches of one loop each have a trace of one point.
  if (plot$name == "trace" && NROW(frame) <= n_panels(frame)) return(NULL)
  frame
}

# The plot of a data frame that it gave: what is slow to compute is not computed twice.
draw_frame <- function(plot, analysis, frame) {
  analysis$frames[[plot$name]] <- frame
  plot$draw(analysis)
}
