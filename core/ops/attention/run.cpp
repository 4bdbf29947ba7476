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
std::vector<int64_t> PastOf(const FieldViews& tensors, const Shapes& shapes) {
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

// Returns what a part of the outputs has of {B, N, tokens, size}.
template <typename View>
View Within(const View& heads, const Span& batches, const Span& head_span, const Span& tokens,
            const Span& components) {
  View view = heads;
  if (view.data == nullptr) return view;
  const Span* const spans[] = {&batches, &head_span, &tokens, &components};
  for (size_t d = 0; d < 4; ++d) view = view.Slice(d, spans[d]->begin, spans[d]->size);
  return view;
}

// The numbers of some of all batches; none if there are none.
template <typename T>
std::vector<T> OfBatches(const std::vector<T>& all, const Span& batches) {
  if (all.empty()) return all;
  return {all.begin() + batches.begin, all.begin() + batches.begin + batches.size};
}

// Computes a part of an output, whose heads share one head of keys or are those of several.
class Execution {
 public:
  Execution(const OperatorDesc& op, const FieldViews& tensors, const Part& part)
      : op_(op),
        tensors_(tensors),
        shapes_(ShapesOf(op)),
        part_(part),
        past_(OfBatches(PastOf(tensors, shapes_), part.batches)) {}

  // Stores what is computed of keys and values in the outputs for them, if there are any.
  void Attend(const TensorView& output) {
    call_.scale = op_[kScale];
    call_.mask_value = op_[kMaskFilterValue];
    for (const int64_t past : past_) call_.past.push_back(past + part_.tokens.begin);
    const Span all = Whole(shapes_.size);
    call_.query = Queries(all);
    call_.key = Keys(all, tensors_.output(kPresentKey));
    call_.value = Values(part_.components, tensors_.output(kPresentValue));
    const ConstTensorView bias = tensors_.input(kPositionBias);
    if (bias.data != nullptr) call_.position_bias = OfScores(bias);
    ReadMask();
    const ConstTensorView heads = HeadsOfRows(
        AsConst(output),
        {part_.batches.size, part_.query_heads.size, part_.tokens.size, part_.components.size});
    dmlop::Attend(call_, {output.data, output.type, heads.layout});
  }

  void StorePresent(const TensorView& output) {
    const ConstTensorView all =
        part_.output == Part::kKeys ? Keys(part_.components, {}) : Values(part_.components, {});
    CopyView(all.Slice(2, part_.tokens.begin, part_.tokens.size), LastFour(output));
  }

 private:
  // Queries, keys or values: where they come from, and where their bias begins.
  struct Kind {
    std::span<const Source> sources;
    HeadSizes sizes;
    int64_t first_bias;
  };

  ConstTensorView Queries(const Span& components) {
    const HeadSizes sizes{shapes_.batches, shapes_.query_heads, shapes_.queries, shapes_.size};
    return New({kQuerySources, sizes, 0}, part_.query_heads, part_.tokens, components);
  }

  ConstTensorView Keys(const Span& components, const TensorView& present) {
    const HeadSizes sizes{shapes_.batches, shapes_.key_heads, shapes_.fresh, shapes_.size};
    const Kind kind{kKeySources, sizes, int64_t{shapes_.query_heads} * shapes_.size};
    return Cached(kind, kPastKey, components, present);
  }

  ConstTensorView Values(const Span& components, const TensorView& present) {
    const HeadSizes sizes{shapes_.batches, shapes_.key_heads, shapes_.fresh, shapes_.value_size};
    const int64_t heads = int64_t{shapes_.query_heads} + shapes_.key_heads;
    return Cached({kValueSources, sizes, heads * shapes_.size}, kPastValue, components, present);
  }

  // Returns new tokens with their bias; no data if there are none.
  ConstTensorView New(const Kind& kind, const Span& heads, const Span& tokens,
                      const Span& components) {
    const auto within = [&](const ConstTensorView& view) {
      return Within(view, part_.batches, heads, tokens, components);
    };
    for (const Source& source : kind.sources) {
      const ConstTensorView view = tensors_.input(*source.tensor);
      if (view.data == nullptr) continue;
      const ConstTensorView fresh =
          within(source.place ? HeadsOfStack(view, *source.place, kind.sizes)
                              : HeadsOfRows(view, kind.sizes));
      ConstTensorView bias = tensors_.input(kBias);
      if (bias.data == nullptr) return fresh;
      const int64_t stride = bias.layout.strides.back();
      bias = bias.Slice(bias.layout.rank() - 1, kind.first_bias, 1);
      bias.layout = {kind.sizes.dims(), {0, kind.sizes.size * stride, 0, stride}};
      return AsConst(Sum(fresh, within(bias)));
    }
    return {};
  }

  // The sums are rounded, since the cache stores them.
  TensorView Sum(const ConstTensorView& heads, const ConstTensorView& bias) {
    const TensorView sums = Own(heads.layout.sizes, heads.type);
    const ConstTensorView terms[] = {heads, bias};
    ComputeElements({.function = ElementWiseFunction::kAdd}, terms, sums);
    return sums;
  }

  TensorView Own(const Dims& sizes, DataType type) {
    buffers_.emplace_back(static_cast<size_t>(Product(sizes)) * ByteWidth(type));
    return {buffers_.back().data(), type, PackedLayout(sizes)};
  }

  // --- past and present --------------------------------------------------------------------------

  // Returns all keys or all values, past and new, which are stored in `present` if it has data.
  ConstTensorView Cached(const Kind& kind, const Field& past_field, const Span& components,
                         TensorView present) {
    const ConstTensorView fresh = New(kind, part_.key_heads, Whole(shapes_.fresh), components);
    ConstTensorView past = tensors_.input(past_field);
    if (past.data != nullptr) {
      past =
          Within(LastFour(past), part_.batches, part_.key_heads, Whole(shapes_.past), components);
    }
    const bool has_lengths = !past_.empty();
    if (present.data != nullptr) {
      present = LastFour(present);
    } else if (past.data == nullptr && !has_lengths) {
      return fresh;
    } else {
      present = Own({part_.batches.size, part_.key_heads.size, shapes_.keys, components.size},
                    *op_[kOutputTensor].data_type);
    }
    if (!has_lengths) {
      CopyInto(past, fresh, shapes_.past, present);
    } else {
      for (int64_t batch = 0; batch < part_.batches.size; ++batch) {
        CopyInto(BatchOf(past, batch), BatchOf(fresh, batch), past_[static_cast<size_t>(batch)],
                 present.Slice(0, batch, 1));
      }
    }
    return AsConst(present);
  }

  static ConstTensorView BatchOf(const ConstTensorView& tensor, int64_t batch) {
    return tensor.data == nullptr ? tensor : tensor.Slice(0, batch, 1);
  }

  // Copies the tensors that are there. The rest is in the cache already.
  static void CopyInto(const ConstTensorView& past, const ConstTensorView& fresh, int64_t first,
                       const TensorView& present) {
    if (past.data != nullptr) {
      const int64_t count = std::min(first, past.layout.sizes[2]);
      if (count > 0) CopyView(past.Slice(2, 0, count), present.Slice(2, 0, count));
    }
    if (fresh.data == nullptr) return;
    CopyView(fresh, present.Slice(2, first, fresh.layout.sizes[2]));
  }

  // --- masks -------------------------------------------------------------------------------------

  // Narrows a tensor {.., B, N, s, T}.
  ConstTensorView OfScores(const ConstTensorView& tensor) const {
    return Within(LastFour(tensor), part_.batches, part_.query_heads, part_.tokens,
                  Whole(shapes_.keys));
  }

  void ReadMask() {
    const ConstTensorView mask = tensors_.input(kMask);
    if (mask.data == nullptr) return;
    if (op_[kMaskType] == kBoolean) {
      call_.mask = OfScores(mask);
      return;
    }
    call_.kept = OfBatches(KeptOf(op_, mask, shapes_.batches), part_.batches);
  }

  const OperatorDesc& op_;
  const FieldViews& tensors_;
  const Shapes shapes_;
  const Part& part_;
  const std::vector<int64_t> past_;  // of the part's batches; see PastOf
  Attention call_;
  std::vector<Buffer> buffers_;
};

// Returns how many columns of the result, from one of them up to `end`, are computed at once: those
// of all heads that share heads of keys, or of one head.
int64_t ColumnsAtOnce(const Shapes& shapes, int64_t column, int64_t end) {
  const int64_t size = shapes.value_size;
  const int64_t sharing = size * (shapes.query_heads / shapes.key_heads);
  const int64_t rest = end - column;
  if (column % sharing == 0 && rest >= sharing) return rest - rest % sharing;
  return std::min(rest, size - column % size);
}

void RunResult(const OperatorDesc& op, const FieldViews& tensors, Dims begin,
               const TensorView& output) {
  const Shapes shapes = ShapesOf(op);
  const size_t last = begin.size() - 1;
  const int64_t first = begin[last];
  const int64_t end = first + output.layout.sizes[last];
  for (int64_t count = 0; begin[last] < end; begin[last] += count) {
    count = ColumnsAtOnce(shapes, begin[last], end);
    const TensorView columns = output.Slice(last, begin[last] - first, count);
    const Part part = PartOf(shapes, kOutputTensor, begin, columns.layout.sizes);
    Execution(op, tensors, part).Attend(columns);
  }
}

}  // namespace

