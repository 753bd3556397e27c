# The answer in plain sentences: the last lines of noiselab analyze.

# From this level on the highest one is a positive control: a set-up that works detects it (docs/methods.md, Planning).
control_percent <- 5
# What of a CPU is worth a sentence, percent.
busy_percent <- 2

# Character, one element per sentence or list of them; none without a load.
answer_sentences <- function(analysis) {
  facts <- answer_facts(analysis)
  if (is.null(facts$families)) return(character())
  upper_first(c(channel_sentence(facts, "time", analysis), channel_sentence(facts, "preempted", analysis),
                control_sentence(analysis), other_scope_sentence(analysis), rests_on(analysis), busy_sentence(analysis$campaign)))
}

format_answer <- function(analysis) {
  lines <- answer_sentences(analysis)
  if (length(lines) == 0) return(NULL)
  scope <- main_rows(analysis$verdicts)$scope[1]
  c("", sprintf("answer (%s, alpha %g)", scope, analysis$alpha), wrap_line(lines))
}

# Smallest level of each operation with its shift, and what was not detected with its limit.
channel_sentence <- function(facts, channel, analysis) {
  rows <- facts$families[facts$families$channel == channel, ]
  if (nrow(rows) == 0) return(NULL)
  unit <- if (channel_is_relative(channel)) "%" else "points"
  label <- label_in(rows, analysis)
  name <- paste0(panel_name(rows), ifelse(nzchar(label), paste0(" (", label, ")"), ""))
  found <- !is.na(rows$level_percent)
  effect <- sprintf("%s %s %s", format_effect(rows$estimate), unit, format_interval(rows$ci_low, rows$ci_high))
  level <- ifelse(has_level(rows$level_percent), sprintf("%s %%: ", format_level(rows$level_percent)), "")
  alone <- ifelse(rows$outcome == "detected alone", " (alone)", "")
  limit <- ifelse(is.na(rows$limit), "", sprintf(" (%s %s would have been)", format_effect(rows$limit, FALSE), unit))
  missed <- !found & rows$outcome == "not detected"
  open <- !found & !missed
  list_of <- function(at, text) paste0(name, text)[at] |> paste(collapse = "; ")
  c(if (any(found)) sprintf("by %s, detected from %s.", channel, list_of(found, paste0(" at ", level, effect, alone))),
    if (any(missed)) sprintf("by %s, not detected: %s.", channel, list_of(missed, limit)),
    if (any(open)) sprintf("by %s, not to be told: %s.", channel, list_of(open, reason_words(rows$reason))))
}

reason_words <- function(reason) ifelse(is.na(reason), "", paste0(" (", reason, ")"))

# The highest level, where it is a control: not detected by time, it says something of the set-up, not of the load.
control_sentence <- function(analysis) {
  rows <- main_rows(analysis$verdicts)
  level <- rows$level_requested_percent
  top <- suppressWarnings(max(level[has_level(level)]))
  if (top < control_percent) return(NULL)
  at <- rows[level == top, ]
  missed <- at[at$channel == "time" & at$verdict != "detected", ]
  if (nrow(missed) == 0) return(NULL)
  felt <- at[at$channel == "preempted" & at$verdict == "detected", ]
  where <- join_words(unique(panel_name(missed)))
  if (all(panel_name(missed) %in% panel_name(felt))) {
    return(sprintf(paste("POSITIVE CONTROL MISSED: %s %% was not detected by time on %s, though it reached the ranks (channel preempted):",
                         "something else disturbs them more; measure for longer, or on a quieter machine."), format_level(top), where))
  }
  sprintf(paste("BROKEN SET-UP: not even %s %% was detected on %s, so nothing else here is an answer. Check: was the load delivered (%s %% of",
                "one CPU)? Were ranks on the loaded CPUs (%s)?%s"), format_level(top), where,
          format_range_of(missed$level_delivered_percent), control_places(analysis$campaign),
          if (is.null(busy_sentence(analysis$campaign))) "" else " Was the machine too busy (below)?")
}

format_range_of <- function(x) if (all(is.na(x))) "unknown" else paste(unique(format_level(range(x, na.rm = TRUE))), collapse = " to ")

# CPUs of the generators against those of the ranks.
control_places <- function(campaign) {
  say <- function(x) if (length(x) == 0) "unknown" else paste(sort(unique(unlist(x))), collapse = ", ")
  sprintf("load on CPU %s, ranks on CPU %s", say(lapply(certificates(campaign), function(g) unlist(g$cpus))), say(campaign$ranks[["cpu"]]))
}

