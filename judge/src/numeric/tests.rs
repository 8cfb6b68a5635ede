//! Anchors from published tables, and identities.

use super::*;
use proptest::prelude::*;

fn near(got: f64, expected: f64, relative: f64) {
    assert!(
        (got - expected).abs() <= relative * expected.abs(),
        "got {got}, expected {expected}"
    );
}

#[test]
fn quantiles_are_those_of_the_tables() {
    near(student_quantile(19.0, 0.975), 2.093_024_054_408_31, 1e-12);
    near(student_quantile(4.0, 0.95), 2.131_846_786_326_65, 1e-12);
    near(student_quantile(18.0, 0.975), 2.100_922_040_240_96, 1e-12);
    near(normal_quantile(0.95), 1.644_853_626_951_47, 1e-12);
    near(normal_quantile(0.975), 1.959_963_984_540_05, 1e-12);
    near(normal_quantile(0.995), 2.575_829_303_548_9, 1e-12);
}

#[test]
fn a_tail_of_a_million_is_summed_right() {
    let (n, p, k) = (2_000_000.0, 0.05, 99_800.0);
    let mut sum = 0.0;
    let mut at: f64 = k;
    while at > k - 5000.0 {
        sum += binomial_probability(n, p, at);
        at -= 1.0;
    }
    near(binomial_at_most(n, p, k), sum, 1e-10);
}

#[test]
fn small_binomials_are_exact() {
    near(binomial_probability(4.0, 0.5, 2.0), 0.375, 1e-14);
    near(binomial_at_most(59.0, 0.05, 0.0), 0.95_f64.powi(59), 1e-13);
    near(binomial_at_least(20.0, 0.5, 20.0), 0.5_f64.powi(20), 1e-13);
    assert_eq!(binomial_at_most(5.0, 0.3, 5.0), 1.0);
    assert_eq!(binomial_at_least(5.0, 0.3, 0.0), 1.0);
}

#[test]
fn floors_and_ceilings_take_products_as_meant() {
    assert_eq!(ceil(0.07 * 100.0), 7);
    assert_eq!(floor(0.29 * 100.0), 29);
    assert_eq!(ceil(7.1), 8);
    assert_eq!(floor(-3.0), 0);
    assert_eq!(signed(-3.0), -3);
}

proptest! {
    #[test]
    fn the_beta_function_and_its_inverse_agree(a in 0.5..5000.0_f64, b in 0.5..5000.0_f64, c in 0.001..0.999_f64) {
        let x = beta_quantile(c, a, b);
        // Where x is within an ulp of 1, an ulp of x is worth more than the tolerance.
        prop_assume!(x < 0.999_999);
        prop_assert!((incomplete_beta(a, b, x) - c).abs() < 1e-9);
        let mirrored = 1.0 - incomplete_beta(b, a, 1.0 - x);
        prop_assert!((mirrored - c).abs() < 1e-9);
    }

    #[test]
    fn a_tail_and_its_complement_are_one(n in 1_u32..5000, share in 0.0..1.0_f64, p in 0.001..0.999_f64) {
        let n = f64::from(n);
        let k = (n * share).floor();
        let both = binomial_at_most(n, p, k) + binomial_at_least(n, p, k + 1.0);
        prop_assert!((both - 1.0).abs() < 1e-11, "{both}");
    }

    #[test]
    fn the_first_is_found(from in 0_u64..50, length in 0_u64..50, turn in 0_u64..120) {
        let found = first_where(from, from + length, |n| n >= turn);
        let by_hand = (from..from + length).find(|n| *n >= turn).unwrap_or(from + length);
        prop_assert_eq!(found, by_hand);
    }
}
