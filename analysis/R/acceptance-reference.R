least_reference <- 5

# A reference for which other tasks had this much of a CPU says what a busy machine does: no machine could miss its limits.
busy_reference_percent <- 5

busy_reference <- function(units) {
  busy <- units[units$metric %in% c("preempted", "taken") & units$unit == "percent", ]
  if (nrow(busy) == 0) return(NA_character_)
  mean <- tapply(busy$x, list(busy$entity, busy$metric), mean)
  worst <- max(mean, na.rm = TRUE)
  if (worst < busy_reference_percent) return(NA_character_)
  sprintf("measure the reference when the machine is quiet: other tasks took %s of a CPU on %s", format_figure(worst, "percent"),
          rownames(mean)[which(mean == worst, arr.ind = TRUE)[1, 1]])
}

judge_reference <- function(acceptance, figures, reference, alpha, margins = margins_in_use()) {
  learnt <- acceptance_units(reference)
  busy <- busy_reference(learnt)
  sizes <- lapply(list(reference, acceptance), function(a) sort(unique(vapply(a$launches, function(info) as.numeric(info$ranks), 0))))
  other_size <- !identical(sizes[[1]], sizes[[2]])
  # Of all ranks together, or shared out among them: nothing to learn from another number of ranks.
  hangs <- function(rows) rows$of == "cluster" & rows$check != "completeness" |
    rows$metric %in% acceptance_measures$name[acceptance_measures$placed]
  if (other_size) learnt <- learnt[!hangs(learnt), ]
  key <- function(x) paste(x$check, x$variant, x$metric, x$size, sep = "\r")
  parts <- split(learnt, in_order(key(learnt)))
  known <- key(figures) %in% names(parts)
  lacks <- figures[!known & !(other_size & hangs(figures)), ]
  lost <- setdiff(names(parts), key(figures))
  notes <- c(
    if (other_size) sprintf("the reference has %s ranks, this campaign %s: figures of all ranks together are not judged by it",
                            format_range(sizes[[1]]), format_range(sizes[[2]])),
    if (nrow(lacks) > 0) sprintf("the reference lacks %s, not judged by it: %s", counted(nrow(lacks), "figure"), few_words(lacks$name, 4)),
    if (length(lost) > 0) sprintf("the reference has %s that were not measured here: %s", counted(length(lost), "figure"),
                                  few_words(unname(vapply(parts[lost], function(p) figure_name(cbind(p[1, figure_key], entity = "")), "")), 4))
  )
  f <- figures[known, ]
  if (nrow(f) == 0) return(list(notes = notes))
  days <- length(unique(substr(unlist(lapply(reference$launches, function(info) info$started_utc %||% "")), 1, 10)))
  bounds <- bind_rows(lapply(parts[unique(key(f))], tolerance_bound, 1 - alpha / nrow(f), alpha, days, margins))
  bound <- bounds[match(key(f), unique(key(f))), ]
  verdict <- ifelse(is.na(bound$limit), "inconclusive", against_limit(f$ci_low, f$ci_high, bound$limit, bound$relation))
  beyond <- verdict == "fail" & !bound$may_fail
  verdict[beyond] <- "inconclusive"
  # Of few values the bound is far: what may be worse than the worst of them, and than its margin allows, is not known to be good.
  unknown <- verdict == "pass" & ifelse(bound$relation == "<=", f$ci_high > bound$worst, f$ci_low < bound$worst)
  verdict[unknown] <- "inconclusive"
  # What no machine could miss is nothing to pass by.
  refused <- verdict == "pass" & (!is.na(busy) | !bound$may_miss)
  verdict[refused] <- "inconclusive"
  reason <- ifelse(verdict != "inconclusive", NA_character_, ifelse(unknown,
      paste("may be worse than the worst of the reference, and its margin:", format_figure(bound$worst, f$unit)),
                   ifelse(refused & !is.na(busy), busy, ifelse(!is.na(bound$reason), bound$reason, interval_reason(f, "bound")))))
  # a pass is by the nearer of the two, and that is what is shown
  nearer <- ifelse(bound$relation == "<=", pmin(bound$limit, bound$worst), pmax(bound$limit, bound$worst))
  shown <- ifelse(verdict == "fail", bound$limit, nearer)
  list(rows = judgement_of(f, verdict, ci_low = f$ci_low, ci_high = f$ci_high, source = bound$source, kind = "reference", reason = reason,
                           limit = ifelse(is.na(bound$limit) | refused, "", paste(bound$relation, format_figure(shown, f$unit)))), notes = c(if (!is.na(busy)) paste("the reference passes nothing:", busy), notes))
}

