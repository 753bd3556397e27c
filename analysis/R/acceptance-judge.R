# The verdict on an acceptance campaign (docs/methods.md, Judging): wrong data, lost nodes, limits of the
# user or learnt from a reference, nodes and links against the others of their class, and whether the
# localiser named the node with a known load, without which it cannot pass. `margin`: percent by which a
# node may be worse than the others; NULL: that of each kind of figure; a list of `percent`, `nodes`,
# `every_s` and `unseen_s`: how much its noise may cost so many nodes. Gives an `nl_acceptance_verdict`:
# `verdict`, `answer`, `judged` (`noise`, `data`, `nothing`), `asked` (`margin`, `limits`, `reference`: what
# somebody gave to judge by), and tables: `checks`, `judgements` (a row per thing judged), `figures`,
# `nodes`, `comparisons`.
judge_acceptance <- function(acceptance, limits = NULL, reference = NULL, alpha = 0.01, margin = NULL,
                             limits_name = "limits", classes = NULL) {
  own_margins <- attr(limits, "margins")
  margins <- margins_in_use(if (!is.list(margin)) margin, own_margins)
  at_scale <- scale_question(margin, scale_line_of(own_margins))
  asked <- c("margin", "limits", "reference")[!c(is.null(margin), is.null(limits), is.null(reference))]
  units <- acceptance_units(acceptance)
  watched <- watched_time(acceptance)
  figures <- figure_table(units, alpha, watched)
  comparable <- comparable_units(units, acceptance)
  classes <- node_classes(acceptance, comparable$apart, classes)
  comparisons <- compare_nodes(comparable$units, alpha, margins, classes, watched,
                               measured_seconds(acceptance), shared = acceptance$shared)
  comparisons <- without_shared_links(comparisons, acceptance$shared)
  comparisons <- doubt_unknown_switches(comparisons, classes)
  self_check <- judge_self_check(acceptance, alpha)
  referred <- if (!is.null(reference)) {
    judge_reference(acceptance, figures, reference, alpha, margins)
  }
  judgements <- bind_rows(list(
    judgement("", "", "")[0, ], # the columns, where nothing is judged
    lost_judgement(acceptance$lost),
    integrity_judgement(acceptance),
    kernel_judgement(acceptance),
    judge_limits(with_hidden_time(figures, acceptance$others), limits, limits_name, alpha),
    referred$rows,
    node_judgements(looked_at(comparisons))
  ))
  judgements <- without_unseen(judgements, acceptance$others, margins)
  judgements <- bind_rows(list(judgements, uncompared_judgements(judgements, figures, classes)))
  scans <- detour_scans(acceptance$paths)
  scale <- noise_at_scale(acceptance, scans, at_scale, alpha)
  judgements <- bind_rows(list(judgements, scale_judgements(scale, judgements, acceptance$hosts, at_scale)))
  figures <- scale_figures(scale, figures, at_scale)
  judgements$todo <- ifelse(judgements$verdict == "pass", "",
                            vapply(acceptance_checks[judgements$check], `[[`, "", "todo"))
  figures$verdict <- figure_verdicts(figures, judgements)
  checks <- check_table(acceptance, figures, judgements)
  kinds <- unique(margin_kinds(comparisons$check, comparisons$metric))
  result <- list(
    asked = asked,
    at_scale = at_scale,
    judged = if (any(judges_noise(judgements))) {
      "noise"
    } else if (nrow(judgements) > 0) {
      "data"
    } else {
      "nothing"
    },
    checks = checks,
    judgements = judgements,
    figures = figures,
    comparisons = comparisons,
    margins = margins,
    self_check = self_check,
    ended_utc = last_end(acceptance),
    mismatches = acceptance$mismatches,
    periods = detour_periods(acceptance, scans, alpha),
    notes = c(
      acceptance$notes,
      if (length(acceptance$hosts) < 3) {
        sprintf(
          paste0("%s: none is compared with the others, which takes three; only wrong words, a margin, ",
                 "limits or a reference judge"),
          counted(length(acceptance$hosts), "node")
        )
      },
      class_notes(classes),
      comparable$notes,
      referred$notes,
      unlooked_note(comparisons, measured_seconds(acceptance)),
      if (NROW(comparisons) > 0) margins_note(margins, kinds)
    ),
    alpha = alpha,
    classes = classes,
    acceptance = acceptance
  )
  result$causes <- noise_causes(acceptance, figures, at_scale, scale)
  result$noise <- c(noise_lines(acceptance, figures, result$causes),
                    scale_line(scale, judgements, at_scale, result$causes))
  result$complete <- !any(acceptance$progress$complete < acceptance$progress$planned) &&
    all(vapply(acceptance$launches, function(info) identical(info$ended, "complete"), TRUE))
  result$busy_reference <- referred$busy %||% NA_character_
  result$nodes <- node_verdicts(result)
  result$verdict <- overall_verdict(result)
  result$answer <- acceptance_answer(result)
  result$hint <- verdict_hint(result)
  structure(result, class = "nl_acceptance_verdict")
}

