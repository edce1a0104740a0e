#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>

#include "rope/detail/kernels.hpp"
#include "rope/detail/norm_work.hpp"
#include "rope/detail/overlap.hpp"
#include "rope/detail/pairing_call.hpp"
#include "rope/detail/rotate_call.hpp"
#include "rope/detail/rotate_check.hpp"
#include "rope/detail/rotate_work.hpp"
#include "rope/detail/unit.hpp"
#include "rope/detail/work_split.hpp"
#include "rope/error.hpp"
#include "rope/executor.hpp"
#include "rope/normed_options.hpp"
#include "rope/pairing.hpp"
#include "rope/rms_norm.hpp"
#include "rope/rotate_options.hpp"
#include "rope/row_positions.hpp"
#include "rope/scalar.hpp"
#include "rope/table_concept.hpp"
#include "rope/view.hpp"

namespace rope::detail::inline ROPE_DETAIL_UNIT {

inline Status check_norm_counts(const char* who, const Layout& layout, std::int64_t weights,
                                bool has_token_scales, std::int64_t token_scales) noexcept {
  const std::int64_t heads = layout.extent[2];
  const std::int64_t dim = layout.extent[3];
  if (dim > norm_scratch_elements) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: norm: heads of at most %lld dims can be normalised, got %lld", who,
                   static_cast<long long>(norm_scratch_elements), static_cast<long long>(dim));
  }
  std::int64_t all_dims = 0;
  if (weights != dim && (__builtin_mul_overflow(heads, dim, &all_dims) || weights != all_dims))
      [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: norm: there are %lld weights, but the view has heads %lld of dim %lld", who,
                   static_cast<long long>(weights), static_cast<long long>(heads),
                   static_cast<long long>(dim));
  }
  std::int64_t tokens = 0;
  if (has_token_scales && (__builtin_mul_overflow(layout.extent[0], layout.extent[1], &tokens) ||
                           token_scales != tokens)) [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: norm: there are %lld token scales, but the view has batch %lld and tokens "
                   "%lld",
                   who, static_cast<long long>(token_scales),
                   static_cast<long long>(layout.extent[0]),
                   static_cast<long long>(layout.extent[1]));
  }
  return {};
}

/// All that can be wrong with a norm for a view.
template <class C>
Status check_norm(const char* who, const Layout& layout, const RmsNorm<C>& norm) noexcept {
  return check_norm_counts(who, layout, static_cast<std::int64_t>(norm.weights().size()),
                           norm.has_token_scales(),
                           static_cast<std::int64_t>(norm.token_scales().size()));
}

/// Checks that what a norm refers to is not written. After all that is known of the views.
template <class C, class T>
Status check_norm_apart(const char* who, const RmsNorm<C>& norm, const View<T>& out) noexcept {
  const auto check = [&](const char* what, std::span<const C> numbers) {
    return check_read_apart(who, what, numbers.data(), static_cast<std::int64_t>(numbers.size()),
                            sizeof(C), out);
  };
  if (Status status = check("norm: the weights", norm.weights()); !status.ok()) [[unlikely]] {
    return status;
  }
  return check("norm: the token scales", norm.token_scales());
}

/// What a kernel is told of a norm that check_norm() found fine.
template <class C>
NormWork<C> norm_work(const Layout& layout, const RmsNorm<C>& norm) noexcept {
  const auto weights = static_cast<std::int64_t>(norm.weights().size());
  const std::int64_t dim = layout.extent[3];
  return {norm.weights().data(),
          weights == dim ? 0 : dim,
          norm.weight() == NormWeight::times_one_plus_w ? C{1} : -C{0},
          norm.has_token_scales() ? norm.token_scales().data() : nullptr,
          norm.epsilon(),
          1.0 / static_cast<double>(dim),
          norm.rounding()};
}

template <class C>
RotateOptions without_norm(const NormedOptions<C>& options) noexcept {
  return {.first_dim = options.first_dim, .executor = options.executor, .part = options.part};
}
template <class C>
RotateOptions without_norm(const NormedQkOptions<C>& options) noexcept {
  return {.first_dim = options.first_dim, .executor = options.executor, .part = options.part};
}
template <class C>
NormedOptions<C> without_pairing(const NormedPairingOptions<C>& options) noexcept {
  return {.norm = options.norm,
          .first_dim = options.first_dim,
          .executor = options.executor,
          .part = options.part};
}
template <class C>
NormedQkOptions<C> without_pairing(const NormedQkPairingOptions<C>& options) noexcept {
  return {.q_norm = options.q_norm,
          .k_norm = options.k_norm,
          .first_dim = options.first_dim,
          .executor = options.executor,
          .part = options.part};
}

