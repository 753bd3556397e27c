#!/usr/bin/env bats
# The way of the metrics: noiselab top writes, node_exporter reads, Prometheus scrapes, and a query says what
# the generator does. And the dashboard and the unit of systemd that the guide hands out.

load ../helpers

setup_file() {
    export BUILD="$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}" WORK="$BATS_FILE_TMPDIR"
    export PATH="$BUILD/bin:$PATH"
    local needed
    allowed_cpus
    for needed in prometheus promtool prometheus-node-exporter curl jq; do
        command -v "$needed" >/dev/null || { leave_out "$needed is not installed (tests/deps.sh agents)" &&
            return; }
    done
    cd "$WORK" || return
    # ports that nobody has: of this process
    local exporter=$((20000 + $$ % 10000)) server=$((30000 + $$ % 10000))
    mkdir text data
    cp "$BUILD/bin/noiselab-gen" "nlg$$" && echo "nlg$$" >name
    "./nlg$$" --level 4 --period 100ms --on "cpu:$first_cpu" --duration 34s --json >certificate 2>/dev/null \
        3>&- &
    local generator=$!
    noiselab-top --openmetrics text/noiselab.prom --interval 2s 3>&- 2>top.log &
    local top=$!
    prometheus-node-exporter --collector.disable-defaults --collector.textfile \
        --collector.textfile.directory="$WORK/text" \
        --web.listen-address="127.0.0.1:$exporter" 3>&- 2>exporter.log &
    local agents="$top $!"
    cat >prometheus.yml <<END
global: {scrape_interval: 1s}
scrape_configs:
  - job_name: node
    static_configs: [{targets: ['127.0.0.1:$exporter']}]
END
    prometheus --config.file=prometheus.yml --storage.tsdb.path=data \
        --web.listen-address="127.0.0.1:$server" 3>&- >prometheus.log 2>&1 &
    agents="$agents $!"
    echo "$server" >port
    wait_until 20 curl -sf "http://127.0.0.1:$server/-/ready" >ready || true
    sleep 24
    query "avg_over_time(noiselab_task_cpu_ratio{task=\"nlg$$\"}[16s])" >level
    query 'noiselab_top_own_cpu_ratio' >own
    query 'count(noiselab_cpu_lost_ratio)' >cpus
    query 'node_textfile_scrape_error' >error
    cp text/noiselab.prom seen.prom
    wait "$generator" || true
    # shellcheck disable=SC2086 # a list
    kill $agents
    wait || true
    FILE_DISTURBANCE=$(disturbance)
    export FILE_DISTURBANCE
}

setup() {
    left_out_or_go
    cd "$WORK" || return
}

# query TEXT: the value that Prometheus answers with
query() {
    curl -sfG "http://127.0.0.1:$(cat port)/api/v1/query" --data-urlencode "query=$1" |
        jq -r '.data.result[0].value[1]'
}

level_is_right() {
    awk -v level="$(cat level)" -v wanted="$(jq .level_delivered_percent certificate)" \
        'BEGIN { print level, wanted; exit !(100 * level > wanted * 0.95 && 100 * level < wanted * 1.05) }'
}

@test "Prometheus answers with the generator's level, as node_exporter read it from the file" {
    [ "$(cat error)" = 0 ]
    [ "$(cat cpus)" = "$(nproc --all)" ]
    awk '{ exit !($1 > 0 && $1 < 0.05) }' own
    judge level_is_right
    # and nothing stays when it ends
    [ -z "$(ls text)" ]
}

@test "promtool finds nothing in the metrics" {
    promtool check metrics <seen.prom 2>&1 | tee said
    [ ! -s said ]
}

dashboard() { echo "$BATS_TEST_DIRNAME/../../docs/sample/noiselab-live.json"; }

@test "Prometheus understands every query of the dashboard, and each reads metrics that there are" {
    {
        printf 'groups:\n- name: dashboard\n  rules:\n'
        jq -r '.panels[].targets[].expr' "$(dashboard)" | sed 's/\$node/.*/' |
            awk '{ gsub(/\x27/, "\x27\x27"); printf "  - record: panel:%d\n    expr: \x27%s\x27\n", NR, $0 }'
    } >rules.yml
    promtool check rules rules.yml
    jq -r '.panels[].targets[].expr, .templating.list[].query' "$(dashboard)" | grep -oE 'noiselab_[a-z_]+' |
        sort -u >read
    [ -s read ]
    while read -r metric; do
        grep -q "^# TYPE $metric gauge" seen.prom || { echo "$metric"; false; }
    done <read
}
