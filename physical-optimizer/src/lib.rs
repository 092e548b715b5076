//! The rule that turns DataFusion's physical plans into streaming plans.
