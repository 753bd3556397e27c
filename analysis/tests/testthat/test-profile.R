# Two ranks, three calls a millisecond apart; rank 1 arrives so much later.
two_ranks <- function(late_ns, preempted_ns = 0, off_cpu_ns = 0, slept = 0, since_ns = c(0, 0),
                      node = c(0, 0), op_ns = 0) {
  calls <- 3
  start <- rep(seq_len(calls) * 1e7, 2)
  rank <- rep(0:1, each = calls)
  arrived <- start + 1e6 + ifelse(rank == 1, late_ns, 0)
  data.table::data.table(launch = "a", communicator = "c", ranks = 2, call = rep(seq_len(calls), 2),
                         operation = "allreduce", rank = rank, node = node[rank + 1],
                         since_ns = start + since_ns[rank + 1], arrived_ns = arrived,
                         left_ns = start + 1e6 + late_ns + op_ns,
                         preempted_ns = ifelse(rank == 1, preempted_ns, 0),
                         off_cpu_ns = ifelse(rank == 1, off_cpu_ns, 0), slept = ifelse(rank == 1, slept, 0),
                         mpi_ns = 0)
}

mean_parts <- function(arrivals) {
  colMeans(whole_calls(arrivals)[c("waited_ns", "noise_waited_ns", "carried_ns", "unequal_ns", "within_ns",
                                   "between_ns")])
}

test_that(paste0("waiting is by noise, by what was carried along or by unequal work, within a node or ",
                 "between nodes"), {
  parts <- function(...) unname(mean_parts(two_ranks(2e5, ...)))
  # a rank that works longer lets the other wait
  expect_equal(parts(), c(1e5, 0, 0, 1e5, 1e5, 0))
  # what was preempted, or taken while it did not sleep, is noise; sleep is not
  expect_equal(parts(preempted_ns = 2e5)[2:4], c(1e5, 0, 0))
  expect_equal(parts(off_cpu_ns = 1e5)[2:4], c(5e4, 0, 5e4))
  expect_equal(parts(off_cpu_ns = 2e5, slept = 1)[2:4], c(0, 0, 1e5))
  # a rank that left the call before late carries that along
  expect_equal(parts(since_ns = c(0, 2e5))[2:4], c(0, 1e5, 0))
  # noise that the last rank did not have explains nothing, and no part is negative
  early <- two_ranks(2e5)
  early$preempted_ns <- ifelse(early$rank == 0, 5e5, 0)
  expect_equal(unname(mean_parts(early)[2:4]), c(0, 0, 1e5))
  expect_equal(parts(node = c(0, 1))[5:6], c(0, 1e5))
})

test_that("calls that a rank did not look at are left out", {
  lost <- two_ranks(2e5)[-1, ]
  expect_equal(sort(unique(whole_calls(lost)$call)), 2:3)
  expect_equal(nrow(whole_calls(lost[lost$rank == 1, ])), 0)
})

test_that("the exposure is that computed by hand", {
  # rank 0 works 1 ms and waits 0.2, rank 1 works 1.2: of 1 ms rank 0 passes on 0.8, rank 1 all; within the
  # wait what is left of it
  calls <- whole_calls(two_ranks(2e5))
  got <- exposure_of(calls, 1e6, 0.98)
  expect_equal(got$cost_ns, (1e6 * 8e5 + (1e6 * 2e5 - 2e5^2 / 2) + 1.2e6 * 1e6) / 2.4e6)
  # every call is the same
  expect_equal(c(got$cost_low_ns, got$cost_high_ns), rep(got$cost_ns, 2))
  # ranks that are never early, and one that hides behind the wait of the other
  expect_equal(exposure_of(whole_calls(two_ranks(0)), c(1e3, 1e6), 0.98)$cost_ns, c(1e3, 1e6))
  expect_equal(exposure_of(calls, 1e5, 0.98)$cost_ns, (2e5 * 0 + 1e5^2 / 2 + 1.2e6 * 1e5) / 2.4e6)
  # within the operation itself all of it counts
  expect_equal(exposure_of(whole_calls(two_ranks(0, op_ns = 1e6)), 1e6, 0.98)$cost_ns, 1e6)
})

