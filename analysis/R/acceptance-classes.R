# Which nodes may be held against each other: those of the same hardware, and of figures that depend on the network, of the same switch.

#' Classes of nodes
#'
#' Nodes are compared within classes. `hardware` is the CPU model, topology and number of CPUs that the launches name; `network` is that and
#' the switch: from a file of the site, else from Slurm's topology (`SLURM_TOPOLOGY_ADDR`, which the launches keep), else from the
#' latencies, where these fall into clear groups: a border in the widest gap of all links' mean latencies so that nodes joined by links
#' below it form groups of two or more, every link within a group is below and every other above. Groups need links of their own below the
#' border: a node, or two, with slow links are no class.
#'
#' @param acceptance An `nl_acceptance`.
#' @param units Data frame from `acceptance_units()`.
#' @param site Data frame from `read_classes()`, or NULL.
#' @return Data frame, one row per node: `host`, `hardware`, `network` (words), `by` (where the classes come from; "": one class of all).
#' @noRd
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

# A group's number for each node; all 1 where there are no clear groups.
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

# What is said of classes: which there are, and which are too small to compare.
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
  if (!file.exists(file) || dir.exists(file)) abort_usage("--classes: '", file, "' is no file that can be read")
  lines <- read_stripped_lines(file)
  rows <- bind_rows(lapply(which(nzchar(lines)), function(i) {
    words <- strsplit(lines[i], "[ \t]+")[[1]]
    if (length(words) < 2) abort_damaged(file, i, "'", printable(lines[i]), "' is not CLASS NODE...")
    data.frame(line = i, class = printable(words[1]), host = unlist(lapply(words[-1], nodes_of_word, file, i)))
  }))
  refuse_twins(rows, file, "has a class already")
  if (NROW(rows) == 0) NULL else rows
}

# Nodes known to be bad, which are left out until they are mended: a line `NODE DATE REASON` each.

#' Read the file of nodes known to be bad
#'
#' @param file Character, length 1; `#` begins a comment. NODE may be a list as Slurm writes it (`n[1-4,07]`). DATE is that from which on the node is left out (2026-01-31).
#' @return Data frame: `line`, `host`, `since`, `reason`.
#' @noRd
read_known_bad <- function(file) {
  if (!file.exists(file) || dir.exists(file)) abort_usage("--known-bad: '", file, "' is no file that can be read")
  lines <- read_stripped_lines(file)
  rows <- bind_rows(lapply(which(nzchar(lines)), function(i) {
    part <- regmatches(lines[i], regexec("^(\\S+)\\s+([0-9]{4}-[0-9]{2}-[0-9]{2})\\s+(\\S.*)$", lines[i]))[[1]]
    if (length(part) == 0 || is.na(as.Date(part[3], optional = TRUE))) abort_damaged(file, i, "'", printable(lines[i]),
        "' is not NODE DATE REASON (such as node7 2026-01-31 bad DIMM)")
    data.frame(line = i, host = nodes_of_word(part[2], file, i), since = part[3], reason = printable(part[4]))
  }))
  refuse_twins(rows, file, "stands in the file already")
  rows
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
