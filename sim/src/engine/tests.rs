//! The engine against its invariants, in virtual time.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// An engine with its future arrivals, driven from wake-up to wake-up.
struct Run {
    engine: Engine,
    /// Each at its time, in order.
    arrivals: VecDeque<(u64, Request)>,
    now_ns: u64,
    /// By request, in order of submission: arrival, and each emission with its time.
    served: BTreeMap<RequestId, Served>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Served {
    arrived_ns: u64,
    asked: u32,
    emissions: Vec<(u64, u32)>,
    cached: u32,
    finished: Option<Finish>,
}

impl Served {
    fn tokens(&self) -> u32 {
        self.emissions.iter().map(|(_, tokens)| tokens).sum()
    }

    fn first_ns(&self) -> u64 {
        self.emissions.first().expect("it emitted").0 - self.arrived_ns
    }

    fn last_ns(&self) -> u64 {
        self.emissions.last().expect("it emitted").0 - self.arrived_ns
    }
}

impl Run {
    fn new(
        profile: Profile,
        seed: u64,
        arrivals: impl IntoIterator<Item = (u64, Request)>,
    ) -> Self {
        Self {
            engine: Engine::new(profile, seed),
            arrivals: arrivals.into_iter().collect(),
            now_ns: 0,
            served: BTreeMap::new(),
        }
    }

    /// Runs to the end and returns all steps.
    fn all(&mut self) -> Vec<Step> {
        std::iter::from_fn(|| self.next()).collect()
    }

    fn next(&mut self) -> Option<Step> {
        let wake = self
            .engine
            .next_wake_ns()
            .or_else(|| self.arrivals.front().map(|(at, _)| *at))?;
        self.now_ns = self.now_ns.max(wake);
        while let Some((at, request)) = self.arrivals.pop_front_if(|(at, _)| *at <= self.now_ns) {
            self.submit(at, &request);
        }
        let before = self.engine.load();
        let step = self.engine.step(self.now_ns).expect("there is work");
        self.check(&step);
        self.check_admission(&step, before);
        for emission in &step.emissions {
            let served = self.served.get_mut(&emission.id).expect("it was submitted");
            assert_eq!(served.finished, None, "nothing comes after the end");
            served.emissions.push((step.ends_at_ns, emission.tokens));
            served.cached = emission.cached;
            served.finished = emission.finished;
        }
        Some(step)
    }

    fn submit(&mut self, arrived_ns: u64, request: &Request) {
        let id = self.engine.submit(request).expect("the request fits");
        let asked = request.output_tokens;
        let served = Served {
            arrived_ns,
            asked,
            emissions: Vec::new(),
            cached: 0,
            finished: None,
        };
        assert!(
            self.served.insert(id, served).is_none(),
            "ids are used once"
        );
    }

    /// A step that takes blocks away from one sequence gives none to another that waits.
    fn check_admission(&self, step: &Step, before: Load) {
        let after = self.engine.load();
        if after.preemptions > before.preemptions {
            let finished = step
                .emissions
                .iter()
                .filter(|emission| emission.finished.is_some())
                .count();
            let left =
                u64::from(after.running) + finished as u64 + after.preemptions - before.preemptions;
            assert_eq!(left, u64::from(before.running));
        }
    }

