# A campaign of settings in memory: `effect` (percent) of each value, what writing costs, and how much of a
# half's effect still shows in the half after it. `detours`: percent of the time that detours take of one
# block in five on average; NULL: operations were not timed one by one.
setting_campaign <- function(effect, sets = 60, writing = 0, carried = 0, sd = 0.3, launches = 1, seed = 1,
                             detours = NULL) {
  set.seed(seed)
  kinds <- c(off = "off", paste0("knob-", seq_along(effect)), placebo = "placebo")
  truth <- c(0, effect, 0)
  rows <- lapply(seq_len(launches), function(launch) {
    at <- unlist(lapply(seq_len(sets), function(i) sample(length(kinds))))
    before <- c(1, at[-length(at)])
    slower <- truth[at] + writing * (at > 1) + carried * (truth[before] - truth[at]) +
      stats::rnorm(length(at), 0, sd) + 5 * sin(seq_along(at) / 40)
    wall <- 1e8 * exp(slower / 100)
    if (!is.null(detours)) {
      detour_ns <- stats::rexp(length(at), 100 / detours / 1e8) * (stats::runif(length(at)) < 0.2)
      wall <- wall + detour_ns
    }
    rows <- data.frame(launch = paste0("l", launch), design = "blocks", operation = "allreduce", bytes = 2048,
               ranks = 2, pair = rep(seq_len(sets), each = length(kinds)),
               order = rep(seq_along(kinds) - 1, sets), arm = ifelse(at == 1, "off", "on"),
               level_requested_percent = ifelse(at == 1, 0, Inf), kind = ifelse(at == 1, NA, kinds[at]),
               start_ns = cumsum(c(0, wall[-length(wall)])), wall_ns = wall, operations = 1e4,
               preempted_ns_sum = 1e5)
    if (!is.null(detours)) rows$detour_ns <- detour_ns
    rows
  })
  told <- list(
    settings = list(list(key = "kernel.knob", values = as.list(as.character(0:length(effect))))),
    arms = c(
      lapply(seq_along(effect), function(i) list(kind = kinds[[i + 1]], values = list(as.character(i)))),
      list(list(kind = "placebo", values = list("0")))
    )
  )
  agents <- list(list(host = "n1",
                      settings = list(list(file = "/proc/sys/kernel/knob", found = "1", left = "1"))))
  ids <- paste0("l", seq_len(launches))
  structure(
    list(
      rows = data.table::as.data.table(do.call(rbind, rows)),
      dirs = "c",
      notes = character(),
      launches = stats::setNames(rep(list(list(options = list(settings = told), agents = agents)), launches),
                                 ids)
    ),
    class = "nl_campaign"
  )
}

test_that("faster, slower, no difference and undecided are told apart, with the interval and both sides", {
  result <- compare_settings(setting_campaign(c(1, -0.8, 0.02), sets = 200), margin = 0.2)
  expect_equal(result$rows$outcome, c("slower", "faster", "no difference"))
  expect_equal(result$rows$estimate, c(1, -0.8, 0.02), tolerance = 0.2)
  expect_true(all(result$rows$ci_low < c(1, -0.8, 0.02) & result$rows$ci_high > c(1, -0.8, 0.02)))
  expect_equal(result$answer, "fail")
  said <- setting_sentences(result)
  expect_match(
    said[1],
    paste0("^kernel.knob 1 instead of 0 makes allreduce, 2048 B [01][.][0-9]+ % slower \\(0[.][0-9]+ to ",
           "1[.][0-9]+\\)[.]$")
  )
  expect_match(
    said[2],
    paste0("^kernel.knob 2 instead of 0 makes allreduce, 2048 B 0[.][0-9]+ % faster \\(0[.][0-9]+ to ",
           "[01][.][0-9]+\\)[.]$")
  )
  expect_match(said[3], "makes no difference to allreduce, 2048 B beyond +-0.2 %", fixed = TRUE)
  open <- compare_settings(setting_campaign(0.3, sets = 10, sd = 1), margin = 0.2)
  expect_equal(open$rows$outcome, "undecided")
  expect_equal(open$answer, "inconclusive")
  # the root of the time: its distance from 0 in standard errors, up to what is found with that probability,
  # against the reference and against the placebo, or else within the margin
  distance <- abs(log1p(c(open$rows$estimate, open$rows$rewritten_percent) / 100))
  roots <- (stats::qnorm(0.99) + stats::qnorm(0.95)) * c(open$rows$se, open$rows$rewritten_se) / distance
  inside <- max(0, log1p(0.002) - distance[1])
  longer <- min(max(roots), roots[1] * distance[1] / inside)^2
  expect_equal(open$rows$needs_s, open$took_s * longer)
  expect_match(setting_sentences(open)[1], "does not decide whether it changes allreduce.* Measuring for ")
  expect_lte(max(nchar(part_lines(setting_part(open)))), 110)
})

