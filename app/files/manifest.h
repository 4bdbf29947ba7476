// A manifest: operator descriptors with their bindings, one after another. In JSON Lines each is a
// line; they may also take several lines, or be the elements of one array.
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

namespace dmlop {

// A case. Lines that begin with a brace begin one, so that a case that is cut off costs no other.
struct ManifestLine {
  int64_t number = 0;  // from 1, of the line in which it begins
  std::string text;
  size_t column = 1;  // in that line, in characters
};

// Blank lines and comments are passed over. Failures are Errors of kind kFileSystem.
class Manifest {
 public:
  // A file, or "-" for standard input. What can be read only once is kept in a scratch file as it
  // comes, up to kMostKept bytes; more are an Error of kind kUsage. It is not read on behind a case
  // that is too long for any document nor, where it `ends_at_fault`, behind one of no operator:
  // this is its last case then.
  explicit Manifest(const std::string& path, bool ends_at_fault = false);

  // What has been read of a stream to its end.
  Manifest(const std::string& name, std::string_view text);

  static constexpr size_t kMostKept = size_t{256} << 20;

  const std::string& name() const { return name_; }  // for messages

  // What bindings are relative to: the file's folder, and of a stream the current one.
  const std::string& folder() const { return folder_; }

  bool is_file() const { return is_file_; }  // and not a stream

  // Whether the cases are the elements of one array, once the first has been found.
  bool is_array() const { return is_array_; }

  void Rewind();

  // The next lines that have a case and that `takes` takes by their number, up to `most`, and only
  // as many as are worth keeping in memory; none at the end.
  std::vector<ManifestLine> Next(size_t most, const std::function<bool(int64_t number)>& takes);

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
  std::optional<ScratchFile> copy_;  // of what can be read only once
  size_t kept_ = 0;                  // bytes of it
  bool is_read_ = false;             // all that will be
  std::optional<int64_t> last_;      // case, by its number from 1; none: that at the end
  int64_t count_ = 0;                // of the cases that were found
  size_t read_ = 0;                  // bytes of the file
  std::string part_;                 // the last of them, which are given out up to at_
  size_t at_ = 0;
  std::string line_text_;  // the line, which is used up to line_at_
  size_t line_at_ = 0;
  size_t line_column_ = 1;  // of line_at_, in characters
  int64_t line_ = 0;
  bool is_first_ = true;                      // nothing has been found yet
  bool is_array_ = false;                     // the cases are the elements of an array
  bool is_closed_ = false;                    // which has ended
  std::optional<ManifestLine> open_comment_;  // which has no end
};

// Throws an Error of kind kUsage unless the one case in a line is meant: none or several begin
// there.
void RequireOneCase(const Manifest& manifest, int64_t line, int64_t count);

}  // namespace dmlop
