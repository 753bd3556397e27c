# Which node, and which rank, got the noise: the preempted time of each place, on minus off.

# Locate the noise. Per node and per rank, for every treatment and level: by how much its ranks lose more
# CPU time to other processes in on halves than in off halves (`nodes.csv` and `ranks.csv` hold mean and
# standard deviation over complete pairs), percent of ONE CPU. With three launches of a place or more the
# launch is the unit: Student's interval on the launch means. With fewer, pairs are pooled within launches.
# Launches without pairs are compared by their shares with the off launch of their set. `p_holm`: over the
# places of a treatment and level; `detection_limit`: of the test so corrected; `found`: `here`, `trace`
# (clearly less than a tenth of the largest), `not detected` or `inconclusive`; `cpu`: -1: not bound, or not
# the same in all launches. Holm, S. (1979); Currie, L. A. (1968) Analytical Chemistry 40, 586-593.
locate_noise <- function(campaign, alpha = 0.01, power = 0.95, margin = NULL) {
  settings <- list(alpha = alpha, power = power, margin = margin)
  tables <- node_source(campaign)
  nodes <- place_table(tables$nodes, "host", campaign, settings)
  ranks <- place_table(tables$ranks, c("rank", "host"), campaign, settings)
  list(nodes = nodes, ranks = ranks, answer = location_answers(nodes),
       margin_answer = if (!is.null(margin)) location_margin(nodes, margin, alpha),
       notes = c(campaign$notes, tables$notes, unlike_launches(campaign)), alpha = alpha, power = power,
       margin = margin, campaign = campaign)
}

# The tables by node and by rank.
node_source <- function(campaign) {
  ranks <- as.data.frame(campaign$ranks)
  if (nrow(ranks) == 0) {
    abort_data("no launch of ", paste(campaign$dirs, collapse = " "),
               " has ranks.csv, which says who lost what")
  }
  nodes <- as.data.frame(campaign$nodes)
  refuse_namesakes(nodes)
  for (name in shift_columns) {
    ranks[[name]] <- ranks[[name]] %||% rep(NA_real_, nrow(ranks))
    nodes[[name]] <- nodes[[name]] %||% rep(NA_real_, nrow(nodes))
  }
  ranks$ranks <- rep(1, nrow(ranks))
  lost <- setdiff(unique(ranks$launch), nodes$launch)
  if (nrow(nodes) == 0) {
    abort_data("no launch of ", paste(campaign$dirs, collapse = " "),
               " has nodes.csv, which says what each node lost")
  }
  list(nodes = nodes, ranks = ranks,
       notes = sprintf("launch %s has no nodes.csv: what its nodes lost is not known", lost))
}

# Places are told apart by the names of their hosts.
refuse_namesakes <- function(nodes) {
  known <- unique(nodes[c("launch", "node", "host")])
  twice <- which(duplicated(known[c("launch", "host")]))
  if (length(twice) > 0) {
    abort_data("launch ", known$launch[twice[1]], " has two nodes called '", known$host[twice[1]],
               "', which cannot be told apart: give every node a name of its own")
  }
}

shift_columns <- c("pairs", "preempted_shift_percent_mean", "preempted_shift_percent_sd")

# ---- one table: places x treatments x levels ---------------------------------------------------

# `by`: the columns that name a place.
place_table <- function(table, by, campaign, settings) {
  place <- code_of(row_key(table, by))
  on <- which(table$arm == "on")
  off <- which(table$arm == "off")
  if (length(on) == 0) {
    abort_data("no on row in ranks.csv or nodes.csv of ", paste(campaign$dirs, collapse = " "))
  }
  family_of <- combine_keys(table$level_requested_percent, treatment_code(table))
  family <- code_of(family_of[on])
  group <- code_of(combine_keys(family, place[on]))
  first <- on[!duplicated(group)]
  names <- table[first, c(intersect(treatment_columns, names(table)), "level_requested_percent", by)]
  names[] <- lapply(names, function(x) if (is.factor(x)) as.character(x) else x)
  values <- launch_values(table, on, off, place, campaign)
  shift <- shift_estimates(values, group)
  result <- cbind(names, ranks = table$ranks[first],
                  clean_preempted_percent = clean_share(table, off, place)[place[first]], shift,
                  row.names = NULL)
  if ("rank" %in% by) result$cpu <- same_or(table$cpu[on], group)
  result$place <- place[first]
  result$family <- family[!duplicated(group)]
  result$wall_on <- rowsum(table$wall_ns[on], group)[, 1]
  result <- judge_places(result, settings)
  result <- cbind(result, slowest_shares(table, on, off, place, group, result))
  order_places(result, by)
}