test_that(paste0("two values that differ by what only the placebo costs are not stated, and too few sets ",
                 "have no answer"), {
  costly <- compare_settings(setting_campaign(0, writing = 1))
  expect_equal(costly$rows$outcome, "undecided")
  expect_match(costly$rows$reason,
               "differs from the reference, but not, to the same side, from the same value written again")
  expect_gt(costly$rows$estimate, 0.7)
  # what comes on top of that is: the placebo of the same set has cost as much
  more <- compare_settings(setting_campaign(0.6, sets = 120, writing = 1))$rows
  expect_equal(more$outcome, "slower")
  expect_true(more$rewritten_low < 0.6 && 0.6 < more$rewritten_high)
  # slower than the reference by 0.5, faster than the placebo by as much: what it does is not known
  less <- compare_settings(setting_campaign(-0.5, sets = 200, writing = 1))$rows
  expect_equal(less$outcome, "undecided")
  expect_lt(less$rewritten_high, 0)
  expect_match(less$reason, "differs from the reference, but not, to the same side, from the same value")
  # without a placebo nothing is known of what writing costs
  alone <- setting_campaign(1, sets = 200)
  without <- !alone$rows$kind %in% "placebo"
  alone$rows <- data.table::as.data.table(as.data.frame(alone$rows)[without, ])
  alone <- compare_settings(alone)$rows
  expect_equal(alone$outcome, "undecided")
  expect_match(alone$reason, "what writing alone costs was not measured")
  few <- compare_settings(setting_campaign(3, sets = 5))
  expect_equal(few$rows$outcome, "undecided")
  expect_match(few$rows$reason, "5 sets; a test at alpha 0.01 needs 7")
  expect_equal(setting_answer(few$rows, 1), "inconclusive")
})

test_that("an effect that outlives its arm is seen, and then nothing is stated", {
  carried <- compare_settings(setting_campaign(2, sets = 120, carried = 0.4, sd = 0.2))
  expect_equal(carried$rows$outcome, "undecided")
  expect_match(carried$rows$reason, "blocks still show the setting before them")
  expect_equal(carried$rows$settling_percent, 0.8, tolerance = 0.3)
  settled <- compare_settings(setting_campaign(2, sets = 120, sd = 0.2))
  expect_equal(settled$rows$outcome, "slower")
  expect_gt(settled$rows$settling_p, 0.01)
})

