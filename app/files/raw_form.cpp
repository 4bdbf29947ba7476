#include "app/files/raw_form.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "core/base/error.h"
#include "core/io/file.h"
#include "core/io/npz.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {
namespace {

// All elements behind the offset, where the form states no sizes.
std::vector<uint32_t> SizesUpToEnd(const std::string& path, const RawForm& form) {
  const uint64_t size = InputFile::Open(path).bytes().size();
  const uint64_t count = (size - std::min(size, form.offset.value_or(0))) / ByteWidth(*form.type);
  if (count == 0 || count > std::numeric_limits<uint32_t>::max()) {
    throw Error(ErrorKind::kTensorFile,
                fmt::format("{}: has {} elements of {}; --sizes says which tensor it is", path,
                            count, Name(*form.type)));
  }
  return {static_cast<uint32_t>(count)};
}

TensorDesc DescOf(const std::string& path, const RawForm& form) {
  TensorDesc desc;
  desc.data_type = form.type;
  desc.sizes = form.sizes.empty() ? SizesUpToEnd(path, form) : form.sizes;
  if (!form.strides.empty()) desc.strides = form.strides;
  Diagnostics diagnostics;
  ValidateTensorDesc(desc, TensorRole::kInput, "", std::nullopt, diagnostics);
  if (!diagnostics.has_errors()) return desc;
  const Diagnostic& fault = diagnostics.list().front();
  throw Error(ErrorKind::kUsage, fmt::format("{} [{}]", fault.message, fault.code));
}

}  // namespace

LoadedTensor LoadAsFormed(const std::string& path, const RawForm& form, Placement placement) {
  if (!form.type && HasTensorExtension(path) && FormatOf(path) == FileFormat::kRaw) {
    throw Error(ErrorKind::kTensorFile,
                path + ": a raw file does not say its type and shape; --type and --sizes do");
  }
  if (!form.type || HasExtension(path, ".npy") || path == kStandardStream || IsStream(path) ||
      ParseNpzPath(path)) {
    FormatOf(path);
    return LoadNpy(path, NpyTypes::kAndBfloat16, placement);
  }
  return LoadRaw(path, DescOf(path, form), "--offset 0 takes a longer one", form.offset);
}

LoadedPair LoadPair(const std::string& actual, const std::string& expected, const RawForm& form) {
  LoadedPair pair = {LoadAsFormed(actual, form, Placement::kAsStored),
                     LoadAsFormed(expected, form, Placement::kAsStored)};
  const ConstTensorView& a = pair.actual.view;
  const ConstTensorView& e = pair.expected.view;
  if (a.type == e.type && IsPacked(a.layout) && IsPacked(e.layout)) return pair;
  return {Aligned(std::move(pair.actual), actual), Aligned(std::move(pair.expected), expected)};
}

}  // namespace dmlop
