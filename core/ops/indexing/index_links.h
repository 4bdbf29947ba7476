// SPDX-License-Identifier: Apache-2.0
// The fields, links and sources of operators that work with indices.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/engine/index/indexed_rows.h"
#include "core/ops/inference.h"

namespace dmlop::indexing {

inline constexpr auto kIndicesTensor = field::Input("IndicesTensor", TypeVariable::kIndex);
inline constexpr auto kUpdatesTensor = field::Input("UpdatesTensor");
inline constexpr auto kIndexedDims = field::Uint("InputDimensionCount", {.max = kMaxRank});
inline constexpr auto kIndexDims = field::Uint("IndicesDimensionCount", {.max = kMaxRank});

// --- links ---------------------------------------------------------------------------------------

// Each walked element has its data element's coordinates, except on Axis, where its index selects.
IndexLinks ElementLinks(const OperatorDesc& op);

// Returns the sizes of those dimensions of the data that a tuple's indices select in.
std::vector<int64_t> ChosenSizes(const IndexLinks& links, const Layout& data);

// --- sources -------------------------------------------------------------------------------------

// The output is walked; the data is the first input.
std::vector<SourceMap> GatherSources(const OperatorDesc& op, const IndexLinks& links);

// The inputs are data, indices and updates. The updates are walked; the output is like the data.
std::vector<SourceMap> ScatterSources(const OperatorDesc& op, const IndexLinks& links);

// Maps every part of an output to the whole input.
SourceMap AllOfInput(const OperatorDesc& op, size_t input);

// Maps to the same place in an input, but to all of it along the axis.
SourceMap AlongAxis(const OperatorDesc& op, size_t input);

// The maps of the inputs in turn.
template <SourceMap (*... kMaps)(const OperatorDesc& op, size_t input)>
std::vector<SourceMap> SourcesFrom(const OperatorDesc& op) {
  size_t input = 0;
  return {kMaps(op, input++)...};
}

// The dimension along which outputs cannot be computed in parts.
std::vector<uint32_t> TheAxis(const OperatorDesc& op);

// --- warnings ------------------------------------------------------------------------------------

// Warns of indices that are out of range of the data, which an operator clamps or ignores (IDX-5).
// `sizes` are those of the dimensions that the indices of a tuple select in.
void WarnOfIndices(const OperatorDesc& op, InputViews inputs, std::span<const int64_t> sizes,
                   std::string_view what_happens, Diagnostics& diagnostics);

// --- families ------------------------------------------------------------------------------------

// Reads the data at the selected places.
void Gather(const IndexLinks& links, InputViews inputs, OutputViews outputs);

// Copies the data and writes the updates to the selected places.
void Scatter(const IndexLinks& links, InputViews inputs, OutputViews outputs);

using LinksFunction = IndexLinks (*)(const OperatorDesc& op);

template <LinksFunction kLinks>
void WarnBy(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) {
  WarnOfIndices(op, inputs, ChosenSizes(kLinks(op), inputs[0].layout), "clamped", diagnostics);
}

template <LinksFunction kLinks>
constexpr Computed GatherBy() {
  return {.run = [](const OperatorDesc& op, InputViews inputs,
                    OutputViews outputs) { Gather(kLinks(op), inputs, outputs); },
          .sources = [](const OperatorDesc& op) { return GatherSources(op, kLinks(op)); },
          .warn = WarnBy<kLinks>,
          .gathers = true};
}

template <LinksFunction kLinks>
constexpr Computed ScatterBy() {
  return {.run = [](const OperatorDesc& op, InputViews inputs,
                    OutputViews outputs) { Scatter(kLinks(op), inputs, outputs); },
          .sources = [](const OperatorDesc& op) { return ScatterSources(op, kLinks(op)); },
          .unsplittable_dims =
              [](const OperatorDesc& op) {
                const std::vector<size_t> chosen = kLinks(op).chosen;
                return std::vector<uint32_t>(chosen.begin(), chosen.end());
              },
          .warn = WarnBy<kLinks>};
}

// --- tuples --------------------------------------------------------------------------------------

// Tensors of index tuples, as in the operators named ..._ND.

// Counts as on the reference pages: the rank, trailing dimensions, and the size of a tuple.
struct Tuples {
  size_t rank;
  size_t input_dims;
  size_t index_dims;
  size_t batch_dims;
  size_t size;

  size_t rest() const { return input_dims - batch_dims - size; }
  size_t first_input() const { return rank - input_dims; }
  size_t first_index() const { return rank - index_dims; }
};

// The walked dimensions are the batches, the tuples, and the remaining dimensions of the input.
IndexLinks TupleLinks(const OperatorDesc& op);

// The sizes of the result of selecting with all tuples.
Sizes TupleSizes(const OperatorDesc& op);

struct TupleRules {
  std::string_view ranks;
  std::string_view counts;
  std::string_view tuple;
  std::string_view batches;
  std::string_view leading;
  std::string_view output;
};

// Checks everything but the selected result. Returns whether TupleSizes may be called.
bool CheckTuples(const TupleRules& rules, const OperatorDesc& op, Inference& infer);

inline constexpr auto kBatchDims = field::Uint("BatchDimensionCount", {.max = kMaxRank});

}  // namespace dmlop::indexing
