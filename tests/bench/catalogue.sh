#!/bin/bash
# catalogue.sh NAME[@SECONDS]...: rows of docs/evidence/agents.csv: what these agents cost on this machine.
#   Each is measured for 60 s (LENGTH) by noiselab run agent, at its default interval or at the one after @
#   (collectd@1), with nothing else to do on the machine. As root. slurm_accounting makes a cluster of two
#   nodes on this machine for it (tests/cluster), and compares launches with and without.
# catalogue.sh --measure NAME...: only measures; campaigns stay in build/catalogue.
# catalogue.sh --rows: a row of each campaign there that has none.
# catalogue.sh --list: the names, their default intervals and installed versions.
# placebo is measured first: without a row of it of this machine, of at most a day before, that was not found,
# no other row is written. MACHINE names the machine in the rows (default: its processor and kernel). The
# archive of a campaign, build/catalogue/*.tar.xz, is to be kept: its row has the checksum. `make catalogue`
# makes docs/agents.md of the rows.

# shellcheck disable=SC2317 # agents are functions that are called by their names
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$PWD/${NOISELAB_BUILD:-build}
kept=$build/catalogue
# shellcheck source=tests/evidence-row.sh
. tests/evidence-row.sh
NOISELAB_EVIDENCE=${NOISELAB_EVIDENCE:-docs/evidence}
export PATH="$build/bin:/usr/sbin:$PATH" LC_ALL=C.UTF-8
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
columns=agent,version_of_agent,configuration,interval_s,is_default
columns=$columns,cpu_percent,burst_us,period_s,cpus,slowdown_percent,slowdown_low,slowdown_high,by,outcome
columns=$columns,beyond_percent,beyond_below_percent,memory_mib,wakeups_per_s,behalf,asker_percent
columns=$columns,scale_1ms_percent,scale_1ms_low,scale_1ms_high
columns=$columns,scale_10ms_percent,scale_10ms_low,scale_10ms_high
columns=$columns,quietest_s,seconds,cpus_of_machine,machine,campaign
head='tests/bench/catalogue.sh NAME: what an agent costs; empty: not known, or not bounded'

# ---- agents: a function each, which says how it is started, in $folder, at interval $every (empty: its
# default) ----

# agent PACKAGE DEFAULT_SECONDS CONFIGURATION
agent() {
    # shellcheck disable=SC2016 # of dpkg
    version=$(dpkg-query -W -f '${Version}' "$1" 2>/dev/null)
    default=$2 configuration=$3 every=${every:-$2} asked=()
}

# asks PORT: the scraper is what stdin says, with a connection to that port of this machine at each `connect`
asks() {
    { printf '#!/bin/bash\nconnect() { exec 3<>/dev/tcp/127.0.0.1/%s; }\n' "$1" && cat; } >"$folder/ask"
    chmod 755 "$folder/ask"
    asked=(--scrape "$folder/ask")
}

