// SPDX-License-Identifier: Apache-2.0
// Sliding windows: adjacent windows have most of their taps in common, so each element enters and
// leaves only once per dimension. The time depends on the numbers of elements and outputs, but not
// on that of taps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/integers.h"
#include "core/base/parallel.h"
#include "core/engine/window/pool_windows.h"
#include "core/exact/exact_sum.h"
#include "core/tensor/loop_nest.h"

namespace dmlop {

// Outputs of one dimension whose windows are ranges of the same places: positions of the input that
// are `step` apart.
struct SlideLine {
  int64_t first, step, places;
  int64_t output, output_step, outputs;
  // The window of output i has the existing places from floor((i * pace + begin) / divisor) up to,
  // but without, floor((i * pace + end) / divisor).
  int64_t pace, begin, end, divisor = 1;

  int64_t Position(int64_t place) const { return first + place * step; }
  int64_t Output(int64_t i) const { return output + i * output_step; }
  Range Window(int64_t i) const {
    const auto place = [&](int64_t at) {
      return std::clamp<int64_t>(FloorDiv(i * pace + at, divisor), 0, places);
    };
    return {place(begin), place(end)};
  }
  SlideLine Part(Range outputs_of_part) const;
};

// One dimension of the input and of the outputs, both counted from 0.
struct SlideAxis {
  enum Kind {
    kTaps,     // an output has the taps of its window
    kWindows,  // an output is a position, and has the windows with a tap there; without dilation
  };

  Kind kind;
  WindowAxis dim;
  int64_t size, outputs;
  size_t dimension;

  int64_t line_count() const;
  SlideLine Line(int64_t i) const;
};

// The dimensions after the first two, and the part of the input that outputs need in all of them.
struct SlideAxes {
  std::vector<SlideAxis> axes;
  Dims begin, sizes;  // that part of the input

  // Returns whether sliding is faster than reading the taps of each window.
  bool AreLarge() const;

  ConstTensorView PartOf(ConstTensorView input) const {
    for (size_t d = 0; d < begin.size(); ++d) input = input.Slice(d, begin[d], sizes[d]);
    return input;
  }
};

// The axes for the part of the outputs that begins at `begin`.
SlideAxes TapAxes(const PoolDims& dims, const Dims& begin, const Dims& sizes);
// The axes for a part of a tensor; the input has `windows[d]` windows in dimension d.
SlideAxes WindowAxes(const PoolDims& dims, const Dims& windows, const Dims& begin,
                     const Dims& sizes);

// Returns the axes with any work, in the order in which to slide, so that there are never many more
// numbers than elements or outputs, and few must be kept at a time.
std::vector<SlideAxis> InSlidingOrder(std::span<const SlideAxis> axes);

inline std::byte* ElementAt(const TensorView& view, const Dims& index) {
  return view.data + OffsetOf(view.layout, index) * static_cast<int64_t>(ByteWidth(view.type));
}

// Runs body(index, share) for the first index of each of the outputs' channels and its shares.
void ForEachChannel(const TensorView& outputs, int64_t shares,
                    const std::function<void(const Dims& index, int64_t share)>& body);

// --- sums ----------------------------------------------------------------------------------------

// A sum of floats from which earlier terms can be removed.
class SlidingSum {
 public:
  // `sign` is 1 for a term that enters, and -1 for one that leaves.
  void Add(double term, int64_t sign) {
    if (std::isfinite(term)) {
      sum_.Add(static_cast<double>(sign) * term);
      others_ += term != 0 || !std::signbit(term) ? sign : 0;
    } else {
      others_ += sign;
      (std::isnan(term) ? nans_ : term > 0 ? infinities_ : negative_infinities_) += sign;
    }
  }
  void Add(const SlidingSum& other, int64_t sign);

  // Prepares for being added to others quickly.
  void Settle() { sum_.Normalize(); }

  template <typename Finalizer, typename T, typename Count>
  T Result(Count count) const {
    if (nans_ + infinities_ + negative_infinities_ != 0) {
      return Finalizer::template OfSpecial<T>(Special());
    }
    if (others_ == 0) return Finalizer::template OfZero<T>(-0.0);
    return Finalizer::template Of<T>(sum_, count);
  }

 private:
  double Special() const;

