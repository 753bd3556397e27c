# The verdict on an acceptance campaign.

#' Judge an acceptance campaign
#'
#' Judged are: words that arrived wrong (any fails); figures with a limit of the user, or with one learnt from a reference campaign; nodes
#' and links against the others (`compare_nodes()`); and whether the localiser named the node that got a known load (without that the campaign
#' cannot pass: it could not have seen a bad node). All other figures are measured, not judged.
#'
#' A figure passes a limit when its whole confidence interval keeps it, and fails when none of it does. A learnt limit is the normal
#' tolerance bound mean + k sd with `k = qt(1 - alpha, df, qnorm(p) sqrt(n)) / sqrt(n)`, n and df those that related values of
#' the same launch are worth (Mee and Owen 1983), on logarithms for times and rates, over the means of the reference's
#' launches (times nodes or pairs) or, where these are fewer than 5, over its repetitions; p = 1 - alpha / (number of figures judged by it).
#'
#' @param acceptance An `nl_acceptance` from [read_acceptance()].
#' @param limits Data frame from `read_limits()`, or NULL.
#' @param reference An `nl_acceptance`, or NULL.
#' @param alpha Level, length 1: of the comparison of nodes over all its tests; intervals have confidence 1 - alpha.
#' @param margin Percent (or percent points) by which a node may be worse than the others, length 1.
#' @param limits_name Character, length 1: what the limits' source is called.
#' @return An object of class `nl_acceptance_verdict`, a list: `verdict` (`pass`, `fail`, `inconclusive`), `answer` (a sentence), `ended_utc`, `checks` (data frame, one
#'   row per check: `check`, `what`, `status`, `verdict`, `name`, `entity`, `value`, `ci_low`, `ci_high`, `unit`, `limit`, `source`, `reason`), `judgements` (one row per thing judged:
#'   the same, with `kind`, `effect`, `p_holm`, `todo`), `figures` (every figure with interval, `verdict` `measured, not judged` where none was), `nodes`
#'   (`host`, `verdict`, `reason`), `comparisons` (see `compare_nodes()`), `self_check`, `periods`, `mismatches`, `notes`, `alpha`, `margin`, `acceptance`.
#' @references Natrella, M. G. (1963) Experimental Statistics, NBS Handbook 91, section 2-5 (one-sided tolerance limits).
#' @examples
#' \dontrun{
#' judge_acceptance(read_acceptance("acceptance-campaign"))$answer
#' }
#' @export
judge_acceptance <- function(acceptance, limits = NULL, reference = NULL, alpha = 0.01, margin = 0, limits_name = "limits") {
  check_argument(inherits(acceptance, "nl_acceptance"), "acceptance", class(acceptance), "the result of read_acceptance()")
  check_probability(alpha, "alpha")
  units <- acceptance_units(acceptance)
  figures <- figure_table(units, alpha)
  comparable <- comparable_units(units, acceptance)
  comparisons <- compare_nodes(comparable$units, alpha, margin)
  self_check <- judge_self_check(acceptance, alpha)
  limited <- judge_limits(figures, limits, limits_name)
  referred <- if (!is.null(reference)) judge_reference(acceptance, figures, units, reference, alpha)
  judgements <- bind_rows(list(
    judgement("", "", "")[0, ], # the columns, where nothing is judged
    integrity_judgement(acceptance), kernel_judgement(acceptance), limited$rows, referred$rows, node_judgements(comparisons, alpha)
  ))
  judgements$todo <- ifelse(judgements$verdict == "pass", "", vapply(acceptance_checks[judgements$check], `[[`, "", "todo"))
  figures$verdict <- figure_verdicts(figures, judgements)
  checks <- check_table(acceptance, figures, judgements)
  partial <- vapply(acceptance$launches, function(info) !identical(info$ended, "complete"), TRUE)
  result <- list(checks = checks, judgements = judgements, figures = figures, comparisons = comparisons, self_check = self_check,
                 ended_utc = last_end(acceptance), mismatches = acceptance$mismatches, periods = detour_periods(acceptance, alpha),
                 notes = c(acceptance$notes, few_nodes_note(acceptance), comparable$notes, referred$notes), alpha = alpha, margin = margin, acceptance = acceptance)
  result$verdict <- overall_verdict(judgements, checks, self_check, any(partial), acceptance$progress)
  result$nodes <- node_verdicts(result)
  result$answer <- acceptance_answer(result)
  structure(result, class = "nl_acceptance_verdict")
}