placebo() { agent coreutils 1 'sleep: it does nothing' && way=(--agent-cmd 'sleep 1000000'); }
collectd() {
    agent collectd-core 10 'cpu memory load interface csv'
    sed "s|^Interval .*|Interval $every|; s|\"collectd|\"$folder/collectd|
        s|^BaseDir .*|BaseDir \"$folder\"|" \
        docs/sample/collectd.conf >"$folder/collectd.conf"
    way=(--agent-cmd "/usr/sbin/collectd -f -C $folder/collectd.conf")
}
node_exporter() {
    agent prometheus-node-exporter 15 'default collectors; asked by curl'
    way=(--agent-cmd 'prometheus-node-exporter --web.listen-address=127.0.0.1:19100 --log.level=error')
    asked=(--scrape 'curl -s -o /dev/null http://127.0.0.1:19100/metrics')
}
node_exporter_more() {
    node_exporter
    configuration='also cpufreq processes systemd; asked by curl'
    way[1]="${way[1]} --collector.cpufreq --collector.processes --collector.systemd"
}
netdata() {
    agent netdata-core 1 'as installed; no cloud'
    mkdir -p "$folder/cache" "$folder/lib" "$folder/log"
    cat >"$folder/netdata.conf" <<END
[global]
    run as user = root
    update every = $every
[db]
    update every = $every
[directories]
    cache = $folder/cache
    lib = $folder/lib
    log = $folder/log
[web]
    bind to = 127.0.0.1:19998
[cloud]
    enabled = no
END
    way=(--agent-cmd "env DO_NOT_TRACK=1 netdata -D -c $folder/netdata.conf")
}
sadc() {
    agent sysstat 600 'all activities'
    way=(--agent-cmd "/usr/lib/sysstat/sadc $every 100000 $folder/sadc.data")
}
atop() { agent atop 10 'written to a file' && way=(--agent-cmd "atop -w $folder/atop.data $every"); }
top() { agent procps 3 batch && way=(--agent-cmd "env TERM=dumb top -b -d $every"); }
glances() {
    agent glances 2 'lines: cpu mem load processcount'
    way=(--agent-cmd "glances --disable-check-update --stdout cpu,mem,load,processcount -t $every")
}
gmond() {
    agent ganglia-monitor 20 'default groups (20 to 1200 s); sends to this machine'
    sed 's/daemonize = yes/daemonize = no/; s/setuid = yes/setuid = no/
        s/mcast_join = .*/host = 127.0.0.1/; /ttl = 1/d' \
        /etc/ganglia/gmond.conf |
        awk '/udp_recv_channel/ { within = 1 } within && /host =|bind =/ { next }
            /}/ { within = 0 } { print }' >"$folder/gmond.conf"
    if [ "$every" != "$default" ]; then
        configuration="all groups every $every s; sends to this machine"
        sed -i "s/\(collect_every\|time_threshold\) = [0-9]*/\1 = $every/" "$folder/gmond.conf"
    fi
    way=(--agent-cmd "gmond -f -c $folder/gmond.conf")
}
munin_node() {
    agent munin-node 300 'plugins as installed; each is asked'
    sed "s/^background .*/background 0/; s/^setsid .*/setsid 0/; s/^host .*/host 127.0.0.1/
        s/^port .*/port 14949/; s|^log_file .*|log_file $folder/log|; s|^pid_file .*|pid_file $folder/pid|" \
        /etc/munin/munin-node.conf >"$folder/munin.conf"
    # not of a pipe: what asks sets would be lost with its process
    asks 14949 < <(
        echo 'connect && cat >&3 <<END'
        find /etc/munin/plugins -mindepth 1 -printf 'fetch %f\n'
        printf 'quit\nEND\ncat <&3\n'
    )
    way=(--agent-cmd "munin-node --config $folder/munin.conf")
}
zabbix_agent() {
    agent zabbix-agent 60 'passive; asked for ten items'
    cat >"$folder/zabbix.conf" <<END
AllowRoot=1
User=root
LogFile=$folder/zabbix.log
PidFile=$folder/zabbix.pid
Server=127.0.0.1
ListenIP=127.0.0.1
ListenPort=11050
END
    asks 11050 <<'END'
for item in system.cpu.load system.cpu.util vm.memory.size system.swap.size proc.num 'net.if.in[lo]' \
    'vfs.fs.size[/]' kernel.maxproc system.uptime system.users.num; do
    connect && echo "$item" >&3 && while read -r -d '' -u 3; do :; done
done
END
    way=(--agent-cmd "zabbix_agentd -f -c $folder/zabbix.conf")
}
snmpd() {
    agent snmpd 60 'asked for the host resources'
    echo 'rocommunity public 127.0.0.1' >"$folder/snmpd.conf"
    way=(--agent-cmd "snmpd -f -Lf $folder/log -C -c $folder/snmpd.conf -p $folder/pid udp:127.0.0.1:11161")
    asked=(--scrape 'snmpbulkwalk -v2c -c public 127.0.0.1:11161 .1.3.6.1.2.1.25')
}
monit() {
    agent monit 120 'system, file system and an interface'
    (umask 077 && cat >"$folder/monitrc") <<END
set daemon $every
set log $folder/monit.log
set pidfile $folder/monit.pid
set idfile $folder/monit.id
set statefile $folder/monit.state
check system here
    if loadavg (1min) > 1000 then alert
check filesystem root with path /
    if space usage > 99% then alert
check network lo with interface lo
END
    way=(--agent-cmd "monit -I -c $folder/monitrc")
}
nrpe() {
    agent nagios-nrpe-server 300 'asked for the number of processes'
    cat >"$folder/nrpe.cfg" <<END
pid_file=$folder/pid
server_address=127.0.0.1
server_port=15666
nrpe_user=nobody
nrpe_group=nogroup
allowed_hosts=127.0.0.1
command[procs]=/usr/lib/nagios/plugins/check_procs -w 5000 -c 9000
END
    way=(--agent-cmd "nrpe -n -c $folder/nrpe.cfg -f")
    asked=(--scrape '/usr/lib/nagios/plugins/check_nrpe -n -H 127.0.0.1 -p 15666 -c procs')
}
perf_record() {
    # the kernel goes on to sample while the process is frozen: it is started and ended
    agent linux-perf 0 '-a -F 99; started and ended'
    way=(--restart --agent-cmd "perf record -a -F 99 -o $folder/perf.data")
}
likwid_perfctr() {
    agent likwid 1 'timeline of clocks'
    way=(--agent-cmd "likwid-perfctr -c 0 -g CLOCK -t ${every}s sleep 100000")
}
cadvisor() {
    agent cadvisor 1 'housekeeping of all cgroups; asked by curl'
    way=(--agent-cmd "cadvisor --listen_ip=127.0.0.1 --port=18080 --housekeeping_interval=${every}s \
--max_housekeeping_interval=${every}s --allow_dynamic_housekeeping=false --logtostderr")
    asked=(--scrape 'curl -s -o /dev/null http://127.0.0.1:18080/metrics')
}
slurm_accounting() {
    agent slurmd 30 'JobAcctGather of every process of the job; launches with and without'
    way=(--treatment "slurm-accounting:interval=$every") on_cluster=yes
}
noiselab_top() {
    agent coreutils 2 exporter
    version=$(git describe --always)
    way=(--agent-cmd "noiselab-top --openmetrics $folder/noiselab.prom --interval ${every}s")
}
names='placebo collectd node_exporter node_exporter_more netdata sadc atop top glances gmond munin_node'
names="$names zabbix_agent snmpd monit nrpe cadvisor slurm_accounting perf_record likwid_perfctr"
names="$names noiselab_top"

