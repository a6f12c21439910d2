/* The lease protocol of one task, for SPIN.
 *
 * Two workers, two engines on one store, a creator, an operator, a clock. Run by `check`; README.md says
 * which rule of the code each assertion stands for.
 *
 * The idea: a step is one transaction, so it is atomic here. All else is not. A request may be lost, or lie
 * in an engine's queue while the world goes on; an answer may be lost or come late; whoever has heard nothing
 * sends again, to either engine; a worker may crash and start anew with the same name, or sleep as long as it
 * likes. Whether a lease is over only the engines' clock decides, at any moment it likes. Nothing is assumed
 * of the workers' clocks, except with CLOCKS.
 *
 * One task is enough: a step changes each task by its own row alone. One command a step is enough: commands
 * of one step are applied one after the other at one instant, which is a row of steps without a tick between.
 *
 * What is checked (one of the first three):
 *   (nothing)    client-held lease: expiry alone gives the task back
 *   SUPERVISED   the lease of work we run ourselves: the task comes back only when its execution is proved dead
 *   CLOCKS       client-held, with clocks that count ticks: a holder that stops in time never overlaps the next
 *   LIVE         liveness: faults are used up some day, then the task comes to rest
 *   LIVE_DONE    liveness: with no more faults than the budget allows, the task is completed
 * The other switches are the broken twins: one rule taken away each. Every one of them must fail. */

/* ---- The broken twins ---------------------------------------------------------------------------------- */

#ifdef NO_FENCE             /* an outcome is accepted whatever its epoch */
#define SAME_EPOCH(e) true
#else
#define SAME_EPOCH(e) (epoch == (e))
#endif

#ifdef NO_STATE             /* the epoch is compared, the state and the owner are not */
#define IS_HELD_BY(who) true
#else
#define IS_HELD_BY(who) (state == RUNNING && owner == (who))
#endif

#ifdef WORKER_CLOCK         /* whoever asks says whether the lease is over: its clock may be ahead */
#define LEASE_OVER (over || op == CLAIM)
#else
#define LEASE_OVER over
#endif

#ifdef EPOCH_REUSED         /* the epoch starts anew when a task comes back */
#define RAISE_EPOCH epoch = 0
#else
#define RAISE_EPOCH epoch++
#endif

#ifdef RENEW_REVIVES        /* a renewal is judged before what is due, by the epoch alone */
#define DUE_FIRST (op != RENEW)
#elif defined(GRANT_BEFORE_FENCE) /* so is a claim, and what is due is applied after it as it was read */
#define DUE_FIRST (op != CLAIM)
#else
#define DUE_FIRST true
#endif

#ifdef REPEAT_APPLIES       /* the outcome under the last epoch is applied, accepted before or not */
#define IS_REPEAT(e, op) false
#define MAY_TELL(who, e) (HOLDS(who, e) || outcome_epoch == (e))
#else
#define IS_REPEAT(e, op) (outcome_epoch == (e) && outcome == (op))
#define MAY_TELL(who, e) HOLDS(who, e)
#endif

#ifdef CONTROL_FORGOTTEN    /* a task that comes back is queued, whatever the operator was promised */
#define ASKED(what) false
#else
#define ASKED(what) (control == (what))
#endif

#ifdef FREE_CRASH           /* a lost lease costs nothing */
#define CHARGE_LOSS skip
#else
#define CHARGE_LOSS charge()
#endif

#ifdef NO_PROOF             /* expiry alone gives supervised work back */
#define NEEDS_PROOF false
#elif defined(SUPERVISED)
#define NEEDS_PROOF true
#else
#define NEEDS_PROOF false
#endif

#ifdef STALE_PROOF          /* a finding is applied to whatever recovery is pending when it arrives */
#define PROOF_FITS(e) true
#else
#define PROOF_FITS(e) (epoch == (e))
#endif

