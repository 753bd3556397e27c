# What an acceptance verdict looks like: for people, for programs, one file per node.

# A value that has no end: bursts leave no time to work, or no record is long enough to bound them. In tables
# it is "unbounded", which the line below them explains.
unbounded_words <- "more than the record can say"
has_unbounded <- function(values) if (any(is.infinite(values))) paste("; unbounded:", unbounded_words) else ""

format_figure <- function(value, unit, endless = unbounded_words) {
  one <- function(v, u) {
    if (is.na(v)) return("-")
    if (is.infinite(v)) return(endless)
    switch(u, ns = format_time(v / 1e9), bytes_per_s = paste0(scaled_bytes(v), "/s"), bytes = scaled_bytes(v),
           percent = paste(format_effect(v, FALSE), "%"), per_s = paste(format_effect(v, FALSE), "/s"),
           count = format_count(v), launches = counted(v, "launch", "launches"), format_effect(v, FALSE))
  }
  # of many rows few are different
  key <- paste(value, unit)
  each <- which(!duplicated(key))
  mapply(one, value[each], rep_len(unit, length(key))[each], USE.NAMES = FALSE)[match(key, key[each])]
}

scaled_bytes <- function(v) if (abs(v) >= 1e9) paste(format(signif(v / 1e9, 4)), "GB") else format_bytes(v)

figure_interval <- function(rows, endless = unbounded_words) {
  ends <- ifelse(
    is.na(rows$ci_low) | is.na(rows$ci_high), "",
    sprintf(" [%s, %s]", format_figure(rows$ci_low, rows$unit), format_figure(rows$ci_high, rows$unit))
  )
  # what has no end has no interval either
  ends[is.infinite(rows$value)] <- ""
  figures <- paste0(format_figure(rows$value, rows$unit, endless), ends)
  # a projected slowdown without an upper end, or too large for a figure
  scale <- which(rows$check == "scale" & !is.na(rows$value))
  kinds <- mapply(slowdown_kind, rows$value[scale], rows$ci_low[scale], rows$ci_high[scale])
  scale <- scale[kinds %in% c("open", "absurd")]
  figures[scale] <- short_slowdowns(rows$value[scale], rows$ci_low[scale], rows$ci_high[scale])
  figures
}

what_words <- function(rows) {
  size <- ifelse(
    is.na(rows$size),
    "",
    ifelse(rows$check %in% checks_with("sized", "ranks"), paste0(" of ", format_count(rows$size)),
           paste0(", ", format_count(rows$size), " B"))
  )
  paste0(
    rows$what,
    size,
    ifelse(nzchar(rows$variant) & rows$check != "topology" & rows$variant != "barrier",
           paste0(", ", rows$variant), "")
  )
}

most_failing <- 40

format_acceptance <- function(result) {
  rows <- result$checks
  why <- paste0("  ", rows$check, ": ", rows$reason)[nzchar(rows$reason)]
  c(
    wrap_line(result$answer),
    wrap_line(result$noise),
    wrap_line(result$hint),
    "",
    table_lines(checks_table(result), indent = 0, width = Inf),
    sub("^; ", "", Filter(nzchar, has_unbounded(rows$value))),
    if (length(why) > 0) c("", wrap_line(why)),
    if (!is.null(causes_table(result))) {
      c("", "who makes the noise", table_lines(causes_table(result), indent = 0, width = Inf),
        wrap_line(causes_legend(result)))
    },
    "",
    failing_lines(result),
    wrap_line(sprintf("self-check: %s (%s)", result$self_check$verdict, result$self_check$reason)),
    "",
    node_lines(result),
    period_lines(result),
    format_notes(unique(result$notes))
  )
}

