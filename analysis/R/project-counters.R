# What the kernel counted while a program ran: of each rank, and on the CPUs that it might use.

# Of these there are words for changes, too (mechanism_counters); the others have no on and off.
counters_of_programs <- list(
  major_faults = list(words = "page faults that read a disk", value = function(rows) rows[["major_faults"]]),
  rank_waits = list(words = "voluntary context switches of ranks",
                    value = function(rows) rows[["rank_voluntary"]])
)

# A row per counter and rank: `counter`, `rank`, `host`, `count`, `per_second`, `seconds` (that were counted)
# and `cpus` (that the rank might use, over which interrupts are summed; NA: a count of the rank itself).
# NULL: nothing was counted, as by 1.0.0, or no rank came to its end.
counters_of_profile <- function(ranks) {
  ranks <- as.data.frame(ranks)
  if (is.null(ranks[["counted_ns"]])) return(NULL)
  rates <- Filter(function(counter) counter$kind == "rate", mechanism_counters)
  of_rank <- c("rank_switches", "rank_migrations", "page_faults", names(counters_of_programs))
  all <- c(rates, counters_of_programs)
  seconds <- ranks$counted_ns / 1e9
  rows <- bind_rows(lapply(names(all), function(name) {
    count <- as.numeric(all[[name]]$value(ranks))
    data.frame(counter = name, rank = ranks$rank, host = as.character(ranks$host), count = count,
               per_second = count / seconds, seconds = seconds,
               cpus = if (name %in% of_rank) NA_real_ else as.numeric(ranks$counted_cpus))
  }))
  rows <- rows[is.finite(rows$per_second), ]
  rownames(rows) <- NULL
  if (nrow(rows) > 0) rows
}

kernel_words <- function(name) (mechanism_counters[[name]] %||% counters_of_programs[[name]])$words

# A row per counter, over ranks: the mean, and the ranks with least and most.
kernel_table <- function(rows) {
  rows <- rows[order(rows$rank), ]
  one <- function(name) {
    mine <- rows[rows$counter == name, ]
    most <- which.max(mine$per_second)
    data.frame(counter = kernel_words(name), mean = mean(mine$per_second), least = min(mine$per_second),
               most = mine$per_second[most], rank = mine$rank[most])
  }
  table <- do.call(rbind, lapply(unique(rows$counter), one))
  new_table(
    counter = col_words("counter", table$counter),
    mean = col_number("mean", table$mean, three),
    least = col_number("least", table$least, three),
    most = col_number("most", table$most, three),
    rank = col_number("of rank", ifelse(table$most > table$least, table$rank, NA))
  )
}

kernel_part <- function(report) {
  rows <- report$counters
  if (is.null(rows)) return(NULL)
  cpus <- max(rows$cpus, 0, na.rm = TRUE)
  new_part("what the kernel counted, per second and rank", kernel_table(rows),
           paste0("interrupts and context switches of CPUs: of all CPUs that a rank might use",
                  if (cpus > 1) sprintf(" (up to %d), so those of ranks that share them are the same",
                                        as.integer(cpus)),
                  "; other counts: of the rank's process"))
}

# For the report; NULL: nothing was counted.
kernel_sentence <- function(report) {
  rows <- report$counters
  if (is.null(rows)) return(NULL)
  rate <- function(name) mean(rows$per_second[rows$counter == name])
  told <- c("timer_interrupts", "rank_switches", "page_faults")
  told <- told[told %in% rows$counter]
  words <- sprintf("%s %s", vapply(vapply(told, rate, 0), events_words, ""),
                   vapply(told, kernel_words, ""))
  sprintf("Each second a rank had, on average, %s.", join_words(words))
}