#ifdef STOP_UNFENCED        /* a worker's word that it has stopped is judged by its name alone */
#define STOP_FITS(who, e) (owner == (who))
#else
#define STOP_FITS(who, e) (owner == (who) && epoch == (e))
#endif

#ifdef NO_SECOND_LOOK       /* the execution starts as soon as its lock is taken */
#define STILL_MINE(w, e) true
#else
#define STILL_MINE(w, e) (state == RUNNING && owner == (w) && epoch == (e))
#endif

#ifdef RESOLVE_BLIND        /* an operator gives a task back without asking for proof */
#define PROVED true
#else
#define PROVED (!LOCKED(epoch))
#endif

#ifdef NO_MARGIN
#define MARGIN 0
#else
#define MARGIN 1
#endif

/* ---- Sizes --------------------------------------------------------------------------------------------- */

#ifndef BUDGET
#define BUDGET 1            /* max_retries: attempts beyond the first */
#endif
#ifndef OPERATIONS
#define OPERATIONS 1        /* what the operator does at most */
#endif
#ifndef RELEASES
#define RELEASES 1          /* releases are free, so they must be counted here, or epochs grow for ever */
#endif
#ifndef QUEUE
#define QUEUE 1             /* requests an engine's queue holds */
#endif

#define WORKERS 2
#define NOBODY 2

/* Liveness needs faults that end. A fault is then a coin of a purse; elsewhere it is free. */
#if defined(LIVE) || defined(LIVE_DONE)
#ifndef FAULTS
#define FAULTS 1
#endif
byte faults = FAULTS;
#define FAULT atomic { faults > 0 -> faults-- }
#define IS_LIVE true
#else
#define FAULT true
#define IS_LIVE false
#endif

/* ---- The store: one row, and what a worker's row remembers of its last claim ----------------------------- */

mtype:states = { ABSENT, QUEUED, RUNNING, PAUSED, RECOVERY_PENDING, COMPLETED, FAILED, CANCELLED, DEAD_LETTER }
mtype:words = { NOTHING, CLAIM, RENEW, COMPLETE, FAIL, RELEASE, PAUSE, CANCEL, STOPPED }
mtype:codes = { NONE, OK, GRANT, HELD, HELD_PAUSE, HELD_CANCEL, LEASE_LOST }

mtype:states state = ABSENT;
byte owner = NOBODY;
bool leased;                /* a lease end is set */
bool over;                  /* and the engines' clock has reached it */
byte epoch;
byte retries;
mtype:words control = NOTHING;
byte outcome_epoch;         /* the last accepted outcome, so that repeating it is safe */
mtype:words outcome = NOTHING;
byte asked[WORKERS];        /* the newest claim's request id */

/* Held by processes, freed by the kernel; the lock's name is the epoch. */
byte lock[WORKERS];         /* by the worker, for the execution it is about to start or has started */
byte orphan[WORKERS];       /* by an execution that has outlived its worker */
bool alive[WORKERS];        /* the worker's execution runs */
#define LOCKED(e) (lock[0] == (e) || lock[1] == (e) || orphan[0] == (e) || orphan[1] == (e))
#define ALIVE (alive[0] + alive[1] + (orphan[0] > 0) + (orphan[1] > 0))

/* ---- What the check knows and the code does not ---------------------------------------------------------- */

byte granted;               /* the last epoch that was granted */
bool right;                 /* whether it still gives a right, by the engines' clock and the rows */
bool charged;               /* whether that grant has been charged to the budget */
bool create_acknowledged;
bool cancel_promised;       /* the operator was told that the task will be cancelled */
byte completions;
byte releases = RELEASES;
byte heeded[WORKERS];       /* the epoch a worker works under */
bool telling[WORKERS];      /* that its work has ended, and how */
byte asking[WORKERS];       /* the request id a worker waits for */

#define IS_TERMINAL(s) (s == COMPLETED || s == FAILED || s == CANCELLED || s == DEAD_LETTER)
#define HOLDS(who, e) (IS_HELD_BY(who) && SAME_EPOCH(e) && !over)

