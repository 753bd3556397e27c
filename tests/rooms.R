# Rscript rooms.R GUIDE FOLDER: whom the R files of FOLDER call, held against the table of GUIDE with rows
# "| `room` | `rooms below` | ... |": names of its own room, of one above it, or of one below that its row
# names; and functions that exist. The first word of a file's name is its room; none has more than 12 files.
# Prints what is not so. A name that a function has as a variable of its own is none of ours.
args <- commandArgs(TRUE)
most_files <- 12
guide <- sub(".*### Rooms of the analysis\n", "", paste(readLines(args[1]), collapse = "\n"))
rows <- regmatches(guide,
                   gregexpr("(?m)^\\| `[a-z]+` \\|[^|]*\\|", sub("\n##.*", "", guide), perl = TRUE))[[1]]
rooms <- lapply(strsplit(gsub("`", "", rows), " *\\| *"), function(cell) {
  list(name = cell[2], below = strsplit(c(cell, "")[3], " ")[[1]])
})
room_names <- vapply(rooms, `[[`, "", "name")
place_of <- function(file) {
  at <- match(sub("-.*", "", file), room_names)
  if (is.na(at)) cat(sprintf("%s.R: the first word of its name is no room of the table\n", file))
  at
}

names_in <- function(code) {
  used <- own <- character()
  walk <- function(x) {
    if (is.name(x)) used <<- c(used, as.character(x))
    if (is.pairlist(x)) own <<- c(own, names(x))
    if (is.call(x) && as.character(x[[1]])[1] %in% c("::", "$")) return(if (x[[1]] == "$") walk(x[[2]]))
    if (is.call(x) && is.name(x[[1]])) used <<- c(used, paste0(as.character(x[[1]]), "()"))
    if (is.call(x) && as.character(x[[1]])[1] %in% c("<-", "for") && is.name(x[[2]])) {
      own <<- c(own, as.character(x[[2]]))
    }
    parts <- if (is.call(x) && is.name(x[[1]])) {
      as.list(x)[-1]
    } else if (is.call(x) || is.pairlist(x)) {
      as.list(x)
    }
    for (i in seq_along(parts)) if (!identical(parts[[i]], quote(expr = ))) walk(parts[[i]])
  }
  walk(code)
  called <- sub("()", "", grep("()", used, fixed = TRUE, value = TRUE), fixed = TRUE)
  list(names = unique(c(setdiff(used, own), called)), unknown = setdiff(called, c(own, there)))
}

place <- list()
calls <- list()
for (path in list.files(args[2], "[.]R$", full.names = TRUE)) {
  file <- sub("[.]R$", "", basename(path))
  here <- place_of(file)
  for (code in as.list(parse(path))) if (is.call(code) && code[[1]] == "<-" && is.name(code[[2]])) {
    name <- as.character(code[[2]])
    place[[name]] <- here
    calls[[name]] <- list(file = file, place = here, code = code[[3]])
  }
}
there <- c(names(place), ls(baseenv(), all.names = TRUE))
with <- list()
for (name in names(calls)) {
  one <- calls[[name]]
  used <- names_in(one$code)
  for (called in intersect(used$names, names(place))) if (isTRUE(place[[called]] > one$place)) {
    below <- room_names[place[[called]]]
    with[[room_names[one$place]]] <- c(with[[room_names[one$place]]], below)
    if (below %in% rooms[[one$place]]$below) next
    cat(sprintf("%s.R: %s() uses %s of %s, a room below\n", one$file, name, called, below))
  }
  cat(sprintf("%s.R: %s() calls %s(), which is not there\n", one$file, name, used$unknown), sep = "")
}
for (room in rooms) {
  cat(
    sprintf("room %s: its row names %s, which it does not use\n", room$name,
            setdiff(room$below, with[[room$name]])),
    sep = ""
  )
}
n_files <- table(sub("[-.].*", "", list.files(args[2], "[.]R$")))
cat(
  sprintf("room %s has %d files, more than %d\n", names(n_files), n_files, most_files)[n_files > most_files],
  sep = ""
)
if (length(rooms) < 5) cat("the table of rooms is not found\n")
