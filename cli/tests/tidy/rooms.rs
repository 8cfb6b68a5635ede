//! Which room may use which: arrows go down the table, and nowhere else.

use crate::finding::Finding;
use crate::tree::Tree;

/// A folder at the top of the checkout with a crate of the same name.
struct Room {
    name: &'static str,
    /// Rooms that its code may use.
    uses: &'static [&'static str],
    /// Rooms that its tests may use besides.
    tests_use: &'static [&'static str],
}

/// The table in ARCHITECTURE.md, read from the top: a room uses only rooms above it.
const ROOMS: &[Room] = &[
    Room {
        name: "wire",
        uses: &[],
        tests_use: &[],
    },
    Room {
        name: "measure",
        uses: &["wire"],
        tests_use: &[],
    },
    Room {
        name: "judge",
        uses: &["measure"],
        tests_use: &["wire"],
    },
    Room {
        name: "capture",
        uses: &["wire", "measure", "judge"],
        tests_use: &[],
    },
    Room {
        name: "decode",
        uses: &["wire", "measure"],
        tests_use: &[],
    },
    Room {
        name: "config",
        uses: &[],
        tests_use: &[],
    },
    Room {
        name: "exporter",
        uses: &["measure"],
        tests_use: &["wire"],
    },
    Room {
        name: "sim",
        uses: &["wire"],
        tests_use: &[],
    },
    Room {
        name: "upstream",
        uses: &["wire", "measure"],
        tests_use: &["sim"],
    },
    Room {
        name: "probe",
        uses: &["wire", "measure", "upstream"],
        tests_use: &[],
    },
    Room {
        name: "replay",
        uses: &["wire", "measure", "judge", "capture", "upstream"],
        tests_use: &["sim"],
    },
    Room {
        name: "proxy",
        uses: &["wire", "measure", "config", "exporter", "upstream", "probe"],
        tests_use: &["sim"],
    },
    Room {
        name: "rig",
        uses: &["wire", "measure", "config", "sim", "upstream", "proxy"],
        tests_use: &[],
    },
    Room {
        name: "grafana",
        uses: &["exporter"],
        tests_use: &["measure", "wire"],
    },
    Room {
        name: "k8s",
        uses: &["config"],
        tests_use: &[],
    },
    Room {
        name: "cli",
        uses: &[
            "wire", "measure", "capture", "decode", "config", "exporter", "sim", "upstream",
            "probe", "proxy", "rig", "grafana", "k8s",
        ],
        tests_use: &[],
    },
];

/// Arrows that the manifests draw and the table does not, and members without a row.
pub(crate) fn arrows(tree: &Tree) -> Vec<Finding> {
    let mut findings = members(tree);
    for room in ROOMS {
        let path = format!("{}/Cargo.toml", room.name);
        let Some(text) = tree.text(&path) else {
            continue;
        };
        if !text.contains("[lints]\nworkspace = true") {
            findings.push(Finding::new(
                &path,
                0,
                "inherits no lints: add `[lints]` with `workspace = true`",
            ));
        }
        for dependency in dependencies(text) {
            findings.extend(
                judge(room, &dependency)
                    .map(|message| Finding::new(&path, dependency.line, message)),
            );
        }
    }
    findings
}

/// Members of the workspace and rows of the table that lack each other.
fn members(tree: &Tree) -> Vec<Finding> {
    let path = "Cargo.toml";
    let text = tree.text(path).unwrap_or_default();
    let (at, line) = text
        .lines()
        .enumerate()
        .find(|(_, line)| line.starts_with("members = "))
        .unwrap_or((0, ""));
    let listed: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
    let unknown = listed
        .iter()
        .filter(|name| ROOMS.iter().all(|room| room.name != **name));
    let missing = ROOMS.iter().filter(|room| !listed.contains(&room.name));
    let unknown = unknown.map(|name| format!("room {name} has no row: add it to ROOMS in cli/tests/tidy/rooms.rs and to ARCHITECTURE.md"));
    let missing = missing.map(|room| {
        format!(
            "{} has a row in cli/tests/tidy/rooms.rs but is no member",
            room.name
        )
    });
    unknown
        .chain(missing)
        .map(|message| Finding::new(path, at + 1, message))
        .collect()
}

/// One line of a dependency table.
struct Dependency<'a> {
    name: &'a str,
    for_tests: bool,
    inherited: bool,
    line: usize,
}

/// The dependencies of a manifest, as far as this project writes them: one a line, below a table of its own.
fn dependencies(text: &str) -> Vec<Dependency<'_>> {
    let mut table = "";
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            table = line.trim_matches(['[', ']']);
        } else if table.ends_with("dependencies")
            && !line.trim().is_empty()
            && !line.starts_with('#')
        {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let inherited = line.contains("workspace = true");
            found.push(Dependency {
                name,
                for_tests: table.contains("dev-"),
                inherited,
                line: at + 1,
            });
        }
    }
    found
}

