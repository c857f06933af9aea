//! Options of a host (spec 4 §1). All are checked together when it starts; nothing is clamped.

use super::shared::HostShared;
use super::task::HostTask;
use super::{Handle, Host};
use crate::error::Error;
use crate::runtime::Runtime;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;
use zlink_proto::error::ErrorKind;
use zlink_proto::host::{DiagnosticsLevel, HostOptions, JobQueueProfile, OwnerOverflow};
use zlink_proto::node::HostSide;

/// Describes a host. Names, units and defaults are those of the spec.
#[derive(Clone, Debug)]
pub struct HostBuilder<R> {
    options: HostOptions,
    security_identity: String,
    runtime: PhantomData<fn() -> R>,
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $value:expr;)*) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $name: $type) -> Self {
            self.options.$name = $value;
            self
        })*
    };
}

impl<R: Runtime> HostBuilder<R> {
    pub(super) fn new() -> Self {
        let mut options = HostOptions::default();
        // Counts the processor set and the quota of the process too.
        let processors = std::thread::available_parallelism().ok();
        options.processor_candidates.logical = processors.and_then(|count| i64::try_from(count.get()).ok());
        Self { options, security_identity: "default".into(), runtime: PhantomData }
    }

    setters! {
        /// Jobs that may be accepted and not started, 1 to 2^31 - 1. Default: processors times what the profile says.
        max_queued_jobs: u64 = Some(max_queued_jobs);
        /// How many jobs for each processor. Default: Balanced, 128.
        job_queue_profile: JobQueueProfile = job_queue_profile;
        /// Peers are paused from this part of the limit on, 1 to 100. Default: 80.
        job_queue_pause_percent: u32 = job_queue_pause_percent;
        /// Peers go on from this part of the limit down, below the pause percent. Default: 60.
        job_queue_resume_percent: u32 = job_queue_resume_percent;
        /// Send timeout of sockets that have none of their own. Default: 1 s.
        send_timeout: Duration = send_timeout;
        /// Deadline of requests without one of their own. Default: 30 s.
        request_timeout: Duration = request_timeout;
        /// Sends, and replies, that may wait on one socket at a time. Default: 4,096.
        waiters_max: u64 = waiters_max;
        /// Requests of one socket whose result was not taken. Default: 65,536.
        completion_slots_max: u64 = completion_slots_max;
        /// Jobs that one channel may hold, waiting and running. Default: the job limit and its running turns, at least 1,024.
        owner_application_items_max: u64 = Some(owner_application_items_max);
        /// Bytes that one channel may hold. Default: 64 MiB.
        owner_application_bytes_max: u64 = owner_application_bytes_max;
        /// What a full channel does with one-way messages of others: they wait, or are dropped and counted. Default: Wait.
        owner_overflow: OwnerOverflow = owner_overflow;
        /// Longest time that one channel runs before others get their turn. Default: 10 ms.
        owner_slice: Duration = owner_slice;
        /// Weight that servers announce, 0 to 10,000. Default: 100.
        channel_weight: u32 = channel_weight;
        /// What is recorded. Default: Errors.
        diagnostics_level: DiagnosticsLevel = diagnostics_level;
        /// Longest shutdown of a host that is only dropped. Default: 30 s.
        shutdown_deadline: Duration = shutdown_deadline;
    }

    /// A name that servers and clients must share, 1 to 255 bytes. Default: `default`.
    #[must_use]
    pub fn security_identity(mut self, name: &str) -> Self {
        self.security_identity = name.into();
        self
    }

    /// Every option, for those that have no method here.
    pub const fn options_mut(&mut self) -> &mut HostOptions {
        &mut self.options
    }

    /// Starts it on the runtime that runs the caller.
    ///
    /// # Errors
    /// `InvalidOperation`: an option is out of range (all are listed), or there is no runtime.
    pub fn start(self) -> Result<Host<R>, Error> {
        let invalid =
            |error: &dyn std::fmt::Display| Error::setup(ErrorKind::InvalidOperation, "host", error);
        let runtime = R::current().map_err(|error| invalid(&error))?;
        let now = runtime.now();
        let side = HostSide::new(self.options, now).map_err(|error| invalid(&error))?;
        // As they were checked and rounded.
        let options = side.host().config().options().clone();
        let shared = HostShared::new(runtime, side);
        HostTask::spawn(Arc::clone(&shared));
        let handle = Handle { shared, options, security_identity: self.security_identity };
        Ok(Host { handle: Arc::new(handle) })
    }
}
