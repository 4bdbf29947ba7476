// SPDX-License-Identifier: Apache-2.0
#include "core/io/npz.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#define ZLIB_CONST  // zlib's input is constant
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <new>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/progress.h"
#include "core/io/file.h"
#include "core/io/npy.h"
#include "core/io/output_file.h"

namespace dmlop {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kExtension = ".npz";
constexpr std::string_view kArrayExtension = ".npy";
constexpr const char* kWrongChecksum = "is damaged: its checksum does not match";

// Records of the ZIP format (APPNOTE.TXT of PKWARE): the signature of each, and its size without
// variable-length fields.
constexpr std::string_view kMemberMark = "PK\3\4";
constexpr std::string_view kEntryMark = "PK\1\2";
constexpr std::string_view kEndMark = "PK\5\6";
constexpr std::string_view kWideEndMark = "PK\6\6";
constexpr std::string_view kLocatorMark = "PK\6\7";
constexpr size_t kMemberSize = 30;
constexpr size_t kEntrySize = 46;
constexpr size_t kEndSize = 22;
constexpr size_t kWideEndSize = 56;
constexpr size_t kLocatorSize = 20;

bool BeginsWith(Bytes bytes, std::string_view mark) {
  return bytes.size() >= mark.size() && std::memcmp(bytes.data(), mark.data(), mark.size()) == 0;
}

// Returns the number at an offset of a record, which is little-endian.
template <typename T>
T NumberAt(Bytes record, size_t at) {
  T number{};
  std::memcpy(&number, record.data() + at, sizeof(T));
  return number;
}

struct Member {
  static constexpr uint16_t kStored = 0, kDeflated = 8;  // compression methods
  static constexpr uint16_t kEncrypted = 1;              // bit of `flags`

  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t checksum = 0;
  uint64_t packed_size = 0;
  uint64_t size = 0;
  uint64_t begin = 0;  // offset of its record in the file
};

// Inflates deflated bytes.
class Inflater {
 public:
  explicit Inflater(Bytes packed) : packed_(packed) {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  // Fills `bytes`, or less at the end or if the data is damaged; returns how much.
  size_t Read(std::span<std::byte> bytes) {
    stream_.next_out = reinterpret_cast<Bytef*>(bytes.data());
    stream_.avail_out = static_cast<uInt>(bytes.size());
    do {
      if (stream_.avail_in == 0) Feed();
    } while (stream_.avail_out > 0 && inflate(&stream_, Z_NO_FLUSH) == Z_OK);
    return bytes.size() - stream_.avail_out;
  }

 private:
  void Feed() {
    const Bytes part = packed_.first(std::min<size_t>(packed_.size(), kStepBytes));
    stream_.next_in = reinterpret_cast<const Bytef*>(part.data());
    stream_.avail_in = static_cast<uInt>(part.size());
    packed_ = packed_.subspan(part.size());
  }

  z_stream stream_{};
  Bytes packed_;
};

uint32_t WithChecksum(uint32_t checksum, Bytes part) {
  return static_cast<uint32_t>(
      crc32_z(checksum, reinterpret_cast<const Bytef*>(part.data()), part.size()));
}

// A zip archive. The list at its end is authoritative: other parts of the file may be stale.
class Archive {
 public:
  explicit Archive(const std::string& path) : path_(path), file_(InputFile::Open(path)) {
    const size_t end = FindEnd();
    Bytes record = file_.bytes().subspan(end);
    size_t list_end = end;
    uint64_t list_size = NumberAt<uint32_t>(record, 12);
    uint64_t list_begin = NumberAt<uint32_t>(record, 16);
    if (end >= kWideEndSize + kLocatorSize &&
        BeginsWith(file_.bytes().subspan(end - kLocatorSize), kLocatorMark)) {
      list_end = end - kLocatorSize - kWideEndSize;
      record = file_.bytes().subspan(list_end);
      if (!BeginsWith(record, kWideEndMark)) FailList();
      list_size = NumberAt<uint64_t>(record, 40);
      list_begin = NumberAt<uint64_t>(record, 48);
    }
    if (list_size > list_end || list_begin > list_end - list_size) FailList();
    // An archive may follow other data, such as a program that unpacks it.
    begin_ = list_end - list_size - list_begin;
    ReadList(file_.bytes().subspan(list_end - list_size, list_size));
  }

  const std::vector<std::string>& names() const { return names_; }  // in the order of the list

  bool Has(const std::string& name) const { return members_.contains(name); }

  // Reads a member that exists; `shown` is its name for messages.
  NpyBytes Read(const std::string& name, const std::string& shown) const {
    const Member& member = members_.at(name);
    if ((member.flags & Member::kEncrypted) != 0) FailTensorFile(shown, "is encrypted");
    const Bytes packed = PackedBytes(member, shown);
    if (member.method == Member::kStored) return Map(member, packed, shown);
    if (member.method == Member::kDeflated) return Unpack(member, packed, shown);
    FailTensorFile(shown,
                   "is packed by method {} of ZIP; those that numpy.savez and "
                   "numpy.savez_compressed use are read, 0 and 8",
                   member.method);
  }

