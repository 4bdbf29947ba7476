#include "core/ops/pieces.h"

#include <algorithm>

namespace dmlop {

Pieces::Pieces(const OperatorDesc& op, InputViews inputs, int64_t max_bytes)
    : op_(op), inputs_(inputs) {
  int64_t before = 0;
  for (const TensorSlot& slot : TensorSlots(op, TensorRole::kOutput)) {
    Cuts& cuts = outputs_.emplace_back(CutsOf(*slot.desc, max_bytes));
    cuts.before = before;
    before += cuts.count;
    const size_t bytes = static_cast<size_t>(Product(PartOf(cuts, 0).sizes)) * ByteWidth(cuts.type);
    buffer_size_ = std::max(buffer_size_, bytes);
  }
}

Pieces::Cuts Pieces::CutsOf(const TensorDesc& output, int64_t max_bytes) {
  const Dims sizes(output.sizes->begin(), output.sizes->end());
  int64_t unit = static_cast<int64_t>(ByteWidth(*output.data_type));  // bytes of one index of dim
  size_t dim = sizes.size() - 1;
  while (dim > 0 && unit * sizes[dim] <= max_bytes) unit *= sizes[dim--];
  const int64_t longest = std::max<int64_t>(1, max_bytes / unit);
  const int64_t about = (sizes[dim] + longest - 1) / longest;
  const int64_t range = (sizes[dim] + about - 1) / about;
  const int64_t ranges = (sizes[dim] + range - 1) / range;
  const int64_t leading = Product(Dims(sizes.begin(), sizes.begin() + dim));
  return {*output.data_type, sizes, dim, range, ranges, leading * ranges, 0};
}

int64_t Pieces::count() const {
  return outputs_.back().before + outputs_.back().count;
}

Region Pieces::PartOf(const Cuts& cuts, int64_t number) {
  Region part{0, Dims::Filled(cuts.sizes.size(), 0), cuts.sizes};
  int64_t leading = number / cuts.ranges;
  for (size_t d = cuts.dim; d-- > 0; leading /= cuts.sizes[d]) {
    part.begin[d] = leading % cuts.sizes[d];
    part.sizes[d] = 1;
  }
  part.begin[cuts.dim] = number % cuts.ranges * cuts.range;
  part.sizes[cuts.dim] = std::min(cuts.range, cuts.sizes[cuts.dim] - part.begin[cuts.dim]);
  return part;
}

Pieces::Part Pieces::Run(int64_t number, std::span<std::byte> buffer) const {
  const auto next =
      std::upper_bound(outputs_.begin(), outputs_.end(), number,
                       [](int64_t piece, const Cuts& cuts) { return piece < cuts.before; });
  const Cuts& cuts = *(next - 1);
  Region part = PartOf(cuts, number - cuts.before);
  part.tensor = static_cast<size_t>(next - 1 - outputs_.begin());
  RunPart(op_, inputs_, part, {buffer.data(), cuts.type, PackedLayout(part.sizes)});
  const int64_t width = static_cast<int64_t>(ByteWidth(cuts.type));
  return {part.tensor, OffsetOf(PackedLayout(cuts.sizes), part.begin) * width,
          buffer.first(static_cast<size_t>(part.count() * width))};
}

}  // namespace dmlop