# What says how much a node loses.
noise_metrics <- c("lost", "lost_worst_cpu", "taken")
noise_kinds <- c("limit", "reference", "node", "link", "scale")

# Judgements that say something of a node's noise: what it loses, not how fast it works. A limit is
# somebody's own question, whatever it is on.
judges_noise <- function(rows) {
  rows$kind %in% c("limit", "scale") | rows$kind %in% c("reference", "node") & rows$metric %in% noise_metrics
}

last_end <- function(acceptance) {
  ends <- unlist(lapply(acceptance$launches, function(info) info$ended_utc %||% info$started_utc))
  if (length(ends) == 0) NA_character_ else printable(max(ends))
}

# Nodes that share a CPU disturb each other: only what was scanned alone is compared between them, and links
# of nodes that share none with each other. `units`: what is compared; `apart`: without these links, from
# which no class is told.
comparable_units <- function(units, acceptance) {
  shared <- acceptance$shared
  if (NROW(shared) == 0) return(list(units = units, apart = units, notes = NULL))
  hosts <- unique(c(shared$host_a, shared$host_b))
  touches <- vapply(strsplit(units$entity, " - ", fixed = TRUE), function(ends) any(ends %in% hosts), TRUE)
  alone <- units$variant == "alone" | !touches
  said <- unique(sprintf("%s and %s share CPU %s", shared$host_a, shared$host_b, format_count(shared$cpu)))
  list(
    units = units[alone | units$variant == "between", ],
    apart = units[alone, ],
    notes = sprintf(
      paste0("%s: they disturb each other, so that only what was scanned alone is compared between these ",
             "nodes, and links between nodes that share no CPU with each other"),
      join_words(few_words(said, 3))
    )
  )
}

# Where nodes share CPUs no link is judged whose ends share one (it stays one that others are held against),
# and none that cannot be decided: what it scatters is that sharing.
without_shared_links <- function(comparisons, shared) {
  if (NROW(shared) == 0 || NROW(comparisons) == 0) return(comparisons)
  own <- comparisons$entity %in% pair_name(shared$host_a, shared$host_b)
  rows_at(comparisons, which(comparisons$variant != "between" | !own & comparisons$verdict != "inconclusive"))
}

judgement <- function(check, what, verdict, ..., variant = "", metric = "", size = NA_real_, entity = "",
                      value = NA_real_, ci_low = NA_real_, ci_high = NA_real_, unit = "", limit = "",
                      source = "", kind = check, effect = "", p_holm = NA_real_, reason = NA_character_) {
  frame(check = check, variant = variant, metric = metric, size = size, what = what, entity = entity,
        value = value, ci_low = ci_low, ci_high = ci_high, unit = unit, limit = limit, source = source,
        kind = kind, effect = effect, p_holm = p_holm, verdict = verdict, reason = reason)
}

none_allowed <- function(check, what, value, ..., unit = "count") {
  judgement(check, what, ifelse(value > 0, "fail", "pass"), value = value, unit = unit, limit = "0",
            source = "always", ...)
}

judgement_of <- function(figures, verdict, ...) {
  judgement(figures$check, figures$what, verdict, variant = figures$variant, metric = figures$metric,
            size = figures$size, entity = figures$entity, value = figures$value, unit = figures$unit, ...)
}