test_that(paste0("where interruptions hide it, a difference of the operations that nothing interrupts is ",
                 "stated as theirs, and never more"), {
  busy <- compare_settings(setting_campaign(c(0.8, 0), sets = 120, detours = 60), margin = 0.2)
  slower <- busy$rows[1, ]
  expect_equal(c(slower$outcome, slower$by), c("slower", "undisturbed"))
  expect_true(slower$undisturbed_low < 0.8 && 0.8 < slower$undisturbed_high)
  expect_lt(slower$undisturbed_high - slower$undisturbed_low, 0.1 * (slower$ci_high - slower$ci_low))
  expect_match(setting_sentences(busy)[1],
               paste0("makes allreduce, 2048 B 0[.][0-9]+ % slower \\(0[.][0-9]+ to [01][.][0-9]+\\) where ",
                      "nothing interrupts it; with interruptions the change is .* which does not decide[.]$"))
  # all together may be as much: the margin is failed
  expect_equal(busy$answer, "fail")
  # nothing changes: the part that is known does not stand for the whole
  same <- busy$rows[2, ]
  expect_equal(same$outcome, "undecided")
  expect_match(setting_sentences(busy)[2], "Where nothing interrupts it the change is [-+]0[.]")
  shown <- part_lines(setting_part(busy))
  expect_lte(max(nchar(shown)), 110)
  expect_match(paste(shown, collapse = " "),
               "kernel.knob 1 instead of 0, .*where nothing interrupts it: [+]0[.]")
  # what only writing costs is not stated of this part either
  costly <- compare_settings(setting_campaign(0, sets = 120, writing = 1, detours = 60))
  expect_equal(costly$rows$outcome, "undecided")
  expect_match(costly$rows$reason, "where nothing interrupts it, it differs from the reference, but not")
  # nor is what outlives its arm
  carried <- compare_settings(setting_campaign(2, sets = 120, carried = 0.4, sd = 0.2, detours = 60))
  expect_match(carried$rows$reason, "blocks still show the setting before them")
  # a detour longer than the block leaves nothing to know
  expect_equal(undisturbed_ns(data.frame(wall_ns = c(100, 100), operations = 10, detour_ns = c(20, 120))),
               c(8, NA))
  false <- vapply(1:70, function(seed) {
    got <- compare_settings(setting_campaign(0, sets = 30, detours = 30, seed = seed))$rows$outcome
    got %in% c("slower", "faster")
  }, TRUE)
  expect_lte(sum(false), stats::qbinom(0.999, 70, 0.01))
})

# A machine that changes its speed with nearly each block, so that all of the time says little. `bursts`:
# percent of the time that bursts take in blocks with a value more than in others, `slower`: what it adds to
# the rest.
with_bursts <- function(bursts, sets = 200, slower = 0, speeds = 20, seed = 1) {
  campaign <- setting_campaign(slower, sets = sets, detours = 1, seed = seed)
  rows <- as.data.frame(campaign$rows)
  rest <- (rows$wall_ns - rows$detour_ns) * exp(stats::rnorm(nrow(rows), 0, speeds / 100))
  of_bursts <- rest * (0.5 + bursts * rows$kind %in% "knob-1" + stats::rexp(nrow(rows), 1 / 0.3)) / 100
  rows$wall_ns <- rest + of_bursts
  rows$detour_ns <- of_bursts
  campaign$rows <- data.table::as.data.table(rows)
  campaign
}

test_that("where the machine's speed hides it, a load that a setting starts is found by its interruptions", {
  got <- compare_settings(with_bursts(1), margin = 0.2)
  expect_equal(c(got$rows$outcome, got$rows$by), c("slower", "interruptions"))
  expect_true(got$rows$interruptions_low < 1 && 1 < got$rows$interruptions_high)
  expect_match(setting_sentences(got)[1],
               paste0("makes allreduce, 2048 B [01][.]?[0-9]* % slower \\(0[.][0-9]+ to 1[.][0-9]+\\) ",
                      "by what interrupts it; all together the change is .* which does not decide[.]$"))
  expect_equal(got$answer, "fail")
  expect_equal(got$rows$estimate, as.numeric(100 * expm1(
    log1p(got$rows$undisturbed_percent / 100) + log1p(got$rows$interruptions_percent / 100)
  )), tolerance = 1e-6)
  less <- with_bursts(-0.4)
  expect_equal(unlist(compare_settings(less)$rows[c("outcome", "by")], use.names = FALSE),
               c("faster", "interruptions"))
  same <- compare_settings(with_bursts(0))
  expect_equal(same$rows$outcome, "undecided")
  expect_match(setting_sentences(same)[1], "What interrupts it changes it by [-+]0[.]")
  expect_match(paste(part_lines(setting_part(same)), collapse = " "), "by what interrupts it: [-+]0[.]")
  false <- vapply(1:70, function(seed) {
    compare_settings(with_bursts(0, sets = 30, seed = seed))$rows$outcome %in% c("slower", "faster")
  }, TRUE)
  expect_lte(sum(false), stats::qbinom(0.999, 70, 0.01))
})

