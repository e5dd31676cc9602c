//! MULTI, EXEC and WATCH.

use super::{Engine, Waiting};
use crate::cells::Keys;
use crate::clients::Transaction;
use crate::command::{CommandError, Kind, Spec, Verb};
use crate::key::Key;
use crate::protocol::Request;
use crate::reply::Reply;
use crate::session::{ClientId, Session, SlotId};
use crate::watches::WatchId;
use crate::work::Work;
use crate::writes::Change;
use flashlane_device::DataDevice;

impl<D: DataDevice, L: DataDevice> Engine<D, L> {
    /// Carries out a command of a transaction.
    pub(super) fn transact(&mut self, slot: SlotId, verb: Verb, request: &Request) {
        let client = self.clients.get_mut(&slot.client).expect("the client has just called");
        let refuse = |text: &str| Err(CommandError::Other(text.into()));
        let result = match (verb, client.transaction.is_some()) {
            (Verb::Multi, true) => refuse("ERR MULTI calls can not be nested"),
            (Verb::Multi, false) => {
                client.transaction = Some(Transaction::default());
                Ok("OK")
            }
            (Verb::Exec, false) => refuse("ERR EXEC without MULTI"),
            (Verb::Discard, false) => refuse("ERR DISCARD without MULTI"),
            (Verb::Watch, true) => refuse("ERR WATCH inside MULTI is not allowed"),
            (Verb::Watch, false) => {
                self.watch(slot.client, request);
                Ok("OK")
            }
            (Verb::Unwatch | Verb::Discard, _) => {
                if verb == Verb::Discard {
                    client.transaction = None;
                }
                if let Some(watch) = client.take_watch() {
                    self.watches.forget(watch);
                }
                Ok("OK")
            }
            (Verb::Exec, true) => {
                let transaction = client.transaction.take().expect("it was seen");
                let watch = client.take_watch();
                if !transaction.is_refused {
                    return self
                        .admit(Waiting::Command(slot, Work::Transaction(transaction.commands, watch)));
                }
                if let Some(watch) = watch {
                    self.watches.forget(watch);
                }
                refuse("EXECABORT Transaction discarded because of previous errors.")
            }
        };
        match result {
            Ok(status) => self.answer(slot, |reply| reply.simple(status)),
            Err(error) => self.answer(slot, |reply| reply.error(error)),
        }
    }

    /// Adds a command to the transaction of its connection.
    pub(super) fn collect(&mut self, slot: SlotId, spec: &'static Spec, request: Request) {
        if matches!(spec.kind, Kind::Keyspace(_) | Kind::Backup) {
            self.refuse_transaction(slot.client);
            let name = spec.name.to_uppercase();
            return self
                .answer(slot, |reply| reply.error(format!("ERR {name} inside MULTI is not supported")));
        }
        let client = self.clients.get_mut(&slot.client).expect("the client has just called");
        client.transaction.as_mut().expect("the client is in one").collect(spec, request);
        self.answer(slot, |reply| reply.simple("QUEUED"));
    }

    /// A command was refused: where the client is in a transaction, it will not run.
    pub(super) fn refuse_transaction(&mut self, client: ClientId) {
        let client = self.clients.get_mut(&client).expect("the client has just called");
        if let Some(transaction) = &mut client.transaction {
            transaction.is_refused = true;
        }
    }

    /// Runs the commands of a transaction. Returns their changes.
    pub(super) fn run_transaction(
        &mut self,
        slot: SlotId,
        commands: &[(&'static Spec, Request)],
        watch: Option<WatchId>,
        reply: &mut Reply,
    ) -> Vec<Change> {
        let is_broken = watch.is_some_and(|watch| self.watches.forget(watch));
        if is_broken {
            reply.null_array();
            return Vec::new();
        }
        // A client that has gone has sent EXEC before.
        let mut client = self.clients.remove(&slot.client);
        let mut gone = Session::default();
        reply.array(commands.len());
        let cells = std::mem::take(&mut self.cells);
        let mut keys = Keys::new(&cells, self.server.now_ms, self.server.options.limits.string_bytes_max());
        for (spec, request) in commands {
            let before = reply.len();
            let result = match &spec.kind {
                Kind::Keys(_, function) | Kind::Atomic(function) => function(&mut keys, request, reply),
                Kind::Session(function) => {
                    let session = client.as_mut().map_or(&mut gone, |client| &mut client.session);
                    self.with_context(session, |context| function(context, request, reply))
                }
                _ => unreachable!("{} is not collected", spec.name),
            };
            if let Err(error) = result {
                reply.truncate(before);
                reply.error(error);
            }
        }
        let changes = keys.into_changes();
        self.cells = cells;
        if let Some(client) = client {
            self.clients.insert(slot.client, client);
        }
        changes
    }

    fn watch(&mut self, client: ClientId, request: &Request) {
        let client = self.clients.get_mut(&client).expect("the client has just called");
        let id = client.watch(|| self.watches.next_id());
        for key in request.args(1).map(Key::from) {
            if self.watches.add(id, key.clone()) {
                client.count_watched(&key);
            }
        }
    }
}
