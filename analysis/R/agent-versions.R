# Two versions of an agent in the same launches: does the new one cost more than the old one, and by what?

# The two names of such a launch (options.agent, options.against in launch.json): new and old; NULL: it has
# one agent.
versions_of <- function(info) {
  names <- c(new = info$options$agent, old = info$options$against)
  if (length(names) == 2) names
}

# Whether both are in it: what only_version() leaves has one.
has_versions <- function(campaign) {
  kinds <- unique(as.character(campaign$rows[["kind"]]))
  any(vapply(campaign$launches, function(info) {
    names <- versions_of(info)
    length(names) == 2 && all(names %in% kinds)
  }, TRUE))
}

# The campaign as if it had this version alone: its rows, and the rows without an agent. While one version
# is on the other stands still, so that bursts in the rows of one are its own.
only_version <- function(campaign, kind) {
  others <- function(rows) !is.na(rows[["kind"]]) & nzchar(as.character(rows[["kind"]])) &
    !as.character(rows[["kind"]]) %in% kind
  for (table in c("rows", "agents", "tasks", "ranks", "nodes", "hist")) {
    rows <- campaign[[table]]
    if (NROW(rows) > 0 && !is.null(rows[["kind"]])) campaign[[table]] <- rows[!others(rows), , drop = FALSE]
  }
  # what is left of a pair whose other half went
  rows <- campaign$rows
  key <- combine_keys(cell_key(rows), rows[["pair"]])
  off <- rows[["arm"]] == "off"
  campaign$rows <- rows[!off | key %in% key[!off], , drop = FALSE]
  campaign
}

# The difference of two estimates with their intervals, each side by itself: Zou, G. Y. and Donner, A.
# (2008) Construction of confidence limits about effect measures: a general approach, Statistics in Medicine
# 27, 1693-1702. The intervals may be lopsided, and the estimates are independent of each other.
difference_of <- function(a, a_low, a_high, b, b_low, b_high) {
  list(value = a - b, low = a - b - sqrt((a - a_low)^2 + (b_high - b)^2),
       high = a - b + sqrt((a_high - a)^2 + (b - b_low)^2))
}

# The answers about both versions, and of each operation the difference, new minus old, in percent of the
# operation's time: by bursts, by other effects, and in all. Each claim has alpha / 2 where bursts are
# known, else alpha. Fail: the difference in all, or that by bursts, lies above the margin; pass: bursts,
# bursts of the new version that were not seen, and other effects together, or the whole with those, lie
# below it; else undecided. A list: `rows`, a data frame, one row per operation and size: `operation`,
# `bytes`, `ranks`, `new`, `old`, and `bursts`, `beyond`, `whole`, each with `_low` and `_high`; `unseen`
# (upper bound of what bursts of the new version that were not seen cost); `cpu` (of one CPU, new minus
# old), `verdict` (pass, fail, inconclusive), `needs_s`; `answer`; `reports` (of each version), `margin`,
# `alpha`, `names`, `notes`.
compare_versions <- function(campaign, margin = NULL, alpha = 0.01) {
  names <- unique(Filter(Negate(is.null), lapply(unname(campaign$launches), versions_of)))
  if (length(names) != 1) {
    abort_data("no launch of ", paste(campaign$dirs, collapse = " "),
               " has two versions of one agent (noiselab run ", "agent --against)")
  }
  names <- names[[1]]
  reports <- lapply(names, function(kind) agent_report(only_version(campaign, kind), alpha, margin))
  check_both_measured(reports, names)
  rows <- version_rows(reports, margin)
  list(rows = rows, answer = if (!is.null(margin)) version_answer(rows), reports = reports, margin = margin,
       alpha = alpha, names = names, notes = unique(unlist(lapply(reports, `[[`, "notes"))),
       campaign = campaign)
}

# On a busy machine the time may be up before a round is whole.
check_both_measured <- function(reports, names) {
  empty <- vapply(reports, function(report) NROW(report$answers) == 0, TRUE)
  if (!any(empty)) return(invisible())
  abort_data("nothing was measured whole with ", join_words(unname(names[empty])),
             ", so the versions cannot be compared: give the run more time (--seconds), or let it wait ",
             "until the machine is quiet (--wait-quiet)")
}

