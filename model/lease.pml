/* The lease protocol of one task, for SPIN.
 *
 * Two workers, two engines on one store, a creator, an operator, a clock. `check` runs it; README.md says
 * which rule of the code each assertion stands for.
 *
 * The idea: a step is one transaction, so it is atomic here. All else is not. A request may be lost, or lie
 * in an engine's queue while the world goes on; an answer may be lost or come late; whoever has heard nothing
 * sends again; a worker may crash and start again under the same name, or sleep as long as it likes (it then
 * just makes no move). Whether a lease is over the engines' clock alone decides, at any moment it likes.
 * Nothing is assumed of the workers' clocks, except with CLOCKS.
 *
 * One task is enough, since a step judges each task by its own row. One command a step is enough: the commands
 * of one step are applied one after the other at one instant, so they are a row of steps between two ticks.
 *
 * What is checked:
 *   (no switch)  client-held lease: expiry alone gives the task back
 *   SUPERVISED   lease of work we run ourselves: the task comes back when its execution is proved dead
 *   CLOCKS       client-held, with clocks that count: a holder that stops in time never overlaps the next one
 *   LIVE         faults end some day, and the task comes to rest
 *   LIVE_DONE    there are no more faults than the budget has room for, and the task is completed
 * All other switches take one rule away. These are the broken twins, and each of them must fail. */

/* ---- The broken twins ------------------------------------------------------------------------------- */

#ifdef NO_FENCE             /* a word is accepted whatever its epoch */
#define SAME_EPOCH(e) true
#else
#define SAME_EPOCH(e) (epoch == (e))
#endif

#ifdef NO_STATE             /* the epoch is compared, the state and the owner are not */
#define HELD_BY(who) true
#else
#define HELD_BY(who) (state == RUNNING && owner == (who))
#endif

#ifdef WORKER_CLOCK         /* whoever claims says whether the lease is over, and its clock may be ahead */
#define LEASE_OVER (over || op == CLAIM)
#else
#define LEASE_OVER over
#endif

#if defined(EPOCH_RESET)    /* epochs start anew when a task comes back */
#define RAISE_EPOCH epoch = 0
#elif defined(FENCE_KEEPS_EPOCH) /* whoever has lost a lease still has the row's number */
#define RAISE_EPOCH skip
#else
#define RAISE_EPOCH epoch++
#endif

#ifdef GRANT_KEEPS_EPOCH    /* fencing raises the epoch, a grant does not */
#define NEXT_EPOCH epoch = (epoch > 0 -> epoch : 1)
#else
#define NEXT_EPOCH epoch++
#endif

#if defined(NO_EXPIRY)            /* nobody looks for leases that are over */
#define DUE_FIRST false
#elif defined(RENEW_REVIVES)      /* a renewal is applied before what is due, and does not look at the lease end */
#define DUE_FIRST (op != RENEW)
#elif defined(GRANT_BEFORE_FENCE) /* a claim is applied before what is due, and takes over a lease that is over */
#define DUE_FIRST (op != CLAIM)
#else
#define DUE_FIRST true
#endif

#ifdef RENEW_REVIVES
#define MAY_RENEW(who, e) (HELD_BY(who) && SAME_EPOCH(e))
#else
#define MAY_RENEW(who, e) HOLDS(who, e)
#endif

#ifdef GRANT_BEFORE_FENCE
#define CLAIMABLE (state == QUEUED || was_due)
#else
#define CLAIMABLE (state == QUEUED)
#endif

#ifdef REPEAT_APPLIES       /* the accepted outcome comes again and is applied again */
#define IS_REPEAT(e, op) false
#define MAY_TELL(who, e, op) (HOLDS(who, e) || (outcome_epoch == (e) && outcome == (op)))
#elif defined(REPEAT_REFUSED) /* it is refused, so that a worker takes its success for a loss */
#define IS_REPEAT(e, op) false
#define MAY_TELL(who, e, op) HOLDS(who, e)
#else
#define IS_REPEAT(e, op) (outcome_epoch == (e) && outcome == (op))
#define MAY_TELL(who, e, op) HOLDS(who, e)
#endif

#ifdef CLAIM_FORGOTTEN      /* a repeated claim is taken for a new one */
#define REMEMBER_CLAIM(w, id) skip
#else
#define REMEMBER_CLAIM(w, id) asked[w] = id
#endif

