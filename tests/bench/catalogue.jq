# catalogue.jq: the values of a row of docs/evidence/agents.csv, one a line, "" where there is none, from
# the analysis of one
# campaign (catalogue.sh): $answers, $agents, $activities, $behalf, $project, $own.
def digits:
    if type != "number" or . == 0 then . else
        . as $x | ($x | fabs | log10 | floor) as $e | pow(10; 3 - $e) as $f | ($x * $f | round) / $f
    end;
def median:
    sort | length as $n
    | if $n == 0 then null elif $n % 2 == 1 then .[($n - 1) / 2] else (.[$n / 2 - 1] + .[$n / 2]) / 2 end;
def in_seconds: if . == null then null else . / 1e9 end;
# of one size at scale: the middle and both ends
def scale($every):
    ($project[0].projections // [] | map(select(.every_ns == $every and .phase == "independent")) | .[0])
    | [.slowdown_percent, .ci_low, .ci_high];

($answers[0][0] // {}) as $answer
| ($agents[0][0] // {}) as $agent
| ($activities[0] // []) as $bursts
| [
    $agent.cpu_percent,
    ($bursts | map(.length_us) | median),
    ($project[0].period_ns | in_seconds),
    ($bursts | map(.cpu) | unique | map(tostring) | join(" ")),
    $answer.value, $answer.low, $answer.high, $answer.lead, $answer.outcome,
    $answer.beyond, $answer.beyond_most,
    $own[0].memory_mib, $own[0].wakeups_per_s,
    ($behalf[0] // [] | map(.task // empty) | unique | join(" ")),
    $answer.scraper_percent,
    scale(1000000)[], scale(10000000)[],
    ($project[0].shortest_period_ns | in_seconds)
]
| .[] | digits | if . == null then "" else tostring | gsub(","; ";") end