test_that("interruptions to one side and the operations to the other say nothing of the whole", {
  got <- compare_settings(with_bursts(0.8, slower = -0.8, speeds = 0.6), margin = 0.1)$rows
  expect_true(got$undisturbed_high < 0 && got$interruptions_low > 0)
  expect_equal(got$outcome, "undecided")
  expect_match(got$reason,
               paste0("^parts of it change to opposite sides: where nothing interrupts it by -0[.].* and by ",
                      "what interrupts it by [+]0"))
})

test_that("slices say what interrupts a block, whatever its speed", {
  # 0.2 ms each, at half the speed from the middle on; 1 ms, and a burst of 4 ms that is one slice
  ns <- rep(c(2e5, 4e5), each = 300)
  ns[c(100, 450)] <- ns[c(100, 450)] + c(1e6, 4e6)
  expect_equal(interrupted_blocks(c(ns, rep(2e5, 300)), c(600, 300)), c(5e6 / sum(ns), 0), tolerance = 1e-3)
  # no block of a file, and one without slices
  expect_equal(interrupted_blocks(numeric(), numeric()), numeric())
  expect_equal(interrupted_blocks(rep(2e5, 5), c(0, 5)), c(NA, 0))
  # what is less than twice the usual does not interrupt
  expect_equal(interrupted_blocks(c(rep(2e5, 200), 3.9e5), 201), 0)

  campaign <- with_bursts(0, sets = 10)
  campaign$paths <- c(l1 = tempfile())
  dir.create(campaign$paths)
  campaign$launches$l1$launch <- "l1"
  rows <- as.data.frame(campaign$rows)
  rows$start_ns <- round(rows$start_ns)
  loaded <- rows$kind %in% "knob-1"
  write_half_slices(campaign, "l1", "n1", rows, function(i) {
    rep(2e5, 401) + 1.8e6 * loaded[i] * (seq_len(401) == 200)
  })
  share <- as.numeric(interrupted_share(campaign))
  expect_equal(share[loaded], rep(1.8e6 / (400 * 2e5 + 2e6), sum(loaded)))
  expect_equal(share[!loaded], rep(0, sum(!loaded)))
  # of two nodes the mean; of one that has not all blocks the other's
  write_half_slices(campaign, "l1", "n2", rows[-1, ], function(i) rep(2e5, 400))
  both <- as.numeric(interrupted_share(campaign))
  expect_equal(both[-1], share[-1] / 2)
  expect_equal(both[1], share[1])
  expect_equal(compare_settings(campaign)$rows$interruptions_percent,
               100 * expm1(mean(-log1p(-both[loaded]) + mean(log1p(-both[!loaded])))), tolerance = 0.05)
  # a damaged file is said, and the blocks still have their answer
  campaign$launches$l1$ended <- "complete"
  writeLines("not this", file.path(campaign$paths, "slices.n1.bin"))
  expect_match(compare_settings(campaign)$notes, "interruptions are not known by .*slices.n1.bin: ",
               all = FALSE)
})

# The same with a record of others' bursts in a folder: `daemon` in each block by chance, and `loader` for
# 1 ms in each block that is `loaded`.
with_record <- function(campaign, loaded, env = parent.frame()) {
  folder <- withr::local_tempdir(.local_envir = env)
  rows <- as.data.frame(campaign$rows)
  campaign$paths <- c(l1 = folder)
  campaign$launches$l1$launch <- "l1"
  set.seed(7)
  by_chance <- stats::rexp(nrow(rows), 1 / 2e6)
  bursts <- rbind(data.frame(at = rows$start_ns + 1e7, ns = by_chance, cpu = 0, task = "daemon"),
                  data.frame(at = rows$start_ns[loaded] + 5e7, ns = rep(1e6, length(loaded)),
                             cpu = rep(1, length(loaded)), task = rep("loader", length(loaded))))
  bursts <- bursts[order(bursts$at), ]
  writeLines(c("# source: cpu", "# origin_monotonic_ns: 0", "# host: n1", "# lost: 0", "# cut: 0",
               "# not_kept: 0", sprintf("# span_ns: %.0f", max(rows$start_ns + rows$wall_ns)),
               "# start_ns\tduration_ns\tcpu\tkind\ttask",
               sprintf("%.0f\t%.0f\t%.0f\t-\t%s", bursts$at, bursts$ns, bursts$cpu, bursts$task)),
             file.path(folder, "others.n1.trace"))
  campaign
}

