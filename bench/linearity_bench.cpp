// SPDX-License-Identifier: Apache-2.0
// Measures whether ten times the data takes ten times as long, at every rank and stride form:
//
//   linearity  the best time of 160 Mi elements over ten times that of 16 Mi, both beyond the
//              caches
//
//   best       bytes per second of the 160 Mi: how far a form falls behind the packed one
#include <limits>
#include <numeric>
#include <string>

#include "bench/fixture.h"

namespace dmlop {
namespace {

using Sizes = std::vector<uint32_t>;
using Strides = std::vector<uint32_t>;

// Returns the strides of dimensions that are in memory in this order, the innermost first.
Strides StridesOf(const Sizes& sizes, const std::vector<size_t>& order) {
  Strides strides(sizes.size());
  uint32_t stride = 1;
  for (const size_t dim : order) {
    strides[dim] = stride;
    stride *= sizes[dim];
  }
  return strides;
}

// Returns the dimensions from the last to the first.
std::vector<size_t> PackedOrder(size_t rank) {
  std::vector<size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), size_t{0});
  return order;
}

Strides Packed(const Sizes& sizes) {
  return StridesOf(sizes, PackedOrder(sizes.size()));
}

// Swaps the last two dimensions.
Strides Transposed(const Sizes& sizes) {
  std::vector<size_t> order = PackedOrder(sizes.size());
  if (order.size() > 1) std::swap(order[0], order[1]);
  return StridesOf(sizes, order);
}

// Reverses all dimensions.
Strides Reversed(const Sizes& sizes) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  return StridesOf(sizes, order);
}

// Leaves one element between rows, or at rank 1 between elements.
Strides Padded(const Sizes& sizes) {
  if (sizes.size() == 1) return {2};
  Sizes with_padding = sizes;
  ++with_padding.back();
  return Packed(with_padding);
}

// Repeats one element along every other dimension, including the last. A fifth of the sums of 10 *
// 2^k equal elements lie halfway between two floats and are computed again exactly; of 2^k, none
// do. The SUM rows of odd ranks show what that costs.
Strides Broadcast(const Sizes& sizes) {
  Sizes stored = sizes;
  for (size_t i = sizes.size(); i > 0; i -= std::min<size_t>(i, 2)) stored[i - 1] = 1;
  Strides strides = Packed(stored);
  for (size_t i = sizes.size(); i > 0; i -= std::min<size_t>(i, 2)) strides[i - 1] = 0;
  return strides;
}

constexpr struct {
  const char* name;
  Strides (*strides)(const Sizes& sizes);
} kForms[] = {{"packed", Packed},
              {"transposed", Transposed},
              {"reversed", Reversed},
              {"padded", Padded},
              {"broadcast", Broadcast}};

using Form = decltype(kForms[0].strides);

// Returns sizes of 16 Mi elements, as even as powers of two allow, times `scale` along the first
// axis.
Sizes SizesOf(size_t rank, uint32_t scale) {
  constexpr size_t kBits = 24;
  Sizes sizes(rank, uint32_t{1} << (kBits / rank));
  sizes[0] = scale << (kBits - kBits / rank * (rank - 1));
  return sizes;
}

TensorDesc Input(const Sizes& sizes, Form form) {
  TensorDesc desc = Desc(DataType::kFloat32, sizes);
  desc.strides = form(sizes);
  return desc;
}

OperatorDesc Identity(const Sizes& sizes, Form form) {
  OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
  Set(desc, "InputTensor", Input(sizes, form));
  return desc;
}

// Joins two halves along the last axis.
OperatorDesc Join(const Sizes& sizes, Form form) {
  Sizes half = sizes;
  half.back() /= 2;
  OperatorDesc desc = OperatorNamed("JOIN");
  Set(desc, "InputTensors", {Input(half, form), Input(half, form)});
  Set(desc, "Axis", static_cast<uint32_t>(sizes.size() - 1));
  return desc;
}

