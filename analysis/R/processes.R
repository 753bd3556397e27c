# Work that falls into independent parts, shared by two processes (mc.cores: the option of the package parallel).

# f of each item. What a process could not deliver, because it was killed, this one does; the first error of any part
# is signalled as if it had happened here.
in_processes <- function(items, f) {
  one <- function(item) list(value = tryCatch(f(item), error = identity))
  cores <- if (.Platform$OS.type == "windows") 1 else getOption("mc.cores", 2L)
  done <- suppressWarnings(parallel::mclapply(items, one, mc.cores = cores, mc.set.seed = FALSE))
  lost <- !vapply(done, is.list, TRUE)
  done[lost] <- lapply(items[lost], one)
  got <- lapply(done, `[[`, "value")
  failed <- Filter(function(value) inherits(value, "error"), got)
  if (length(failed) > 0) stop(failed[[1]])
  got
}
