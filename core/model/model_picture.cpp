// SPDX-License-Identifier: Apache-2.0
#include "core/model/model_picture.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/io/picture_file.h"
#include "core/ops/buffer_run.h"
#include "core/ops/picture_scale.h"

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
    throw Error(ErrorKind::kTensorFile,
                fmt::format("{}: a picture is FLOAT32 or FLOAT16, not {}", path, Name(type)));
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

}  // namespace dmlop
