// SPDX-License-Identifier: Apache-2.0
#include "core/engine/element_wise/row_pipeline.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <numeric>

#include "core/base/memory.h"
#include "core/exact/rounding.h"
#include "core/kernels/copy/copy.h"
#include "core/tensor/half.h"

namespace dmlop {
namespace {

int64_t WholeBlocks(int64_t count, int64_t block = kRowBlock) {
  return (count + block - 1) / block * block;
}

DataType UnsignedOfWidth(DataType type) {
  switch (BitWidth(type)) {
    case 16:
      return DataType::kUint16;
    case 32:
      return DataType::kUint32;
    default:
      return DataType::kUint64;
  }
}

// The steps from a stored type to a row's. A row of integers takes stored floats as their bits.
RowSteps StepsTo(DataType type, DataType stored) {
  RowSteps steps(stored);
  if (IsFloat(stored) && !IsFloat(type)) steps.TakeBits();
  steps.ConvertTo(type);
  return steps;
}

}  // namespace

void RowSteps::ConvertTo(DataType type) {
  const Conversion conversion = ConversionFor(type_, type);
  for (const ConversionStep& step : conversion.steps()) {
    steps_[count_++] = {step.compute, nullptr};
    widest_ = std::max(widest_, BytesOf(step.type));
  }
  type_ = type;
}

void RowSteps::Apply(const ScaleBias& scale_bias) {
  scale_bias_ = scale_bias;
  steps_[count_++] = {nullptr, ScaleBiasFor(type_)};
}

void RowSteps::TakeBits() {
  type_ = UnsignedOfWidth(type_);
}

const std::byte* RowSteps::Run(int64_t count, const std::byte* from, std::byte* to,
                               std::byte* const (&buffers)[2]) const {
  for (size_t i = 0; i < count_; ++i) {
    std::byte* const free = from == buffers[0] ? buffers[1] : buffers[0];
    std::byte* const target = i + 1 == count_ && to != nullptr ? to : free;
    if (steps_[i].convert != nullptr) {
      steps_[i].convert({}, count, target, &from);
    } else {
      steps_[i].scale(scale_bias_, count, target, from, /*streams=*/false);
    }
    from = target;
  }
  return from;
}

RowPipeline::RowPipeline(const ElementWiseCall& call, std::span<const ConstTensorView> inputs,
                         DataType output_type)
    : call_(call),
      input_count_(inputs.size()),
      output_type_(output_type),
      output_width_(static_cast<int64_t>(ByteWidth(output_type))) {
  assert(input_count_ <= kMaxElementInputs);
  int64_t widest = output_width_;
  const bool computes = call.function != ElementWiseFunction::kCast;
  if (computes) row_ = &RowFor(call.function, inputs[0].type, output_type);
  for (size_t k = 0; k < input_count_; ++k) {
    RowSteps& steps = before_[k];
    const DataType stored = inputs[k].type;
    widths_[k] = static_cast<int64_t>(ByteWidth(stored));
    steps = RowSteps(stored);
    if (k == 0 && call.scale_bias) {
      const bool keeps_type = !computes || row_->commutes_with_rounding;
      if (stored == DataType::kFloat16 && !keeps_type) steps.ConvertTo(DataType::kFloat32);
      steps.Apply(*call.scale_bias);
      steps.ConvertTo(computes ? row_->in[0] : output_type);
    } else if (computes) {
      steps = StepsTo(row_->in[k], stored);
    } else {
      steps.ConvertTo(output_type);
    }
    widest = std::max(widest, steps.widest());
  }
  if (computes) {
    after_ = RowSteps(row_->out);
    if (row_->relative_error > 0) {
      round_ = RoundFunctionFor(output_type);
      approximates_nothing_ = NeedsExactElements(call.function, call.parameters.numbers);
      const bool is_float = inputs[0].type == DataType::kFloat32 && output_type == inputs[0].type;
      if (is_float && !call.scale_bias) quick_ = row_->quick;
    } else if (IsFloat(row_->out) || !IsFloat(output_type)) {
      after_.ConvertTo(output_type);
    } else {
      after_.ConvertTo(UnsignedOfWidth(output_type));  // moves bits only
    }
    widest = std::max(widest, after_.widest());
    if (round_ == nullptr && after_.empty()) stream_row_ = row_->stream;
  }
  chunk_ = kChunkBytes / widest;
}

// Whole blocks as long as there are any; a streamed row first reaches a cache line's beginning.
int64_t RowPipeline::NextChunk(int64_t left, int64_t most, const std::byte* to,
                               bool streams) const {
  if (streams) {
    const int64_t past_line = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % kLineBytes);
    if (past_line != 0) return std::min(left, (kLineBytes - past_line) / output_width_);
  }
  const int64_t count = std::min(left, most);
  return count > kRowBlock ? count / kRowBlock * kRowBlock : count;
}

