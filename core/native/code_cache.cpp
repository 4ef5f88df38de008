#include "core/native/code_cache.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "core/native/private_folder.h"
#include "formats/sha256.h"

namespace wide::native {
namespace {

using Bytes = std::vector<std::byte>;

// Part of every key: another means another way to call code, or to write files.
constexpr std::string_view kVersion = "widebench code 1";
constexpr std::size_t kDigits = 64, kMostLoaded = 512;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// A file is the digest of key and object, and the object.
std::string digest_of(const std::string& key, std::span<const std::byte> object) {
  return formats::Sha256().add(bytes_of(key)).add(object).hex();
}

std::optional<Bytes> object_in(const std::string& key, const Bytes& file) {
  if (file.size() <= kDigits) return std::nullopt;
  const std::span object(file.begin() + kDigits, file.end());
  const auto digest = digest_of(key, object);
  if (!std::ranges::equal(bytes_of(digest), std::span(file).first(kDigits))) return std::nullopt;
  return Bytes(object.begin(), object.end());
}

// All that is mapped of the library is there: the loader would not look, and the kernel end the process.
bool is_whole(std::span<const std::byte> object) {
  ElfW(Ehdr) header;
  if (object.size() < sizeof header) return false;
  std::memcpy(&header, object.data(), sizeof header);
  const bool is_library = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_DYN &&
                          header.e_phentsize == sizeof(ElfW(Phdr));
  if (!is_library || header.e_phoff > object.size()) return false;
  const auto room = (object.size() - header.e_phoff) / sizeof(ElfW(Phdr));
  if (header.e_phnum > room) return false;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) part;
    std::memcpy(&part, object.data() + header.e_phoff + i * sizeof part, sizeof part);
    if (part.p_type == PT_LOAD &&
        (part.p_offset > object.size() || part.p_filesz > object.size() - part.p_offset))
      return false;
  }
  return true;
}

// From memory that nothing can change any more: what was checked is what is loaded. The loader knows
// libraries by their paths, so that the memory stays open, and its number taken, as long as the library is
// loaded.
Code function_in(std::span<const std::byte> object, const char* name) {
  if (!is_whole(object)) return {nullptr, "what the compiler made cannot be loaded"};
  auto memory = std::make_shared<Descriptor>(sealed_memory(object));
  if (!memory->open()) return {nullptr, "no memory for code can be had"};
  const auto path = "/proc/self/fd/" + std::to_string(memory->get());
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {nullptr, "what the compiler made cannot be loaded"};
  const std::shared_ptr<void> owner(library, [memory](void* loaded) { ::dlclose(loaded); });
  void* const function = ::dlsym(library, name);
  if (function == nullptr) return {nullptr, "what the compiler made has no kernel in it"};
  return {std::shared_ptr<void>(owner, function), {}};
}

void add(formats::Sha256& digest, std::string_view part) {
  const auto size = std::to_string(part.size()) + ":";
  digest.add(bytes_of(size)).add(bytes_of(part));
}

void add(formats::Sha256& digest, const Source& source) {
  for (const auto& flag : compile_flags(source.level)) add(digest, flag);
  add(digest, source.text);
}

std::filesystem::path folder_of_this_user() {
  const char* cache = ::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::filesystem::path(cache) / "widebench/kernels";
  const char* home = ::getenv("HOME");
  if (home != nullptr && *home == '/') return std::filesystem::path(home) / ".cache/widebench/kernels";
  return {};
}

}  // namespace

CodeCache::CodeCache(std::filesystem::path folder, Compiler compiler, std::size_t most_bytes)
    : folder_(std::move(folder)), compiler_(std::move(compiler)), most_bytes_(most_bytes) {}

CodeCache& CodeCache::of_this_user() {
  static CodeCache cache(folder_of_this_user(), Compiler::of_this_machine());
  return cache;
}

std::string CodeCache::name_of(const Source& source) {
  formats::Sha256 digest;
  add(digest, kVersion);
  add(digest, source);
  return digest.hex();
}

std::string CodeCache::file_name(const Source& source) const {
  formats::Sha256 digest;
  add(digest, kVersion);
  add(digest, identity(compiler_));
  add(digest, source);
  return digest.hex();
}

Source CodeCache::planted(const Source& given) const {
  return fault_ ? Source{fault_(given.text), given.level} : given;
}

Code CodeCache::find(const Source& given, const char* name, bool may_compile) {
  const std::lock_guard lock(mutex_);
  const auto source = planted(given);
  const auto what = name_of(source);
  const auto known = known_.find(what + name);
  if (known != known_.end()) return known->second;
  const bool can_compile = !compiler_.program.empty();
  const auto key = can_compile ? file_name(source) : std::string();
  auto code = can_compile ? load(key, name) : Code{nullptr, compiler_.refusal};
  if (const auto lent = lent_.find(what); !code.function && lent != lent_.end())
    code = function_in(lent->second, name);
  if (!code.function) {
    if (!can_compile || !may_compile) return code;
    code = make(key, source, name);
  }
  if (known_.size() >= kMostLoaded) known_.clear();  // what is in use stays loaded
  return known_[what + name] = code;
}

std::optional<Bytes> CodeCache::object(const Source& given) {
  const std::lock_guard lock(mutex_);
  const auto source = planted(given);
  if (!compiler_.program.empty()) {
    if (auto object = read(file_name(source))) return object;
  }
  const auto lent = lent_.find(name_of(source));
  return lent == lent_.end() ? std::nullopt : std::optional(lent->second);
}

void CodeCache::lend(Objects objects) {
  const std::lock_guard lock(mutex_);
  lent_.merge(std::move(objects));
  std::erase_if(known_, [](const auto& one) { return !one.second.function; });
}

std::optional<Bytes> CodeCache::read(const std::string& key) {
  const auto folder = PrivateFolder::open(folder_, false);
  if (!folder.refusal().empty()) return std::nullopt;
  const auto file = folder.read(key);
  return file ? object_in(key, *file) : std::nullopt;
}

Code CodeCache::load(const std::string& key, const char* name) {
  const auto folder = PrivateFolder::open(folder_, false);
  if (!folder.refusal().empty()) return {nullptr, folder.refusal()};
  const auto file = folder.read(key);
  if (!file) return {nullptr, "not compiled yet"};
  if (const auto object = object_in(key, *file)) {
    auto code = function_in(*object, name);
    if (code.function) return code;
  }
  ++removed_;
  folder.remove(key);
  return {nullptr, "not compiled yet"};
}

Code CodeCache::make(const std::string& key, const Source& source, const char* name) {
  const auto folder = PrivateFolder::open(folder_, true);
  if (!folder.refusal().empty()) return {nullptr, folder.refusal()};
  const auto compiled = compile(compiler_, source, folder_);
  if (compiled.hung) compiler_ = {{}, compiled.refusal};
  if (!compiled.refusal.empty()) return {nullptr, compiled.refusal};
  auto code = function_in(compiled.object, name);
  if (!code.function) return code;
  const auto digest = digest_of(key, compiled.object);
  folder.write(key, {bytes_of(digest), compiled.object});  // else it is compiled again next time
  folder.trim(most_bytes_);
  return code;
}

}  // namespace wide::native