  bool BeginsAsNpy(const std::string& name) const {
    const Member& member = members_.at(name);
    std::byte begin[kNpyMagic.size()] = {};
    if ((member.flags & Member::kEncrypted) != 0 || member.size < sizeof(begin)) return false;
    const Bytes packed = PackedBytes(member, name);
    if (member.method == Member::kStored) return HasNpyMagic(packed);
    return member.method == Member::kDeflated &&
           HasNpyMagic(std::span(begin).first(Inflater(packed).Read(begin)));
  }

 private:
  [[noreturn]] void FailList() const {
    FailTensorFile(path_, "is damaged: the list that it ends with does not fit it");
  }

  // Returns the offset of the record that ends an archive, apart from a comment after it.
  size_t FindEnd() const {
    constexpr size_t kLongestComment = 65535;
    const Bytes bytes = file_.bytes();
    const size_t most = std::min(bytes.size(), kEndSize + kLongestComment);
    for (size_t size = kEndSize; size <= most; ++size) {
      const Bytes record = bytes.last(size);
      if (!BeginsWith(record, kEndMark)) continue;
      if (kEndSize + NumberAt<uint16_t>(record, kEndSize - 2) == size) return bytes.size() - size;
    }
    if (BeginsWith(bytes, kMemberMark)) {
      FailTensorFile(path_, "is cut off: an archive ends with the list of its arrays");
    }
    const std::string_view kind = KindOfContent(bytes);
    if (!kind.empty()) FailTensorFile(path_, "is not a .npz archive, but {}", kind);
    FailTensorFile(path_, "is not a .npz archive");
  }

  void ReadList(Bytes list) {
    while (!list.empty()) {
      if (list.size() < kEntrySize || !BeginsWith(list, kEntryMark)) FailList();
      const size_t name_size = NumberAt<uint16_t>(list, 28);
      const size_t extra_size = NumberAt<uint16_t>(list, 30);
      const size_t size = kEntrySize + name_size + extra_size + NumberAt<uint16_t>(list, 32);
      if (list.size() < size) FailList();
      std::string name(reinterpret_cast<const char*>(list.data() + kEntrySize), name_size);
      const Member member = MemberOf(list, list.subspan(kEntrySize + name_size, extra_size));
      // A later member of the same name replaces an earlier one.
      if (members_.insert_or_assign(name, member).second) names_.push_back(std::move(name));
      list = list.subspan(size);
    }
  }

  Member MemberOf(Bytes entry, Bytes extra) const {
    Member member{.flags = NumberAt<uint16_t>(entry, 8),
                  .method = NumberAt<uint16_t>(entry, 10),
                  .checksum = NumberAt<uint32_t>(entry, 16),
                  .packed_size = NumberAt<uint32_t>(entry, 20),
                  .size = NumberAt<uint32_t>(entry, 24),
                  .begin = NumberAt<uint32_t>(entry, 42)};
    Bytes wide = WideNumbers(extra);
    for (uint64_t* number : {&member.size, &member.packed_size, &member.begin}) {
      if (*number != UINT32_MAX || wide.size() < sizeof(*number)) continue;
      *number = NumberAt<uint64_t>(wide, 0);
      wide = wide.subspan(sizeof(*number));
    }
    return member;
  }

  // Returns the ZIP64 field, which replaces numbers of 32 bits that are all ones; empty if none.
  static Bytes WideNumbers(Bytes extra) {
    constexpr size_t kHead = 4;
    constexpr uint16_t kWide = 1;
    while (extra.size() >= kHead) {
      const size_t size = std::min<size_t>(NumberAt<uint16_t>(extra, 2), extra.size() - kHead);
      if (NumberAt<uint16_t>(extra, 0) == kWide) return extra.subspan(kHead, size);
      extra = extra.subspan(kHead + size);
    }
    return {};
  }

  Bytes PackedBytes(const Member& member, const std::string& shown) const {
    const Bytes archive = file_.bytes().subspan(begin_);
    if (member.begin > archive.size() || archive.size() - member.begin < kMemberSize) {
      FailTensorFile(shown, "is cut off");
    }
    const Bytes record = archive.subspan(member.begin);
    if (!BeginsWith(record, kMemberMark)) {
      FailTensorFile(shown, "is damaged: it does not begin where the list of the archive says");
    }
    const size_t begin =
        kMemberSize + NumberAt<uint16_t>(record, 26) + NumberAt<uint16_t>(record, 28);
    if (begin > record.size() || member.packed_size > record.size() - begin) {
      FailTensorFile(shown, "is cut off");
    }
    return record.subspan(begin, member.packed_size);
  }

