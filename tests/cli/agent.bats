#!/usr/bin/env bats
# The command line of noiselab-agent: what may be an agent, and what is refused before anything is changed.
# How it switches is the business of tests/unit/noisegen/agent/test_agent.c.

# bats file_tags=quick

load ../helpers

setup() { at_home; }

refused() { refused_by noiselab-agent "$1" --dry-run "${@:2}"; }

dry() { dry_by noiselab-agent "$@" && [ "${#lines[@]}" -eq 1 ]; }

@test "options that do not fit together, and values of another form, are refused" {
    refused 'no agent: give one of'
    refused 'only one of' --agent-cmd true --agent-pid 3
    refused '--agent-off is missing' --agent-on true
    refused '--agent-on is missing' --agent-off true
    refused '--agent-found: only of what is switched by two commands' --agent-cmd true --agent-found on
    refused "--agent-found: 'maybe' is not unknown, off or on" --agent-on true --agent-off true \
        --agent-found maybe
    refused '--scrape-period is missing' --scrape true
    refused '--scrape is missing' --agent-cmd true --scrape-period 1s
    refused '--agent-cpu: only a started command' --agent-pid 3 --agent-cpu 0
    refused '--shell: there is no command' --agent-pid 3 --shell
    run -2 noiselab-agent --agent-cmd true
    [[ "$output" == *'--dry-run is missing'* ]]
    refused "--agent-pid: '0' is not the number of a process" --agent-pid 0
    refused "--agent-pid: 'top' is not" --agent-pid top
    for words in 'agent-timeout soon' 'agent-name a,b' 'who me' 'agent-cpu 3-1'; do
        refused "--${words% *}: '${words#* }' is not" --agent-cmd true "--${words% *}" "${words#* }"
    done
    refused "--scrape-period: '0' is not a positive duration" --scrape true --scrape-period 0
    refused "--who: keep-bursts: '1' is not auto, yes or no" --agent-cmd true --who auto:keep-bursts=1
    refused "--agent-cpu: '1023': none of these CPUs" --agent-cmd true --agent-cpu 1023
    refused "'--agent-command': unknown option" --agent-command true
    refused "'true': unexpected argument" true
}

@test "commands are split without a shell, and looked for before anything is started" {
    refused "there is no program 'no-such-agent' in PATH" --agent-cmd 'no-such-agent -f'
    refused 'shell syntax needs --shell' --agent-cmd 'VAR=1 true'
    refused "there is no program '/etc/passwd' that may be run" --agent-cmd /etc/passwd
    refused 'it has an open quote' --agent-cmd "sleep '1"
    refused "'top -b -d 0.5 > /dev/null' has the shell's >: give --shell, or quote it" \
        --agent-cmd 'top -b -d 0.5 > /dev/null'
    refused "'true && sleep 9' has the shell's &: give --shell, or quote it" --agent-cmd 'true && sleep 9'
    refused '--agent-on: there is no program' --agent-on no-such-switch --agent-off true
    refused '--scrape: there is no program' --agent-cmd true --scrape no-such-client --scrape-period 1s
    cp "$(command -v sleep)" 'nl once'
    dry 'agent nl_once, switched by: command' --agent-cmd "'./nl once' 60"
    dry 'agent nice, switched by: command' --agent-cmd 'VAR=1 exec nice sleep 60' --shell
    dry 'agent scrape, switched by: scrape, scraped every 0.5 s' --scrape true --scrape-period 500ms
    dry 'agent exporter, switched by: switch' --agent-on true --agent-off true --agent-name exporter
}

@test "a dry run starts a command for a second: one that dies is refused, one that runs is warned of" {
    refused "ended by itself (status 3), and had printed last: no such metric" \
        --agent-cmd 'echo starts; sleep 0.05; echo no such metric >&2; exit 3' --shell
    refused "ended by itself (status 1), having printed nothing" --agent-cmd false
    cp "$(command -v sleep)" nl-dry
    dry 'agent nl-dry, switched by: command' --agent-cmd './nl-dry 60'
    ! pgrep -f 'nl-dry [6]0' || false
    # one that goes into the background lives, and is ended as well
    run -0 --separate-stderr noiselab-agent --dry-run --shell --agent-cmd './nl-dry 61 & exit 0'
    [[ "$stderr" == *"goes on in the background"* ]]
    ! pgrep -f 'nl-dry [6]1'
    cp "$(command -v sleep)" nl-twin
    ./nl-twin 100 &
    started=$!
    run -0 --separate-stderr noiselab-agent --dry-run --agent-cmd './nl-twin 55'
    [[ "$stderr" == *"warning: nl-twin runs already (process $started)"* ]]
}

@test "processes, cgroups and units that are not there, or must not be frozen, are refused" {
    refused '--agent-pid: there is no process 99999999' --agent-pid 99999999
    # a container with numbers of its own has none of the kernel's threads
    [ "$(cat /proc/2/comm 2>/dev/null)" != kthreadd ] || refused 'is a thread of the kernel' --agent-pid 2
    refused 'runs this program' --agent-pid 1
    refused 'runs this program' --agent-pid $$
    refused "--agent-cgroup: there is no cgroup 'no-such-group'" --agent-cgroup no-such-group
    refused "there is no" --agent-unit no-such-unit
    sleep 100 3>&- &
    started=$!
    before=$(cat /proc/$started/cgroup)
    dry 'agent sleep, switched by: pid, frozen by: ' --agent-pid $started
    [ "$(cat /proc/$started/cgroup)" = "$before" ]
    kill -STOP $started
    refused 'is stopped already' --agent-pid $started
}

@test "without permission the reason is said, and signals are used for one's own processes" {
    [ "$(id -u)" -eq 0 ] || skip 'only root can be somebody else'
    cp "$(command -v noiselab-agent)" agent
    chmod 755 . agent
    sleep 100 3>&- &
    started=$!
    run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups "$PWD/agent" --dry-run \
        --agent-pid $started
    if [ "$status" -eq 126 ]; then skip 'the folder of this test cannot be entered by somebody else'; fi
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"belongs to root: only root and root may stop it"* ]]
    kill -9 "$started"
    setpriv --reuid 65534 --regid 65534 --clear-groups sleep 100 3>&- &
    started=$!
    sleep 0.2
    run -0 --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups "$PWD/agent" --dry-run \
        --agent-pid $started
    [[ "$output" == *'frozen by: signals because of freezer-v1: '* ]]
}