/* ---- Wires ----------------------------------------------------------------------------------------------- */

/* word, who, epoch, request id; word, code, epoch, request id */
chan request[2] = [QUEUE] of { mtype:words, byte, byte, byte };
chan answer[WORKERS] = [1] of { mtype:words, mtype:codes, byte, byte };

/* Whoever waits for an answer may send again at any time. For liveness it may only when nothing of it is on
 * its way: a sender that floods a queue for ever starves everybody, which is no fault of the protocol. */
#if defined(LIVE) || defined(LIVE_DONE)
byte on_way[WORKERS];
#define SENT(who) on_way[who]++
#define GONE(who) on_way[who]--
#define MAY_SEND(who) (on_way[who] == 0)
#else
#define SENT(who) skip
#define GONE(who) skip
#define MAY_SEND(who) true
#endif

#define SEND(who, word, e, id)                                                                       \
    :: atomic { MAY_SEND(who) && nfull(request[0]) -> request[0]!word, who, e, id; SENT(who) }       \
    :: atomic { MAY_SEND(who) && nfull(request[1]) -> request[1]!word, who, e, id; SENT(who) }

/* Request ids are random in the code; here the smallest that nobody still remembers. */
#define IN_USE(w, id)                                                                                \
    (asked[w] == id || request[0]??[CLAIM, eval(w), _, eval(id)] ||                                  \
     request[1]??[CLAIM, eval(w), _, eval(id)])

/* For the check's sake: what no request on its way and no worker can ask for any more is forgotten. The code
 * need not know, and nobody can tell; it keeps the states few. */
#define ASKS(w, id) (asking[w] == id || request[0]??[CLAIM, eval(w), _, eval(id)] ||                  \
                     request[1]??[CLAIM, eval(w), _, eval(id)])
#define TELLS(e) (heeded[0] == e || heeded[1] == e || request[0]??[_, _, eval(e), _] ||               \
                  request[1]??[_, _, eval(e), _])

inline forget()
{
    if
    :: !ASKS(0, asked[0]) -> asked[0] = 0
    :: else
    fi;
    if
    :: !ASKS(1, asked[1]) -> asked[1] = 0
    :: else
    fi;
    if
    :: !TELLS(outcome_epoch) -> outcome_epoch = 0; outcome = NOTHING
    :: else
    fi
}

/* An answer nobody waits for any more comes to a closed socket; one that says what the worker assumes anyhow
 * need not be written down. */
#define LISTENS ((op == CLAIM && asking[who] == id) || (op != CLAIM && heeded[who] == e && telling[who] == (op != RENEW)))
#ifdef CLOCKS
#define IS_NEWS true
#else
#define IS_NEWS (code != NONE && code != HELD)
#endif

/* ---- Clocks that count, for CLOCKS alone ------------------------------------------------------------------- */

#ifdef CLOCKS
#define LEASE 3
#define SKEW 1              /* what a worker's clock may miss during a lease */
byte left;                  /* engines: ticks to the lease's end */
byte counted[WORKERS];      /* workers: what the request on its way would give, counted from before it left */
byte remains[WORKERS];      /* workers: what is left of the lease, by their own clock, less the margin */
#define ARM left = LEASE
#else
#define ARM skip
#endif

#ifdef SUPERVISED
#define TAKE_LOCK lock[w] = e
#define IS_SUPERVISED true
#else
#define TAKE_LOCK skip
#define IS_SUPERVISED false
#endif

/* ---- The step ---------------------------------------------------------------------------------------------- */

/* Each loss and each failure is paid once. */
inline charge()
{
    assert(!charged);
    charged = true;
    retries++
}

/* Where a task goes that comes back: E5 of the decisions. */
inline come_back()
{
    owner = NOBODY;
    leased = false;
    over = false;
    right = false;
    if
    :: retries > BUDGET -> state = DEAD_LETTER
    :: else ->
        if
        :: ASKED(CANCEL) -> state = CANCELLED
        :: ASKED(PAUSE) -> state = PAUSED
        :: else -> state = QUEUED
        fi
    fi;
    control = NOTHING
}

