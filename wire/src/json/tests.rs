//! Reading in place, against a tree as the oracle.
