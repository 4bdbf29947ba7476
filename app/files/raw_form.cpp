// SPDX-License-Identifier: Apache-2.0
#include "app/files/raw_form.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>

#include "app/files/output.h"
#include "app/text/diagnostic_text.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/io/file.h"
#include "core/io/output_file.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {
namespace {

// The sizes of a form without any: all elements from the offset on.
std::vector<uint32_t> SizesUpToEnd(const std::string& path, const RawForm& form) {
  const auto [file, offset] = ParseRawPath(path);
  const uint64_t size = InputFile::Open(file).bytes().size();
  const uint64_t count = (size - std::min(size, offset.value_or(0))) / ByteWidth(*form.type);
  if (count == 0 || count > std::numeric_limits<uint32_t>::max()) {
    throw Error(ErrorKind::kTensorFile, "{}: has {} of {}; --sizes says which tensor it is", path,
                Counted(count, "element"), Name(*form.type));
  }
  return {static_cast<uint32_t>(count)};
}

TensorDesc DescOf(const std::string& path, const RawForm& form) {
  if (!form.strides.empty() && form.sizes.empty()) {
    throw Error(ErrorKind::kUsage, path + ": --strides needs --sizes");
  }
  TensorDesc desc;
  desc.data_type = form.type;
  desc.sizes = form.sizes.empty() ? SizesUpToEnd(path, form) : form.sizes;
  if (!form.strides.empty()) desc.strides = form.strides;
  Diagnostics diagnostics;
  ValidateTensorDesc(desc, TensorRole::kInput, "", std::nullopt, diagnostics);
  if (!diagnostics.has_errors()) return desc;
  const Diagnostic& fault = diagnostics.list().front();
  throw Error(ErrorKind::kUsage, "{} [{}]", fault.message, fault.code);
}

// Appends the form's offset, unless the path has one.
std::string WithOffset(const std::string& path, const RawForm& form) {
  if (!form.offset || ParseRawPath(path).offset) return path;
  return fmt::format("{}@{}", path, *form.offset);
}

// Takes elements of 2 bytes for bfloat16, which is the upper half of a FLOAT32.
LoadedTensor Bfloat16From(LoadedTensor halves) {
  const ConstTensorView& from = halves.view;
  const auto spool = std::make_shared<Spool>(static_cast<size_t>(from.layout.element_count()) * 4);
  Dims index = Dims::Filled(from.layout.rank(), 0);
  for (int64_t k = 0; k < from.layout.element_count(); ++k, Advance(from.layout.sizes, index)) {
    std::byte element[4] = {};
    std::memcpy(element + 2, from.data + 2 * OffsetOf(from.layout, index), 2);
    spool->Append(element);
  }
  halves.view = {spool->bytes().data(), DataType::kFloat32, PackedLayout(from.layout.sizes)};
  halves.storage = spool;
  halves.is_bfloat16 = true;
  return halves;
}

}  // namespace

LoadedTensor LoadAsFormed(const std::string& path, const RawForm& form, Placement placement) {
  if (!form.type && HasTensorExtension(ParseRawPath(path).file) &&
      FormatOf(path) == FileFormat::kRaw) {
    throw Error(ErrorKind::kTensorFile,
                path + ": a raw file does not say its type and shape; --type and --sizes do");
  }
  if (!form.type || FindFormat(path).value_or(FileFormat::kRaw) != FileFormat::kRaw) {
    return LoadArray(path, NpyTypes::kAndBfloat16, placement);
  }
  const std::string whole = WithOffset(path, form);
  LoadedTensor tensor = LoadRaw(whole, DescOf(whole, form), "", placement);
  return form.is_bfloat16 ? Bfloat16From(std::move(tensor)) : tensor;
}

LoadedPair LoadPair(const std::string& actual, const std::string& expected, const RawForms& forms,
                    FileShapes shapes) {
  LoadedPair pair = {LoadAsFormed(actual, forms.actual, Placement::kAsStored),
                     LoadAsFormed(expected, forms.expected, Placement::kAsStored)};
  pair.actual = ByCount(std::move(pair.actual), pair.expected.view.layout.sizes, actual, shapes);
  const ConstTensorView& a = pair.actual.view;
  const ConstTensorView& e = pair.expected.view;
  if (a.type == e.type && IsPacked(a.layout) && IsPacked(e.layout)) return pair;
  return {Aligned(std::move(pair.actual), actual), Aligned(std::move(pair.expected), expected)};
}

// --- slices --------------------------------------------------------------------------------------

std::vector<SlicedFile> SlicedFilesOf(const std::vector<std::string>& arguments) {
  std::vector<SlicedFile> files;
  for (const std::string& argument : arguments) {
    if (!argument.starts_with('[')) {
      files.push_back({argument, {}});
      continue;
    }
    const std::string slice = argument.substr(0, argument.find_last_not_of(' ') + 1);
    if (files.empty()) {
      throw Error(ErrorKind::kUsage,
                  "the slice {0} has no file before it; a file of that name is ./{0}", slice);
    }
    files.back().slices.push_back(slice);
  }
  return files;
}

void PrintSliceError(const std::string& path, const std::string& slice, const SliceError& error,
                     bool color) {
  const std::string_view paint = color ? kErrorPaint : "";
  PrintMessage("dmlop: {}: {}\n{}", Printable(path), error.what(),
               CaretText(slice, error.offset(), "  ", "  ", paint));
}

}  // namespace dmlop
