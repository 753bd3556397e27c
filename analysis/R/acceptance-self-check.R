# Could this run have seen a bad node? The launches with a known load.

# Did the localiser name the nodes that got a known load? Every launch of a self-check counts. Each set of nodes has its own; in a set the
# lightest load asks the question, and a heavier one tells "insensitive today" from "broken".
judge_self_check <- function(acceptance, alpha) {
  about <- acceptance$self_check
  answer <- function(verdict, reason, each = NULL) {
    asked <- each[each$asks, ]
    list(verdict = verdict, chosen = join_or_na(asked$chosen), named = join_or_na(asked$named), reason = reason, each = each)
  }
  if (length(about$dirs) == 0) {
    if (isTRUE(about$planned)) return(answer("inconclusive", "it was planned, but there is no launch of it"))
    return(answer("skipped", about$why_not))
  }
  each <- bind_rows(lapply(about$dirs, one_self_check, alpha))
  each$asks <- each$level == stats::ave(each$level, each$nodes, FUN = min)
  missing <- setdiff(acceptance$hosts, unlist(strsplit(each$nodes, ",", fixed = TRUE)))
  words <- vapply(split(each, in_order(each$nodes)), set_words, "")
  reason <- paste(c(words, if (all(each$right[each$asks])) strength_words(sum(each$asks)), if (length(missing) > 0) sprintf("no launch of it on %s", few_words(missing, 4))), collapse = "; ")
  answer(if (all(each$right[each$asks]) && length(missing) == 0) "pass" else "inconclusive", reason, each)
}

# What so many tries say that all found it (Clopper and Pearson).
strength_words <- function(n) sprintf("%d of %d found, so that with confidence 0.95 such a node is found in at least %s %% of runs", n, n,
                                   three(100 * 0.05^(1 / n)))

join_or_na <- function(x) if (length(x) == 0) NA_character_ else paste(x, collapse = ", ")

# One launch: the nodes it ran on, the load, who got it, who was named. A launch that cannot be read has named nobody.
one_self_check <- function(dir, alpha) {
  row <- function(info, chosen, named, level, problem = NA_character_) {
    hosts <- vapply(info$hosts, function(h) show_json(h$host), "")
    data.frame(launch = basename(dir), nodes = paste(hosts[natural_order(hosts)], collapse = ","),
               kind = show_json(info$options$kind, "spin"), level = level,
               chosen = paste(chosen, collapse = ", "), named = paste(named, collapse = ", "), right = length(chosen) == 1 && identical(named, chosen), problem = problem)
  }
  info <- tryCatch(read_json_head(file.path(dir, "launch.json")), nl_error = identity)
  if (inherits(info, "error")) return(row(list(), character(), character(), 0, conditionMessage(info)))
  chosen <- as.character(unlist(info$options$noise_nodes))
  location <- tryCatch(locate_noise(read_campaign(dir), alpha), nl_error = identity)
  if (inherits(location, "error")) return(row(info, chosen, character(), 0, conditionMessage(location)))
  top <- location$nodes[location$nodes$level_requested_percent == max(location$nodes$level_requested_percent), ]
  row(info, chosen, as.character(top$host[top$found == "here"]), top$level_requested_percent[1])
}

# What the self-checks of one set of nodes say.
set_words <- function(set) {
  one <- ifelse(is.na(set$problem), sprintf("%s %% of a CPU (%s) on %s: the localiser named %s", format_level(set$level), set$kind,
                                            set$chosen,
                                            ifelse(nzchar(set$named), set$named, "no node")), set$problem)
  words <- paste(one[order(set$level)], collapse = "; ")
  control <- set[!set$asks, ]
  if (all(set$right[set$asks]) || nrow(control) == 0) return(words)
  paste0(words, if (all(control$right)) ": insensitive today, not broken" else
         ": not even the heavy load was found, so that something is broken or the nodes are very busy")
}
