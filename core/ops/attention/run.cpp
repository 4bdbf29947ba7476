// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/text.h"
#include "core/engine/attention/attention.h"
#include "core/engine/copy/copy_views.h"
#include "core/engine/element_wise/loop.h"
#include "core/ops/attention/attention.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop::attention {
namespace {

// --- heads ---------------------------------------------------------------------------------------

// The sizes of a view of heads: {B, N, tokens, size}.
struct HeadSizes {
  int64_t batches, heads, tokens, size;

  Dims dims() const { return {batches, heads, tokens, size}; }
};

// Views a tensor {.., B, tokens, N * size} as heads.
ConstTensorView HeadsOfRows(const ConstTensorView& tensor, const HeadSizes& sizes) {
  const Dims& strides = tensor.layout.strides;
  const size_t n = strides.size();
  return {tensor.data,
          tensor.type,
          {sizes.dims(),
           {strides[n - 3], sizes.size * strides[n - 1], strides[n - 2], strides[n - 1]}}};
}

// Views one place of a stack {B, tokens, N, .., size} as heads.
ConstTensorView HeadsOfStack(const ConstTensorView& tensor, int64_t place, const HeadSizes& sizes) {
  const ConstTensorView slice = tensor.Slice(3, place, 1);
  const Dims& strides = slice.layout.strides;
  return {slice.data, slice.type, {sizes.dims(), {strides[0], strides[2], strides[1], strides[4]}}};
}

// Removes all but the last four dimensions of a tensor {.., B, N, tokens, size}.
template <typename View>
View LastFour(const View& tensor) {
  View view = tensor;
  const size_t first = tensor.layout.rank() - 4;
  view.layout = {};
  for (size_t d = first; d < first + 4; ++d) {
    view.layout.sizes.push_back(tensor.layout.sizes[d]);
    view.layout.strides.push_back(tensor.layout.strides[d]);
  }
  return view;
}

// --- arguments of the engine ---------------------------------------------------------------------

// Looks tensors up by field. Tensors that are left out have no data.
class Tensors {
 public:
  Tensors(const OperatorDesc& op, InputViews inputs, OutputViews outputs)
      : op_(op), inputs_(inputs), outputs_(outputs) {}

  ConstTensorView input(const Field& field) const {
    return Find<ConstTensorView>(field, TensorRole::kInput, inputs_);
  }
  TensorView output(const Field& field) const {
    return Find<TensorView>(field, TensorRole::kOutput, outputs_);
  }

 private:
  template <typename View>
  View Find(const Field& field, TensorRole role, std::span<const View> views) const {
    const std::vector<TensorSlot> slots = TensorSlots(op_, role);
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].field == &field) return views[i];
    }
    return {};
  }

  const OperatorDesc& op_;
  InputViews inputs_;
  OutputViews outputs_;
};

// Returns one number for each batch.
std::vector<double> NumbersOf(const ConstTensorView& lengths, int64_t batches) {
  std::vector<double> numbers;
  VisitDataType(TypeList<int32_t, float, Half>(), lengths.type, [&]<typename T>() {
    for (int64_t batch = 0; batch < batches; ++batch) {
      const Dims index = IndexOf(lengths.layout.sizes, batch);
      numbers.push_back(AsDouble(lengths.elements<T>()[OffsetOf(lengths.layout, index)]));
    }
  });
  return numbers;
}

int64_t MostPast(const Shapes& shapes) {
  return int64_t{shapes.keys} - shapes.fresh;
}

int64_t WholeNumber(double value, int64_t most) {
  if (std::isnan(value)) return 0;
  return static_cast<int64_t>(std::clamp(value, 0.0, static_cast<double>(most)));
}

// The past keys of each batch, or none where all are past that lie in tensors of theirs.
std::vector<int64_t> PastOf(const Tensors& tensors, const Shapes& shapes) {
  std::vector<int64_t> past;
  const ConstTensorView lengths = tensors.input(kPastLengths);
  if (lengths.data == nullptr) return past;
  for (const double length : NumbersOf(lengths, shapes.batches)) {
    past.push_back(WholeNumber(length, MostPast(shapes)));
  }
  return past;
}