# One-sided normal tolerance bound, on the side that is worse. `may_fail`: the reference is of several launches and of enough values, so
# that what it has not seen is no reason to fail. `may_miss`: a machine could miss the bound.
tolerance_bound <- function(part, share, alpha, days = 1, margins = margins_in_use()) {
  scale <- usable_scale(part)
  worse <- part$worse[1]
  table <- unit_table(to_scale(part$x, scale, worse), part$launch, part$entity)
  n <- sum(!is.na(table))
  of <- if (part$of[1] == "cluster") "launches" else paste0("launches x ", part$of[1], "s")
  one_day <- if (days == 1) " of one day" else ""
  bound <- function(limit, n, of, may_fail, reason = NA_character_, may_miss = TRUE) {
    frame(limit = limit, worst = worst, relation = if (worse == "more") "<=" else ">=",
          source = sprintf("reference, n = %d %s%s", n, of, one_day), may_fail = may_fail, may_miss = may_miss, reason = reason)
  }
  beyond <- function(y) from_scale(y + margin_of(margins, margin_kinds(part$check[1], part$metric[1]),
                                                 from_scale(y, scale, worse), scale, worse), scale, worse)
  worst <- beyond(max(table, na.rm = TRUE))
  # Without scatter nothing is known of what is usual: the value and its margin, which can be kept but not missed.
  agreed <- function(s) if (!(s$sd > 1e-12 * abs(s$mean))) beyond(s$mean)
  if (n < least_reference || nrow(table) < 2) {
    y <- to_scale(part$x, scale, worse)
    if (length(y) < least_reference) {
      return(bound(NA_real_, length(y), "repetitions", FALSE, sprintf("%d values of the reference are too few (%d are needed)", length(y),
          least_reference)))
    }
    s <- list(mean = mean(y), sd = stats::sd(y), n = length(y), df = length(y) - 1)
    limit <- agreed(s) %||% tolerance_limit(s, share, alpha, scale, worse)
    return(bound(limit, length(y), "repetitions", FALSE, if (!is.null(agreed(s))) agree_exactly else
                 sprintf("the reference has %s of %s: what changes between launches is not in its bound, which no machine could miss (%d of two launches or more are needed)", counted(n, "value"), counted(nrow(table), "launch", "launches"), least_reference),
                 may_miss = !is.null(agreed(s))))
  }
  s <- crossed_scatter(table)
  if (!is.null(agreed(s))) bound(agreed(s), n, of, FALSE, agree_exactly) else
    bound(tolerance_limit(s, share, alpha, scale, worse), n, of, TRUE)
}

agree_exactly <- "all values of the reference agree exactly"

tolerance_limit <- function(s, share, alpha, scale, worse) {
  root <- sqrt(s$n)
  k <- suppressWarnings(stats::qt(1 - alpha, s$df, ncp = stats::qnorm(share) * root)) / root
  from_scale(s$mean + k * s$sd, scale, worse)
}

# Random effects of launches (rows) and nodes (columns): mean and sd of a value of a new launch and node, how many independent values the mean is
# worth, and degrees of freedom (Satterthwaite). Mean squares below the residual one count as it.
crossed_scatter <- function(table) {
  a <- nrow(table)
  b <- ncol(table)
  if (b == 1) return(list(mean = mean(table), sd = stats::sd(table), n = a, df = a - 1))
  gaps <- is.na(table)
  mean <- mean(table, na.rm = TRUE)
  if (any(gaps)) table[gaps] <- (outer(rowMeans(table, na.rm = TRUE), colMeans(table, na.rm = TRUE), `+`) - mean)[gaps]
  row <- rowMeans(table)
  column <- colMeans(table)
  df <- c(a - 1, b - 1, (a - 1) * (b - 1) - sum(gaps))
  square <- c(b * stats::var(row), a * stats::var(column), sum((table - outer(row, column, `+`) + mean(table))^2) / max(1, df[3]))
  square[1:2] <- pmax(square[1:2], square[3])
  part <- square * c(1 / b, 1 / a, 1 - 1 / a - 1 / b)
  of_mean <- max((square[1] + square[2] - square[3]) / (a * b), max(square) / (a * b))
  total <- sum(part)
  if (!total > 0) return(list(mean = mean, sd = 0, n = a * b, df = a - 1))
  list(mean = mean, sd = sqrt(total), n = total / of_mean, df = total^2 / sum((part^2 / pmax(1, df))[part > 0]))
}