# ---- a campaign ----

# in_cluster COMMAND...: by the login node of a cluster of two nodes with Slurm, which is there for it alone
in_cluster() {
    local cluster=tests/cluster/cluster.sh place status
    # sockets lie in it: a short path
    place=$(mktemp -d /tmp/noiselab-catalogue.XXXXXX)
    $cluster up --nodes 2 --tag "c$$" "$place" && $cluster run "$place" "$@"
    status=$?
    $cluster down "$place"
    rm -rf "$place"
    return "$status"
}

# measure NAME[@SECONDS]: into a folder of $kept
measure() {
    local name=${1%%@*} every='' folder version default configuration way asked
    local on_cluster=no why seconds from=
    case " $names " in
    *" $name "*) ;;
    *) echo "catalogue.sh: there is no agent '$name' (--list has them)" >&2 && return 2 ;;
    esac
    case $1 in *@*) every=${1#*@} ;; esac
    folder=$kept/$name-${every:-default}-$(date -u +%Y%m%dT%H%M%SZ)
    mkdir -p "$folder" || return
    "$name"
    if [ -z "$version" ]; then
        echo "catalogue.sh: $name: its package is not installed" >&2
        rm -r "$folder"
        return 2
    fi
    if [ $on_cluster = yes ]; then
        why=$(tests/cluster/cluster.sh why-not | head -n 1)
        if [ -n "$why" ]; then
            echo "catalogue.sh: $name: no cluster here: $why" >&2
            rm -r "$folder"
            return 2
        fi
        # sets of two launches, in which the accounts are looked at five times at least
        seconds=$((every > 2 ? 5 * every : 10))
        way+=(--submit --wait --nodes 2 --time 120 --launches 6 --seconds "${seconds}s")
        from=in_cluster
    elif [ ${#asked[@]} -gt 0 ]; then
        way+=("${asked[@]}" --scrape-period "${every}s")
    elif [ "$every" != 0 ]; then way+=(--agent-period "${every}s"); fi
    if [ $on_cluster = no ]; then
        seconds=${LENGTH:-60}
        way+=(--agent-name "${name//_/-}" --launches 1 --seconds "${seconds}s")
    fi
    printf '%s\n' "$name" "$version" "$configuration" "$every" \
        "$([ "$every" = "$default" ] && echo yes || echo no)" "$seconds" >"$folder/what"
    $from noiselab run agent "${way[@]}" --op barrier --no-report --out "$folder/campaign" \
        >"$folder/answer" 2>"$folder/messages" && return 0
    echo "catalogue.sh: $1: not measured:" \
        "$(grep -v left "$folder/messages" | tail -n 2 | paste -sd ' ' -)" >&2
    touch "$folder/row" # it gets none
    return 1
}

# table NAME: of the analysis of the campaign in folder $1, as objects
table() {
    noiselab analyze agent "$1/campaign" --csv --table "$2" 2>/dev/null |
        Rscript -e 'lines <- readLines(file("stdin")); if (length(lines) > 1)
            cat(jsonlite::toJSON(utils::read.csv(text = lines, na.strings = ""), na = "null",
                                 digits = 8)) else
            cat("[]")' >"$1/$2.json"
}

# has_placebo MACHINE: of the last day, and not found
has_placebo() {
    awk -F , -v machine="$1" -v day="$(date -u -d '1 day ago' +%Y-%m-%dT%H:%M:%SZ)" '
        $1 == "agent" { for (i = 1; i <= NF; i++) at[$i] = i }
        $1 == "placebo" && $at["machine"] == machine && $NF >= day { last = $at["outcome"] }
        END { exit last == "" || last == "detected" }' "$NOISELAB_EVIDENCE/agents.csv" 2>/dev/null
}

this_machine() {
    printf '%s, %s' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" \
        "$(grep -qw hypervisor /proc/cpuinfo && echo 'virtual, ')Linux $(uname -r)"
}

# row FOLDER: the campaign's row, and its archive
row() {
    local what machine=${MACHINE:-$(this_machine)} archive=$1.tar.xz name values
    machine=${machine//,/;}
    mapfile -t what <"$1/what"
    if [ "${what[0]}" != placebo ] && ! has_placebo "$machine"; then
        echo "catalogue.sh: ${what[0]}: no row: no placebo of '$machine' within a day that was not found" \
            '(catalogue.sh placebo)' >&2
        return 1
    fi
    tar -C "$kept" -cJf "$archive" "${1##*/}" || return
    for name in answers agents activities behalf; do table "$1" "$name"; done
    # what is compared by launches has no agent in it
    [ "$(cat "$1/answers.json")" != '[]' ] || noiselab analyze "$1/campaign" --json 2>/dev/null |
        jq '[.estimates[] | select(.quantity == "slowdown_percent" and .main) | { value, low: .ci_low,
            high: .ci_high, lead: "launches", outcome: (.verdict | gsub("_"; " ")) }]' >"$1/answers.json"
    noiselab project "$1/campaign" --nodes 1000 --every 1ms,10ms --margin 1 --json \
        >"$1/project.json" 2>/dev/null
    [ -s "$1/project.json" ] || echo '{}' >"$1/project.json"
    # the agent's own account, of the segments in which it is on
    awk -F , 'FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["arm"] == "on" {
            wall += $at["wall_ns"]
            n += $at["wakeups"]
            if ($at["rss_kib"] > kib) kib = $at["rss_kib"]
        }
        END {
            printf "{\"memory_mib\": %.4g, \"wakeups_per_s\": %.4g}", kib / 1024, wall ? n / wall * 1e9 : 0
        }' \
        "$1"/campaign/*/agent.*.csv >"$1/own.json" 2>/dev/null || echo '{}' >"$1/own.json" # none of Slurm
    values=()
    for name in answers agents activities behalf project own; do
        values+=(--slurpfile "$name" "$1/$name.json")
    done
    mapfile -t values < <(jq -rn "${values[@]}" -f tests/bench/catalogue.jq)
    if [ ${#values[@]} -ne 22 ]; then
        echo "catalogue.sh: ${what[0]}: its campaign cannot be read: $1/campaign" >&2
        return 1
    fi
    evidence_row agents "$head" "$columns" "${what[0]}" "${what[1]//,/;}" "${what[2]//,/;}" \
        "${what[@]:3:2}" "${values[@]}" "${what[5]}" "$(nproc)" "$machine" \
        "$(sha256sum "$archive" | cut -c 1-16)"
    touch "$1/row"
    tail -n 1 "$NOISELAB_EVIDENCE/agents.csv"
}

rows() {
    local folder status=0
    # the placebo first
    for folder in "$kept"/placebo-*/ "$kept"/*/; do
        if [ -d "$folder/campaign" ] && [ ! -e "$folder/row" ]; then row "${folder%/}" || status=1; fi
    done
    return "$status"
}

status=0
case ${1-} in
'' | -h | --help) sed -n '2,/^[^#]\|^$/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
--list)
    folder=$(mktemp -d)
    for name in $names; do
        every=''
        "$name"
        printf '%-20s %4s s  %s\n' "$name" "$default" "${version:-its package is not installed}"
    done
    rm -r "$folder"
    ;;
--rows) rows || status=1 ;;
--measure)
    shift
    for name; do measure "$name" || status=1; done
    ;;
*)
    for name; do measure "$name" || status=1; done
    rows || status=1
    ;;
esac
exit $status
