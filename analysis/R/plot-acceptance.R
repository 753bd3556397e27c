# Plots of an acceptance campaign: which node failed what, and where the time went.

# The colours of tiles, by verdict. A function, because the colours are of a file that is read later.
verdict_colours <- function() {
  looks <- verdict_looks[match(c("pass", "fail", "inconclusive"), verdict_looks$word), ]
  c(stats::setNames(colour_of(looks$colour), looks$word), "not judged" = "grey88")
}
# Lines of many nodes are narrow, and labels that would touch are left out.
many_hosts <- 24
size_hosts <- function(lines, top, few) {
  c(9, min(40, top + length(unique(lines)) * if (length(unique(lines)) > many_hosts) 0.16 else few))
}
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
  ggplot2::ggplot(frame, ggplot2::aes(check, host, fill = verdict)) +
    ggplot2::geom_tile(colour = "white", linewidth = 0.8) +
    ggplot2::geom_text(
      ggplot2::aes(
        label = paste0(
          verdict_letters[as.character(verdict)],
          ifelse(is.na(effect) | n > many_hosts & verdict == "pass", "",
                 paste0(ifelse(verdict == "fail", " ", ""), effect))
        )
      ),
      size = if (n > many_hosts) 2.4 else 2.9
    ) + ggplot2::scale_fill_manual(NULL, values = verdict_colours(), drop = TRUE) +
    ggplot2::scale_x_discrete(position = "top") + theme_noiselab() + host_axis(n) +
    ggplot2::theme(panel.grid = ggplot2::element_blank(),
                   axis.text.x = ggplot2::element_text(angle = 30, hjust = 0)) +
    plot_words(
      "Verdicts by node and check",
      sprintf("%s; %s", counted(n, "node"),
              counted(length(result$acceptance$launches), "launch", "launches")),
      paste(
        paste0("Numbers: how much worse the node is than the others in its worst figure (percent; points of ",
               "percent where marked pt;"),
        "below 0: better). A slow link",
        "does not fail its nodes: they are undecided."
      ),
      NULL,
      NULL
    )
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
      data.frame(
        host = host,
        check = check,
        verdict = verdict,
        effect = if (NROW(top) > 0) {
          paste0(format_effect(top$effect), if (top$effect_unit == "points") " pt" else "")
        } else {
          NA_character_
        }
      )
    }))
  }))
}

alt_acceptance_matrix <- function(frame) {
  bad <- frame[frame$verdict == "fail", ]
  paste0(
    "Verdicts by node and check: ",
    if (nrow(bad) == 0) {
      "none failed"
    } else {
      few_words(paste(bad$host, "failed", bad$check), 6)
    },
    "."
  )
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
    ggplot2::scale_fill_gradientn("time lost, %",
                                  colours = c("grey96", okabe_ito[["sky"]], okabe_ito[["blue"]], "black")) +
    ggplot2::scale_x_continuous(
      breaks = if (max(frame$turn) <= 30) {
        sort(unique(frame$turn))
      } else {
        ggplot2::waiver()
      },
      expand = ggplot2::expansion()
    ) + theme_noiselab() + host_axis(n) +
    plot_words(
      "Time lost on every CPU, over the run",
      sprintf("%s, parted by lines; all CPUs scanned at once", counted(length(starts), "launch", "launches")),
      paste0("Share of the time lost in detours (check detour, variant all).",
             if (anyNA(frame$cpu)) " A line is a node: the most that one of its CPUs lost."),
      "repetition, counted over launches",
      NULL
    )
}

most_map_lines <- 64

