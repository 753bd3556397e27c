# The answers about agents, a row per agent and operation: headline, table, report, JSON and exit status are all made of them.

# A row per agent and operation in the scope of the main answer: what `agent_rule()` gives, `outcome` by Holm's correction over the rows, `watched_s`
# (for how long bursts were recorded), `limit` (slowdown that would have been found), `needs_s` (measured seconds that would decide the margin).
agent_answers <- function(analysis, taken, locked) {
  rows <- main_rows(analysis$verdicts)
  rows <- rows[!has_level(rows$level_requested_percent) & rows$channel == "time", ]
  answers <- bind_rows(lapply(seq_len(nrow(rows)), function(i) answer_row(rows[i, ], analysis, taken, locked)))
  if (nrow(answers) == 0) return(NULL)
  alpha <- rows$alpha
  sure <- stats::p.adjust(answers$p_value, "holm") <= alpha
  answers$outcome <- ifelse(answers$case == "less" | is.na(answers$value), "inconclusive",
                            ifelse(!answers$found, "not detected", ifelse(sure %in% TRUE, "detected", "detected alone")))
  answers
}

answer_row <- function(row, analysis, taken, locked) {
  mine <- locked_of_answer(row, analysis, locked)
  bursts <- mine$figure[[1]]
  own <- main_taken(taken[taken$kind %in% as.character(row$kind), ])
  agree <- agree_margin(if (NROW(own) > 0) mean(own$account_percent) else NA_real_)
  whole <- if (is.na(row$reason)) {
    figure_as(figure_of_t(row$raw_margin, row$raw_margin_se, row$raw_margin_df), function(x) 100 * expm1(x))
  }
  watched <- mine$watched_s %||% 0
  # Quick halves tell what lies beyond bursts; where there was none at all, the whole.
  quick <- mine$beyond[[1]]
  beyond <- if (!is.null(bursts)) quick
  by_quick <- is.null(bursts) && !is.null(quick)
  if (by_quick) whole <- quick
  got <- agent_rule(bursts, whole, beyond, agree, row$alpha, analysis$margin, watched)
  if (is.null(bursts) && !by_quick) {
    # Its own test is exact.
    got[c("value", "low", "high", "p_value")] <- row[c("estimate", "ci_low", "ci_high", "p_one_sided")]
    got$found <- isTRUE(row$verdict == "detected")
    if (!is.null(analysis$margin)) {
      got$margin_verdict <- as.character(row$margin_verdict)
      got$margin_by <- if (got$margin_verdict %in% "inconclusive") NA_character_ else "on/off"
      got$p_above <- p_above(row, analysis$margin)
      # Quick halves hardly see bursts.
      if (got$margin_verdict %in% "below" && isTRUE(mine$is_quick) && isTRUE(mine$n_bursts > 0)) got$margin_verdict <- "inconclusive"
    }
  }
  limit <- if (by_quick) reach_of(quick, row$alpha) + reach_of(quick, 0.05) else if (is.null(bursts) || got$case == "more") row$detection_limit else mine$limit_percent
  needs <- if (!identical(got$margin_verdict, "inconclusive")) NA_real_ else if (is.null(bursts) && !by_quick) row$margin_needs_s else {
    measured_s(row, analysis$campaign) * if (!by_quick) parts_need_s(bursts, whole, beyond, analysis$margin, row$alpha, watched) else
      if (quick$value >= analysis$margin) Inf else max(1, (reach_of(quick, row$alpha) / (analysis$margin - quick$value))^2)
  }
  parts <- if (is.null(bursts) || is.null(analysis$margin)) NA_character_ else
    margin_parts(bursts, beyond %||% (if (!is.null(whole)) beyond_figure(whole, bursts)), row$alpha / 6, watched)
  data.frame(kind = as.character(row$kind), operation = as.character(row$operation), bytes = row$bytes, ranks = row$ranks, launch = row$launch,
             scope = row$scope, got, state = mine$state %||% "unrecorded", n_bursts = mine$n_bursts %||% NA_real_, watched_s = watched,
             limit = limit, reason = if (is.null(bursts)) mine$reason %||% "bursts are not recorded against slices of the loop" else NA_character_,
             whole_reason = if (by_quick) NA_character_ else row$reason, note = attr(quick, "note") %||% NA_character_, needs_s = needs, parts_high = parts, alpha = row$alpha)
}

