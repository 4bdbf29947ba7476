// SPDX-License-Identifier: Apache-2.0
#include "core/io/content_kind.h"

namespace dmlop {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kUtf16 = "text in UTF-16; it has to be UTF-8";

struct Beginning {
  std::string_view bytes;
  std::string_view kind;
};

// The first match counts.
constexpr Beginning kBeginnings[] = {
    {"\x93NUMPY"sv, "a .npy file"},
    {"version http"sv, "a Git LFS pointer; git lfs pull fetches the file"},
    {"PK\x03\x04"sv, "a zip archive, as .npz files are"},
    {"PK\x05\x06"sv, "an empty zip archive"},
    {"\x1F\x8B"sv, "a gzip file"},
    {"\x80\x02"sv, "a pickle of Python"},
    {"\x80\x03"sv, "a pickle of Python"},
    {"\x80\x04"sv, "a pickle of Python"},
    {"\x80\x05"sv, "a pickle of Python"},
    {"\x89HDF"sv, "an HDF5 file"},
    {"<!DOCTYPE"sv, "an HTML page"},
    {"<!doctype"sv, "an HTML page"},
    {"<html"sv, "an HTML page"},
    {"\xFF\xFE"sv, kUtf16},
    {"\xFE\xFF"sv, kUtf16},
};

// Recognizes a message of protobuf whose first field is a small number, the version of the format,
// and whose next field is another of ONNX's ModelProto.
bool IsOnnxModel(std::string_view text) {
  constexpr std::string_view kNextFields = "\x12\x1A\x22\x28\x32\x3A\x42"sv;
  return text.size() > 3 && text[0] == '\x08' && text[1] > 0 && text[1] < ' ' &&
         kNextFields.find(text[2]) != std::string_view::npos;
}

// Recognizes a brace and another ASCII character in UTF-16, each with a zero byte on the same side.
bool IsWideObject(std::string_view text) {
  if (text.size() < 4) return false;
  const bool low_first = text.starts_with("{\0"sv) && text[3] == '\0';
  const bool high_first = text.starts_with("\0{\0"sv);
  return low_first || high_first;
}

}  // namespace

std::string_view KindOfContent(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Beginning& beginning : kBeginnings) {
    if (text.starts_with(beginning.bytes)) return beginning.kind;
  }
  if (IsOnnxModel(text)) return "an ONNX model";
  return IsWideObject(text) ? kUtf16 : "";
}

}  // namespace dmlop
