// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// What the file of the program says of itself: it is built so that faults of memory end it rather than serve somebody.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "cli/process.hpp"

namespace quietvox::test {
namespace {

class ProgramFile : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::string(QUIETVOX_SANITIZE).empty()) GTEST_SKIP() << "built with a sanitizer instead";
    bytes_ = read_file(QUIETVOX_BINARY_DIR "/bin/quietvox");
    ASSERT_GT(bytes_.size(), sizeof(Elf64_Ehdr));
    std::memcpy(&header_, bytes_.data(), sizeof header_);
    ASSERT_EQ(std::memcmp(header_.e_ident, ELFMAG, SELFMAG), 0);
    ASSERT_EQ(header_.e_ident[EI_CLASS], ELFCLASS64);
    segments_ = table<Elf64_Phdr>(header_.e_phoff, header_.e_phnum);
  }

  template <class Entry>
  std::vector<Entry> table(std::size_t offset, std::size_t count) const {
    std::vector<Entry> entries(count);
    std::memcpy(entries.data(), bytes_.data() + offset, count * sizeof(Entry));
    return entries;
  }
  const Elf64_Phdr* segment(Elf64_Word type) const {
    for (const Elf64_Phdr& each : segments_) {
      if (each.p_type == type) return &each;
    }
    return nullptr;
  }
  Elf64_Xword dynamic(Elf64_Sxword tag) const {
    const Elf64_Phdr* const found = segment(PT_DYNAMIC);
    if (!found) return 0;
    for (const Elf64_Dyn& each : table<Elf64_Dyn>(found->p_offset, found->p_filesz / sizeof(Elf64_Dyn))) {
      if (each.d_tag == tag) return each.d_un.d_val;
    }
    return 0;
  }
  /// A name of the table of symbols that the program asks its libraries for.
  bool uses(const std::string& name) const { return bytes_.find('\0' + name + '\0') != std::string::npos; }

  std::string bytes_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
};

TEST_F(ProgramFile, LiesAnywhereInMemory) {
  EXPECT_EQ(header_.e_type, ET_DYN);
  EXPECT_TRUE(dynamic(DT_FLAGS_1) & DF_1_PIE);
}

TEST_F(ProgramFile, HasRelocationsThatAreReadOnlyAndBoundAtTheStart) {
  EXPECT_TRUE(segment(PT_GNU_RELRO));
  EXPECT_TRUE((dynamic(DT_FLAGS) & DF_BIND_NOW) || (dynamic(DT_FLAGS_1) & DF_1_NOW));
}

TEST_F(ProgramFile, HasNoMemoryThatIsBothWrittenAndRun) {
  const Elf64_Phdr* const stack = segment(PT_GNU_STACK);
  ASSERT_TRUE(stack);
  EXPECT_FALSE(stack->p_flags & PF_X);
  for (const Elf64_Phdr& each : segments_) {
    EXPECT_FALSE(each.p_type == PT_LOAD && (each.p_flags & PF_W) && (each.p_flags & PF_X));
  }
}

TEST_F(ProgramFile, ChecksItsStackItsCopiesAndItsContainers) {
  EXPECT_TRUE(uses("__stack_chk_fail"));
  EXPECT_TRUE(uses("__memcpy_chk") || uses("__snprintf_chk") || uses("__vsnprintf_chk") || uses("__fprintf_chk"));
  EXPECT_TRUE(uses("_ZSt21__glibcxx_assert_failPKciS0_S0_"));
}

}  // namespace
}  // namespace quietvox::test