# The row of `locked` for a row of verdicts: of its launch, or of several together; NULL: none.
locked_of_answer <- function(row, analysis, locked) {
  if (NROW(locked) == 0) return(NULL)
  campaign <- analysis$campaign$rows
  launches <- if (is.na(row$launch)) unique(as.character(campaign[["launch"]][as.character(campaign[["kind"]]) %in% as.character(row$kind)])) else row$launch
  mine <- locked[locked$operation == as.character(row$operation) & locked$bytes == row$bytes & locked$launch %in% launches, ]
  if (nrow(mine) == 0) return(NULL)
  if (nrow(mine) == 1) return(mine)
  like <- row$scope == scope_campaign
  one <- pool_locked(mine, 2 * row$alpha, like)[1, ]
  one$watched_s <- sum(mine$watched_s)
  one$is_quick <- any(mine$is_quick)
  one$beyond <- list(pool_beyond(mine$beyond, like))
  one
}

pool_beyond <- function(figures, like) {
  if (any(vapply(figures, is.null, TRUE))) return(NULL)
  values <- vapply(figures, `[[`, 0, "value")
  if (like) return(figure_of_t(mean(values), stats::sd(values) / sqrt(length(values)), length(values) - 1))
  n <- vapply(figures, attr, 0, "n")
  figures_together(figures, function(...) sum(n * c(...)) / sum(n))
}

measured_s <- function(row, campaign) {
  rows <- campaign$rows
  mine <- rows[["operation"]] == as.character(row$operation) & (is.na(row$launch) | as.character(rows[["launch"]]) %in% row$launch)
  sum(rows[["wall_ns"]][mine]) / 1e9
}

# How many times as long, if every estimate is as it is: intervals shrink with the root of the time, what was not seen with the time.
parts_need_s <- function(bursts, whole, beyond, margin, alpha, watched_s) {
  rest <- beyond %||% (if (!is.null(whole)) beyond_figure(whole, bursts))
  if (is.null(rest)) return(NA_real_)
  at <- function(times) {
    reach <- function(figure) (figure$ends(alpha / 6)[2] - figure$value) / sqrt(times)
    l <- bursts$value + reach(bursts) + unseen_percent(watched_s * times, alpha / 6)
    (1 + l / 100) * (1 + (max(0, rest$value) + reach(rest)) / 100) - 1 - margin / 100
  }
  if (!isTRUE(at(1e8) < 0)) return(Inf)
  if (at(1) < 0) 1 else exp(stats::uniroot(function(t) at(exp(t)), log(c(1, 1e8)))$root)
}

reach_of <- function(figure, alpha) diff(figure$ends(alpha)) / 2

margin_parts <- function(bursts, rest, alpha, watched_s) {
  high <- bursts$ends(alpha)[2]
  paste0(if (is.finite(high)) sprintf("its bursts cost up to %s %%", three(high)) else "there is no upper end of what its bursts cost",
         sprintf(", unseen ones up to %s %%, ", three(unseen_percent(watched_s, alpha))),
         if (is.null(rest)) "what lies beyond is not known" else sprintf("and beyond them up to %s %%", three(beyond_bound(rest, alpha))))
}

