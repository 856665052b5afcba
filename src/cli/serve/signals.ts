import { endsWithTerminal, hasTerminal } from "../../base/system/controlling-terminal.ts";

interface Stoppable {
  stop(): Promise<readonly string[]>;
  describeLosses(): readonly string[];
}

interface SignalHandlers {
  onStopping(): void;
  onLoss(loss: string): void;
  /** Called on SIGHUP, unless that means that the terminal of this process was closed. */
  onReload(): void;
}

const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * The first SIGTERM or SIGINT drains, as closing the terminal does; the second exits at once, after reporting what is lost.
 * Resolves when everything is closed, with what could not be written to disk, or why it could not be closed: either way the
 * process ends.
 */
export function untilStopped(
  running: Stoppable,
  { onStopping, onLoss, onReload }: SignalHandlers,
): Promise<readonly string[]> {
  const failed = (error: unknown) => [
    `The gateway did not stop cleanly: ${error instanceof Error ? error.message : String(error)}`,
    ...running.describeLosses(),
  ];
  return new Promise((resolve) => {
    let stopping = false;
    const stop = () => {
      stopping = true;
      onStopping();
      running.stop().catch(failed).then(resolve);
    };
    const needsTerminal = endsWithTerminal();
    process.on("SIGHUP", () => {
      if (!needsTerminal || hasTerminal()) onReload();
      else if (!stopping) stop();
    });
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        if (stopping) {
          for (const loss of running.describeLosses()) onLoss(loss);
          process.exit(exitCodes[signal]);
        }
        stop();
      });
    }
  });
}