/// Everything that can be wrong with normalising and rotating one view.
template <class T, class In, Table X>
Status check_normed(const char* who, const View<In>& in, const View<T>& out, const X& table,
                    const Positions* positions,
                    const NormedOptions<compute_type_t<T>>& options) noexcept {
  if (Status status = check_norm(who, in.layout(), options.norm.value()); !status.ok())
      [[unlikely]] {
    return status;
  }
  if (Status status =
          check_one<Direction::forward, T>(who, in, out, table, positions, without_norm(options));
      !status.ok()) [[unlikely]] {
    return status;
  }
  return check_norm_apart(who, options.norm.value(), out);
}
template <class T, class In, Table X>
Status check_normed(const char* who, const View<In>& in, const View<T>& out, const X& table,
                    const Positions* positions,
                    const NormedPairingOptions<compute_type_t<T>>& options) noexcept {
  if (Status status = check_pairing(who, options.pairing); !status.ok()) [[unlikely]] {
    return status;
  }
  return check_normed<T>(who, in, out, table, positions, without_pairing(options));
}

/// One view, with the pairing known at compile time.
template <Pairing pairing, class T, class In, Table X>
void rotate_normed(const char* who, const View<In>& in, const View<T>& out, const X& table,
                   const Positions* positions, const NormedOptions<compute_type_t<T>>& options) {
  static_assert(is_valid(pairing));
  require(check_normed<T>(who, in, out, table, positions, options));
  if (in.empty()) {
    return;
  }
  const RotateOptions rest = without_norm(options);
  const auto work =
      stored(rotate_work<Direction::forward>(in, out, table, positions, rest.first_dim));
  const auto norm = norm_work(in.layout(), options.norm.value());
  if (is_whole_and_serial(rest)) [[likely]] {
    return rotate_normed_tokens<pairing>(work, norm, whole_of(in));
  }
  run_split(splittable(work), rest,
            [&](const WorkPart& part) { rotate_normed_tokens<pairing>(work, norm, part); });
}

/// One view, with the pairing known at run time.
template <class T, class In, Table X>
void rotate_normed(const char* who, const View<In>& in, const View<T>& out, const X& table,
                   const Positions* positions,
                   const NormedPairingOptions<compute_type_t<T>>& options) {
  with_pairing(who, options.pairing, [&]<Pairing pairing>() {
    rotate_normed<pairing, T>(who, in, out, table, positions, without_pairing(options));
  });
}

/// All that can be wrong with normalising and rotating q and k.
template <class T, Table X>
Status check_normed_both(const View<T>& q, const View<T>& k, const X& table,
                         const Positions* positions,
                         const NormedQkOptions<compute_type_t<T>>& options) noexcept {
  if (Status status = check_norm("rope::rotate_qk: q", q.layout(), options.q_norm.value());
      !status.ok()) [[unlikely]] {
    return status;
  }
  if (Status status = check_norm("rope::rotate_qk: k", k.layout(), options.k_norm.value());
      !status.ok()) [[unlikely]] {
    return status;
  }
  if (Status status = check_both(q, k, table, positions, without_norm(options)); !status.ok())
      [[unlikely]] {
    return status;
  }
  for (const auto* norm : {&options.q_norm.value(), &options.k_norm.value()}) {
    for (const auto* out : {&q, &k}) {
      if (Status status = check_norm_apart("rope::rotate_qk", *norm, *out); !status.ok())
          [[unlikely]] {
        return status;
      }
    }
  }
  return {};
}
template <class T, Table X>
Status check_normed_both(const View<T>& q, const View<T>& k, const X& table,
                         const Positions* positions,
                         const NormedQkPairingOptions<compute_type_t<T>>& options) noexcept {
  if (Status status = check_pairing("rope::rotate_qk", options.pairing); !status.ok())
      [[unlikely]] {
    return status;
  }
  return check_normed_both(q, k, table, positions, without_pairing(options));
}

/// q and k, with the pairing known at compile time.
template <Pairing pairing, class T, Table X>
void rotate_normed_both(const View<T>& q, const View<T>& k, const X& table,
                        const Positions* positions,
                        const NormedQkOptions<compute_type_t<T>>& options) {
  static_assert(is_valid(pairing));
  require(check_normed_both(q, k, table, positions, options));
  const RotateOptions rest = without_norm(options);
  const auto q_work =
      stored(rotate_work<Direction::forward>(q, q, table, positions, rest.first_dim));
  const auto k_work =
      stored(rotate_work<Direction::forward>(k, k, table, positions, rest.first_dim));
  const auto q_norm = norm_work(q.layout(), options.q_norm.value());
  const auto k_norm = norm_work(k.layout(), options.k_norm.value());
  if (is_whole_and_serial(rest)) [[likely]] {
    if (!q.empty()) {
      rotate_normed_tokens<pairing>(q_work, q_norm, whole_of(q));
    }
    if (!k.empty()) {
      rotate_normed_tokens<pairing>(k_work, k_norm, whole_of(k));
    }
    return;
  }
  run_split(
      splittable(q_work),
      [&](const WorkPart& part) { rotate_normed_tokens<pairing>(q_work, q_norm, part); },
      splittable(k_work),
      [&](const WorkPart& part) { rotate_normed_tokens<pairing>(k_work, k_norm, part); }, rest);
}