# The one value of each group, -1 where there are several.
same_or <- function(x, group) {
  ends <- tapply(x, group, range, simplify = FALSE)
  unname(vapply(ends, function(r) if (r[1] == r[2]) r[1] else -1, 0))
}

clean_share <- function(table, off, place) {
  share <- rep(NA_real_, max(place))
  sums <- rowsum(cbind(table$preempted_ns[off], table$wall_ns[off]), place[off])
  share[as.numeric(rownames(sums))] <- 100 * sums[, 1] / sums[, 2]
  share
}

# One value per on row: the mean shift over the pairs of its launch; without pairs the share less that of
# the off row of its launch, or of the off launch of its set. NA without any.
launch_values <- function(table, on, off, place, campaign) {
  n <- table$pairs[on]
  mean <- table$preempted_shift_percent_mean[on]
  sd <- table$preempted_shift_percent_sd[on]
  paired <- !is.na(n) & n > 1 & !is.na(mean) & !is.na(sd)
  share <- 100 * table$preempted_ns / table$wall_ns
  single <- vapply(campaign$launches, function(info) identical(info$options$design, "single"),
                   TRUE)[table$launch[on]]
  partner <- match(paste(table$launch[on], place[on]), paste(table$launch[off], place[off]))
  set <- vapply(campaign$launches, set_of, 0)[table$launch]
  own <- !is.na(partner)
  of_set <- match(paste(set[on], place[on]), paste(set[off], place[off]))
  refuse_two_offs(set[off], place[off], unique(set[on][single & !own]))
  partner <- ifelse(own, partner, ifelse(is.na(set[on]), NA, of_set))
  without <- share[on] - share[off][partner]
  data.frame(paired = paired, n = ifelse(paired, n, 0), sd = sd,
             x = ifelse(paired, mean, ifelse(single, without, NA)),
             unit = ifelse(paired, "pair", ifelse(own, "launch", "set of launches")),
             lone = !paired & single & is.na(partner))
}

# As where the verdicts of sets are made: which of two off launches belongs to an on launch cannot be told.
refuse_two_offs <- function(set, place, wanted) {
  twice <- which(!is.na(set) & set %in% wanted & duplicated(paste(set, place)))
  if (length(twice) > 0) {
    abort_data("set ", set[twice[1]],
               " has two off launches: give each set of launches a number of its own (--arms on:set=N)")
  }
}

# Estimate, standard error and degrees of freedom of each group, and of which unit they are.
shift_estimates <- function(values, group) {
  total <- function(x) rowsum(x, group)[, 1]
  known <- !is.na(values$x)
  k <- total(as.numeric(known))
  n <- total(values$n)
  x <- ifelse(known, values$x, 0)
  across <- k >= 3 | k >= 2 & n == 0
  mean_launches <- total(x) / k
  spread <- total(ifelse(known, (x - mean_launches[group])^2, 0))
  pooled <- list(mean = total(values$n * x) / n,
                 se = sqrt(total(ifelse(values$paired, values$n * values$sd^2, 0))) / n,
                 df = n - total(as.numeric(values$paired)))
  first <- !duplicated(group)
  unit <- ifelse(!across, "pair", ifelse(values$unit[first] == "pair", "launch", values$unit[first]))
  got <- data.frame(n_launches = k, n_pairs = n, scope = ifelse(across, scope_campaign, scope_launch),
                    unit_of_inference = unit,
                    preempted_shift_percent = ifelse(across, mean_launches, pooled$mean),
                    se = ifelse(across, sqrt(spread / (k - 1) / k), pooled$se),
                    df = ifelse(across, k - 1, pooled$df))
  got$reason <- ifelse(
    is.finite(got$se) & got$se > 0,
    NA_character_,
    ifelse(
      got$n_launches == 0 & total(as.numeric(values$lone)) > 0,
      "launches of one arm, which belong to no sets (--arms on:set=N)",
      ifelse(
        got$n_launches == 0,
        "no complete pairs by place were recorded",
        ifelse(is.finite(got$se), "all differences are equal, their scatter is unknown",
               "fewer than 2 launches have a value")
      )
    )
  )
  got$preempted_shift_percent[!is.finite(got$preempted_shift_percent)] <- NA
  got$se[!is.na(got$reason)] <- got$df[!is.na(got$reason)] <- NA
  got
}

