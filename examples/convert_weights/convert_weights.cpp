// Reorders the q and k weights of a model from one pairing to the other, in safetensors files.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "convert.hpp"
#include "staging.hpp"

namespace {

extern "C" void note_interrupt(int signal_number) {
  convert_weights::interrupted_by = signal_number;
}

/// A mapped file that another program cuts short answers reads with this signal.
extern "C" void end_at_bus_error(int) {
  constexpr char message[] = "convert_weights: a file became shorter while it was read\n";
  if (::write(STDERR_FILENO, message, sizeof message - 1) < 0) {
    ::_exit(2);
  }
  ::_exit(1);
}

void handle_signals() {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    std::signal(signal_number, note_interrupt);
  }
  std::signal(SIGBUS, end_at_bus_error);
  std::signal(SIGXFSZ, SIG_IGN);  // then write() fails with a reason to show
}

}  // namespace

int main(int argument_count, char* arguments[]) {
  using namespace convert_weights;
  handle_signals();
  try {
    const std::vector<std::string> words(arguments + std::min(argument_count, 1),
                                         arguments + argument_count);
    if (words == std::vector<std::string>{"--help"}) {
      std::fputs(usage, stdout);
      return 0;
    }
    const Request request = parse(words);
    const Summary done = convert(request);
    std::printf("%s: reordered %lld tensors of q and %lld of k, copied %lld, in %lld %s\n",
                request.target.c_str(), static_cast<long long>(done.q),
                static_cast<long long>(done.k),
                static_cast<long long>(done.tensors - done.q - done.k),
                static_cast<long long>(done.files), done.files == 1 ? "file" : "files");
    return 0;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "convert_weights: %s\n\n%s", error.what(), usage);
    return 2;
  } catch (const Interrupted&) {
    // All is cleared away; the caller shall see what ended the program.
    std::signal(interrupted_by, SIG_DFL);
    std::raise(interrupted_by);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "convert_weights: not enough memory\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "convert_weights: %s\n", error.what());
  }
  return 1;
}