fn judge(room: &Room, dependency: &Dependency<'_>) -> Option<String> {
    let name = dependency.name;
    if !dependency.inherited {
        return Some(format!(
            "{name} has a version of its own: declare it in [workspace.dependencies] and write `workspace = true`"
        ));
    }
    let is_room = ROOMS.iter().any(|other| other.name == name);
    let allowed =
        room.uses.contains(&name) || (dependency.for_tests && room.tests_use.contains(&name));
    (is_room && !allowed).then(|| {
        let who = if dependency.for_tests { "the tests of " } else { "" };
        format!("{who}{} may not use {name}: a new arrow needs a row's change in ARCHITECTURE.md and in cli/tests/tidy/rooms.rs", room.name)
    })
}

/// Rows of ARCHITECTURE.md's table that say something else than the table here.
pub(crate) fn documented(tree: &Tree) -> Vec<Finding> {
    let path = "ARCHITECTURE.md";
    let Some(text) = tree.text(path) else {
        return vec![Finding::new(
            path,
            0,
            "is missing: it holds the table of rooms",
        )];
    };
    let mut findings = Vec::new();
    for room in ROOMS {
        let row = format!("| `{}/` |", room.name);
        let Some((at, line)) = text
            .lines()
            .enumerate()
            .find(|(_, line)| line.starts_with(&row))
        else {
            findings.push(Finding::new(
                path,
                0,
                format!("has no row for {} in its table of rooms", room.name),
            ));
            continue;
        };
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        let uses: Vec<&str> = cells.get(2).map_or(Vec::new(), |cell| {
            cell.split('`').skip(1).step_by(2).collect()
        });
        if uses != room.uses {
            let message = format!(
                "says that {} uses {uses:?}, cli/tests/tidy/rooms.rs says {:?}",
                room.name, room.uses
            );
            findings.push(Finding::new(path, at + 1, message));
        }
    }
    findings
}

#[test]
fn the_table_points_upwards_only() {
    for (at, room) in ROOMS.iter().enumerate() {
        for used in room.uses.iter().chain(room.tests_use) {
            assert!(
                ROOMS[..at].iter().any(|above| above.name == *used),
                "{} uses {used}, which is not above it",
                room.name
            );
        }
    }
}

#[test]
fn a_wrong_arrow_is_found() {
    let manifest = |dependencies: &str| {
        let members = ROOMS
            .iter()
            .map(|room| format!("\"{}\"", room.name))
            .collect::<Vec<_>>()
            .join(", ");
        let root = format!("[workspace]\nmembers = [{members}]\n");
        let measure = format!("[package]\n\n[lints]\nworkspace = true\n\n{dependencies}");
        arrows(&Tree::of_all(&[
            ("Cargo.toml", &root),
            ("measure/Cargo.toml", &measure),
        ]))
    };
    assert_eq!(manifest("[dependencies]\nwire.workspace = true\n"), []);
    let found = manifest("[dependencies]\nwire.workspace = true\nproxy = { workspace = true }\n");
    assert_eq!((found.len(), found[0].line), (1, 8));
    assert!(found[0].message.contains("measure may not use proxy"));
    assert!(
        manifest("[dev-dependencies]\nsim.workspace = true\n")[0]
            .message
            .contains("the tests of measure may not use sim")
    );
    assert!(
        manifest("[dependencies]\nbytes = \"1\"\n")[0]
            .message
            .contains("a version of its own")
    );
}

#[test]
fn a_room_without_a_row_is_found() {
    let root = "[workspace]\nmembers = [\"wire\", \"attic\"]\n";
    let found = arrows(&Tree::of("Cargo.toml", root));
    assert!(
        found
            .iter()
            .any(|one| one.message.contains("attic has no row"))
    );
    assert!(
        found
            .iter()
            .any(|one| one.message.contains("proxy has a row"))
    );
}

#[test]
fn a_table_that_says_something_else_is_found() {
    let rows: String = ROOMS
        .iter()
        .map(|room| {
            let uses: Vec<String> = room.uses.iter().map(|name| format!("`{name}`")).collect();
            format!("| `{}/` | does | {} | no |\n", room.name, uses.join(" "))
        })
        .collect();
    assert_eq!(documented(&Tree::of("ARCHITECTURE.md", &rows)), []);
    let wrong = rows.replace(
        "| `measure/` | does | `wire` |",
        "| `measure/` | does | `wire` `sim` |",
    );
    assert_eq!(documented(&Tree::of("ARCHITECTURE.md", &wrong)).len(), 1);
    assert_eq!(
        documented(&Tree::of("ARCHITECTURE.md", "")).len(),
        ROOMS.len()
    );
}
