// A manifest: operator descriptors with their bindings, one after another. In JSON Lines each is a
// line; they may also take several lines, or be the elements of one array.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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

// Lines that are blank or a comment (//) are passed over. Failures are Errors of kind kFileSystem.
class Manifest {
 public:
  // A file, or "-" for standard input. What can be read only once is kept in a scratch file.
  explicit Manifest(const std::string& path);

  const std::string& name() const { return name_; }  // for messages

  // What bindings are relative to: the file's folder, and of a stream the current one.
  const std::string& folder() const { return folder_; }

  bool is_file() const { return is_file_; }  // and not a stream

  void Rewind();

  // The next lines that have a case and that `takes` takes by their number, up to `most`, and only
  // as many as are worth keeping in memory; none at the end.
  std::vector<ManifestLine> Next(size_t most, const std::function<bool(int64_t number)>& takes);

  // The next lines with a case, many at once.
  std::vector<ManifestLine> Next();

 private:
  void KeepCopy();
  std::optional<ManifestLine> ReadCase();
  std::optional<ManifestLine> UnclosedArray();
  bool FindCase();
  void ReadBrackets(std::string& text);
  void Take(size_t end, std::string& text);
  bool NextLine();
  std::optional<std::string> ReadLine();
  size_t ReadPart();

  std::string name_;
  std::string folder_;
  bool is_file_ = true;
  InputStream input_;
  std::optional<ScratchFile> copy_;  // of what can be read only once
  size_t read_ = 0;                  // bytes of the file
  std::string part_;                 // the last of them, which are given out up to at_
  size_t at_ = 0;
  std::string line_text_;  // the line, which is used up to line_at_
  size_t line_at_ = 0;
  size_t line_column_ = 1;  // of line_at_, in characters
  int64_t line_ = 0;
  bool is_first_ = true;    // nothing has been found yet
  bool is_array_ = false;   // the cases are the elements of an array
  bool is_closed_ = false;  // which has ended
};

// Throws an Error of kind kUsage unless the one case in a line is meant: none or several begin
// there.
void RequireOneCase(const Manifest& manifest, int64_t line, int64_t count);

}  // namespace dmlop