#ifdef WISH_FORGOTTEN       /* a task that comes back is queued, whatever the operator was promised */
#define WISHED(what) false
#else
#define WISHED(what) (wish == (what))
#endif

#ifdef FREE_CRASH           /* a lost lease costs nothing: a task that kills its workers does so for ever */
#define CHARGE_LOSS skip
#else
#define CHARGE_LOSS charge()
#endif

#if defined(SUPERVISED) && !defined(NO_PROOF)   /* NO_PROOF: expiry alone gives supervised work back */
#define NEEDS_PROOF true
#else
#define NEEDS_PROOF false
#endif

#ifdef STALE_PROOF          /* a proof is applied to whatever recovery is pending when it arrives */
#define PROOF_FITS(e) true
#else
#define PROOF_FITS(e) (epoch == (e))
#endif

#ifdef STOP_UNFENCED        /* a worker's word that its work has stopped is judged by its name alone */
#define STOP_FITS(who, e) (owner == (who))
#else
#define STOP_FITS(who, e) (owner == (who) && epoch == (e))
#endif

#ifdef NO_SECOND_LOOK       /* the execution starts as soon as its lock is taken */
#define STILL_MINE(w, e) true
#else
#define STILL_MINE(w, e) (state == RUNNING && owner == (w) && epoch == (e))
#endif

#ifdef RESOLVE_BLIND        /* an operator gives a task back without proof that its execution is dead */
#define PROVED true
#else
#define PROVED (!LOCKED(epoch))
#endif

#ifdef TELL_FIRST           /* an outcome leaves while the execution still runs */
#define END_BEFORE_TELLING skip
#else
#define END_BEFORE_TELLING end_execution()
#endif

#ifdef NO_MARGIN            /* a worker stops at the lease's end by its own clock, which may be slow */
#define MARGIN 0
#else
#define MARGIN 1
#endif

/* ACK_BEFORE_COMMIT, NO_PROBE, OLD_REQUEST, COUNT_FROM_ANSWER, COUNT_FROM_REPEAT, ANY_ANSWER: where they are used. */

/* ---- Sizes ------------------------------------------------------------------------------------------ */

#ifndef BUDGET
#define BUDGET 1            /* max_retries: attempts beyond the first */
#endif
#ifndef OPERATIONS
#define OPERATIONS 0        /* what the operator does at most */
#endif
#ifndef RELEASES
#define RELEASES 0          /* releases cost no attempt, so they are counted here, or epochs would grow for ever */
#endif
#ifndef REQUESTS
#define REQUESTS 2          /* on their way or in an engine's queue at one time */
#endif

#define WORKERS 2
#define NOBODY 2

/* A fault is what may go wrong at this point and need not. For liveness faults must end: each takes a coin. */
#if defined(LIVE) || defined(LIVE_DONE)
#define FAULTS_END
#ifndef FAULTS
#define FAULTS 1
#endif
byte faults = FAULTS;
#define FAULT_IF(is_possible) atomic { (is_possible) && faults > 0 -> faults-- }
#define IS_LIVE true
#else
#define FAULT_IF(is_possible) (is_possible)
#define IS_LIVE false
#endif
#define FAULT FAULT_IF(true)

/* ---- The store: the row, and what a worker's row remembers of its newest claim ---------------------- */

mtype = { ABSENT, QUEUED, RUNNING, PAUSED, RECOVERY_PENDING, COMPLETED, FAILED, CANCELLED, DEAD_LETTER }
mtype = { NOTHING, CLAIM, RENEW, COMPLETE, FAIL, RELEASE, PAUSE, CANCEL, STOPPED }
mtype = { NONE, OK, GRANT, HELD, HELD_PAUSE, HELD_CANCEL, LEASE_LOST }

mtype state = ABSENT;
byte owner = NOBODY;
bool leased;                /* a lease end is set ... */
bool over;                  /* ... and the engines' clock has reached it */
byte epoch;
byte retries;
mtype wish = NOTHING;       /* the control request: PAUSE or CANCEL; its holder hears of it with a renewal */
byte outcome_epoch;         /* the last accepted outcome, so that repeating it is safe */
mtype outcome = NOTHING;
byte asked[WORKERS];        /* request id of the newest claim that was granted */

