// SPDX-License-Identifier: Apache-2.0
#include "core/ops/window/pooled_windows.h"

#include <memory>
#include <optional>

#include "core/base/integers.h"
#include "core/engine/window/pool_sum.h"

namespace dmlop::pooling {

PoolDims DimsOf(const OperatorDesc& op, const FieldOf<TensorDesc>& tensor) {
  const Sizes& sizes = op.sizes(tensor);
  PoolDims dims = {{.size = sizes[0]}, {.size = sizes[1]}};
  for (size_t d = 0; d + kFirstSpatial < sizes.size(); ++d) {
    dims.push_back(AxisOf(kWindows, op, d, sizes[d + kFirstSpatial], op[kWindowSize][d]));
  }
  return dims;
}

// --- sources -------------------------------------------------------------------------------------

namespace {

// The range of taps in each dimension that one map covers.
using TapRanges = std::vector<Range>;

std::optional<Region> RegionOf(const PoolDims& dims, const TapRanges& taps, const Region& output) {
  Region region{0, {}, {}};
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t last = output.begin[d] + output.sizes[d] - 1;
    const Range covered = {dims[d].Position(output.begin[d], taps[d].begin),
                           dims[d].Position(last, taps[d].end - 1) + 1};
    const Range inside = Intersection(covered, {0, dims[d].size});
    if (inside.count() == 0) return std::nullopt;
    region.begin.push_back(inside.begin);
    region.sizes.push_back(inside.count());
  }
  return region;
}

}  // namespace

std::vector<SourceMap> WindowSources(const PoolDims& dims) {
  // Taps with gaps between them get separate maps.
  Dims parts;
  for (const WindowAxis& dim : dims) parts.push_back(dim.dilation == 1 ? 1 : dim.window);
  const auto shared = std::make_shared<const PoolDims>(dims);
  std::vector<SourceMap> maps;
  for (int64_t i = 0; i < Product(parts); ++i) {
    const Dims tap = IndexOf(parts, i);
    TapRanges taps;
    for (size_t d = 0; d < dims.size(); ++d) {
      taps.push_back(dims[d].dilation == 1 ? Range{0, dims[d].window} : Range{tap[d], tap[d] + 1});
    }
    maps.push_back(
        [shared, taps](const Region& output) { return RegionOf(*shared, taps, output); });
  }
  return maps;
}

std::vector<SourceMap> Sources(const OperatorDesc& op) {
  return WindowSources(DimsOf(op, kInputTensor));
}

SourceMap ReachingSources(const PoolDims& dims, const Sizes& pooled, size_t input) {
  const auto shared = std::make_shared<const PoolDims>(dims);
  return [shared, pooled, input](const Region& output) -> std::optional<Region> {
    Region region{input, {}, {}};
    for (size_t d = 0; d < shared->size(); ++d) {
      const Range positions = {output.begin[d], output.begin[d] + output.sizes[d]};
      const Range windows = (*shared)[d].OutputsReaching(positions, pooled[d]);
      if (windows.count() == 0) return std::nullopt;
      region.begin.push_back(windows.begin);
      region.sizes.push_back(windows.count());
    }
    return region;
  };
}

// --- formulas ------------------------------------------------------------------------------------

std::vector<FormulaNode> PresentTapsAt(const PoolDims& dims, const Dims& output, Formula& formula) {
  Dyadic all(1);
  for (const WindowAxis& dim : dims) all = all * Dyadic(dim.window);
  const Dyadic absent = all - TapCountAt(dims, false, output);
  if (absent.Sign() != 0) formula.Named("absent taps", formula.Number(absent));
  Region covered{0, {}, {}};
  Dims steps;
  for (size_t d = 0; d < dims.size(); ++d) {
    const Range taps = dims[d].PresentTaps(output[d]);
    if (taps.count() == 0) return {};
    const int64_t first = dims[d].Position(output[d], taps.begin);
    covered.begin.push_back(first);
    covered.sizes.push_back(dims[d].Position(output[d], taps.end - 1) - first + 1);
    steps.push_back(dims[d].dilation);
  }
  return formula.Elements(covered, steps);
}

std::vector<uint64_t> WinnersOf(const PoolDims& dims, const ConstTensorView& input,
                                const Region& outputs) {
  std::vector<uint64_t> winners(static_cast<size_t>(outputs.count()));
  const TensorView places{reinterpret_cast<std::byte*>(winners.data()), DataType::kUint64,
                          PackedLayout(outputs.sizes)};
  FindWinners(dims, input, outputs.begin, {nullptr, input.type, places.layout}, places);
  return winners;
}

Dyadic TapCountAt(const PoolDims& dims, bool counts_padding, const Dims& output) {
  Dyadic count(1);
  for (size_t d = 0; d < dims.size(); ++d) {
    count = count * Dyadic(dims[d].TapCount(output[d], counts_padding));
  }
  return count;
}

FormulaNode NamedTapCount(const PoolDims& dims, bool counts_padding, const Dims& output,
                          Formula& formula) {
  return formula.Named(counts_padding ? "counted taps" : "present taps",
                       formula.Number(TapCountAt(dims, counts_padding, output)));
}

}  // namespace dmlop::pooling