# The causes of noise, the costliest first; of many nodes each with its name.
causes_table <- function(result, most = Inf) {
  rows <- result$causes
  if (NROW(rows) == 0) return(NULL)
  is_named <- is_named_task(rows)
  rows <- rows[order(!is_named), ][
    sort(is_named, decreasing = TRUE) | rows$percent[order(!is_named)] >= 0.001,
  ]
  if (length(result$acceptance$hosts) > 1) {
    rows <- rows[
      order(-ifelse(is.na(rows$at_scale_percent), -1, rows$at_scale_percent)),
    ]
  }
  rows <- utils::head(rows, most)
  if (nrow(rows) == 0) return(NULL)
  dash <- function(x) ifelse(is.na(x) | !nzchar(x), "-", x)
  often <- ifelse(
    is.na(rows$burst_s),
    NA,
    ifelse(is.na(rows$period_s), paste0(format_effect(rows$per_s, FALSE), "/s"),
           paste("every", format_time(rows$period_s)))
  )
  at_scale <- cause_slowdowns(rows)
  columns <- list(
    host = if (length(result$acceptance$hosts) > 1) col_words("node", rows$host),
    cause = col_words("who", cause_words(rows)),
    unit = if (any(nzchar(rows$unit))) col_words("unit", dash(rows$unit)),
    cpus = col_words("CPU", dash(rows$cpus)),
    burst = col_words("burst", dash(ifelse(is.na(rows$burst_s), NA, format_time(rows$burst_s)))),
    often = col_words("how often", dash(often)),
    duty = col_number(
      "of a CPU", NA,
      dash(ifelse(is.na(rows$percent_of_cpu), NA, format_figure(rows$percent_of_cpu, "percent")))
    ),
    percent = col_number("of the node", NA, format_figure(rows$percent, "percent")),
    scale = col_words("cost at scale", dash(at_scale))
  )
  do.call(new_table, Filter(Negate(is.null), columns))
}

# `open`: beside a whole that is told by its lower end each part is, too.
cause_slowdowns <- function(rows, open = FALSE) {
  if (!open) return(do.call(short_slowdowns, cause_ends(rows)))
  short_slowdowns(rows$at_scale_percent, rows$at_scale_low, rep(NA_real_, nrow(rows)))
}

# By its estimate, of which an absurd one is told by its interval: `value`, `low`, `high`.
cause_ends <- function(rows) {
  value <- rows$at_scale_percent
  plain <- !is.na(value) & value < absurd_percent
  list(value, ifelse(plain, value, rows$at_scale_low), ifelse(plain, value, rows$at_scale_high))
}

causes_legend <- function(result) {
  paste0(
    sprintf("cost at scale: slowdown of %s with this task alone; burst: mean of those that make up its time",
            at_scale_words(result$at_scale)),
    has_unbounded(result$causes$at_scale_percent)
  )
}

checks_table <- function(result) {
  rows <- result$checks
  ran <- rows$status == "ran"
  new_table(
    check = col_words("check", rows$check),
    what = col_words("measures", ifelse(ran, what_words(rows), rows$what)),
    value = col_words("value", ifelse(ran, figure_interval(rows, "unbounded"), "-")),
    entity = col_words("on", rows$entity),
    limit = col_words("limit", rows$limit),
    n_judged = col_words(
      "judged", ifelse(rows$n_judged > 0, paste0(format_count(rows$n_judged), " by ", rows$source), "")
    ),
    verdict = col_words("verdict", rows$verdict),
    mark = rows$verdict
  )
}

acceptance_view <- function(result, operands) {
  rows <- result$checks
  table <- checks_table(result)
  verdict <- ifelse(grepl("not judged", rows$verdict), "not judged", rows$verdict)
  dashed <- function(column) col_words(column$label, ifelse(nzchar(column$value), column$value, "-"))
  table$columns <- c(table$columns["check"], list(verdict = col_verdict("verdict", verdict)),
                     lapply(table$columns[c("value", "entity", "limit")], dashed))
  table$mark <- verdict
  bad <- result$judgements[result$judgements$verdict == "fail", ]
  bad <- bad[!duplicated(paste(bad$check, bad$entity)), ]
  failed <- sprintf("%s%s, %s: %s", ifelse(nzchar(bad$entity), paste0(bad$entity, ": "), ""), bad$check,
                    figure_interval(bad), bad$todo)
  # what the answer says of a busy reference is not said again
  open <- rows[
    rows$verdict == "inconclusive" & nzchar(rows$reason) & !rows$reason %in% result$busy_reference,
  ]
  # the costliest, where the sentences have room: the table of who makes the noise is in --all
  noise <- grep("^CPU time of", result$noise, value = TRUE, invert = TRUE)
  noise[1] <- sub(": most by .*?(?=;|\\.$)", "", noise[1], perl = TRUE)
  at_scale <- grepl("^Projection", noise)
  noise <- c(
    if (any(result$judgements$kind == "scale") || length(result$asked) == 0) {
      noise[at_scale]
    },
    noise[!at_scale]
  )
  noise <- noise[!is.na(noise)]
  self <- if (result$self_check$verdict != "skipped" || length(noise) == 0) {
    sprintf("Self-check: %s (%s).", result$self_check$verdict, result$self_check$reason)
  }
  # who makes the noise is the answer where nobody asked how much is too much
  causes <- if (length(result$asked) == 0 && length(bad$check) == 0) causes_table(result, most = 7)
  if (!is.null(causes)) noise <- grep("^On [^ ]+, ", noise, value = TRUE, invert = TRUE)
  # where something failed already, what failed needs the room
  new_view(
    c(result$answer, noise, self, if (nrow(bad) == 0) result$hint),
    causes %||% table,
    if (is.null(causes)) {
      paste0("value: of the worst node or link, with its interval", has_unbounded(rows$value))
    } else {
      causes_legend(result)
    },
    c(failed, sprintf("%s: %s", open$check, open$reason)),
    length(unique(result$notes)),
    all_command(operands, "acceptance"),
    report_beside(operands)
  )
}

