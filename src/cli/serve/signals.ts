interface Stoppable {
  stop(): Promise<readonly string[]>;
  describeLosses(): readonly string[];
}

const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/**
 * The first SIGTERM or SIGINT lets what runs finish; the second ends at once, after saying what is lost by that.
 * Resolves when all is closed, with what could not be put on disk.
 */
export function untilStopped(
  running: Stoppable,
  onStopping: () => void,
  onLoss: (loss: string) => void,
): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    let stopping = false;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        if (stopping) {
          for (const loss of running.describeLosses()) onLoss(loss);
          process.exit(exitCodes[signal]);
        }
        stopping = true;
        onStopping();
        running.stop().then(resolve, reject);
      });
    }
  });
}
