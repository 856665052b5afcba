/** Defaults in the file's own units (seconds, or a duration with its unit; USD). Both the schema and the loader read them here. */
export const defaults = {
  host: "127.0.0.1",
  port: 8787,
  dataDir: "sluice-data",
  reusePort: false,
  sameKeyInBothHeaders: "refuse",
  maxBodyBytes: 32 * 1024 * 1024,
  /** Or a quarter of the memory, if that is less. */
  maxBodyMemoryBytes: 512 * 1024 * 1024,
  maxBodyMembers: 100_000,
  maxListItems: 10_000,
  heartbeat: 15,
  shutdownGrace: 30,
  /** The interface's own figure. */
  requestTimeout: "5m",
  clientIdleTimeout: 60,
  maxConcurrent: 10_000,
  anonymousRpm: 300,
  storePrepare: true,
  logLevel: "info",
  logFormat: "auto",
  usdPerCredit: 1,
  requestDays: 30,
  requestRows: 1_000_000,
  responseHours: 24,
  responseBytesPerKey: 256 * 1024 * 1024,
  responseState: "gateway",
  compactionMaxTokens: 8192,
  webSocket: {
    maxConnectionsPerKey: 32,
    maxDuration: "60m",
    maxConcurrent: 16,
    maxStreams: 32,
    maxQueued: 32,
  },
  content: {
    record: "all",
    sample: 1,
    days: 7,
    maxSize: "2GB",
    maxBody: "1MB",
    recordUpstream: false,
    membersSeeOwn: false,
  },
  priority: 1,
  weight: 1,
  cache: "auto",
  affinity: "conversation",
  timeouts: { connect: 10, streamFirstByte: 120, idle: 120 },
  oidc: { scope: "openid email profile", userClaim: "email", groupsClaim: "groups" },
  /** 2026-01-01. The model list needs a date, and it should not change with each start. */
  modelCreatedSeconds: 1_767_225_600,
} as const;

export const cacheSettings = ["auto", "none"] as const;
export const affinities = ["conversation", "none"] as const;

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;

export const configFileName = "sluice.toml";
