# replayed.R TRACE RECORDED CPU: how a replay that was recorded from outside differs from its trace. Prints
# "name value".
argument <- commandArgs(TRUE)
trace <- read.table(argument[1], comment.char = "#")
seen <- read.table(argument[2], comment.char = "#")
seen <- seen[seen$V3 == as.integer(argument[3]), ]
begin <- trace$V1 - trace$V1[1]
# the recording also holds the program's start: the offset that fits most of the first bursts
nearest <- function(at) {
  i <- pmax(1, pmin(nrow(seen), findInterval(at, seen$V1)))
  j <- pmin(nrow(seen), i + 1)
  ifelse(abs(seen$V1[i] - at) <= abs(seen$V1[j] - at), i, j)
}
first <- head(begin, 300)
offsets <- as.vector(outer(head(seen$V1, 30), head(begin, 3), "-"))
offset <- offsets[which.max(sapply(offsets, function(o) {
  sum(abs(seen$V1[nearest(first + o)] - first - o) < 3e5)
}))]
match <- nearest(begin + offset)
late <- seen$V1[match] - begin - offset
ok <- abs(late) < 5e5
late <- late[ok] - median(late[ok])
off <- abs(seen$V2[match] - trace$V2) / pmax(2000, 0.01 * trace$V2)
total <- sum(seen$V2[match[ok]]) / sum(trace$V2[ok])
cat(
  sprintf("%s %.4g\n", c("seen", "start", "duration", "total"),
          c(mean(ok), median(abs(late)) / 1000, median(off[ok]), 100 * abs(total - 1))),
  sep = ""
)