#' @export
print.nl_acceptance_verdict <- function(x, all = FALSE, ...) {
  cat(as_lines(if (all) format_acceptance(x) else acceptance_view(x, x$acceptance$dirs), list()), sep = "\n")
  invisible(x)
}

last_end <- function(acceptance) {
  ends <- unlist(lapply(acceptance$launches, function(info) info$ended_utc %||% info$started_utc))
  if (length(ends) == 0) NA_character_ else printable(max(unlist(ends)))
}

# Every figure with its interval: geometric mean for times and rates.
figure_table <- function(units, alpha) {
  key <- paste(units$check, units$variant, units$metric, units$size, units$entity, sep = "\r")
  rows <- bind_rows(lapply(split(units, in_order(key)), function(part) {
    scale <- usable_scale(part)
    got <- mean_by_launch(to_scale(part$x, scale, "more"), part$launch)
    variance <- sum(got$parts$v)
    reach <- if (is.na(got$reason)) (if (variance > 0) stats::qt(1 - alpha / 2, satterthwaite(got$parts)) * sqrt(variance) else 0) else NA_real_
    cbind(part[1, c(figure_key, "what", "worse", "of", "entity", "unit")], scale = scale, value = from_scale(got$mean, scale, "more"),
          ci_low = from_scale(got$mean - reach, scale, "more"), ci_high = from_scale(got$mean + reach, scale, "more"), n = got$n,
          n_launches = got$n_launches, median = stats::median(part$x))
  }))
  rownames(rows) <- NULL
  rows$name <- figure_name(rows)
  rows
}

few_nodes_note <- function(acceptance) {
  n <- length(acceptance$hosts)
  if (n < 3) sprintf("%s: none is compared with the others, which takes three; limits, a reference and wrong words judge", counted(n, "node"))
}

# Nodes that share a CPU disturb each other: only what was scanned alone is compared between them.
comparable_units <- function(units, acceptance) {
  shared <- acceptance$shared
  if (NROW(shared) == 0) return(list(units = units, notes = NULL))
  hosts <- unique(c(shared$host_a, shared$host_b))
  touches <- vapply(strsplit(units$entity, " - ", fixed = TRUE), function(ends) any(ends %in% hosts), TRUE)
  said <- unique(sprintf("%s and %s share CPU %s", shared$host_a, shared$host_b, format_count(shared$cpu)))
  list(units = units[units$variant == "alone" | !touches, ], notes = sprintf(
    "%s: they disturb each other, so that only what was scanned alone is compared between these nodes", join_words(few_words(said, 3))
  ))
}

judgement <- function(check, what, verdict, ..., variant = "", metric = "", size = NA_real_, entity = "", value = NA_real_, ci_low = NA_real_, ci_high = NA_real_,
                      unit = "", limit = "", source = "", kind = check, effect = "", p_holm = NA_real_, reason = NA_character_) {
  data.frame(check = check, variant = variant, metric = metric, size = size, what = what, entity = entity, value = value, ci_low = ci_low, ci_high = ci_high,
             unit = unit, limit = limit, source = source, kind = kind, effect = effect, p_holm = p_holm, verdict = verdict, reason = reason)
}