# Any wrong word fails; who sent it and who received it cannot be told apart, so both are named.
integrity_judgement <- function(acceptance) {
  rows <- acceptance$figures[
    acceptance$figures$check == "integrity" & acceptance$figures$metric == "mismatches",
  ]
  if (nrow(rows) == 0) return(NULL)
  wrong <- sum(rows$value)
  bytes <- sum(acceptance$figures$value[
    acceptance$figures$check == "integrity" & acceptance$figures$metric == "received"
  ])
  total <- none_allowed(
    "integrity", "words that arrived wrong", wrong, metric = "mismatches",
    effect = sprintf("of %s in %s arrays", format_figure(bytes, "bytes"), format_count(sum(rows$n)))
  )
  if (wrong == 0) return(total)
  found <- acceptance$mismatches
  if (NROW(found) == 0) {
    by <- tapply(rows$value, rows$host, sum)
    by <- by[by > 0]
    return(rbind(
      total,
      none_allowed("integrity", "wrong words received", as.vector(by), metric = "mismatches",
                   entity = names(by))
    ))
  }
  way <- in_order(paste(found$sender_host, found$sender_rank, found$receiver_host, found$receiver_rank))
  rbind(total, bind_rows(lapply(split(found, way), function(f) {
    one <- f[1, ]
    none_allowed(
      "integrity",
      "wrong words",
      nrow(f),
      metric = "mismatches",
      entity = paste(one$sender_host, "->", one$receiver_host),
      effect = sprintf("rank %s to rank %s, offset %s of %s bytes, expected %s, found %s%s", one$sender_rank,
                       one$receiver_rank, format_count(one$offset_bytes), format_count(one$bytes),
                       one$expected_hex, one$found_hex,
                       if (nrow(f) > 1) sprintf(" (and %d more)", nrow(f) - 1) else "")
    )
  })))
}

# A node that did not answer any more when its launch failed.
lost_judgement <- function(lost) {
  if (NROW(lost) == 0) return(NULL)
  launches <- vapply(split(lost$launch, in_order(lost$host)), few_words, "", 3)
  n <- as.vector(table(in_order(lost$host)))
  none_allowed("lost", "lost in the middle of a launch", n, metric = "launches", entity = names(launches),
               unit = "launches", effect = paste("in", launches))
}

kernel_judgement <- function(acceptance) {
  rows <- acceptance$figures[acceptance$figures$check == "kernels" & acceptance$figures$metric == "wrong", ]
  if (nrow(rows) == 0) return(NULL)
  wrong <- tapply(rows$value, rows$variant, sum)
  none_allowed("kernels", "ranks with a wrong result", as.vector(wrong), metric = "wrong",
               variant = names(wrong))
}

against_limit <- function(low, high, limit, relation) {
  relation <- rep_len(relation, length(low))
  inside <- ifelse(relation == "<=", high <= limit, low >= limit)
  outside <- ifelse(relation == "<=", low > limit, high < limit)
  ifelse(is.na(inside), "inconclusive", ifelse(inside, "pass", ifelse(outside, "fail", "inconclusive")))
}

judge_limits <- function(figures, limits, name, alpha) {
  if (NROW(limits) == 0) return(NULL)
  figure_of <- lapply(seq_len(nrow(limits)), function(i) {
    l <- limits[i, ]
    which(
      figures$check == l$check & figures$metric == l$metric &
        (is.na(l$variant) | figures$variant == l$variant) &
        (is.na(l$size) | !is.na(figures$size) & figures$size == l$size)
    )
  })
  strict <- figure_bounds(figures, alpha / max(1, length(unlist(figure_of))))
  bind_rows(lapply(seq_len(nrow(limits)), function(i) {
    l <- limits[i, ]
    source <- paste0(basename(name), ":", l$line)
    at <- figure_of[[i]]
    if (length(at) == 0) {
      return(judgement(l$check, "limited, but not measured", "inconclusive",
                       variant = if (is.na(l$variant)) "" else l$variant, metric = l$metric, size = l$size,
                       limit = l$text, source = source, kind = "limit", reason = "no launch has this figure"))
    }
    f <- figures[at, ]
    verdict <- against_limit(f$ci_low, f$ci_high, l$limit, l$relation)
    verdict[
      verdict == "fail" & against_limit(strict$low[at], strict$high[at], l$limit, l$relation) !=
          "fail"
    ] <- "inconclusive"
    judgement_of(f, verdict, ci_low = f$ci_low, ci_high = f$ci_high, limit = l$text, source = source,
                 kind = "limit", reason = ifelse(verdict != "inconclusive", NA, interval_reason(f, "limit")))
  }))
}

interval_reason <- function(rows, what) {
  bound <- bound_words(rows)
  words <- ifelse(is.na(rows$ci_high), bound,
                  paste0("the ", what, " is in the interval: measure longer",
                         ifelse(nzchar(bound), paste0(" (", bound, ")"), "")))
  if (is.null(rows$hidden)) words else ifelse(is.na(rows$hidden), words, rows$hidden)
}