/* Held by processes, freed by the kernel. A lock's name is the epoch. */
byte lock[WORKERS];         /* held by a worker for the execution it starts or has started */
byte orphan[WORKERS];       /* held by an execution that has outlived its worker */
bool alive[WORKERS];        /* the worker's execution runs */

#define LOCKED(e) (lock[0] == (e) || lock[1] == (e) || orphan[0] == (e) || orphan[1] == (e))
#define EXECUTIONS (alive[0] + alive[1] + (orphan[0] > 0) + (orphan[1] > 0))
#define HOLDS(who, e) (HELD_BY(who) && SAME_EPOCH(e) && !over)
#define IS_TERMINAL(s) (s == COMPLETED || s == FAILED || s == CANCELLED || s == DEAD_LETTER)
#define IS_FINAL(s) (s == COMPLETED || s == CANCELLED)

#define SHOW_ROW printf("      row: %e, owner %d, epoch %d, retries %d\n", state, owner, epoch, retries)

/* ---- What the check knows and the code does not ----------------------------------------------------- */

byte granted;               /* the newest epoch that was granted */
bool right;                 /* its holder may still act, by the engines' clock and all that was accepted */
bool paid = true;           /* that grant has been charged, or has ended in a way that costs nothing */
bool promised;              /* the operator was told that the task stops; true until he sets it going again */
bool told;                  /* that grant has ended by its holder's own word */
byte served[WORKERS];       /* the request id of a worker's newest grant, whether the code remembers it or not */
byte completions;
byte releases = RELEASES;
byte asking[WORKERS];       /* the request id a worker waits for */
byte heeded[WORKERS];       /* the epoch a worker works under or reports on */
bool telling[WORKERS];      /* it reports */

/* ---- Wires ------------------------------------------------------------------------------------------ */

/* Requests on the wire and in the queues of both engines, in one bag: which engine has it makes no difference
 * to what it does, only when. Each: word, who, epoch, request id. An answer: word, code, epoch, request id. */
chan request = [REQUESTS] of { mtype, byte, byte, byte };
chan answer[WORKERS] = [1] of { mtype, mtype, byte, byte };

/* Who waits for an answer may send again at any time, and may ask for work at any time. For liveness it sends again
 * only when nothing of it is on its way, and is woken when there is work: then no run goes round in circles but by
 * a fault of the protocol. */
#ifdef FAULTS_END
byte on_way[WORKERS];
#define SENT(who) on_way[who]++
#define GONE(who) on_way[who]--
#define MAY_SEND(who) (nfull(request) && on_way[who] == 0)
#define MARK_RENEWED renewed = true
#define IS_WORK_THERE (state == QUEUED)
#else
#define SENT(who) skip
#define GONE(who) skip
#define MAY_SEND(who) nfull(request)
#define MARK_RENEWED skip
#define IS_WORK_THERE true
#endif

/* An answer that nobody waits for any more comes to a closed socket. One that tells a worker nothing it would
 * act upon need not be written down. */
#ifdef CLOCKS
#ifdef ANY_ANSWER           /* the answer to an older renewal is taken for the answer to the newest */
#define SAME_REQUEST (op == RENEW || asking[who] == id)
#else
#define SAME_REQUEST (asking[who] == id)
#endif
#define TELLS_NEWS (code != NONE)
#else
#define SAME_REQUEST (op != CLAIM || asking[who] == id)
#ifdef FAULTS_END
#define TELLS_NEWS (code != HELD)
#else
#define TELLS_NEWS (code != HELD && code != NONE)
#endif
#endif
#define LISTENS                                                                                               \
    (op == CLAIM -> SAME_REQUEST && heeded[who] == 0                                                          \
                  : heeded[who] == e && telling[who] == (op != RENEW) && (telling[who] || SAME_REQUEST))

/* Request ids are random in the code. Here it is the smallest that nobody remembers; three are enough, for two
 * requests at most are on their way when another one leaves. */
#define IN_USE(w, id) (served[w] == id || request??[_, eval(w), _, eval(id)])
#define UNUSED_ID(w) (!IN_USE(w, 1) -> 1 : (!IN_USE(w, 2) -> 2 : 3))

/* What no worker and no request on its way can ask for any more is forgotten. Nobody can tell, and there are
 * fewer states; the code may keep it. */
