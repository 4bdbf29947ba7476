#include "core/io/npz.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <minizip/unzip.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/io/file.h"
#include "core/io/npy.h"
#include "core/io/spool.h"

namespace dmlop {
namespace {

constexpr std::string_view kExtension = ".npz";
constexpr int kCaseMatters = 1;
constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;
constexpr uint32_t kEncrypted = 1;  // a flag
constexpr const char* kWrongChecksum = "is damaged: its checksum does not match";
constexpr uint64_t kMostGrowth = 1032;  // of deflate

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Whether the record is whole that an archive ends with, but for a comment behind it. The library
// would take one that is cut off for that of an archive with nothing in it.
bool HasEndRecord(std::span<const std::byte> bytes) {
  constexpr size_t kRecord = 22;
  constexpr size_t kLongestComment = 65535;
  const std::string_view end =
      TextOf(bytes.last(std::min(bytes.size(), kRecord + kLongestComment)));
  for (size_t at = end.rfind("PK\5\6"); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : end.rfind("PK\5\6", at - 1)) {
    if (end.size() - at < kRecord) continue;
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(end[at + i]); };
    const size_t comment = byte(kRecord - 2) + size_t{256} * byte(kRecord - 1);
    if (at + kRecord + comment == end.size()) return true;
  }
  return false;
}

struct Member {
  unz_file_info64 info;
  std::string name;
};

// The current one.
Member MemberOf(unzFile archive, const std::string& path) {
  constexpr size_t kLongestName = 4096;
  std::string name(kLongestName, '\0');
  unz_file_info64 info{};
  const int error =
      unzGetCurrentFileInfo64(archive, &info, name.data(), name.size(), nullptr, 0, nullptr, 0);
  if (error != UNZ_OK) FailTensorFile(path, "is a damaged archive");
  name.resize(std::min<size_t>(info.size_filename, name.size()));
  return {info, std::move(name)};
}

// Where members of an archive are, as far as it was searched. The library itself goes through the
// members to find one, so that each of thousands would take as long as thousands do.
class Directory {
 public:
  // Makes the first member of that name the current one. False where there is none.
  bool Find(unzFile archive, const std::string& path, const std::string& member) {
    const std::scoped_lock lock(mutex_);
    if (const auto known = places_.find(member); known != places_.end()) {
      return unzGoToFilePos64(archive, &known->second) == UNZ_OK;
    }
    while (Advance(archive)) {
      const std::string name = MemberOf(archive, path).name;
      unzGetFilePos64(archive, &last_);
      places_.try_emplace(name, last_);
      if (name == member) return true;
    }
    return false;
  }

 private:
  // To the member behind the last one.
  bool Advance(unzFile archive) const {
    if (places_.empty()) return unzGoToFirstFile(archive) == UNZ_OK;
    return unzGoToFilePos64(archive, &last_) == UNZ_OK && unzGoToNextFile(archive) == UNZ_OK;
  }

  std::mutex mutex_;
  std::unordered_map<std::string, unz64_file_pos> places_;
  unz64_file_pos last_{};
};

// What changes where a file does.
std::string VersionOf(const std::string& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  const auto time = std::filesystem::last_write_time(path, error).time_since_epoch();
  return fmt::format("{} {} {}", IdentityOf(path), size, time.count());
}

// That of an archive as it is now.
std::shared_ptr<Directory> DirectoryOf(const std::string& path) {
  constexpr size_t kMostArchives = 16;
  static std::mutex mutex;
  static std::unordered_map<std::string, std::shared_ptr<Directory>> directories;
  const std::string version = VersionOf(path);
  const std::scoped_lock lock(mutex);
  if (directories.size() >= kMostArchives && !directories.contains(version)) directories.clear();
  std::shared_ptr<Directory>& directory = directories[version];
  if (!directory) directory = std::make_shared<Directory>();
  return directory;
}

// An archive with one of its members.
class Archive {
 public:
  explicit Archive(const std::string& path) : path_(path) {
    const InputFile file = InputFile::Open(path);  // which says why it cannot be opened
    if (!HasEndRecord(file.bytes())) {
      FailTensorFile(path, TextOf(file.bytes()).starts_with("PK\3\4")
                               ? "is cut off: an archive ends with the list of its arrays"
                               : "is not a .npz archive");
    }
    file_.reset(unzOpen64(path.c_str()));
    if (!file_) FailTensorFile(path, "is a damaged archive");
  }