failing_lines <- function(result) {
  bad <- result$judgements[result$judgements$verdict == "fail", ]
  if (nrow(bad) == 0) return(NULL)
  bad <- bad[order(match(bad$check, names(acceptance_checks)), bad$entity), ]
  shown <- utils::head(bad, most_failing)
  lines <- sprintf(
    "  %s%s: %s %s; %s%s (%s)",
    ifelse(nzchar(shown$entity), paste0(ifelse(shown$kind == "link", "link ", ""), shown$entity, ", "), ""),
    shown$check, what_words(shown), figure_interval(shown), shown$limit,
    ifelse(nzchar(shown$effect), paste0(", ", shown$effect), ""), shown$source
  )
  first <- !duplicated(paste(shown$check, shown$entity))
  todo <- ifelse(first, paste0("    -> ", shown$todo), NA)
  c(
    "failed",
    stats::na.omit(as.vector(rbind(lines, todo))),
    if (nrow(bad) > nrow(shown)) {
      sprintf("  and %d more (noiselab analyze acceptance --csv --table judgements)", nrow(bad) - nrow(shown))
    },
    ""
  )
}

node_lines <- function(result) {
  n <- result$nodes
  shown <- n[order(match(n$verdict, c("fail", "inconclusive", "pass"))), ]
  shown <- utils::head(shown, most_failing)
  of <- function(variant, metric) {
    f <- result$figures[
      result$figures$check == "detour" & result$figures$metric == metric & result$figures$variant == variant,
    ]
    format_figure(f$value[match(shown$host, f$entity)], f$unit[match(shown$host, f$entity)])
  }
  scanned <- any(result$figures$check == "detour")
  columns <- if (scanned) list("lost, all" = of("all", "lost"), "lost, alone" = of("alone", "lost"),
                               "detours/s, alone" = of("alone", "detours"),
                               "longest, alone" = of("alone", "longest"), "steal, all" = of("all", "steal"))
  table <- do.call(
    new_table,
    c(list(host = col_words("node", shown$host), verdict = col_words("verdict", shown$verdict)),
      Map(function(label, text) col_number(label, NA, text), names(columns), columns),
      list(reason = col_words("why", shown$reason)))
  )
  c(table_lines(table, indent = 0, width = Inf),
    if (nrow(n) > nrow(shown)) sprintf("  and %d more", nrow(n) - nrow(shown)), "")
}

period_lines <- function(result) {
  p <- result$periods
  if (NROW(p) == 0) return(NULL)
  best <- p[order(p$p), ]
  best <- best[!duplicated(paste(best$host, best$variant)), ]
  c(
    wrap_line(sprintf("periodic detours on %s, CPU %s (%s): every %s (p = %s)", best$host,
                      format_count(best$cpu), best$variant, format_time(best$period_s), format_p(best$p))),
    ""
  )
}

acceptance_tables <- c("estimates", "figures", "checks", "judgements", "nodes", "comparisons", "mismatches",
                       "periods", "histograms", "causes")