# One answer over all agents and operations: fail with Holm's correction, pass where every row lies below.
agent_margin_answer <- function(answers) {
  if (NROW(answers) == 0) return(list(answer = "inconclusive", reason = "no agent was judged by loop time"))
  verdict <- answers$margin_verdict
  answer <- answer_with_holm(verdict, answers$p_above, answers$alpha)
  decided <- if (answer == "fail") answers[verdict %in% "above" & stats::p.adjust(answers$p_above, "holm") <= answers$alpha, ] else answers
  reason <- if (answer == "inconclusive") margin_open_words(answers) else
    if (any(decided$margin_by %in% "bursts")) "by its bursts" else NA_character_
  list(answer = answer, reason = reason)
}

margin_open_words <- function(answers) {
  if (any(answers$margin_verdict %in% "above")) {
    return("one slowdown lies above the margin by itself, but not with all agents and operations counted together")
  }
  open <- answers[!answers$margin_verdict %in% "below", ]
  if (any(open$case == "less")) return("its bursts and the slowdown in all contradict each other")
  parts <- open$parts_high[!is.na(open$parts_high)]
  if (length(parts) > 0) parts[1] else "an interval reaches over the margin, or an agent could not be judged"
}

# The answer of one agent on one operation. `bursts`, `whole`, `beyond`: figures (percent) or NULL: by bursts, in all by on/off, and beyond the
# bursts where that was measured by itself (quick halves). With `bursts` each claim has alpha / 2. `agree`: half of "agree"; `watched_s`: for how
# long bursts were recorded. `case` `alone`: on/off is all there is.
agent_rule <- function(bursts, whole, beyond = NULL, agree = agree_percent, alpha = 0.01, margin = NULL, watched_s = 0) {
  each <- if (is.null(bursts)) alpha else alpha / 2
  apart <- beyond %||% (if (!is.null(bursts) && !is.null(whole)) beyond_figure(whole, bursts))
  # Measured by itself it says more of the whole than on/off does.
  if (!is.null(bursts) && !is.null(beyond)) whole <- in_all_figure(bursts, beyond)
  ends <- function(figure) if (is.null(figure)) c(NA_real_, NA_real_) else figure$ends(each)
  of <- function(figure) if (is.null(figure)) NA_real_ else figure$value
  rest <- ends(apart)
  case <- if (is.null(bursts)) "alone" else if (is.null(apart)) "open" else if (max(abs(rest)) <= agree) "agree" else
    if (rest[1] > 0) "more" else if (rest[2] < 0) "less" else "open"
  lead <- if (is.null(bursts) || case == "more") whole else bursts
  side <- margin_side(bursts, whole, apart, beyond, alpha, each, margin, watched_s)
  p <- figure_p(lead, 0) * if (is.null(bursts)) 1 else 2
  list(lead = if (is.null(bursts) || case == "more") "on/off" else "bursts", case = case, value = of(lead), low = ends(lead)[1],
       high = ends(lead)[2], p_value = min(1, p), found = case != "less" && isTRUE(p <= alpha),
       beyond = of(apart), beyond_low = rest[1], beyond_high = rest[2], beyond_most = if (is.null(apart)) NA_real_ else beyond_bound(apart, each),
       bursts = of(bursts), whole = of(whole), whole_low = ends(whole)[1], whole_high = ends(whole)[2], margin_verdict = side$verdict, margin_by = side$by,
       p_above = side$p_above)
}

