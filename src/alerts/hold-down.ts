import { msPerMinute } from "../base/clock.ts";
import { type Alert, isAboutProvider } from "./alert.ts";

const holdDownMs = msPerMinute;

interface SeenAlert {
  readonly alert: Alert;
  lastMs: number;
}

/**
 * Keeps `provider_failing` for a minute after it was last found: a provider that fails and responds in turn would fire and resolve at
 * every check. Another alert about the provider replaces it at once.
 */
export class HoldDown {
  readonly #seen = new Map<string, SeenAlert>();

  /** The alerts of a check, and those that are held. `nowMs` is monotonic. */
  apply(found: readonly Alert[], nowMs: number): Alert[] {
    const providers = found.filter((alert) => isAboutProvider(alert) && alert.hasAnswered !== true);
    const active = new Set(providers.map(({ subject }) => subject.id));
    for (const alert of providers) {
      if (alert.kind === "provider_failing") this.#seen.set(alert.subject.id, { alert, lastMs: nowMs });
    }
    const held: Alert[] = [];
    for (const [id, { alert, lastMs }] of this.#seen) {
      const isReplaced = providers.some(({ kind, subject }) => subject.id === id && kind !== alert.kind);
      if (isReplaced || nowMs - lastMs >= holdDownMs) this.#seen.delete(id);
      else if (!active.has(id)) held.push(alert);
    }
    return [...found, ...held];
  }
}