acceptance_head <- function(result) {
  c(
    pick(result, c("verdict", "answer", "judged", "complete", "ended_utc", "alpha")),
    list(
      asked = texts(result$asked),
      at_scale = list(nodes = result$at_scale$nodes, every_ns = 1e9 * result$at_scale$every_s,
                      margin_percent = result$at_scale$percent,
                      unseen_ns = 1e9 * result$at_scale$unseen_s),
      noise = texts(result$noise),
      hint = result$hint,
      launches = texts(names(result$acceptance$launches)),
      self_check = pick(result$self_check, c("verdict", "chosen", "named", "reason", "each"))
    )
  )
}

acceptance_data <- function(result) {
  c(list(estimates = acceptance_estimates(result)),
    pick(result, c("checks", "nodes", "margins", "judgements", "figures", "mismatches", "periods", "causes")))
}

# `name: value unit`, with names that stay the same from run to run.
acceptance_lines <- function(result, host = NULL) {
  f <- result$figures
  if (!is.null(host)) f <- f[judged_hosts(f, host)[[1]], ]
  checks <- if (is.null(host)) {
    paste0("check.", result$checks$check, ": ",
           gsub(" ", "_", sub("measured, not judged", "not_judged", result$checks$verdict)))
  }
  integrity <- result$judgements[result$judgements$check == "integrity" & result$judgements$entity == "", ]
  c(
    checks,
    if (nrow(integrity) > 0) {
      sprintf("integrity.mismatches: %s count", format_count(integrity$value))
    },
    sprintf(
      "%s: %s %s",
      f$name,
      ifelse(
        is.infinite(f$value),
        gsub(" ", "_", unbounded_words),
        in_few_digits(f$value, function(x) vapply(x, format, "", digits = 7, scientific = FALSE, trim = TRUE),
                      1e15, 1e-12)
      ),
      f$unit
    )
  )
}

write_node_files <- function(result, dir) {
  if (!dir.exists(dir) && !dir.create(dir, showWarnings = FALSE)) {
    abort_usage("--write nodes: cannot make the directory '", dir, "'")
  }
  bad <- result$judgements[result$judgements$verdict == "fail", ]
  mine <- judged_hosts(bad, result$nodes$host)
  for (i in seq_len(nrow(result$nodes))) {
    node <- result$nodes[i, ]
    if (!grepl(text_pattern, node$host) || startsWith(node$host, ".")) {
      abort_usage("--write nodes: the node's name '", printable(node$host), "' is no file name")
    }
    own <- bad[mine[[node$host]], ]
    head <- own[!duplicated(paste(own$check, own$entity)), ]
    # wrong data need no question
    asked <- length(result$asked) > 0 || any(own$source == "always")
    write_output(
      c(
        paste0("verdict: ", node$verdict),
        paste0("ended_utc: ", result$ended_utc),
        paste0("asked: ", if (asked) "yes" else "no"),
        sprintf("failed: %s %s: %s %s (%s)", head$check, head$entity, what_words(head), figure_interval(head),
                head$limit),
        if (node$verdict == "inconclusive") paste0("why: ", node$reason),
        paste0("self_check: ", result$self_check$verdict),
        acceptance_lines(result, node$host)
      ),
      file.path(dir, paste0(node$host, ".txt"))
    )
  }
}