# `counted`: columns of the kernel's counts, NULL: as 1.0.0 wrote it
profile_folder <- function(arrivals, files = TRUE, env = parent.frame(), counted = NULL) {
  dir <- local_folder(env)
  info <- list(schema = 2, program = "noiselab-profile", version = "1.0.0", launch = "a",
               options = stats::setNames(list(), character()), command = list("mpirun"), ranks = 2,
               ended = "complete")
  jsonlite::write_json(info, file.path(dir, "launch.json"), auto_unbox = TRUE)
  if (!files) return(dir)
  write <- function(x, name) data.table::fwrite(x, file.path(dir, name), scipen = 50)
  write(arrivals, "arrivals.csv")
  write(
    data.frame(launch = "a", rank = c(0, 1, 1), operation = c("allreduce", "allreduce", "waitall"),
               class = c("synchronising", "synchronising", "point-to-point"), bytes_lo = c(8, 8, 0),
               communicator = c("world", "world", ""), ranks = c(2, 2, 0), root = "", calls = c(3, 3, 10),
               bytes = c(24, 24, 0), inside_ns = c(6e5, 0, 3e6), longest_ns = c(2e5, 0, 1e6),
               outside_ns = c(3e6, 3.6e6, 0)),
    "operations.csv"
  )
  ranks <- data.frame(launch = "a", rank = 0:1, host = "h", node = 0, threads = "single",
                      state = "finalized", clock = "tsc", clock_bound_ns = 0, started_ns = 0, wall_ns = 1e7,
                      calls = 3, mpi_ns = 6e5, lost_calls = 0, sampled_calls = 3, sample_cost_ns = 5000,
                      waits = "scheduler")
  write(if (is.null(counted)) ranks else cbind(ranks, counted), "ranks.csv")
  dir
}

test_that("a run is read, and its answer says shares, waiting and exposure", {
  dir <- profile_folder(two_ranks(2e5))
  report <- profile_report(read_profile(dir))
  # of 20 ms of two ranks 0.6 in allreduce, and 3 in waits
  expect_equal(report$shares[["synchronising"]], 0.03)
  expect_equal(report$shares[["point-to-point"]], 0.15)
  # all that was spent inside was waiting
  expect_equal(report$operations$waiting[report$operations$operation == "allreduce"], 1)
  expect_equal(report$ranks$times_last, c(0, 3))
  expect_equal(report$ranks$late_ns, c(-2e5, 2e5))
  text <- paste(profile_sentences(report), collapse = " ")
  expect_match(text, "100 % because of unequal work, 0 % because of noise", fixed = TRUE)
  expect_match(text, "An interruption of 1 ms of one rank costs the program 908 \u00b5s", fixed = TRUE)
  expect_lte(length(view_lines(profile_view(report, dir))), 24)
  expect_equal(json_of("profile", dir)$waiting$wait_ns, 1e5)
  expect_length(profile_parts(report), 3)
})

# Two ranks on four CPUs that were counted for 2 s, but for what a name in `...` says.
counted_columns <- function(...) {
  rules <- rules_of_table("profile_ranks")
  from <- match("counted_ns", rules$name)
  names <- rules$name[from:length(rules$name)]
  columns <- as.data.frame(stats::setNames(lapply(names, function(name) c(0, 0)), names))
  columns$counted_ns <- 2e9
  columns$counted_cpus <- 4
  utils::modifyList(columns, list(...))
}

test_that("what the kernel counted is a row per counter and rank, and who has most is named", {
  counted <- counted_columns(faults = c(10, 40), irq_timer = c(1000, 1000), irq_call = c(30, 30),
                             irq_tlb = c(10, 10), rank_moves = c(0, 3), cpu_switches = c(NA, NA))
  dir <- profile_folder(two_ranks(2e5), counted = counted)
  report <- profile_report(read_profile(dir))
  rows <- report$counters
  of <- function(name) rows[rows$counter == name, ]
  expect_equal(of("page_faults")$per_second, c(5, 20))
  expect_equal(of("page_faults")$count, c(10, 40))
  expect_equal(of("timer_interrupts")$per_second, c(500, 500))
  # shootdowns are counted as function calls, too
  expect_equal(of("function_calls")$count, c(20, 20))
  expect_equal(of("timer_interrupts")$cpus, c(4, 4))
  expect_true(all(is.na(of("rank_migrations")$cpus)))
  # what the kernel does not say is no row
  expect_equal(nrow(of("cpu_switches")), 0)
  parts <- profile_parts(report)
  expect_length(parts, 4)
  lines <- part_lines(parts[[4]])
  expect_match(lines, "page faults of ranks +12.5 +5 +20 +1$", all = FALSE)
  expect_match(lines, "local timer interrupts +500 +500 +500 +-$", all = FALSE)
  expect_match(kernel_sentence(report), "500 local timer interrupts, .* and 12.5 page faults of ranks")
  expect_equal(nrow(json_of("profile", dir)$counters), nrow(rows))
})