test_that("a task that takes more or less of the ranks' CPUs with a value is found among all others", {
  campaign <- setting_campaign(0, sets = 40, sd = 4)
  loaded <- which(campaign$rows$kind %in% "knob-1")
  more <- compare_settings(with_record(campaign, loaded), margin = 0.2)
  expect_equal(c(more$rows$outcome, more$rows$by, more$rows$taken_by), c("slower", "tasks", "loader"))
  expect_true(more$rows$tasks_low < 1.01 && 1.01 < more$rows$tasks_high + 0.1)
  expect_lt(more$rows$tasks_high - more$rows$tasks_low, 0.3)
  expect_match(setting_sentences(more)[1],
               paste0("makes allreduce, 2048 B [01][.][0-9]+ % slower .* by what loader takes of its ranks' ",
                      "CPUs; all together the change is .* which does not decide[.]$"))
  expect_false(any(grepl("loader takes 1", setting_sentences(more))))
  expect_equal(more$answer, "fail")
  expect_equal(more$tasks$task[more$tasks$named], "loader")
  expect_equal(more$tasks$percent[more$tasks$named], 1, tolerance = 0.1)
  expect_true("daemon" %in% more$tasks$task)
  shown <- unlist(lapply(setting_task_parts(more), part_lines))
  expect_match(shown, "kernel.knob 1 instead of 0 +loader", all = FALSE)
  expect_lte(max(nchar(shown)), 110)

  less <- compare_settings(with_record(campaign, setdiff(seq_len(nrow(campaign$rows)), loaded)))
  expect_equal(c(less$rows$outcome, less$rows$by), c("faster", "tasks"))
  # where all of the time decides, the task is said besides
  fast <- with_record(setting_campaign(2, sets = 40, sd = 0.1), loaded)
  fast <- compare_settings(fast)
  expect_equal(fast$rows$by, "all")
  expect_match(setting_sentences(fast), paste0("^With kernel.knob 1 instead of 0 loader takes [01][.][0-9]+ ",
                                               "%.* of one CPU more from the ranks[.]$"), all = FALSE)
  # as often with the placebo: that is writing
  written <- which(campaign$rows$kind %in% c("knob-1", "placebo"))
  expect_equal(compare_settings(with_record(campaign, written))$rows$outcome, "undecided")
  # nobody changes: nothing is said
  same <- compare_settings(with_record(campaign, integer()))
  expect_equal(same$rows$outcome, "undecided")
  expect_false(any(same$tasks$named))
  expect_null(task_words(same$tasks))
  # a record that lost bursts, or is damaged, names nobody
  lost <- with_record(campaign, loaded)
  file <- file.path(lost$paths, "others.n1.trace")
  edit_lines(file, function(lines) sub("# lost: 0", "# lost: 3", lines))
  expect_null(compare_settings(lost)$tasks)
  writeLines("not this", file)
  damaged <- compare_settings(lost)
  expect_null(damaged$tasks)
  expect_match(damaged$notes, "tasks are not known by .*others.n1.trace", all = FALSE)
})

test_that("a part that the whole does not show decides nothing", {
  # 1 % of the time in bursts, of operations that do not wait for them
  campaign <- setting_campaign(0, sets = 100, sd = 0.3)
  got <- compare_settings(with_record(campaign, which(campaign$rows$kind %in% "knob-1")))$rows
  expect_gt(got$tasks_low, got$ci_high)
  expect_equal(got$outcome, "undecided")
  expect_match(got$reason, "^by what tasks take .* it changes by [+]1[.].*, and all of the time together")
})