# Pass: the whole lies below, or its parts do together, each at a sixth of alpha: bursts, those unseen, and what lies beyond. Fail: the whole
# lies above, or the bursts do and the whole is not shown below. Both: a contradiction, and no answer.
margin_side <- function(bursts, whole, apart, beyond, alpha, each, margin, watched_s) {
  if (is.null(margin)) return(list(verdict = NA_character_, by = NA_character_, p_above = NA_real_))
  high <- function(figure, a) if (is.null(figure)) Inf else figure$ends(a)[2]
  third <- alpha / 6
  # A whole that is made of bursts and beyond leaves out what was not seen.
  whole_high <- if (!is.null(bursts) && !is.null(beyond)) Inf else high(whole, each)
  parts_high <- if (is.null(bursts) || is.null(apart)) Inf else {
    100 * ((1 + (high(bursts, third) + unseen_percent(watched_s, third)) / 100) * (1 + beyond_bound(apart, third) / 100) - 1)
  }
  p_whole <- figure_p(whole, margin)
  p_bursts <- if (is.null(bursts) || isTRUE(high(whole, each) < margin)) NA_real_ else figure_p(bursts, margin)
  p_above <- min(1, c(p_whole, p_bursts) * if (is.null(bursts)) 1 else 2, na.rm = TRUE)
  above <- p_above <= alpha
  below <- c("on/off" = whole_high < margin, bursts = parts_high < margin)
  verdict <- if ((above || isTRUE(figure_p(bursts, margin) <= each)) && any(below)) "inconclusive" else if (above) "above" else if (any(below)) "below" else "inconclusive"
  by <- switch(verdict, above = if (isTRUE(p_whole <= each)) "on/off" else "bursts", below = names(which(below))[1], NA_character_)
  list(verdict = verdict, by = by, p_above = p_above)
}

# Several agents of one campaign, or one at several intervals, side by side: what each takes and costs, and how often it may sample.

# A row per agent and interval: what it takes (percent of one CPU), the slowdown of the operation on which that is surest, `amplification` (slowdown
# by what was taken, where both were found), `safe_interval_s` (where the upper end, with what may lie beyond bursts, would be the margin, if each
# sample costs the same), `cost_s` (time that the operation loses by a sample).
several_agents <- function(report) if (NROW(report$answers) > 0) bind_rows(lapply(unique(report$answers$kind), several_row, report))

several_row <- function(kind, report) {
  answers <- report$answers[report$answers$kind == kind, ]
  known <- answers[is.finite(answers$low) & answers$case != "less", ]
  # Nothing is chosen by its estimate: the outcome has Holm's correction over agents and operations, and so has the one named.
  worst <- known[order(match(known$outcome, outcomes), -known$low)[1], ]
  own <- main_taken(report$taken[report$taken$kind %in% kind, ])
  taken <- function(column) (own[[column]] %||% NA_real_)[1]
  found <- isTRUE(grepl("^detected", worst$outcome))
  margin <- report$margin
  interval_s <- sampling_interval_s(kind, report$campaign)
  # the most that it may cost on any operation: the figure with what may lie beyond the bursts
  rest <- ifelse(answers$lead == "bursts" & is.finite(answers$beyond_most), answers$beyond_most, 0)
  high <- 100 * ((1 + answers$high / 100) * (1 + rest / 100) - 1)
  all <- if (length(high) == 0 || anyNA(high) || any(answers$lead == "bursts" & is.na(answers$beyond_most))) NA_real_ else max(high)
  data.frame(
    agent = sub("@[^@]*$", "", kind), interval_s = interval_s,
    cpu_percent = mean_or_na(report$accounts$cpu_percent[report$accounts$kind == kind & !is.na(report$accounts$launch)]),
    taken_percent = taken("taken_percent"), taken_low = taken("taken_low"), taken_high = taken("taken_high"),
    slowdown_percent = worst$value, slowdown_low = worst$low, slowdown_high = worst$high, operation = worst$operation, bytes = worst$bytes,
    by = if (nrow(known) > 0) worst$lead else NA_character_, outcome = if (nrow(known) > 0) worst$outcome else "inconclusive",
    amplification = if (found && isTRUE(taken("p_value") <= report$alpha)) worst$value / taken("taken_percent") else NA_real_,
    margin_answer = if (is.null(margin)) NA_character_ else {
      c(fail = "above", pass = "below", inconclusive = "undecided")[[answer_with_holm(answers$margin_verdict, answers$p_above, answers$alpha)]]
    },
    safe_interval_s = if (is.null(margin) || nrow(known) == 0 || !isTRUE(worst$low > 0)) NA_real_ else interval_s * all / margin,
    limit = if (found) NA_real_ else max_or_na(known$limit),
    cost_s = if (isTRUE(worst$low > 0)) worst$value / 100 * interval_s else NA_real_,
    reason = if (nrow(known) > 0) NA_character_ else c(stats::na.omit(answers$whole_reason), NA)[1]
  )
}