node_judgements <- function(rows) {
  if (NROW(rows) == 0) return(NULL)
  unit <- effect_words(rows$effect_unit)
  limit <- paste0(ifelse(rows$kind == "link", "other links: ", "others: "),
                  format_figure(rows$others_value, rows$unit), ", margin ", format_effect(rows$margin, FALSE),
                  " ", unit)
  judgement_of(
    rows,
    rows$verdict,
    limit = limit,
    source = paste(rows$kind, "against", ifelse(rows$kind == "link", "links", "nodes")),
    kind = rows$kind,
    effect = sprintf("%s %s %s, p = %s", format_effect(rows$effect), unit,
                     format_interval(rows$ci_low, rows$ci_high), format_p(rows$p_holm)),
    p_holm = rows$p_holm,
    reason = rows$reason
  )
}

# A class of fewer than three compares nobody; of the network that leaves open whether its nodes are one by
# their switch, or by a fault that they have in common.
uncompared_judgements <- function(judgements, figures, classes) {
  if (nrow(classes) < 3) return(NULL)
  small <- classes$host[classes$network %in% names(which(table(classes$network) < 3))]
  bind_rows(lapply(intersect(c("latency", "bandwidth"), figures$check), function(check) {
    rows <- judgements[judgements$check == check & judgements$kind %in% setdiff(noise_kinds, "link"), ]
    hosts <- small[lengths(judged_hosts(rows, small)) == 0]
    if (length(hosts) > 0) {
      judgement(check, "not compared", "inconclusive", entity = hosts, kind = "class",
                reason = "its class has fewer than three nodes: give limits or a reference")
    }
  }))
}

figure_id <- function(rows) paste(rows$check, rows$variant, rows$metric, rows$size, rows$entity, sep = "\r")

figure_verdicts <- function(figures, judgements) {
  id <- figure_id(figures)
  own <- figure_id(judgements)
  verdict <- rep("measured, not judged", length(id)) # the worst is written last
  for (one in c("pass", "inconclusive", "fail")) verdict[id %in% own[judgements$verdict == one]] <- one
  verdict
}

check_table <- function(acceptance, figures, judgements) {
  statuses <- acceptance$checks
  bind_rows(lapply(names(acceptance_checks), function(name) {
    about <- acceptance_checks[[name]]
    status <- statuses[statuses$check == name, ]
    own <- judgements[judgements$check == name, ]
    if (nrow(status) == 0 && nrow(own) == 0) return(NULL)
    ran <- any(status$status == "ran") || any(figures$check == name)
    odd <- status[status$status != "ran" | !is.na(status$reason), ]
    verdict <- worst_verdict(own$verdict)
    failed <- any(status$status %in% c("failed", "planned"))
    # What has a limit and did not run is not passed over.
    if (!ran) verdict <- if (failed || nrow(own) > 0) "inconclusive" else "skipped"
    if (failed && verdict != "fail") verdict <- "inconclusive"
    shown <- shown_figure(figures[figures$check == name, ], own[own$verdict == verdict, ], about)
    use <- bind_rows(list(shown, judgement("", about$what, "")))[1, ]
    reason <- c(
      if (nrow(odd) > 0) {
        paste0(odd$launch, ": ",
               ifelse(odd$status == "planned", "did not run: the launch ended before", odd$status),
               ifelse(is.na(odd$reason), "", paste0(", ", printable(odd$reason))))[1]
      },
      if (verdict == "inconclusive") {
        stats::na.omit(c(use$reason, own$reason[own$verdict == "inconclusive"]))[1]
      }
    )
    data.frame(
      check = name, what = use$what, status = if (ran) "ran" else c(status$status, "not asked for")[1],
      verdict = verdict, name = if (NROW(shown) > 0) figure_name(shown) else "",
      use[c("entity", "value", "ci_low", "ci_high", "unit", "size", "variant", "limit")],
      source = few_words(unique(sub("^reference.*", "reference", own$source[nzchar(own$source)])), 3),
      n_judged = nrow(own), reason = paste(stats::na.omit(reason), collapse = "; "), row.names = NULL
    )
  }))
}

