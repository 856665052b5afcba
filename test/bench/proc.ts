import { readdirSync, readFileSync } from "node:fs";

/** What Linux knows about a process. */

/** The kernel's clock ticks of /proc, per second; the same on every Linux that Bun runs on. */
const ticksPerSecond = 100;

/** User and system time of all the process's threads. */
export function cpuMicros(pid: number): number {
  return microsIn(readFileSync(`/proc/${pid}/stat`, "latin1"));
}

/** The same of those threads in which Bun compiles JavaScript; 0 for programs that are not run by it. */
export function compilerMicros(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const stats = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/stat`, "latin1"));
  return stats.filter((stat) => stat.includes("(JITWorker")).reduce((sum, stat) => sum + microsIn(stat), 0);
}

function microsIn(stat: string): number {
  // The second field is the command's name in brackets, which may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[11]) + Number(fields[12]);
  return (ticks / ticksPerSecond) * 1e6;
}

/** The ticks of all processors since the machine started, and those that its host gave to other machines. */
export function processorTicks(): { readonly all: number; readonly stolen: number } {
  const line = /^cpu +(.*)$/m.exec(readFileSync("/proc/stat", "latin1"))?.[1] ?? "";
  // user, nice, system, idle, iowait, irq, softirq, steal
  const ticks = line.split(" ").slice(0, 8).map(Number);
  return { all: ticks.reduce((sum, each) => sum + each, 0), stolen: ticks[7] ?? 0 };
}

export function residentMegabytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
  return Number(kilobytes ?? 0) / 1024;
}

/** The processor's name, as far as the kernel tells it. */
export function processorName(): string {
  return /^model name\s*: (.*)$/m.exec(readFileSync("/proc/cpuinfo", "latin1"))?.[1] ?? process.arch;
}