# Any wrong word fails; who sent it and who received it cannot be told apart, so both are named.
integrity_judgement <- function(acceptance) {
  rows <- acceptance$figures[acceptance$figures$check == "integrity" & acceptance$figures$metric == "mismatches", ]
  if (nrow(rows) == 0) return(NULL)
  wrong <- sum(rows$value)
  bytes <- sum(acceptance$figures$value[acceptance$figures$check == "integrity" & acceptance$figures$metric == "received"])
  total <- judgement("integrity", "words that arrived wrong", if (wrong > 0) "fail" else "pass", metric = "mismatches", value = wrong, unit = "count",
                     limit = "0", source = "always", effect = sprintf("of %s in %s arrays", format_figure(bytes, "bytes"), format_count(sum(rows$n))))
  if (wrong == 0) return(total)
  found <- acceptance$mismatches
  if (NROW(found) == 0) {
    by <- tapply(rows$value, rows$host, sum)
    by <- by[by > 0]
    return(rbind(total, judgement("integrity", "wrong words received", "fail", metric = "mismatches", entity = names(by), value = as.vector(by), unit = "count",
                                  limit = "0", source = "always")))
  }
  way <- in_order(paste(found$sender_host, found$sender_rank, found$receiver_host, found$receiver_rank))
  rbind(total, bind_rows(lapply(split(found, way), function(f) {
    one <- f[1, ]
    judgement("integrity", "wrong words", "fail", metric = "mismatches", entity = paste(one$sender_host, "->", one$receiver_host), value = nrow(f), unit = "count",
              limit = "0", source = "always", effect = sprintf("rank %s to rank %s, offset %s of %s bytes, expected %s, found %s%s", one$sender_rank,
                one$receiver_rank, format_count(one$offset_bytes), format_count(one$bytes), one$expected_hex, one$found_hex,
                if (nrow(f) > 1) sprintf(" (and %d more)", nrow(f) - 1) else ""))
  })))
}

kernel_judgement <- function(acceptance) {
  rows <- acceptance$figures[acceptance$figures$check == "kernels" & acceptance$figures$metric == "wrong", ]
  if (nrow(rows) == 0) return(NULL)
  wrong <- tapply(rows$value, rows$variant, sum)
  judgement("kernels", "ranks with a wrong result", ifelse(wrong > 0, "fail", "pass"), variant = names(wrong), metric = "wrong", value = as.vector(wrong),
            unit = "count", limit = "0", source = "always")
}

# Interval inside: pass; outside: fail; a limit on it, or no interval: inconclusive.
against_limit <- function(low, high, limit, relation) {
  relation <- rep_len(relation, length(low))
  inside <- ifelse(relation == "<=", high <= limit, low >= limit)
  outside <- ifelse(relation == "<=", low > limit, high < limit)
  ifelse(is.na(inside), "inconclusive", ifelse(inside, "pass", ifelse(outside, "fail", "inconclusive")))
}

judge_limits <- function(figures, limits, name) {
  if (NROW(limits) == 0) return(list())
  got <- lapply(seq_len(nrow(limits)), function(i) {
    l <- limits[i, ]
    at <- figures$check == l$check & figures$metric == l$metric & (is.na(l$variant) | figures$variant == l$variant) &
      (is.na(l$size) | !is.na(figures$size) & figures$size == l$size)
    source <- paste0(basename(name), ":", l$line)
    if (!any(at)) {
      missing <- judgement(l$check, "limited, but not measured", "inconclusive", variant = if (is.na(l$variant)) "" else l$variant, metric = l$metric,
                           size = l$size, limit = l$text, source = source, kind = "limit", reason = "no launch has this figure")
      return(missing)
    }
    f <- figures[at, ]
    verdict <- against_limit(f$ci_low, f$ci_high, l$limit, l$relation)
    judgement(f$check, f$what, verdict, variant = f$variant, metric = f$metric, size = f$size, entity = f$entity, value = f$value, ci_low = f$ci_low,
              ci_high = f$ci_high, unit = f$unit, limit = l$text, source = source, kind = "limit",
              reason = ifelse(verdict != "inconclusive", NA, interval_reason(f$ci_low, "limit")))
  })
  list(rows = bind_rows(got))
}

least_reference <- 5

