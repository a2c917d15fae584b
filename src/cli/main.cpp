// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/help.hpp"
#include "cli/json.hpp"
#include "cli/manual.hpp"
#include "cli/parsing/arguments.hpp"
#include "cli/signals.hpp"
#include "core/provenance.hpp"
#include "io/output/staging_folder.hpp"
#include "workflow/input_output.hpp"

namespace quietvox::cli {
namespace {

/// Lets slices and files reuse the memory of those before them. By default glibc gives blocks of their size back to the
/// system each time; fresh pages would cost as much time as the filter.
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
}

/// Opens the standard streams that the caller closed, so that no file gets their numbers and with them what is printed.
/// Input is opened for writing, output for reading: a result that cannot be printed is still an error.
void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    [[maybe_unused]] const int opened = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

/// Asks the driver for one hardware queue instead of eight: it starts in half the time, and a run gives a GPU one chain
/// at a time. Users may set the variable to something else.
void ask_for_one_gpu_queue() { setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 0); }

void run_command_line(std::vector<std::string> words, Context& context) {
  if (!words.empty() && words[0] == series_worker_word) {
    context.is_worker = true;
    words.erase(words.begin());
  }
  if (words.empty()) throw Error(Errc::invalid_argument, "no command was given", "see 'quietvox --help'");
  if (words[0] == "--version") {
    std::cout << "quietvox " << version() << "\n";
    return;
  }
  if (words[0] == "--man-page" || words[0] == "--bash-completion") {
    std::cout << (words[0] == "--man-page" ? man_page() : bash_completion());
    return;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    std::cout << (words.size() > 1 ? command_help(find_command(words[1])) : program_help());
    return;
  }
  const Command& command = find_command(words[0]);
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (asks_for(rest, "--help") || asks_for(rest, "-h")) {
    std::cout << command_help(command);
    return;
  }
  if (asks_for(rest, "--version")) {
    std::cout << "quietvox " << version() << "\n";
    return;
  }
  const Arguments arguments(command.name, command.groups, command.operands, rest);
  const auto report = arguments.params<ReportOptions>();
  std::vector<std::string> files = arguments.operands();
  for (const char* option : {"mask", "residual", "picture", "map"}) {
    for (const std::string& file : arguments.values(option)) files.push_back(file);
  }
  context.console.configure(report,
                            report.log_file.empty() ? std::vector<std::filesystem::path>() : all_files_of(files));
  context.json = report.json;
  context.words = words;
  if (!command.operands.empty() && command.operands[0].name == "INPUT") context.console.about(arguments.operand(0));
  command.run(arguments, context);
}

/// Whether the reader of our output, such as `head`, has closed it: that is no fault, and nothing is said.
bool reader_is_gone() {
  pollfd out{STDOUT_FILENO, 0, 0};
  return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

/// Prints an error in one line, and as JSON on stdout if that was asked for; returns its exit status.
int fail(const Error& error, int status, const Context& context) {
  claim_the_end();
  context.console.error(error.message());
  if (context.json && !context.is_worker) print_failure(context.results.get(), error, status);
  return status;
}

int fail(const std::exception& exception, const Context& context) {
  const Error error = as_error(exception);
  const int status = fail(error, exit_code(error.code()), context);
  context.console.causes(exception);
  return status;
}

/// Runs the command line and turns what it throws into one line and an exit status.
int guarded(const std::vector<std::string>& words, Context& context, const SignalWatch& signals) {
  try {
    run_command_line(words, context);
    claim_the_end();
    std::cout.flush();
    if (std::cout) return exit_done;
    if (reader_is_gone()) return exit_signal + SIGPIPE;
    context.console.error("stdout: the result could not be written");
    return exit_unclassified;
  } catch (const std::exception& exception) {
    if (as_error(exception).code() == Errc::cancelled && signals.received() != 0) {
      return fail({Errc::cancelled, "stopped by a signal; nothing was left half written"},
                  exit_signal + signals.received(), context);
    }
    return fail(exception, context);
  } catch (...) {
    return fail({Errc::internal, "internal error of an unknown kind; please report it"}, exit_internal, context);
  }
}

std::atomic<const Context*> context_of_run = nullptr;

/// Ends the run after an exception that nobody can catch. oneTBB throws one on its own threads when the system gives no
/// more threads. One line, JSON if it was asked for, and an exit status, as for all else.
[[noreturn]] void end_uncaught() {
  Error error(Errc::internal, "internal error of an unknown kind; please report it");
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::exception& exception) {
    error = as_error(exception);
  } catch (...) {
  }
  // Outputs are being put in place: the thread that does it goes on, unless it is this one.
  if (!io::abandon_stagings()) {
    constexpr unsigned longest = 30;
    await_the_end(longest);
  }
  claim_the_end();
  const int status = exit_code(error.code());
  say_without_waiting("quietvox: " + one_line(error.what()) + "\n");
  if (const Context* const context = context_of_run; context && context->json && !context->is_worker) {
    print_json({{"error", error_json(error, status)}});
    std::cout.flush();
  }
  _exit(status);
}

}  // namespace
}  // namespace quietvox::cli

int main(int argc, char** argv) {
  using namespace quietvox::cli;
  open_standard_streams();
  keep_freed_memory();
  ask_for_one_gpu_queue();
  std::cerr.rdbuf(nullptr);  // ITK writes to it; our own messages go through the console
  std::set_terminate(end_uncaught);
  int status = 0, signal = 0;
  {
    Console console;
    Context context{console, {}};
    const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    context.json = asks_for(words, "--json");
    context_of_run = &context;
    std::optional<SignalWatch> signals;
    try {
      signals.emplace();
    } catch (const std::exception& exception) {  // there is no thread for it
      status = fail(exception, context);
    }
    if (signals) {
      context.stop = signals->stop();
      status = guarded(words, context, *signals);
      signal = signals->received();
    }
    signals.reset();
    context_of_run = nullptr;
  }
  std::cout.flush();
  // oneTBB that got no thread may not end in order.
  if (status == exit_out_of_memory || somebody_awaits_the_end()) _exit(status);
  if (signal != 0 && status == exit_signal + signal) die_of(signal);
  return status;
}
