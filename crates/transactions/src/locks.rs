//! Locks of pages, shared and exclusive, held to the end of the transaction (strict two-phase locking).
//!
//! Requests that conflict wait in order; one that holds the page shared and wants it exclusively goes first. A wait
//! that closes a cycle of the wait-for graph is a deadlock (Gray and Reuter, Transaction Processing, section 7.11); the
//! graph is not kept, but read off the locks when a request has to wait.
//!
//! A lock that is granted at once costs a table access and a bit: 4 bytes a page of the database, and per locked page a
//! bit a client. Nothing is allocated in the long run.

#[cfg(test)]
mod tests;

/// Mode of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Shared,
    Exclusive,
}

/// No client; no lock.
const NONE: u32 = u32::MAX;

/// The locks of all clients.
pub(crate) struct Locks {
    /// By page: the number of its lock plus one; 0 where it is not locked.
    table: Vec<u32>,
    locks: Vec<Lock>,
    /// By lock: the clients that hold it, `words` words of bits each.
    holders: Vec<u64>,
    words: usize,
    /// Numbers of locks that are not in use.
    free: Vec<u32>,
    clients: Vec<Client>,
    search: Search,
}

#[derive(Clone, Copy)]
struct Lock {
    page: u32,
    /// Number of holders; one if exclusive.
    held_by: u32,
    exclusive: bool,
    /// The queue of waiting clients.
    first: u32,
    last: u32,
}

#[derive(Clone)]
struct Client {
    /// Locks that it holds.
    held: Vec<u32>,
    /// The lock that it waits for.
    waits_for: u32,
    mode: Mode,
    /// Whether it already holds that lock shared.
    upgrades: bool,
    /// The next client in the queue of that lock.
    next: u32,
}

/// Memory of the search for cycles.
#[derive(Default)]
struct Search {
    /// By client: from which client the search came to it.
    from: Vec<u32>,
    stack: Vec<u32>,
    blockers: Vec<u32>,
}

impl Locks {
    pub fn new(pages: u32, clients: u32) -> Self {
        let client =
            Client { held: Vec::new(), waits_for: NONE, mode: Mode::Shared, upgrades: false, next: NONE };
        Self {
            table: vec![0; pages as usize],
            locks: Vec::new(),
            holders: Vec::new(),
            words: (clients as usize).div_ceil(64),
            free: Vec::new(),
            clients: vec![client; clients as usize],
            search: Search::default(),
        }
    }

    /// Locks `page` for `client`, which MUST not wait for another lock. Returns false where it has to wait.
    #[inline]
    pub fn acquire(&mut self, client: u32, page: u32, mode: Mode) -> bool {
        let entry = self.table[page as usize];
        if entry == 0 {
            self.create(client, page, mode);
            return true;
        }
        let number = entry - 1;
        let lock = &mut self.locks[number as usize];
        let upgrades =
            self.holders[number as usize * self.words + client as usize / 64] >> (client % 64) & 1 == 1;
        let granted = match (upgrades, mode) {
            (true, Mode::Shared) => true,
            (true, Mode::Exclusive) => {
                lock.exclusive |= lock.held_by == 1;
                lock.exclusive
            }
            (false, Mode::Shared) => !lock.exclusive && lock.first == NONE,
            // A lock in the table is held.
            (false, Mode::Exclusive) => false,
        };
        if !granted {
            self.enqueue(client, number, mode, upgrades);
        } else if !upgrades {
            self.hold(client, number);
        }
        granted
    }

    fn create(&mut self, client: u32, page: u32, mode: Mode) {
        let lock = Lock { page, held_by: 0, exclusive: mode == Mode::Exclusive, first: NONE, last: NONE };
        let number = match self.free.pop() {
            Some(number) => {
                self.locks[number as usize] = lock;
                number
            }
            None => {
                self.locks.push(lock);
                self.holders.resize(self.holders.len() + self.words, 0);
                self.locks.len() as u32 - 1
            }
        };
        self.table[page as usize] = number + 1;
        self.hold(client, number);
    }

    fn hold(&mut self, client: u32, number: u32) {
        self.holders[number as usize * self.words + client as usize / 64] |= 1 << (client % 64);
        self.locks[number as usize].held_by += 1;
        self.clients[client as usize].held.push(number);
    }

    #[cold]
    fn enqueue(&mut self, client: u32, number: u32, mode: Mode, upgrades: bool) {
        let lock = &mut self.locks[number as usize];
        let waiting = &mut self.clients[client as usize];
        debug_assert_eq!(waiting.waits_for, NONE, "a client waits for one lock");
        (waiting.waits_for, waiting.mode, waiting.upgrades) = (number, mode, upgrades);
        if upgrades {
            waiting.next = lock.first;
            lock.first = client;
            if lock.last == NONE {
                lock.last = client;
            }
        } else {
            waiting.next = NONE;
            let last = std::mem::replace(&mut lock.last, client);
            if last == NONE {
                lock.first = client;
            } else {
                self.clients[last as usize].next = client;
            }
        }
    }

