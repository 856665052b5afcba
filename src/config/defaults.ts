/** Defaults that are also needed where the schema is not loaded, because it takes long. All others are in the schema. */
export const defaults = {
  host: "127.0.0.1",
  port: 8787,
  dataDir: "sluice-data",
  storePrepare: true,
} as const;

export const configFileName = "sluice.toml";