// Returns the keys of each batch that a mask of lengths keeps.
std::vector<Range> KeptOf(const OperatorDesc& op, const ConstTensorView& mask, int64_t batches) {
  const Dims& strides = mask.layout.strides;
  const auto number = [&](int64_t row, int64_t batch) {
    const int64_t begin = row == 0 ? 0 : row * strides[strides.size() - 2];
    return int64_t{mask.elements<int32_t>()[begin + batch * strides.back()]};
  };
  const bool has_starts = op[kMaskType] == kKeySequenceEndStart;
  std::vector<Range> kept;
  for (int64_t batch = 0; batch < batches; ++batch) {
    kept.push_back({has_starts ? number(1, batch) : 0, number(0, batch)});
  }
  return kept;
}

class Execution {
 public:
  Execution(const OperatorDesc& op, const Tensors& tensors)
      : op_(op), tensors_(tensors), shapes_(ShapesOf(op)) {}

  void Do() {
    call_.scale = op_[kScale];
    call_.mask_value = op_[kMaskFilterValue];
    call_.past = PastOf(tensors_, shapes_);
    FindHeads();
    AddBias();
    call_.key = Cached(keys_, kPastKey, kPresentKey, shapes_.size);
    call_.value = Cached(values_, kPastValue, kPresentValue, shapes_.value_size);
    const ConstTensorView bias = tensors_.input(kPositionBias);
    if (bias.data != nullptr) call_.position_bias = LastFour(bias);
    ReadMask();
    const TensorView output = tensors_.output(kOutputTensor);
    const ConstTensorView heads =
        HeadsOfRows(AsConst(output),
                    {shapes_.batches, shapes_.query_heads, shapes_.queries, shapes_.value_size});
    Attend(call_, {output.data, output.type, heads.layout});
  }

 private:
  HeadSizes KeySizes(int64_t size) const {
    return {shapes_.batches, shapes_.key_heads, shapes_.fresh, size};
  }

  ConstTensorView HeadsOf(std::span<const Source> sources, const HeadSizes& sizes) const {
    for (const Source& source : sources) {
      const ConstTensorView view = tensors_.input(*source.tensor);
      if (view.data == nullptr) continue;
      return source.place ? HeadsOfStack(view, *source.place, sizes) : HeadsOfRows(view, sizes);
    }
    return {};
  }

  void FindHeads() {
    call_.query = HeadsOf(kQuerySources,
                          {shapes_.batches, shapes_.query_heads, shapes_.queries, shapes_.size});
    keys_ = HeadsOf(kKeySources, KeySizes(shapes_.size));
    values_ = HeadsOf(kValueSources, KeySizes(shapes_.value_size));
  }

  // --- bias --------------------------------------------------------------------------------------

  // The sums are rounded, since the cache stores them.
  void AddBias() {
    const ConstTensorView bias = tensors_.input(kBias);
    if (bias.data == nullptr) return;
    const int64_t stride = bias.layout.strides.back();
    int64_t first = 0;
    const auto add = [&](ConstTensorView& heads, int64_t count, int64_t size, Buffer& sums) {
      ConstTensorView part = bias.Slice(bias.layout.rank() - 1, first, count * size);
      first += count * size;
      if (heads.data == nullptr) return;
      part.layout = {heads.layout.sizes, {0, size * stride, 0, stride}};
      sums = Buffer(static_cast<size_t>(heads.element_bytes()));
      const TensorView to{sums.data(), heads.type, PackedLayout(heads.layout.sizes)};
      const ConstTensorView terms[] = {heads, part};
      ComputeElements({.function = ElementWiseFunction::kAdd}, terms, to);
      heads = AsConst(to);
    };
    add(call_.query, shapes_.query_heads, shapes_.size, query_sums_);
    add(keys_, shapes_.key_heads, shapes_.size, key_sums_);
    add(values_, shapes_.key_heads, shapes_.value_size, value_sums_);
  }

  // --- past and present --------------------------------------------------------------------------

