import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Elysia } from "elysia";
import { guardLimits } from "../../../src/admin/access/guard-limits.ts";
import { ProxySignIns } from "../../../src/admin/access/proxy-sign-ins.ts";
import { Sessions } from "../../../src/admin/access/sessions.ts";
import { adminRoutes, memberRoutes } from "../../../src/admin/api/admin.ts";
import type { Connections, UnmountedDeps } from "../../../src/admin/deps.ts";
import { Live } from "../../../src/admin/live/live.ts";
import { adminBase } from "../../../src/base/requests/admin-base.ts";
import { checkConfig } from "../../../src/cli/check-config.ts";
import { loadSettings } from "../../../src/config/load.ts";
import { reloadable } from "../../../src/config/reload.ts";
import { KeyRing } from "../../../src/keys/keyring.ts";
import { hashSecret } from "../../../src/keys/secret.ts";
import { Ledger } from "../../../src/ledger/ledger.ts";
import { openStore } from "../../../src/store/open.ts";
import type { JournaledStore } from "../../../src/store/store.ts";
import { putEmptyLedger } from "../../store/sqlite/empty-ledger.ts";
import { FakeClock } from "../../support/clock.ts";
import { configFor, upstreamKeys } from "../../support/config.ts";
import { newFolder } from "../../support/new-folder.ts";

export const token = "slua_the-right-token";
export const tracingSecret = "tracing-header-canary";

export interface AdminServer extends AsyncDisposable {
  readonly url: string;
  readonly dir: string;
  readonly deps: UnmountedDeps & { readonly accounts: Ledger };
  readonly store: JournaledStore;
  readonly clock: FakeClock;
  /** The paths of requests that may take longer than connections may be idle. */
  readonly keptWaiting: readonly string[];
  /** Calls the API with the token, or with what `init` says instead. */
  call(path: string, init?: RequestInit): Promise<Response>;
  /** Calls it as a program that must be answered well. */
  json<Shape>(path: string, init?: RequestInit): Promise<Shape>;
  post<Shape>(path: string, body?: unknown): Promise<Shape>;
}

/** The admin API on a socket of its own, over a real store and ledger. The caller's address is its `x-from`. */
export async function startAdmin(adminSettings = ""): Promise<AdminServer> {
  const dir = newFolder();
  putEmptyLedger(dir);
  const clock = new FakeClock();
  const store = await openStore({ dir, clock, role: "gateway" });
  const deps = await makeDeps(dir, store, clock, adminSettings);
  const keptWaiting: string[] = [];
  const connections = connectionsOf(({ url }) => keptWaiting.push(new URL(url).pathname));
  const app = new Elysia();
  for (const mount of [adminRoutes(deps), memberRoutes(deps)]) mount(app, connections);
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: app.fetch,
  });
  const url = `http://127.0.0.1:${server.port}`;
  const call = (path: string, init: RequestInit = {}) =>
    fetch(url + adminBase + path, {
      ...init,
      headers: { authorization: `Bearer ${token}`, ...init.headers },
    });
  const json = async <Shape>(path: string, init?: RequestInit) => {
    const response = await call(path, init);
    if (!response.ok) throw new Error(`${path} gave ${response.status}: ${await response.text()}`);
    return (await response.json()) as Shape;
  };
  return {
    url,
    dir,
    deps,
    keptWaiting,
    store,
    clock,
    call,
    json,
    post: (path, body = {}) => json(path, { method: "POST", body: JSON.stringify(body) }),
    [Symbol.asyncDispose]: async () => {
      deps.live.close();
      await server.stop(true);
      await store.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Requests that name their address come through a proxy. */
const connectionsOf = (keepWaiting: Connections["keepWaiting"]): Connections => ({
  originOf: (request) => ({
    address: request.headers.get("x-from") ?? "127.0.0.1",
    isFromProxy: request.headers.has("x-from"),
  }),
  keepWaiting,
});

async function makeDeps(
  dir: string,
  store: JournaledStore,
  clock: FakeClock,
  adminSettings: string,
): Promise<AdminServer["deps"]> {
  const snapshot = await store.load();
  const keys = new KeyRing(clock, snapshot.keys, snapshot.signIns);
  const ledger = await Ledger.open({ store, clock, snapshot });
  let { revision } = snapshot;
  const file = join(dir, "sluice.toml");
  const tail = `[tracing]\notlp_endpoint = "http://127.0.0.1:1/v1/traces"\nheaders = { authorization = "env:TRACING" }`;
  writeFileSync(file, configFor({ url: "http://127.0.0.1:1", tail: `${tail}\n${adminSettings}` }));
  const env = { ...upstreamKeys, SLUICE_ADMIN_TOKEN: token, TRACING: tracingSecret };
  const loading = { file, env, cwd: dir };
  let { settings } = loadSettings(loading);
  const deps: AdminServer["deps"] = {
    store,
    clock,
    keys,
    accounts: ledger,
    knowsReserved: true,
    knownNames: () => settings.named,
    content: null,
    storedBefore: async () => null,
    droppedContent: () => null,
    droppedSpans: () => 0,
    feed: null,
    guard: {
      tokenHash: hashSecret(token),
      sessions: new Sessions(clock, null, () => ""),
      tokens: store.admin,
      ...guardLimits(clock),
      proxySignIns: new ProxySignIns(
        () => deps,
        () => settings.admin,
      ),
      settings: () => settings.admin,
    },
    log: { warn: () => {} },
    live: new Live(clock),
    version: "0.0.0-test",
    address: () => "http://127.0.0.1:1",
    settings: () => settings,
    configOnDisk: {
      check: async () => checkConfig(loading),
      load: async (prices) => loadSettings({ ...loading, prices }).settings,
      reload: async () => {
        const reloaded = reloadable(settings, loadSettings(loading).settings);
        settings = reloaded.settings;
        return { needsRestart: reloaded.needsRestart, newSecrets: [] };
      },
    },
    deploymentHealth: () => [],
    alerts: () => [],
    checkAlerts: async () => [],
    inFlight: () => 0,
    backgroundInFlight: () => 0,
    lineCounts: () => ({ completed: 0, failed: 0, interrupted: 0, unknown: 0 }),
    requestLogDropped: () => 0,
    flushRequestLog: async () => {},
    oldestExchanges: () => [],
    isDraining: () => false,
    problem: () => store.problem,
    journalStats: () => store.stats,
    applyChanges: async () => {
      const changes = await store.changesSince(revision);
      revision = changes.revision;
      keys.apply(changes);
      ledger.apply(changes);
    },
  };
  return deps;
}

/** The session's cookie as a browser would send it back. */
export async function signIn(admin: AdminServer): Promise<string> {
  const response = await fetch(`${admin.url}${adminBase}/session`, {
    method: "POST",
    body: JSON.stringify({ token }),
    headers: { origin: admin.url },
  });
  return (response.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}