    fn check(&self, step: &Step) {
        let (profile, load) = (self.engine.profile(), self.engine.load());
        assert!(step.starts_at_ns >= self.now_ns && step.ends_at_ns > step.starts_at_ns);
        assert!(step.decoded_tokens + step.prefilled_tokens <= profile.max_step_tokens.get());
        assert!(load.running <= profile.max_running.get());
        assert!(load.kv_blocks <= profile.kv_blocks);
        assert!(step.emissions.iter().all(|emission| emission.tokens > 0));
    }
}

fn request(first_token: u32, prompt: u32, output: u32) -> Request {
    Request {
        prompt: (first_token..first_token + prompt).collect(),
        output_tokens: output,
        finish: Finish::Length,
    }
}

fn steps_of(profile: Profile, requests: &[Request]) -> (Vec<Step>, Vec<Served>) {
    let mut run = Run::new(
        profile,
        1,
        requests.iter().map(|request| (0, request.clone())),
    );
    let steps = run.all();
    (steps, run.served.into_values().collect())
}

#[test]
fn one_request_is_prefilled_in_chunks_and_then_decoded() {
    // 600 tokens at 256 a step: three prefill steps, the third of which yields the first token.
    let (steps, served) = steps_of(Profile::fast(), &[request(0, 600, 3)]);
    let prefilled: Vec<u32> = steps.iter().map(|step| step.prefilled_tokens).collect();
    let decoded: Vec<u32> = steps.iter().map(|step| step.decoded_tokens).collect();
    assert_eq!(prefilled, [256, 256, 88, 0, 0]);
    assert_eq!(decoded, [0, 0, 0, 1, 1]);
    // 3 × 1 ms + 600 × 10 µs, then 1 ms + 50 µs each.
    assert_eq!(
        served[0].emissions,
        [(9_000_000, 1), (10_050_000, 1), (11_100_000, 1)]
    );
    assert_eq!(served[0].finished, Some(Finish::Length));
}

#[test]
fn prefill_grows_with_the_prompt_and_steps_with_the_batch() {
    let first_token = |prompt| steps_of(Profile::fast(), &[request(0, prompt, 1)]).1[0].first_ns();
    assert!(first_token(10) < first_token(100) && first_token(100) < first_token(1_000));

    let gap = |batch: u32| {
        let requests: Vec<Request> = (0..batch).map(|at| request(at * 1_000, 10, 50)).collect();
        let (steps, _) = steps_of(Profile::fast(), &requests);
        let last = steps.last().expect("there were steps");
        last.ends_at_ns - last.starts_at_ns
    };
    assert_eq!([gap(1), gap(4), gap(8)], [1_050_000, 1_200_000, 1_400_000]);
}

#[test]
fn what_does_not_fit_is_refused_and_leaves_no_trace() {
    let mut engine = Engine::new(
        Profile {
            max_waiting: 1,
            ..Profile::fast()
        },
        0,
    );
    assert_eq!(engine.submit(&request(0, 0, 5)), Err(Refusal::EmptyPrompt));
    assert_eq!(engine.submit(&request(0, 5, 0)), Err(Refusal::EmptyOutput));
    assert_eq!(
        engine.submit(&request(0, 4_000, 97)),
        Err(Refusal::TooLong {
            tokens: 4_097,
            limit: 4_096
        })
    );
    assert!(engine.submit(&request(0, 4_000, 96)).is_ok());
    assert_eq!(
        engine.submit(&request(0, 5, 5)),
        Err(Refusal::QueueFull { limit: 1 })
    );
    assert_eq!(engine.load().waiting, 1);
}

#[test]
fn an_engine_without_work_has_no_step_and_no_wake() {
    let mut engine = Engine::new(Profile::fast(), 0);
    assert_eq!((engine.step(5), engine.next_wake_ns()), (None, None));
    let id = engine.submit(&request(0, 5, 5)).expect("it fits");
    assert_eq!(engine.next_wake_ns(), Some(0));
    assert!(engine.cancel(id));
    assert_eq!((engine.step(5), engine.next_wake_ns()), (None, None));
    assert!(!engine.cancel(id));
}

#[test]
fn a_known_prefix_is_not_computed_again() {
    let mut run = Run::new(
        Profile::fast(),
        1,
        [(0, request(0, 200, 2)), (50_000_000, request(0, 200, 2))],
    );
    let steps = run.all();
    let served: Vec<&Served> = run.served.values().collect();
    // 12 of 12.5 blocks are whole: 192 tokens.
    assert_eq!([served[0].cached, served[1].cached], [0, 192]);
    assert_eq!(steps[0].prefilled_tokens, 200);
    assert_eq!(steps[2].prefilled_tokens, 8);
    assert!(served[1].first_ns() < served[0].first_ns());

    let off = Profile {
        prefix_cache: PrefixCache::Off,
        ..Profile::fast()
    };
    let (_, served) = steps_of(off, &[request(0, 200, 2), request(0, 200, 2)]);
    assert_eq!([served[0].cached, served[1].cached], [0, 0]);
}

#[test]
fn a_wholly_known_prompt_still_computes_its_last_block() {
    let arrivals = [(0, request(0, 64, 1)), (50_000_000, request(0, 64, 1))];
    let mut run = Run::new(Profile::fast(), 1, arrivals);
    let steps = run.all();
    assert_eq!(steps[1].prefilled_tokens, 16);
    assert_eq!(
        run.served.values().last().expect("two were served").cached,
        48
    );
}

#[test]
fn without_room_the_youngest_is_preempted_and_still_served() {
    // Two sequences of 8 blocks each at their end, in a cache of 10.
    let profile = Profile {
        kv_blocks: 10,
        prefix_cache: PrefixCache::Off,
        ..Profile::fast()
    };
    let mut run = Run::new(
        profile,
        1,
        [(0, request(0, 48, 80)), (0, request(9_000, 48, 80))],
    );
    run.all();
    assert!(
        run.engine.load().preemptions > 0,
        "the test needs a preemption"
    );
    let last: Vec<u64> = run.served.values().map(Served::last_ns).collect();
    assert!(last[0] < last[1], "the older one goes first: {last:?}");
    assert!(run.served.values().all(|served| served.tokens() == 80));
    assert_eq!(run.engine.load().kv_blocks, 0);
}

#[test]
fn cancelling_frees_blocks_and_makes_way() {
    let mut engine = Engine::new(
        Profile {
            max_running: std::num::NonZeroU32::MIN,
            ..Profile::fast()
        },
        0,
    );
    let first = engine.submit(&request(0, 100, 100)).expect("it fits");
    let second = engine.submit(&request(9_000, 100, 1)).expect("it fits");
    let step = engine.step(0).expect("there is work");
    assert_eq!(step.emissions[0].id, first);
    assert!(engine.cancel(first));
    assert_eq!(
        engine.load(),
        Load {
            waiting: 1,
            ..Load::default()
        }
    );
    let step = engine.step(step.ends_at_ns).expect("there is work");
    assert_eq!(
        (step.emissions[0].id, step.emissions[0].finished),
        (second, Some(Finish::Length))
    );
}

#[test]
fn speculation_yields_several_tokens_a_step() {
    let speculation = |acceptance_ppm| {
        Some(Speculation {
            depth: 3,
            acceptance_ppm,
        })
    };
    let steps = |speculation| {
        let profile = Profile {
            speculation,
            ..Profile::fast()
        };
        let (steps, served) = steps_of(profile, &[request(0, 10, 401)]);
        assert_eq!(served[0].tokens(), 401);
        steps.len()
    };
    assert_eq!(steps(None), 401);
    assert_eq!(steps(speculation(0)), 401);
    assert_eq!(steps(speculation(MILLION)), 101);
    let some = steps(speculation(700_000));
    // 1 + 0.7 + 0.49 + 0.343 = 2.533 tokens a step on average: 158 steps.
    assert!((140..180).contains(&some), "{some} steps");
}

#[test]
fn noise_stays_within_its_bound_and_moves_both_ways() {
    let profile = Profile {
        noise_ppm: 100_000,
        ..Profile::fast()
    };
    let (steps, _) = steps_of(profile, &[request(0, 1, 500)]);
    let durations: Vec<u64> = steps
        .iter()
        .skip(1)
        .map(|step| step.ends_at_ns - step.starts_at_ns)
        .collect();
    assert!(
        durations
            .iter()
            .all(|ns| (945_000..=1_155_000).contains(ns))
    );
    assert!(
        durations.iter().any(|ns| *ns < 1_000_000) && durations.iter().any(|ns| *ns > 1_100_000)
    );
    let mean = durations.iter().sum::<u64>() / durations.len() as u64;
    assert!((1_040_000..1_060_000).contains(&mean), "mean {mean} ns");
}

#[test]
fn one_server_waits_as_queueing_theory_says() {
    // M/D/1 at ρ = 0.7 and D = 1 ms: the mean wait is λD²/(2(1 − ρ)) = 1.1667 D, its 95th percentile 4.1029 D.
    const SERVICE_NS: u64 = 1_000_000;
    let mut random = Pcg64::seed_from_u64(7);
    let mut at = 0.0_f64;
    let arrivals = (0..200_000).map(|_| {
        let even: f64 = random.random();
        at += -(1.0 - even).ln() / 0.7 * 1e6;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a positive time below 2^53 ns"
        )]
        let at_ns = at as u64;
        (at_ns, request(0, 1, 1))
    });
    let mut run = Run::new(Profile::one_server(SERVICE_NS), 0, arrivals);
    let (mut inside_ns, mut last_ns) = (0, 0);
    while let Some(step) = run.next() {
        last_ns = step.ends_at_ns;
    }
    let mut waits: Vec<u64> = Vec::new();
    for served in run.served.values() {
        inside_ns += served.last_ns();
        waits.push(served.last_ns() - SERVICE_NS);
    }
    waits.sort_unstable();
    let mean = waits.iter().sum::<u64>() as f64 / waits.len() as f64 / 1e6;
    let p95 = waits[waits.len() * 95 / 100] as f64 / 1e6;
    assert!((mean - 1.1667).abs() < 0.05, "mean wait {mean} D");
    assert!(
        (p95 - 4.1029).abs() < 0.2,
        "95th percentile of the wait {p95} D"
    );
    // Little's law: requests inside on average = arrival rate × time inside.
    let inside = inside_ns as f64 / last_ns as f64;
    assert!(
        (inside - 0.7 * (mean + 1.0)).abs() < 0.02,
        "{inside} inside on average"
    );
}