version_rows <- function(reports, margin) {
  new <- reports$new$answers
  at <- match(row_key(new, c("operation", "bytes", "ranks")),
              row_key(reports$old$answers, c("operation", "bytes", "ranks")))
  old <- reports$old$answers[at, ]
  part <- function(name) {
    ends <- paste0(name, c("", "_low", "_high"))
    got <- do.call(difference_of, unname(c(as.list(new[ends]), as.list(old[ends]))))
    stats::setNames(as.data.frame(got), ends)
  }
  rows <- cbind(new[c("operation", "bytes", "ranks")], new = new$kind, old = old$kind, part("bursts"),
                part("beyond"), part("whole"), unseen = new$unseen)
  # Without bursts the answer is by on/off alone.
  alone <- is.na(rows$bursts)
  by_all <- do.call(
    difference_of, unname(c(as.list(new[c("value", "low", "high")]), as.list(old[c("value", "low", "high")])))
  )
  for (name in c("value", "low", "high")) {
    column <- paste0("whole", if (name != "value") paste0("_", name))
    rows[[column]][alone] <- by_all[[name]][alone]
  }
  used <- function(report) mean_or_na(report$accounts$cpu_percent[!is.na(report$accounts$launch)])
  rows$cpu <- used(reports$new) - used(reports$old)
  rows$verdict <- if (is.null(margin)) NA_character_ else version_verdict(rows, margin)
  rows$needs_s <- pmax(new$needs_s, old$needs_s, na.rm = TRUE)
  rownames(rows) <- NULL
  rows
}

version_verdict <- function(rows, margin) {
  parts_high <- rows$bursts_high + rows$unseen + pmax(0, rows$beyond_high)
  below <- (parts_high < margin) %in% TRUE | (rows$whole_high + rows$unseen < margin) %in% TRUE
  by_bursts <- (rows$bursts_low > margin & !(rows$whole_high < margin) %in% TRUE) %in% TRUE
  above <- (rows$whole_low > margin) %in% TRUE | by_bursts
  ifelse(above & below, "inconclusive", ifelse(above, "fail", ifelse(below, "pass", "inconclusive")))
}

version_answer <- function(rows) {
  if (any(rows$verdict == "fail")) "fail" else if (all(rows$verdict == "pass")) "pass" else "inconclusive"
}

# ---- words -------------------------------------------------------------------------------------

# All that the first screen says: each difference, and what both used.
version_sentences <- function(result) {
  cpu <- vapply(result$reports, function(report) {
    mean_or_na(report$accounts$cpu_percent[!is.na(report$accounts$launch)])
  }, 0)
  used <- sprintf("%s uses %s %% of one CPU, %s %s %%.", result$names[["new"]], three(cpu[["new"]]),
                  result$names[["old"]], three(cpu[["old"]]))
  c(unlist(lapply(seq_len(nrow(result$rows)), function(i) version_sentence(result$rows[i, ], result))),
    if (!anyNA(cpu)) used)
}

points <- function(x, low, high) {
  if (is.na(x) || !is_told(low, high)) return("an unknown amount")
  sprintf("%s points (%s to %s)", format_effect(x), format_effect(low), format_effect(high))
}

version_sentence <- function(row, result) {
  margin <- result$margin
  what <- panel_name(row)
  verdict <- if (!is.null(margin)) {
    switch(
      row$verdict,
      pass = sprintf("pass: %s costs %s at most %s %% more than %s", row$new, what, format_level(margin),
                     row$old),
      fail = sprintf("fail: %s costs %s more than %s %% above what %s costs", row$new, what,
                     format_level(margin), row$old),
      inconclusive = sprintf("undecided: whether %s costs %s %s %% more than %s", row$new, what,
                             format_level(margin), row$old)
    )
  }
  change <- if (is.na(row$bursts) && !is_told(row$whole_low, row$whole_high)) {
    sprintf("By time nothing can be told of it: the machine was too busy%s", too_busy_words(result))
  } else if (is.na(row$bursts)) {
    sprintf("%s slows %s by %s more than %s, by switching them on and off alone", row$new, what,
            points(row$whole, row$whole_low, row$whole_high), row$old)
  } else {
    sprintf(
      "Through its bursts %s slows %s by %s points %s than %s (%s to %s); by other effects %s; in total %s",
      row$new, what, three(abs(row$bursts)), if (row$bursts < 0) "less" else "more", row$old,
      format_effect(row$bursts_low), format_effect(row$bursts_high),
      points(row$beyond, row$beyond_low, row$beyond_high), points(row$whole, row$whole_low, row$whole_high)
    )
  }
  unseen <- if (!is.null(margin) && row$verdict == "inconclusive" && isTRUE(row$unseen > 0)) {
    sprintf(" Bursts of %s that were not seen may cost %s %%.", row$new, plain(row$unseen))
  }
  needs <- if (!is.null(margin) && row$verdict == "inconclusive") decides_in_span(row$needs_s)
  paste0(c(if (!is.null(verdict)) paste0(upper_first(verdict), ". "), change, ".", unseen, needs),
         collapse = "")
}