# The row that stands for a check: of what made its verdict a limit before a comparison, the check's own
# figure before others, the worst first, with that limit; where nothing was judged its own figure. NULL:
# there is none.
shown_figure <- function(figures, deciding, about) {
  if (nrow(deciding) == 0) {
    head <- headline(figures, about)
    return(if (nrow(head) > 0) cbind(head, limit = ""))
  }
  turn <- ifelse(deciding$metric %in% acceptance_measures$name[acceptance_measures$worse == "less" &
      acceptance_measures$check == deciding$check[1]], 1, -1)
  share <- deciding$p_holm
  top <- deciding[order(deciding$kind %in% c("node", "link"), !(deciding$metric %in% about$head),
                        !(deciding$variant %in% about$best[1]), share, deciding$value * turn), ][1, ]
  known <- figures[match(figure_id(top), figure_id(figures)), ]
  if (!is.na(known$check) && is.na(top$ci_low)) {
    top[c("value", "ci_low", "ci_high")] <- known[c("value", "ci_low", "ci_high")]
  }
  top
}

# The figure that stands for a check: of its best variant and the asked size, the worst node or pair.
headline <- function(figures, about) {
  if (is.null(about$head)) return(figures[0, ])
  rows <- figures[figures$metric == about$head & figures$variant %in% about$best, ]
  if (nrow(rows) == 0) return(rows)
  rows <- rows[rows$variant == intersect(about$best, rows$variant)[1], ]
  if (!is.null(about$size) && !all(is.na(rows$size))) {
    rows <- rows[rows$size == (if (about$size == "least") min(rows$size) else max(rows$size)), ]
  }
  rows[order(rows$value * if (rows$worse[1] == "more") -1 else 1), ][1, ]
}

overall_verdict <- function(result) {
  if (any(result$judgements$verdict == "fail")) return("fail")
  # A limit or reference on figures of the whole cluster judges all nodes together.
  nodes <- if (any(result$judgements$kind == "limit")) character() else result$nodes$verdict
  open <- c(result$judgements$verdict, result$checks$verdict, nodes,
            result$self_check$verdict) == "inconclusive"
  if (!result$complete || result$judged != "noise" || any(open)) "inconclusive" else "pass"
}

# Hosts whose self-check did not find its load: all, where there should have been one and is not.
doubted_hosts <- function(result) {
  s <- result$self_check
  if (s$verdict != "inconclusive") return(character())
  if (is.null(s$each)) return(result$acceptance$hosts) # it was planned, and the campaign ended before
  good <- s$each[s$each$asks & s$each$right, ]
  bad <- s$each[s$each$asks & !s$each$right, ]
  hosts <- function(rows) unlist(strsplit(rows$nodes %||% "", ",", fixed = TRUE))
  setdiff(result$acceptance$hosts, setdiff(hosts(good), hosts(bad)))
}

unjudged_words <- paste0("its noise was not judged: no margin, limits or reference, and no three nodes of ",
                         "its class that this run could compare")

# Whose a judgement is: the ends of a link, and of every other the nodes that it names.
judged_hosts <- function(rows, hosts) {
  ends <- strsplit(rows$entity, " (-|->) ")
  of <- split(rep(seq_along(ends), lengths(ends)), factor(unlist(ends), hosts))
  lapply(of, unique)
}

node_verdicts <- function(result) {
  rows <- result$judgements
  hosts <- result$acceptance$hosts
  own <- judged_hosts(rows, hosts)
  link <- grepl(" - ", rows$entity, fixed = TRUE)
  ends <- strsplit(rows$entity[link & rows$verdict == "fail"], " - ", fixed = TRUE)
  bad <- unlist(strsplit(rows$entity[!link & rows$verdict == "fail"], " -> ", fixed = TRUE))
  # A slow pair is explained by the end of it that failed itself.
  open <- rep(FALSE, nrow(rows))
  open[link & rows$verdict == "fail"] <- !vapply(ends, function(e) any(e %in% bad), TRUE)
  # A link alone says nothing of which of its ends it is.
  noise <- judges_noise(rows)
  doubted <- doubted_hosts(result)
  class <- result$classes
  bind_rows(lapply(hosts, function(host) {
    at <- own[[host]]
    failed <- at[!link[at] & rows$verdict[at] == "fail"]
    doubt <- at[rows$verdict[at] == "inconclusive" | open[at]]
    judged <- any(noise[at])
    verdict <- if (length(failed) > 0) {
      "fail"
    } else if (length(doubt) > 0 || host %in% doubted || !judged) {
      "inconclusive"
    } else {
      "pass"
    }
    which <- if (length(failed) > 0) failed else doubt
    list(
      host = host,
      class = class$network[match(host, class$host)],
      verdict = verdict,
      reason = if (verdict == "pass") {
        ""
      } else if (!judged && length(failed) == 0) {
        unjudged_words
      } else if (length(which) > 0) {
        few_words(unique(figure_name(rows[which, ])), 3)
      } else {
        "self-check"
      }
    )
  }))
}