# Between two samples of this agent, as it was told or found; NA where that is not known, or its launches differ.
sampling_interval_s <- function(kind, campaign) {
  rows <- campaign$rows
  launches <- unique(as.character(rows[["launch"]][as.character(rows[["kind"]]) == kind & !has_level(rows[["level_requested_percent"]])]))
  ns <- unique(unlist(lapply(campaign$launches[launches], function(info) info$options$agent_interval_ns %||% info$options$agent_period_ns)))
  if (length(ns) == 1 && is.finite(ns) && ns > 0) ns / 1e9 else NA_real_
}

several_sentence <- function(rows) {
  hit <- rows[grepl("^detected", rows$outcome), ]
  top <- hit[order(-hit$slowdown_percent)[1], ]
  if (nrow(hit) == 0) return(paste0(sprintf("None of %d agents was found to slow an operation", nrow(rows)), if (all(is.na(rows$limit))) "." else
    sprintf("; %s %% would have been.", format_span_of(rows$limit[!is.na(rows$limit)]))))
  sprintf("%d of %d agents slow an operation, most of all %s%s by %s on %s.", nrow(hit), nrow(rows), top$agent, if (is.na(top$interval_s)) "" else
    paste(" at", format_time(top$interval_s)), percent_words(top$slowdown_percent, top$slowdown_low, top$slowdown_high), top$operation)
}

several_table <- function(rows, margin, unicode = shows_unicode()) {
  new_table(
    agent = col_words("agent", rows$agent), interval_s = col_number("every", rows$interval_s, function(x) vapply(x, format_time, "")),
    cpu_percent = col_number("CPU", rows$cpu_percent, three, "%"), taken_percent = col_number("taken", rows$taken_percent, three, "%"),
    slowdown_percent = col_number("slowdown", rows$slowdown_percent, format_effect, "%"),
    low = col_interval("interval", rows$slowdown_low, rows$slowdown_high), operation = col_words("on", rows$operation),
    source = col_words("by", rows$by),
    amplification = col_number("ampl.", rows$amplification, three),
    cost = if (is.null(margin)) col_number("per sample", rows$cost_s, function(x) vapply(signif(x, 3), format_time, "")),
    margin = if (!is.null(margin)) col_words("margin", rows$margin_answer),
    safe = if (!is.null(margin)) col_number("safe", rows$safe_interval_s, function(x) vapply(x, format_time, "")), mark = rows$outcome
  )
}

several_legend <- function(margin) {
  paste0("CPU, taken from the ranks: % of one CPU; slowdown of the operation that it slows most; ampl.: slowdown by taken",
         if (is.null(margin)) "; per sample: time that it then loses", if (!is.null(margin)) "; safe: the shortest interval below the margin, if each sample costs the same")
}

# The words of the answers about agents: one sentence for each case of the rule.

has_agent <- function(campaign) any(vapply(campaign$launches, switches_agent, TRUE))

# "collectd at 0.1 s", where the interval between two samples is known.
agent_title <- function(kind, campaign) {
  ns <- unlist(lapply(campaign$launches, function(info) info$options$agent_interval_ns %||% info$options$agent_period_ns))
  ns <- unique(ns[is.finite(ns) & ns > 0])
  # A campaign of several intervals has them in the treatment's name.
  if (length(ns) == 1 && !grepl("@", kind, fixed = TRUE)) paste(kind, "at", format_time(ns / 1e9)) else kind
}