# What was learnt from the reference, and what could not be.
judge_reference <- function(acceptance, figures, units, reference, alpha) {
  learnt <- acceptance_units(reference)
  sizes <- lapply(list(reference, acceptance), function(a) sort(unique(vapply(a$launches, function(info) as.numeric(info$ranks), 0))))
  other_size <- !identical(sizes[[1]], sizes[[2]])
  # Of all ranks together, or shared out among them: nothing to learn from another number of ranks.
  hangs <- function(rows) rows$of == "cluster" & rows$check != "completeness" | rows$metric %in% acceptance_measures$name[acceptance_measures$placed]
  if (other_size) learnt <- learnt[!hangs(learnt), ]
  key <- function(x) paste(x$check, x$variant, x$metric, x$size, sep = "\r")
  parts <- split(learnt, in_order(key(learnt)))
  known <- key(figures) %in% names(parts)
  lacks <- figures[!known & !(other_size & hangs(figures)), ]
  lost <- setdiff(names(parts), key(figures))
  notes <- c(
    if (other_size) sprintf("the reference has %s ranks, this campaign %s: figures of all ranks together are not judged by it", format_range(sizes[[1]]), format_range(sizes[[2]])),
    if (nrow(lacks) > 0) sprintf("the reference lacks %s, not judged by it: %s", counted(nrow(lacks), "figure"), few_words(lacks$name, 4)),
    if (length(lost) > 0) sprintf("the reference has %s that were not measured here: %s", counted(length(lost), "figure"), few_words(unname(vapply(parts[lost], function(p) figure_name(cbind(p[1, figure_key], entity = "")), "")), 4))
  )
  at <- which(known)
  share <- 1 - alpha / max(1, length(at))
  bounds <- lapply(parts, tolerance_bound, share, alpha)
  rows <- bind_rows(lapply(at, function(i) {
    f <- figures[i, ]
    bound <- bounds[[key(f)]]
    verdict <- if (is.na(bound$limit)) "inconclusive" else against_limit(f$ci_low, f$ci_high, bound$limit, bound$relation)
    judgement(f$check, f$what, verdict, variant = f$variant, metric = f$metric, size = f$size, entity = f$entity, value = f$value, ci_low = f$ci_low,
              ci_high = f$ci_high, unit = f$unit, limit = if (is.na(bound$limit)) "" else paste(bound$relation, format_figure(bound$limit, f$unit)),
              source = bound$source, kind = "reference",
              reason = if (verdict != "inconclusive") NA_character_ else bound$reason %||% interval_reason(f$ci_low, "bound"))
  }))
  list(rows = rows, notes = notes)
}

interval_reason <- function(ci_low, what) {
  ifelse(is.na(ci_low), "its scatter is unknown (one repetition)", paste("the", what, "is in the interval: measure longer"))
}

# One-sided normal tolerance bound, on the side that is worse.
tolerance_bound <- function(part, share, alpha) {
  scale <- usable_scale(part)
  worse <- part$worse[1]
  y <- to_scale(part$x, scale, worse)
  group <- code_of(paste(part$launch, part$entity))
  x <- as.vector(tapply(y, group, mean))
  launch <- part$launch[!duplicated(group)]
  of <- if (part$of[1] == "cluster") "launches" else paste0("launches x ", part$of[1], "s")
  if (length(x) < least_reference) {
    x <- y
    launch <- part$launch
    of <- "repetitions"
  }
  n <- length(x)
  source <- sprintf("reference, n = %d %s", n, of)
  if (n < least_reference) return(list(limit = NA_real_, source = source, reason = sprintf("%d values of the reference are too few (%d are needed)", n, least_reference)))
  s <- reference_scatter(x, launch)
  root <- sqrt(s$n)
  k <- suppressWarnings(stats::qt(1 - alpha, s$df, ncp = stats::qnorm(share) * root)) / root
  list(limit = from_scale(s$mean + k * s$sd, scale, worse), relation = if (worse == "more") "<=" else ">=", source = source)
}

# Mean and standard deviation of values of several launches, with the number of independent values they are worth and the degrees of
# freedom: values of one launch resemble each other (Mee and Owen 1983).
reference_scatter <- function(x, launch) {
  n <- length(x)
  a <- length(unique(launch))
  if (a == 1 || a == n) return(list(mean = mean(x), sd = stats::sd(x), n = n, df = n - 1))
  each <- n / a
  means <- tapply(x, launch, mean)
  within <- sum((x - means[as.character(launch)])^2) / (n - a)
  between <- each * stats::var(as.vector(means))
  if (!within > 0) return(list(mean = mean(means), sd = stats::sd(means), n = a, df = a - 1))
  r <- max(0, between / within - 1) / each
  list(mean = mean(means), sd = sqrt(max(within, between) / each + (1 - 1 / each) * within), n = n * (r + 1) / (each * r + 1),
       df = (r + 1)^2 / ((r + 1 / each)^2 / (a - 1) + (1 - 1 / each) / n))
}

