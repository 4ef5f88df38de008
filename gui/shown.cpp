#include "gui/shown.h"

#include <imgui.h>

#include <algorithm>
#include <string_view>
#include <type_traits>

namespace wide::gui {
namespace {

class Hash {
 public:
  void add(const void* bytes, std::size_t size) {
    const auto one = std::hash<std::string_view>()({static_cast<const char*>(bytes), size});
    value_ ^= one + 0x9e3779b97f4a7c15 + (value_ << 6) + (value_ >> 2);  // as boost::hash_combine
  }
  template <typename Number>
  void add(const Number& number) {
    static_assert(std::has_unique_object_representations_v<Number> || std::is_same_v<Number, ImVec2> ||
                  std::is_same_v<Number, ImVec4>);
    add(&number, sizeof number);
  }
  std::size_t value() const { return value_; }

 private:
  std::size_t value_ = 1;
};

// Letters that were drawn just now, say, or what draws by itself, as the export of a picture.
bool does_more(const ImDrawData& picture) {
  const auto changes = [](const ImTextureData* texture) { return texture->Status != ImTextureStatus_OK; };
  const auto calls = [](const ImDrawCmd& command) { return command.UserCallback != nullptr; };
  return (picture.Textures != nullptr &&
          std::any_of(picture.Textures->begin(), picture.Textures->end(), changes)) ||
         std::any_of(picture.CmdLists.begin(), picture.CmdLists.end(), [&](const ImDrawList* list) {
           return std::any_of(list->CmdBuffer.begin(), list->CmdBuffer.end(), calls);
         });
}

}  // namespace

bool Shown::differs(const ImDrawData& picture) {
  if (does_more(picture)) {
    forget();
    return true;
  }
  Hash hash;
  hash.add(picture.DisplayPos);
  hash.add(picture.DisplaySize);
  hash.add(picture.FramebufferScale);
  for (const auto* list : picture.CmdLists) {
    for (const auto& command : list->CmdBuffer) {
      hash.add(command.ClipRect);
      hash.add(command.GetTexID());
      hash.add(command.VtxOffset);
      hash.add(command.IdxOffset);
      hash.add(command.ElemCount);
    }
    hash.add(list->VtxBuffer.Data, static_cast<std::size_t>(list->VtxBuffer.size_in_bytes()));
    hash.add(list->IdxBuffer.Data, static_cast<std::size_t>(list->IdxBuffer.size_in_bytes()));
  }
  const bool new_one = hash.value() != hash_;
  hash_ = hash.value();
  return new_one;
}

}  // namespace wide::gui
