# Parts of the package that are others until a test ends (whose own on.exit() has add = TRUE, or they stay).

# `value` instead of what the package has by that name, until `env` ends.
replaced <- function(name, value, env = parent.frame()) {
  force(value)
  usual <- getFromNamespace(name, "noiselab")
  utils::assignInNamespace(name, value, "noiselab")
  withr::defer(utils::assignInNamespace(name, usual, "noiselab"), envir = env)
}

# What a projection and a walk give follows from their arguments and `project_walk` alone, as a test of
# test-project-walk.R holds: until `env` ends each is computed once, for all tests of this process. So the
# screen, the JSON and the report of a campaign still ask for what they show, and pay for it once.
remembered_projections <- function(env = parent.frame()) {
  for (name in c("project_cell", "walk_halves")) {
    usual <- getFromNamespace(name, "noiselab")
    if (is.null(attr(usual, "remembers"))) replaced(name, remembering(usual, name), env)
  }
}

known_projections <- new.env()

remembering <- function(f, name) {
  force(f)
  structure(function(...) {
    key <- rlang::hash(list(name, getFromNamespace("project_walk", "noiselab"), ...))
    if (is.null(known_projections[[key]])) known_projections[[key]] <- f(...)
    known_projections[[key]]
  }, remembers = name)
}

# Reports whose words are read have an empty drawing for each plot, until `env` ends.
empty_pictures <- function(env = parent.frame()) {
  replaced("write_picture", function(drawn, plots_dir, name, size, n_marks) {
    list(form = "svg", width = size[1], height = size[2],
         data = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 1 1'></svg>")
  }, env)
}