/* Fencing first. Supervised work waits for proof, still under its epoch, so that its worker may say that it
 * has stopped. */
inline fence()
{
    if
    :: NEEDS_PROOF ->
        state = RECOVERY_PENDING;
        leased = false;
        over = false;
        right = false
    :: else ->
        CHARGE_LOSS;
        RAISE_EPOCH;
        come_back()
    fi
}

inline requeue_proved()
{
    CHARGE_LOSS;
    RAISE_EPOCH;
    come_back()
}

inline close_task(to)
{
    state = to;
    owner = NOBODY;
    leased = false;
    over = false;
    right = false;
    control = NOTHING
}

inline grant()
{
    assert(!cancel_promised);
    epoch++;
    assert(epoch > granted);
    state = RUNNING;
    owner = who;
    leased = true;
    over = false;
    ARM;
    granted = epoch;
    right = true;
    charged = false
}

inline claim()
{
    if
    :: asked[who] == id ->      /* a repeat: the same grant while it holds, else nothing */
        if
        :: state == RUNNING && owner == who -> code = GRANT; e = epoch
        :: else -> code = NONE
        fi
#ifdef GRANT_BEFORE_FENCE
    :: asked[who] != id && (state == QUEUED || was_due) ->
#else
    :: asked[who] != id && state == QUEUED ->
#endif
        grant();
        asked[who] = id;
        code = GRANT;
        e = epoch
    :: else -> code = NONE
    fi
}

inline renew()
{
    if
#ifdef RENEW_REVIVES
    :: state == RUNNING && owner == who && epoch == e ->
#else
    :: HOLDS(who, e) ->
#endif
        assert(right && e == granted);
        over = false;
        ARM;
        if
        :: control == PAUSE -> code = HELD_PAUSE
        :: control == CANCEL -> code = HELD_CANCEL
        :: else -> code = HELD
        fi
    :: else -> code = LEASE_LOST
    fi
}

/* complete, fail, release, and pause and cancel by the holder. */
inline tell()
{
    if
    :: IS_REPEAT(e, op) -> code = OK
    :: !IS_REPEAT(e, op) && MAY_TELL(who, e) ->
        assert(right && e == granted);
        outcome_epoch = e;
        outcome = op;
        code = OK;
        if
        :: op == COMPLETE -> completions++; close_task(COMPLETED)
        :: op == FAIL -> charge(); come_back()
        :: op == RELEASE -> come_back()
        :: op == PAUSE -> close_task(PAUSED)
        :: op == CANCEL -> close_task(CANCELLED)
        fi
    :: else -> code = LEASE_LOST    /* kept as a late result, which changes no task */
    fi
}

/* The worker's own word that its execution has ended; it wins or the probe does, never both. */
inline stopped()
{
    if
    :: state == RECOVERY_PENDING && STOP_FITS(who, e) -> requeue_proved(); code = OK
    :: else -> code = LEASE_LOST
    fi
}

inline begin()
{
    was = state;
    was_epoch = epoch;
    was_due = (state == RUNNING && LEASE_OVER);
    if
    :: was_due && DUE_FIRST -> assert(over); fence()
    :: else
    fi
}

/* What must hold after every step. */
inline end_step(is_operator)
{
    assert((state == RUNNING) == (leased && owner != NOBODY));
    assert(state == RUNNING || !leased);
    assert(owner == NOBODY || state == RUNNING || state == RECOVERY_PENDING);
    assert(state != RUNNING || epoch == granted);
    assert(epoch >= was_epoch && epoch >= granted);
    assert(completions <= 1 && (completions == 1) == (state == COMPLETED));
    assert((was != COMPLETED && was != CANCELLED) || state == was);
    assert(!IS_TERMINAL(was) || state == was || (is_operator && epoch > was_epoch));
    assert(retries <= BUDGET || IS_TERMINAL(state));
    assert(was == ABSENT || state != ABSENT);
    was = ABSENT;
    was_epoch = 0;
    was_due = false
}

