//! HTTP/2 frames (RFC 9113), sound or not, and fields in a form that enters no table (RFC 7541).

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GO_AWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

pub(crate) const PROTOCOL_ERROR: u32 = 1;
pub(crate) const REFUSED_STREAM: u32 = 7;
pub(crate) const ENHANCE_YOUR_CALM: u32 = 11;

/// One frame.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// The number of the `index`th stream of a client.
pub(crate) fn stream(index: u32) -> u32 {
    2 * index + 1
}

/// A field that enters no table (RFC 7541 6.2.2).
pub(crate) fn field(name: &str, value: &str) -> Vec<u8> {
    let text = |text: &str| {
        let length = u8::try_from(text.len()).unwrap();
        assert!(length < 127, "one byte of length");
        [&[length], text.as_bytes()].concat()
    };
    [vec![0], text(name), text(value)].concat()
}

/// The fields of a request, in their compressed form.
pub(crate) fn fields(method: &str, path: &str, authority: &str) -> Vec<u8> {
    [
        field(":method", method),
        field(":scheme", "http"),
        field(":path", path),
        field(":authority", authority),
    ]
    .concat()
}

/// A request for tokens, without its body.
pub(crate) fn chat() -> Vec<u8> {
    fields("POST", "/v1/chat/completions", "front.test")
}

/// A whole request in one frame.
pub(crate) fn request(index: u32, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream(index), block)
}
