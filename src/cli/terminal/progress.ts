import type { Terminal } from "./terminal.ts";

export interface Progress {
  show(text: string): void;
  /** Removes the line. */
  end(): void;
}

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const showAfterMs = 1000;
const frameMs = 100;

/** A line on stderr, shown only on a terminal and only if the work takes longer than a second. */
export function startProgress(
  terminal: Pick<Terminal, "noteColumns" | "noteStyle">,
  draw: (text: string) => void = (text) => void process.stderr.write(text),
  now: () => number = () => performance.now(),
): Progress {
  if (terminal.noteColumns === null) return { show: () => {}, end: () => {} };
  let drawnAtMs = now() + showAfterMs - frameMs;
  let shown = 0;
  return {
    show(text) {
      const nowMs = now();
      if (nowMs - drawnAtMs < frameMs) return;
      drawnAtMs = nowMs;
      draw(`\r\u001b[K${terminal.noteStyle.accent(frames[shown % frames.length] ?? "")} ${text}`);
      shown += 1;
    },
    end() {
      if (shown > 0) draw("\r\u001b[K");
    },
  };
}

/** For work without a measurable progress: the line appears after a second and disappears at the end. */
export async function withProgress<Result>(
  text: string,
  work: Promise<Result>,
  terminal: Pick<Terminal, "noteColumns" | "noteStyle">,
): Promise<Result> {
  const progress = startProgress(terminal);
  const timer = setInterval(() => progress.show(text), frameMs);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    progress.end();
  }
}