inline command()
{
    begin();
    if
    :: op == CLAIM -> claim()
    :: op == RENEW -> renew()
    :: op == STOPPED -> stopped()
    :: else -> tell()
    fi;
#ifdef GRANT_BEFORE_FENCE
    if
    :: op == CLAIM && was_due -> fence()
    :: else
    fi;
#endif
    assert(code != GRANT || (state == RUNNING && owner == who && epoch == e));
    end_step(false)
}

/* ---- Engines ----------------------------------------------------------------------------------------------- */

/* All an engine remembers are its queue and what its probes found. Killed, it loses both; that is the same as
 * losing the requests, so there is no restart to write down. */
proctype Engine(byte n)
{
    mtype:words op = NOTHING;
    mtype:codes code = NONE;
    mtype:states was = ABSENT;
    byte who, e, id, was_epoch;
#ifdef SUPERVISED
    byte found;                 /* the epoch whose execution a probe has found dead */
#endif
    bool was_due;

end:
    do
    :: atomic {
        request[n]?op, who, e, id ->
        if
        :: FAULT -> GONE(who)   /* lost, or killed before the commit: nothing was changed */
#ifdef ACK_BEFORE_COMMIT
        :: nfull(answer[who]) && op != CLAIM -> answer[who]!op, OK, e, id
#endif
        :: d_step { command() };
            if
            :: FAULT -> GONE(who)                   /* killed after it, or the answer is lost */
            :: nfull(answer[who]) && LISTENS && IS_NEWS -> answer[who]!op, code, e, id
            :: full(answer[who]) || !LISTENS || !IS_NEWS -> GONE(who)
            fi
        fi;
        op = NOTHING; code = NONE; who = 0; e = 0; id = 0;
        d_step { forget() } }

    /* Timers: nobody need ask. */
#ifndef NO_TIMER
    :: d_step { state == RUNNING && over -> begin(); end_step(false) }
#endif
    :: d_step { state == RUNNING && control == CANCEL ->    /* the wish's deadline has come */
        begin();
        if
        :: state == RUNNING -> epoch++; close_task(CANCELLED)
        :: else
        fi;
        end_step(false) }
#if !defined(SUPERVISED) && !defined(CLOCKS)
    :: atomic { state == RUNNING && !over -> FAULT ->       /* the attempt's time is up */
        d_step { begin(); charge(); epoch++; come_back(); end_step(false) } }
#endif

#ifdef SUPERVISED
    /* The probe looks at the lock outside any step; what it finds is judged like a command. */
#ifndef NO_PROBE
    :: d_step { state == RECOVERY_PENDING && !LOCKED(epoch) && found == 0 -> found = epoch }
#endif
    :: d_step { found > 0 ->
        begin();
        if
        :: state == RECOVERY_PENDING && PROOF_FITS(found) -> requeue_proved()
        :: else
        fi;
        found = 0;
        end_step(false) }
#endif
    od
}

/* ---- Clock ------------------------------------------------------------------------------------------------- */

#ifdef CLOCKS
/* A worker whose clock says so stops before the next tick: this is the assumption, and all there is of it. */
#define IN_TIME(w) (!alive[w] || remains[w] > 1)
#define DOWN(x) x = (x > 0 -> x - 1 : 0)

proctype Clock()
{
end:
    do
    :: d_step {
        IN_TIME(0) && IN_TIME(1) && left + counted[0] + counted[1] + remains[0] + remains[1] > 0 ->
        if
        :: left == 1 && state == RUNNING -> over = true; right = false
        :: else
        fi;
        DOWN(left);
        DOWN(counted[0]); DOWN(counted[1]); DOWN(remains[0]); DOWN(remains[1]) }
    od
}
#else
/* For LIVE_DONE a lease in good hands runs out by a fault only; in nobody's hands it runs out of itself. */
#ifdef LIVE_DONE
#define IN_GOOD_HANDS (heeded[0] == epoch || heeded[1] == epoch || \
                       answer[0]??[CLAIM, GRANT, eval(epoch), _] || answer[1]??[CLAIM, GRANT, eval(epoch), _])
