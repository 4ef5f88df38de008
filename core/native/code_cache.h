#pragma once
// Compiled C text, loaded: from memory, from a private folder of files named by their content, or compiled.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/native/compiler.h"
#include "core/native/source.h"

namespace wide::native {

/// A function of loaded code, by its address; the code stays loaded as long as a copy of this lives.
struct Code {
  std::shared_ptr<void> function;
  std::string refusal;  ///< why there is none
};

/// Objects by name_of() what they were compiled from.
using Objects = std::map<std::string, std::vector<std::byte>>;

/// Safe to use from several threads, and from several processes on one folder. A file is loaded only from a
/// folder and of an owner that nobody else can write as, and if it is whole; what is not is removed and made
/// again. The oldest files go where the folder would grow beyond `most_bytes`.
class CodeCache {
 public:
  explicit CodeCache(std::filesystem::path folder, Compiler compiler, std::size_t most_bytes = 64 << 20);

  /// With this machine's compiler in $XDG_CACHE_HOME/widebench/kernels.
  static CodeCache& of_this_user();

  /// The function `name` of what `source` is compiled to. Where `may_compile` is false, or there is no
  /// compiler, only if it was compiled before or lent.
  Code find(const Source& source, const char* name, bool may_compile);

  /// What find() loads for it; nothing where it was neither compiled nor lent.
  std::optional<std::vector<std::byte>> object(const Source& source);
  /// Code that was compiled elsewhere, for what this folder has not. Whoever gives it must be trusted: it
  /// will run in this process.
  void lend(Objects objects);
  /// A digest of text and flags, whichever compiler was used.
  static std::string name_of(const Source& source);

  /// For tests: what is compiled in a text's place.
  void plant(std::function<std::string(std::string text)> fault) { fault_ = std::move(fault); }

  const std::filesystem::path& folder() const { return folder_; }
  const Compiler& compiler() const { return compiler_; }
  /// Files that were not what they should be, and are gone.
  int removed() const { return removed_; }

  /// The name of the file for a text: a digest of all that its code depends on.
  std::string file_name(const Source& source) const;

 private:
  Source planted(const Source& given) const;
  std::optional<std::vector<std::byte>> read(const std::string& key);
  Code load(const std::string& key, const char* name);
  Code make(const std::string& key, const Source& source, const char* name);

  std::filesystem::path folder_;
  Compiler compiler_;
  std::size_t most_bytes_;
  std::function<std::string(std::string)> fault_;
  std::mutex mutex_;
  std::map<std::string, Code> known_;  ///< what is loaded, and what failed: not tried again by this process
  Objects lent_;
  int removed_ = 0;
};

}  // namespace wide::native
