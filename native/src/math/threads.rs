//! Threads: one job at a time, shared out task by task.
//!
//! A level of a small forest takes some tenths of a millisecond, and there are hundreds of levels; a thread that has gone
//! to sleep between two of them is woken too late to help. So workers wait awake before they sleep, for as long as Python
//! takes between two levels of several parties (yielding to whoever else wants the core), and the calling thread does
//! tasks itself and waits only for tasks already begun.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, PoisonError, TryLockError};
use std::{hint, process, ptr, thread};

/// How often a waiting worker looks for work before it yields, and how often it yields before it sleeps.
const SPINS: u32 = 3000;
const YIELDS: u32 = 2000;

/// Work for all threads: `next` hands out the numbers of its tasks.
struct Job<'a> {
    task: &'a (dyn Fn(usize) + Sync),
    n_tasks: usize,
    n_helpers: usize,
    next: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Job<'_> {
    fn help(&self) {
        loop {
            let i = self.next.fetch_add(1, SeqCst);
            if i >= self.n_tasks {
                return;
            }
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (self.task)(i))) {
                self.next.store(self.n_tasks, SeqCst);
                *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
            }
        }
    }
}

#[derive(Default)]
struct Pool {
    /// The job at hand, null between jobs.
    job: AtomicPtr<Job<'static>>,
    /// Workers that may be looking at the job.
    inside: AtomicUsize,
    /// Grows with every job.
    generation: AtomicU64,
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    bell: Condvar,
}

impl Pool {
    /// What worker number `index` does for ever.
    fn work(&self, index: usize) {
        loop {
            let seen = self.generation.load(SeqCst);
            // Counted before looking: the owner of a job waits for everyone counted before it lets go of the job.
            self.inside.fetch_add(1, SeqCst);
            // SAFETY: not null only while its owner is in `run`, which does not return while we are counted.
            if let Some(job) = unsafe { self.job.load(SeqCst).as_ref() }
                && index < job.n_helpers
            {
                job.help();
            }
            self.inside.fetch_sub(1, SeqCst);
            self.wait_beyond(seen);
        }
    }

    fn wait_beyond(&self, seen: u64) {
        for i in 0..SPINS + YIELDS {
            if self.generation.load(SeqCst) != seen {
                return;
            }
            if i < SPINS { hint::spin_loop() } else { thread::yield_now() }
        }
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, SeqCst);
        while self.generation.load(SeqCst) == seen {
            guard = self.bell.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, SeqCst);
    }

    fn run(&self, job: &Job) {
        self.job.store(ptr::from_ref(job).cast_mut().cast(), SeqCst);
        self.generation.fetch_add(1, SeqCst);
        if self.sleepers.load(SeqCst) > 0 {
            let _guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.bell.notify_all();
        }
        job.help();
        self.job.store(ptr::null_mut(), SeqCst);
        let mut waited = 0;
        while self.inside.load(SeqCst) > 0 {
            waited += 1;
            if waited < SPINS { hint::spin_loop() } else { thread::yield_now() }
        }
    }
}

/// The pool of this process and the number of its workers. A forked child has none of its parent's threads and makes its own.
struct Crew {
    process: u32,
    pool: Arc<Pool>,
    workers: usize,
}

static CREW: Mutex<Option<Crew>> = Mutex::new(None);

fn run(threads: usize, n_tasks: usize, task: &(dyn Fn(usize) + Sync)) {
    // Held for the whole job: a second caller, or a task that is itself a caller, works alone.
    let crew = match CREW.try_lock() {
        _ if threads <= 1 || n_tasks <= 1 => None,
        Ok(crew) => Some(crew),
        Err(TryLockError::Poisoned(crew)) => Some(crew.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    };
    let Some(mut guard) = crew else {
        return (0..n_tasks).for_each(task);
    };
    if guard.as_ref().is_none_or(|c| c.process != process::id()) {
        *guard = Some(Crew { process: process::id(), pool: Arc::default(), workers: 0 });
    }
    let crew = guard.as_mut().expect("just made");
    while crew.workers < threads.min(n_tasks) - 1 {
        let (pool, index) = (Arc::clone(&crew.pool), crew.workers);
        if thread::Builder::new().name("hedgerow".into()).spawn(move || pool.work(index)).is_err() {
            break; // fewer threads, the same result
        }
        crew.workers += 1;
    }
    let job = Job { task, n_tasks, n_helpers: threads - 1, next: AtomicUsize::new(0), panic: Mutex::default() };
    crew.pool.run(&job);
    drop(guard);
    if let Some(panic) = job.panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
        resume_unwind(panic);
    }
}

/// The results of `work` for each item, in order, on this many threads. Within `work` another `map` works alone.
pub fn map<T: Send, R: Send>(threads: usize, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    if threads <= 1 || items.len() <= 1 {
        return items.into_iter().map(work).collect();
    }
    let items: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
    let results: Vec<Mutex<Option<R>>> = items.iter().map(|_| Mutex::new(None)).collect();
    run(threads, items.len(), &|i| {
        let item = items[i].lock().unwrap_or_else(PoisonError::into_inner).take();
        let result = work(item.expect("each task is done once"));
        *results[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    let taken = |r: Mutex<Option<R>>| r.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_iter().map(|r| taken(r).expect("each task was done")).collect()
}

/// `work` for each item, on this many threads.
pub fn for_each<T: Send>(threads: usize, items: Vec<T>, work: impl Fn(T) + Sync) {
    map(threads, items, work);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_done_once_and_results_keep_their_order() {
        for round in 0..2000 {
            let n = round % 37;
            let found = map(4, (0..n).collect(), |i: usize| i * i);
            assert_eq!(found, (0..n).map(|i| i * i).collect::<Vec<_>>());
        }
    }

    #[test]
    fn callers_at_the_same_time_all_get_their_results() {
        thread::scope(|scope| {
            for caller in 0..4usize {
                scope.spawn(move || {
                    for _ in 0..500 {
                        let found = map(3, (0..20).collect(), |i: usize| map(3, vec![i, caller], |x| x + 1)[0]);
                        assert_eq!(found, (1..21).collect::<Vec<_>>());
                    }
                });
            }
        });
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_lives_on() {
        let spoilt = catch_unwind(|| map(2, (0..50).collect(), |i: usize| assert!(i != 25)));
        assert!(spoilt.is_err());
        // Two tasks that wait for each other need two threads; other tests may hold the pool for a moment.
        let met = |_| {
            let meeting = std::sync::atomic::AtomicUsize::new(0);
            let found = map(2, vec![1, 2], |i| {
                meeting.fetch_add(1, SeqCst);
                let started = std::time::Instant::now();
                while meeting.load(SeqCst) < 2 && started.elapsed().as_millis() < 200 {
                    hint::spin_loop();
                }
                (i, meeting.load(SeqCst))
            });
            found == [(1, 2), (2, 2)]
        };
        assert!((0..50).any(met), "no helper came");
    }
}
