#pragma once
// The built-in subjects: primitives as small models, blocks, and whole models. All seeded, any N.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "presets/zoo/builder.h"

namespace wide::zoo {

/// One size of a subject: its default and the values it may have.
struct Size {
  std::int64_t value;
  std::int64_t least = 1, most = std::int64_t{1} << 40;
  Size(std::int64_t otherwise) : value(otherwise) {}  // NOLINT: {"batch", 8} reads as it is meant
  Size(std::int64_t otherwise, std::int64_t from, std::int64_t to)
      : value(otherwise), least(from), most(to) {}
};
/// A size that is 0 or 1.
inline Size flag(bool on) {
  return {on, 0, 1};
}

/// Named sizes of a subject; every size has a default.
class Sizes {
 public:
  Sizes(std::string subject, std::map<std::string, Size> defaults)
      : subject_(std::move(subject)), sizes_(std::move(defaults)) {}
  /// Throws wide::Error ("preset") for a name the subject does not have, or a size out of its range.
  void set(const std::string& name, std::int64_t size);
  std::int64_t operator[](const std::string& name) const { return sizes_.at(name).value; }
  bool on(const std::string& name) const { return sizes_.at(name).value != 0; }
  /// Throws wide::Error ("preset") unless size `name` is a multiple of `times` x size `of`.
  void must_be_multiple(const std::string& name, const std::string& of, std::int64_t times = 1) const;
  /// The same for a number.
  void must_be_multiple(const std::string& name, std::int64_t unit) const;

 private:
  [[noreturn]] void fail_multiple(const std::string& name, const std::string& unit) const;
  std::string subject_;
  std::map<std::string, Size> sizes_;
};

/// [batch, channels, length], […, height, width] or […, depth, height, width] for 1, 2 or 3 `axes`.
std::vector<std::int64_t> feature_map(const Sizes& sizes, int axes);

struct Subject {
  std::string name;
  std::string kind;                   ///< "primitive", "block" or "zoo"
  std::string summary;                ///< one line
  std::map<std::string, Size> sizes;  ///< names and defaults
  Architecture (*build)(const Sizes& sizes);
};

/// Primitives, then blocks, then models, each by name.
const std::vector<Subject>& subjects();
/// Throws wide::Error ("preset") naming the subjects when there is none of that name.
const Subject& find_subject(const std::string& name);
/// The subject in the sizes given; the others keep their defaults.
Architecture build(const std::string& subject, const std::map<std::string, std::int64_t>& sizes = {});

/// What there is to measure beside "auto" under StrategyChoice::all: for a subject of one primitive its
/// strategies and "sequential", from the registry of primitives; for others "wide" (whatever is not
/// sequential) and "sequential".
std::vector<std::string> strategies(const Subject& subject);

/// The parts of subjects(), one of each file in subjects/; the build writes this function.
std::vector<std::vector<Subject>> families();

}  // namespace wide::zoo
