//! The checkout as the rules see it: every file that git does not ignore, read once.
//!
//! The walk needs no git, so that it works in an unpacked archive and sees a new file before it is added. It knows as much
//! of `.gitignore` as this project uses: `/name` at the top, `*.ending` anywhere.

use crate::source::Source;
use std::fs;
use std::path::Path;

/// A file of the checkout.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// Relative to the root, with forward slashes.
    pub(crate) path: String,
    /// Its bytes as text; `None` if they are none.
    pub(crate) text: Option<String>,
    /// Any execute bit is set.
    pub(crate) executable: bool,
}

/// All files, in the order of their paths.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

impl Tree {
    /// Reads the checkout that this test was built from.
    pub(crate) fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .expect("the room lies in the checkout")
            .to_owned();
        let ignored = Ignored::read(&root);
        let mut files = Vec::new();
        walk(&root, &root, &ignored, &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }

    /// A tree of one file, for trying a rule.
    pub(crate) fn of(path: &str, text: &str) -> Self {
        Self::of_all(&[(path, text)])
    }

    /// A tree of some files, for trying a rule.
    pub(crate) fn of_all(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| File {
                path: (*path).to_owned(),
                text: Some((*text).to_owned()),
                executable: false,
            })
            .collect();
        Self { files }
    }

    /// Files that are text.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .filter_map(|file| Some((file.path.as_str(), file.text.as_deref()?)))
    }

    /// Rust files, parsed.
    pub(crate) fn sources(&self) -> impl Iterator<Item = Source> {
        self.texts()
            .filter(|(path, _)| path.ends_with(".rs"))
            .map(|(path, text)| Source::parse(path, text))
    }

    /// The text of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.texts()
            .find(|(found, _)| *found == path)
            .map(|(_, text)| text)
    }
}

/// What `.gitignore` leaves out.
struct Ignored {
    top_level: Vec<String>,
    endings: Vec<String>,
}

impl Ignored {
    fn read(root: &Path) -> Self {
        let text =
            fs::read_to_string(root.join(".gitignore")).expect("the checkout has a .gitignore");
        let mut ignored = Self {
            top_level: vec![".git".to_owned()],
            endings: Vec::new(),
        };
        for line in text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            if let Some(name) = line.strip_prefix('/') {
                ignored
                    .top_level
                    .push(name.trim_end_matches('/').to_owned());
            } else if let Some(ending) = line.strip_prefix('*') {
                ignored.endings.push(ending.to_owned());
            } else {
                panic!(
                    ".gitignore: write {line:?} as /name or *.ending, which this walk understands"
                );
            }
        }
        ignored
    }

    fn contains(&self, path: &str) -> bool {
        self.top_level.iter().any(|name| name == path)
            || self
                .endings
                .iter()
                .any(|ending| path.ends_with(ending.as_str()))
    }
}

fn walk(root: &Path, folder: &Path, ignored: &Ignored, files: &mut Vec<File>) {
    let entries = fs::read_dir(folder).expect("a folder of the checkout can be listed");
    for path in entries.map(|entry| entry.expect("an entry can be read").path()) {
        let relative = relative(root, &path);
        if ignored.contains(&relative) {
            continue;
        }
        if path.is_dir() {
            walk(root, &path, ignored, files);
        } else if let Ok(bytes) = fs::read(&path) {
            files.push(File {
                path: relative,
                text: String::from_utf8(bytes).ok(),
                executable: executable(&path),
            });
        }
    }
}

fn relative(root: &Path, path: &Path) -> String {
    let parts = path
        .strip_prefix(root)
        .expect("the walk stays below the root")
        .components();
    parts
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join("/")
}

fn executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|data| data.permissions().mode() & 0o111 != 0)
}