test_that("a rank without a second reading has no counts, and files of 1.0.0 have no table of them", {
  counted <- counted_columns()
  counted[1, ] <- NA
  report <- profile_report(read_profile(profile_folder(two_ranks(2e5), counted = counted)))
  expect_equal(unique(report$counters$rank), 1)
  counted[2, ] <- NA
  none <- profile_report(read_profile(profile_folder(two_ranks(2e5), counted = counted)))
  old <- profile_report(read_profile(profile_folder(two_ranks(2e5))))
  for (one in list(none, old)) {
    expect_null(one$counters)
    expect_length(profile_parts(one), 3)
    expect_null(kernel_sentence(one))
  }
  # runs in which nobody looked have them all the same
  idle <- profile_folder(two_ranks(2e5)[0, ], counted = counted_columns(faults = c(2, 2)))
  expect_equal(sum(profile_report(read_profile(idle))$counters$count), 4)
})

test_that("the trace of arrivals has a line for each rank, from the first rank on", {
  dir <- profile_folder(two_ranks(2e5))
  lines <- arrival_trace_lines(profile_report(read_profile(dir)))
  expect_match(lines[1], "^#")
  expect_equal(lines[-1], c("0 0 0 0", "1 200000 200000 200000"))
})

test_that("a run without looks says so, and one without ranks is refused", {
  dir <- profile_folder(two_ranks(2e5)[0, ])
  report <- profile_report(read_profile(dir))
  expect_match(report$notes[1], "no synchronising call")
  expect_lte(length(view_lines(profile_view(report, dir))), 24)
  expect_error(arrival_trace_lines(report), class = "nl_error_data")
  empty <- profile_folder(files = FALSE)
  expect_error(read_profile(empty), "no rank of this run", class = "nl_error_data")
  file.create(file.path(empty, "rank.0.profile"))
  expect_error(read_profile(empty), "--tables", class = "nl_error_data")
  expect_error(read_campaign(empty), "noiselab analyze profile", class = "nl_error_data")
})

test_that("sizes are those of the messages, not the power of two below them", {
  expect_equal(vapply(c(8, 1000, 8000, 4096, 98304, 2^21, 5000.5, 123456789), size_words, ""),
               c("8 B", "1000 B", "8000 B", "4 KiB", "96 KiB", "2 MiB", "some 4.88 KiB", "some 118 MiB"))
  rows <- data.frame(operation = c("bcast", "barrier"), bytes_lo = c(4096, 0), bytes = c(24000, 0),
                     calls = c(3, 2))
  expect_equal(operation_words(rows), c("bcast 8000 B", "barrier"))
})

test_that(paste0("own work is what lies between two calls without other calls and without what was lost ",
                 "outside of them"), {
  calls <- data.frame(since_ns = 0, arrived_ns = 1000, mpi_ns = 600, noise_ns = 500, slept = 0,
                      mpi_preempted_ns = c(400, 0, 600, NA), mpi_off_cpu_ns = c(50, 0, 100, NA))
  # 400 outside of other calls: of 500 lost 50 were there; all of them, more than there is room for; none,
  # as all fit inside; not known
  expect_equal(own_work_ns(calls), c(350, 0, 400, 400))
  # sleep inside of other calls is no noise there either
  calls$slept <- 1
  expect_equal(own_work_ns(calls)[1], 300)
  # a profile of 1.0.0 has no such columns
  expect_equal(own_work_ns(calls[1, 1:5]), 400)
})

halo_profile <- function(inside_ns, outside_ns, shortest_ns = 1000) {
  ranks <- data.table::data.table(rank = seq_along(inside_ns) - 1, wall_ns = 1e9)
  operations <- data.table::data.table(launch = "a", rank = ranks$rank, operation = "sendrecv",
                                       class = "point-to-point", bytes_lo = 4096, communicator = "world",
                                       ranks = nrow(ranks), calls = 100, bytes = 409600,
                                       inside_ns = inside_ns, longest_ns = 1e6, outside_ns = outside_ns,
                                       shortest_ns = shortest_ns)
  list(ranks = ranks, operations = operations)
}

