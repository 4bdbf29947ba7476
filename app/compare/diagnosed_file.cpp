// SPDX-License-Identifier: Apache-2.0
#include "app/compare/diagnosed_file.h"

#include <cstring>

#include "app/compare/judgement.h"
#include "core/tensor/convert_element.h"

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

}  // namespace

DiagnosedFile DiagnoseFile(const Computation& computation, size_t output, const std::string& path,
                           const LoadedTensor& actual, const DiagnosisOptions& options,
                           const Leniency& leniency) {
  const TensorSlot slot = TensorSlots(computation.op, TensorRole::kOutput)[output];
  const DataType type = StoredAs(*slot.desc->data_type);
  const Buffer whole = WholeOutput(computation, output);
  const ConstTensorView expected{whole.data(), type, PackedLayout(LayoutOf(*slot.desc).sizes)};
  DiagnosedFile file{DisplayName(slot.path), path};
  const AlignedTensors aligned = Align(Compared(actual), {expected, Name(type)}, leniency);
  file.mismatches = aligned.mismatches;
  if (!file.mismatches.empty()) return file;
  ConstTensorView view = aligned.actual.view;
  Buffer converted;
  if (view.type != type) {
    converted = InType(view, type);
    view = {converted.data(), type, expected.layout};
  }
  file.diagnosis = Diagnose(computation, output, view, expected, options);
  return file;
}

}  // namespace dmlop