decides_in_span <- function(needs_s) {
  if (is.na(needs_s) || !is.finite(needs_s) || needs_s > most_needed_s) return(NULL)
  sprintf(" Measuring for %s in total decides with probability 0.95, if the estimates are right.",
          format_span(needs_s))
}

# For people a figure that may be anything is none.
told_versions <- function(rows) {
  for (name in c("bursts", "beyond", "whole")) {
    told <- is_told(rows[[paste0(name, "_low")]], rows[[paste0(name, "_high")]])
    rows[!told, paste0(name, c("", "_low", "_high"))] <- NA_real_
  }
  rows
}

versions_table <- function(result) {
  rows <- told_versions(result$rows)
  claim <- function(name) {
    col_interval("interval", rows[[paste0(name, "_low")]], rows[[paste0(name, "_high")]])
  }
  new_table(
    operation = col_words("new minus old", panel_name(rows)),
    bursts = col_number("bursts", rows$bursts, format_effect, "%"), bursts_low = claim("bursts"),
    beyond = col_number("others", rows$beyond, format_effect, "%"), beyond_low = claim("beyond"),
    whole = col_number("in total", rows$whole, format_effect, "%"), whole_low = claim("whole"),
    verdict = if (!is.null(result$margin)) col_verdict("verdict", rows$verdict)
  )
}

versions_view <- function(result, operands) {
  new_view(
    version_sentences(result),
    versions_table(result),
    paste0("new minus old, in percent of the operation's time; bursts: through recorded bursts; others: by ",
           "other effects"),
    # what would decide the margin of one version by itself is no question here
    grep("^undecided:", agent_warnings(result$reports$new), invert = TRUE, value = TRUE),
    length(result$notes),
    all_command(operands, "versions"),
    report_beside(operands)
  )
}

analyze_versions <- function(operands, values, form) {
  values <- as_asked(values, operands, "margin")
  o <- tested_options(values)
  result <- compare_versions(read_campaign(operands), o$margin, o$alpha)
  view <- versions_view(result, operands)
  if (!is.null(values$write$markdown)) write_output(versions_markdown(result, view), values$write$markdown)
  if (!is.null(values$write$junit)) write_output(versions_junit(result, view), values$write$junit)
  answered(
    form,
    values$table,
    c(list(alpha = o$alpha, margin_percent = o$margin, answer = result$answer, new = result$names[["new"]],
           old = result$names[["old"]])),
    list(estimates = version_estimates(result), rows = result$rows),
    result$notes,
    c(part_lines(new_part("the new version against the old one", versions_table(result))),
      unlist(lapply(result$reports, format_agent))),
    view,
    result$notes,
    if (!is.null(o$margin)) result$answer
  )
}

version_estimates <- function(result) {
  rows <- result$rows
  one <- function(name, quantity, main) {
    as_estimates(rows, quantity, channel = "time", kind = rows$new, main = main, value = rows[[name]],
                 ci_low = rows[[paste0(name, "_low")]], ci_high = rows[[paste0(name, "_high")]],
                 confidence = 1 - result$alpha, verdict = if (main) rows$verdict else NA)
  }
  bind_rows(list(one("whole", "version_change_percent", TRUE),
                 one("bursts", "version_change_by_bursts_percent", FALSE),
                 one("beyond", "version_change_beyond_bursts_percent", FALSE)))
}

# A summary for a pull request; what is not known is a dash.
versions_markdown <- function(result, view) {
  rows <- told_versions(result$rows)
  cell <- function(name) {
    text <- sprintf("%s (%s to %s)", format_effect(rows[[name]]), format_effect(rows[[paste0(name, "_low")]]),
                    format_effect(rows[[paste0(name, "_high")]]))
    ifelse(is.na(rows[[name]]), "-", text)
  }
  safe <- function(text) gsub("([]|*_<>`[~#@\\\\])", "\\\\\\1", printable(text))
  heads <- c("operation", "bursts, %", "other effects, %", "in total, %",
             if (!is.null(result$margin)) "verdict")
  c(
    sprintf("### %s against %s%s", safe(result$names[["new"]]), safe(result$names[["old"]]),
            if (is.null(result$answer)) "" else paste0(": ", result$answer)),
    "",
    paste0(safe(view$sentences), "\n"),
    paste0("| ", paste(heads, collapse = " | "), " |"),
    paste0("|", strrep(" --- |", length(heads))),
    paste0("| ", safe(panel_name(rows)), " | ", cell("bursts"), " | ", cell("beyond"), " | ", cell("whole"),
           " |", if (!is.null(result$margin)) paste0(" ", rows$verdict, " |")),
    "",
    if (length(view$warnings) > 0) c(paste0("> ", safe(view$warnings), "\n")),
    sprintf("New minus old, in percent of the operation's time; noiselab %s.", package_version_text())
  )
}