# A number for a sentence; its ends have as many decimals.
percent_words <- function(x, low, high) {
  if (!is.finite(high)) return(sprintf("%s %% (at least %s)", three(x), three(low)))
  reach <- (high - low) / 2
  digits <- if (!is.finite(reach) || reach <= 0) 3 else min(6, max(0, 1 - floor(log10(reach))))
  sprintf("%.*f %% (%.*f to %.*f)", digits, x, digits, low, digits, high)
}

answer_words_of_agents <- function(answers, analysis, taken = NULL) {
  words <- lapply(seq_len(NROW(answers)), function(i) {
    row <- answers[i, ]
    agent_case_words(row, agent_title(row$kind, analysis$campaign), operation_name(row, answers), analysis, taken)
  })
  unique(unlist(words))
}

# `x`: the agent; `on`: the operation.
agent_case_words <- function(row, x, on, analysis, taken = NULL) {
  effect <- percent_words(row$value, row$low, row$high)
  slows <- if (row$found) sprintf("%s slows %s by %s", x, on, effect) else sprintf("%s was not found to slow %s: %s", x, on, effect)
  seen <- if (row$found || is.na(row$limit)) "" else sprintf("; %s would have been", percent_of(row$limit))
  whole <- if (!is.na(row$whole)) sprintf(" (in all %s)", percent_words(row$whole, row$whole_low, row$whole_high)) else ""
  switch(row$case,
    agree = sprintf("%s%s its bursts%s; beyond them less than %s %% either way.", slows, if (row$found) ", through" else " by", seen,
                    three(max(abs(c(row$beyond_low, row$beyond_high))))),
    open = sprintf("%s%s its bursts%s; %s.", slows, if (row$found) " through" else " by", seen, if (is.na(row$beyond)) {
      sprintf("what lies beyond them is not known%s", if (is.na(row$whole_reason)) "" else sprintf(" (%s)", row$whole_reason))
    } else sprintf("anything beyond them is below %s %%%s", three(row$beyond_most), whole)),
    more = sprintf("%s in all: %s through its bursts, %s beyond them.", slows, percent_of(row$bursts),
                   percent_words(row$beyond, row$beyond_low, row$beyond_high)),
    less = sprintf("The bursts of %s cost %s on %s, but in all it slows it by less than %s %%: the two contradict; no slowdown is stated.", x,
                   percent_words(row$value, row$low, row$high), on, three(max(0, row$whole_high))),
    alone = alone_words(row, x, on, sprintf("%s by on/off%s.", slows, seen), analysis, taken)
  )
}

# Without a figure by bursts: why, and `result`, on/off.
alone_words <- function(row, x, on, result, analysis, taken) {
  own <- if (!is.null(taken)) main_taken(taken[taken$kind %in% row$kind, ])
  told <- !is.na(row$value)
  if (!told) result <- if (row$state != "busy") sprintf("%s on %s cannot be told by on/off either (%s).", x, on, row$whole_reason)
  why <- switch(row$state,
    busy = busy_words(row, x, on, own, analysis),
    few = if (isTRUE(row$n_bursts == 0)) sprintf("%s never had a rank's CPU in %s (bursts rarer than one in %s are not excluded).", x,
                                                 format_span(row$watched_s), format_span(row$watched_s / -log(row$alpha))) else
      sprintf("%s had a rank's CPU %s in %s only: %d times are needed to tell what a burst costs.", x, counted(row$n_bursts, "time"),
              format_span(row$watched_s), locked_design$least_bursts),
    "not flat" = sprintf("On %s %s: none is charged to %s.", on, sub(": what made it.*", "", row$reason), x),
    dense = sprintf("%s: %s.", x, row$reason)
  )
  c(why, result, if (is.null(why) && told) sprintf("There is no figure by bursts: %s.", row$reason))
}

