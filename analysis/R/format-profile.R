# noiselab analyze profile.

analyze_profile <- function(operands, values, form) {
  if (length(operands) != 1) abort_usage("profile: wanted one DIR, got ", length(operands))
  if (!is.null(values$write$worth)) {
    cells <- program_cells(read_profile(operands))
    cells$left_out[cells$left_out == ""] <- NA # an empty field
    write_output(csv_lines(cells), values$write$worth)
    return(character())
  }
  report <- profile_report(read_profile(operands), alpha_option(values$alpha))
  if (!is.null(values$write$arrivals)) write_output(arrival_trace_lines(report), values$write$arrivals)
  if (form == "csv" && is.null(report[[values$table %||% profile_tables[1]]])) {
    abort_data("--table ", values$table, ": no synchronising call was looked at on all its ranks")
  }
  answered(form, values$table, list(answer = paste(profile_sentences(report), collapse = " "), shares = as.list(report$shares),
                                    waiting = report$waiting),
           c(pick(report, profile_tables), list(projections = if (form == "json") scale_of_profile(report))), report$notes, format_profile(report), profile_view(report, operands))
}

time_words <- function(ns) {
  unit <- ifelse(is.na(ns) | ns < 1e3, "ns", ifelse(ns < 1e6, "\u00b5s", ifelse(ns < 1e9, "ms", "s")))
  paste(format_effect(ns / c(ns = 1, "\u00b5s" = 1e3, ms = 1e6, s = 1e9)[unit], FALSE), unit)
}

percent_of_time <- function(share) paste(ifelse(share == 0, "0", format_effect(100 * share, FALSE)), "%")

profile_sentences <- function(report) {
  shares <- report$shares
  shown <- shares[shares >= 0.0005]
  top <- utils::head(report$operations[report$operations$share >= 0.005, ], 3)
  wall <- max(report$profile$ranks[["wall_ns"]])
  c(sprintf("%s of %s on %s: %s of its time in MPI%s.", time_words(wall), counted(nrow(report$profile$ranks), "rank"),
            counted(length(unique(report$profile$ranks[["node"]])), "node"), percent_of_time(sum(shares)),
            if (length(shown) > 0) paste0(" (", paste(names(shown), percent_of_time(shown), collapse = ", "), ")") else ""),
    if (nrow(top) > 0) sprintf("Most of it: %s.", join_words(sprintf("%s (%s)", operation_words(top), percent_of_time(top$share)))),
    if (!is.null(report$waiting)) c(waiting_sentence(report), exposure_sentence(report)))
}

# The mean size of the calls that were counted together, by powers of two.
operation_words <- function(rows) {
  paste0(rows$operation, ifelse(rows$bytes_lo > 0, paste0(" ", vapply(rows$bytes / pmax(1, rows$calls), size_words, "")), ""))
}

# Exact where it is a whole number of bytes: what was counted was all of that size, or may have been.
size_words <- function(bytes) {
  unit <- Find(function(size) bytes >= size && bytes %% size == 0, c(MiB = 1024^2, KiB = 1024), nomatch = 1)
  if (bytes == round(bytes) && (unit > 1 || bytes < 1e5)) return(paste(format_count(bytes / unit), c("B", "KiB", "MiB")[1 + log2(unit) / 10]))
  of <- if (bytes < 1024) 0 else if (bytes < 1024^2) 1 else 2
  paste("some", format_effect(bytes / 1024^of, FALSE), c("B", "KiB", "MiB")[1 + of])
}