  ExactSum sum_;
  int64_t others_ = 0;  // number of terms other than -0
  int64_t nans_ = 0, infinities_ = 0, negative_infinities_ = 0;
};

// Elements of any type, read as terms of sums. There is one loop for each kind of term and total,
// not for each type of elements and results.
template <typename Term>
struct Terms {
  const std::byte* first;
  Dims strides;  // in bytes
  Term (*read)(const std::byte* element);
};
template <typename Term>
Terms<Term> TermsOf(const ConstTensorView& view, Term (*read)(const std::byte* element)) {
  Terms<Term> terms{view.data, view.layout.strides, read};
  for (int64_t& stride : terms.strides) stride *= static_cast<int64_t>(ByteWidth(view.type));
  return terms;
}

template <typename Total>
using FinishSum = std::function<void(const Dims& index, const Total& total)>;

// The sums of one channel's windows in succession. Total has Add(term, sign), Add(other total,
// sign) and Settle().
template <typename Total, typename Term>
class SlidingSums {
 public:
  SlidingSums(const SlideAxes& axes, const Terms<Term>& terms, const FinishSum<Total>& finish)
      : axes_(InSlidingOrder(axes.axes)),
        terms_(terms),
        step_(terms.strides[axes_[0].dimension]),
        finish_(finish) {
    for (size_t i = 1; i < axes_.size(); ++i) {
      plane_.Push(axes_[i].size, {terms.strides[axes_[i].dimension]});
    }
    int64_t count = 1;
    counts_.resize(axes_.size());
    for (size_t i = axes_.size(); i-- > 0; count *= axes_[i].size) counts_[i] = count;
    for (const int64_t totals : counts_) totals_.emplace_back(static_cast<size_t>(totals));
  }

  // Finishes a share of the outputs of the channel that begins at index `channel`.
  void Run(const Dims& channel, int64_t share, int64_t shares) {
    const std::byte* from =
        terms_.first + channel[0] * terms_.strides[0] + channel[1] * terms_.strides[1];
    const auto add = [&](int64_t position, int64_t sign) {
      if (totals_[0].empty()) return;  // no window reaches a position along another axis
      Walk<1> walk(plane_, 0);
      for (Total& total : totals_[0]) {
        total.Add(terms_.read(from + position * step_ + walk.offset(0)), sign);
        walk.Next();
      }
    };
    for (int64_t i = 0; i < axes_[0].line_count(); ++i) {
      const SlideLine line = axes_[0].Line(i);
      const Range part = {line.outputs * share / shares, line.outputs * (share + 1) / shares};
      Slide(0, line.Part(part), channel, add);
    }
  }

 private:
  // add(position, sign) adds the elements at a position of the axis to its totals.
  template <typename Add>
  void Slide(size_t level, const SlideLine& line, Dims index, Add&& add) {
    std::vector<Total>& totals = totals_[level];
    std::fill(totals.begin(), totals.end(), Total());
    Range held = {0, 0};
    for (int64_t i = 0; i < line.outputs; ++i) {
      const Range window = line.Window(i);
      if (window.begin >= held.end) {
        if (held.count() > 0) std::fill(totals.begin(), totals.end(), Total());
        held = {window.begin, window.begin};
      }
      for (; held.end < window.end; ++held.end) add(line.Position(held.end), 1);
      for (; held.begin < window.begin; ++held.begin) add(line.Position(held.begin), -1);
      index[axes_[level].dimension] = line.Output(i);
      if (level + 1 == axes_.size()) {
        finish_(index, totals[0]);
      } else {
        SlideTotals(level + 1, index);
      }
    }
  }

  void SlideTotals(size_t level, const Dims& index) {
    for (Total& total : totals_[level - 1]) total.Settle();
    const auto add = [&](int64_t position, int64_t sign) {
      const Total* from = totals_[level - 1].data() + position * counts_[level];
      for (Total& total : totals_[level]) total.Add(*from++, sign);
    };
    const SlideAxis& axis = axes_[level];
    for (int64_t i = 0; i < axis.line_count(); ++i) Slide(level, axis.Line(i), index, add);
  }

  std::vector<SlideAxis> axes_;
  const Terms<Term>& terms_;
  int64_t step_;  // along the first axis
  const FinishSum<Total>& finish_;
  LoopNest<1> plane_;  // the elements along all other axes
  std::vector<int64_t> counts_;
  std::vector<std::vector<Total>> totals_;  // for each axis, one per element of the later axes
};

// Sums the windows of all channels, and calls finish(index, total) for each output.
template <typename Total, typename Term>
void SlideSums(const SlideAxes& axes, const Terms<Term>& terms, const TensorView& outputs,
               const FinishSum<Total>& finish) {
  const bool are_many = outputs.layout.sizes[0] * outputs.layout.sizes[1] >= ThreadCount();
  const int64_t shares = are_many ? 1 : ThreadCount();
  ForEachChannel(outputs, shares, [&](const Dims& index, int64_t share) {
    SlidingSums<Total, Term>(axes, terms, finish).Run(index, share, shares);
  });
}

// --- folds ---------------------------------------------------------------------------------------

// A queue that knows what all its states combine to, in any order. Combined(a, State()) must be a.
template <typename State>
class FoldQueue {
 public:
  void Push(const State& state) {
    pushed_.push_back(state);
    fold_ = Combined(fold_, state);
  }
  void Pop() {
    if (suffixes_.empty()) Turn();
    suffixes_.pop_back();
  }
  void Clear() {
    suffixes_.clear();
    pushed_.clear();
    fold_ = {};
  }
  State Fold() const { return suffixes_.empty() ? fold_ : Combined(suffixes_.back(), fold_); }

