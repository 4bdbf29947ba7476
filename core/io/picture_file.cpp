// SPDX-License-Identifier: Apache-2.0
#include "core/io/picture_file.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <memory>

// These rely on what is above.
#include <jpeglib.h>

#include <jerror.h>

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/io/file.h"
#include "core/io/npy.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kDecodedChannels = 4;

bool CanBeChannels(int64_t size) {
  return size == 1 || size == 3 || size == 4;
}

// Fails before memory is taken for a picture whose header promises too much.
void CheckSize(uint64_t width, uint64_t height, const std::string& name) {
  constexpr uint64_t kMostPixels = uint64_t{1} << 27;
  const uint64_t most = std::min<uint64_t>(kMostPixels, AvailableMemory() / 16);
  if (width * height > most) {
    FailTensorFile(name, "is a picture of {} x {} pixels; at most {} are read", width, height,
                   most);
  }
}

[[noreturn]] void FailDamaged(const std::string& name, std::string_view message) {
  FailTensorFile(name, "is a damaged picture: {}", message);
}

// --- PNG -----------------------------------------------------------------------------------------

struct PngImage : png_image {
  PngImage() : png_image{} { version = PNG_IMAGE_VERSION; }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
  ~PngImage() { png_image_free(this); }
};

int64_t ChannelsOf(png_uint_32 format) {
  if ((format & PNG_FORMAT_FLAG_ALPHA) != 0) return 4;
  return (format & PNG_FORMAT_FLAG_COLOR) != 0 ? 3 : 1;
}

Pixels DecodePng(std::span<const std::byte> file, const std::string& name) {
  PngImage image;
  if (png_image_begin_read_from_memory(&image, file.data(), file.size()) == 0) {
    FailDamaged(name, image.message);
  }
  CheckSize(image.width, image.height, name);
  Pixels pixels{"PNG", image.height, image.width, ChannelsOf(image.format), {}};
  image.format = PNG_FORMAT_RGBA;
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // without it, wide values would be made brighter
  pixels.bytes.resize(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, pixels.bytes.data(), 0, nullptr) == 0 ||
      image.warning_or_error != 0) {
    FailDamaged(name, image.message);
  }
  return pixels;
}

png_uint_32 PngFormatOf(int64_t channels) {
  if (channels == 1) return PNG_FORMAT_GRAY;
  return channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
}

std::string EncodePng(const ImageForm& form, const std::vector<std::byte>& bytes) {
  PngImage image;
  image.width = static_cast<png_uint_32>(form.width);
  image.height = static_cast<png_uint_32>(form.height);
  image.format = PngFormatOf(form.channels);
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string file(size, '\0');
  if (png_image_write_to_memory(&image, file.data(), &size, 0, bytes.data(), 0, nullptr) == 0) {
    throw std::runtime_error(image.message);
  }
  file.resize(size);
  return file;
}

// --- JPEG ----------------------------------------------------------------------------------------

// The library's errors return to where `jump` was set, past functions of C only.
struct JpegErrors : jpeg_error_mgr {
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX];

  JpegErrors() : jpeg_error_mgr{}, text{} {
    jpeg_std_error(this);
    error_exit = [](j_common_ptr codec) {
      auto* errors = static_cast<JpegErrors*>(codec->err);
      errors->format_message(codec, errors->text);
      std::longjmp(errors->jump, 1);
    };
    // Warnings tell of data that are missing or wrong; bytes between parts do no harm.
    emit_message = [](j_common_ptr codec, int level) {
      if (level < 0 && codec->err->msg_code != JWRN_EXTRANEOUS_DATA) codec->err->error_exit(codec);
    };
  }
};

// Both run C functions that may jump back to the caller, so they have nothing to destroy.
void ReadJpegHeader(jpeg_decompress_struct& codec, std::span<const std::byte> file) {
  jpeg_mem_src(&codec, reinterpret_cast<const unsigned char*>(file.data()),
               static_cast<unsigned long>(file.size()));
  jpeg_read_header(&codec, TRUE);
}

void ReadJpegRows(jpeg_decompress_struct& codec, std::byte* bytes) {
  codec.out_color_space = JCS_EXT_RGBA;
  codec.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&codec);
  while (codec.output_scanline < codec.output_height) {
    auto* row = reinterpret_cast<JSAMPROW>(bytes + size_t{codec.output_scanline} *
                                                       codec.output_width * kDecodedChannels);
    jpeg_read_scanlines(&codec, &row, 1);
  }
  jpeg_finish_decompress(&codec);
}

// A decoder whose functions throw instead of jumping.
class JpegDecoder {
 public:
  explicit JpegDecoder(const std::string& name) : name_(name) {
    codec_.err = &errors_;
    jpeg_create_decompress(&codec_);
  }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder() { jpeg_destroy_decompress(&codec_); }