#else
#define IN_GOOD_HANDS false
#endif

proctype Clock()
{
end:
    do
    :: d_step { state == RUNNING && !over && !IN_GOOD_HANDS -> over = true; right = false }
#ifdef LIVE_DONE
    :: d_step { state == RUNNING && !over && faults > 0 -> faults--; over = true; right = false }
#endif
#ifdef SUPERVISED
    :: orphan[0] > 0 -> orphan[0] = 0
    :: orphan[1] > 0 -> orphan[1] = 0
#endif
    od
}
#endif

/* ---- Workers ----------------------------------------------------------------------------------------------- */

inline end_execution()
{
    alive[w] = false;
    lock[w] = 0
}

/* What comes for a question nobody asks any more comes to a closed socket. */
inline hang_up()
{
    do
    :: answer[w]?op, code, x, i -> GONE(w)
    :: empty(answer[w]) -> break
    od;
    op = NOTHING; code = NONE; x = 0; i = 0
}

/* Back to the beginning, with nothing remembered: given up, told, or crashed and started again. */
inline start_anew()
{
    d_step {
        hang_up();
        end_execution();
        e = 0; word = NOTHING; renewed = false;
        heeded[w] = 0; telling[w] = false; asking[w] = 0;
        forget();
        if
        :: !IN_USE(w, 1) -> asking[w] = 1
        :: IN_USE(w, 1) && !IN_USE(w, 2) -> asking[w] = 2
        :: IN_USE(w, 1) && IN_USE(w, 2) -> asking[w] = 3
        fi;
        assert(!IN_USE(w, asking[w]))
    }
}

/* The work is at its end. An outcome leaves when nothing of the execution is left. */
inline end_work()
{
    d_step {
        hang_up();
#ifndef TELL_FIRST
        end_execution();
#endif
        telling[w] = true
    }
}

/* The execution ends with its worker, or outlives it. */
inline crash()
{
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
    mtype:words op = NOTHING, word = NOTHING;
    mtype:codes code = NONE;
    byte e, x, i;               /* my epoch; an answer's epoch and request */
    bool renewed;

    asking[w] = 1;
ask:
    do
    SEND(w, CLAIM, 0, asking[w])
    :: atomic {
        answer[w]?op, code, x, i ->
        GONE(w);
        if
        :: op == CLAIM && i == asking[w] && code == GRANT ->
            e = x;
            heeded[w] = e; asking[w] = 0;
            hang_up(); forget();
            TAKE_LOCK;
            goto work
        :: else -> hang_up()
        fi }
    :: atomic { FAULT -> start_anew() }             /* gives up, or crashes */
    od;

work:
#ifdef SUPERVISED
    /* The lock was taken first; now one more look at the row: the grant may have lain unheard while its lease ran
     * out and was proved free, for nobody held the lock then. */
    atomic {
        if
        :: STILL_MINE(w, e) -> alive[w] = true; assert(ALIVE <= 1)
        :: else -> start_anew(); goto ask
        fi };
#endif
    do
#if defined(LIVE) || defined(LIVE_DONE)
    :: atomic { !renewed && MAY_SEND(w) && nfull(request[0]) -> request[0]!RENEW, w, e, 0; SENT(w); renewed = true }
    :: atomic { !renewed && MAY_SEND(w) && nfull(request[1]) -> request[1]!RENEW, w, e, 0; SENT(w); renewed = true }
#else
    SEND(w, RENEW, e, 0)
#endif
    :: atomic {
        answer[w]?op, code, x, i ->
        GONE(w);
        if
        :: op == RENEW && x == e && code == LEASE_LOST -> word = STOPPED
        :: op == RENEW && x == e && code == HELD_PAUSE -> word = PAUSE
        :: op == RENEW && x == e && code == HELD_CANCEL -> word = CANCEL
        :: else
        fi;
        if
#ifndef SUPERVISED
        :: word == STOPPED -> start_anew(); goto ask    /* nobody waits to hear that of client-held work */
#endif
        :: word != NOTHING && (IS_SUPERVISED || word != STOPPED) -> end_work(); goto tell_it
        :: word == NOTHING -> hang_up()
        fi }
    :: atomic { word = COMPLETE; end_work(); goto tell_it }
    :: atomic { FAULT -> word = FAIL; end_work(); goto tell_it }
    :: atomic { releases > 0 -> releases--; word = RELEASE; end_work(); goto tell_it }
    :: atomic { FAULT -> crash(); goto ask }
    od;

tell_it:
    do
    SEND(w, word, e, 0)
    :: atomic {
        answer[w]?op, code, x, i ->
        GONE(w);
        if
        :: op == word && x == e ->
            assert(code != OK || word != COMPLETE || state == COMPLETED);
            assert(code != OK || word == STOPPED || granted != e || !right);
            assert(code != OK || word != FAIL || granted != e || charged);
            start_anew();
            goto ask
        :: else -> hang_up()
        fi }
    :: atomic { FAULT -> crash(); goto ask }
    :: atomic { word == COMPLETE -> FAULT -> word = FAIL }      /* a second thought after an unheard success */
    od
}

