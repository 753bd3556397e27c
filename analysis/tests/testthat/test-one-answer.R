# Whatever prints an answer prints the same one: what stands on the first screen stands in the JSON and in
# the report.

test_that("of a load: found, undecided on a busy machine, and several operations", {
  coarse_walks()
  expect_one_answer(NULL, local_campaign(pairs = 20, levels_percent = c(0, 5), slowdown_percent = 5))
  expect_one_answer(
    NULL, local_campaign(pairs = 6, levels_percent = 1, slowdown_percent = 0, base_sd = 0.5, seed = 2)
  )
  expect_one_answer(
    NULL,
    local_campaign(pairs = 12, levels_percent = c(0, 0.3, 1),
                   operations = c("barrier", "allreduce", "alltoall"), launches = 2, seed = 3)
  )
})

test_that("of an agent: through its bursts, not found, and beside other work", {
  coarse_walks()
  add <- function(burst_us, ..., env = parent.frame()) {
    dir <- local_folder(env)
    simulate_agent_campaign(dir, pairs = 12, operations = "barrier", bytes = 0,
                            agent_burst_ns = 1e3 * burst_us, ...)
    add_agent_slices(dir, burst_us)
    dir
  }
  found <- add(500, slowdown_percent = 0.5, seed = 3)
  expect_one_answer("agent", found)
  # the main row has the figure and the verdict of the first sentence
  got <- json_of("agent", found)
  main <- got$estimates[got$estimates$main %in% TRUE & got$estimates$quantity == "slowdown_percent", ]
  expect_identical(main$verdict, "detected")
  expect_match(got$first_screen[1],
               paste("slows barrier by", percent_words(main$value, main$ci_low, main$ci_high)), fixed = TRUE)
  expect_one_answer("agent", add(500, slowdown_percent = 0.5, base_sd = 0.5, seed = 4))
  expect_one_answer("agent", local_agent(pairs = 10, slowdown_percent = 0, seed = 5))
})

test_that("of acceptance: healthy, a slow node, and wrong data", {
  coarse_walks()
  expect_one_answer("acceptance", local_acceptance(seed = 1))
  expect_one_answer("acceptance", local_acceptance(slow_node = 2, seed = 2))
})

test_that("of a margin on many nodes, which leads, of an agent and of nodes", {
  coarse_walks()
  dir <- local_folder()
  simulate_agent_campaign(dir, pairs = 12, operations = "barrier", bytes = 0, agent_burst_ns = 5e5,
                          slowdown_percent = 0.5, seed = 3)
  add_agent_slices(dir, 500)
  asked <- "1%:nodes=1000,every=1ms"
  expect_one_answer("agent", planned_as(dir, "agent", "agent", asked))
  said <- status_of("noiselab-analyze", "agent", "--json", dir)$out
  said <- jsonlite::fromJSON(paste(said, collapse = "\n"))
  expect_equal(said$margin_words, margin_request(asked)$words)
  expect_match(said$first_screen[2], paste0("^Margin of ", said$margin_words))
  expect_one_answer("acceptance", planned_as(local_acceptance(seed = 1), "acceptance", margin = asked))
})

test_that("of experiments with an analysis of their own, whose report answers the same question", {
  coarse_walks()
  dir <- local_campaign(pairs = 40, launches = 3, levels_percent = c(0, 2))
  expect_one_answer("stability", planned_as(dir, "stability"))
  starts <- local_starts(pairs = 2, launches = 3, arms = "off", design = "single", base_sd = 0.05)
  expect_one_answer("reproducibility", planned_as(starts, "reproducibility"))
  # without synchronised starts, too, and the title is the experiment's question
  loops <- planned_as(local_campaign(pairs = 4, launches = 3, levels_percent = 0, arms = "off",
                                     design = "single"), "reproducibility")
  expect_one_answer("reproducibility", loops)
  expect_match(report_title(list(own = own_answer(clean_analysis(read_campaign(loops, arms = "any"), 0.01)))),
               "repeat from launch to launch")
  # what too few launches cannot answer leaves the report that there is
  few <- planned_as(local_starts(pairs = 2, launches = 1, arms = "off", design = "single"), "reproducibility")
  file <- file.path(local_folder(), "r.html")
  expect_equal(status_of("noiselab-report", few, "--out", file)$status, 0L)
  expect_match(answer_box(file), "synchronised starts were made")
})

test_that("of a projection, on its page", {
  coarse_walks()
  words <- c("--burst", "1ms", "--period", "100ms", "--margin", "1%:nodes=10,every=1ms")
  expect_one_answer(words, character(), report = FALSE, program = "noiselab-project")
  file <- file.path(local_folder(), "p.html")
  expect_equal(status_of("noiselab-project", words, "--out", file)$status, 1L)
  said <- jsonlite::fromJSON(paste(status_of("noiselab-project", words, "--json")$out, collapse = "\n"))
  for (sentence in said$first_screen) expect_match(answer_box(file), squashed(sentence), fixed = TRUE)
})

test_that("of several agents: the margin is the next sentence, and names the agent that decides it", {
  dir <- local_folder()
  for (name in c("collectd", "telegraf")) {
    simulate_agent_campaign(dir, name = name, pairs = 12, operations = "barrier", bytes = 0,
                            agent_burst_ns = 5e5, slowdown_percent = 0.5, prefix = substr(name, 1, 1),
                            seed = nchar(name))
  }
  add_agent_slices(dir, 500)
  expect_one_answer("agent", planned_as(dir, "agent", "agent", "0.01"))
  got <- json_of("agent", dir)
  expect_length(got$agents$agent, 2)
  expect_match(got$first_screen[2], paste0("^Margin of 0.01 %: ", got$margin_answer, ", "))
  expect_match(got$first_screen[2], "collectd|telegraf")
})

test_that("of a sweep: the step that decides has the bound of its row, and no row has another", {
  dir <- local_folder()
  for (i in 1:2) {
    do.call(
      simulate_campaign,
      c(quiet, list(dir, external = "agent", slowdown_percent = c(3, 0.01)[i], launches = 2, pairs = 15,
                    prefix = c("often", "seldom")[i], seed = i))
    )
  }
  for (file in list.files(dir, "launch.json", recursive = TRUE, full.names = TRUE)) {
    edit_json(file, function(info) {
      info$options$agent_interval_ns <- if (grepl("/often-", file)) 1e8 else 1e10
      info
    })
  }
  expect_one_answer("intervals", planned_as(dir, "agent", "intervals", "1"))
  got <- json_of("intervals", dir)
  expect_match(got$first_screen, "sampling every 10 s or less often keeps .* at 100 ms it is above")
  expect_identical(got$rows$margin_verdict, c("below", "above"))
})
