#include "app/batch/manifest.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "app/descriptor.h"
#include "core/base/error.h"
#include "core/io/file.h"
#include "core/io/json.h"

namespace dmlop {
namespace {

constexpr size_t kPartBytes = size_t{1} << 16;
constexpr size_t kManyLines = 4096;
constexpr size_t kMaxBytes = size_t{8} << 20;

bool HasCase(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t\r");
  return begin != std::string_view::npos && !line.substr(begin).starts_with("//");
}

}  // namespace

Manifest::Manifest(const std::string& path) : name_(path) {
  const bool standard = path == kStandardStream;
  if (standard) name_ = kStandardInputName;
  file_.reset(std::fopen(standard ? "/dev/stdin" : path.c_str(), "re"));
  if (!file_) Fail("cannot be opened");
  is_file_ = !standard && !IsStream(path);
  if (!is_file_) file_ = Spool(std::move(file_));
  if (is_file_) folder_ = std::filesystem::path(path).parent_path().string();
}

Manifest::File Manifest::Spool(File stream) const {
  File copy(std::tmpfile());
  if (!copy) Fail("cannot be kept");
  char part[kPartBytes];
  while (const size_t size = std::fread(part, 1, sizeof part, stream.get())) {
    if (std::fwrite(part, 1, size, copy.get()) != size) Fail("cannot be kept");
  }
  if (std::ferror(stream.get()) != 0) Fail("cannot be read");
  if (std::fflush(copy.get()) != 0) Fail("cannot be kept");
  std::rewind(copy.get());
  return copy;
}

void Manifest::Fail(std::string_view what) const {
  throw Error(ErrorKind::kFileSystem, fmt::format("{}: {}: {}", name_, what, std::strerror(errno)));
}

void Manifest::Rewind() {
  std::rewind(file_.get());
  part_.clear();
  at_ = 0;
  line_ = 0;
}

std::vector<ManifestLine> Manifest::Next() {
  return Next(kManyLines, [](int64_t) { return true; });
}

std::vector<ManifestLine> Manifest::Next(size_t most,
                                         const std::function<bool(int64_t number)>& takes) {
  std::vector<ManifestLine> lines;
  size_t bytes = 0;
  while (lines.size() < most && bytes < kMaxBytes) {
    std::optional<std::string> line = ReadLine();
    if (!line) break;
    if (++line_ == 1 && line->starts_with(kByteOrderMark)) line->erase(0, kByteOrderMark.size());
    if (!HasCase(*line) || !takes(line_)) continue;
    bytes += line->size();
    lines.push_back({line_, *std::move(line)});
  }
  return lines;
}

// Of a line that is too long for any document no more is kept than shows that.
std::optional<std::string> Manifest::ReadLine() {
  if (at_ == part_.size() && ReadPart() == 0) return std::nullopt;
  std::string line;
  while (true) {
    const size_t end = part_.find('\n', at_);
    const size_t size = (end == std::string::npos ? part_.size() : end) - at_;
    if (line.size() <= JsonDocument::kMaxBytes) line.append(part_, at_, size);
    at_ += size;
    if (end != std::string::npos) {
      ++at_;
      return line;
    }
    if (ReadPart() == 0) return line;
  }
}

size_t Manifest::ReadPart() {
  part_.resize(kPartBytes);
  part_.resize(std::fread(part_.data(), 1, part_.size(), file_.get()));
  at_ = 0;
  if (std::ferror(file_.get()) != 0) Fail("cannot be read");
  return part_.size();
}

}  // namespace dmlop