 private:
  // Replaces the pushed states by the folds of each with all later ones, the first one last.
  void Turn() {
    State fold;
    for (size_t i = pushed_.size(); i-- > 0;) {
      fold = Combined(pushed_[i], fold);
      suffixes_.push_back(fold);
    }
    pushed_.clear();
    fold_ = {};
  }

  std::vector<State> suffixes_, pushed_;
  State fold_;  // fold of the pushed states
};

// Folds the windows along an axis; `inner` is the number of states along the later axes.
template <typename State>
std::vector<State> FoldsAlong(const SlideAxis& axis, const std::vector<State>& states,
                              int64_t outer, int64_t inner) {
  constexpr int64_t kGrainStates = 1 << 12;
  std::vector<State> folds(static_cast<size_t>(outer * axis.outputs * inner));
  const auto run = [&](const SlideLine& line, const State* from, State* to) {
    FoldQueue<State> queue;
    Range held = {0, 0};
    for (int64_t i = 0; i < line.outputs; ++i) {
      const Range window = line.Window(i);
      if (window.begin >= held.end) {
        queue.Clear();
        held = {window.begin, window.begin};
      }
      for (; held.end < window.end; ++held.end) queue.Push(from[line.Position(held.end) * inner]);
      for (; held.begin < window.begin; ++held.begin) queue.Pop();
      to[line.Output(i) * inner] = queue.Fold();
    }
  };
  ParallelFor(outer * inner, kGrainStates / (axis.size + axis.outputs) + 1, 0,
              [&](int64_t begin, int64_t end) {
                for (int64_t k = begin; k < end; ++k) {
                  const State* from = states.data() + k / inner * axis.size * inner + k % inner;
                  State* to = folds.data() + k / inner * axis.outputs * inner + k % inner;
                  for (int64_t i = 0; i < axis.line_count(); ++i) run(axis.Line(i), from, to);
                }
              });
  return folds;
}

// Folds all windows of a channel, given one state for each of its elements.
template <typename State>
std::vector<State> FoldWindows(std::span<const SlideAxis> axes, std::vector<State> states) {
  Dims sizes;
  for (const SlideAxis& axis : axes) sizes.push_back(axis.size);
  for (const SlideAxis& axis : InSlidingOrder(axes)) {
    int64_t* const size = sizes.begin() + (axis.dimension - axes[0].dimension);
    states = FoldsAlong(axis, states, Product(Dims(sizes.begin(), size)),
                        Product(Dims(size + 1, sizes.end())));
    *size = axis.outputs;
  }
  return states;
}

// Folds the windows of all channels, and calls finish(index, fold) for each output. make(offset,
// number) returns the state of an input element, numbered as in a packed tensor with the sizes in
// dims.
template <typename State, typename Make, typename Finish>
void SlideFolds(const SlideAxes& axes, const PoolDims& dims, const Layout& input,
                const TensorView& outputs, Make&& make, Finish&& finish) {
  Dims sizes;
  for (const WindowAxis& dim : dims) sizes.push_back(dim.size);
  const Layout numbers = PackedLayout(sizes);
  LoopNest<2> channel;
  for (const SlideAxis& axis : axes.axes) {
    const size_t d = axis.dimension;
    channel.Push(axis.size, {input.strides[d], numbers.strides[d]});
  }
  ForEachChannel(outputs, 1, [&](Dims index, int64_t) {
    const Dims place = {index[0], index[1]};
    int64_t number = OffsetOf(numbers, axes.begin);
    int64_t offset = OffsetOf(input, axes.begin);
    for (size_t d = 0; d < place.size(); ++d) {
      number += place[d] * numbers.strides[d];
      offset += place[d] * input.strides[d];
    }
    std::vector<State> states(static_cast<size_t>(Product(channel.sizes)));
    Walk<2> walk(channel, 0);
    for (State& state : states) {
      state = make(offset + walk.offset(0), number + walk.offset(1));
      walk.Next();
    }
    const std::vector<State> folds = FoldWindows(axes.axes, std::move(states));
    for (const State& fold : folds) {
      finish(std::as_const(index), fold);
      Advance(outputs.layout.sizes, index);
    }
  });
}

}  // namespace dmlop