test_that("bursts on several CPUs of a node at once hold the loop up once, and nodes are averaged", {
  bursts <- data.frame(row = c(1, 1, 1, 2), host = c("a", "a", "b", "a"), task = "t",
                       start_ns = c(0, 5, 0, 100), duration_ns = c(10, 10, 4, 10))
  expect_equal(taken_share(bursts, c(100, 100), c(2, 2)), c(0.12, 0.05))
  expect_equal(taken_share(bursts, c(100, 100), c(2, 2), once = TRUE), c(0.095, 0.05))
  expect_equal(taken_share(bursts[0, ], c(100, 100), c(1, NA)), c(0, NA))
})

# Blocks 70 % slower from one on to the next one of `at`, and `odd`: single ones, so much slower.
with_speeds <- function(campaign, at, odd = integer(), slower = 40) {
  n <- nrow(campaign$rows)
  change <- 70 * (findInterval(seq_len(n), at) %% 2) + slower * (seq_len(n) %in% odd)
  campaign$rows$wall_ns <- campaign$rows$wall_ns * exp(change / 100)
  if (!is.null(campaign$rows$detour_ns)) {
    campaign$rows$detour_ns <- campaign$rows$detour_ns * exp(change / 100)
  }
  campaign
}

test_that(paste0("where the machine's speed jumps, sets across a jump count nowhere, and those in which ",
                 "it is steady have their say"), {
  # 200 sets of three blocks: jumps in the sets 34, 67 and 150, most of whose blocks have the new speed, so
  # the sets before them have unlike neighbours, too; single slow blocks in twenty others
  odd <- seq(10, 570, 30)
  jumpy <- with_speeds(setting_campaign(0.4, sets = 200, detours = 1, seed = 3), c(101, 200, 449), odd)
  rows <- as.data.frame(jumpy$rows)
  states <- set_states(rows, log(rows$wall_ns), log(undisturbed_ns(rows)))
  across <- c(33, 34, 66, 67, 149, 150)
  expect_equal(unique(rows$pair[states$stepped]), across)
  expect_equal(unique(rows$pair[!states$steady]), sort(unique(c(across, (odd + 2) %/% 3))))
  got <- compare_settings(jumpy, margin = 0.2)
  expect_equal(c(got$rows$outcome, got$rows$by), c("slower", "steady"))
  expect_equal(c(got$rows$sets, got$rows$stepped_sets, got$rows$steady_sets), c(200, 6, 176))
  expect_true(got$rows$steady_low < 0.4 && 0.4 < got$rows$steady_high)
  expect_match(setting_sentences(got)[1],
               paste0("0[.][0-9]+ % slower \\(0[.][0-9]+ to 0[.][0-9]+\\) in 176 of 200 sets of blocks, ",
                      "those in which the machine kept its speed; in all of them the change is .* does not ",
                      "decide"))
  expect_match(got$notes, "of 200 sets of blocks up to 6 are left out, .* up to 18 are in no part",
               all = FALSE)
  expect_lte(max(nchar(part_lines(setting_part(got)))), 110)
  # which sets they are does not depend on the arms: any order of these within sets says the same
  set.seed(1)
  at <- unlist(lapply(split(seq_len(nrow(rows)), rows$pair), function(i) i[sample(3)]))
  mixed <- rows
  mixed[c("wall_ns", "detour_ns")] <- rows[at, c("wall_ns", "detour_ns")]
  again <- set_states(mixed, log(mixed$wall_ns), log(undisturbed_ns(mixed)))
  expect_equal(again$steady, states$steady)
  expect_equal(again$stepped, states$stepped)
  # slow blocks that come with a value now and then: no part of the sets says that nothing changed
  now_and_then <- setting_campaign(0, sets = 200, detours = 1, seed = 4)
  mine <- which(now_and_then$rows$kind %in% "knob-1")
  now_and_then <- with_speeds(now_and_then, integer(), mine[seq(5, 200, 20)], slower = 10)
  now_and_then <- compare_settings(now_and_then, margin = 0.2)$rows
  expect_true(now_and_then$outcome %in% c("slower", "undecided"))
  expect_true(-0.2 < now_and_then$steady_low && now_and_then$steady_high < 0.2)
  # a machine that jumps all the time has no speed that it keeps
  wild <- with_speeds(setting_campaign(0, sets = 60, detours = 1), seq(2, 180, 4))
  expect_false(any(set_states(as.data.frame(wild$rows), log(wild$rows$wall_ns),
                              log(undisturbed_ns(wild$rows)))$stepped))
  # one that keeps it has no sets to leave out
  calm <- compare_settings(setting_campaign(0.4, sets = 100, detours = 1))$rows
  expect_equal(c(calm$stepped_sets, calm$steady_sets), c(0, 100))
  expect_true(is.na(calm$steady_percent))
})

