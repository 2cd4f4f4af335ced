/* For LD_PRELOAD: a program that polls for events waits for them instead.
 *
 * MPI's ranks poll while they wait. With a core for each rank that costs nothing; when 16 ranks share two cores, polling ranks take the
 * time of the other ranks and of the kernel. After SPINS calls in a row without an event, poll and epoll_wait block until there is an
 * event, for at most MOST_NS: a rank may have other work than sockets.
 *
 *   cc -O2 -shared -fPIC -o patient.so patient.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <time.h>

enum { SPINS = 20, MOST_NS = 1000 * 1000 };

static int (*real_epoll_wait)(int, struct epoll_event *, int, int);
static int (*real_poll)(struct pollfd *, nfds_t, int);
static _Thread_local int in_vain;

__attribute__((constructor)) static void find(void) {
  *(void **)&real_epoll_wait = dlsym(RTLD_NEXT, "epoll_wait");
  *(void **)&real_poll = dlsym(RTLD_NEXT, "poll");
}

/* True if it is time to wait after a call that returned `events`. */
static int is_time_to_wait(int events, int timeout) {
  if (events != 0 || timeout != 0) {
    in_vain = 0;
    return 0;
  }
  return ++in_vain > SPINS;
}

static const struct timespec most = {0, MOST_NS};

int epoll_wait(int set, struct epoll_event *events, int room, int timeout) {
  int found = real_epoll_wait(set, events, room, timeout);
  if (!is_time_to_wait(found, timeout)) return found;
  found = epoll_pwait2(set, events, room, &most, NULL);
  if (found > 0) in_vain = 0;
  return found;
}

int poll(struct pollfd *sockets, nfds_t count, int timeout) {
  int found = real_poll(sockets, count, timeout);
  if (count == 0 || !is_time_to_wait(found, timeout)) return found;
  found = ppoll(sockets, count, &most, NULL);
  if (found > 0) in_vain = 0;
  return found;
}
