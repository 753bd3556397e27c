# Does one demo end with an answer? First line: holds, or misses and what. Then what each operation showed. $took: s; $halves: how disturbed it was.
[.verdicts[] | select(.main and .level_requested_percent > 0)] as $rows |
($rows | map(.operation) | unique) as $operations |
def of($channel; $operation): [$rows[] | select(.channel == $channel and .operation == $operation)];
def levels($word): map(select(.verdict == $word) | .level_requested_percent);
[$operations[] | {
  operation: ., time: of("time"; .), preempted: of("preempted"; .)
}] as $cells |
[
  if $took > 180 then "took \($took) s" else empty end,
  ($cells[] | select(.time | any(.level_requested_percent == 1 and .verdict == "detected") | not) | "1 % not detected by time on \(.operation)"),
  if $cells | any((.time | levels("detected") | length >= 2) and (.time | levels("not detected") | length >= 1)) then empty
  else "no operation with two levels detected by time and one not detected" end,
  ($cells[] | select(.preempted | any(.level_requested_percent <= 0.1 and .verdict == "detected") | not) | "nothing up to 0.1 % detected by preempted on \(.operation)")
] as $lacking |
(if $lacking == [] then "holds" else "misses: " + ($lacking | join("; ")) end) + " (\($took) s; \($halves))",
($cells[] | "  \(.operation): time " + (.time | sort_by(.level_requested_percent) | map("\(.level_requested_percent) % \(.verdict) p \(.p_one_sided) limit \(.detection_limit)") | join(", ")) +
  "; preempted detected at " + (.preempted | levels("detected") | sort | map(tostring + " %") | join(", ")))
