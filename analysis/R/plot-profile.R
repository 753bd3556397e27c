# The plot of a program's profile: where each rank's time went.

# What a rank's time is divided into, from the axis outwards. Functions of colours, which are of a file that
# is read later.
profile_parts_of_time <- function() c(
  "own work" = "grey80", "noise, between calls" = okabe_ito[["vermillion"]],
    "in calls, at work" = okabe_ito[["sky"]],
  "waiting for unequal work" = okabe_ito[["blue"]], "waiting for noise" = okabe_ito[["orange"]],
  "waiting, left the call before late" = okabe_ito[["yellow"]],
    "waiting or at work in calls that are not sampled" = okabe_ito[["green"]]
)

# `report`: of profile_report().
plot_profile <- function(report, draw = TRUE) {
  frame <- report$frames$profile %||% profile_data(report)
  if (!draw || is.null(frame)) return(frame)
  ranks <- sort(unique(frame$rank))
  frame$part <- factor(frame$part, rev(names(profile_parts_of_time())))
  frame$rank <- factor(frame$rank, rev(ranks))
  few <- length(ranks) <= nodes_lines
  ggplot2::ggplot(frame, ggplot2::aes(percent, rank, fill = part)) +
    ggplot2::geom_col(width = if (few) 0.8 else 1, colour = NA) +
    ggplot2::scale_fill_manual(NULL, values = profile_parts_of_time(),
                               breaks = names(profile_parts_of_time()), drop = TRUE,
                               guide = ggplot2::guide_legend(ncol = 3)) +
    ggplot2::scale_x_continuous(expand = ggplot2::expansion(mult = c(0, 0.01))) +
    (if (few) ggplot2::scale_y_discrete() else ggplot2::scale_y_discrete(breaks = NULL)) + theme_noiselab() +
    plot_words("Where each rank's time went", sprintf("%s; %s", counted(length(ranks), "rank"),
                                                      profile_sampled_words(report)), paste(
      "Share of the time from MPI_Init to the last call. Waiting for the last rank is known where a call is",
      "sampled on all ranks, and is taken to be the",
      "same in calls of that operation that are not. No test, no interval, no alpha: one run as it was."
    ), "share of the rank's time, %", if (few) "rank" else "ranks, the first on top")
}

profile_sampled_words <- function(report) {
  n <- if (is.null(report$calls)) 0 else nrow(report$calls)
  sprintf("n = %s sampled synchronising calls", format_count(n))
}

# A row for each rank and part: `rank`, `part`, `percent` of the rank's time.
profile_data <- function(report) {
  all <- as.data.frame(report$profile$operations)
  ranks <- as.data.frame(report$profile$ranks)
  if (nrow(all) == 0) return(NULL)
  waits <- profile_waits(report$main)
  bind_rows(lapply(seq_len(nrow(ranks)), function(i) {
    rank <- ranks$rank[i]
    mine <- all[all$rank == rank, ]
    noise <- noise_between_calls(report$ranks[report$ranks$rank == rank, ])
    between <- max(0, ranks$wall_ns[i] - ranks$mpi_ns[i])
    is_sampled <- mine$operation %in% unique(report$main$operation)
    sampled <- sum(mine$inside_ns[is_sampled])
    of <- waits[waits$rank == rank, ]
    if (nrow(of) == 0) of <- data.frame(unequal = 0, noise = 0, carried = 0)
    parts <- c(between * (1 - noise), between * noise, sampled * (1 - of$unequal - of$noise - of$carried),
               sampled * of$unequal,
               sampled * of$noise, sampled * of$carried, sum(mine$inside_ns[!is_sampled]))
    data.frame(rank = rank, part = names(profile_parts_of_time()),
               percent = 100 * parts / max(1, ranks$wall_ns[i]))
  }))
}

# Of the time between calls the share that was noise; 0: it is not known.
noise_between_calls <- function(row) {
  between <- row$own_ns + row$outside_noise_ns
  if (isTRUE(between > 0)) row$outside_noise_ns / between else 0
}

# Of the time in sampled calls of each rank the shares that were waiting, by cause.
profile_waits <- function(main) {
  if (is.null(main)) return(data.frame(rank = numeric(), unequal = numeric(), noise = numeric(),
                                       carried = numeric()))
  inside <- pmax(1, main$left_ns - main$arrived_ns)
  waited <- pmin(main$waited_ns, inside)
  call <- pmax(1, main$unequal_ns + main$noise_waited_ns + main$carried_ns)
  sums <- rowsum(cbind(inside, waited * main$unequal_ns / call, waited * main$noise_waited_ns / call,
                       waited * main$carried_ns / call),
                 main$rank)
  data.frame(rank = as.numeric(rownames(sums)), unequal = sums[, 2] / sums[, 1],
             noise = sums[, 3] / sums[, 1], carried = sums[, 4] / sums[, 1])
}

size_profile <- function(frame, report) {
  ranks <- length(unique(frame$rank))
  c(9, min(20, 2.6 + if (ranks <= nodes_lines) 0.26 * ranks else 5))
}

alt_profile <- function(frame) {
  parts <- tapply(frame$percent, factor(frame$part, unique(frame$part)), mean)
  shown <- parts[parts >= 0.5]
  sprintf("Where the ranks' time went, in the mean: %s.", join_words(sprintf("%s %s %%", names(shown),
                                                                             plain(shown))))
}