# Test, intervals, limits, shares of all the extra time, and what follows.
judge_places <- function(rows, settings) {
  alpha <- settings$alpha
  reach <- function(level) stats::qt(1 - level, rows$df) * rows$se
  rows$ci_low <- rows$preempted_shift_percent - reach(alpha / 2)
  rows$ci_high <- rows$preempted_shift_percent + reach(alpha / 2)
  rows$bound_low <- rows$preempted_shift_percent - reach(alpha)
  rows$bound_high <- rows$preempted_shift_percent + reach(alpha)
  rows$p_one_sided <- pmax(1e-300,
                           stats::pt(rows$preempted_shift_percent / rows$se, rows$df, lower.tail = FALSE))
  rows$p_holm <- stats::ave(rows$p_one_sided, rows$family, FUN = function(p) stats::p.adjust(p, "holm"))
  rows$detection_limit <- NA_real_
  rows$extra_share_percent <- NA_real_
  rows$found <- "inconclusive"
  for (at in split(seq_len(nrow(rows)), rows$family)) {
    tested <- sum(!is.na(rows$p_one_sided[at]))
    if (tested == 0) next
    rows$detection_limit[at] <- detection_limit(rows$se[at], rows$df[at], alpha / tested, settings$power)
    rows$extra_share_percent[at] <- extra_shares(rows[at, ], alpha)
    rows$found[at] <- found_words(rows[at, ], alpha)
  }
  rows$margin_verdict <- NA_character_
  if (!is.null(settings$margin)) {
    at <- which(rows$level_requested_percent > 0)
    rows$margin_verdict[at] <- ifelse(
      is.na(rows$reason[at]), margin_verdict(rows$bound_low[at], rows$bound_high[at], settings$margin),
      "inconclusive"
    )
  }
  rows
}

# Share of each place in the sum over places, NA where that is not clearly above 0.
extra_shares <- function(rows, alpha) {
  extra <- rows$preempted_shift_percent * rows$wall_on
  se <- rows$se * rows$wall_on
  known <- is.finite(extra) & is.finite(se)
  sum <- sum(extra[known])
  ifelse(known & sum > stats::qnorm(1 - alpha) * sqrt(sum(se[known]^2)), 100 * extra / sum, NA)
}

found_words <- function(rows, alpha) {
  detected <- !is.na(rows$p_holm) & rows$p_holm <= alpha
  largest <- which.max(ifelse(detected, rows$preempted_shift_percent, NA))
  little <- if (length(largest) == 1) rows$ci_high < rows$ci_low[largest] / 10 else FALSE
  ifelse(!is.na(rows$reason), "inconclusive",
         ifelse(!detected, "not detected", ifelse(little, "trace", "here")))
}

# ---- where the slowest rank was ----------------------------------------------------------------

dose_key <- function(rows) row_key(rows, c(treatment_columns, "level_requested_percent"))

# Shares of the halves in which the slowest rank was at each place.
slowest_shares <- function(table, on, off, place, group, result) {
  share <- function(at, code, wanted) {
    sums <- rowsum(as.matrix(table[at, c("times_slowest", "halves")]), code)
    sums <- sums[match(wanted, as.numeric(rownames(sums))), , drop = FALSE]
    ifelse(sums[, 2] > 0, 100 * sums[, 1] / sums[, 2], NA_real_)
  }
  data.frame(ranks_percent = rank_shares(table, place, result),
             slowest_off_percent = share(off, place[off], result$place),
             slowest_on_percent = share(on, group, seq_len(nrow(result))), row.names = NULL)
}