  NpyBytes Map(const Member& member, Bytes bytes, const std::string& shown) const {
    const Work work("reading " + shown, static_cast<int64_t>(bytes.size()));
    uint32_t checksum = 0;
    ForEachStep(bytes.size(), [&](size_t at, size_t step) {
      checksum = WithChecksum(checksum, bytes.subspan(at, step));
    });
    if (checksum != member.checksum) FailTensorFile(shown, kWrongChecksum);
    return {bytes, std::make_shared<const InputFile>(file_)};
  }

  static NpyBytes Unpack(const Member& member, Bytes packed, const std::string& shown) {
    constexpr uint64_t kMostGrowth = 1032;  // largest compression ratio of deflate
    if (member.size / kMostGrowth > member.packed_size) {
      FailTensorFile(shown, "claims to be larger than its compressed bytes can make");
    }
    const auto spool = std::make_shared<Spool>(member.size);
    const Work work("reading " + shown, static_cast<int64_t>(member.size));
    Inflater inflater(packed);
    uint32_t checksum = 0;
    std::vector<std::byte> part;
    ForEachStep(member.size, [&](size_t, size_t step) {
      part.resize(step);
      if (inflater.Read(part) != step) FailTensorFile(shown, "is damaged");
      checksum = WithChecksum(checksum, part);
      spool->Append(part);
    });
    if (checksum != member.checksum) FailTensorFile(shown, kWrongChecksum);
    return {spool->bytes(), spool};
  }

  std::string path_;
  InputFile file_;
  uint64_t begin_ = 0;
  std::unordered_map<std::string, Member> members_;
  std::vector<std::string> names_;
};

// Returns a text that changes if the file does.
std::string VersionOf(const std::string& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  const auto time = std::filesystem::last_write_time(path, error).time_since_epoch();
  return fmt::format("{} {} {}", FileIdentities().Of(path), size, time.count());
}

// Opens the archive in its current state. Its list is cached, since reading it for each array would
// take quadratic time for thousands of them.
std::shared_ptr<const Archive> Open(const std::string& path) {
  constexpr size_t kMostArchives = 16;
  static std::mutex mutex;
  static std::unordered_map<std::string, std::shared_ptr<const Archive>> archives;
  const std::string version = VersionOf(path);
  const std::scoped_lock lock(mutex);
  const auto known = archives.find(version);
  if (known != archives.end()) return known->second;
  auto archive = std::make_shared<const Archive>(path);
  if (archives.size() >= kMostArchives) archives.clear();
  return archives[version] = std::move(archive);
}

}  // namespace

bool IsNpz(const std::string& path) {
  return HasExtension(path, kExtension);
}

std::optional<NpzArray> ParseNpzPath(const std::string& path) {
  size_t end = path.find(':');
  while (end != std::string::npos && !IsNpz(path.substr(0, end))) end = path.find(':', end + 1);
  if (end == std::string::npos) return std::nullopt;
  std::error_code ignored;
  if (end + 1 == path.size() || std::filesystem::exists(path, ignored)) return std::nullopt;
  return NpzArray{path.substr(0, end), path.substr(end + 1)};
}

NpyBytes OpenNpzArray(const NpzArray& array) {
  const auto archive = Open(array.archive);
  // Like NumPy, takes "a" for a.npy unless there is a member "a" itself.
  for (const std::string& name : {array.name, array.name + std::string(kArrayExtension)}) {
    if (archive->Has(name)) return archive->Read(name, array.archive + ":" + array.name);
  }
  FailTensorFile(array.archive, "has no array '{}'; it has {}", array.name,
                 NpzNames(array.archive));
}

std::vector<std::string> ArraysOf(const std::string& path) {
  const auto archive = Open(path);
  std::vector<std::string> arrays;
  for (const std::string& name : archive->names()) {
    const bool is_called_so = name.ends_with(kArrayExtension);
    const std::string stem =
        is_called_so ? name.substr(0, name.size() - kArrayExtension.size()) : "";
    if (!stem.empty() && !archive->Has(stem)) {
      arrays.push_back(stem);
    } else if (is_called_so || archive->BeginsAsNpy(name)) {
      arrays.push_back(name);
    }
  }
  return arrays;
}

std::string NpzNames(const std::string& archive) {
  constexpr size_t kMostListed = 8;
  const std::vector<std::string> names = ArraysOf(archive);
  if (names.empty()) FailTensorFile(archive, "has no arrays");
  const std::span listed = std::span(names).first(std::min(names.size(), kMostListed));
  return fmt::format("{}{}", fmt::join(listed, ", "), listed.size() < names.size() ? ", ..." : "");
}

}  // namespace dmlop
