//! Commands that wait for keys.
//!
//! Invariants: a number is free or has a command; a command is ready once, when it has got its last key.

use crate::cells::CommandId;
use crate::command::{Kind, Spec};
use crate::key::Key;
use crate::protocol::Request;
use crate::session::SlotId;
use crate::watches::WatchId;
use std::collections::VecDeque;

/// Commands for which memory is kept when none waits any more.
const COMMANDS_KEPT: usize = 1024;

/// What a command does.
#[derive(Debug)]
pub enum Work {
    /// A command on keys.
    One(&'static Spec, Request),
    /// The commands between MULTI and EXEC, and the keys that were watched.
    Transaction(Vec<(&'static Spec, Request)>, Option<WatchId>),
}

/// A command that waits for keys.
#[derive(Debug)]
pub struct WaitingCommand {
    /// Where its reply goes.
    pub slot: SlotId,
    pub work: Work,
    /// Its keys, and whether it needs their values.
    pub keys: Vec<(Key, bool)>,
    /// Keys that it has not got.
    blocked: usize,
}

impl Work {
    /// Returns the keys, each once, and whether their values are needed.
    pub fn keys(&self) -> Vec<(Key, bool)> {
        let one = |spec: &Spec, request: &Request| -> Vec<(Key, bool)> {
            let needs = match &spec.kind {
                Kind::Keys(needs_value, _) => needs_value(request),
                _ => true,
            };
            spec.key_numbers(request).map(|nth| (Key::from(request.arg(nth)), needs)).collect()
        };
        let mut keys = match self {
            Self::One(spec, request) => one(spec, request),
            Self::Transaction(commands, _) => {
                commands.iter().flat_map(|(spec, request)| one(spec, request)).collect()
            }
        };
        if keys.len() > 1 {
            keys.sort_unstable();
            keys.dedup_by(|next, kept| {
                let is_same = next.0 == kept.0;
                kept.1 |= is_same && next.1;
                is_same
            });
        }
        keys
    }

    /// Returns whether its changes are stored as a whole.
    pub fn is_atomic(&self) -> bool {
        match self {
            Self::One(spec, _) => matches!(spec.kind, Kind::Atomic(_)),
            Self::Transaction(..) => true,
        }
    }
}

/// The commands that wait for keys, by number.
#[derive(Debug, Default)]
pub struct WaitingCommands {
    commands: Vec<Option<WaitingCommand>>,
    free: Vec<CommandId>,
    /// Commands that have got their last key.
    ready: VecDeque<CommandId>,
}

impl WaitingCommands {
    /// Adds a command that has none of its keys. Returns its number.
    pub fn add(&mut self, slot: SlotId, work: Work, keys: Vec<(Key, bool)>) -> CommandId {
        let blocked = keys.len();
        let command = Some(WaitingCommand { slot, work, keys, blocked });
        match self.free.pop() {
            Some(id) => {
                self.commands[id as usize] = command;
                id
            }
            None => {
                self.commands.push(command);
                (self.commands.len() - 1) as CommandId
            }
        }
    }

    /// Returns whether a command needs the value of one of its keys.
    pub fn needs_value(&self, id: CommandId, key: &Key) -> bool {
        let command = self.commands[id as usize].as_ref().expect("a command that waits is there");
        command.keys.iter().any(|(own, needs)| own == key && *needs)
    }

    /// Gives a command one of its keys.
    pub fn grant(&mut self, id: CommandId) {
        let command = self.commands[id as usize].as_mut().expect("a command that waits is there");
        command.blocked -= 1;
        if command.blocked == 0 {
            self.ready.push_back(id);
        }
    }

    /// Returns whether a command has got all its keys.
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Takes the next command that has got all its keys, and its number, which is free from now on.
    pub fn take_ready(&mut self) -> Option<(CommandId, WaitingCommand)> {
        let id = self.ready.pop_front()?;
        let command = self.commands[id as usize].take().expect("a command that is ready is there");
        self.free.push(id);
        Some((id, command))
    }

    /// Gives memory back once none waits.
    pub fn shrink(&mut self) {
        if self.free.len() == self.commands.len() && self.commands.len() > COMMANDS_KEPT {
            (self.commands, self.free) = (Vec::new(), Vec::new());
        }
    }

    /// Returns the number of commands for which there is memory.
    #[cfg(test)]
    pub fn capacity(&self) -> usize {
        self.commands.capacity().max(self.free.capacity())
    }
}
