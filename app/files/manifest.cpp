#include "app/files/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "app/json_end.h"
#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/base/utf8.h"
#include "core/io/json.h"

namespace dmlop {
namespace {

constexpr size_t kPartBytes = size_t{1} << 16;
constexpr size_t kManyLines = 4096;
constexpr size_t kMaxBytes = size_t{8} << 20;

constexpr std::string_view kBlanks = " \t\r";

size_t CountCharacters(std::string_view text) {
  return text.size() -
         static_cast<size_t>(std::count_if(text.begin(), text.end(), ContinuesCharacter));
}

}  // namespace

Manifest::Manifest(const std::string& path) : name_(path), input_(path) {
  const bool standard = path == kStandardStream;
  if (standard) name_ = kStandardInputName;
  is_file_ = !standard && !IsStream(path);
  if (is_file_) {
    folder_ = std::filesystem::path(path).parent_path().string();
  } else {
    KeepCopy();
  }
}

void Manifest::KeepCopy() {
  copy_.emplace(0);
  const Work work("reading " + name_);
  std::vector<std::byte> part(kPartBytes);
  size_t size = 0;
  while (const size_t count = input_.Read(part)) {
    copy_->Write(size, std::span(part).first(count));
    size += count;
  }
}

void Manifest::Rewind() {
  read_ = 0;
  part_.clear();
  at_ = 0;
  line_text_.clear();
  line_at_ = 0;
  line_ = 0;
  is_array_ = false;
  is_closed_ = false;
  is_first_ = true;
}

std::vector<ManifestLine> Manifest::Next() {
  return Next(kManyLines, [](int64_t) { return true; });
}

std::vector<ManifestLine> Manifest::Next(size_t most,
                                         const std::function<bool(int64_t number)>& takes) {
  std::vector<ManifestLine> lines;
  size_t bytes = 0;
  while (lines.size() < most && bytes < kMaxBytes) {
    std::optional<ManifestLine> line = ReadCase();
    if (!line) break;
    if (!takes(line->number)) continue;
    bytes += line->text.size();
    lines.push_back(*std::move(line));
  }
  return lines;
}

std::optional<ManifestLine> Manifest::ReadCase() {
  if (!FindCase()) return UnclosedArray();
  ManifestLine found{line_, "", line_column_};
  const char first = line_text_[line_at_];
  if (first == '{' || first == '[') {
    ReadBrackets(found.text);
  } else {
    const size_t end = is_array_ ? line_text_.find_first_of(",]", line_at_) : std::string::npos;
    Take(std::min(end, line_text_.size()), found.text);
  }
  return found;
}

// The fault of an array that does not end, as a case that no parser takes.
std::optional<ManifestLine> Manifest::UnclosedArray() {
  if (!is_array_ || is_closed_) return std::nullopt;
  is_closed_ = true;
  return ManifestLine{line_, "[", line_column_ - 1};  // so that the end is the place
}

// Up to the bracket that closes the first, or to the line that begins another case.
void Manifest::ReadBrackets(std::string& text) {
  JsonEnd end;
  while (true) {
    const size_t size = end.Find(std::string_view(line_text_).substr(line_at_));
    Take(size == std::string::npos ? line_text_.size() : line_at_ + size, text);
    if (!end.is_open()) break;
    if (!NextLine() || (!is_array_ && line_text_.starts_with('{'))) return;
    text += '\n';
  }
  // Text behind a case belongs to it, for the parser to refuse, unless it is another.
  const size_t next = line_text_.find_first_not_of(kBlanks, line_at_);
  const bool is_case = next == std::string::npos || line_text_[next] == '{';
  if (!is_array_ && !is_case) Take(line_text_.size(), text);
}

// Of a case that is too long for any document no more is kept than shows that.
void Manifest::Take(size_t end, std::string& text) {
  const std::string_view taken = std::string_view(line_text_).substr(line_at_, end - line_at_);
  if (text.size() <= JsonDocument::kMaxBytes) text += taken;
  line_column_ += CountCharacters(taken);
  line_at_ = end;
}

// Goes to the first byte of the next case. False at the end.
bool Manifest::FindCase() {
  while (true) {
    const std::string_view skipped = is_array_ ? " \t\r,]" : kBlanks;
    const size_t begin =
        std::min(line_text_.find_first_not_of(skipped, line_at_), line_text_.size());
    const std::string_view passed = std::string_view(line_text_).substr(line_at_, begin - line_at_);
    if (passed.find(']') != std::string_view::npos) is_closed_ = true;
    line_column_ += passed.size();
    line_at_ = begin;
    const std::string_view rest = std::string_view(line_text_).substr(begin);
    if (rest.empty() || rest.starts_with("//")) {
      if (!NextLine()) return false;
    } else if (rest.front() == '[' && is_first_) {
      is_array_ = true;
      ++line_at_;
      ++line_column_;
      is_first_ = false;
    } else {
      is_first_ = false;
      return true;
    }
  }
}

bool Manifest::NextLine() {
  std::optional<std::string> line = ReadLine();
  if (!line) return false;
  line_text_ = *std::move(line);
  line_at_ = 0;
  line_column_ = 1;
  if (++line_ == 1 && line_text_.starts_with(kByteOrderMark)) line_at_ = kByteOrderMark.size();
  return true;
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
  const auto bytes = std::as_writable_bytes(std::span(part_));
  part_.resize(copy_ ? copy_->Read(read_, bytes) : input_.ReadAt(read_, bytes));
  read_ += part_.size();
  at_ = 0;
  return part_.size();
}

void RequireOneCase(const Manifest& manifest, int64_t line, int64_t count) {
  if (count == 1) return;
  throw Error(ErrorKind::kUsage,
              count == 0 ? fmt::format("{} has no case in line {}", manifest.name(), line)
                         : fmt::format("{} has several cases in line {}; put each in a line of "
                                       "its own",
                                       manifest.name(), line));
}

}  // namespace dmlop
