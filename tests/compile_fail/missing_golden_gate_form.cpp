// Four incompatible sets of directions are published: none of them is a default.
// expect: required<(rope::)?GoldenGateForm>
#include "rope/spatial/golden_gate.hpp"

#ifdef ROPE_BAD
const rope::GoldenGate options{
    .axes = 2, .heads = 3, .rotary_dim = 8, .min_frequency = 1, .max_frequency = 20};
#else
const rope::GoldenGate options{.form = rope::GoldenGateForm::exact_2d,
                               .axes = 2,
                               .heads = 3,
                               .rotary_dim = 8,
                               .min_frequency = 1,
                               .max_frequency = 20};
#endif
