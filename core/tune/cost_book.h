#pragma once
// Measured costs, kept on disk between runs: what was timed once on this machine, when it was quiet, is not
// timed again.

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace wide {

/// What something took.
struct Cost {
  double nanoseconds = 0;
  /// Nothing else worked on the machine when it was timed. Of what is not quiet the worst is to be expected:
  /// threads that wait for each other take a thousand times as long when others hold the CPUs.
  bool quiet = true;
};

/// Costs by key. A key says everything that a time depends on but the machine; the machine is in the
/// file's name. Safe to use from several threads, and from several processes on one file.
class CostBook {
 public:
  /// Kept in memory only.
  CostBook() = default;
  /// Reads `file` if it is there; what cannot be read is left out, never an error: a cost is measured again.
  /// Where most lines were replaced by later ones, the file is written anew without them.
  explicit CostBook(std::filesystem::path file);

  std::optional<Cost> find(const std::string& key) const;
  /// In place of what was known. Appends to the file at once; a file that cannot be written is left alone.
  void add(const std::string& key, Cost cost);
  std::size_t size() const;
  const std::filesystem::path& file() const { return file_; }

  /// `$XDG_CACHE_HOME/widebench/costs/MACHINE.tsv`, the machine being processor, instruction set,
  /// libtorch and the sources of libwide: other kernels take other times. Empty where there is no home.
  static std::filesystem::path default_file();

 private:
  void rewrite() const;

  mutable std::mutex mutex_;
  std::filesystem::path file_;
  std::unordered_map<std::string, Cost> costs_;
};

/// 64-bit FNV-1a, the same in every build, unlike std::hash.
std::uint64_t fnv1a(std::string_view text);

}  // namespace wide
