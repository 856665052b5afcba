/**
 * What holds when the file says nothing, in the file's own units (seconds, USD). The schema prints these
 * and the loader uses them, so that the two cannot drift apart.
 */
export const defaults = {
  host: "127.0.0.1",
  port: 8787,
  dataDir: "sluice-data",
  reusePort: false,
  maxBodyBytes: 32 * 1024 * 1024,
  /** Less where a quarter of the memory is less. */
  mostBodyMemoryBytes: 512 * 1024 * 1024,
  maxBodyMembers: 100_000,
  maxListItems: 10_000,
  heartbeat: 15,
  shutdownGrace: 30,
  stalledReader: 60,
  maxConcurrent: 10_000,
  anonymousRpm: 300,
  logLevel: "info",
  logFormat: "auto",
  usdPerCredit: 1,
  exchangeDays: 30,
  exchangeRows: 1_000_000,
  priority: 1,
  weight: 1,
  timeouts: { connect: 10, firstByte: 300, streamFirstByte: 120, gap: 120, total: 300 },
  /** 2026-01-01: the model list needs a date, and one that changes with each start would be a lie. */
  modelCreatedSeconds: 1_767_225_600,
} as const;

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

export const configFileName = "sluice.toml";