# Which nodes may be held against each other: those of the same hardware, and of figures that depend on the network, of the same switch.

# A row per node: `hardware` (CPU model, topology, CPUs), `network` (that and the switch: of the site's file, Slurm's topology, or clear groups of
# latencies), `by` (where classes come from; "": one class of all).
node_classes <- function(acceptance, units, site = NULL) {
  hosts <- acceptance$hosts
  if (!is.null(site)) {
    own <- site$class[match(seq_along(hosts), hosts_meant(site$host, hosts, "--classes"))]
    if (all(is.na(own))) abort_usage("--classes: no node of this campaign has a class; they are ", few_words(hosts))
    own[is.na(own)] <- "other"
    return(data.frame(host = hosts, hardware = own, network = own, by = "the file of classes"))
  }
  about <- host_facts(acceptance)
  at <- match(hosts, about$host)
  hardware <- about$hardware[at]
  hardware[is.na(hardware)] <- ""
  switch <- about$switch[at]
  by <- if (length(unique(hardware)) > 1) "hardware" else character()
  if (all(!is.na(switch)) && length(hosts) > 0) {
    by <- c(by, "Slurm's topology")
  } else {
    switch <- latency_groups(units, hosts)
    if (length(unique(switch)) > 1) by <- c(by, "groups in the latencies")
  }
  network <- if (length(unique(switch)) > 1) trimws(paste(short_names(hardware), "switch", switch)) else short_names(hardware)
  data.frame(host = hosts, hardware = short_names(hardware), network = network, by = paste(by, collapse = " and "))
}

# Long words of hardware as A, B, ... in the order of the hosts; the same for all: "".
short_names <- function(words) if (length(unique(words)) < 2) rep("", length(words)) else
  paste0("hardware ", LETTERS[pmin(26, code_of(words))])

host_facts <- function(acceptance) {
  found <- unlist(lapply(unname(acceptance$launches), `[[`, "hosts"), recursive = FALSE)
  of <- function(name) vapply(found, function(h) show_json(h[[name]]), "")
  rows <- data.frame(host = of("host"), hardware = paste(of("cpu_model"), of("topology"), of("cpus"), sep = ", "))
  said <- lapply(found, `[[`, "switch")
  rows$switch <- vapply(said, function(x) if (is_text(x) && nzchar(x)) printable(x) else NA_character_, "")
  rows[!duplicated(rows$host), ]
}

latency_groups <- function(units, hosts) {
  one <- rep(1, length(hosts))
  rows <- units[units$check == "latency" & units$of == "pair", ]
  if (nrow(rows) == 0 || length(hosts) < 4) return(one)
  rows <- rows[rows$variant == "between" & rows$size %in% min(rows$size), ]
  level <- tapply(log(rows$x), rows$entity, stats::median)
  order <- sort(level)
  gaps <- diff(order)
  if (length(gaps) == 0) return(one)
  at <- which.max(gaps)
  # Clear: wider than anything on either side of it together, and more than a few percent.
  if (gaps[at] < log(1.1) || gaps[at] < max(order[at] - order[1], order[length(order)] - order[at + 1])) return(one)
  ends <- pair_ends(names(order))
  below <- seq_along(order) <= at
  group <- joined_nodes(ends[below, , drop = FALSE], hosts)
  same <- group[match(ends[, 1], hosts)] == group[match(ends[, 2], hosts)]
  if (any(tabulate(group) < 2) || !identical(unname(same), below) || max(group) < 2) one else group
}

# Nodes that links join, directly or through others, have one number.
joined_nodes <- function(ends, hosts) {
  group <- seq_along(hosts)
  a <- match(ends[, 1], hosts)
  b <- match(ends[, 2], hosts)
  repeat {
    least <- pmin(group[a], group[b])
    before <- group
    for (end in list(a, b)) {
      lower <- tapply(least, end, min)
      k <- as.integer(names(lower))
      group[k] <- pmin(group[k], lower)
    }
    if (identical(group, before)) return(code_of(group))
  }
}

# The class of each column of a figure: of nodes by hardware, or by network where the place in it counts; of links that of both ends ("a x
# b" where they differ).
class_of_columns <- function(names, part, classes) {
  if (is.null(classes)) return(rep("", length(names)))
  if (part$of[1] == "pair") {
    ends <- pair_ends(names)
    of <- matrix(classes$network[match(ends, classes$host)], ncol = 2)
    return(ifelse(of[, 1] == of[, 2], of[, 1], paste(pmin(of[, 1], of[, 2]), "x", pmax(of[, 1], of[, 2]))))
  }
  (if (part$check[1] %in% c("detour", "quantum")) classes$hardware else classes$network)[match(names, classes$host)]
}

