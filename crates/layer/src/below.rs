//! The device below: one that models time only, or one that stores data.

use flashlane_device::{Buffer, DataDevice, Device, Failure, Request, RequestId, SubmitError};

/// A device that takes requests with or without a buffer.
pub trait Below {
    /// The device.
    type Device: Device;

    /// Returns the device.
    fn device(&self) -> &Self::Device;

    /// Returns the device.
    fn device_mut(&mut self) -> &mut Self::Device;

    /// Submits a request.
    ///
    /// # Errors
    /// The refusal, and the buffer.
    fn send(&mut self, request: Request, buffer: Option<Buffer>)
    -> Result<(), (SubmitError, Option<Buffer>)>;

    /// Takes the buffer of a completed request.
    fn take(&mut self, id: RequestId) -> Option<Buffer>;
}

/// A device that models time only.
#[derive(Clone)]
pub struct Timing<D>(pub D);

impl<D: Device> Below for Timing<D> {
    type Device = D;

    fn device(&self) -> &D {
        &self.0
    }

    fn device_mut(&mut self) -> &mut D {
        &mut self.0
    }

    fn send(
        &mut self,
        request: Request,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        self.0.submit(request).map_err(|error| (error, buffer))
    }

    fn take(&mut self, _: RequestId) -> Option<Buffer> {
        None
    }
}

/// A device that stores data.
#[derive(Clone)]
pub struct Bytes<D>(pub D);

impl<D: DataDevice> Below for Bytes<D> {
    type Device = D;

    fn device(&self) -> &D {
        &self.0
    }

    fn device_mut(&mut self) -> &mut D {
        &mut self.0
    }

    fn send(
        &mut self,
        request: Request,
        buffer: Option<Buffer>,
    ) -> Result<(), (SubmitError, Option<Buffer>)> {
        submit(&mut self.0, request, buffer)
    }

    fn take(&mut self, id: RequestId) -> Option<Buffer> {
        self.0.take_buffer(id)
    }
}

/// Submits a request with a buffer or without.
///
/// # Errors
/// The refusal, and the buffer.
pub(crate) fn submit<D: DataDevice>(
    device: &mut D,
    request: Request,
    buffer: Option<Buffer>,
) -> Result<(), (SubmitError, Option<Buffer>)> {
    match buffer {
        Some(buffer) => device.submit_with(request, buffer).map_err(|(error, buffer)| (error, Some(buffer))),
        None => device.submit(request).map_err(|error| (error, None)),
    }
}

/// Returns the failure of an accepted request of which the device below refused a part.
pub(crate) fn failure_of(error: &SubmitError) -> Failure {
    /// The operating system's number for a device that fails to carry out a request.
    const IO_ERROR: i32 = 5;
    match error {
        SubmitError::DeviceLost => Failure::DeviceLost,
        _ => Failure::Os(IO_ERROR),
    }
}
