// SPDX-License-Identifier: Apache-2.0
#include "core/arithmetic/computation.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <set>

#include "core/engine/copy/copy_views.h"
#include "core/ops/inference.h"
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

// --- networks ------------------------------------------------------------------------------------

// Elements of an output of a network, computed from the items that they belong to and from as many
// steps as they need: items do not depend on one another, nor forward steps on later ones.
class NetworkPart {
 public:
  NetworkPart(const Computation& network, size_t output, std::span<const int64_t> elements)
      : network_(network),
        output_(output),
        sizes_(OutputSizes(network, output)),
        sources_(SourcesOf(network.op)),
        all_steps_(network.inputs[0].layout.sizes[kSteps]) {
    for (const int64_t element : elements) Add(IndexOf(sizes_, element));
  }

  // Returns whether this is much less than the whole.
  bool is_small() const {
    const auto whole = static_cast<double>(sizes_[kItems] * all_steps_);
    return static_cast<double>(std::ssize(items_) * steps_) < whole / 2;
  }

  std::vector<ElementBytes> Values() const {
    const Computation part = Cut();
    const Dims sizes = OutputSizes(part, output_);
    const ComputedPart computed(part,
                                {part.SourceOf(output_), Dims::Filled(sizes.size(), 0), sizes},
                                OutputType(part, output_));
    std::vector<ElementBytes> values;
    for (Dims index : elements_) {
      index[kItems] = std::distance(items_.begin(), items_.find(index[kItems]));
      values.push_back(computed.At(index));
    }
    return values;
  }

 private:
  static constexpr size_t kSteps = 1;  // the dimension of the first input
  static constexpr size_t kItems = 2;  // the dimension of outputs

  void Add(const Dims& index) {
    elements_.push_back(index);
    items_.insert(index[kItems]);
    const Region one{network_.SourceOf(output_), index, Dims::Filled(index.size(), 1)};
    const Region read = *sources_[0](one);
    steps_ = std::max(steps_, read.begin[kSteps] == 0 ? read.sizes[kSteps] : all_steps_);
  }

  // The dimension of items that an input has.
  std::optional<size_t> AxisOfItems(size_t input) const {
    Region item{network_.SourceOf(output_), Dims::Filled(sizes_.size(), 0), sizes_};
    item.sizes[kItems] = 1;
    const Dims& whole = network_.inputs[input].layout.sizes;
    for (const SourceMap& source : sources_) {
      const auto read = source(item);
      if (!read || read->tensor != input) continue;
      for (size_t d = 0; d < whole.size(); ++d) {
        if (read->sizes[d] < whole[d]) return d;
      }
    }
    return std::nullopt;
  }

  ConstTensorView OfItems(const ConstTensorView& input, size_t axis, Computation& owner) const {
    const TensorView chosen = PackedCopy(input.Slice(axis, 0, std::ssize(items_)), owner);
    int64_t k = 0;
    for (const int64_t item : items_) {
      const Move move{input.Slice(axis, item, 1), chosen.Slice(axis, k++, 1)};
      CopyAll({&move, 1});
    }
    return AsConst(chosen);
  }

  Computation Cut() const {
    Computation part = network_;
    part.inputs[0] = part.inputs[0].Slice(kSteps, 0, steps_);
    size_t input = 0;
    for (const MutableTensorSlot& slot : TensorSlots(part.op)) {
      Sizes& sizes = *slot.desc->sizes;
      slot.desc->strides.reset();
      slot.desc->total_tensor_size_in_bytes = 0;
      if (slot.role() == TensorRole::kOutput) {
        sizes[kItems] = static_cast<uint32_t>(items_.size());
        if (sizes[0] > 1) sizes[0] = static_cast<uint32_t>(steps_);
        continue;
      }
      if (const auto axis = AxisOfItems(input)) {
        sizes[*axis] = static_cast<uint32_t>(items_.size());
        part.inputs[input] = OfItems(part.inputs[input], *axis, part);
      }
      if (input++ == 0) sizes[kSteps] = static_cast<uint32_t>(steps_);
    }
    return part;
  }

  const Computation& network_;
  const size_t output_;
  const Dims sizes_;
  const std::vector<SourceMap> sources_;
  const int64_t all_steps_;
  std::vector<Dims> elements_;
  std::set<int64_t> items_;
  int64_t steps_ = 1;
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
  if (IsNetwork(computation.op) && !elements.empty()) {
    const NetworkPart part(computation, output, elements);
    if (part.is_small()) return part.Values();
  }
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