looked_at <- function(comparisons, is_looked = TRUE) {
  if (NROW(comparisons) > 0) rows_at(comparisons, which(comparisons$looked == is_looked))
}

# Comparisons of nodes that a run of this length does not decide.
unlooked_note <- function(comparisons, measured_s) {
  rows <- looked_at(comparisons, FALSE)
  if (NROW(rows) == 0) return(NULL)
  each <- split(rows$times_as_long, in_order(figure_quantity(rows)))
  longer <- vapply(each, function(x) stats::median(x, na.rm = TRUE), 0)
  sprintf(
    "not judged, node against node, as a run of this length does not decide it for most of them: %s",
    few_words(
      sprintf(
        "%s%s",
        names(each),
        ifelse(is.finite(longer),
               sprintf(" (%s times as long would)", format_effect(ceiling(10 * longer) / 10, FALSE)), "")
      ),
      6
    )
  )
}

# How a first run becomes a verdict, without measuring again where a margin does.
verdict_hint <- function(result) {
  if (length(result$asked) > 0) return(NULL)
  dirs <- vapply(result$acceptance$dirs, quote_word, "")
  paste(
    c(
      sprintf(
        paste0("For a verdict%s: noiselab analyze acceptance --margin 5%%:nodes=1000,every=1ms %s; or run ",
               "again with --reference DIR (of a good state) or --limits FILE."),
        # of nodes that were held against each other alone
        if (result$judged == "noise") " on what all nodes have in common" else "",
        paste(dirs, collapse = " ")
      ),
      if (length(result$acceptance$launches) > 1) {
        sprintf("What it decides as a reference: noiselab plan acceptance %s.",
                paste("--reference", dirs, collapse = " "))
      }
    ),
    collapse = " "
  )
}

acceptance_answer <- function(result) {
  rows <- result$judgements
  bad <- rows[rows$verdict == "fail", ]
  lead <- sprintf("%s on %s: ", toupper(result$verdict), counted(length(result$acceptance$hosts), "node"))
  if (nrow(bad) > 0) {
    who <- unique(bad$entity[nzchar(bad$entity)])
    return(paste0(lead, if (length(who) > 0) few_words(who, 5) else "the cluster as a whole", " failed (",
                  few_words(unique(bad$check), 5), ")."))
  }
  if (result$judged != "noise") {
    return(sprintf(
      "%sNOISE %s on %s: %s.",
      if (result$judged == "data") "DATA CORRECT, " else "",
      if (length(result$asked) == 0) "MEASURED, NOT JUDGED" else "NOT JUDGED",
      counted(length(result$acceptance$hosts), "node"),
      if (length(result$asked) == 0) {
        "no margin, limits or reference given"
      } else {
        "nothing that was measured can be judged by what was given"
      }
    ))
  }
  if (result$self_check$verdict == "inconclusive") {
    return(paste0(lead, "this run may have missed a bad node; its self-check failed: ",
                  result$self_check$reason, "."))
  }
  if (result$verdict == "inconclusive" && !is.na(result$busy_reference)) {
    return(paste0(lead, "no check failed, and nothing passes by the reference, because ",
                  result$busy_reference, "."))
  }
  if (result$verdict == "inconclusive") {
    open <- result$checks$check[result$checks$verdict == "inconclusive"]
    unjudged <- result$nodes$host[result$nodes$reason == unjudged_words]
    of_classes <- length(unjudged) > 0 && all(rows$kind[rows$verdict == "inconclusive"] == "class") &&
      all(open %in% rows$check[rows$kind == "class"])
    return(paste0(
      lead,
      if (length(open) > 0 && !of_classes) {
        sprintf("no check failed; %s %s inconclusive.", few_words(open, 5),
                if (length(open) == 1) "is" else "are")
      } else if (length(unjudged) > 0) {
        paste0("no check failed, but nothing judges the noise of ", few_words(unjudged, 5), ".")
      } else {
        "not all that was planned ran."
      },
      found_classes_words(result$classes)
    ))
  }
  paste0(
    lead,
    "nothing that was judged failed",
    if (result$self_check$verdict == "pass") {
      sprintf(", and a known load on %s was seen", result$self_check$chosen)
    },
    ".",
    found_classes_words(result$classes)
  )
}

