#include "formats/packed.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "formats/fault.h"
#include "formats/file.h"
#include "formats/json.h"
#include "formats/safetensors_header.h"

namespace wide::formats {
namespace {

// Keys of __metadata__; README.md says what stands there.
constexpr const char* kVersionKey = "widebench.packed";
constexpr const char* kMembersKey = "widebench.members";
constexpr const char* kOnceKey = "widebench.once";
constexpr const char* kHeadersKey = "widebench.headers";
constexpr const char* kVersion = "1";
constexpr std::size_t kMostMembers = 65'536;  // of a file: a line of text could claim any number
constexpr JsonLimits kMetadataLimits{.bytes = kLongestSafetensorsHeader, .depth = 8};

using Metadata = std::map<std::string, std::string>;

std::string describe(const SafetensorsEntry& entry) {
  std::string text(name(entry.dtype));
  text += '[';
  for (std::size_t i = 0; i < entry.shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(entry.shape[i]);
  return text + ']';
}

[[noreturn]] void refuse(const PackMember& member, const std::string& what) {
  throw Error("pack", member.place + ": " + what + "; pack checkpoints of one architecture");
}

void check_same(const PackMember& member, const PackMember& first) {
  auto a = member.entries.begin();
  auto b = first.entries.begin();
  while (a != member.entries.end() || b != first.entries.end()) {
    if (b == first.entries.end() || (a != member.entries.end() && a->name < b->name))
      refuse(member, "has " + quote(a->name) + ", which " + first.place + " lacks");
    if (a == member.entries.end() || b->name < a->name)
      refuse(member, "lacks " + quote(b->name) + ", which " + first.place + " has");
    if (a->dtype != b->dtype || a->shape != b->shape)
      refuse(member, "tensor " + quote(a->name) + " is " + describe(*a) + ", in " + first.place + " it is " +
                         describe(*b));
    ++a, ++b;
  }
}

void check_members(std::span<const PackMember> members) {
  if (members.empty()) throw Error("pack", "no checkpoint given; name one for each member");
  if (members.size() > kMostMembers)
    throw Error("pack", "more than 65536 members; pack them into several files");
  std::map<std::string_view, const PackMember*> seen;
  for (const auto& member : members) {
    if (const auto objection = objection_to_member_name(member.name); !objection.empty())
      throw Error("pack", member.place + ": its name makes a member of the name " + quote(member.name) +
                              ", which " + objection + "; rename the file");
    const auto [place, is_new] = seen.emplace(member.name, &member);
    if (!is_new)
      throw Error("pack", member.place + ": " + place->second->place + " gives the member name " +
                              quote(member.name) + " too; rename one of them");
    check_same(member, members.front());
  }
}

bool all_alike(std::span<const PackMember> members, std::size_t k) {
  const auto first = members.front().entries[k].bytes;
  return std::all_of(members.begin() + 1, members.end(), [&](const PackMember& member) {
    const auto bytes = member.entries[k].bytes;
    return bytes.size() == first.size() &&
           (first.empty() || std::memcmp(bytes.data(), first.data(), first.size()) == 0);
  });
}

Metadata metadata_of(std::span<const PackMember> members, const std::vector<std::string>& once) {
  auto list = nlohmann::json::array();
  std::map<std::string_view, std::size_t> places;
  auto headers = nlohmann::json::array();
  for (const auto& member : members) {
    nlohmann::json one{{"name", member.name}};
    try {
      (void)one.dump();
    } catch (const nlohmann::json::type_error&) {
      throw Error("pack", quote(member.name) + ": the name of a member is not valid UTF-8; rename its file");
    }
    if (!member.header.empty()) {
      const auto [place, is_new] = places.emplace(member.header, headers.size());
      if (is_new) headers.push_back(member.header);
      one["header"] = place->second;
    }
    list.push_back(std::move(one));
  }
  return {{kVersionKey, kVersion},
          {kMembersKey, list.dump()},
          {kOnceKey, nlohmann::json(once).dump()},
          {kHeadersKey, headers.dump()}};
}

const std::string* metadata_value(const Metadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? nullptr : &found->second;
}

Json list_at(const Metadata& metadata, const char* key) {
  const auto* text = metadata_value(metadata, key);
  if (!text) throw Fault(std::string("__metadata__ lacks '") + key + "'; pack the members again");
  return within([&] { return std::string("__metadata__: '") + key + "'"; },
                [&] {
                  Json json = parse_json(*text, kMetadataLimits);
                  (void)as_array(json, "it");
                  return json;
                });
}

struct NamedMember {
  std::string name;
  std::optional<std::uint64_t> header;
};

std::vector<NamedMember> members_in(const Metadata& metadata) {
  if (*metadata_value(metadata, kVersionKey) != kVersion)
    throw Fault("is packed in version " + quote(*metadata_value(metadata, kVersionKey)) +
                ", this program knows version 1; use a newer widebench");
  const auto json = list_at(metadata, kMembersKey);
  std::vector<NamedMember> members;
  std::set<std::string> seen;
  for (const auto& one : as_array(json, "members")) {
    auto name = as_text(member(one, "name"), "a member's name");
    if (const auto objection = objection_to_member_name(name); !objection.empty())
      throw Fault("the member " + quote(name) + " " + objection + "; pack the members again");
    if (!seen.insert(name).second)
      throw Fault("the member " + quote(name) + " stands twice; pack the members again");
    const auto* header = optional_member(one, "header");
    members.push_back(
        {std::move(name), header ? std::optional(as_natural(*header, "header")) : std::nullopt});
  }
  if (members.empty()) throw Fault("is packed and has no member; pack the members again");
  if (members.size() > kMostMembers)
    throw Fault("has " + std::to_string(members.size()) + " members, beyond the limit of 65536");
  return members;
}

/// The shape of a stacked tensor without its axis of members.
SafetensorsEntry member_of(const SafetensorsEntry& stacked, std::size_t i, std::size_t count) {
  const std::size_t size = stacked.bytes.size() / count;
  return {stacked.name,
          stacked.dtype,
          {stacked.shape.begin() + 1, stacked.shape.end()},
          stacked.bytes.subspan(i * size, size)};
}

/// A member's header must say what its tensors are: it is written out with them.
void check_header(std::string_view header, std::span<const SafetensorsEntry> entries) {
  std::uint64_t bytes = 0;
  for (const auto& entry : entries) bytes += entry.bytes.size();
  auto placed = parse_safetensors_header(header, bytes).placed;
  std::ranges::sort(placed, {}, [](const PlacedEntry& one) -> const std::string& { return one.entry.name; });
  const bool same = std::ranges::equal(placed, entries, [](const PlacedEntry& a, const SafetensorsEntry& b) {
    return a.entry.name == b.name && a.entry.dtype == b.dtype && a.entry.shape == b.shape;
  });
  if (!same) throw Fault("it names other tensors than the file holds");
}

}  // namespace

std::string objection_to_member_name(std::string_view name) {
  if (name.empty()) return "is empty";
  if (std::ranges::any_of(name, [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; }))
    return "has control characters";
  for (std::size_t begin = 0; begin <= name.size();) {
    const auto end = std::min(name.find('/', begin), name.size());
    const auto part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return "is no path below a folder";
    begin = end + 1;
  }
  return "";
}

PackSummary write_packed(const std::filesystem::path& path, std::span<const PackMember> members,
                         const PackOptions& options) {
  check_members(members);
  const auto count = static_cast<std::int64_t>(members.size());
  PackSummary summary;
  std::vector<SafetensorsPieces> tensors;
  std::vector<std::string> once;
  for (std::size_t k = 0; k < members.front().entries.size(); ++k) {
    const auto& first = members.front().entries[k];
    auto& tensor = tensors.emplace_back(first.name, first.dtype, first.shape, std::vector{first.bytes});
    summary.bytes_apart += first.bytes.size() * members.size();
    if (count > 1 && !options.stack_all && all_alike(members, k)) {
      once.push_back(first.name);
      summary.bytes += first.bytes.size();
      continue;
    }
    tensor.shape.insert(tensor.shape.begin(), count);
    for (const auto& member : members.subspan(1)) tensor.pieces.push_back(member.entries[k].bytes);
    summary.bytes += first.bytes.size() * members.size();
  }
  summary.once = once.size(), summary.stacked = tensors.size() - once.size();
  write_safetensors(path, tensors, metadata_of(members, once));
  return summary;
}

std::optional<Packed> Packed::of(Safetensors file, std::string_view place) {
  if (!metadata_value(file.metadata(), kVersionKey)) return {};
  return naming_file("load", place, [&] { return std::optional(Packed(std::move(file), place)); });
}

Packed::Packed(Safetensors file, std::string_view place) : file_(std::move(file)), place_(place) {
  const auto members = members_in(file_.metadata());
  const auto count = static_cast<std::int64_t>(members.size());
  std::set<std::string> once;
  const auto once_json = list_at(file_.metadata(), kOnceKey),
             headers = list_at(file_.metadata(), kHeadersKey);
  for (const auto& name : as_array(once_json, "once")) once.insert(as_text(name, "a tensor's name"));
  for (const auto& header : as_array(headers, "headers")) headers_.push_back(as_text(header, "a header"));
  for (const auto& name : once) {
    if (!file_.find(name))
      throw Fault("lacks the tensor " + quote(name) + " that all members have; pack the members again");
  }
  for (const auto& entry : file_.entries()) {
    once_.push_back(once.contains(entry.name));
    if (!once_.back() && (entry.shape.empty() || entry.shape.front() != count))
      throw Fault("tensor " + quote(entry.name) + " is " + describe(entry) + " where " +
                  std::to_string(count) + " members are stacked; pack the members again");
  }
  for (const auto& one : members) {
    if (one.header && *one.header >= headers_.size())
      throw Fault("the member " + quote(one.name) + " lacks its header; pack the members again");
    names_.push_back(one.name), header_of_.push_back(one.header);
  }
  const auto entries = member(0).entries;
  for (const auto& header : headers_)
    within([] { return "the header of a member"; }, [&] { check_header(header, entries); });
}

PackMember Packed::member(std::size_t i) const {
  PackMember result{names_.at(i), place_ + ", member " + quote(names_.at(i)), {}, {}};
  for (std::size_t k = 0; k < once_.size(); ++k) {
    const auto& entry = file_.entries()[k];
    result.entries.push_back(once_[k] ? entry : member_of(entry, i, names_.size()));
  }
  if (header_of_[i]) result.header = headers_[*header_of_[i]];
  return result;
}

void Packed::write_member(std::size_t i, const std::filesystem::path& path) const {
  const auto one = member(i);
  if (one.header.empty()) return write_safetensors(path, one.entries);
  naming_file("write", display_name(path), [&] {
    std::uint64_t bytes = 0;
    for (const auto& entry : one.entries) bytes += entry.bytes.size();
    std::array<std::byte, 8> length;
    for (std::size_t k = 0; k < 8; ++k) length[k] = static_cast<std::byte>(one.header.size() >> (8 * k));
    std::vector<std::span<const std::byte>> parts = {length, std::as_bytes(std::span(one.header))};
    for (const auto& placed : parse_safetensors_header(one.header, bytes).placed)
      parts.push_back(
          std::ranges::lower_bound(one.entries, placed.entry.name, {}, &SafetensorsEntry::name)->bytes);
    replace_file(path, parts);
  });
}

std::optional<std::vector<std::string>> packed_members(const std::filesystem::path& path) {
  Metadata metadata;
  try {
    metadata = Safetensors::read_metadata(path);
  } catch (const Error&) {
    return {};  // it is of another format, or whoever loads it says what is wrong
  }
  if (!metadata_value(metadata, kVersionKey)) return {};
  return naming_file("load", display_name(path), [&] {
    std::vector<std::string> names;
    for (auto& one : members_in(metadata)) names.push_back(std::move(one.name));
    return std::optional(std::move(names));
  });
}

}  // namespace wide::formats
