/**
 * Looks again and again until a condition holds. It fails with what was waited for, and never by a hung test. The timeout is no
 * measure of speed: on a machine that is busy with other things, starting a thread alone takes ten seconds.
 */
export async function waitFor(
  condition: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = 60_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await Bun.sleep(5);
  }
}
