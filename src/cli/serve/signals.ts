interface Stoppable {
  stop(): Promise<void>;
}

const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/** The first SIGTERM or SIGINT lets what runs finish; the second ends at once. Resolves when all is closed. */
export function untilStopped(running: Stoppable, onStopping: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let stopping = false;
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.on(signal, () => {
        if (stopping) process.exit(exitCodes[signal]);
        stopping = true;
        onStopping();
        running.stop().then(resolve, reject);
      });
    }
  });
}