#define CAN_ASK(w, id) (asking[w] == id || request??[CLAIM, eval(w), _, eval(id)])
#define CAN_TELL(e) (heeded[0] == e || heeded[1] == e || request??[_, _, eval(e), _])

inline forget()
{
    asked[0] = (CAN_ASK(0, asked[0]) -> asked[0] : 0);
    asked[1] = (CAN_ASK(1, asked[1]) -> asked[1] : 0);
    served[0] = (CAN_ASK(0, served[0]) -> served[0] : 0);
    served[1] = (CAN_ASK(1, served[1]) -> served[1] : 0);
    if
    :: !CAN_TELL(outcome_epoch) -> outcome_epoch = 0; outcome = NOTHING
    :: else
    fi
}

/* ---- Clocks that count, for CLOCKS alone ------------------------------------------------------------ */

#ifdef CLOCKS
#define LEASE 3
#define SKEW 1              /* ticks a worker's clock may lose during one lease */
byte left;                  /* engines: ticks to the lease's end */
byte counted[WORKERS];      /* workers: what the request on its way would give, counted from before it left */
byte remains[WORKERS];      /* workers: what is left by their own clock, less the margin */
#define ARM left = LEASE
#define DISARM left = 0
#define COUNT(w) counted[w] = LEASE - MARGIN + SKEW /* the worst clock; a better one only stops earlier */
#ifdef COUNT_FROM_REPEAT    /* the lease is counted from the last copy of the request, not from the first */
#define COUNT_REPEAT(w) COUNT(w)
#else
#define COUNT_REPEAT(w) skip
#endif
#else
#define ARM skip
#define DISARM skip
#define COUNT(w) skip
#define COUNT_REPEAT(w) skip
#endif

/* ---- The step --------------------------------------------------------------------------------------- */

/* Every failure and every lost lease is paid once. */
inline charge()
{
    assert(!paid);
    paid = true;
    retries++
}

inline leave_running()
{
    owner = NOBODY;
    leased = false;
    over = false;
    right = false;
    DISARM
}

/* Where a task goes that comes back. What would be queued goes where the operator wished it. */
inline come_back()
{
    leave_running();
    if
    :: retries > BUDGET -> state = DEAD_LETTER
    :: retries <= BUDGET && WISHED(CANCEL) -> state = CANCELLED
    :: retries <= BUDGET && WISHED(PAUSE) -> state = PAUSED
    :: else -> state = QUEUED
    fi;
    wish = NOTHING
}

inline move_to(to)
{
    leave_running();
    paid = true;
    wish = NOTHING;
    state = to
}

inline requeue()
{
    CHARGE_LOSS;
    RAISE_EPOCH;
    come_back()
}

/* Supervised work waits for proof. It keeps owner and epoch, so that its worker may say that it has stopped, and
 * the operator's wish. */
inline fence()
{
    assert(!right);
    if
    :: NEEDS_PROOF -> leased = false; over = false; state = RECOVERY_PENDING
    :: else -> requeue()
    fi
}

inline grant()
{
    assert(!right && paid && !promised);
    NEXT_EPOCH;
    assert(epoch > granted);
    state = RUNNING;
    owner = who;
    leased = true;
    over = false;
    ARM;
    granted = epoch;
    right = true;
    paid = false;
    told = false
}

inline claim()
{
    if
    :: asked[who] == id ->      /* a repeat: the same grant while it holds, else none */
        code = (state == RUNNING && owner == who -> GRANT : NONE)
    :: asked[who] != id && CLAIMABLE ->
        grant();
        assert(served[who] != id);
        served[who] = id;
        REMEMBER_CLAIM(who, id);
        code = GRANT
    :: else -> code = NONE
    fi;
    e = (code == GRANT -> epoch : 0)
}

inline renew()
{
    if
    :: MAY_RENEW(who, e) ->
        assert(right && e == granted);
        over = false;
        ARM;
        code = (wish == PAUSE -> HELD_PAUSE : (wish == CANCEL -> HELD_CANCEL : HELD))
    :: else -> code = LEASE_LOST
    fi
}