# One test case for each operation: a failure is above the margin; what is undecided was skipped, as of
# acceptance.
versions_junit <- function(result, view) {
  rows <- result$rows
  escape <- function(text) htmltools::htmlEscape(printable(text), attribute = TRUE)
  said <- vapply(seq_len(nrow(rows)), function(i) version_sentence(rows[i, ], result), "")
  verdict <- if (is.null(result$margin)) rep("pass", nrow(rows)) else rows$verdict
  body <- ifelse(verdict == "fail", sprintf("<failure message=\"%s\"/>", escape(said)),
          ifelse(verdict == "inconclusive", sprintf("<skipped message=\"%s\"/>", escape(said)),
                 sprintf("<system-out>%s</system-out>", escape(said))))
  c(
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
    sprintf("<testsuite name=\"noiselab\" tests=\"%d\" failures=\"%d\" errors=\"0\" skipped=\"%d\">",
            nrow(rows), sum(verdict == "fail"), sum(verdict == "inconclusive")),
    sprintf("  <testcase classname=\"%s\" name=\"%s\">%s</testcase>", escape(result$names[["new"]]),
            escape(panel_name(rows)), body),
    "</testsuite>"
  )
}

# ---- two campaigns with one agent each ---------------------------------------------------------

asks_of_agents <- function(a, b) {
  one <- function(campaign) {
    has_agent(campaign) && !has_versions(campaign) && length(agent_kinds(campaign)) == 1
  }
  one(a) && one(b)
}

agent_kinds <- function(campaign) {
  rows <- campaign$rows
  unique(as.character(rows[["kind"]][rows[["arm"]] == "on" & !has_level(rows[["level_requested_percent"]])]))
}

# The agent of B against that of A, or NULL: `rows` as of version_rows() (new: B, old: A), `cpu` (percent of
# one CPU, of each side), `scale` (what scale_of_agent() gives for each side; NULL: not known).
agents_changed <- function(a, b, alpha) {
  if (!asks_of_agents(a, b)) return(NULL)
  reports <- list(new = agent_report(b, alpha), old = agent_report(a, alpha))
  if (any(vapply(reports, function(report) NROW(report$answers) == 0, TRUE))) return(NULL)
  cpu <- vapply(reports,
                function(report) mean_or_na(report$accounts$cpu_percent[!is.na(report$accounts$launch)]), 0)
  scale <- lapply(reports, function(report) tryCatch(scale_of_agent(report), nl_error = function(e) NULL))
  list(rows = version_rows(reports, NULL), cpu = cpu, scale = scale)
}

agents_changed_sentences <- function(changed) {
  if (is.null(changed)) return(NULL)
  rows <- changed$rows[!is.na(changed$rows$bursts), ]
  each <- sprintf("%s by %s", panel_name(rows),
                  mapply(points, rows$bursts, rows$bursts_low, rows$bursts_high))
  scale <- changed$scale
  known <- all(vapply(scale, function(one) is.data.frame(one) && isTRUE(is.finite(one$slowdown_percent[1])),
                      TRUE))
  of <- function(one) {
    sprintf("%s %% (%s to %s)", three(one$slowdown_percent[1]), three(one$ci_low[1]), three(one$ci_high[1]))
  }
  c(
    if (nrow(rows) > 0) {
      sprintf("Through its bursts the agent of B slows more than that of A: %s.", join_words(each))
    },
    if (!anyNA(changed$cpu)) {
      sprintf("It uses %s %% of one CPU in A, and %s %% in B.", three(changed$cpu[["old"]]),
              three(changed$cpu[["new"]]))
    },
    if (known) {
      sprintf("Projected on %s nodes that synchronise every %s its bursts cost %s in A, and %s in B.",
              format_count(scale$new$nodes[1]), format_time(scale$new$every_ns[1] / 1e9), of(scale$old),
              of(scale$new))
    }
  )
}