lost_map_data <- function(result) {
  rows <- result$acceptance$figures
  rows <- rows[
    rows$check == "detour" & rows$variant == "all" & rows$metric == "lost" & !is.na(rows$repetition) &
      !is.na(rows$cpu),
  ]
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

# How many tasks have a colour of their own, and how many CPUs a bar.
causes_shown <- list(tasks = 5, lines = 32, bars = 12)

plot_acceptance_causes <- function(result, draw = TRUE) {
  frame <- result$frames[["acceptance-causes"]] %||% cause_map_data(result)
  if (!draw || is.null(frame)) return(frame)
  who <- names(sort(tapply(frame$lost_percent, frame$who, sum), decreasing = TRUE))
  last <- intersect(c("other tasks", unname(cause_kinds[c("interrupts", "hypervisor")])), who)
  frame$who <- factor(frame$who, c(setdiff(who, last), last))
  frame$line <- factor(frame$line, rev(unique(frame$line)))
  colours <- c(
    unname(okabe_ito[c("vermillion", "blue", "orange", "green", "sky")])[seq_along(setdiff(who, last))],
    unname(c("other tasks" = "grey55",
             stats::setNames(c("grey80", "black"), cause_kinds[c("interrupts", "hypervisor")]))[last])
  )
  ggplot2::ggplot(frame, ggplot2::aes(lost_percent, line, fill = who)) +
    ggplot2::geom_col(position = ggplot2::position_stack(reverse = TRUE), width = 0.7) +
    ggplot2::scale_fill_manual(
      NULL, values = stats::setNames(colours, levels(frame$who))
    ) + ggplot2::scale_x_continuous(expand = ggplot2::expansion(c(0, 0.05))) + theme_noiselab() +
    host_axis(nlevels(frame$line)) +
    plot_words(
      "Who used the CPUs",
      sprintf("%s; %s; %s", counted(length(result$acceptance$hosts), "node"),
              counted(nlevels(frame$line), "CPU"),
              counted(length(result$acceptance$launches), "launch", "launches")),
      paste(
        paste0("Tasks: by records of who ran during the launches, without ranks. Interrupts, firmware and ",
               "the hypervisor: what scans with all CPUs busy lost beside tasks."),
        if (isTRUE(attr(frame, "left_out") > 0)) {
          sprintf("%d CPUs that lost less are left out.", attr(frame, "left_out"))
        } else {
          ""
        }
      ),
      "percent of the CPU's time",
      NULL
    )
}

# A row per CPU and cause: `host`, `cpu`, `line`, `who`, `lost_percent`.
cause_map_data <- function(result) {
  known <- known_others(result$acceptance$others)
  span <- vapply(split(vapply(known, `[[`, 0, "span_s"), in_order(vapply(known, `[[`, "", "host"))), sum, 0)
  tasks <- bind_rows(lapply(known, function(o) if (NROW(o$on_cpus) > 0) cbind(host = o$host, o$on_cpus)))
  if (NROW(tasks) > 0) {
    tasks$who <- cause_words(data.frame(task = tasks$task, pid = tasks$pid, processes = NA_real_,
                                        cause = "task"))
    total <- sort(tapply(tasks$busy_s, tasks$who, sum), decreasing = TRUE)
    tasks$who[!tasks$who %in% names(utils::head(total, causes_shown$tasks))] <- "other tasks"
    tasks$lost_percent <- 100 * tasks$busy_s / span[tasks$host]
  }
  rows <- bind_rows(list(if (NROW(tasks) > 0) tasks[c("host", "cpu", "who", "lost_percent")],
                         unnamed_by_cpu(result$acceptance$figures)))
  if (NROW(rows) == 0) return(NULL)
  rows <- stats::aggregate(lost_percent ~ host + cpu + who, rows, sum)
  rows$line <- paste0(rows$host, ", CPU ", rows$cpu)
  most <- sort(tapply(rows$lost_percent, rows$line, sum), decreasing = TRUE)
  shown <- rows[rows$line %in% names(utils::head(most, causes_shown$lines)), ]
  shown <- shown[order(match(shown$host, result$acceptance$hosts), shown$cpu, -shown$lost_percent), ]
  rownames(shown) <- NULL
  structure(shown, left_out = length(most) - length(unique(shown$line)))
}

unnamed_by_cpu <- function(figures) {
  rows <- figures[
    figures$check == "detour" & figures$variant == "all" &
      figures$metric %in% c("lost", "preempted", "steal") & !is.na(figures$repetition) & !is.na(figures$cpu),
  ]
  if (nrow(rows) == 0) return(NULL)
  mean <- stats::aggregate(value ~ host + cpu + metric, rows, mean)
  of <- function(metric) {
    own <- mean[mean$metric == metric, ]
    at <- match(paste(lost$host, lost$cpu), paste(own$host, own$cpu))
    ifelse(is.na(at), 0, own$value[at])
  }
  lost <- mean[mean$metric == "lost", ]
  steal <- of("steal")
  rbind(
    data.frame(host = lost$host, cpu = lost$cpu, who = cause_kinds[["interrupts"]],
               lost_percent = pmax(0, lost$value - of("preempted") - steal)),
    if (any(steal > 0)) {
      data.frame(host = lost$host, cpu = lost$cpu, who = cause_kinds[["hypervisor"]], lost_percent = steal)
    }
  )
}

alt_acceptance_causes <- function(frame) {
  total <- tapply(frame$lost_percent, frame$line, sum)
  top <- names(which.max(total))
  own <- frame[frame$line == top, ]
  own <- utils::head(own[order(-own$lost_percent), ], 3)
  sprintf("Who used each CPU: most was lost on %s, %s %% of its time: %s.", top,
          format_effect(max(total), FALSE),
          join_words(sprintf("%s %s %%", own$who, format_effect(own$lost_percent, FALSE))))
}

plot_acceptance_scale <- function(result, draw = TRUE) {
  frame <- result$frames[["acceptance-scale"]] %||% cause_scale_data(result)
  if (!draw || is.null(frame)) return(frame)
  frame$who <- factor(frame$who, rev(unique(frame$who)))
  margin <- result$at_scale$percent
  ggplot2::ggplot(frame, ggplot2::aes(slowdown_percent, who)) +
    ggplot2::geom_segment(ggplot2::aes(x = low, xend = high, yend = who), colour = okabe_ito[["blue"]],
                          linewidth = 2.2, alpha = 0.35) +
    ggplot2::geom_point(ggplot2::aes(shape = all), size = 2.6, colour = okabe_ito[["blue"]]) +
    ggplot2::scale_shape_manual(values = c("TRUE" = 18, "FALSE" = 16), guide = "none") +
    (if (!is.na(margin)) {
      ggplot2::geom_vline(xintercept = margin, linetype = 2, colour = okabe_ito[["vermillion"]])
    }) + ggplot2::scale_x_log10() + theme_noiselab() +
    plot_words(
      "What each cause would cost at scale",
      sprintf("%s; n = %s of bursts", at_scale_words(result$at_scale), counted(nrow(frame), "cause")),
      paste0(
        "Points: projection of the bursts of each alone, of all together where marked by a diamond; bars: ",
        "99 % interval, cut where the record gives no upper end.",
        if (!is.na(margin)) " Dashed: the margin." else ""
      ),
      "slowdown, percent",
      NULL
    )
}

# A row per cause that was projected, and one per node of all together: `who`, `slowdown_percent`, `low`,
# `high`, `all`.
cause_scale_data <- function(result) {
  causes <- result$causes
  causes <- causes[is.finite(causes$at_scale_percent) & causes$at_scale_percent > 0, ]
  nodes <- result$figures[
    result$figures$check == "scale" & is.finite(result$figures$value) & result$figures$value > 0,
  ]
  several <- length(result$acceptance$hosts) > 1
  of <- function(host) if (several) paste0(host, ": ") else rep("", length(host))
  rows <- bind_rows(list(
    if (nrow(nodes) > 0) {
      data.frame(who = paste0(of(nodes$entity), "all together"), slowdown_percent = nodes$value,
                 low = nodes$ci_low, high = nodes$ci_high, all = TRUE)
    },
    if (NROW(causes) > 0) {
      data.frame(who = paste0(of(causes$host), cause_words(causes)),
                 slowdown_percent = causes$at_scale_percent, low = causes$at_scale_low,
                 high = causes$at_scale_high, all = FALSE)
    }
  ))
  if (NROW(rows) == 0) return(NULL)
  rows <- utils::head(rows[order(-rows$slowdown_percent), ], causes_shown$bars)
  rows$low <- pmax(ifelse(is.finite(rows$low), rows$low, rows$slowdown_percent), rows$slowdown_percent / 1000,
                   1e-6)
  rows$high <- ifelse(is.finite(rows$high), rows$high, rows$slowdown_percent)
  rownames(rows) <- NULL
  rows
}

alt_acceptance_scale <- function(frame) {
  sprintf(
    "What each cause of noise would cost at scale: most by %s.",
    join_words(sprintf("%s, %s %%", utils::head(frame$who, 3),
                       format_effect(utils::head(frame$slowdown_percent, 3), FALSE)))
  )
}

utils::globalVariables(c("who"))
