/* What the source proc sees of processes that this test starts, and that run when it says so. */
#include <pthread.h>
#include <sys/wait.h>

#include "noisegen/top/watch.h"
#include "tests/unit/unit.h"

#define MS INT64_C(1000000)

/* ---- a process that runs for so many milliseconds as it is told, and says when it has ---- */

struct worker { pid_t pid; int orders, answers; };

static void spin(int64_t ns) {
    int64_t from_ns = nl_thread_cpu_ns();
    while (nl_thread_cpu_ns() - from_ns < ns)
        continue;
}

static void *obey(void *fds) {
    const int *fd = fds;
    for (int ms; read(fd[0], &ms, sizeof ms) == sizeof ms;) {
        spin(ms * MS);
        if (write(fd[1], &ms, sizeof ms) != sizeof ms) break;
    }
    return NULL;
}

static struct worker start_worker(int is_thread) {
    int orders[2], answers[2];
    assert_int_equal(pipe(orders) + pipe(answers), 0);
    struct worker worker = {fork(), orders[1], answers[0]};
    assert_true(worker.pid >= 0);
    if (worker.pid == 0) {
        int fds[2] = {orders[0], answers[1]}, ms;
        close(orders[1]);
        close(answers[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL);
        /* with a thread: the first order starts it */
        pthread_t thread;
        if (is_thread && read(fds[0], &ms, sizeof ms) == sizeof ms &&
            pthread_create(&thread, NULL, obey, fds) == 0) {
            if (write(fds[1], &ms, sizeof ms) == sizeof ms) pthread_join(thread, NULL);
        } else obey(fds);
        _exit(0);
    }
    close(orders[0]);
    close(answers[1]);
    return worker;
}

static void order(const struct worker *worker, int ms) {
    int done = -1;
    assert_int_equal(write(worker->orders, &ms, sizeof ms), sizeof ms);
    assert_int_equal(read(worker->answers, &done, sizeof done), sizeof done);
    assert_int_equal(done, ms);
    nl_sleep_ns(2 * MS); /* it is asleep again */
}

static void end_worker(const struct worker *worker) {
    kill(worker->pid, SIGKILL);
    close(worker->orders);
    close(worker->answers);
    assert_int_equal(waitpid(worker->pid, NULL, 0), worker->pid);
}

/* ---- what is seen of it ---- */

static struct nt_watch *watch_proc(void) {
    struct nt_watch *w;
    const struct nt_config config = {.source = "proc", .n_nodes = 10, .every_ns = MS};
    assert_int_equal(nt_watch_open(&w, &config), 0);
    nt_watch_begin(w);
    return w;
}

/* CPU time that it has in the sample that ends now, of an interval of interval_ns (0: since the last one). */
static double seen_ms(struct nt_watch *w, pid_t pid, int64_t interval_ns) {
    if (interval_ns > 0) w->begin_ns = nl_mono_ns() - interval_ns;
    const struct nt_sample *s = nt_watch_sample(w, &(struct nt_wish){.n_rows = NT_MOST_ROWS, .is_brief = 1});
    for (int i = 0; i < s->n_tasks; i++)
        if (s->tasks[i].pid == pid)
            return s->tasks[i].share_percent / 100 * (double)s->interval_ns / (double)MS;
    return 0;
}

TEST(a_process_is_seen_when_it_runs_and_not_when_it_does_not) {
    struct worker worker = start_worker(0);
    struct nt_watch *w = watch_proc();
    order(&worker, 20);
    assert_near(seen_ms(w, worker.pid, 0), 20, 2);
    assert_near(seen_ms(w, worker.pid, 0), 0, 0);
    order(&worker, 0); /* less than a tick, and than a look at its CPU is worth */
    double moment_ms = seen_ms(w, worker.pid, 0);
    assert_true(moment_ms > 0 && moment_ms < 2);
    end_worker(&worker);
    nt_watch_close(w);
}

TEST(who_is_born_later_is_met_by_its_number_and_a_thread_by_what_its_process_used) {
    struct nt_watch *w = watch_proc();
    struct worker one = start_worker(0), two = start_worker(1);
    order(&one, 20);
    assert_near(seen_ms(w, one.pid, 0), 20, 3);
    assert_near(seen_ms(w, two.pid, 0), 0, 2); /* it sleeps, and has one thread */
    order(&two, 0);
    order(&two, 20); /* the other thread alone */
    assert_near(seen_ms(w, two.pid, 0), 20, 3);
    order(&two, 20);
    assert_near(seen_ms(w, two.pid, 0), 20, 2);
    int32_t place = w->process_of[two.pid] - 1;
    EQUAL(w->processes[place].n_threads, 2, w->processes[w->process_of[one.pid] - 1].n_threads, 1);
    end_worker(&one);
    end_worker(&two);
    assert_near(seen_ms(w, one.pid, 0), 0, 0);
    EQUAL(w->process_of[one.pid], 0, w->process_of[two.pid], 0);
    nt_watch_close(w);
}

TEST(what_an_interval_has_no_room_for_is_of_the_next_ones_and_nothing_is_lost) {
    struct worker worker = start_worker(0);
    struct nt_watch *w = watch_proc();
    double sum_ms = 0;
    order(&worker, 50);
    for (int i = 0; i < 5; i++) {
        double ms = seen_ms(w, worker.pid, 15 * MS);
        assert_true(ms <= (double)w->sample->interval_ns / (double)MS + 0.001);
        sum_ms += ms;
    }
    assert_near(sum_ms, 50, 2);
    end_worker(&worker);
    nt_watch_close(w);
}

/* Thousands sleep, so that quiet ones are looked at in turn. */
TEST(among_thousands_who_wakes_up_is_seen_within_two_intervals_with_all_of_its_time) {
    enum { MANY = 3200 };
    struct worker worker = start_worker(0);
    static pid_t sleepers[MANY];
    int n = 0;
    while (n < MANY && (sleepers[n] = fork()) >= 0) {
        if (sleepers[n] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL, 0UL, 0UL, 0UL);
            for (;;) pause();
        }
        n++;
    }
    struct nt_watch *w = watch_proc();
    for (int i = 0; i < 8; i++) seen_ms(w, worker.pid, 0); /* nobody is new any more */
    int is_late = 0;
    for (int turn = 0; turn < 4 && n == MANY; turn++) {
        /* at odd and at even looks, long and short ones */
        order(&worker, turn % 2 ? 30 : 1);
        double first_ms = seen_ms(w, worker.pid, 100 * MS), second_ms = seen_ms(w, worker.pid, 100 * MS);
        assert_true(first_ms == 0 || second_ms == 0);
        assert_near(first_ms + second_ms, turn % 2 ? 30 : 1, 1);
        is_late += first_ms == 0;
        if (turn == 1)
            for (int i = 0; i < 7; i++) seen_ms(w, worker.pid, 0);
    }
    if (n == MANY) {
        EQUAL(w->n_turns, 2, w->n_in_turn > 3000, 1);
        assert_contains(w->sample->hidden, "quiet tasks are each looked at in one interval of 2");
        assert_true(is_late > 0);
    }
    for (int i = 0; i < n; i++) kill(sleepers[i], SIGKILL);
    for (int i = 0; i < n; i++) waitpid(sleepers[i], NULL, 0);
    end_worker(&worker);
    nt_watch_close(w);
    if (n < MANY) SKIP("only %d processes can be started here", n);
}