  Pixels Decode(std::span<const std::byte> file) {
    if (setjmp(errors_.jump) != 0) FailDamaged(name_, errors_.text);
    ReadJpegHeader(codec_, file);
    CheckSize(codec_.image_width, codec_.image_height, name_);
    if (codec_.num_components != 1 && codec_.num_components != 3) {
      FailTensorFile(name_, "is a JPEG picture in CMYK; gray and RGB are read");
    }
    pixels_ = {"JPEG", codec_.image_height, codec_.image_width, codec_.num_components, {}};
    pixels_.bytes.resize(static_cast<size_t>(pixels_.height * pixels_.width * kDecodedChannels));
    ReadJpegRows(codec_, pixels_.bytes.data());
    return std::move(pixels_);
  }

 private:
  const std::string& name_;
  JpegErrors errors_;
  jpeg_decompress_struct codec_{};
  Pixels pixels_{};
};

struct JpegEncoder : jpeg_compress_struct {
  JpegErrors errors;
  unsigned char* file = nullptr;
  unsigned long size = 0;

  JpegEncoder() : jpeg_compress_struct{} {
    err = &errors;
    jpeg_create_compress(this);
  }
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;
  ~JpegEncoder() {
    jpeg_destroy_compress(this);
    std::free(file);
  }

  std::string Encode(const ImageForm& form, const std::vector<std::byte>& bytes) {
    if (setjmp(errors.jump) != 0) throw std::runtime_error(errors.text);
    Write(form, bytes.data());
    return {reinterpret_cast<const char*>(file), size};
  }

 private:
  void Write(const ImageForm& form, const std::byte* bytes) {
    constexpr int kQuality = 90;  // as Windows' encoder
    jpeg_mem_dest(this, &file, &size);
    image_width = static_cast<JDIMENSION>(form.width);
    image_height = static_cast<JDIMENSION>(form.height);
    input_components = static_cast<int>(form.channels);
    in_color_space = form.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(this);
    jpeg_set_quality(this, kQuality, TRUE);
    jpeg_start_compress(this, TRUE);
    while (next_scanline < image_height) {
      auto* row = reinterpret_cast<JSAMPROW>(
          const_cast<std::byte*>(bytes + next_scanline * form.width * form.channels));
      jpeg_write_scanlines(this, &row, 1);
    }
    jpeg_finish_compress(this);
  }
};

// --- elements ------------------------------------------------------------------------------------

// Returns a channel's byte. Gray is what JPEG and PNG make of colors: 0.299 R + 0.587 G + 0.114 B.
std::byte ChannelOf(const std::byte* pixel, int64_t channel, int64_t channels) {
  if (channels > 1) return pixel[channel];
  const auto part = [&](int i, unsigned weight) {
    return std::to_integer<unsigned>(pixel[i]) * weight;
  };
  return static_cast<std::byte>((part(0, 19595) + part(1, 38470) + part(2, 7471) + 32768) >> 16);
}

// Visits the channels of all pixels with the row-major number of the element in the tensor.
template <typename Body>
void ForEachChannel(const ImageForm& form, Body&& body) {
  const int64_t pixels = form.height * form.width;
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    for (int64_t channel = 0; channel < form.channels; ++channel) {
      const int64_t interleaved = pixel * form.channels + channel;
      body(pixel, channel, form.channels_last ? interleaved : channel * pixels + pixel);
    }
  }
}

template <typename T>
T FromByte(std::byte byte) {
  const auto value = std::to_integer<uint8_t>(byte);
  if constexpr (std::is_same_v<T, uint8_t>) return value;
  if constexpr (std::is_same_v<T, float>) return static_cast<float>(value) / 255.0f;
  if constexpr (std::is_same_v<T, Half>) return ToHalf(value / 255.0);
}

std::byte ToByte(uint8_t value) {
  return std::byte{value};
}
std::byte ToByte(float value) {
  // NaN becomes 0, as by the library of Windows.
  const float clamped = value > 0 ? std::min(value, 1.0f) : 0.0f;
  return static_cast<std::byte>(clamped * 255.0f);
}
std::byte ToByte(Half value) {
  return ToByte(ToFloat(value));
}

template <typename Body>
void VisitImageType(DataType type, Body&& body) {
  if (type == DataType::kUint8) return body.template operator()<uint8_t>();
  if (type == DataType::kFloat16) return body.template operator()<Half>();
  body.template operator()<float>();
}

}  // namespace