/* complete, fail, release, and pause and cancel by the holder. */
inline tell()
{
    if
    :: IS_REPEAT(e, op) -> code = OK
    :: !IS_REPEAT(e, op) && MAY_TELL(who, e, op) ->
        assert(right && e == granted);
        outcome_epoch = e;
        outcome = op;
        told = true;
        code = OK;
        if
        :: op == COMPLETE -> completions++; move_to(COMPLETED)
        :: op == FAIL -> charge(); come_back()
        :: op == RELEASE -> paid = true; come_back()
        :: op == PAUSE -> move_to(PAUSED)
        :: op == CANCEL -> move_to(CANCELLED)
        fi
    :: else ->                      /* kept as a late result, which changes no task */
        assert(outcome_epoch != e || outcome != op);
        code = LEASE_LOST
    fi
}

/* A worker's word that its execution has ended. It wins or the probe does, never both. */
inline stopped()
{
    if
    :: state == RECOVERY_PENDING && STOP_FITS(who, e) -> requeue(); code = OK
    :: else -> code = LEASE_LOST
    fi
}

inline begin_step()
{
    was = state;
    was_epoch = epoch;
    was_due = (state == RUNNING && LEASE_OVER);
    if
    :: was_due && DUE_FIRST -> fence()
    :: else
    fi
}

/* What must hold after every step. */
inline end_step(by_operator)
{
    assert((state == RUNNING) == (leased && owner != NOBODY));
    assert(!leased || state == RUNNING);
    assert(owner == NOBODY || state == RUNNING || state == RECOVERY_PENDING);
    assert(state != RUNNING || epoch == granted);
    assert(epoch >= was_epoch && epoch >= granted);
    assert(epoch > granted || granted == 0 || told || state == RUNNING || state == RECOVERY_PENDING);
    assert(completions == (state == COMPLETED));
    assert(!IS_FINAL(was) || state == was);
    assert(!IS_TERMINAL(was) || state == was || (by_operator && epoch > was_epoch));
    assert(retries <= BUDGET || IS_TERMINAL(state));
    assert(was == ABSENT || state != ABSENT);
#ifdef NEVER                /* must fail: shows that the state is reached, so that the rest is not said of nothing */
    assert(state != NEVER);
#endif
    was = ABSENT;
    was_epoch = 0;
    was_due = false
}

inline command()
{
    begin_step();
    if
    :: op == CLAIM -> claim()
    :: op == RENEW -> renew()
    :: op == STOPPED -> stopped()
    :: else -> tell()
    fi;
    assert(code != GRANT || (state == RUNNING && owner == who && epoch == e));
    end_step(false)
}

/* ---- Engines ---------------------------------------------------------------------------------------- */

/* Both engines. A step has no memory but the row, so it does not matter which of them takes it, and one that is
 * killed loses what lies in its queue, which is the same as requests that are lost. */
proctype Engines()
{
    mtype op = NOTHING, op2 = NOTHING;
    mtype code = NONE;
    mtype was = ABSENT;
    byte who, e, id, who2, e2, id2, was_epoch;
    bool was_due;

end:
    do
    :: atomic {
        request?op, who, e, id ->
        if
        :: true
        :: len(request) == 1 ->             /* the other one comes first */
            request?op2, who2, e2, id2;
            request!!op, who, e, id;
            op = op2; who = who2; e = e2; id = id2
        fi;
        op2 = NOTHING; who2 = 0; e2 = 0; id2 = 0;
        if
        :: FAULT -> GONE(who);              /* lost, or killed before the commit: nothing has changed */
            printf("lost: %e of worker %d, epoch %d, request %d\n", op, who, e, id)
#ifdef ACK_BEFORE_COMMIT
        :: nfull(answer[who]) && LISTENS && op == COMPLETE -> answer[who]!op, OK, e, id
#endif
        :: d_step {
            command();
            printf("step: %e of worker %d, epoch %d, request %d: %e\n", op, who, e, id, code); SHOW_ROW };
            if
            :: FAULT -> GONE(who); printf("lost: that answer\n")      /* or killed after the commit */
            :: nfull(answer[who]) && LISTENS && TELLS_NEWS -> answer[who]!op, code, e, id
            :: full(answer[who]) || !LISTENS || !TELLS_NEWS -> GONE(who)
            fi
        fi;
        d_step { op = NOTHING; code = NONE; who = 0; e = 0; id = 0; forget() } }
    od
}

