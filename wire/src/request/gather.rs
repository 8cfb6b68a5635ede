//! What the tokens of a request's body mean, by where in it they are.
//!
//! Facts stand at the top level and one level below. Of two members with the same key the last holds, as engines that
//! read JSON into a dictionary see it; below the top level that is so for `stream_options` alone.

use super::inside::Inside;
use super::member::{Member, StreamOption};
use super::tokenizer::Token;
use super::{AnswerForm, RequestFacts};
use crate::Endpoint;
use crate::json::Decoded;

/// The facts so far, and the place in the body.
#[derive(Debug)]
pub(super) struct Gather {
    endpoint: Endpoint,
    facts: RequestFacts,
    /// Of the name that wins.
    max_tokens_first: Option<u32>,
    /// Bytes of the text before the messages.
    preamble_bytes: u64,
    /// Open arrays and objects.
    depth: u32,
    /// The key at the top level that the value at hand belongs to.
    member: Member,
    /// The same in `stream_options`.
    option: StreamOption,
    /// The same in an object with sampling parameters.
    sampling: Member,
    /// What came of the list at hand, if it is a member of the top level.
    list: List,
    /// Bytes of prompt text in the member at hand.
    bytes: u64,
    /// For each depth, whether the nearest key is `content` or `text`; a bit each, the innermost is the lowest.
    in_content: u64,
    /// Of the messages at hand.
    inside: Inside,
    /// Whether text stands before the messages.
    has_preamble: bool,
    /// The nearest key is the `type` of a form.
    of_form: bool,
    /// Offset of the list of tools.
    tools_at: u64,
}

/// Elements of a list, by kind.
#[derive(Debug, Default)]
struct List {
    elements: u32,
    texts: u32,
    numbers: u64,
    lists: u32,
    /// Elements of the lists in the list.
    inner_numbers: u64,
    inner_others: u64,
}

// ---- Gather