# With few launches launches like these come second, else these launches; and do launches differ?
other_scope_sentence <- function(analysis) {
  rows <- analysis$verdicts[analysis$verdicts$channel == "time" & analysis$verdicts$level_requested_percent > 0, ]
  main <- main_rows(rows)
  if (nrow(main) == 0 || !main$scope[1] %in% scopes_across) return(NULL)
  other <- rows[rows$scope == setdiff(scopes_across, main$scope[1]), ]
  p <- main$heterogeneity_p[!is.na(main$heterogeneity_p)]
  differ <- if (length(p) == 0) "" else sprintf(" Launches differ by more than their pairs explain with p = %s%s.", format_p(min(1, length(p) * min(p))),
                                                if (length(p) > 1) sprintf(" (the smallest of %d, times their number)", length(p)) else "")
  if (nrow(other) == 0) return(if (nzchar(differ)) trimws(differ))
  top <- other[other$level_requested_percent == max(other$level_requested_percent), ]
  at <- if (has_level(top$level_requested_percent[1])) sprintf("at %s %%, ", format_level(top$level_requested_percent[1])) else ""
  sprintf("%s, second: %sby time %s.%s", other$scope[1], at,
          paste(sprintf("%s %s %% %s, %s", panel_name(top), format_effect(top$estimate), format_interval(top$ci_low, top$ci_high), top$verdict),
                collapse = "; "), differ)
}

# Which estimate the verdicts rest on, by channel: one line.
rests_on <- function(analysis) {
  rows <- main_rows(analysis$verdicts)
  rows <- rows[rows$level_requested_percent > 0 & rows$channel %in% c("time", "preempted"), ]
  if (nrow(rows) == 0) return(NULL)
  of <- vapply(split(rows$estimator, in_order(rows$channel)), function(x) join_words(unique(x)), "")
  why <- unique(sub("[,;].*", "", rows$estimator_note[rows$channel == "time" & nzchar(rows$estimator_note)]))
  if (length(unique(of)) == 1) of <- stats::setNames(of[1], join_words(names(of)))
  paste0("verdicts rest on ", paste0("the ", of, " (", names(of), ")", collapse = ", "), if (length(why) == 1) paste0("; ", why), ".")
}

# How busy the machine was, where that matters: before the run, and in the off halves.
busy_sentence <- function(campaign) {
  rows <- campaign$rows
  off <- which(rows[["arm"]] == "off")
  share <- function(column, per) if (is.null(rows[[column]])) NA_real_ else 100 * mean_or_na(rows[[column]][off] / (rows[["wall_ns"]][off] * per))
  others <- share("preempted_ns_sum", pmax(1, rows[["ranks"]][off]))
  steal <- max(c(-Inf, share("rank_steal_ns_max", 1), share("steal_ns", 1)), na.rm = TRUE)
  before <- unlist(lapply(campaign$launches, function(info) vapply(info$before$nodes, function(node) {
    cpus <- Filter(function(cpu) is.numeric(cpu$busy_percent) && is.numeric(cpu$steal_percent), node$cpus)
    max(0, vapply(cpus, function(cpu) cpu$busy_percent + cpu$steal_percent, 0))
  }, 0)))
  said <- c(if (isTRUE(max(c(0, before)) >= busy_percent)) sprintf("before the run a rank's CPU was busy for %s %% of the time%s", format_level(max(before)),
                                                                busy_with(campaign)),
            if (isTRUE(others >= busy_percent)) sprintf("without the load other tasks took %s %% of the ranks' CPUs", format_level(others)),
            if (isTRUE(steal >= busy_percent)) sprintf("the hypervisor took %s %% in the off halves", format_level(steal)))
  if (length(said) > 0) paste0("the machine was busy: ", join_words(said), "; limits are higher for it.")
}

# Names of the tasks that the look saw most.
busy_with <- function(campaign) {
  tasks <- unlist(lapply(campaign$launches, function(info) lapply(info$before$nodes, function(node) lapply(node$cpus, `[[`, "tasks"))),
                  recursive = FALSE)
  tasks <- unlist(unlist(tasks, recursive = FALSE), recursive = FALSE)
  names <- unique(unlist(lapply(tasks, function(task) if (is.list(task)) printable(task$name))))
  if (length(names) == 0) "" else sprintf(" (%s)", paste(utils::head(names, 3), collapse = ", "))
}
