# Plots of an acceptance campaign: which node failed what, and where the time went.

# The colours of tiles, by verdict. A function, because the colours are of a file that is read later.
verdict_colours <- function() {
  looks <- verdict_looks[match(c("pass", "fail", "inconclusive"), verdict_looks$word), ]
  c(stats::setNames(colour_of(looks$colour), looks$word), "not judged" = "grey88")
}
# Lines of many nodes are narrow, and labels that would touch are left out.
many_hosts <- 24
size_hosts <- function(lines, top, few) c(9, min(40, top + length(unique(lines)) * if (length(unique(lines)) > many_hosts) 0.16 else few))
host_axis <- function(n) list(
  ggplot2::scale_y_discrete(guide = ggplot2::guide_axis(check.overlap = TRUE)),
  if (n > many_hosts) ggplot2::theme(axis.text.y = ggplot2::element_text(size = 7))
)

verdict_letters <- c(pass = "", fail = "fail", inconclusive = "?", "not judged" = "")

plot_acceptance_matrix <- function(result, draw = TRUE) {
  frame <- result$frames[["acceptance-matrix"]] %||% matrix_data(result)
  if (!draw || is.null(frame)) return(frame)
  frame$check <- factor(frame$check, names(acceptance_checks))
  frame$host <- factor(frame$host, rev(unique(frame$host)))
  frame$verdict <- factor(frame$verdict, names(verdict_colours()))
  n <- nlevels(frame$host)
  ggplot2::ggplot(frame, ggplot2::aes(check, host, fill = verdict)) + ggplot2::geom_tile(colour = "white", linewidth = 0.8) +
    ggplot2::geom_text(ggplot2::aes(label = paste0(verdict_letters[as.character(verdict)],
                                                   ifelse(is.na(effect) | n > many_hosts & verdict == "pass", "", paste0(ifelse(verdict == "fail", " ", ""), effect)))),
                       size = if (n > many_hosts) 2.4 else 2.9) +
    ggplot2::scale_fill_manual(NULL, values = verdict_colours(), drop = TRUE) + ggplot2::scale_x_discrete(position = "top") +
      theme_noiselab() + host_axis(n) +
    ggplot2::theme(panel.grid = ggplot2::element_blank(), axis.text.x = ggplot2::element_text(angle = 30, hjust = 0)) +
    plot_words("Verdicts by node and check", sprintf("%s; %s", counted(n, "node"), counted(length(result$acceptance$launches), "launch", "launches")),
               paste("Numbers: how much worse the node is than the others in its worst figure (percent; points of percent where marked pt;",
                     "below 0: better). A slow link",
                     "does not fail its nodes: they are undecided."), NULL, NULL)
}

matrix_data <- function(result) {
  rows <- result$judgements
  checks <- result$checks$check[result$checks$status == "ran"]
  mine <- judged_hosts(rows, result$acceptance$hosts)
  bind_rows(lapply(result$acceptance$hosts, function(host) {
    bind_rows(lapply(checks, function(check) {
      at <- mine[[host]][rows$check[mine[[host]]] == check]
      link <- grepl(" - ", rows$entity[at], fixed = TRUE) & rows$verdict[at] == "fail"
      verdict <- if (length(at) > 0) worst_verdict(ifelse(link, "inconclusive", rows$verdict[at])) else
        if (check == "integrity") "pass" else "not judged"
      worse <- result$comparisons[result$comparisons$check == check & result$comparisons$entity == host &
                                  result$comparisons$effect_unit %in% c("percent", "points"), ]
      top <- if (NROW(worse) > 0) worse[which.min(worse$p_one_sided), ]
      data.frame(host = host, check = check, verdict = verdict,
                 effect = if (NROW(top) > 0) paste0(format_effect(top$effect), if (top$effect_unit == "points") " pt" else "") else NA_character_)
    }))
  }))
}

alt_acceptance_matrix <- function(frame) {
  bad <- frame[frame$verdict == "fail", ]
  paste0("Verdicts by node and check: ", if (nrow(bad) == 0) "none failed" else few_words(paste(bad$host, "failed", bad$check), 6), ".")
}

plot_acceptance_map <- function(result, draw = TRUE) {
  frame <- result$frames[["acceptance-map"]] %||% lost_map_data(result)
  if (!draw || is.null(frame)) return(frame)
  frame$line <- in_order(frame$line)
  frame$line <- factor(frame$line, rev(levels(frame$line)))
  n <- nlevels(frame$line)
  starts <- sort(tapply(frame$turn, in_order(frame$launch), min))
  ggplot2::ggplot(frame, ggplot2::aes(turn, line, fill = lost_percent)) + ggplot2::geom_tile() +
    ggplot2::geom_vline(xintercept = starts[-1] - 0.5, colour = "black", linewidth = 0.5) +
    ggplot2::scale_fill_gradientn("time lost, %", colours = c("grey96", okabe_ito[["sky"]], okabe_ito[["blue"]], "black")) +
    ggplot2::scale_x_continuous(breaks = if (max(frame$turn) <= 30) sort(unique(frame$turn)) else ggplot2::waiver(),
                                expand = ggplot2::expansion()) + theme_noiselab() + host_axis(n) +
    plot_words("Time lost on every CPU, over the run", sprintf("%s, parted by lines; all CPUs scanned at once",
        counted(length(starts), "launch", "launches")),
               paste0("Share of the time lost in detours (check detour, variant all).",
                      if (anyNA(frame$cpu)) " A line is a node: the most that one of its CPUs lost."),
               "repetition, counted over launches", NULL)
}

most_map_lines <- 64

lost_map_data <- function(result) {
  rows <- result$acceptance$figures
  rows <- rows[rows$check == "detour" & rows$variant == "all" & rows$metric == "lost" & !is.na(rows$repetition) & !is.na(rows$cpu), ]
  if (nrow(rows) == 0) return(NULL)
  rows <- rows[order(match(rows$host, result$acceptance$hosts), rows$cpu), ]
  if (nrow(unique(rows[c("host", "cpu")])) > most_map_lines) {
    worst <- order(rows$value, decreasing = TRUE)
    rows <- rows[sort(worst[!duplicated(rows[worst, c("launch", "repetition", "host")])]), ]
    rows$cpu <- NA
  }
  turn <- paste(rows$launch, rows$repetition)
  first <- unique(turn[order(match(rows$launch, names(result$acceptance$launches)), rows$repetition)])
  data.frame(panel = "", host = rows$host, cpu = rows$cpu, line = paste0(rows$host,
      ifelse(is.na(rows$cpu), "", paste0(", CPU ", rows$cpu))),
             turn = match(turn, first), launch = rows$launch, lost_percent = rows$value)
}

alt_acceptance_map <- function(frame) {
  top <- frame[which.max(frame$lost_percent), ]
  sprintf("Time lost on every CPU over the run: most on %s, in repetition %d: %s %%.", top$line, top$turn,
          format_effect(top$lost_percent, FALSE))
}