node_judgements <- function(rows, alpha) {
  if (NROW(rows) == 0) return(NULL)
  more <- ifelse(rows$effect_unit == "percent", "%", ifelse(rows$effect_unit == "points", "points", rows$effect_unit))
  judgement(rows$check, rows$what, rows$verdict, variant = rows$variant, metric = rows$metric, size = rows$size, entity = rows$entity, value = rows$value,
            unit = rows$unit, limit = paste(ifelse(rows$kind == "link", "other links:", "others:"), format_figure(rows$others_value, rows$unit)),
            source = paste(rows$kind, "against", ifelse(rows$kind == "link", "links", "nodes")), kind = rows$kind, p_holm = rows$p_holm, reason = rows$reason,
            effect = sprintf("%s %s %s, p = %s", format_effect(rows$effect), more, format_interval(rows$ci_low, rows$ci_high), format_p(rows$p_holm)))
}

# Did the localiser name the node that got a known load?
judge_self_check <- function(acceptance, alpha) {
  about <- acceptance$self_check
  answer <- function(verdict, reason, chosen = NA_character_, named = NA_character_) {
    list(verdict = verdict, chosen = chosen, named = named, reason = reason)
  }
  if (length(about$dirs) == 0) {
    if (isTRUE(about$planned)) return(answer("inconclusive", "it was planned, but there is no launch of it"))
    return(answer("skipped", about$why_not))
  }
  info <- tryCatch(read_json_head(file.path(about$dirs[length(about$dirs)], "launch.json")), nl_error = identity)
  if (inherits(info, "error")) return(answer("inconclusive", conditionMessage(info)))
  chosen <- as.character(unlist(info$options$noise_nodes))
  location <- tryCatch(locate_noise(read_campaign(about$dirs[length(about$dirs)]), alpha), nl_error = identity)
  if (inherits(location, "error")) return(answer("inconclusive", conditionMessage(location), paste(chosen, collapse = ", ")))
  top <- location$nodes[location$nodes$level_requested_percent == max(location$nodes$level_requested_percent), ]
  named <- top$host[top$found == "here"]
  right <- length(chosen) == 1 && identical(named, chosen)
  answer(if (right) "pass" else "inconclusive", sprintf("%s %% of a CPU on %s: the localiser named %s", format_level(top$level_requested_percent[1]),
                                                       paste(chosen, collapse = ", "), if (length(named) > 0) few_words(named, 4) else "no node"),
         paste(chosen, collapse = ", "), paste(named, collapse = ", "))
}

worst_verdict <- function(verdicts) {
  if (any(verdicts == "fail")) "fail" else if (any(verdicts == "inconclusive")) "inconclusive" else if (any(verdicts == "pass")) "pass" else "measured, not judged"
}

figure_verdicts <- function(figures, judgements) {
  key <- function(rows) paste(rows$check, rows$variant, rows$metric, rows$size, rows$entity, sep = "\r")
  if (nrow(judgements) == 0) return(rep("measured, not judged", nrow(figures)))
  of <- tapply(judgements$verdict, key(judgements), worst_verdict)
  verdict <- as.vector(of[key(figures)]) # JSON knows no arrays of one dimension
  ifelse(is.na(verdict), "measured, not judged", verdict)
}