# Groups in the latencies may be switches, or nodes that are slow alike: no verdict on the network rests on
# them unsaid.
found_classes_words <- function(classes) {
  if (any(grepl("latencies", classes$by))) {
    paste0(" Classes of the network were found in the latencies only: Slurm's topology or --classes would ",
           "confirm them.")
  } else {
    ""
  }
}

# Did the localiser name the nodes that got a known load? Every launch of a self-check counts. Each set of
# nodes has its own; in a set the lightest load asks the question, and a heavier one tells "insensitive
# today" from "broken".
judge_self_check <- function(acceptance, alpha) {
  about <- acceptance$self_check
  answer <- function(verdict, reason, each = NULL) {
    asked <- each[each$asks, ]
    list(verdict = verdict, chosen = join_or_na(asked$chosen), named = join_or_na(asked$named),
         reason = reason, each = each)
  }
  if (length(about$dirs) == 0) {
    if (isTRUE(about$planned)) return(answer("inconclusive", "it was planned, but there is no launch of it"))
    return(answer("skipped", about$why_not))
  }
  each <- bind_rows(lapply(about$dirs, one_self_check, alpha))
  each$asks <- each$level == stats::ave(each$level, each$nodes, FUN = min)
  missing <- setdiff(acceptance$hosts, unlist(strsplit(each$nodes, ",", fixed = TRUE)))
  words <- vapply(split(each, in_order(each$nodes)), set_words, "")
  reason <- paste(
    c(words, if (all(each$right[each$asks])) strength_words(sum(each$asks)),
      if (length(missing) > 0) sprintf("no launch of it on %s", few_words(missing, 4))),
    collapse = "; "
  )
  answer(if (all(each$right[each$asks]) && length(missing) == 0) "pass" else "inconclusive", reason, each)
}

# What so many tries say that all found it (Clopper and Pearson).
strength_words <- function(n) {
  sprintf("%d of %d found, so that with confidence 0.95 such a node is found in at least %s %% of runs", n, n,
          three(100 * 0.05^(1 / n)))
}

join_or_na <- function(x) if (length(x) == 0) NA_character_ else paste(x, collapse = ", ")

# One launch: the nodes it ran on, the load, who got it, who was named. A launch that cannot be read has
# named nobody.
one_self_check <- function(dir, alpha) {
  row <- function(info, chosen, named, level, problem = NA_character_) {
    hosts <- vapply(info$hosts, function(h) show_json(h$host), "")
    data.frame(launch = basename(dir), nodes = paste(hosts[natural_order(hosts)], collapse = ","),
               kind = show_json(info$options$kind, "spin"), level = level,
               chosen = paste(chosen, collapse = ", "), named = paste(named, collapse = ", "),
               right = length(chosen) == 1 && identical(named, chosen), problem = problem)
  }
  info <- tryCatch(read_json_head(file.path(dir, "launch.json")), nl_error = identity)
  if (inherits(info, "error")) return(row(list(), character(), character(), 0, conditionMessage(info)))
  chosen <- as.character(unlist(info$options$noise_nodes))
  location <- tryCatch(locate_noise(read_campaign(dir), alpha), nl_error = identity)
  if (inherits(location, "error")) return(row(info, chosen, character(), 0, conditionMessage(location)))
  top <- location$nodes[
    location$nodes$level_requested_percent == max(location$nodes$level_requested_percent),
  ]
  row(info, chosen, as.character(top$host[top$found == "here"]), top$level_requested_percent[1])
}

set_words <- function(set) {
  one <- ifelse(
    is.na(set$problem),
    sprintf("%s %% of a CPU (%s) on %s: the localiser named %s", format_level(set$level), set$kind,
            set$chosen, ifelse(nzchar(set$named), set$named, "no node")),
    set$problem
  )
  words <- paste(one[order(set$level)], collapse = "; ")
  control <- set[!set$asks, ]
  if (all(set$right[set$asks]) || nrow(control) == 0) return(words)
  paste0(words, if (all(control$right)) ": insensitive today, not broken" else
         ": not even the heavy load was found, so that something is broken or the nodes are very busy")
}
