// SPDX-License-Identifier: Apache-2.0
#include "app/files/manifest.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "app/files/descriptor.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/document/operator_document.h"
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

const OperatorInfo* OperatorIn(const JsonDocument& json) {
  Diagnostics ignored;
  return ReadOperatorType(json.root(), ValueReader(ignored, Dialect::kDescriptor));
}

std::optional<JsonDocument> ObjectIn(const std::string& text) {
  Diagnostics ignored;
  std::optional<JsonDocument> json = JsonDocument::Parse(text, ignored);
  if (json && !json->root().is_object()) json.reset();
  return json;
}

// A sweep may choose the operator of its cases, and a model is one.
bool MayBeCase(const std::string& text) {
  const std::optional<JsonDocument> json = ObjectIn(text);
  if (!json) return false;
  const JsonCursor root = json->root();
  const bool is_other = root.Find("sweep") || root.Find("model") || root.Find("dispatchables");
  return is_other || OperatorIn(*json) != nullptr;
}

// True for the characters that may begin or end anything that JsonEnd looks at.
constexpr std::array<bool, 256> kMarks = [] {
  std::array<bool, 256> marks{};
  for (const char c : {'{', '}', '[', ']', '"', '/'}) marks[static_cast<unsigned char>(c)] = true;
  return marks;
}();

// Finds the end of a JSON value in text that comes line by line. It counts brackets outside of
// strings and comments, and leaves errors in the JSON to the parser.
class JsonEnd {
 public:
  // Continues with a line or a part of it. Returns the position after the last bracket of the
  // object or array; npos if it has not ended.
  size_t Find(std::string_view line) {
    for (size_t at = 0; at < line.size();) {
      if (!in_comment_ && !kMarks[static_cast<unsigned char>(line[at])]) {
        ++at;
        continue;
      }
      if (const size_t behind = Skip(line, at); behind != at) {
        at = behind;
        continue;
      }
      const char c = line[at++];
      if (c == '{' || c == '[') ++depth_;
      if ((c == '}' || c == ']') && depth_ > 0 && --depth_ == 0) return at;
    }
    return std::string_view::npos;
  }

  // True while a bracket is open.
  bool is_open() const { return depth_ > 0; }

 private:
  // Returns the position after a string or comment that begins at `at`, or the end of the line.
  size_t Skip(std::string_view line, size_t at) {
    if (in_comment_) return SkipComment(line, at);
    if (line[at] == '"') {
      for (++at; at < line.size() && line[at] != '"'; ++at) at += line[at] == '\\';
      return std::min(at + 1, line.size());
    }
    if (line[at] != '/' || at + 1 == line.size()) return at;
    if (line[at + 1] == '/') return line.size();
    return line[at + 1] == '*' ? SkipComment(line, at + 2) : at;
  }

  size_t SkipComment(std::string_view line, size_t at) {
    const size_t end = line.find("*/", at);
    in_comment_ = end == std::string_view::npos;
    return in_comment_ ? line.size() : end + 2;
  }

  size_t depth_ = 0;
  bool in_comment_ = false;  // between /* and */
};

InputStream Opened(const std::string& path) {
  try {
    return InputStream(path);
  } catch (const Error& error) {
    throw WithOperatorHint(error, path);
  }
}

}  // namespace

Manifest::Manifest(const std::string& path, bool ends_at_fault)
    : name_(path), input_(Opened(path)), ends_at_fault_(ends_at_fault) {
  const bool standard = path == kStandardStream;
  if (standard) name_ = kStandardInputName;
  is_file_ = !standard && !IsStream(path);
  if (is_file_) {
    folder_ = std::filesystem::path(path).parent_path().string();
  } else {
    copy_.emplace(0);
  }
}

Manifest::Manifest(const std::string& name, std::string_view text)
    : Manifest(std::string(kStandardStream)) {
  name_ = name;
  copy_->Write(0, std::as_bytes(std::span(text)));
  kept_ = text.size();
  is_read_ = true;
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
  open_comment_.reset();
  count_ = 0;
}

std::vector<ManifestLine> Manifest::Next() {
  return Next(kManyLines, [](const ManifestLine&) { return true; });
}

std::vector<ManifestLine> Manifest::Next(size_t most,
                                         const std::function<bool(const ManifestLine&)>& takes) {
  std::vector<ManifestLine> lines;
  size_t bytes = 0;
  while (lines.size() < most && bytes < kMaxBytes) {
    std::optional<ManifestLine> line = ReadCase();
    if (!line) break;
    if (!takes(*line)) continue;
    bytes += line->text.size();
    lines.push_back(*std::move(line));
  }
  return lines;
}

std::optional<ManifestLine> Manifest::ReadCase() {
  if (last_ && count_ == *last_) return std::nullopt;
  std::optional<ManifestLine> found = FindNext();
  if (!found) return found;
  ++count_;
  const bool is_new = copy_ && !last_ && !is_read_;
  const bool is_fault = is_new && ends_at_fault_ && !MayBeCase(found->text);
  if (is_fault || is_too_long(found->text)) EndHere();
  return found;
}

