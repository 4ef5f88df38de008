// Notices: how they come, stay and go.
#include <imgui_internal.h>

#include <string>

#include "gui/bed.h"

namespace wide::test {
namespace {

using gui::Level;

void notices_stay_and_go(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().notices.post(Level::kError, "It did not work", "in this place; try that");
  bench().notices.post(Level::kInfo, "It worked");
  ctx->Yield(3);
  IM_CHECK_EQ(bench().notices.shown().size(), 2U);
  const auto ref = "//##notice" + std::to_string(bench().notices.shown().front().id);
  ctx->ItemClick((ref + "/\xef\x83\x85").c_str());
  IM_CHECK_STR_EQ(clipboard().c_str(), "It did not work\nin this place; try that");
  bench().notices.expire(1e9);
  IM_CHECK_EQ(bench().notices.shown().size(), 1U);  // the error stays
  ctx->Yield(3);
  ctx->ItemClick((ref + "/\xef\x80\x8d").c_str());
  IM_CHECK(bench().notices.shown().empty());
  IM_CHECK(bench().notices.log_text().find("It did not work: in this place; try that") != std::string::npos);
}

void warnings_go(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().notices.post(Level::kWarning, "This cannot be done now", "nothing is open");
  bench().notices.expire(1e9);
  IM_CHECK(bench().notices.shown().empty());
  IM_CHECK(bench().notices.log_text().find("nothing is open") != std::string::npos);
}

// Many errors do not bury the window: the newest few are shown, the log has them all.
void a_few_notices_are_shown(ImGuiTestContext* ctx) {
  fresh(ctx);
  for (int i = 0; i < 6; ++i)
    bench().notices.post(Level::kError, "Fault " + std::to_string(i), "in this place; try that");
  ctx->Yield(3);
  const auto& shown = bench().notices.shown();
  IM_CHECK_EQ(shown.size(), 6U);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const auto* window = ImGui::FindWindowByName(("##notice" + std::to_string(shown[i].id)).c_str());
    IM_CHECK_EQ(window != nullptr && window->WasActive, i >= 3);
  }
  picture(ctx, "notices");
  show(ctx, "graph");
  ctx->ItemClick("//##more_notices/###more_notices");
  ctx->Yield(3);
  IM_CHECK(!ctx->GetWindowByRef("//###Log")->Hidden);
}

void a_notice_ends_at_a_letter(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().notices.post(Level::kError, "Long", std::string(599, 'x') + "ä, and more");
  ctx->Yield(3);
  const auto text = drawn_text(ctx);
  IM_CHECK(text.find("x…") != std::string::npos);
  IM_CHECK(text.find("\xc3…") == std::string::npos);
}

void escape_dismisses_notices(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().notices.post(Level::kError, "It did not work");
  ctx->KeyPress(ImGuiKey_F1);
  ctx->Yield(3);
  ctx->KeyPress(ImGuiKey_Escape);  // closes the dialog
  ctx->Yield(3);
  IM_CHECK_EQ(bench().notices.shown().size(), 1U);
  ctx->KeyPress(ImGuiKey_Escape);
  ctx->Yield(3);
  IM_CHECK(bench().notices.shown().empty());
}

}  // namespace

void add_notices_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "notices", name)->TestFunc = test;
  };
  add("notices stay and go", notices_stay_and_go);
  add("warnings go", warnings_go);
  add("a few notices are shown", a_few_notices_are_shown);
  add("a notice ends at a letter", a_notice_ends_at_a_letter);
  add("escape dismisses notices", escape_dismisses_notices);
}

}  // namespace wide::test
