// SPDX-License-Identifier: Apache-2.0
// A manifest: operator descriptors with their bindings, one after another. In JSON Lines each is
// one line; they may also span lines or be the elements of one array.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/file.h"
#include "core/io/output_file.h"
#include "core/ops/operator.h"

namespace dmlop {

// A case. A line that begins with a brace begins a case, so that a truncated case costs no other.
struct ManifestLine {
  int64_t number = 0;  // of the line in which it begins, from 1
  std::string text;
  size_t column = 1;  // column in that line, in characters
};

// Reads the cases of a manifest, which may have blank lines and comments, or throws kFileSystem.
class Manifest {
 public:
  // Opens a file, or standard input for "-". A stream that can be read only once is kept in a
  // scratch file as it comes, up to kMostKept bytes; more is an Error of kind kUsage. A case that
  // is too long for any document is the last one, as is, if it `ends_at_fault`, a case without an
  // operator.
  explicit Manifest(const std::string& path, bool ends_at_fault = false);

  // Takes the text that was read from a stream up to its end.
  Manifest(const std::string& name, std::string_view text);

  static constexpr size_t kMostKept = size_t{256} << 20;

  const std::string& name() const { return name_; }  // for messages

  // Bindings are relative to it: the file's folder, or the current one for a stream.
  const std::string& folder() const { return folder_; }

  bool is_file() const { return is_file_; }  // false for a stream

  // Returns whether the cases are the elements of one array; known once the first has been found.
  bool is_array() const { return is_array_; }

  void Rewind();

  // The next lines that have a case and that `takes` accepts: up to `most`, and no more than memory
  // should hold; empty at the end.
  std::vector<ManifestLine> Next(size_t most,
                                 const std::function<bool(const ManifestLine&)>& takes);

  // The next lines with a case, many at once.
  std::vector<ManifestLine> Next();

 private:
  std::optional<ManifestLine> ReadCase();
  std::optional<ManifestLine> FindNext();
  std::optional<ManifestLine> Unclosed();
  bool FindCase();
  bool SkipComment();
  void Pass(size_t end);
  void EndHere();
  void ReadBrackets(std::string& text);
  void Take(size_t end, std::string& text);
  bool NextLine();
  std::optional<std::string> ReadLine();
  size_t ReadPart();
  size_t ReadKept(std::span<std::byte> bytes);
  bool is_too_long(const std::string& text) const;

  std::string name_;
  std::string folder_;
  bool is_file_ = true;
  InputStream input_;
  bool ends_at_fault_ = false;
  std::optional<ScratchFile> copy_;  // if the manifest can be read only once
  size_t kept_ = 0;                  // bytes in the copy
  bool is_read_ = false;             // nothing more will be read
  std::optional<int64_t> last_;      // number of the last case from 1; null if it is at the end
  int64_t count_ = 0;                // cases found so far
  size_t read_ = 0;                  // bytes read from the file
  std::string part_;                 // the last bytes read, which are used up to at_
  size_t at_ = 0;
  std::string line_text_;  // the current line, which is used up to line_at_
  size_t line_at_ = 0;
  size_t line_column_ = 1;  // column of line_at_, in characters
  int64_t line_ = 0;
  bool is_first_ = true;                      // nothing has been found yet
  bool is_array_ = false;                     // the cases are the elements of an array
  bool is_closed_ = false;                    // the array has ended
  std::optional<ManifestLine> open_comment_;  // a comment without an end
};

// The operator of a case; null if it has none.
const OperatorInfo* OperatorOfCase(const std::string& text);

// Throws an Error of kind kUsage unless exactly one case begins in the line.
void RequireOneCase(const Manifest& manifest, int64_t line, int64_t count,
                    const std::string& what = "");

}  // namespace dmlop