test_that("with five launches the launch is the unit, and comparisons are counted together", {
  over <- compare_settings(setting_campaign(1, sets = 20, launches = 5))
  expect_equal(over$rows$unit_of_inference, "launch")
  expect_equal(over$rows$n, 5)
  expect_equal(over$rows$outcome, "slower")
  rows <- data.frame(estimate = rep(0.5, 2), ci_low = 0.1, ci_high = 0.9, p_two_sided = c(0.015, 0.5),
                     p_holm = c(0.03, 0.5), writing_percent = 0.1, settling_percent = NA,
                     settling_p = NA_real_, se = 0.002, reason = NA_character_,
                     undisturbed_percent = NA_real_, undisturbed_low = NA_real_, undisturbed_high = NA_real_,
                     undisturbed_p = NA_real_, undisturbed_p_holm = NA_real_, undisturbed_se = NA_real_,
                     undisturbed_writing_percent = Inf, rewritten_percent = 0.5, rewritten_low = 0.1,
                     rewritten_high = 0.9, rewritten_p = c(0.015, 0.5), rewritten_se = 0.002,
                     undisturbed_rewritten_percent = NA_real_, undisturbed_rewritten_low = NA_real_,
                     undisturbed_rewritten_high = NA_real_, undisturbed_rewritten_p = NA_real_,
                     undisturbed_rewritten_se = NA_real_)
  judged <- judge_settings(rows, NULL, list(alpha = 0.01, power = 0.95), 60)
  expect_equal(judged$outcome, rep("undecided", 2))
  expect_match(judged$reason[1], "not with all comparisons counted together")
})

test_that(paste0("combinations are named by what differs, what was left changed is told, and other ",
                 "campaigns are refused"), {
  told <- list(
    settings = list(list(key = "a", values = list("1", "0")), list(key = "b", values = list("x", "y"))),
    arms = list(list(kind = "b-y", values = list("1", "y")), list(kind = "a-0_b-y", values = list("0", "y")))
  )
  expect_equal(unname(arm_labels(told)), c("b y instead of x", "a 0 instead of 1 and b y instead of x"))
  campaign <- setting_campaign(1, sets = 10)
  campaign$launches[[1]]$agents[[1]]$settings[[1]]$left <- "0"
  expect_match(compare_settings(campaign)$notes, "/proc/sys/kernel/knob on n1 was '1' and is '0' now",
               fixed = TRUE, all = FALSE)
  expect_match(setting_view(compare_settings(campaign), "c")$warnings, "is '0' now", fixed = TRUE)
  # a busy machine is known on the first screen, too, not in the report alone
  campaign$rows$preempted_ns_sum <- 0.5 * campaign$rows$wall_ns * campaign$rows$ranks
  expect_match(setting_view(compare_settings(campaign), "c")$warnings, "the machine was busy", all = FALSE)
  campaign$launches[[1]]$options$settings <- NULL
  expect_error(compare_settings(campaign), "compares settings", class = "nl_error_data")
})

