import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, type Gateway, gateway } from "./gateways.ts";
import { type ServerCommand, startServer } from "./processes.ts";

/** Where a peer is installed and runs. */
interface PeerPlace {
  /** Kept between runs. */
  readonly cache: string;
  /** The run's own folder. */
  readonly folder: string;
  readonly providerUrl: string;
}

type PeerName = "portkey" | "litellm" | "bifrost";

interface Peer {
  readonly name: PeerName;
  readonly title: string;
  /** Installs and starts it. Throws an Error with the reason if that is impossible here. */
  start(place: PeerPlace): Promise<Gateway>;
}

/** Other gateways, as their own pages say to run them for this load: one process, no log of requests, keys where they need no database. */
export const peers: readonly Peer[] = [
  { name: "portkey", title: "Portkey 1.15.2", start: startPortkey },
  { name: "litellm", title: "LiteLLM 1.80.0", start: startLiteLlm },
  { name: "bifrost", title: "Bifrost", start: startBifrost },
];

/** Starts those that can be installed; the others are in `notes`, with the reason. */
export async function startPeers(place: PeerPlace, notes: string[]): Promise<Gateway[]> {
  const started: Gateway[] = [];
  for (const { title, start } of peers) {
    try {
      started.push(await start(place));
    } catch (error) {
      notes.push(
        `skipped ${title}: ${error instanceof Error ? error.message.split("\n")[0] : String(error)}`,
      );
    }
  }
  return started;
}

/** Gets the provider's address in request headers. */
async function startPortkey({ cache, folder, providerUrl }: PeerPlace): Promise<Gateway> {
  const script = await npmScript(cache, "@portkey-ai/gateway", "1.15.2", "build/start-server.js");
  const port = freePort();
  return peer(
    "portkey",
    {
      command: ["node", script, `--port=${port}`, "--headless"],
      logFile: join(folder, "portkey.log"),
      env: { NODE_ENV: "production", TRUSTED_CUSTOM_HOSTS: "127.0.0.1" },
      ready: new RegExp(`localhost:(${port})`),
    },
    {
      authorization: "Bearer bench",
      "x-portkey-provider": "openai",
      "x-portkey-custom-host": `${providerUrl}/v1`,
    },
  );
}

const liteLlm = "litellm[proxy]==1.80.0";

/** One worker with a master key: keys of its own need a database. */
async function startLiteLlm({ cache, folder, providerUrl }: PeerPlace): Promise<Gateway> {
  const program = await pipProgram(cache, "litellm-1.80.0", liteLlm, "litellm");
  const config = join(folder, "litellm.yaml");
  writeFileSync(
    config,
    [
      "model_list:",
      '  - model_name: "*"',
      `    litellm_params: { model: "openai/*", api_base: "${providerUrl}/v1", api_key: sk-bench }`,
      "general_settings: { master_key: sk-bench }",
      "litellm_settings: { telemetry: false, turn_off_message_logging: true }",
      "",
    ].join("\n"),
  );
  const port = freePort();
  // It says where it listens on stderr.
  const line = `exec ${program} --config ${config} --host 127.0.0.1 --port ${port} --num_workers 1 2>&1`;
  return peer(
    "litellm",
    {
      command: ["sh", "-c", line],
      logFile: join(folder, "litellm.log"),
      env: { LITELLM_MODE: "PRODUCTION", LITELLM_LOG: "ERROR", LITELLM_LOCAL_MODEL_COST_MAP: "True" },
      ready: new RegExp(`running on http://127\\.0\\.0\\.1:(${port})`),
      waitMs: 90_000,
    },
    { authorization: "Bearer sk-bench" },
  );
}

/** Its npm package downloads a program when it starts. */
async function startBifrost({ cache, folder, providerUrl }: PeerPlace): Promise<Gateway> {
  const script = await npmScript(cache, "@maximhq/bifrost", "1.6.3", "bin.js");
  const appFolder = join(folder, "bifrost");
  mkdirSync(appFolder, { recursive: true });
  const openai = {
    keys: [{ name: "bench", value: "sk-bench", models: ["*"], weight: 1 }],
    network_config: { base_url: providerUrl },
  };
  writeFileSync(
    join(appFolder, "config.json"),
    JSON.stringify({
      providers: { openai },
      config_store: { enabled: false },
      logs_store: { enabled: false },
    }),
  );
  const port = freePort();
  const command = {
    command: ["sh", "-c", `exec node ${script} -app-dir ${appFolder} -host 127.0.0.1 -port ${port} 2>&1`],
    logFile: join(folder, "bifrost.log"),
    ready: new RegExp(`127\\.0\\.0\\.1:(${port})`),
    waitMs: 60_000,
  };
  try {
    return await peer("bifrost", command, { authorization: "Bearer bench" });
  } catch (cause) {
    throw new Error("its program could not be downloaded, or did not start", { cause });
  }
}

function peer(
  name: PeerName,
  command: ServerCommand,
  headers: Readonly<Record<string, string>>,
): Promise<Gateway> {
  return gateway(name, () => startServer(command), headers);
}

/** A file of an npm package, which is installed into the cache on first use. */
async function npmScript(cache: string, name: string, version: string, file: string): Promise<string> {
  if (Bun.which("node") === null || Bun.which("npm") === null) throw new Error("node or npm is missing");
  const folder = join(cache, `${name.replaceAll(/\W+/g, "-")}-${version}`);
  const script = join(folder, "node_modules", name, file);
  if (existsSync(script)) return script;
  mkdirSync(folder, { recursive: true });
  const install = ["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", `${name}@${version}`];
  if (!(await installs(install, 90_000)) || !existsSync(script)) throw new Error("npm could not install it");
  return script;
}

/** A program of a Python package, in an environment of its own in the cache. */
async function pipProgram(
  cache: string,
  folderName: string,
  requirement: string,
  name: string,
): Promise<string> {
  if (Bun.which("python3") === null) throw new Error("python3 is missing");
  const folder = join(cache, folderName);
  const program = join(folder, "bin", name);
  if (existsSync(program)) return program;
  const isInstalled =
    (await installs(["python3", "-m", "venv", folder], 60_000)) &&
    (await installs([join(folder, "bin/pip"), "install", "-q", requirement], 400_000));
  if (!isInstalled || !existsSync(program)) throw new Error("pip could not install it");
  return program;
}

async function installs(command: readonly string[], maxMs: number): Promise<boolean> {
  const install = Bun.spawn([...command], { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  const killer = setTimeout(() => install.kill(), maxMs);
  const code = await install.exited;
  clearTimeout(killer);
  return code === 0;
}
