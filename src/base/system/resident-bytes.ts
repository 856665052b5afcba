/**
 * The memory that this process has resident. It is read from /proc, which a chroot or a hardened container may lack (with
 * musl; with glibc Bun itself does not start there). The kernel still reports the peak then.
 */
export function residentBytes(): number {
  try {
    return process.memoryUsage.rss();
  } catch {
    return process.resourceUsage().maxRSS * 1024;
  }
}
