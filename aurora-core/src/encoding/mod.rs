//! The encoding of values: of a scalar, of keys and values of a map, and of collective calls.

pub(crate) mod plain;

use crate::operation::short;
use crate::{Error, Result, Site};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A type whose values may be shared in a [`GScalar`](crate::GScalar): any type that serde can encode and decode
/// without the names of fields. Do not use serde's attributes that skip a field or need its name
/// (`skip_serializing_if`, `untagged`): values may then arrive changed.
pub trait ScalarValue: Serialize + DeserializeOwned + 'static {}

impl<T: Serialize + DeserializeOwned + 'static> ScalarValue for T {}

pub(crate) fn encode<T: ScalarValue>(value: &T, site: &Site) -> Result<Vec<u8>> {
    match plain::encode(value) {
        Some(bytes) => Ok(bytes),
        None => postcard::to_allocvec(value).map_err(|cause| cannot_travel::<T>(cause, site)),
    }
}

pub(crate) fn decode<T: ScalarValue>(bytes: &[u8], site: &Site) -> Result<T> {
    if plain::is::<T>() {
        return plain::decode(bytes).ok_or_else(|| cannot_travel::<T>(postcard::Error::DeserializeUnexpectedEnd, site));
    }
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok(_) => Err(cannot_travel::<T>(LEFT_OVER, site)),
        Err(cause) => Err(cannot_travel::<T>(unreadable(&cause), site)),
    }
}

/// The reason for which bytes that a type has written cannot be read as the type.
pub(crate) fn unreadable(cause: &postcard::Error) -> String {
    use postcard::Error::{NotYetImplemented, SerdeDeCustom, SerdeSerCustom, WontImplement};
    match cause {
        WontImplement | NotYetImplemented | SerdeSerCustom | SerdeDeCustom => cause.to_string(),
        cause => format!("{LEFT_OVER} ({cause})"),
    }
}

/// The reason for the refusal of a value that leaves bytes over.
pub(crate) const LEFT_OVER: &str = "its `Deserialize` reads other bytes than its `Serialize` writes (serde's attribute \
    `skip_serializing_if` cannot be used, nor others that need the names of fields)";

/// The error for a value, or a key of a map, of this type.
pub(crate) fn cannot_travel<T>(cause: impl std::fmt::Display, site: &Site) -> Error {
    Error::Value { value: short::<T>().into(), cause: cause.to_string(), site: site.clone() }
}