    /// Releases all locks of `client`, and ends its wait. Appends the clients whose waits end with their locks granted.
    pub fn release(&mut self, client: u32, granted: &mut Vec<u32>) {
        self.end_wait(client, granted);
        let mut held = std::mem::take(&mut self.clients[client as usize].held);
        for number in held.drain(..) {
            self.holders[number as usize * self.words + client as usize / 64] &= !(1 << (client % 64));
            let lock = &mut self.locks[number as usize];
            lock.held_by -= 1;
            // A single holder may have been exclusive.
            lock.exclusive &= lock.held_by > 0;
            if lock.first != NONE {
                self.grant(number, granted);
            } else if lock.held_by == 0 {
                self.table[lock.page as usize] = 0;
                self.free.push(number);
            }
        }
        self.clients[client as usize].held = held;
    }

    /// Takes `client` out of the queue in which it waits, if any.
    fn end_wait(&mut self, client: u32, granted: &mut Vec<u32>) {
        let number = std::mem::replace(&mut self.clients[client as usize].waits_for, NONE);
        if number == NONE {
            return;
        }
        let next = self.clients[client as usize].next;
        let lock = &mut self.locks[number as usize];
        if lock.first == client {
            lock.first = next;
            if next == NONE {
                lock.last = NONE;
            }
        } else {
            let mut before = lock.first;
            while self.clients[before as usize].next != client {
                before = self.clients[before as usize].next;
            }
            self.clients[before as usize].next = next;
            if next == NONE {
                lock.last = before;
            }
        }
        // Those behind it may have waited only for it.
        self.grant(number, granted);
    }

    /// Grants the lock to waiting clients, in order, as far as they do not conflict.
    #[cold]
    fn grant(&mut self, number: u32, granted: &mut Vec<u32>) {
        loop {
            let lock = &mut self.locks[number as usize];
            let client = lock.first;
            if client == NONE {
                return;
            }
            let waiting = &mut self.clients[client as usize];
            let fits = match (waiting.upgrades, waiting.mode) {
                (true, _) => lock.held_by == 1,
                (false, Mode::Exclusive) => lock.held_by == 0,
                (false, Mode::Shared) => !lock.exclusive,
            };
            if !fits {
                return;
            }
            lock.exclusive = waiting.mode == Mode::Exclusive;
            lock.first = waiting.next;
            if lock.first == NONE {
                lock.last = NONE;
            }
            waiting.waits_for = NONE;
            let upgrades = waiting.upgrades;
            if !upgrades {
                self.hold(client, number);
            }
            granted.push(client);
        }
    }

    /// Returns whether `client` waits.
    pub fn waits(&self, client: u32) -> bool {
        self.clients[client as usize].waits_for != NONE
    }

    /// Returns the youngest client (of the largest `age`) of a cycle of clients that wait for each other, through
    /// `client`, which waits; `None` where there is no cycle.
    #[cold]
    pub fn deadlock(&mut self, client: u32, age: impl Fn(u32) -> u64) -> Option<u32> {
        if self.clients[client as usize].held.is_empty() {
            // Others wait for it only behind it in the queue, of which it is the last.
            return None;
        }
        let mut search = std::mem::take(&mut self.search);
        search.from.clear();
        search.from.resize(self.clients.len(), NONE);
        search.stack.clear();
        search.stack.push(client);
        let mut found = None;
        while let Some(at) = search.stack.pop() {
            search.blockers.clear();
            self.blockers(at, &mut search.blockers);
            for &blocker in &search.blockers {
                if blocker == client {
                    search.stack.clear();
                    found = Some(at);
                    break;
                }
                if search.from[blocker as usize] == NONE && self.waits(blocker) {
                    search.from[blocker as usize] = at;
                    search.stack.push(blocker);
                }
            }
        }
        let youngest = found.map(|last| {
            let cycle = std::iter::successors(Some(last), |&at| {
                Some(search.from[at as usize]).filter(|&at| at != NONE)
            });
            cycle.max_by_key(|&at| age(at)).expect("a cycle has members")
        });
        self.search = search;
        youngest
    }

    /// Appends the clients for which `client` waits: those that hold its lock, and those before it in the queue, where
    /// they conflict.
    fn blockers(&self, client: u32, out: &mut Vec<u32>) {
        let waiting = &self.clients[client as usize];
        let number = waiting.waits_for;
        let lock = &self.locks[number as usize];
        if lock.exclusive || waiting.mode == Mode::Exclusive {
            let words = &self.holders[number as usize * self.words..][..self.words];
            for (word, base) in words.iter().zip((0..).step_by(64)) {
                let mut bits = *word;
                while bits != 0 {
                    let holder = base + bits.trailing_zeros();
                    bits &= bits - 1;
                    if holder != client {
                        out.push(holder);
                    }
                }
            }
        }
        let mut before = lock.first;
        while before != client {
            let other = &self.clients[before as usize];
            if waiting.mode == Mode::Exclusive || other.mode == Mode::Exclusive {
                out.push(before);
            }
            before = other.next;
        }
    }
}
