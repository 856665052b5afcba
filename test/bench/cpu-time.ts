/** As much of a stream as a socket gives at a time. */
export const readBytes = 4096;

/** Microseconds of the processor's time for a run. Other processes of the machine do not count. */
export function timeOf(run: () => void, runs: number): number {
  const before = process.cpuUsage();
  for (let index = 0; index < runs; index += 1) run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / runs;
}
