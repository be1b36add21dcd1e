//! Foreign code, contained: a panic in it is a message, and the call goes on.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future on the heap, as traits with asynchronous functions give it.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What foreign code comes to, with a panic turned into its message.
pub(crate) fn contain<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(message)
}

/// The same for asynchronous code, which may panic before its first await and at any later one.
pub(crate) async fn contain_async<'a, T>(
    start: impl FnOnce() -> Boxed<'a, T>,
) -> Result<T, String> {
    let future = contain(start)?;
    Contained(Some(future)).await
}

struct Contained<'a, T>(Option<Boxed<'a, T>>);

impl<T> Future for Contained<'_, T> {
    type Output = Result<T, String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.0 else {
            return Poll::Pending;
        };
        match contain(|| future.as_mut().poll(context)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
            Err(message) => Poll::Ready(Err(message)),
        }
    }
}

impl<T> Drop for Contained<'_, T> {
    /// What the foreign code left behind may panic as well when it is dropped, and has had its say.
    fn drop(&mut self) {
        let _ = contain(|| drop(self.0.take()));
    }
}

fn message(panic: Box<dyn Any + Send>) -> String {
    let text = match panic.downcast::<String>() {
        Ok(message) => Some(*message),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            // What was thrown may panic again while it is dropped, and nobody needs it any more.
            std::mem::forget(panic);
            text
        }
    };
    text.unwrap_or_else(|| "<unprintable thrown value>".to_owned())
}