OperatorDesc Split(const Sizes& sizes, Form form) {
  Sizes half = sizes;
  half.back() /= 2;
  OperatorDesc desc = OperatorNamed("SPLIT");
  Set(desc, "InputTensor", Input(sizes, form));
  Set(desc, "OutputTensors", {Desc(DataType::kFloat32, half), Desc(DataType::kFloat32, half)});
  Set(desc, "Axis", static_cast<uint32_t>(sizes.size() - 1));
  return desc;
}

// Reduces over the last axis and every other one before it.
template <ReduceFunction function>
OperatorDesc Reduce(const Sizes& sizes, Form form) {
  OperatorDesc desc = OperatorNamed("REDUCE");
  Set(desc, "Function", function);
  Set(desc, "InputTensor", Input(sizes, form));
  std::vector<uint32_t> axes;
  for (size_t i = sizes.size(); i > 0; i -= std::min<size_t>(i, 2)) {
    axes.push_back(static_cast<uint32_t>(i - 1));
  }
  Set(desc, "Axes", axes);
  return desc;
}

// Takes windows of two along the last axis.
OperatorDesc Unfold(const Sizes& sizes, Form form) {
  const size_t spatial = sizes.size() - 2;
  OperatorDesc desc = OperatorNamed("UNFOLD");
  Set(desc, "InputTensor", Input(sizes, form));
  Sizes windows(spatial, 1);
  windows.back() = 2;
  Set(desc, "WindowSizes", windows);
  for (const char* field : {"Strides", "Dilations"}) Set(desc, field, Sizes(spatial, 1));
  for (const char* field : {"StartPadding", "EndPadding"}) Set(desc, field, Sizes(spatial, 0));
  return desc;
}

constexpr struct {
  const char* name;
  OperatorDesc (*desc)(const Sizes& sizes, Form form);
  size_t min_rank;
} kOperators[] = {{"IDENTITY", Identity, 1},
                  {"JOIN", Join, 1},
                  {"SPLIT", Split, 1},
                  {"SUM", Reduce<ReduceFunction::kSum>, 1},
                  {"MAX", Reduce<ReduceFunction::kMax>, 1},
                  {"ARGMAX", Reduce<ReduceFunction::kArgMax>, 1},
                  {"MULTIPLY", Reduce<ReduceFunction::kMultiply>, 1},
                  {"LOG_SUM_EXP", Reduce<ReduceFunction::kLogSumExp>, 1},
                  {"UNFOLD", Unfold, 3}};

void Linearity(benchmark::State& state, const OperatorDesc& once, const OperatorDesc& tenfold) {
  Workload small(once);
  Workload large(tenfold);
  small.Run();  // touches the outputs' pages
  large.Run();
  double best_small = std::numeric_limits<double>::infinity();
  double best_large = best_small;
  for (auto _ : state) {
    for (int i = 0; i < 3; ++i) best_small = std::min(best_small, SecondsOf(small));
    const double seconds = SecondsOf(large);
    best_large = std::min(best_large, seconds);
    state.SetIterationTime(seconds);
  }
  state.counters["linearity"] = best_large / best_small / 10;
  state.counters["best"] =
      benchmark::Counter(static_cast<double>(large.bytes()) / best_large,
                         benchmark::Counter::kDefaults, benchmark::Counter::kIs1000);
}

const bool kRegistered = [] {
  for (const auto& op : kOperators) {
    for (size_t rank = op.min_rank; rank <= kMaxRank; ++rank) {
      for (const auto& form : kForms) {
        const std::string name =
            std::string(op.name) + "/" + std::to_string(rank) + "/" + form.name;
        benchmark::RegisterBenchmark(
            name.c_str(),
            [desc = op.desc, strides = form.strides, rank](benchmark::State& state) {
              Linearity(state, desc(SizesOf(rank, 1), strides), desc(SizesOf(rank, 10), strides));
            })
            ->Iterations(5)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace dmlop