impl Gather {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            facts: RequestFacts::default(),
            max_tokens_first: None,
            preamble_bytes: 0,
            depth: 0,
            member: Member::Other,
            option: StreamOption::Other,
            sampling: Member::Other,
            list: List::default(),
            bytes: 0,
            in_content: 0,
            inside: Inside::default(),
            has_preamble: false,
            of_form: false,
            tools_at: 0,
        }
    }

    pub(super) fn finish(mut self, whole: bool) -> RequestFacts {
        let facts = &mut self.facts;
        facts.whole = whole;
        let stream = facts
            .stream
            .or_else(|| self.endpoint.streams_unasked(whole));
        facts.stream = self.endpoint.streams().or(stream);
        self.facts.max_tokens = self.max_tokens_first.or(self.facts.max_tokens);
        if let Some(bytes) = &mut self.facts.prompt_bytes {
            *bytes = bytes.saturating_add(self.preamble_bytes);
        }
        if self.has_preamble {
            self.facts.details.system = Some(true);
        }
        self.facts
    }

    pub(super) fn take(&mut self, token: Token<'_>) {
        match token {
            Token::Key(key) => self.key(key),
            Token::ObjectStart | Token::ArrayStart(_) => self.open(token),
            Token::ObjectEnd | Token::ArrayEnd(_) => self.close(token),
            Token::Text(text) => {
                self.count(token);
                self.text(text);
            }
            Token::Number(_) | Token::Bool(_) | Token::Null => {
                self.count(token);
                self.scalar(token);
            }
        }
    }

    fn key(&mut self, key: &[u8]) {
        match (self.depth, self.member) {
            (1, _) => {
                self.member = Member::of(self.endpoint, key);
                self.forget();
            }
            (2, Member::StreamOptions) => self.begin_option(StreamOption::of(key)),
            (2, Member::Sampling) => self.sampling = Member::of_sampling(key),
            (2, Member::Structured) => self.form(AnswerForm::of_type(key)),
            (depth, Member::Messages) => self.inside.key(depth, self.list.elements, key),
            _ => {}
        }
        self.of_form = key == b"type" && self.in_form();
        self.in_content = (self.in_content & !1) | u64::from(matches!(key, b"content" | b"text"));
    }

    /// A member begins; what an earlier one with the same key said no longer holds.
    fn forget(&mut self) {
        let facts = &mut self.facts;
        self.list = List::default();
        self.bytes = 0;
        match self.member {
            Member::Model => facts.model = None,
            Member::Stream => facts.stream = None,
            Member::N => facts.n = None,
            Member::Prompt => {
                (facts.prompts, facts.prompt_tokens, facts.prompt_bytes) = (None, None, None);
            }
            Member::Messages => {
                (facts.messages, facts.prompt_bytes) = (None, None);
                let details = &mut facts.details;
                (details.system, details.images, details.sounds) = (None, None, None);
                self.inside = Inside::default();
            }
            Member::Preamble => (self.preamble_bytes, self.has_preamble) = (0, false),
            Member::Tools => (facts.tools, facts.details.tool_bytes) = (None, None),
            Member::MaxTokens => facts.max_tokens = None,
            Member::MaxTokensFirst => self.max_tokens_first = None,
            Member::Echo => facts.echo = None,
            Member::StreamOptions => (facts.include_usage, facts.continuous_usage) = (None, None),
            Member::Temperature => facts.temperature = None,
            Member::TopP => facts.top_p = None,
            Member::Seed => facts.seed = None,
            Member::TopK => facts.details.top_k = None,
            Member::MinP => facts.details.min_p = None,
            Member::PresencePenalty => facts.details.presence_penalty = None,
            Member::FrequencyPenalty => facts.details.frequency_penalty = None,
            Member::Priority => facts.details.priority = None,
            Member::Stops => facts.details.stops = None,
            // Of several names for a form, those that are null say nothing.
            Member::Format | Member::TextFormat | Member::Structured | Member::Form(_) => {}
            // What it holds may stand beside it, too.
            Member::Sampling => self.sampling = Member::Other,
            Member::Other => {}
        }
    }

    fn begin_option(&mut self, option: StreamOption) {
        self.option = option;
        match option {
            StreamOption::IncludeUsage => self.facts.include_usage = None,
            StreamOption::ContinuousUsage => self.facts.continuous_usage = None,
            StreamOption::Other => {}
        }
    }

    fn open(&mut self, token: Token<'_>) {
        self.count(token);
        match (token, self.here()) {
            (Token::ArrayStart(at), Some(Member::Tools)) => self.tools_at = at,
            (_, Some(Member::Form(form))) => self.form(Some(form)),
            // Ollama's is the schema itself.
            (Token::ObjectStart, Some(Member::Format)) if self.is_ollama() => {
                self.form(Some(AnswerForm::JsonSchema));
            }
            _ => {}
        }
        self.depth += 1;
        // An array's elements have the key that it has; in an object, a key comes first anyway.
        self.in_content = (self.in_content << 1) | (self.in_content & 1);
    }

    fn close(&mut self, token: Token<'_>) {
        self.depth = self.depth.saturating_sub(1);
        self.in_content >>= 1;
        if self.depth == 1
            && let Token::ArrayEnd(at) = token
        {
            self.end_list(at);
        }
    }

    /// The member that a value at hand is all of, at the top level or among sampling parameters.
    fn here(&self) -> Option<Member> {
        match (self.depth, self.member) {
            (1, member) => Some(member),
            (2, Member::Sampling) => Some(self.sampling),
            _ => None,
        }
    }

    /// Whether a key that comes now is of an object that says what form the answer must have.
    fn in_form(&self) -> bool {
        match (self.depth, self.member) {
            (2, Member::Format) => !self.is_ollama(),
            (3, Member::TextFormat) => true,
            // TGI's `grammar`.
            (3, Member::Sampling) => matches!(self.sampling, Member::Form(_)),
            _ => false,
        }
    }

    fn is_ollama(&self) -> bool {
        matches!(
            self.endpoint,
            Endpoint::OllamaChat | Endpoint::OllamaGenerate
        )
    }

    fn form(&mut self, form: Option<AnswerForm>) {
        if form.is_some() {
            self.facts.details.answer_form = form;
        }
    }

    /// Counts a value that is an element of a list at the top level, or of a list in such a list.
    fn count(&mut self, token: Token<'_>) {
        if self.depth == 2 {
            self.list.elements = self.list.elements.saturating_add(1);
            match token {
                Token::Text(_) => self.list.texts = self.list.texts.saturating_add(1),
                Token::Number(_) => self.list.numbers += 1,
                Token::ArrayStart(_) => self.list.lists = self.list.lists.saturating_add(1),
                _ => {}
            }
        } else if self.depth == 3 {
            match token {
                Token::Number(_) => self.list.inner_numbers += 1,
                _ => self.list.inner_others += 1,
            }
        }
    }

    fn end_list(&mut self, at: u64) {
        match self.member {
            Member::Prompt => {
                self.facts.prompts = self.list.prompts();
                self.facts.prompt_tokens = self.list.tokens();
                self.facts.prompt_bytes = (self.list.texts > 0).then_some(self.bytes);
            }
            Member::Messages => {
                self.facts.messages = Some(self.list.elements);
                self.facts.prompt_bytes = Some(self.bytes);
                let details = &mut self.facts.details;
                details.system = Some(self.inside.leads);
                details.images = Some(self.inside.images);
                details.sounds = Some(self.inside.sounds);
            }
            Member::Preamble => {
                self.preamble_bytes = self.bytes;
                self.has_preamble = self.bytes > 0;
            }
            Member::Tools => {
                self.facts.tools = Some(self.list.elements);
                self.facts.details.tool_bytes = Some(at.saturating_sub(self.tools_at));
            }
            Member::Stops => self.facts.details.stops = Some(self.list.texts),
            _ => {}
        }
    }

    fn text(&mut self, text: &Decoded) {
        if self.of_form {
            self.form(AnswerForm::of_type(text.head()));
        }
        match self.here() {
            Some(Member::Stops) => self.facts.details.stops = Some(1),
            Some(Member::Form(form)) if text.len() > 0 => self.form(Some(form)),
            Some(Member::Format) if text.head() == b"json" => {
                self.form(Some(AnswerForm::JsonObject));
            }
            _ => {}
        }
        match self.member {
            Member::Messages => self.inside.text(self.depth, text.head()),
            // Stop strings that stand among sampling parameters are a list of their own.
            Member::Sampling if self.depth == 3 && self.sampling == Member::Stops => {
                let stops = self.facts.details.stops.unwrap_or(0);
                self.facts.details.stops = Some(stops.saturating_add(1));
            }
            _ => {}
        }
        match self.member {
            Member::Model if self.depth == 1 => self.facts.model = Some(text.text()),
            Member::Prompt if self.depth == 1 => {
                self.facts.prompts = Some(1);
                self.facts.prompt_bytes = Some(text.len());
            }
            Member::Prompt if self.depth == 2 => self.bytes = self.bytes.saturating_add(text.len()),
            Member::Messages if self.depth == 1 && self.endpoint == Endpoint::Responses => {
                self.facts.prompt_bytes = Some(text.len());
            }
            Member::Preamble if self.depth == 1 => {
                self.preamble_bytes = text.len();
                self.has_preamble = text.len() > 0;
            }
            Member::Messages | Member::Preamble if self.in_content & 1 == 1 => {
                self.bytes = self.bytes.saturating_add(text.len());
            }
            _ => {}
        }
    }

    fn scalar(&mut self, token: Token<'_>) {
        let member = match (self.depth, self.member) {
            (1, member) => member,
            (2, Member::Sampling) => self.sampling,
            (2, Member::StreamOptions) => return self.option(token),
            _ => return,
        };
        let facts = &mut self.facts;
        match (member, token) {
            (Member::Stream, Token::Bool(stream)) => facts.stream = Some(stream),
            (Member::Echo, Token::Bool(echo)) => facts.echo = Some(echo),
            (Member::N, Token::Number(number)) => facts.n = parse(number),
            (Member::MaxTokens, Token::Number(number)) => facts.max_tokens = parse(number),
            (Member::MaxTokensFirst, Token::Number(number)) => {
                self.max_tokens_first = parse(number);
            }
            (Member::Temperature, Token::Number(number)) => facts.temperature = parse(number),
            (Member::TopP, Token::Number(number)) => facts.top_p = parse(number),
            (Member::Seed, Token::Number(number)) => facts.seed = parse(number),
            (member, Token::Number(number)) => facts.details.take(member, number),
            _ => {}
        }
    }

    fn option(&mut self, token: Token<'_>) {
        let Token::Bool(asked) = token else { return };
        match self.option {
            StreamOption::IncludeUsage => self.facts.include_usage = Some(asked),
            StreamOption::ContinuousUsage => self.facts.continuous_usage = Some(asked),
            StreamOption::Other => {}
        }
    }
}

/// A number that fits its type as it is written; `None` for any other.
pub(super) fn parse<T: std::str::FromStr>(number: &[u8]) -> Option<T> {
    std::str::from_utf8(number).ok()?.parse().ok()
}

// ---- List

impl List {
    /// Prompts in a list of texts or lists: each is one. Numbers are the token ids of a single one, also between texts.
    fn prompts(&self) -> Option<u32> {
        let numbers = u32::try_from(self.numbers).ok()?;
        let known = self
            .texts
            .saturating_add(self.lists)
            .saturating_add(numbers)
            == self.elements;
        match (numbers > 0, self.lists > 0) {
            _ if !known || self.elements == 0 => None,
            (true, true) => None,
            (true, false) => Some(1),
            (false, _) => Some(self.elements),
        }
    }

    /// Prompt tokens, if there is nothing but token ids.
    fn tokens(&self) -> Option<u64> {
        let lists_only = self.lists == self.elements && self.inner_others == 0;
        match self.elements {
            0 => None,
            _ if self.numbers == u64::from(self.elements) => Some(self.numbers),
            _ => lists_only.then_some(self.inner_numbers),
        }
    }
}
