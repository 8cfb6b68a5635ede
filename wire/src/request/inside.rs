//! What stands inside the messages of a chat: who leads it, and what of it is no text.
//!
//! Depths are those of the body: its members stand at 1, a message's at 3, those of a part of its content at 5. Parts of
//! parts are not looked into.

/// What was seen so far.
#[derive(Debug, Default)]
pub(super) struct Inside {
    key: Key,
    pub(super) leads: bool,
    pub(super) images: u32,
    pub(super) sounds: u32,
}

/// The nearest key.
#[derive(Debug, Clone, Copy, Default)]
enum Key {
    /// `role` of the first message.
    FirstRole,
    /// `type` of a part.
    Kind,
    /// Ollama's `images` of a message.
    Images,
    #[default]
    Other,
}

/// `message` is the number of the message at hand, from 1.
impl Inside {
    pub(super) fn key(&mut self, depth: u32, message: u32, key: &[u8]) {
        self.key = match (depth, key) {
            (3, b"role") if message == 1 => Key::FirstRole,
            (3, b"images") => Key::Images,
            (5, b"type") => Key::Kind,
            _ => Key::Other,
        };
    }

    pub(super) fn text(&mut self, depth: u32, text: &[u8]) {
        match (self.key, depth) {
            (Key::FirstRole, 3) => self.leads = matches!(text, b"system" | b"developer"),
            (Key::Images, 4) => self.images = self.images.saturating_add(1),
            (Key::Kind, 5) if is_image(text) => self.images = self.images.saturating_add(1),
            (Key::Kind, 5) if is_sound(text) => self.sounds = self.sounds.saturating_add(1),
            _ => {}
        }
    }
}

/// Whether a part of this `type` is an image.
pub(crate) fn is_image(kind: &[u8]) -> bool {
    matches!(kind, b"image_url" | b"input_image" | b"image")
}

/// Whether a part of this `type` is a sound.
pub(crate) fn is_sound(kind: &[u8]) -> bool {
    matches!(kind, b"input_audio" | b"audio_url" | b"audio")
}