fn any_request() -> impl Strategy<Value = (u64, Request)> {
    // Four families of prompts, so that prefixes are shared.
    (
        0_u64..20_000_000,
        0_u32..4,
        1_u32..400,
        1_u32..60,
        any::<bool>(),
    )
        .prop_map(|(gap_ns, family, prompt, output, stops)| {
            let finish = if stops { Finish::Stop } else { Finish::Length };
            (
                gap_ns,
                Request {
                    finish,
                    ..request(family * 100_000, prompt, output)
                },
            )
        })
}

fn any_profile() -> impl Strategy<Value = Profile> {
    (any::<bool>(), 0_u32..4, 30_u32..200, 1_u32..300, 1_u32..9).prop_map(
        |(cache, depth, kv_blocks, step_tokens, running)| Profile {
            prefix_cache: if cache {
                PrefixCache::On
            } else {
                PrefixCache::Off
            },
            speculation: (depth > 0).then_some(Speculation {
                depth,
                acceptance_ppm: 600_000,
            }),
            kv_blocks,
            max_step_tokens: step_tokens.try_into().expect("the range begins at 1"),
            max_running: running.try_into().expect("the range begins at 1"),
            noise_ppm: 50_000,
            ..Profile::fast()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is asked of whatever deployment: every token is emitted, limits hold (see `Run::check`), nothing stays
    /// behind, and the same seed tells the same story.
    #[test]
    fn any_traffic_is_served_in_full(
        profile in any_profile(),
        requests in prop::collection::vec(any_request(), 1..30),
        seed in any::<u64>(),
    ) {
        let mut at = 0;
        let arrivals: Vec<(u64, Request)> = requests
            .into_iter()
            .filter(|(_, request)| request.prompt.len() + (request.output_tokens as usize) < profile.longest_sequence() as usize)
            .map(|(gap_ns, request)| { at += gap_ns; (at, request) })
            .collect();
        let mut run = Run::new(profile.clone(), seed, arrivals.clone());
        let steps = run.all();
        prop_assert_eq!(run.served.len(), arrivals.len());
        for (served, (_, request)) in run.served.values().zip(&arrivals) {
            prop_assert_eq!(served.tokens(), served.asked);
            prop_assert_eq!(served.finished, Some(request.finish));
            prop_assert!(served.emissions.is_sorted_by(|a, b| a.0 < b.0));
            prop_assert!((served.cached as usize) < request.prompt.len());
        }
        let load = run.engine.load();
        prop_assert_eq!((load.running, load.waiting, load.kv_blocks), (0, 0, 0));
        prop_assert_eq!(run.engine.next_wake_ns(), None);

        let again = Run::new(profile, seed, arrivals).all();
        prop_assert_eq!(again, steps);
    }

    /// Cancelling at any moment leaves no block behind and harms nobody else.
    #[test]
    fn any_cancellation_leaves_nothing_behind(
        profile in any_profile(),
        requests in prop::collection::vec(any_request(), 2..12),
        cancel_every in 1_usize..5,
    ) {
        let mut engine = Engine::new(profile, 3);
        let mut open: Vec<(RequestId, u32)> = requests
            .iter()
            .filter_map(|(_, request)| Some((engine.submit(request).ok()?, request.output_tokens)))
            .collect();
        let mut steps = 0;
        while let Some(step) = engine.step(0) {
            for emission in step.emissions {
                let at = open.iter().position(|(id, _)| *id == emission.id).expect("only open requests emit");
                open[at].1 -= emission.tokens;
                prop_assert_eq!(open[at].1 == 0, emission.finished.is_some());
                if emission.finished.is_some() {
                    open.remove(at);
                }
            }
            steps += 1;
            if steps % cancel_every == 0 && !open.is_empty() {
                let (id, _) = open.remove(steps % open.len());
                prop_assert!(engine.cancel(id));
            }
        }
        prop_assert!(open.is_empty());
        prop_assert_eq!(engine.load().kv_blocks, 0);
    }
}
