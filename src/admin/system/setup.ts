import { msPerDay, msPerHour } from "../../base/clock.ts";
import type { Settings } from "../../config/settings.ts";
import { isLoopback } from "../../wire/local-address.ts";
import type { AdminDeps } from "../deps.ts";
import { searchExchanges } from "../requests/find-exchanges.ts";
import type { SetupStepView } from "./setup-schema.ts";

type Step = SetupStepView["step"];

/** Number of days within which a provider's response counts. */
const recentDays = 30;

/**
 * The set-up checklist: what is done, and the command for what is not. A completed step stays completed while the
 * process runs, so that a busy gateway is not searched again.
 */
export function setupSteps(deps: AdminDeps): () => Promise<SetupStepView[]> {
  const finished = new Set<Step>();

  async function isDone(step: Step, look: () => boolean | Promise<boolean>): Promise<boolean> {
    if (finished.has(step)) return true;
    const done = await look();
    if (done && step !== "reachable") finished.add(step);
    return done;
  }

  return async () => {
    await deps.flushRequestLog();
    const settings = deps.settings();
    const steps: SetupStepView[] = [
      {
        step: "provider",
        done: await isDone("provider", () => hasAnswered(deps)),
        text: "A provider responded",
        command: realProviders(settings).length === 0 ? "sluice config init" : "sluice models check",
      },
      {
        step: "key",
        done: await isDone("key", async () => (await deps.store.listKeys({ limit: 1 })).keys.length > 0),
        text: "A key exists",
        command: "sluice keys create --mode credit --credit 5 --label laptop",
      },
      {
        step: "request",
        done: await isDone(
          "request",
          async () => (await searchExchanges(deps.store, { limit: 1 })).rows.length > 0,
        ),
        text: "The first request arrived",
        command: "sluice connect curl",
      },
      {
        step: "reachable",
        done: await isDone("reachable", () => isReachable(settings)),
        text: "Other machines reach the gateway, over TLS through a proxy (docs/deploy.md)",
        command: null,
      },
    ];
    // PostgreSQL is backed up by its own tools.
    if (settings.store !== null) return steps;
    const done = await isDone("backup", () => hasBackup(deps));
    return [
      ...steps,
      {
        step: "backup",
        done,
        text: "A backup exists",
        command: "sluice backup sluice-backup.db",
      },
    ];
  };
}

function realProviders({ providers }: Settings): string[] {
  return [...providers.values()].filter(({ kind }) => kind !== "demo").map(({ name }) => name);
}

/** Whether a real provider has responded. The demo does not count, because it needs no set-up. */
async function hasAnswered({ settings, deploymentHealth, store, clock }: AdminDeps): Promise<boolean> {
  const real = realProviders(settings());
  if (real.length === 0) return false;
  if (
    deploymentHealth().some(({ provider, answeredAtMs }) => real.includes(provider) && answeredAtMs !== null)
  )
    return true;
  const nowMs = clock.wallMs();
  const range = { sinceMs: nowMs - recentDays * msPerDay, untilMs: nowMs + msPerHour };
  const used = await store.reports.usageBy("provider", range);
  return used.some(({ group }) => real.includes(group));
}

function isReachable({ server, admin }: Settings): boolean {
  return (
    admin.publicUrl !== null ||
    server.trustedProxies.length > 0 ||
    !isLoopback(`http://${hostIn(server.host)}`)
  );
}

function hostIn(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

async function hasBackup({ store }: AdminDeps): Promise<boolean> {
  const found = await store.admin.listAudit({ limit: 1, search: "data.backup" });
  return found.length > 0;
}