/* What the engines do though nobody asks. */
proctype Timers()
{
    mtype op = NOTHING;
    mtype was = ABSENT;
    byte was_epoch;
    bool was_due;
#ifdef SUPERVISED
    byte found;                 /* the epoch whose execution a probe has found dead */
#endif

end:
    do
#ifndef NO_EXPIRY
    :: d_step { state == RUNNING && over -> begin_step(); end_step(false); printf("timer: lease end\n"); SHOW_ROW }
#endif
    :: d_step { state == RUNNING && !over && wish == CANCEL ->      /* the wish's deadline */
        begin_step(); epoch++; move_to(CANCELLED); end_step(false);
        printf("timer: deadline of a cancel\n"); SHOW_ROW }

#if !defined(SUPERVISED) && !defined(CLOCKS)
    :: atomic { FAULT_IF(state == RUNNING && !over) ->              /* the attempt's time is up */
        d_step { begin_step(); charge(); epoch++; come_back(); end_step(false) };
        printf("timer: attempt time-out\n"); SHOW_ROW }
#endif

#ifdef SUPERVISED
    /* The probe looks at the lock outside any step, so what it finds comes late and is judged like a command. */
#ifndef NO_PROBE
    :: d_step { state == RECOVERY_PENDING && !LOCKED(epoch) && found == 0 ->
        found = epoch; printf("probe: nothing runs under epoch %d\n", found) }
#endif
    :: d_step { found > 0 ->
        begin_step();
        if
        :: state == RECOVERY_PENDING && PROOF_FITS(found) -> requeue()
        :: else
        fi;
        printf("step: proof for epoch %d\n", found); SHOW_ROW;
        found = 0;
        end_step(false) }
#endif
    od
}

/* ---- Time ------------------------------------------------------------------------------------------- */

#ifdef CLOCKS

/* The assumption, and all there is of it: a worker stops before the tick at which its own clock says 0. */
#define IN_TIME(w) (!alive[w] || remains[w] > 1)
#define COUNT_DOWN(x) x = (x > 0 -> x - 1 : 0)

proctype Clock()
{
end:
    do
    :: d_step {
        IN_TIME(0) && IN_TIME(1) && left + counted[0] + counted[1] + remains[0] + remains[1] > 0 ->
        if
        :: left == 1 && state == RUNNING -> over = true; right = false; printf("clock: the lease is over\n")
        :: else
        fi;
        COUNT_DOWN(left);
        COUNT_DOWN(counted[0]); COUNT_DOWN(remains[0]);
        COUNT_DOWN(counted[1]); COUNT_DOWN(remains[1]);
        printf("tick: %d left; workers count %d and %d\n", left, remains[0], remains[1]) }
    od
}

#else

/* A lease that its holder keeps renewing ends by a fault only, which must be counted where faults are. */
#ifdef LIVE_DONE
#define IS_KEPT (heeded[0] == epoch || heeded[1] == epoch || answer[0]??[CLAIM, GRANT, eval(epoch), _] ||         \
                 answer[1]??[CLAIM, GRANT, eval(epoch), _])
#else
#define IS_KEPT false
#endif

proctype Clock()
{
end:
    do
    :: d_step { state == RUNNING && !over && !IS_KEPT ->
        over = true; right = false; printf("clock: the lease is over\n") }
#ifdef LIVE_DONE
    :: d_step { state == RUNNING && !over && IS_KEPT && faults > 0 -> 
        faults--; over = true; right = false; printf("clock: the lease is over\n") }
#endif
#ifdef SUPERVISED
    :: d_step { orphan[0] > 0 -> orphan[0] = 0; printf("orphan of worker 0 ends\n") }
    :: d_step { orphan[1] > 0 -> orphan[1] = 0; printf("orphan of worker 1 ends\n") }
#endif
    od
}

#endif

/* ---- Workers ---------------------------------------------------------------------------------------- */

#define SEND(word, e, id) request!!word, w, e, id; SENT(w); \
    printf("worker %d: sends %e, epoch %d, request %d\n", w, word, e, id)

/* Answers to what is asked no more. */
inline hang_up()
{
    do
    :: answer[w]?op, code, x, i -> GONE(w)
    :: empty(answer[w]) -> break
    od;
    op = NOTHING; code = NONE; x = 0; i = 0
}

