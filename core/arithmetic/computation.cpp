// SPDX-License-Identifier: Apache-2.0
#include "core/arithmetic/computation.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "core/engine/copy/copy_views.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// Returns whether computing elements by themselves, with those that come along, takes less work
// than the whole output. A call for a single element costs as much as some thousand products.
bool PartsAreCheaper(const OperatorDesc& op, const Region& whole, size_t elements) {
  constexpr double kCall = 5000;
  const Region first{whole.tensor, whole.begin, Dims::Filled(whole.sizes.size(), 1)};
  const auto share = static_cast<double>(ComputedWith(op, first).count()) /
                     static_cast<double>(std::max<int64_t>(whole.count(), 1));
  const auto work = static_cast<double>(WorkOf(op));
  return static_cast<double>(elements) * (4 * work * share + kCall) < work;
}

// A part of an output that has been computed.
class ComputedPart {
 public:
  ComputedPart(const Computation& computation, const Region& region, DataType type)
      : region_(region),
        buffer_(static_cast<size_t>(region.count()) * ByteWidth(type)),
        type_(type) {
    RunPart(computation.op, computation.inputs, region,
            {buffer_.data(), type, PackedLayout(region.sizes)});
  }

  bool Has(const Dims& index) const {
    for (size_t d = 0; d < index.size(); ++d) {
      const int64_t from_begin = index[d] - region_.begin[d];
      if (from_begin < 0 || from_begin >= region_.sizes[d]) return false;
    }
    return true;
  }

  ElementBytes At(Dims index) const {
    for (size_t d = 0; d < index.size(); ++d) index[d] -= region_.begin[d];
    const size_t width = ByteWidth(type_);
    const auto offset = static_cast<size_t>(OffsetOf(PackedLayout(region_.sizes), index)) * width;
    ElementBytes bytes{};
    std::memcpy(bytes.data(), buffer_.data() + offset, width);
    return bytes;
  }

 private:
  Region region_;
  Buffer buffer_;
  DataType type_;
};

}  // namespace

Dims OutputSizes(const Computation& computation, size_t output) {
  return LayoutOf(*TensorSlots(computation.op, TensorRole::kOutput)[output].desc).sizes;
}

DataType OutputType(const Computation& computation, size_t output) {
  return StoredAs(*TensorSlots(computation.op, TensorRole::kOutput)[output].desc->data_type);
}

TensorView PackedCopy(const ConstTensorView& view, Computation& owner) {
  const auto buffer =
      std::make_shared<Buffer>(static_cast<size_t>(std::max<int64_t>(view.element_bytes(), 1)));
  const TensorView copy{buffer->data(), view.type, PackedLayout(view.layout.sizes)};
  const Move move{view, copy};
  CopyAll({&move, 1});
  owner.storage.push_back(buffer);
  return copy;
}

Buffer WholeOutput(const Computation& computation, size_t output) {
  const Layout layout = PackedLayout(OutputSizes(computation, output));
  const DataType type = OutputType(computation, output);
  Buffer buffer(static_cast<size_t>(layout.element_count()) * ByteWidth(type));
  RunPart(computation.op, computation.inputs,
          {computation.SourceOf(output), Dims::Filled(layout.rank(), 0), layout.sizes},
          {buffer.data(), type, layout});
  return buffer;
}

std::vector<ElementBytes> ElementsOf(const Computation& computation, size_t output,
                                     std::span<const int64_t> elements) {
  const Dims sizes = OutputSizes(computation, output);
  const DataType type = OutputType(computation, output);
  const size_t source = computation.SourceOf(output);
  const Region whole{source, Dims::Filled(sizes.size(), 0), sizes};
  const bool by_parts = PartsAreCheaper(computation.op, whole, elements.size());
  std::vector<size_t> order(elements.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return elements[i]; });
  std::vector<ElementBytes> values(elements.size());
  std::optional<ComputedPart> part;
  for (const size_t i : order) {
    const Dims index = IndexOf(sizes, elements[i]);
    if (!part || !part->Has(index)) {
      const Region one{source, index, Dims::Filled(sizes.size(), 1)};
      part.emplace(computation, by_parts ? ComputedWith(computation.op, one) : whole, type);
    }
    values[i] = part->At(index);
  }
  return values;
}

std::vector<std::vector<Region>> SourcesOfElements(const Computation& computation, size_t output,
                                                   std::span<const int64_t> elements) {
  const Dims sizes = OutputSizes(computation, output);
  const Region whole{computation.SourceOf(output), Dims::Filled(sizes.size(), 0), sizes};
  std::vector<std::vector<Region>> parts(computation.inputs.size());
  if (!PartsAreCheaper(computation.op, whole, elements.size())) return parts;
  const std::vector<SourceMap> sources = SourcesOf(computation.op);
  std::vector<int64_t> read(parts.size());
  for (const int64_t element : elements) {
    const Region one{whole.tensor, IndexOf(sizes, element), Dims::Filled(sizes.size(), 1)};
    for (const SourceMap& source : sources) {
      const auto part = source(ComputedWith(computation.op, one));
      if (!part) continue;
      parts[part->tensor].push_back(*part);
      read[part->tensor] += part->count();
    }
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (2 * read[i] > computation.inputs[i].layout.element_count()) parts[i].clear();
  }
  return parts;
}

bool IsNetwork(const OperatorDesc& op) {
  return std::ranges::any_of(
      op.fields(), [](const Field* field) { return field->kind == FieldKind::kActivations; });
}

int64_t WorkOf(const OperatorDesc& op) {
  int64_t work = OperationsOf(op);
  for (const TensorSlot& slot : TensorSlots(op)) work += Product(LayoutOf(*slot.desc).sizes);
  return work;
}

double ValueOf(DataType type, const std::byte* element) {
  double value = 0;
  VisitDataType(AllTypes(), type, [&]<typename T>() { value = AsDouble(ElementOf<T>(element)); });
  return value;
}

}  // namespace dmlop