// Reads nothing after this case, on later passes, too.
void Manifest::EndHere() {
  last_ = count_;
  is_read_ = true;
}

// True if reading on in a stream is of no use.
bool Manifest::is_too_long(const std::string& text) const {
  return copy_ && text.size() > JsonDocument::kMaxBytes;
}

std::optional<ManifestLine> Manifest::FindNext() {
  if (!FindCase()) return Unclosed();
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

// An unclosed comment or array, returned as a case that no parser accepts.
std::optional<ManifestLine> Manifest::Unclosed() {
  if (open_comment_) return std::exchange(open_comment_, std::nullopt);
  if (!is_array_ || is_closed_) return std::nullopt;
  is_closed_ = true;
  return ManifestLine{line_, "[", line_column_ - 1};  // so that the error is at the end of the line
}

// Reads up to the bracket that closes the first one, or to the line that begins another case.
void Manifest::ReadBrackets(std::string& text) {
  JsonEnd end;
  while (true) {
    const size_t size = end.Find(std::string_view(line_text_).substr(line_at_));
    Take(size == std::string::npos ? line_text_.size() : line_at_ + size, text);
    if (!end.is_open()) break;
    if (is_too_long(text)) return;
    if (!NextLine() || (!is_array_ && line_text_.starts_with('{'))) return;
    text += '\n';
  }
  // Text after a case belongs to it, for the parser to reject, unless it is another case or a
  // comment, which may continue on the next line.
  const size_t next = std::min(line_text_.find_first_not_of(kBlanks, line_at_), line_text_.size());
  const std::string_view rest = std::string_view(line_text_).substr(next);
  const bool is_other = rest.empty() || rest.starts_with('{') || rest.starts_with("/*");
  if (!is_array_ && !is_other) Take(line_text_.size(), text);
}

// Keeps only enough of a case that is too long for any document to show that it is.
void Manifest::Take(size_t end, std::string& text) {
  const std::string_view taken = std::string_view(line_text_).substr(line_at_, end - line_at_);
  if (text.size() <= JsonDocument::kMaxBytes) text += taken;
  Pass(end);
}

void Manifest::Pass(size_t end) {
  line_column_ += CountCharacters(std::string_view(line_text_).substr(line_at_, end - line_at_));
  line_at_ = end;
}

// False if the comment has no end.
bool Manifest::SkipComment() {
  constexpr std::string_view kEnd = "*/";
  open_comment_ = ManifestLine{line_, "/*", line_column_};
  size_t end = line_text_.find(kEnd, line_at_ + 2);
  while (end == std::string::npos) {
    Pass(line_text_.size());
    if (!NextLine()) return false;
    end = line_text_.find(kEnd);
  }
  open_comment_.reset();
  Pass(end + kEnd.size());
  return true;
}

// Moves to the first byte of the next case; false at the end.
bool Manifest::FindCase() {
  while (true) {
    const std::string_view skipped = is_array_ ? " \t\r,]" : kBlanks;
    const size_t begin =
        std::min(line_text_.find_first_not_of(skipped, line_at_), line_text_.size());
    const std::string_view passed = std::string_view(line_text_).substr(line_at_, begin - line_at_);
    if (passed.find(']') != std::string_view::npos) is_closed_ = true;
    Pass(begin);
    const std::string_view rest = std::string_view(line_text_).substr(begin);
    if (rest.empty() || rest.starts_with("//")) {
      if (!NextLine()) return false;
    } else if (rest.starts_with("/*")) {
      if (!SkipComment()) return false;
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

// Keeps only enough of a line that is too long for any document to show that it is.
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
    if (is_too_long(line) || ReadPart() == 0) return line;
  }
}

size_t Manifest::ReadPart() {
  part_.resize(kPartBytes);
  const auto bytes = std::as_writable_bytes(std::span(part_));
  part_.resize(copy_ ? ReadKept(bytes) : input_.ReadAt(read_, bytes));
  read_ += part_.size();
  at_ = 0;
  return part_.size();
}

size_t Manifest::ReadKept(std::span<std::byte> bytes) {
  if (read_ < kept_) return copy_->Read(read_, bytes);
  if (is_read_) return 0;
  const size_t size = input_.ReadSome(bytes);
  is_read_ = size == 0;
  if (kept_ + size > kMostKept) {
    throw Error(ErrorKind::kUsage,
                "{}: a manifest that is no file may have {} bytes; write it to a file", name_,
                kMostKept);
  }
  copy_->Write(kept_, bytes.first(size));
  kept_ += size;
  return size;
}

const OperatorInfo* OperatorOfCase(const std::string& text) {
  const std::optional<JsonDocument> json = ObjectIn(text);
  return json ? OperatorIn(*json) : nullptr;
}

void RequireOneCase(const Manifest& manifest, int64_t line, int64_t count,
                    const std::string& what) {
  if (count == 1) return;
  if (count == 0) {
    throw Error(ErrorKind::kUsage, "{} has no case{} in line {}", manifest.name(), what, line);
  }
  throw Error(ErrorKind::kUsage, "{} has several cases in line {}; put each in a line of its own",
              manifest.name(), line);
}

}  // namespace dmlop