/// q and k, with the pairing known at run time.
template <class T, Table X>
void rotate_normed_both(const View<T>& q, const View<T>& k, const X& table,
                        const Positions* positions,
                        const NormedQkPairingOptions<compute_type_t<T>>& options) {
  with_pairing("rope::rotate_qk", options.pairing, [&]<Pairing pairing>() {
    rotate_normed_both<pairing>(q, k, table, positions, without_pairing(options));
  });
}

/// All that can be wrong with a norm without a rotation.
template <class T, class In>
Status check_normalization(const char* who, const View<In>& in, const View<T>& out,
                           const RmsNorm<compute_type_t<T>>& norm,
                           const NormalizeOptions& options) noexcept {
  if (Status status = check_shapes_equal(who, in.layout(), out.layout()); !status.ok())
      [[unlikely]] {
    return status;
  }
  if (Status status = check_norm(who, in.layout(), norm); !status.ok()) [[unlikely]] {
    return status;
  }
  if (Status status = check_part(who, options.part); !status.ok()) [[unlikely]] {
    return status;
  }
  if (Status status = check_written(who, in, out); !status.ok()) [[unlikely]] {
    return status;
  }
  return check_norm_apart(who, norm, out);
}

template <class T, class In>
void normalize_one(const char* who, const View<In>& in, const View<T>& out,
                   const RmsNorm<compute_type_t<T>>& norm, const NormalizeOptions& options) {
  require(check_normalization(who, in, out, norm, options));
  using StoredIn = typename StoredAs<std::remove_const_t<In>>::type;
  using StoredOut = typename StoredAs<T>::type;
  const NormalizeWork<StoredIn, StoredOut> work{reinterpret_cast<const StoredIn*>(in.data()),
                                                reinterpret_cast<StoredOut*>(out.data()),
                                                in.layout(), out.layout()};
  const auto of_heads = norm_work(in.layout(), norm);
  run_split(Splittable{&work.out_layout, sizeof(T), sizeof(In)},
            {.executor = options.executor, .part = options.part},
            [&](const WorkPart& part) { normalize_tokens(work, of_heads, part); });
}

inline Status check_token_scales(const char* who, const Layout& layout, double epsilon,
                                 std::int64_t room) noexcept {
  std::int64_t tokens = 0;
  if (__builtin_mul_overflow(layout.extent[0], layout.extent[1], &tokens) || room != tokens)
      [[unlikely]] {
    return failure(ErrorKind::invalid_argument,
                   "%s: there is room for %lld scales, but the view has batch %lld and tokens %lld",
                   who, static_cast<long long>(room), static_cast<long long>(layout.extent[0]),
                   static_cast<long long>(layout.extent[1]));
  }
  return check_epsilon(who, epsilon);
}

/// 1 / sqrt(mean of x^2 + epsilon) over all heads of each token.
template <class T>
void write_token_scales(const char* who, const View<const T>& x, double epsilon,
                        compute_type_t<T>* scales, std::int64_t room, const ExecutorRef& executor) {
  using Stored = typename StoredAs<T>::type;
  const Layout& layout = x.layout();
  require(check_token_scales(who, layout, epsilon, room));
  const View<const compute_type_t<T>> written(scales, {{1, 1, 1, room}, {0, 0, 0, 1}}, who);
  require(check_disjoint(who, "x and scales", x, written));
  if (room == 0) {
    return;
  }
  const auto* const first = reinterpret_cast<const Stored*>(x.data());
  const std::int64_t features = layout.extent[2] * layout.extent[3];
  const std::int64_t parts =
      part_count(executor, room * features * static_cast<std::int64_t>(sizeof(T)));
  const double per_feature = 1.0 / static_cast<double>(features);
  executor(parts, [&](std::int64_t part) {
    const HeadRange tokens = part_of({0, room}, 1, part, parts);
    for (std::int64_t n = tokens.begin; n < tokens.end; ++n) {
      const auto* token =
          first + n / layout.extent[1] * layout.stride[0] + n % layout.extent[1] * layout.stride[1];
      scales[n] = norm_scale(sum_of_token(token, layout), per_feature, epsilon);
    }
  });
}

}  // namespace rope::detail::inline ROPE_DETAIL_UNIT
