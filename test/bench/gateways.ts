import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Cell, cellBody, cellPath } from "./cells.ts";
import type { LoadTarget } from "./load-job.ts";
import { type Pacing, pacings, paths, requestBody } from "./payloads.ts";
import { type StartedServer, startServer } from "./processes.ts";

/** Something that a client can ask: a gateway, or the provider itself. */
export interface Gateway {
  readonly name: GatewayName;
  readonly pid: number;
  /** From the start of its process until it served. */
  readonly startMs: number;
  target(cell: Cell): LoadTarget;
  pacedTarget(pacing: Pacing): LoadTarget;
  stop(): Promise<void>;
}

export type GatewayName =
  | "direct"
  | "bare"
  | "sluice"
  | "other"
  | "postgres"
  | "portkey"
  | "litellm"
  | "bifrost";

const root = join(import.meta.dir, "../..");
export const executable = join(root, "dist/sluice");
/** In front of a gateway's command, so that it has one processor, as in a small container. The load has the others. */
const onOneProcessor = ["taskset", "-c", "0"];
let prefix: readonly string[] = [];

/** For all gateways that are started from now on. */
export function keepGatewaysOnOneProcessor(): void {
  runGatewaysUnder(onOneProcessor);
}

/** The command in front of every gateway that is started from now on. */
export function runGatewaysUnder(command: readonly string[]): void {
  prefix = command;
}

export const adminToken = "bench-admin-token-0123456789abcdef";

export async function startProvider(folder: string): Promise<Gateway> {
  const command = [process.execPath, join(import.meta.dir, "provider.ts")];
  const logFile = join(folder, "provider.log");
  return forwarding("direct", () => startServer({ command, logFile }));
}

export function startBare(folder: string, providerUrl: string): Promise<Gateway> {
  const command = [...prefix, process.execPath, join(import.meta.dir, "bare-proxy.ts"), providerUrl];
  // Bun's `fetch` keeps no more than 256 requests open unless told so before it starts.
  const env = { BUN_CONFIG_MAX_HTTP_REQUESTS: "65535" };
  const logFile = join(folder, "bare.log");
  return forwarding("bare", () => startServer({ command, logFile, env }));
}

/** Both take a provider's paths as they are. */
async function forwarding(name: GatewayName, start: () => Promise<StartedServer>): Promise<Gateway> {
  return gateway(
    name,
    start,
    { authorization: "Bearer bench" },
    ({ provider }) => `/${provider}${paths.chat}`,
  );
}

export interface SluiceOptions {
  readonly name?: "sluice" | "other";
  readonly program?: string;
  /** A key that the folder has already. */
  readonly secret?: string | undefined;
  /** With a model for embeddings, which older builds do not know. */
  readonly embeds?: boolean;
  /** Whether what all requests and responses say is recorded. */
  readonly recordsContent?: boolean;
}

/** The executable as an operator would run it, on a data folder with one credit key. */
export async function startSluice(
  folder: string,
  providerUrl: string,
  {
    name = "sluice",
    program = executable,
    secret,
    embeds = false,
    recordsContent = false,
  }: SluiceOptions = {},
): Promise<Gateway> {
  mkdirSync(folder, { recursive: true });
  const config = join(folder, "sluice.toml");
  const content = recordsContent ? '[content]\nrecord = "all"\n\n' : "";
  writeFileSync(config, `${content}${sluiceConfig(providerUrl, embeds)}`);
  const env = {
    SLUICE_CONFIG: config,
    SLUICE_DATA: join(folder, "data"),
    SLUICE_ADMIN_TOKEN: adminToken,
    BENCH_PROVIDER_KEY: "sk-bench",
  };
  const key = secret ?? createKey(env, program);
  const command = [...prefix, program, "serve", "--host", "127.0.0.1", "--port", "0"];
  const start = () => startServer({ command, logFile: join(folder, "sluice.log"), env });
  return gateway(name, start, { authorization: `Bearer ${key}` });
}