# JUnit: a test case per check, and per node. htmltools escapes what is handed to a tag; control characters
# are no XML.
acceptance_junit <- function(result) {
  tag <- function(name, ..., text = NULL) {
    htmltools::tag(name, c(list(...), if (!is.null(text)) list(printable(text))))
  }
  case <- function(class, name, verdict, text) {
    inner <- switch(verdict,
                    fail = tag("failure", message = printable(text[1]), text = paste(text, collapse = " | ")),
                    pass = NULL, tag("skipped", message = printable(paste(verdict, text[1]))))
    htmltools::tag("testcase", list(classname = class, name = printable(name), time = "0", inner))
  }
  bad <- result$judgements[result$judgements$verdict == "fail", ]
  words <- function(rows, otherwise) if (nrow(rows) == 0) otherwise else
    sprintf("%s: %s; %s %s", figure_name(rows), figure_interval(rows), rows$limit, rows$effect)
  checks <- lapply(seq_len(nrow(result$checks)), function(i) {
    row <- result$checks[i, ]
    case("noiselab.acceptance", row$check, row$verdict, words(bad[bad$check == row$check, ], row$reason))
  })
  mine <- judged_hosts(bad, result$nodes$host)
  nodes <- lapply(seq_len(nrow(result$nodes)), function(i) {
    row <- result$nodes[i, ]
    case("noiselab.node", row$host, row$verdict, words(bad[mine[[row$host]], ], row$reason))
  })
  self <- list(case("noiselab.acceptance", "self-check", result$self_check$verdict, result$self_check$reason))
  all <- c(result$checks$verdict, result$nodes$verdict, result$self_check$verdict)
  suite <- htmltools::tag(
    "testsuite",
    c(
      list(name = "noiselab acceptance", tests = length(all), failures = sum(all == "fail"), errors = 0,
           skipped = sum(!all %in% c("fail", "pass")),
           timestamp = sub("Z$", "", printable(result$ended_utc))),
      checks,
      self,
      nodes
    )
  )
  c("<?xml version=\"1.0\" encoding=\"UTF-8\"?>", enc2utf8(as.character(suite)))
}

metric_label <- function(name, value) sprintf('%s="%s"', name, gsub("\n", "\\n",
    gsub('"', '\\"', gsub("\\", "\\\\", value, fixed = TRUE), fixed = TRUE), fixed = TRUE))

openmetrics_lines <- function(result) {
  f <- result$figures
  label <- paste(metric_label("check", f$check), metric_label("variant", f$variant),
                 metric_label("metric", f$metric),
                 metric_label("size", ifelse(is.na(f$size), "", format_count_each(f$size))),
                 metric_label("entity", f$entity), metric_label("unit", f$unit), sep = ",")
  number <- function(x) ifelse(is.finite(x), vapply(x, format, "", digits = 9, trim = TRUE), "NaN")
  unbounded <- is.infinite(f$value)
  gauge <- function(name, help, labels, value) {
    name <- paste0("noiselab_acceptance_", name)
    c(paste("# TYPE", name, "gauge"), paste("# HELP", name, help), sprintf("%s%s %s", name,
        ifelse(nzchar(labels), paste0("{", labels, "}"), ""), value))
  }
  ended <- as.numeric(as.POSIXct(result$ended_utc, "UTC", "%Y-%m-%dT%H:%M:%SZ"))
  c(
    gauge("verdict", "verdict of the campaign", metric_label("verdict", result$verdict), 1),
    gauge("ended_seconds", "when its last launch ended", "", number(ended)),
    gauge(
      "node",
      "verdict of each node",
      paste(metric_label("host", result$nodes$host), metric_label("verdict", result$nodes$verdict),
            sep = ","),
      1
    ),
    gauge("figure", "mean of each figure, in its unit", label, number(f$value)),
    if (any(unbounded)) {
      gauge("unbounded", paste("a figure without an end:", unbounded_words),
            paste(label[unbounded], metric_label("is", unbounded_words), sep = ","), 1)
    },
    gauge("figure_low", "lower end of its interval", label, number(f$ci_low)),
    gauge("figure_high", "upper end of its interval", label, number(f$ci_high)),
    "# EOF"
  )
}

# JSON as in experiments/reframe/references.json: of each figure (without node) the worst value, its margin
# as the bound on the side that is worse.
reframe_references <- function(result) {
  f <- result$figures
  f$entity <- ""
  f$name <- figure_name(f)
  worst <- f[order(f$name, ifelse(f$worse == "more", -f$value, f$value)), ]
  worst <- worst[!duplicated(worst$name) & worst$value > 0, ]
  allowed <- margin_of(result$margins, margin_kinds(worst$check, worst$metric), worst$value, "linear",
                       worst$worse) / worst$value
  rows <- lapply(seq_len(nrow(worst)), function(i) {
    bound <- round(allowed[i], 4)
    c(list(signif(worst$value[i], 6)),
      if (worst$worse[i] == "less") list(-bound, NULL) else list(NULL, bound), list(worst$unit[i]))
  })
  strsplit(
    as.character(jsonlite::toJSON(list("*" = list(acceptance = stats::setNames(rows, worst$name))),
                                  auto_unbox = TRUE, null = "null", digits = NA, pretty = TRUE)),
    "\n",
    fixed = TRUE
  )[[1]]
}