test_that("boots are compared by the exact test, and fewer than it takes are refused with their number", {
  expect_equal(boots_needed(0.01), 5)
  expect_equal(smallest_p(5, 5), 1 / 252)
  expect_gt(smallest_p(4, 4), 0.01)
  rows <- data.frame(name = rep(c("a", "b"), each = 5), operation = "barrier", bytes = 0, ranks = 2,
                     x = c(1:5, 11:15) / 100)
  got <- boot_row(rows, c("a", "b"), NULL, 0.01)
  expect_equal(got$estimate, 100 * expm1(0.1))
  expect_equal(got$p_two_sided, 2 / 252)
  # a row of a boot has no parts
  boots <- cbind(got, outcome = c("slower"))
  expect_equal(c(setting_answer(boots, 5), setting_answer(boots, 20)), c("fail", "pass"))
  # of 25 differences the ends are the second and the last but one: 2 of 252 orders are beyond each
  expect_equal(c(got$ci_low, got$ci_high), 100 * expm1(c(0.07, 0.13)))
  # three operations and sizes: 1/462 is at most 0.01/3; beside 9 boots 3 are enough, 1/220
  expect_equal(c(boots_needed(0.01, 3), boots_needed(0.01, beside = 9), boots_needed(0.01, beside = 1)),
               c(6, 3, 99))
  expect_true(is.na(boots_needed(0.01, beside = 0)))
  few <- list(rows = NULL, names = c("a", "b"), boots = c(a = 2, b = 1), needed = 5, alpha = 0.01,
              comparisons = 1, beside = c(a = 13, b = 99))
  expect_match(boot_sentences(few),
               "There are boots: 2 of a and 1 of b. The exact two-sided test at 98 % takes 5 of each")
  few$comparisons <- 3
  few$needed <- 6
  few$boots[["a"]] <- 20
  few$beside[["a"]] <- boots_needed(0.01, 3, 20)
  expect_match(boot_sentences(few), "takes 6 of each for 3 operations and sizes, or 3 beside the 20 of a, so")
  told <- list(rows = cbind(got, outcome = "slower"), names = c("a", "b"), boots = c(a = 5, b = 5),
               needed = 5, alpha = 0.01)
  expect_match(
    boot_sentences(told),
    "^b instead of a, barrier: slower, [+]10[.]5 % .*boots: 5 of a and 5 of b, p = 0.0079, both sides[.]$"
  )
  expect_error(boot_rows("campaign"), "is no launch of noiselab run setting --between-boots",
               class = "nl_error_data")
})

test_that("what the kernel counts more of with a value, or with the reference, is named beside the change", {
  campaign <- setting_campaign(c(0.5, 0), sets = 60)
  rows <- as.data.frame(campaign$rows)
  campaign$counters <- data.frame(rows[c("launch", "operation", "bytes", "pair", "order", "arm", "kind",
                                         "level_requested_percent")], host = "n1", span_ns = 1e8)
  # 200 function calls in a block with the first value, and 300 shootdowns with all but the second
  set.seed(3)
  campaign$counters$irq_tlb <- stats::rpois(nrow(rows), ifelse(rows$kind %in% "knob-2", 2, 300))
  campaign$counters$irq_call <- campaign$counters$irq_tlb +
    stats::rpois(nrow(rows), ifelse(rows$kind %in% "knob-1", 200, 1))
  result <- compare_settings(campaign)
  named <- result$mechanisms[result$mechanisms$named, c("label", "more_with", "counter")]
  expect_equal(named, data.frame(label = c("kernel.knob 1 instead of 0", "kernel.knob 0 instead of 2"),
                                 more_with = c("arm", "reference"),
                                 counter = c("function_calls", "tlb_shootdowns")),
               ignore_attr = TRUE)
  said <- setting_sentences(result)
  expect_match(said, "^With kernel.knob 1 instead of 0 come [12],[0-9]{3} function-call interrupts a second",
               all = FALSE)
  expect_match(said, "^With kernel.knob 0 instead of 2 come [23],[0-9]{3} TLB shootdowns a second",
               all = FALSE)
  expect_length(setting_mechanism_parts(result), 4)
  expect_null(compare_settings(setting_campaign(0))$mechanisms)
})