# The machine was too busy to tell bursts: what was taken from the ranks is known all the same.
busy_words <- function(row, x, on, own, analysis) {
  # too few stretches for an interval
  if (NROW(own) == 1 && is.na(own$taken_percent) && isTRUE(own$account_percent > 0)) {
    return(sprintf("%s used %s of one CPU by its own account; what that cost %s could not be told here: %s.", x, percent_of(own$account_percent), on,
                   busy_by(analysis)))
  }
  if (NROW(own) != 1 || !is.na(own$reason) || !isTRUE(own$p_value <= row$alpha)) {
    return(sprintf("What the bursts of %s cost %s cannot be told: %s.", x, on, row$reason))
  }
  cost_ns <- analysis$interruption_ns %||% NA_real_
  paste0(sprintf("%s takes %s of one CPU from the ranks", x, percent_words(own$taken_percent, max(0, own$taken_low), own$taken_high)),
         if (!is.na(cost_ns)) sprintf("; by the cost of an interruption in this campaign's profile (%s per ms) some %s *direct loss*, caches excluded",
                                      format_time(signif(cost_ns, 3) / 1e9), percent_of(own$taken_percent * cost_ns / 1e6)),
         "; the whole could not be told here: ", busy_by(analysis), ".")
}

busy_by <- function(analysis) {
  rows <- analysis$campaign$rows
  off <- which(rows[["arm"]] == "off")
  share <- if (is.null(rows[["preempted_ns_sum"]])) NA_real_ else
    100 * mean_or_na(rows[["preempted_ns_sum"]][off] / (rows[["wall_ns"]][off] * pmax(1, rows[["ranks"]][off])))
  if (isTRUE(share >= busy_percent)) sprintf("other tasks held the ranks' CPUs %s %% of the time without it", format_level(share)) else
    "other tasks held the loop up"
}

# "it takes CPU 3 for 41 us every 100 ms", per node. Where the period is known beforehand, given or recorded before the launch, it is that one: a
# beat within it is another thing.
burst_sentences <- function(bursts, campaign = NULL) {
  vapply(seq_len(NROW(bursts)), function(i) {
    row <- bursts[i, ]
    if (row$n_activities == 0) return(sprintf("%s: %s (%s of it were measured)", row$host, row$reason, format_span(row$seconds)))
    cpus <- strsplit(row$cpus, ",", fixed = TRUE)[[1]]
    where <- if (identical(cpus, "-")) "a rank's CPU" else if (length(cpus) == 1) paste("CPU", cpus) else if (row$cpu_share > 0.9) {
      paste("mostly CPU", cpus[1])
    } else paste("the CPUs", join_words(utils::head(cpus, 4)))
    who <- if (row$source == "thread") "the ranks lost" else "it takes"
    told_s <- (campaign$launches[[as.character(row$launch)]]$options$agent_period_ns %||% NA_real_) / 1e9
    if (isTRUE(told_s > 0) && row$source != "thread" && !isTRUE(abs(row$period_s / told_s - 1) <= 0.05)) {
      return(sprintf("%s: %s %s for %s in each %s%s", row$host, who, where, format_time(signif(row$duty_percent / 100 * told_s, 3)),
                     format_time(signif(told_s, 4)), if (is.na(row$period_s)) "" else
                       sprintf(", in bursts with a period of %s", format_time(signif(row$period_s, 4)))))
    }
    if (is.na(row$period_s)) {
      return(sprintf("%s: %s %s for %s (median), %s times a second, with no fixed period", row$host, who, where,
                     format_time(signif(row$p50_us, 3) / 1e6), format_effect(row$activities_per_s, FALSE)))
    }
    if (is.na(row$per_period_us)) return(sprintf("%s: %s %s with a period of %s", row$host, who, where,
                                                 format_time(signif(row$period_s, 4))))
    sprintf("%s: %s %s for %s every %s", row$host, who, where, format_time(signif(row$per_period_us, 3) / 1e6),
            format_time(signif(row$period_s, 4)))
  }, "")
}
