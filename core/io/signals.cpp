// SPDX-License-Identifier: Apache-2.0
#include "core/io/signals.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string_view>
#include <system_error>
#include <utility>

namespace dmlop {

namespace {

// Signals whose default action ends a process, except for faults of its own, which dump core, and
// signals that the program ignores.
constexpr int kEndings[] = {SIGHUP,  SIGINT,    SIGTERM, SIGQUIT, SIGUSR1,   SIGUSR2, SIGALRM,
                            SIGXCPU, SIGVTALRM, SIGPROF, SIGIO,   SIGSTKFLT, SIGPWR};

// Signals by which people and job managers ask a process to end.
constexpr int kRequests[] = {SIGHUP, SIGINT, SIGTERM};
constexpr int kWake = SIGURG;  // which nobody else sends
constexpr unsigned kMostSeconds = 10;

template <typename Visit>
void ForEachEnding(Visit&& visit) {
  for (const int signal : kEndings) visit(signal);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) visit(signal);
}

// Never destroyed, as a signal may come at any time.
SignalLists& Lists() {
  static SignalLists& lists = *new SignalLists;
  return lists;
}

const sigset_t& Endings() {
  static const sigset_t endings = [] {
    sigset_t set;
    sigemptyset(&set);
    ForEachEnding([&](int signal) { sigaddset(&set, signal); });
    return set;
  }();
  return endings;
}

// The threads that hold signals, for which a handler waits before it ends the process. It never
// waits for its own thread, where the signals are blocked meanwhile and no mapped file is touched.
std::atomic<int> holders = 0;
std::atomic<bool> is_ending = false;

[[noreturn]] void AwaitEnd() {
  while (true) pause();
}

void Hold() {
  ++holders;
  if (!is_ending) return;
  --holders;
  AwaitEnd();
}

// From now on no thread holds signals.
void BeginEnd() {
  pthread_sigmask(SIG_BLOCK, &Endings(), nullptr);  // not only a handler ends the process
  if (is_ending.exchange(true)) AwaitEnd();
  while (holders != 0) sched_yield();
}

thread_local int held_count = 0;
thread_local sigset_t mask_before;

// No function that a handler may call removes a tree.
void RemoveTree(const char* path) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/bin/rm", "rm", "-rf", "--", path, nullptr);
    _exit(1);
  }
  if (child > 0) waitpid(child, nullptr, 0);
}

void RemoveTemporaries() {
  for (const pid_t group : Lists().groups) kill(-group, SIGKILL);
  for (const std::string& path : Lists().temporaries) unlink(path.c_str());
  for (const std::string& path : Lists().trees) RemoveTree(path.c_str());
}

void Say(std::string_view text) {
  if (write(STDERR_FILENO, text.data(), text.size()) < 0) {
    // nobody to tell
  }
}

// The signal that asked the process to end while LastWords exist; 0 if there was none.
std::atomic<int> request = 0;

void End(int signal) {
  BeginEnd();
  RemoveTemporaries();
  if (request != 0) signal = request;
  ::signal(signal, SIG_DFL);
  raise(signal);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);  // delivers it now
}

int bus_exit_status = 0;

void EndByBus(int signal, siginfo_t* info, void*) {
  BeginEnd();
  const std::byte* address = static_cast<const std::byte*>(info->si_addr);
  for (const auto& range : Lists().ranges) {
    if (address < range.begin || address >= range.begin + range.size) continue;
    Say("dmlop: ");
    Say(range.name);
    Say(": became shorter while it was in use, or its disk failed\n");
    RemoveTemporaries();
    _exit(bus_exit_status);
  }
  ::signal(signal, SIG_DFL);  // repeating the access ends the process
}

}  // namespace

void HandleSignals(int bus_status) {
  bus_exit_status = bus_status;
  Lists();
  struct sigaction action = {};
  action.sa_handler = End;
  action.sa_mask = Endings();
  ForEachEnding([&](int signal) {
    struct sigaction before;
    sigaction(signal, nullptr, &before);
    // nohup ignores SIGHUP, and a preloaded profiler uses SIGPROF.
    if (before.sa_handler == SIG_DFL) sigaction(signal, &action, nullptr);
  });
  struct sigaction bus = {};
  bus.sa_sigaction = EndByBus;
  bus.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &bus, nullptr);
}

SignalsHeld::SignalsHeld() {
  if (held_count++ > 0) return;
  pthread_sigmask(SIG_BLOCK, &Endings(), &mask_before);
  Hold();
}

SignalsHeld::~SignalsHeld() {
  if (--held_count > 0) return;
  --holders;
  pthread_sigmask(SIG_SETMASK, &mask_before, nullptr);
}

LastWords::LastWords(std::function<void()> say) : say_(std::move(say)) {
  sigset_t requests = {};
  sigaddset(&requests, kWake);
  for (const int signal : kRequests) {
    struct sigaction action;
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&requests, signal);
  }
  pthread_sigmask(SIG_BLOCK, &requests, &mask_before_);
  try {
    waiting_ = std::thread([this, requests] { Await(requests); });
  } catch (const std::system_error&) {  // no thread is available
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  }
}

LastWords::~LastWords() {
  if (!waiting_.joinable()) return;
  pthread_kill(waiting_.native_handle(), kWake);
  waiting_.join();  // does not return once a signal has come
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void LastWords::Await(const sigset_t& requests) const {
  int signal = 0;
  sigwait(&requests, &signal);
  if (signal == kWake) return;
  request = signal;
  alarm(kMostSeconds);  // does not wait for a reader forever
  say_();
  End(signal);
}

namespace {

void Ask(int signal) {
  int none = 0;
  if (!request.compare_exchange_strong(none, signal)) End(signal);
}

// Changes the handler of the requests that are not ignored.
void HandleRequests(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_mask = Endings();
  for (const int signal : kRequests) {
    struct sigaction before;
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

}  // namespace

EndRequest::EndRequest() {
  HandleRequests(Ask);
}

EndRequest::~EndRequest() {
  HandleRequests(End);
  if (has_come()) End(request);
}

bool EndRequest::has_come() {
  return request != 0;
}

namespace {

// Holds the signals and keeps other threads from the lists, for as long as an entry takes.
class ListsHeld {
 public:
  ListsHeld() {
    while (is_held_.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  ListsHeld(const ListsHeld&) = delete;
  ListsHeld& operator=(const ListsHeld&) = delete;
  ~ListsHeld() { is_held_.clear(std::memory_order_release); }

 private:
  static inline std::atomic_flag is_held_ = ATOMIC_FLAG_INIT;

  SignalsHeld signals_;
};

}  // namespace

template <typename Entry, std::list<Entry> SignalLists::*kList>
ListedForSignals<Entry, kList>::ListedForSignals(Entry entry) {
  const ListsHeld held;
  std::list<Entry>& list = Lists().*kList;
  entry_ = list.insert(list.end(), std::move(entry));
}

template <typename Entry, std::list<Entry> SignalLists::*kList>
ListedForSignals<Entry, kList>::~ListedForSignals() {
  const ListsHeld held;
  (Lists().*kList).erase(entry_);
}

template class ListedForSignals<std::string, &SignalLists::temporaries>;
template class ListedForSignals<std::string, &SignalLists::trees>;
template class ListedForSignals<pid_t, &SignalLists::groups>;
template class ListedForSignals<MappedBytes, &SignalLists::ranges>;

}  // namespace dmlop