  // Returns all keys or all values, past and new, which are stored in the output if that is wanted.
  ConstTensorView Cached(const ConstTensorView& fresh, const Field& past_field,
                         const Field& present_field, int64_t size) {
    const ConstTensorView past = tensors_.input(past_field);
    TensorView present = tensors_.output(present_field);
    const bool has_lengths = !call_.past.empty();
    if (present.data != nullptr) {
      present = LastFour(present);
    } else if (past.data == nullptr && !has_lengths) {
      return fresh;
    } else {
      present = OwnCache(size);
    }
    if (!has_lengths) {
      CopyInto(past, fresh, shapes_.past, present);
    } else {
      for (int64_t batch = 0; batch < shapes_.batches; ++batch) {
        CopyInto(BatchOf(past, batch), BatchOf(fresh, batch),
                 call_.past[static_cast<size_t>(batch)], present.Slice(0, batch, 1));
      }
    }
    return AsConst(present);
  }

  TensorView OwnCache(int64_t size) {
    const Dims sizes = {shapes_.batches, shapes_.key_heads, shapes_.keys, size};
    const DataType type = call_.query.type;
    caches_.emplace_back(static_cast<size_t>(Product(sizes)) * ByteWidth(type));
    return {caches_.back().data(), type, PackedLayout(sizes)};
  }

  static ConstTensorView BatchOf(const ConstTensorView& tensor, int64_t batch) {
    return tensor.data == nullptr ? tensor : LastFour(tensor).Slice(0, batch, 1);
  }

  // Copies the tensors that are there. The rest is in the cache already.
  static void CopyInto(const ConstTensorView& past, const ConstTensorView& fresh, int64_t first,
                       const TensorView& present) {
    if (past.data != nullptr) {
      const ConstTensorView heads = LastFour(past);
      const int64_t count = std::min(first, heads.layout.sizes[2]);
      if (count > 0) CopyView(heads.Slice(2, 0, count), present.Slice(2, 0, count));
    }
    if (fresh.data == nullptr) return;
    CopyView(fresh, present.Slice(2, first, fresh.layout.sizes[2]));
  }

  // --- masks -------------------------------------------------------------------------------------

  void ReadMask() {
    const ConstTensorView mask = tensors_.input(kMask);
    if (mask.data == nullptr) return;
    if (op_[kMaskType] == kBoolean) {
      call_.mask = LastFour(mask);
      return;
    }
    call_.kept = KeptOf(op_, mask, shapes_.batches);
  }

  const OperatorDesc& op_;
  const Tensors& tensors_;
  Shapes shapes_;
  Attention call_;
  ConstTensorView keys_, values_;  // without the past ones
  Buffer query_sums_, key_sums_, value_sums_;
  std::vector<Buffer> caches_;
};

}  // namespace

void RunAttention(const OperatorDesc& op, InputViews inputs, OutputViews outputs) {
  const Tensors tensors(op, inputs, outputs);
  Execution(op, tensors).Do();
}

KeyChoice KeysOf(const OperatorDesc& op, InputViews inputs) {
  const Tensors tensors(op, inputs, {});
  const Shapes shapes = ShapesOf(op);
  KeyChoice keys{PastOf(tensors, shapes), {}};
  const ConstTensorView mask = tensors.input(kMask);
  if (mask.data != nullptr && op[kMaskType] != kBoolean) {
    keys.kept = KeptOf(op, mask, shapes.batches);
  }
  return keys;
}

void WarnOfPast(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) {
  const ConstTensorView lengths = Tensors(op, inputs, {}).input(kPastLengths);
  if (lengths.data == nullptr) return;
  const Shapes shapes = ShapesOf(op);
  const int64_t most = MostPast(shapes);
  const std::vector<double> numbers = NumbersOf(lengths, shapes.batches);
  const auto is_stray = [&](double number) {
    return !(number >= 0 && number <= static_cast<double>(most));  // also true for NaN
  };
  const auto count = std::count_if(numbers.begin(), numbers.end(), is_stray);
  if (count == 0) return;
  const auto first = std::find_if(numbers.begin(), numbers.end(), is_stray);
  const std::string value = std::isnan(*first) ? "NaN" : fmt::format("{}", *first);
  const Dims index = IndexOf(lengths.layout.sizes, first - numbers.begin());
  diagnostics.Warning(
      "CTR-10", std::string(kPastLengths.name),
      fmt::format("{} of {} {} out of range [0, {}] and clamped; the first is {} at [{}]", count,
                  Counted(numbers.size(), "length"), ForCount(count, "is", "are"), most, value,
                  fmt::join(index.begin(), index.end(), ", ")));
}

}  // namespace dmlop::attention
