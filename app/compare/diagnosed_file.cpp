// SPDX-License-Identifier: Apache-2.0
#include "app/compare/diagnosed_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "app/compare/judgement.h"
#include "app/shell_word.h"
#include "core/compare/wrong_elements.h"
#include "core/judge/arithmetic.h"
#include "core/judge/descriptor_change.h"
#include "core/judge/place_variation.h"
#include "core/tensor/element.h"

namespace dmlop {
namespace {

// Rounds the elements of a view to the type that the output has.
Buffer InType(const ConstTensorView& view, DataType type) {
  const size_t width = ByteWidth(type);
  Buffer buffer(static_cast<size_t>(view.layout.element_count()) * width);
  for (int64_t i = 0; i < view.layout.element_count(); ++i) {
    const std::byte* at =
        view.data + OffsetOfElement(view.layout, i) * static_cast<int64_t>(ByteWidth(view.type));
    const ElementBytes element = ConvertElement(static_cast<float>(ValueOf(view.type, at)), type);
    std::memcpy(buffer.data() + static_cast<size_t>(i) * width, element.data(), width);
  }
  return buffer;
}

// Every element is wrong.
DiagnosedFile Mismatched(const TensorSlot& slot, const std::string& path,
                         std::vector<std::string> mismatches) {
  DiagnosedFile file{DisplayName(slot.path), path, std::move(mismatches)};
  const Dims sizes = LayoutOf(*slot.desc).sizes;
  Diagnosis& diagnosis = file.diagnosis;
  diagnosis.elements = diagnosis.different = diagnosis.beyond_noise = Product(sizes);
  diagnosis.verdict = DiagnosisVerdict::kUnknown;
  WrongElements all(Product(sizes));
  for (int64_t i = 0; i < Product(sizes); ++i) all.Add(i);
  diagnosis.where = WhereOf(sizes, all);
  return file;
}

}  // namespace

DiagnosedFile DiagnoseMissing(const Computation& computation, size_t output,
                              const std::string& path) {
  const TensorSlot slot = TensorSlots(computation.op, TensorRole::kOutput)[output];
  DiagnosedFile file = Mismatched(slot, path, {"the file is missing"});
  file.is_missing = true;
  return file;
}

DiagnosedFile DiagnoseFile(const Computation& computation, size_t output, const std::string& path,
                           const LoadedTensor& actual, const DiagnosisOptions& options,
                           const Leniency& leniency) {
  const TensorSlot slot = TensorSlots(computation.op, TensorRole::kOutput)[output];
  const DataType type = StoredAs(*slot.desc->data_type);
  const Buffer whole = WholeOutput(computation, output);
  const ConstTensorView exact{whole.data(), type, PackedLayout(LayoutOf(*slot.desc).sizes)};
  const AlignedTensors aligned = Align(Compared(actual), {exact, Name(type)}, leniency);
  if (!aligned.mismatches.empty()) return Mismatched(slot, path, aligned.mismatches);
  std::array<Buffer, 2> converted;
  const auto in_type = [&](const ConstTensorView& view, Buffer& buffer) {
    if (view.type == type) return view;
    buffer = InType(view, type);
    return ConstTensorView{buffer.data(), type, exact.layout};
  };
  // Types of floats differ where they may. In bfloat16, the expected elements are rounded, too.
  const ConstTensorView view = in_type(aligned.actual.view, converted[0]);
  const ConstTensorView expected =
      aligned.in_bfloat16 ? in_type(aligned.expected.view, converted[1]) : exact;
  return {DisplayName(slot.path),
          path,
          {},
          false,
          Diagnose(computation, output, view, expected, options, aligned.in_bfloat16)};
}

namespace {

// Whether `run --as` takes the cause.
bool IsComputed(const Cause& cause) {
  return std::ranges::all_of(cause.ids, [](const std::string& id) {
    const auto arithmetic = ParseArithmetic(id);
    if (arithmetic) return arithmetic->kind != ArithmeticKind::kFastFunctions;
    return ParseDescriptorChange(id) || ParsePlace(id);
  });
}

}  // namespace

void AddChecks(const CheckCommand& command, DiagnosedFile& file) {
  const Diagnosis& diagnosis = file.diagnosis;
  const bool has_noise = diagnosis.beyond_noise > 0 && diagnosis.beyond_noise < diagnosis.different;
  for (const Cause& cause : diagnosis.causes) {
    std::string text = command.begin;
    const bool is_computed = IsComputed(cause);
    for (const std::string& id : cause.ids) {
      if (is_computed) text += " --as " + ShellWord(id);
    }
    const bool has_bits = cause.exact == cause.of && !has_noise;
    text += " --judge " + ShellWord(command.judged);
    text += is_computed && has_bits ? " --bits" : " --tolerance sums";
    if (!is_computed) text += " --map";
    file.checks.push_back(text + command.end);
  }
}

}  // namespace dmlop