/* ---- Creator and operator ---------------------------------------------------------------------------------- */

/* Creates by a key and repeats as long as it has heard nothing, and afterwards too: a late copy. */
proctype Creator()
{
    bool is_acknowledged;
end:
    do
    :: atomic {
        if
#ifndef ACK_BEFORE_COMMIT
        :: state == ABSENT -> state = QUEUED
#endif
        :: else
        fi;
        if
        :: FAULT                        /* unheard */
        :: is_acknowledged = true
        fi;
        assert(!is_acknowledged || state != ABSENT) }
    od
}

/* Its commands have no fence, so a late one is the same as one given later: they are steps at once. */
proctype Operator()
{
    mtype:words op = NOTHING;
    mtype:states was = ABSENT;
    byte was_epoch, left_to_do = OPERATIONS;
    bool was_due;

end:
    do
    :: atomic {
        left_to_do > 0 && state != ABSENT ->
        left_to_do--;
        d_step { begin() };
        if
        :: state == RUNNING -> control = PAUSE
        :: state == RUNNING -> control = CANCEL; cancel_promised = true
        :: state == RUNNING || state == RECOVERY_PENDING ->         /* by force */
            epoch++; close_task(CANCELLED)
        :: state == QUEUED -> close_task(PAUSED)
        :: state == QUEUED || state == PAUSED -> close_task(CANCELLED)
        :: state == QUEUED || state == PAUSED -> completions++; close_task(COMPLETED)
        :: state == PAUSED -> close_task(QUEUED)
        :: state == FAILED || state == DEAD_LETTER ->               /* resume */
            epoch++; retries = 0; cancel_promised = false; close_task(QUEUED)
        :: state == FAILED || state == DEAD_LETTER ->               /* resolve */
            epoch++; completions++; close_task(COMPLETED)
        :: state == FAILED || state == DEAD_LETTER -> epoch++; close_task(CANCELLED)
#ifdef SUPERVISED
        :: state == RECOVERY_PENDING -> epoch++; completions++; close_task(COMPLETED)
        :: state == RECOVERY_PENDING && PROVED -> epoch++; close_task(FAILED)
        :: state == RECOVERY_PENDING && PROVED -> epoch++; close_task(QUEUED)
#endif
        :: else
        fi;
        d_step { end_step(true) } }
    od
}

init
{
    atomic {
        run Engine(0);
        run Engine(1);
        run Worker(0);
        run Worker(1);
        run Creator();
        run Clock();
        run Operator()
    }
}