inline end_execution()
{
    alive[w] = false;
    lock[w] = 0
#ifdef CLOCKS
    ; remains[w] = 0
#endif
}

/* Back to the beginning with nothing remembered: given up, done, or crashed and started again. */
inline start_anew()
{
    d_step {
        hang_up();
        end_execution();
        e = 0; word = NOTHING; renewed = false;
        asking[w] = 0; heeded[w] = 0; telling[w] = false;
#ifdef CLOCKS
        counted[w] = 0;
#endif
        forget()
    }
}

inline end_work()
{
    d_step {
        hang_up();
        END_BEFORE_TELLING;
        asking[w] = 0;
        telling[w] = true
    }
}

/* The execution ends with its worker, or outlives it. */
inline crash()
{
    printf("worker %d: crashes\n", w);
#ifdef SUPERVISED
    if
    :: alive[w] && orphan[w] == 0 -> orphan[w] = lock[w]
    :: true
    fi;
#endif
    start_anew()
}

proctype Worker(byte w)
{
    mtype op = NOTHING, word = NOTHING;
    mtype code = NONE;
    byte e, x, i;               /* my epoch; an answer's epoch and request id */
    bool renewed;

ask:
    do
    :: atomic { asking[w] == 0 && IS_WORK_THERE && MAY_SEND(w) ->
        asking[w] = UNUSED_ID(w); COUNT(w); SEND(CLAIM, 0, asking[w]) }
    :: atomic { asking[w] > 0 && MAY_SEND(w) -> COUNT_REPEAT(w); SEND(CLAIM, 0, asking[w]) }
    :: atomic {
        answer[w]?op, code, x, i ->
        GONE(w);
        if
        :: code == GRANT -> e = x; heeded[w] = e; break
#ifdef OLD_REQUEST          /* whoever was told that there is nothing asks again under the same request id */
        :: code == NONE -> hang_up()
#else
        :: code == NONE -> asking[w] = 0; hang_up()
#endif
        fi }
    :: atomic { FAULT_IF(asking[w] > 0) ->                  /* gives up, or crashes */
        printf("worker %d: gives up\n", w); start_anew() }
    od;

    /* A grant may have lain unheard until its lease was over and the task given to another. Whoever runs supervised
     * work therefore takes the lock first and then looks at the row again: a probe that came before the lock has let
     * the task go, which the look sees; one that comes after it finds the lock. */
    atomic {
        asking[w] = 0; hang_up(); forget();
#if defined(SUPERVISED)
        lock[w] = e
    };
    atomic {
        if
        :: STILL_MINE(w, e) -> alive[w] = true
        :: else -> start_anew(); goto ask
        fi;
#elif defined(CLOCKS)
#ifdef COUNT_FROM_ANSWER    /* the lease is counted from the answer */
        COUNT(w);
#endif
        if
        :: counted[w] > 0 -> remains[w] = counted[w]; counted[w] = 0; alive[w] = true
        :: else -> start_anew(); goto ask
        fi;
#endif
        printf("worker %d: works under epoch %d\n", w, e);
        assert(EXECUTIONS <= 1)
    };

    do
#ifdef CLOCKS
    :: atomic { asking[w] == 0 && MAY_SEND(w) ->
        asking[w] = UNUSED_ID(w); COUNT(w); SEND(RENEW, e, asking[w]) }
    :: atomic { asking[w] > 0 && MAY_SEND(w) -> COUNT_REPEAT(w); SEND(RENEW, e, asking[w]) }
    :: atomic { asking[w] > 0 -> hang_up(); asking[w] = 0; counted[w] = 0 }     /* that try has had its time */
#else
    :: atomic { !renewed && MAY_SEND(w) -> SEND(RENEW, e, 0); MARK_RENEWED }
#endif
    :: atomic {
        answer[w]?op, code, x, i ->
        GONE(w);
        if
        :: code == LEASE_LOST && !NEEDS_PROOF -> start_anew(); goto ask
        :: code == LEASE_LOST && NEEDS_PROOF -> word = STOPPED; end_work(); break
        :: code == HELD_PAUSE -> word = PAUSE; end_work(); break
        :: code == HELD_CANCEL -> word = CANCEL; end_work(); break
        :: code == HELD ->
#ifdef CLOCKS
#ifdef COUNT_FROM_ANSWER
            COUNT(w);
#endif
            remains[w] = (counted[w] > remains[w] -> counted[w] : remains[w]);
            asking[w] = 0; counted[w] = 0;
#endif
            hang_up()
        fi }
    :: atomic { word = COMPLETE; end_work(); break }
    :: atomic { FAULT -> word = FAIL; end_work(); break }
    :: atomic { releases > 0 -> releases--; word = RELEASE; end_work(); break }
    :: atomic { FAULT -> crash(); goto ask }
    od;

    do
    :: atomic { MAY_SEND(w) -> SEND(word, e, 0) }
    :: atomic {
        answer[w]?op, code, x, i ->
        GONE(w);
        if
        :: op == word ->
            assert(code != OK || word != COMPLETE || state == COMPLETED);
            assert(code != OK || word != FAIL || granted != e || paid);
            assert(code != OK || word == STOPPED || granted != e || !right);
            start_anew();
            goto ask
        :: else -> hang_up()
        fi }
    :: atomic { FAULT -> crash(); goto ask }
    :: atomic { FAULT_IF(word == COMPLETE) -> word = FAIL }      /* second thoughts after a success nobody heard of */
    od
}