void RowPipeline::Run(int64_t count, std::span<const RowSource> sources, std::byte* to,
                      bool streams, Scratch& scratch) const {
  const bool is_quick = quick_ != nullptr && !sources[0].repeats;
  for (int64_t begin = 0, size = 0; begin < count; begin += size) {
    std::byte* const target = to + begin * output_width_;
    size = NextChunk(count - begin, is_quick ? kQuickChunk : chunk_, target, streams);
    const int64_t whole = WholeBlocks(size);
    std::byte* const direct = size == whole && !streams ? target : nullptr;
    const std::byte* results = nullptr;
    if (is_quick) {
      results = ComputeQuickly(whole, Padded(0, sources[0], begin, size, scratch), direct, scratch);
    } else {
      Inputs inputs;
      for (size_t k = 0; k < input_count_; ++k) {
        inputs[k] = Prepare(k, sources[k], begin, size, scratch);
      }
      if (streams && stream_row_ != nullptr && size == whole) {
        stream_row_(call_.parameters, size, target, inputs.data());
        continue;
      }
      results = Compute(whole, inputs, direct, scratch);
    }
    if (streams) {
      stream_(1, size * output_width_, target, 0, results, 0);
    } else if (results != target) {
      std::memcpy(target, results, static_cast<size_t>(size * output_width_));
    }
  }
}

// Returns where the function finds whole blocks of converted elements.
const std::byte* RowPipeline::Prepare(size_t input, RowSource source, int64_t begin, int64_t count,
                                      Scratch& scratch) const {
  if (source.repeats) return Repeat(input, source.elements, scratch);
  std::byte* const(&buffers)[2] = {scratch.inputs[input][0], scratch.inputs[input][1]};
  return before_[input].Run(WholeBlocks(count), Padded(input, source, begin, count, scratch),
                            nullptr, buffers);
}

const std::byte* RowPipeline::Padded(size_t input, RowSource source, int64_t begin, int64_t count,
                                     Scratch& scratch) const {
  const std::byte* const from = source.elements + begin * widths_[input];
  const int64_t whole = WholeBlocks(count);
  if (whole == count) return from;
  std::byte* const padded = scratch.inputs[input][0];
  const size_t bytes = static_cast<size_t>(count * widths_[input]);
  std::memcpy(padded, from, bytes);
  std::memset(padded + bytes, 0, static_cast<size_t>(whole * widths_[input]) - bytes);
  return padded;
}

const std::byte* RowPipeline::ComputeQuickly(int64_t count, const std::byte* from, std::byte* to,
                                             Scratch& scratch) const {
  if (to == nullptr || to == from) to = scratch.quick;
  uint64_t blocks[kQuickChunk / kRowBlock];
  quick_(count, to, from, blocks);
  int64_t undecided = 0;
  for (int64_t i = 0; i < count / kRowBlock; ++i) {
    for (uint64_t bits = ~blocks[i]; bits != 0; bits &= bits - 1) {
      scratch.undecided[undecided++] = static_cast<int32_t>(i * kRowBlock + std::countr_zero(bits));
    }
    if (undecided <= kMostUndecided - kRowBlock) continue;
    Decide(undecided, from, to, scratch);
    undecided = 0;
  }
  if (undecided > 0) Decide(undecided, from, to, scratch);
  return to;
}