  // False where the archive has no such member.
  bool Find(const std::string& member) {
    if (!DirectoryOf(path_)->Find(file_.get(), path_, member)) return false;
    if (MemberOf(file_.get(), path_).name == member) return true;
    // The file was changed meanwhile.
    return unzLocateFile(file_.get(), member.c_str(), kCaseMatters) == UNZ_OK;
  }

  // Calls visit(name) for each member.
  template <typename Visit>
  void ForEach(Visit&& visit) {
    for (int found = unzGoToFirstFile(file_.get()); found == UNZ_OK;
         found = unzGoToNextFile(file_.get())) {
      visit(MemberOf(file_.get(), path_).name);
    }
  }

  NpyBytes Read(const std::string& name) {
    const unz_file_info64 info = MemberOf(file_.get(), path_).info;
    if ((info.flag & kEncrypted) != 0) FailTensorFile(name, "is encrypted");
    if (unzOpenCurrentFile(file_.get()) != UNZ_OK) {
      FailTensorFile(name, "is damaged, or not packed by deflate");
    }
    if (info.compression_method == kStored) return Map(info, name);
    if (info.compression_method == kDeflated) return Unpack(info, name);
    FailTensorFile(name, "is damaged, or not packed by deflate");
  }

 private:
  struct Close {
    void operator()(void* file) const { unzClose(file); }
  };

  NpyBytes Map(const unz_file_info64& info, const std::string& name) const {
    const auto file = std::make_shared<const InputFile>(InputFile::Open(path_));
    const uint64_t begin = unzGetCurrentFileZStreamPos64(file_.get());
    const uint64_t size = file->bytes().size();
    if (begin > size || info.uncompressed_size > size - begin) FailTensorFile(name, "is cut off");
    const auto bytes = file->bytes().subspan(begin, info.uncompressed_size);
    const Work work("reading " + name, static_cast<int64_t>(bytes.size()));
    uLong checksum = crc32_z(0, nullptr, 0);
    ForEachStep(bytes.size(), [&](size_t at, size_t step) {
      checksum = crc32_z(checksum, reinterpret_cast<const Bytef*>(bytes.data() + at), step);
    });
    if (checksum != info.crc) FailTensorFile(name, kWrongChecksum);
    return {bytes, file};
  }

  NpyBytes Unpack(const unz_file_info64& info, const std::string& name) const {
    if (info.uncompressed_size / kMostGrowth > info.compressed_size) {
      FailTensorFile(name, "claims to be larger than its compressed bytes can make");
    }
    const size_t size = info.uncompressed_size;
    const auto spool = std::make_shared<Spool>(size);
    const Work work("reading " + name, static_cast<int64_t>(size));
    std::vector<std::byte> part;
    ForEachStep(size, [&](size_t, size_t step) {
      part.resize(step);
      const int got = unzReadCurrentFile(file_.get(), part.data(), static_cast<unsigned>(step));
      if (got < 0 || static_cast<size_t>(got) != step) FailTensorFile(name, "is damaged");
      spool->Append(part);
    });
    // It is there that the checksum is looked at.
    if (unzCloseCurrentFile(file_.get()) != UNZ_OK) FailTensorFile(name, kWrongChecksum);
    return {spool->bytes(), spool};
  }

  std::string path_;
  std::unique_ptr<void, Close> file_;
};

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

std::string FileOf(const std::string& path) {
  const auto array = ParseNpzPath(path);
  return array ? array->archive : path;
}

NpyBytes OpenNpzArray(const NpzArray& array) {
  Archive archive(array.archive);
  if (!archive.Find(array.name + ".npy") && !archive.Find(array.name)) {
    FailTensorFile(array.archive, fmt::format("has no array '{}'; it has {}", array.name,
                                              NpzNames(array.archive)));
  }
  return archive.Read(array.archive + ":" + array.name);
}

std::vector<std::string> ArraysOf(const std::string& archive) {
  std::vector<std::string> names;
  Archive(archive).ForEach([&](std::string name) {
    constexpr std::string_view kArray = ".npy";
    if (!name.ends_with(kArray) || name == kArray) return;
    name.resize(name.size() - kArray.size());
    names.push_back(std::move(name));
  });
  return names;
}

std::string NpzNames(const std::string& archive) {
  constexpr size_t kMostListed = 8;
  const std::vector<std::string> names = ArraysOf(archive);
  if (names.empty()) return "none";
  const std::span listed = std::span(names).first(std::min(names.size(), kMostListed));
  return fmt::format("{}{}", fmt::join(listed, ", "), listed.size() < names.size() ? ", ..." : "");
}

}  // namespace dmlop