check_table <- function(acceptance, figures, judgements) {
  statuses <- acceptance$checks
  bind_rows(lapply(names(acceptance_checks), function(name) {
    about <- acceptance_checks[[name]]
    status <- statuses[statuses$check == name, ]
    own <- judgements[judgements$check == name, ]
    if (nrow(status) == 0 && nrow(own) == 0) return(NULL)
    ran <- any(status$status == "ran") || any(acceptance$figures$check == name)
    odd <- status[status$status != "ran" | !is.na(status$reason), ]
    verdict <- worst_verdict(own$verdict)
    failed <- any(status$status %in% c("failed", "planned"))
    # What has a limit and did not run is not passed over.
    if (!ran) verdict <- if (failed || nrow(own) > 0) "inconclusive" else "skipped"
    if (failed && verdict != "fail") verdict <- "inconclusive"
    head <- headline(figures[figures$check == name, ], about)
    shown <- own[own$verdict == verdict & own$verdict != "measured, not judged", ]
    shown <- shown[order(shown$kind %in% c("node", "link"), !(shown$metric %in% about$head)), ][1, ]
    use <- if (name == "integrity" || nrow(head) == 0 || verdict == "inconclusive" && isTRUE(shown$kind == "limit")) shown else head
    reason <- c(if (nrow(odd) > 0) paste0(odd$launch, ": ", ifelse(odd$status == "planned", "did not run: the launch ended before", odd$status),
                                          ifelse(is.na(odd$reason), "", paste0(", ", printable(odd$reason))))[1],
                if (verdict == "inconclusive") stats::na.omit(own$reason[own$verdict == "inconclusive"])[1])
    if (isTRUE(is.na(use$entity))) use <- NULL
    by <- unique(own$source[nzchar(own$source)])
    data.frame(check = name, what = about$what, status = if (ran) "ran" else if (nrow(status) > 0) status$status[1] else "not asked for", verdict = verdict, name = if (NROW(head) > 0) head$name else "",
               entity = use$entity %||% "", value = use$value %||% NA_real_, ci_low = use$ci_low %||% NA_real_, ci_high = use$ci_high %||% NA_real_,
               unit = use$unit %||% "", size = use$size %||% NA_real_, variant = use$variant %||% "", limit = if (isTRUE(use$verdict != "measured, not judged")) limit_words(use, own) else "",
               source = few_words(unique(sub("^reference.*", "reference", by)), 3), n_judged = nrow(own), reason = paste(stats::na.omit(reason), collapse = "; "))
  }))
}

limit_words <- function(head, own) {
  same <- own[own$variant == head$variant & own$metric == head$metric & own$entity == head$entity & (own$size %in% head$size), ]
  if (nrow(same) == 0) "" else same$limit[order(same$kind %in% c("node", "link"))][1]
}

# The figure that stands for a check: of its best variant and the asked size, the worst node or pair.
headline <- function(figures, about) {
  if (is.null(about$head)) return(figures[0, ])
  rows <- figures[figures$metric == about$head & figures$variant %in% about$variants, ]
  if (nrow(rows) == 0) return(rows)
  rows <- rows[rows$variant == intersect(about$variants, rows$variant)[1], ]
  if (!is.null(about$size) && !all(is.na(rows$size))) {
    rows <- rows[rows$size == (if (about$size == "least") min(rows$size) else max(rows$size)), ]
  }
  rows[order(rows$value * if (rows$worse[1] == "more") -1 else 1), ][1, ]
}

overall_verdict <- function(judgements, checks, self_check, partial, progress) {
  if (any(judgements$verdict == "fail")) return("fail")
  unfinished <- NROW(progress) > 0 && any(progress$complete < progress$planned)
  if (self_check$verdict == "inconclusive" || partial || unfinished || any(checks$verdict == "inconclusive") || nrow(judgements) == 0) return("inconclusive")
  "pass"
}

node_verdicts <- function(result) {
  rows <- result$judgements
  ends <- strsplit(rows$entity, " (-|->) ")
  link <- grepl(" - ", rows$entity, fixed = TRUE)
  bad <- unlist(ends[!link & rows$verdict == "fail"])
  # A slow pair is explained by the end of it that failed itself.
  open <- link & rows$verdict == "fail" & !vapply(ends, function(e) any(e %in% bad), TRUE)
  bind_rows(lapply(result$acceptance$hosts, function(host) {
    own <- vapply(ends, function(e) host %in% e, TRUE)
    failed <- own & !link & rows$verdict == "fail"
    doubt <- own & (rows$verdict == "inconclusive" | open)
    verdict <- if (any(failed)) "fail" else if (any(doubt) || result$self_check$verdict == "inconclusive") "inconclusive" else
      if (any(own) || any(rows$check == "integrity")) "pass" else "inconclusive"
    which <- if (any(failed)) failed else doubt
    data.frame(host = host, verdict = verdict, reason = if (any(which)) few_words(unique(figure_name(rows[which, ])), 3) else if (verdict == "inconclusive") {
      if (result$self_check$verdict == "inconclusive") "self-check" else "nothing was judged"
    } else "")
  }))
}