# Was it noise, or had some more to do?
waiting_sentence <- function(report) {
  w <- report$waiting
  ranks <- report$ranks
  n <- nrow(report$calls)
  part <- function(x) percent_of_time(if (w$wait_ns > 0) x / w$wait_ns else 0)
  late <- ranks[which.max(ranks$times_last), ]
  c(sprintf(paste("At %s looked at a rank waited %s for the last: %s by unequal work, %s by noise (preempted, or taken by a hypervisor),",
                  "%s as some left the call before late."),
            counted(n, "synchronising call"), time_words(w$wait_ns), part(w$unequal_ns), part(w$noise_ns), part(w$carried_ns)),
    sprintf("Rank %d was last in %s of them%s.", late$rank, percent_of_time(late$times_last / n),
            if (length(unique(report$profile$ranks[["node"]])) < 2) "" else {
              sprintf("; %s of the waiting was for other nodes, the rest within nodes", part(w$between_ns))
            }))
}

exposure_sentence <- function(report) {
  e <- report$exposure[report$exposure$interruption_ns == 1e6, ]
  sprintf("An interruption of 1 ms of one rank costs the program %s (%g %% interval %s to %s).", time_words(e$cost_ns), 100 * report$conf,
          time_words(e$cost_low_ns), time_words(e$cost_high_ns))
}

profile_operation_table <- function(rows) {
  us <- function(x) format_effect(x / 1000, FALSE)
  percent <- function(x) format_effect(100 * x, FALSE)
  new_table(operation = col_words("operation", operation_words(rows)), 
            communicator = col_words("ranks", ifelse(rows$ranks > 0, paste(rows$ranks, rows$communicator), "-")),
            calls = col_number("calls", rows$calls), share = col_number("time %", rows$share, percent),
            mean_ns = col_number("mean \u00b5s", rows$mean_ns, us),
            longest_ns = col_number("longest \u00b5s", rows$longest_ns, us), waiting = col_number("waiting %", rows$waiting, percent))
}

profile_legend <- "time: of all ranks'; waiting: of the time inside, for the last rank to arrive, in calls that were looked at"

profile_view <- function(report, operands) {
  new_view(c(profile_sentences(report), scale_sentence(scale_of_profile(report), operands)), profile_operation_table(utils::head(report$operations, 8)), profile_legend,
           if (is.null(report$main)) report$notes[1], length(report$notes) - is.null(report$main), all_command(operands, "profile"))
}

# NULL where no rank was held up in a call that was looked at.
scale_of_profile <- function(report) {
  if (is.null(report$main)) return(NULL)
  program <- steps_of_calls(report$main)
  scale_of(noise_of_profile(program), program$every_s, 1 - report$conf)
}

profile_rank_table <- function(ranks) {
  us <- function(x) format_effect(x / 1000, FALSE)
  if (is.null(ranks$late_ns)) {
    return(new_table(rank = col_number("rank", ranks$rank), host = col_words("host", ranks$host), state = col_words("state", ranks$state)))
  }
  new_table(rank = col_number("rank", ranks$rank), host = col_words("host", ranks$host), times_last = col_number("last", ranks$times_last),
            late_ns = col_number("late", ranks$late_ns, function(x) format_effect(x / 1000)),
            waited_ns = col_number("waited", ranks$waited_ns, us),
            preempted_ns = col_number("preempted", ranks$preempted_ns, us), off_cpu_ns = col_number("off CPU", ranks$off_cpu_ns, us),
            own_ns = col_number("own work", ranks$own_ns, us), other_mpi_ns = col_number("other MPI", ranks$other_mpi_ns, us))
}

format_profile <- function(report) {
  e <- report$exposure
  c(wrap_line(profile_sentences(report), 0), "", table_lines(profile_operation_table(report$operations)), wrap_line(profile_legend), "",
    "ranks: \u00b5s for each call that was looked at, since the one before", table_lines(profile_rank_table(report$ranks)), "",
    if (!is.null(e)) c("what an interruption of one rank costs the program", table_lines(new_table(
      interruption_ns = col_words("interruption", time_words(e$interruption_ns)), cost_ns = col_words("costs", time_words(e$cost_ns)),
      cost_low_ns = col_words(sprintf("%g %% interval", 100 * report$conf), paste(time_words(e$cost_low_ns), "to", time_words(e$cost_high_ns))))), ""),
    format_notes(report$notes))
}