ImageForm ImageFormOf(DataType type, const Dims& sizes, const std::string& name, ErrorKind kind) {
  const auto fail = [&](std::string_view what) {
    throw Error(kind, "{}: a picture is {}; the tensor is {} of {}", name, what, ToString(sizes),
                Name(type));
  };
  if (type != DataType::kFloat32 && type != DataType::kFloat16 && type != DataType::kUint8) {
    fail("FLOAT32, FLOAT16 or UINT8");
  }
  Dims all = Dims::Filled(sizes.size() < 3 ? 3 - sizes.size() : 0, 1);
  for (const int64_t size : sizes) all.push_back(size);
  const size_t rank = all.size();
  const bool first = CanBeChannels(all[rank - 3]);
  const bool is_single = std::all_of(all.begin(), all.end() - 3, [](int64_t n) { return n == 1; });
  if ((!first && !CanBeChannels(all[rank - 1])) || !is_single || Product(all) == 0) {
    fail("[1, C, H, W] or [1, H, W, C] with 1, 3 or 4 channels C");
  }
  if (first) return {all[rank - 2], all[rank - 1], all[rank - 3], false, type};
  return {all[rank - 3], all[rank - 2], all[rank - 1], true, type};
}

Pixels DecodePicture(std::span<const std::byte> file, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.starts_with("\x89PNG")) return DecodePng(file, name);
  if (text.starts_with("\xFF\xD8")) return JpegDecoder(name).Decode(file);
  FailTensorFile(name, "is no picture: it begins as neither PNG nor JPEG files do");
}

std::vector<std::byte> ElementsOf(const Pixels& pixels, const ImageForm& form) {
  std::vector<std::byte> elements(static_cast<size_t>(form.height * form.width * form.channels) *
                                  ByteWidth(form.type));
  VisitImageType(form.type, [&]<typename T>() {
    auto* const to = reinterpret_cast<T*>(elements.data());
    ForEachChannel(form, [&](int64_t pixel, int64_t channel, int64_t element) {
      const std::byte* from = pixels.bytes.data() + pixel * kDecodedChannels;
      to[element] = FromByte<T>(ChannelOf(from, channel, form.channels));
    });
  });
  return elements;
}

namespace {

LoadedTensor TensorOf(std::vector<std::byte> elements, DataType type, const Dims& sizes,
                      const InputFile& file) {
  using Owner = std::pair<InputFile, std::vector<std::byte>>;
  const auto owner = std::make_shared<const Owner>(file, std::move(elements));
  return {{owner->second.data(), type, PackedLayout(sizes)}, owner, file.bytes()};
}

}  // namespace

LoadedTensor LoadPixels(const std::string& path) {
  const InputFile file = InputFile::Open(path);
  const Pixels pixels = DecodePicture(file.bytes(), path);
  const ImageForm form{pixels.height, pixels.width, pixels.channels, true, DataType::kUint8};
  const Dims sizes{form.height, form.width, form.channels};
  LoadedTensor tensor = TensorOf(ElementsOf(pixels, form), form.type, sizes, file);
  tensor.picture = fmt::format("{} picture of {} x {} pixels, {}", pixels.kind, pixels.width,
                               pixels.height, Counted(pixels.channels, "channel"));
  return tensor;
}

LoadedTensor LoadPicture(const std::string& path, const TensorDesc& desc) {
  const Dims sizes(desc.sizes->begin(), desc.sizes->end());
  const ImageForm form = ImageFormOf(*desc.data_type, sizes, path, ErrorKind::kTensorFile);
  const InputFile file = InputFile::Open(path);
  const Pixels pixels = DecodePicture(file.bytes(), path);
  if (pixels.height != form.height || pixels.width != form.width) {
    FailTensorFile(path, "is a picture of {} x {} pixels; expected {} x {} for {}", pixels.width,
                   pixels.height, form.width, form.height, ToString(sizes));
  }
  return FitToDesc(TensorOf(ElementsOf(pixels, form), form.type, sizes, file), desc, path);
}

std::string EncodePicture(const std::string& path, const ImageForm& form,
                          std::span<const std::byte> elements) {
  const bool is_png = HasExtension(path, ".png");
  // JPEG has no alpha.
  const int64_t written = is_png ? form.channels : std::min<int64_t>(form.channels, 3);
  std::vector<std::byte> bytes(static_cast<size_t>(form.height * form.width * written));
  VisitImageType(form.type, [&]<typename T>() {
    const auto* const from = reinterpret_cast<const T*>(elements.data());
    ForEachChannel(form, [&](int64_t pixel, int64_t channel, int64_t element) {
      if (channel < written)
        bytes[static_cast<size_t>(pixel * written + channel)] = ToByte(from[element]);
    });
  });
  ImageForm file_form = form;
  file_form.channels = written;
  return is_png ? EncodePng(file_form, bytes) : JpegEncoder().Encode(file_form, bytes);
}

}  // namespace dmlop
