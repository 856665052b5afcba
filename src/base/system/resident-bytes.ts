/**
 * The memory that this process has resident. It is read from /proc, which a chroot or a hardened container may lack (with
 * musl; with glibc Bun itself does not start there). The kernel then still tells the peak.
 */
export function residentBytes(): number {
  try {
    return process.memoryUsage.rss();
  } catch {
    return process.resourceUsage().maxRSS * 1024;
  }
}