acceptance_answer <- function(result) {
  rows <- result$judgements
  bad <- rows[rows$verdict == "fail", ]
  n <- length(result$acceptance$hosts)
  lead <- sprintf("%s on %s: ", toupper(result$verdict), counted(n, "node"))
  if (nrow(bad) > 0) {
    of <- unique(bad[nzchar(bad$entity), c("entity", "kind")])
    who <- if (nrow(of) > 0) few_words(unique(of$entity), 5) else "the cluster as a whole"
    return(paste0(lead, who, " failed (", few_words(unique(bad$check), 5), ")."))
  }
  if (result$self_check$verdict == "inconclusive") {
    return(paste0(lead, "this run could not have seen a bad node (self-check: ", result$self_check$reason, ")."))
  }
  if (result$verdict == "inconclusive") {
    open <- result$checks$check[result$checks$verdict == "inconclusive"]
    return(paste0(lead, if (length(open) > 0) paste0("nothing failed, but ", few_words(open, 5), " cannot be decided.")
                  else if (nrow(rows) == 0) "nothing was judged: give limits or a reference, or take more checks or nodes."
                  else "not all that was planned ran."))
  }
  paste0(lead, "nothing that was judged failed", if (result$self_check$verdict == "pass") sprintf(", and a known load on %s was seen", result$self_check$chosen), ".")
}

# Periods of the detours of each CPU: the strongest of its scans. `p`: of the spectrum's family of lines, times the number of scans.
detour_periods <- function(acceptance, alpha) {
  found <- bind_rows(lapply(names(acceptance$paths), function(id) {
    files <- list.files(acceptance$paths[[id]], "^detours\\..*\\.trace$", full.names = TRUE)
    bind_rows(lapply(files, function(file) {
      host <- sub("^detours\\.(.*)\\.trace$", "\\1", basename(file))
      scans <- read_detour_trace(file)
      scans <- scans[vapply(scans$detours, NROW, 0L) >= least_distances, ]
      bind_rows(lapply(seq_len(NROW(scans)), function(i) {
        s <- scans[i, ]
        period <- spectral_period(cbind(s$detours[[1]], half = 1), data.frame(start = 0, wall = s$wall_ns), alpha)
        data.frame(launch = id, host = host, variant = s$variant, cpu = s$cpu, period_s = period$period, se_s = period$se, p = period$fap)
      }))
    }))
  }))
  if (nrow(found) == 0) return(NULL)
  found$p <- pmin(1, found$p * nrow(found))
  found <- found[!is.na(found$p) & found$p <= alpha, ]
  found <- found[order(found$p), ]
  found[!duplicated(found[c("launch", "host", "variant", "cpu")]), ]
}

# One row per scan; `detours`: a list of data frames (start_ns, duration_ns). A line that a dying launch left incomplete is left out.
read_detour_trace <- function(file) {
  lines <- read_text_lines(file)
  head <- regmatches(lines, regexec("^# scan: repetition ([0-9]+) variant (\\S+) cpu (-?[0-9]+) wall_ns ([0-9]+) detours ([0-9]+) kept ([0-9]+)", lines))
  at <- which(lengths(head) == 7)
  if (length(at) == 0) return(data.frame())
  part <- do.call(rbind, head[at])
  rows <- data.frame(repetition = as.numeric(part[, 2]), variant = part[, 3], cpu = as.numeric(part[, 4]), wall_ns = as.numeric(part[, 5]))
  ends <- c(at[-1] - 1, length(lines))
  rows$detours <- lapply(seq_along(at), function(i) {
    own <- lines[seq_len(ends[i] - at[i]) + at[i]]
    own <- own[grepl("^[0-9]+\t[0-9]+\t-?[0-9]+$", own)]
    if (length(own) == 0) return(NULL)
    cells <- data.table::tstrsplit(own, "\t", fixed = TRUE, type.convert = TRUE)
    data.frame(start_ns = as.numeric(cells[[1]]), duration_ns = as.numeric(cells[[2]]))
  })
  # Of a scan with too many detours only the first were kept: it is known up to the last of them.
  cut <- which(as.numeric(part[, 7]) < as.numeric(part[, 6]) & lengths(rows$detours) > 0)
  rows$wall_ns[cut] <- vapply(rows$detours[cut], function(d) sum(d[nrow(d), ]), 0)
  rows
}
