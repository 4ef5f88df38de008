#pragma once
// The built-in subjects: small models, and primitives as models of one operation. All seeded, any N.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "presets/zoo/builder.h"

namespace wide::zoo {

/// Named sizes of a subject; every size has a default.
class Sizes {
 public:
  Sizes(std::string subject, std::map<std::string, std::int64_t> defaults)
      : subject_(std::move(subject)), sizes_(std::move(defaults)) {}
  /// Throws wide::Error ("preset") for a name the subject does not have, or a size below 1.
  void set(const std::string& name, std::int64_t size);
  std::int64_t operator[](const std::string& name) const { return sizes_.at(name); }

 private:
  std::string subject_;
  std::map<std::string, std::int64_t> sizes_;
};

struct Subject {
  std::string name;
  std::string kind;                           ///< "zoo" or "primitive"
  std::string summary;                        ///< one line
  std::map<std::string, std::int64_t> sizes;  ///< names and defaults
  Architecture (*build)(const Sizes& sizes);
};

const std::vector<Subject>& subjects();
/// Throws wide::Error ("preset") naming the subjects when there is none of that name.
const Subject& find_subject(const std::string& name);
/// The subject in the sizes given; the others keep their defaults.
Architecture build(const std::string& subject, const std::map<std::string, std::int64_t>& sizes = {});

/// The parts of subjects().
std::vector<Subject> models();
std::vector<Subject> primitive_subjects();

}  // namespace wide::zoo
