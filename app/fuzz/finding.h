// SPDX-License-Identifier: Apache-2.0
// A fault of a device: the smallest case that fails, what it hangs on, and its cause.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/fuzz/device.h"
#include "core/document/document_json.h"
#include "core/fuzz/conditions.h"
#include "core/fuzz/shrink.h"

namespace dmlop {

// Failures of one fault have this in common.
struct FailureKey {
  std::string op;
  CaseClass what = CaseClass::kWrong;
  // The end of the engine, in a word; of wrong elements, the ids of the cause that tells the fault,
  // without values and details, or, if there is none, the first class of their values.
  std::string code{};

  bool operator==(const FailureKey&) const = default;
};

// The first cause of an output that has one; null if none has.
const Cause* FirstCause(const std::vector<DiagnosedFile>& diagnoses);

// The first cause, if it tells the fault; null if there is none, or if it is a change of the
// descriptor and all that is wrong has one value, which many changes give by chance.
const Cause* TellingCause(const DeviceVerdict& verdict,
                          const std::vector<DiagnosedFile>& diagnoses);

// Puts a cause first whose key is this one, if it explains as much as the first one.
void PreferCause(const std::string& key, std::vector<DiagnosedFile>& diagnoses);

// "/desc/Axes" for "/desc/Axes=[4]": what does not hang on the rank.
std::string KeyOfCause(const std::vector<std::string>& ids);

FailureKey KeyOf(const NamedCase& one, const DeviceVerdict& verdict,
                 const std::vector<DiagnosedFile>& diagnoses);

// Returns whether all that is wrong has one of these causes by itself.
bool IsAccepted(const std::vector<DiagnosedFile>& diagnoses,
                const std::vector<std::string>& accepted);

struct Finding {
  int64_t number = 0;
  FailureKey key;
  std::string text;   // "wrong values in [*, *, last]"
  std::string first;  // the name of the first case, or its path
  int64_t cases = 1;
  NamedCase first_case, smallest;
  std::vector<NamedCase> company{};        // with which it fails, itself last
  DeviceVerdict verdict{};                 // on the smallest case
  std::vector<DiagnosedFile> diagnoses{};  // likewise; the cause that was kept is the first one
  int64_t shrink_runs = 0;
  bool is_minimal = false;
  Conditions conditions{};
  std::vector<std::string> judging{};  // options with which it was judged
  // The codes in the keys of failures that turned out to be this fault.
  std::vector<std::string> other_codes{};

  std::string folder() const;  // "1-CONVOLUTION"
  // Returns whether the cause in the key is that of the smallest case, too: another one is chance.
  bool has_cause() const;

  // Returns whether another failure of the operator and class meets what this one hangs on.
  bool Covers(const NamedCase& other) const;
  // Returns whether failures with a key, that meet what this one hangs on, are this fault.
  bool HasKey(const FailureKey& one) const;
  // Returns whether the smallest case of another one meets what this one hangs on, and has no other
  // cause.
  bool Includes(const Finding& other) const;
  // Returns whether both are one fault.
  bool IsLike(const Finding& other) const;
};

// The descriptor's line in a manifest of findings.
Json LineOf(const Finding& finding);

// A line of findings.jsonl, and what it tells of a finding.
Json RecordOf(const Finding& finding);
Finding FindingOf(const Json& record);

// Several lines for people; `folder` is that of the findings, or empty if it is not in one. The
// number of cases is left out where it may grow.
enum class CaseCount : uint8_t { kTold, kLeftOut };
std::string FindingText(const Finding& finding, const std::string& folder,
                        CaseCount count = CaseCount::kTold);

// --- findings of a folder ------------------------------------------------------------------------

// The findings of a folder, those of earlier runs included.
class FindingList {
 public:
  // Reads what the folder has, if it is there; what is added gets the next numbers. If `goes_on`,
  // the findings are those of the run that goes on, with which failures are compared. Throws an
  // Error for a file that is damaged.
  FindingList(std::string folder, bool goes_on);
  FindingList(const FindingList&) = delete;
  FindingList& operator=(const FindingList&) = delete;
  ~FindingList();

  // Several causes may explain a failure: those come first that findings of the operator have.
  void PreferKnownCauses(const NamedCase& one, std::vector<DiagnosedFile>& diagnoses) const;

  // Counts a failure to the finding that it belongs to. Returns false if it belongs to none, or is
  // the first case of one whose making a signal has ended.
  bool Count(const NamedCase& one, const DeviceVerdict& verdict,
             const std::vector<DiagnosedFile>& diagnoses);

  // Adds a finding, and writes it, in place of one with the same first case; or counts it to the
  // one that is like it. Throws an Error if it cannot be written, and leaves no part of it.
  void Add(Finding finding);

  // Returns whether a finding of this run is like this one, or includes it.
  bool HasLike(const Finding& finding) const;
  bool Include(const Finding& finding) const;

  // Writes the lists; without any finding there are none.
  void Write() const;

  // The findings of this run.
  std::vector<const Finding*> own() const;
  bool is_empty() const { return own().empty(); }
  // Returns the finding that could not be written, if there is one.
  const std::optional<Finding>& unwritten() const { return unwritten_; }
  const std::string& folder() const { return folder_; }

 private:
  struct Entry;  // a finding and its line

  using Entries = std::vector<std::unique_ptr<Entry>>;

  void Read(bool goes_on);
  void CountTo(Entry& entry, const Finding& finding, Entries::iterator replaced);
  void AddNew(Finding finding, Entries::iterator replaced);
  void WriteWith(const Finding& finding) const;

  const std::string folder_;
  Entries entries_;
  std::optional<Finding> unwritten_;
};

// Reads the case of a file that this program has written, or of a line of it.
NamedCase ReadWrittenCase(const std::string& path, std::optional<int64_t> line = std::nullopt);

// Calls body(). Throws an Error of kind kUsage if a file of this program turns out to be damaged.
void ReadRecord(const std::string& path, const std::function<void()>& body);

// --- making findings -----------------------------------------------------------------------------

// A case that failed.
struct Failure {
  NamedCase one;
  ValueClasses classes{};  // of its inputs, as far as they are known
  DeviceVerdict verdict{};
  std::vector<DiagnosedFile> diagnoses{};
};

// Makes findings of failures: shrinks them, and finds what they hang on.
class FindingMaker {
 public:
  FindingMaker(Device& device, int64_t most_runs, const CaseBounds& bounds)
      : device_(device), most_runs_(most_runs), bounds_(bounds) {}

  // If a signal ends the search, the finding is as far as it came, and is not minimal. So it is if
  // one of `known` turns out to include it.
  Finding Make(const Failure& failure, const FindingList& known) const;

 private:
  void Shrink(const Failure& failure, const FindingList& known, Finding& finding) const;
  bool Confirm(CaseClass what, const NamedCase& smallest, DeviceVerdict& verdict) const;

  Device& device_;
  const int64_t most_runs_;  // 0: the first case is taken for the smallest
  const CaseBounds bounds_;
};

}  // namespace dmlop
