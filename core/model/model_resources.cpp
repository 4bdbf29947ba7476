// SPDX-License-Identifier: Apache-2.0
#include "core/model/model_resources.h"

#include <algorithm>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/integers.h"
#include "core/base/memory.h"
#include "core/base/progress.h"
#include "core/base/text.h"
#include "core/io/npy.h"
#include "core/io/picture_file.h"
#include "core/io/tensor_file.h"
#include "core/ops/operator.h"
#include "core/ops/pieces.h"

namespace dmlop {
namespace {

std::vector<uint32_t> SizesOf(const ImageForm& form) {
  const auto height = static_cast<uint32_t>(form.height), width = static_cast<uint32_t>(form.width);
  const auto channels = static_cast<uint32_t>(form.channels);
  if (form.channels_last) return {1, height, width, channels};
  return {1, channels, height, width};
}

std::vector<std::byte> Scaled(std::vector<std::byte> elements, const ImageForm& from,
                              const ImageForm& to) {
  const OperatorDesc op = PictureScale(from.type, SizesOf(from), SizesOf(to));
  const auto layout = [](const ImageForm& form) {
    const std::vector<uint32_t> sizes = SizesOf(form);
    return PackedLayout(Dims(sizes.begin(), sizes.end()));
  };
  const Layout output = layout(to);
  std::vector<std::byte> scaled(static_cast<size_t>(output.element_count()) * ByteWidth(to.type));
  const ConstTensorView inputs[] = {{elements.data(), from.type, layout(from)}};
  const TensorView outputs[] = {{scaled.data(), to.type, output}};
  RunOnBuffers(op, inputs, outputs);
  return scaled;
}

}  // namespace

PictureValues ReadPicture(const InputFile& file, const std::string& path, DataType type,
                          const std::optional<Dims>& sizes) {
  if (type != DataType::kFloat32 && type != DataType::kFloat16) {
    throw Error(ErrorKind::kTensorFile, "{}: a picture is FLOAT32 or FLOAT16, not {}", path,
                Name(type));
  }
  std::optional<ImageForm> wanted;
  if (sizes) wanted = ImageFormOf(type, *sizes, path, ErrorKind::kTensorFile);
  const Pixels pixels = DecodePicture(file.bytes(), path);
  ImageForm own = wanted.value_or(ImageForm{0, 0, pixels.channels, false, type});
  own.height = pixels.height;
  own.width = pixels.width;
  std::vector<std::byte> elements = ElementsOf(pixels, own);
  if (!wanted || (wanted->height == own.height && wanted->width == own.width)) {
    return {std::move(elements), false};
  }
  return {Scaled(std::move(elements), own, *wanted), true};
}

namespace {

namespace fs = std::filesystem;

// Returns how much of a pipe or a device is read: what the buffer can hold, or 1 GiB if its size is
// not stated, but no more than memory allows while it grows.
size_t StreamLimit(const ModelResource& resource, bool npy) {
  const uint64_t most = AvailableMemory() / 4;
  const uint64_t size = resource.size_in_bytes.value_or(uint64_t{1} << 30);
  return std::min(size, most) + (npy ? kMaxNpyHeaderSize : 0);
}

// If the path has an offset, the file may go on after what the buffer takes.
void TakePart(const ModelResource& resource, const std::string& path,
              ModelResources::SourceFile& source) {
  if (!resource.size_in_bytes || !ParseRawPath(path).offset) return;
  const uint64_t begin =
      std::min<uint64_t>(resource.initial_values_offset_in_bytes, *resource.size_in_bytes);
  const auto bytes = source.file.bytes();
  source.file = {bytes.first(std::min<uint64_t>(bytes.size(), *resource.size_in_bytes - begin)),
                 std::make_shared<const InputFile>(source.file)};
}

}  // namespace

std::string PathIn(const std::string& folder, const std::string& path) {
  std::error_code ignored;
  std::string whole = (fs::path(folder) / path).string();
  if (path.find('\\') == std::string::npos || fs::exists(FileOf(whole), ignored)) return whole;
  std::string portable = path;
  std::replace(portable.begin(), portable.end(), '\\', '/');
  return (fs::path(folder) / portable).string();
}

std::string FileOfConstant(const std::string& name, const std::string& graph_path) {
  const std::string file = name + ".bin";
  const size_t at = name.rfind('@');
  const std::filesystem::path folder = std::filesystem::path(graph_path).parent_path();
  std::error_code ignored;
  if (at == std::string::npos || at == 0 || std::filesystem::exists(folder / file, ignored)) {
    return file;
  }
  const std::string offset = name.substr(at + 1);
  return ParseOffset(offset) ? name.substr(0, at) + ".bin@" + offset : file;
}

void RequireInsideOfModel(const std::string& location) {
  const std::filesystem::path path = PathIn("", location);
  const bool climbs = std::ranges::find(path, "..") != path.end();
  if (location.find('\0') != std::string::npos) {
    throw Error(ErrorKind::kUsage, "the name of its external data, '{}', has a byte 0", location);
  }
  if (!location.empty() && !path.is_absolute() && !climbs) return;
  throw Error(ErrorKind::kUsage, "its external data '{}' lies outside of the model's folder",
              location);
}

InputFile OpenMapped(const std::string& path) {
  std::error_code ignored;
  if (fs::exists(path, ignored) && !IsRegular(path)) {
    throw Error(ErrorKind::kFileSystem, path + ": is not a regular file");
  }
  return InputFile::Open(path);
}

std::string SourcePath(const std::string& source_path, const std::string& folder) {
  const std::string beside = PathIn(folder, source_path);
  const std::string elsewhere = PathIn("", source_path);
  std::error_code ignored;
  return !fs::exists(FileOf(beside), ignored) && fs::exists(FileOf(elsewhere), ignored) ? elsewhere
                                                                                        : beside;
}

ModelResources::ModelResources(const ModelDocument& model, const std::string& folder,
                               Diagnostics& diagnostics)
    : model_(model), shapes_(model.resources().size()) {
  const ValueReader values(diagnostics, Dialect::kModel);
  for (size_t i = 0; i < shapes_.size(); ++i) {
    const InitialValues& initial = model.resources()[i].initial_values;
    shapes_[i].type = initial.type;
    if (const auto* list = std::get_if<InitialValues::List>(&initial.source)) {
      shapes_[i].initial_bytes = list->bytes.size();
    } else if (const auto* sequence = std::get_if<InitialValues::Sequence>(&initial.source)) {
      shapes_[i].initial_bytes = uint64_t{sequence->count} * ByteWidth(initial.type);
    } else {
      Open(i, std::get<InitialValues::File>(initial.source), folder, values);
    }
    SetSize(i, values);
  }
}

void ModelResources::Open(size_t resource, const InitialValues::File& source,
                          const std::string& folder, const ValueReader& values) {
  const std::string path = SourcePath(source.source_path, folder);
  Shape& shape = shapes_[resource];
  try {
    const bool npy = IsNpyInput(path);
    const size_t stream_limit = StreamLimit(model_.resources()[resource], npy);
    SourceFile file{resource, path, OpenBytes(path, stream_limit), 0, false};
    if (source.is_picture) {
      OpenPicture(file, shape, source, values);
    } else if (npy) {
      OpenNpy(file, shape, source.place, values);
    } else {
      TakePart(model_.resources()[resource], path, file);
      shape.initial_bytes = file.file.bytes().size();
    }
    files_.push_back(std::move(file));
  } catch (const Error& error) {
    values.FileError(source.place, error.kind(), "RES-6", error.what());
    shape.is_known = false;
  }
}

void ModelResources::OpenPicture(SourceFile& file, Shape& shape, const InitialValues::File& source,
                                 const ValueReader& values) {
  auto read = ReadPicture(file.file, file.path, shape.type, source.picture_sizes);
  if (read.is_scaled) {
    values.Warning(
        source.place, "RES-4",
        "the picture is scaled linearly, with antialiasing; Windows has a cubic filter of "
        "its own");
  }
  const auto elements = std::make_shared<const std::vector<std::byte>>(std::move(read.elements));
  shape.initial_bytes = elements->size();
  file.file = InputFile(*elements, elements);
}

void ModelResources::OpenNpy(SourceFile& file, Shape& shape, JsonCursor place,
                             const ValueReader& values) const {
  const NpyHeader header = ParseNpyHeader(file.file.bytes(), file.path);
  if (header.fortran_order) {
    throw Error(ErrorKind::kTensorFile, "{}: is in Fortran order, which DxDispatch does not read",
                file.path);
  }
  if (shape.type != DataType::kUnknown && shape.type != header.type) {
    throw Error(ErrorKind::kTensorFile, "{}: holds {}; resource '{}' has the type {}", file.path,
                Name(header.type), model_.resources()[file.resource].name, Name(shape.type));
  }
  shape.type = header.type;
  file.data_begin = header.data_begin;
  file.big_endian = header.big_endian;
  const uint64_t present = file.file.bytes().size() - header.data_begin;
  shape.initial_bytes = std::max<uint64_t>(present, header.data_size());
  if (present < header.data_size()) {
    values.Warning(place, "RES-5", "the file has {} of data, its shape needs {}; the rest is zero",
                   Counted(present, "byte"), header.data_size());
  }
}

void ModelResources::SetSize(size_t resource, const ValueReader& values) {
  const ModelResource& of = model_.resources()[resource];
  Shape& shape = shapes_[resource];
  shape.size = of.size_in_bytes;
  if (!shape.is_known) return;
  if (!shape.size) shape.size = (shape.initial_bytes + 3) / 4 * 4;
  const CheckedU64 needed = CheckedAdd(of.initial_values_offset_in_bytes, shape.initial_bytes);
  if (needed && *needed <= *shape.size) return;
  const auto size = of.place.Find("sizeInBytes");
  values.Error(size.value_or(of.place), "RES-3",
               "{} of initial values at offset {} {} not fit into {}",
               Counted(shape.initial_bytes, "byte"), of.initial_values_offset_in_bytes,
               ForCount(shape.initial_bytes, "does", "do"), Counted(*shape.size, "byte"));
}

void ModelResources::Fill() {
  for (size_t i = 0; i < shapes_.size(); ++i) {
    buffers_.emplace_back(*shapes_[i].size);
    const InitialValues& initial = model_.resources()[i].initial_values;
    if (const auto* list = std::get_if<InitialValues::List>(&initial.source)) {
      std::copy(list->bytes.begin(), list->bytes.end(), buffers_[i].data());
    } else if (const auto* sequence = std::get_if<InitialValues::Sequence>(&initial.source)) {
      FillWith(sequence->values, initial.type, sequence->count, buffers_[i].data());
    }
  }
  for (const SourceFile& file : files_) FillFromFile(file);
}

void ModelResources::FillFromFile(const SourceFile& file) {
  const auto data = file.file.bytes().subspan(file.data_begin);
  const auto to = bytes(file.resource);
  const Work work("reading " + file.path, static_cast<int64_t>(data.size()));
  ForEachStep(data.size(), [&](size_t begin, size_t size) {
    const auto step = to.subspan(begin, size);
    std::copy_n(data.begin() + static_cast<ptrdiff_t>(begin), size, step.begin());
    if (file.big_endian) SwapByteOrder(shapes_[file.resource].type, step);
  });
}

}  // namespace dmlop