/* ---- Creator and operator --------------------------------------------------------------------------- */

/* What they ask for has no fence, so what comes late is the same as what is asked for later: each is a step at once.
 * The creator repeats by its key, also after it has heard. */
proctype Creator()
{
    bool is_acknowledged;

end:
    do
    :: atomic {
        !is_acknowledged || !IS_LIVE ->
        if
#ifdef ACK_BEFORE_COMMIT    /* the answer goes first, and then the engine is killed */
        :: true
#endif
        :: state == ABSENT -> state = QUEUED
        :: state != ABSENT
        fi;
        if
        :: FAULT                            /* unheard */
        :: is_acknowledged = true
        fi;
        assert(!is_acknowledged || state != ABSENT) }
    od
}

#ifdef FAULTS_END
/* When nobody can move any more, the task must be where it may stay. That every run comes to this point is checked
 * by looking for cycles: there is none, so no fairness need be assumed. */
#ifdef LIVE_DONE
#define IS_AT_REST (state == COMPLETED)
#else
#define IS_AT_REST (IS_TERMINAL(state) || state == PAUSED)
#endif

proctype Rest()
{
    timeout -> assert(IS_AT_REST)
}
#endif

proctype Operator()
{
    mtype op = NOTHING;
    mtype was = ABSENT;
    byte was_epoch, operations = OPERATIONS;
    bool was_due;

end:
    do
    :: atomic {
        operations > 0 && state != ABSENT ->
        operations--;
        d_step { begin_step() };
        if
        :: state == RUNNING && wish == NOTHING -> wish = PAUSE; promised = true
        :: state == RUNNING -> wish = CANCEL; promised = true
        :: state == RUNNING || state == RECOVERY_PENDING -> epoch++; move_to(CANCELLED)    /* by force */
        :: state == QUEUED -> promised = true; move_to(PAUSED)
        :: state == PAUSED -> promised = false; move_to(QUEUED)
        :: state == QUEUED || state == PAUSED -> move_to(CANCELLED)
        :: state == QUEUED || state == PAUSED -> completions++; move_to(COMPLETED)
        /* resume and resolve */
        :: state == FAILED || state == DEAD_LETTER -> epoch++; retries = 0; promised = false; move_to(QUEUED)
        :: state == FAILED || state == DEAD_LETTER -> epoch++; move_to(CANCELLED)
        :: state == FAILED || state == DEAD_LETTER -> epoch++; completions++; move_to(COMPLETED)
#ifdef SUPERVISED
        :: state == RECOVERY_PENDING -> epoch++; completions++; move_to(COMPLETED)
        :: state == RECOVERY_PENDING && PROVED -> epoch++; move_to(FAILED)
        :: state == RECOVERY_PENDING && PROVED -> epoch++; paid = true; come_back()
#endif
        :: else
        fi;
        d_step { printf("operator\n"); SHOW_ROW; end_step(true) } }
    od
}

init
{
    atomic {
        run Engines();
        run Timers();
        run Clock();
        run Worker(0);
        run Worker(1);
        run Creator();
#ifdef FAULTS_END
        run Rest();
#endif
        run Operator()
    }
}