# Share of a place in the ranks of its launches.
rank_shares <- function(table, place, result) {
  first <- !duplicated(paste(table$launch, place))
  all <- rowsum(table$ranks[first], table$launch[first])[, 1]
  sums <- rowsum(cbind(table$ranks[first], all[table$launch[first]]), place[first])
  100 * (sums[, 1] / sums[, 2])[match(result$place, as.numeric(rownames(sums)))]
}

# ---- the answer --------------------------------------------------------------------------------

order_places <- function(rows, by) {
  treatment <- unname(as.list(rows[intersect(treatment_columns, names(rows))]))
  rows <- rows[do.call(order, c(treatment, list(-rows$level_requested_percent, rows$place))), ]
  rows <- rows[setdiff(names(rows), c("place", "family", "wall_on", if ("rank" %in% by) "ranks"))]
  rownames(rows) <- NULL
  rows
}

# The rows that answer: of each treatment those at its highest level.
answering_rows <- function(rows) {
  if (is.null(rows)) return(NULL)
  label <- treatment_label(rows, intersect(treatment_columns, names(rows)))
  rows[rows$level_requested_percent == stats::ave(rows$level_requested_percent, label, FUN = max), ]
}

location_answers <- function(nodes) {
  rows <- answering_rows(nodes)
  factors <- varying_factors(rows)
  label <- treatment_label(rows, factors)
  unname(vapply(split(rows, in_order(label)), function(part) {
    text <- location_answer(part)
    under <- treatment_label(part, factors)[1]
    if (nzchar(under)) {
      paste0("Under ", under, ": ", tolower(substr(text, 1, 1)), substring(text, 2))
    } else {
      text
    }
  }, ""))
}

location_answer <- function(rows) {
  here <- rows[rows$found == "here", ]
  here <- here[order(-here$preempted_shift_percent), ]
  trace <- rows$host[rows$found == "trace"]
  n <- nrow(rows)
  if (nrow(here) == 0) {
    if (all(rows$found == "inconclusive")) {
      return(paste0("Which node has the noise cannot be told: ", paste(unique(rows$reason), collapse = "; "),
                    "."))
    }
    return(sprintf("No node was found to lose more CPU time under the load (limits %s %% of one CPU, %s).",
                   format_span_of(rows$detection_limit), counted(n, "node")))
  }
  most <- if (is.na(here$extra_share_percent[1])) "" else {
    sprintf(", most on %s (%s %% of the extra preempted time)", here$host[1],
            format_effect(here$extra_share_percent[1], FALSE))
  }
  where <- if (n == 1) {
    paste0(here$host, ", the only node")
  } else if (nrow(here) == 1) {
    here$host
  } else if (nrow(here) == n) {
    paste0("all ", n, " nodes", most)
  } else {
    paste0(few_words(here$host, 6), " (", nrow(here), " of ", n, " nodes)", most)
  }
  paste0("The noise is on ", where, if (length(trace) > 0) paste0("; traces of it on ", few_words(trace, 4)),
         ".")
}

# "0.02", or "0.02 to 0.03".
format_span_of <- function(x, form = function(x) format_effect(x, FALSE)) {
  if (all(is.na(x))) "unknown" else paste(unique(form(range(x, na.rm = TRUE))), collapse = " to ")
}

# Is the extra preempted time of every node within the margin, at every level above 0? Above: after Holm's
# correction.
location_margin <- function(nodes, margin, alpha) {
  rows <- nodes[!is.na(nodes$margin_verdict), ]
  if (nrow(rows) == 0) return(list(answer = "inconclusive", reason = "no level above 0 was judged"))
  p <- stats::pt((rows$preempted_shift_percent - margin) / rows$se, rows$df, lower.tail = FALSE)
  answer <- answer_with_holm(rows$margin_verdict, p, alpha)
  list(
    answer = answer,
    reason = if (answer != "inconclusive") {
      NA_character_
    } else if (any(rows$margin_verdict == "above")) {
      "a node lies above the margin by itself, but not with all nodes counted together"
    } else {
      "an interval reaches over the margin, or a node could not be judged"
    }
  )
}