// Whole outputs are computed together, and parts one by one.
void RunAttention(const OperatorDesc& op, InputViews inputs, const Dims& begin,
                  OutputViews outputs) {
  const FieldViews tensors(op, inputs, outputs);
  const TensorView result = tensors.output(kOutputTensor);
  if (result.data != nullptr) return RunResult(op, tensors, begin, result);
  for (const Field* const field : {&kPresentKey, &kPresentValue}) {
    const TensorView present = tensors.output(*field);
    if (present.data == nullptr) continue;
    const Part part = PartOf(ShapesOf(op), *field, begin, present.layout.sizes);
    Execution(op, tensors, part).StorePresent(present);
  }
}

KeyChoice KeysOf(const OperatorDesc& op, InputViews inputs) {
  const FieldViews tensors(op, inputs, {});
  const Shapes shapes = ShapesOf(op);
  KeyChoice keys{PastOf(tensors, shapes), {}};
  const ConstTensorView mask = tensors.input(kMask);
  if (mask.data != nullptr && op[kMaskType] != kBoolean) {
    keys.kept = KeptOf(op, mask, shapes.batches);
  }
  return keys;
}

void WarnOfPast(const OperatorDesc& op, InputViews inputs, Diagnostics& diagnostics) {
  const ConstTensorView lengths = FieldViews(op, inputs, {}).input(kPastLengths);
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
  const Dims index = IndexOf(lengths.layout.sizes, first - numbers.begin());
  diagnostics.Warning(
      "CTR-10", std::string(kPastLengths.name),
      fmt::format("{} of {} {} out of range [0, {}] and clamped; the first is {} at [{}]", count,
                  Counted(numbers.size(), "length"), ForCount(count, "is", "are"), most,
                  NumberText(*first), fmt::join(index.begin(), index.end(), ", ")));
}

}  // namespace dmlop::attention