test_that(paste0("waiting in calls that are not sampled is what they take beyond the shortest, for the rank ",
                 "that spends least in them"), {
  profile <- halo_profile(c(3e7, 1e5, 3e7), c(1e8, 1.3e8, 1e8))
  largest <- largest_waiting(profile, profile_operations(profile, data.frame(), 3e9), profile$ranks)
  expect_equal(largest$rank, 1)
  expect_equal(largest$longer, 0.3)
  expect_equal(largest$each_ns, (2 * 3e7 + 1e5 - 3 * 1e5) / 300)
  expect_true(is.na(largest$by_noise))
  expect_match(largest_sentence(largest),
               "They wait for rank 1, which takes 30.0 % longer than the others between its calls",
               fixed = TRUE)
  # what rank 1 has more of is its own work by two thirds
  ranks <- cbind(profile$ranks, own_ns = c(10, 30, 10), outside_noise_ns = c(0, 10, 0))
  expect_equal(awaited_rank(1, profile$operations, ranks)$by_noise, 1 / 3)
  # ranks that are late in turn: nobody is named; without the shortest call it is compared with the rank
  # that spends least
  in_turn <- halo_profile(c(3e7, 2.9e7), c(1e8, 1e8))
  largest <- largest_waiting(in_turn, profile_operations(in_turn, data.frame(), 2e9), in_turn$ranks)
  expect_match(largest_sentence(largest), "No single rank is waited for", fixed = TRUE)
  old <- halo_profile(c(3e7, 1e5), c(1e8, 1e8), NA_real_)
  expect_equal(largest_waiting(old, profile_operations(old, data.frame(), 2e9), old$ranks)$each_ns,
               (3e7 - 1e5) / 200)
  # one rank, and hardly any waiting
  one <- halo_profile(3e7, 1e8)
  expect_null(largest_waiting(one, profile_operations(one, data.frame(), 1e9), one$ranks))
  little <- halo_profile(c(2e5, 1e5), c(1e8, 1e8))
  expect_null(largest_waiting(little, profile_operations(little, data.frame(), 2e9), little$ranks))
})

test_that("the picture of a profile divides each rank's time, and all of it", {
  dir <- profile_folder(two_ranks(2e5))
  report <- profile_report(read_profile(dir), alpha = 0.01)
  frame <- plot_profile(report, draw = FALSE)
  percent <- function(rank, part) frame$percent[frame$rank == rank & frame$part == part]
  # of 10 ms rank 0 was 0.6 ms in an allreduce, all of it waiting for rank 1, which has more work
  expect_equal(percent(0, "waiting for unequal work"), 6)
  expect_equal(percent(0, "own work"), 94)
  expect_equal(percent(1, "waiting or at work in calls that are not sampled"), 30)
  expect_true(all(frame$percent >= 0))
  expect_equal(percent(0, "noise, between calls"), 0)
  expect_s3_class(ggplot2::ggplot_build(plot_profile(report)), "ggplot_built")
  expect_match(alt_profile(frame), "own work 94.0 %", fixed = TRUE)
  # noise of the time between two calls
  noisy <- profile_report(read_profile(profile_folder(two_ranks(2e5, preempted_ns = 3e5))), alpha = 0.01)
  frame <- plot_profile(noisy, draw = FALSE)
  expect_equal(percent(1, "noise, between calls"), 94 * 0.25)
  # without a sampled call, and many ranks
  bare <- profile_report(read_profile(profile_folder(two_ranks(2e5)[0, ])))
  expect_s3_class(ggplot2::ggplot_build(plot_profile(bare)), "ggplot_built")
  report$frames$profile <- data.frame(rank = rep(0:199, each = 2), part = c("own work", "in calls, at work"),
                                      percent = c(60, 40))
  expect_s3_class(ggplot2::ggplot_build(plot_profile(report)), "ggplot_built")
  expect_lte(size_profile(report$frames$profile, report)[2], 20)
})

test_that("a profile has a report of its own, whose first box is the first screen", {
  dir <- profile_folder(two_ranks(2e5, preempted_ns = 3e5))
  file <- file.path(dir, "r.html")
  got <- status_of("noiselab-report", dir, "--out", file)
  expect_equal(list(got$status, got$out), list(0L, file))
  html <- gsub("\\s+", " ", paste(readLines(file), collapse = " "))
  screen <- profile_view(profile_report(read_profile(dir), alpha_option(NULL)), dir)$sentences
  for (sentence in screen) expect_match(html, htmltools::htmlEscape(sentence), fixed = TRUE)
  expect_match(html, "Where does this program wait", fixed = TRUE)
  expect_match(html, "noiselab profile -- mpirun", fixed = TRUE)
  expect_true(any(file.exists(file.path(dir, "r_files", c("profile.svg", "profile.png")))))
  expect_equal(status_of("noiselab-plot", "profile", dir, "--csv")$status, 0L)
  expect_refused("noiselab-plot", c("profile", dir, dir), "is of one run: wanted one DIR, got 2")
  expect_refused("noiselab-plot", c("profile", dir, "--every", "1ms"), "--every: is of the plot scale only")
})