/** A node on a database, and means to make keys there. */
export interface BenchNode extends Gateway {
  createKeys(count: number): readonly string[];
}

/** The executable on a PostgreSQL database. The first node creates the schema. */
export async function startNode(folder: string, providerUrl: string, store: string): Promise<BenchNode> {
  mkdirSync(folder, { recursive: true });
  const config = join(folder, "sluice.toml");
  writeFileSync(config, sluiceConfig(providerUrl, false));
  const env = {
    SLUICE_CONFIG: config,
    SLUICE_DATA: join(folder, "data"),
    SLUICE_STORE: store,
    SLUICE_ADMIN_TOKEN: adminToken,
    BENCH_PROVIDER_KEY: "sk-bench",
  };
  const command = [executable, "serve", "--host", "127.0.0.1", "--port", "0"];
  const start = () => startServer({ command, logFile: join(folder, "sluice.log"), env });
  const node = await gateway("postgres", start, {});
  const createKeys = (count: number) => Array.from({ length: count }, () => createKey(env));
  const [key] = createKeys(1);
  const headers = { authorization: `Bearer ${key}` };
  return {
    ...node,
    createKeys,
    target: (cell) => ({ ...node.target(cell), headers }),
    pacedTarget: (pacing) => ({ ...node.pacedTarget(pacing), headers }),
  };
}

function createKey(env: Readonly<Record<string, string>>, program = executable): string {
  const command = [program, "keys", "create", "--mode", "credit", "--credit", "1000000", "--json"];
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { env });
  if (exitCode !== 0) throw new Error(`no key could be made:\n${stderr}`);
  const { key }: { key: string } = JSON.parse(stdout.toString());
  return key;
}

/** Starts a server, which takes part as `name`. */
export async function gateway(
  name: GatewayName,
  start: () => Promise<StartedServer>,
  headers: Readonly<Record<string, string>>,
  pacedPath: (pacing: Pacing) => string = () => paths.chat,
): Promise<Gateway> {
  const startedAtMs = performance.now();
  const { url, pid, stop } = await start();
  const startMs = performance.now() - startedAtMs;
  const common = { url, headers, pid };
  return {
    name,
    pid,
    startMs,
    stop,
    target: (cell) => ({ ...common, path: cellPath(cell), body: cellBody(cell) }),
    pacedTarget: (pacing) => ({
      ...common,
      path: pacedPath(pacing),
      body: requestBody("chat", `bench-${pacing.provider}`, "1 KB", true),
    }),
  };
}

export function freePort(): number {
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = server;
  server.stop(true);
  return port;
}

/** Nothing but providers and models: everything else is as it comes. */
function sluiceConfig(providerUrl: string, embeds: boolean): string {
  const provider = (name: string, kind: string, base: string) =>
    `[providers.${name}]\nkind = "${kind}"\nbase_url = "${providerUrl}${base}"\napi_key = "env:BENCH_PROVIDER_KEY"\n`;
  const model = (id: string, provider: string) =>
    `[[models]]\nid = "${id}"\nprovider = "${provider}"\n` +
    "context_window = 200000\nmax_output_tokens = 4096\nprice = { input = 1.25, output = 10.0, cached_input = 0.125 }\n";
  return [
    provider("openai", "openai", "/v1"),
    provider("anthropic", "anthropic", ""),
    provider("local", "openai-compatible", "/v1"),
    ...pacings.map(({ provider: name }) => provider(name, "openai-compatible", `/${name}/v1`)),
    model("bench-openai", "openai"),
    model("bench-anthropic", "anthropic"),
    model("bench-local", "local"),
    ...(embeds ? [`${model("bench-embeddings", "openai")}serves = ["embeddings"]\n`] : []),
    ...pacings.map(({ provider: name }) => model(`bench-${name}`, name)),
  ].join("\n");
}