# One node whose links are all slower alike may as well be behind another switch: where nobody said what switches there are, neither its
# latency nor its bandwidth fails anybody.
doubt_unknown_switches <- function(comparisons, classes) {
  if (NROW(comparisons) == 0 || grepl("Slurm|file", classes$by[1])) return(comparisons)
  at <- comparisons$check == "latency" & comparisons$kind == "node" & comparisons$verdict == "fail"
  # the same links carry its bandwidth: it may fail where their latency is beyond doubt
  open <- comparisons$entity[comparisons$check == "latency" & comparisons$kind == "node" & comparisons$verdict != "pass"]
  at <- at | comparisons$check == "bandwidth" & comparisons$kind == "node" & comparisons$verdict == "fail" & comparisons$entity %in% open
  comparisons$verdict[at] <- "inconclusive"
  comparisons$reason[at] <- "all its links are slower: the node's own fault, or a switch of its own, of which neither Slurm's topology nor --classes says anything"
  comparisons
}

class_notes <- function(classes) {
  if (is.null(classes) || !any(nzchar(classes$by))) return(NULL)
  key <- paste(classes$hardware, classes$network)
  if (length(unique(key)) < 2) return(NULL)
  of <- split(classes$host, in_order(key))
  small <- of[lengths(of) < 3]
  c(sprintf("nodes are compared within %d classes (by %s): %s", length(of), classes$by[1],
            paste(vapply(of, few_words, "", 6), collapse = "; ")),
    if (length(small) > 0) sprintf("%s: a class of fewer than three is judged by limits and a reference only", vapply(small, few_words, "", 6)))
}

# Lines `CLASS NODE...`, with lists of nodes as Slurm writes them; # begins a comment.
read_classes <- function(file) {
  rows <- read_node_file(file, "--classes", twice = "has a class already", parse = function(line, i) {
    words <- strsplit(line, "[ \t]+")[[1]]
    if (length(words) < 2) abort_damaged(file, i, "'", printable(line), "' is not CLASS NODE...")
    data.frame(class = printable(words[1]), host = unlist(lapply(words[-1], nodes_of_word, file, i)))
  })
  if (NROW(rows) == 0) NULL else rows
}

# Lines NODE DATE REASON; NODE may be a list as Slurm writes it, and is left out from DATE (2026-01-31) on.
read_known_bad <- function(file) {
  read_node_file(file, "--known-bad", twice = "stands in the file already", parse = function(line, i) {
    part <- regmatches(line, regexec("^(\\S+)\\s+([0-9]{4}-[0-9]{2}-[0-9]{2})\\s+(\\S.*)$", line))[[1]]
    if (length(part) == 0 || is.na(as.Date(part[3], optional = TRUE))) abort_damaged(file, i, "'", printable(line),
        "' is not NODE DATE REASON (such as node7 2026-01-31 bad DIMM)")
    data.frame(host = nodes_of_word(part[2], file, i), since = part[3], reason = printable(part[4]))
  })
}

# The campaign without these nodes: their figures, pairs and detours are not looked at. A data error of theirs is.
leave_out <- function(acceptance, known) {
  ended <- substr(last_end(acceptance), 1, 10)
  at <- hosts_meant(as.character(known$host), acceptance$hosts, "--known-bad")
  # of a cluster the campaign may be a part; of a name that is none nothing else would tell
  strange <- known$host[is.na(at)]
  if (length(strange) > 0) acceptance$notes <- c(acceptance$notes, sprintf("not in this campaign, of those known to be bad: %s", few_words(strange)))
  known$host <- acceptance$hosts[at]
  known <- known[!is.na(at) & known$since <= ended, ]
  if (NROW(known) == 0) return(acceptance)
  f <- acceptance$figures
  peer <- if (is.null(f$peer_host)) "" else f$peer_host
  acceptance$figures <- f[f$check == "integrity" | !(f$host %in% known$host | peer %in% known$host), ]
  acceptance$hist <- acceptance$hist[!acceptance$hist$host %in% known$host, ]
  acceptance$hosts <- setdiff(acceptance$hosts, known$host)
  acceptance$left_out <- known$host
  acceptance$notes <- c(acceptance$notes, sprintf("left out since %s: %s (%s)", known$since, known$host, known$reason))
  acceptance
}
