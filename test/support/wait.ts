/**
 * Looks again and again until a condition holds. It fails with what was waited for, and never by a hung test. The timeout is no
 * measure of speed: on a machine that is busy with other things, starting a thread alone takes ten seconds.
 */
export async function waitFor(
  condition: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = 60_000,
): Promise<void> {
  const startedMs = performance.now();
  while (!(await condition())) {
    const waitedMs = performance.now() - startedMs;
    if (waitedMs > timeoutMs) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    // The longer it takes the less often, because each look takes time from what is waited for.
    await Bun.sleep(Math.min(5 + waitedMs / 10, 30));
  }
}