// A function of one value leaves the buffers of the second input to these results.
void RowPipeline::Decide(int64_t count, const std::byte* from, std::byte* to,
                         Scratch& scratch) const {
  double* const arguments = reinterpret_cast<double*>(scratch.inputs[0][1]);
  const int64_t whole = WholeBlocks(count, kWideRowBlock);
  for (int64_t i = 0; i < count; ++i) {
    arguments[i] = static_cast<double>(reinterpret_cast<const float*>(from)[scratch.undecided[i]]);
  }
  std::fill(arguments + count, arguments + whole, 0.0);
  const Inputs inputs = {scratch.inputs[0][1]};
  std::byte* const results = scratch.inputs[1][0];
  Resolve(Approximate(whole, inputs, results, scratch), inputs, results, scratch);
  for (int64_t i = 0; i < count; ++i) {
    reinterpret_cast<float*>(to)[scratch.undecided[i]] = reinterpret_cast<const float*>(results)[i];
  }
}

// Keeps the results, because the next row often repeats the same element.
const std::byte* RowPipeline::Repeat(size_t input, const std::byte* element,
                                     Scratch& scratch) const {
  std::byte* const repeated = scratch.repeated[input];
  if (scratch.repeated_from[input] == element) return repeated;
  scratch.repeated_from[input] = element;
  std::byte* const(&buffers)[2] = {scratch.inputs[input][0], scratch.inputs[input][1]};
  const bool is_stored = before_[input].empty();
  std::byte* const filled = is_stored ? repeated : buffers[0];
  CopyTileFor(static_cast<size_t>(widths_[input]))({1, chunk_, 0, 1, 0, 0}, filled, element);
  if (!is_stored) before_[input].Run(chunk_, filled, repeated, buffers);
  return repeated;
}

const std::byte* RowPipeline::Compute(int64_t count, const Inputs& inputs, std::byte* to,
                                      Scratch& scratch) const {
  if (row_ == nullptr) return inputs[0];
  std::byte* const(&buffers)[2] = {scratch.outputs[0], scratch.outputs[1]};
  std::byte* const final = to != nullptr ? to : buffers[1];
  if (round_ != nullptr) {
    Resolve(Approximate(count, inputs, final, scratch), inputs, final, scratch);
    return final;
  }
  std::byte* const computed = after_.empty() ? final : buffers[0];
  row_->compute(call_.parameters, count, computed, inputs.data());
  return after_.empty() ? final : after_.Run(count, computed, to, buffers);
}

int64_t RowPipeline::Approximate(int64_t count, const Inputs& inputs, std::byte* to,
                                 Scratch& scratch) const {
  if (approximates_nothing_) {
    std::iota(scratch.unresolved, scratch.unresolved + count, 0);
    return count;
  }
  std::byte* const approximations = scratch.outputs[0];
  row_->compute(call_.parameters, count, approximations, inputs.data());
  return round_(row_->relative_error, count, to, approximations, scratch.unresolved);
}

void RowPipeline::Resolve(int64_t unresolved_count, const Inputs& inputs, std::byte* to,
                          const Scratch& scratch) const {
  for (int64_t i = 0; i < unresolved_count; ++i) {
    const int32_t at = scratch.unresolved[i];
    std::array<double, kMaxElementInputs> elements;
    for (size_t k = 0; k < std::min(input_count_, kMaxElementInputs); ++k) {
      std::memcpy(&elements[k], inputs[k] + at * int64_t{sizeof(double)}, sizeof(double));
    }
    const HeadTail exact =
        ExactElement(call_.function, {elements.data(), input_count_}, call_.parameters.numbers);
    if (output_type_ == DataType::kFloat32) {
      reinterpret_cast<float*>(to)[at] = RoundOnce<float>(exact.head, exact.tail);
    } else {
      reinterpret_cast<Half*>(to)[at] = RoundOnce<Half>(exact.head, exact.tail);
    }
  }
}

}  // namespace dmlop
