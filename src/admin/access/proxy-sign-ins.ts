import type { AdminSettings } from "../../config/settings.ts";
import type { PersonIdentity } from "./identity.ts";
import { type FollowedSignIns, personName, refreshSignIn } from "./lost-sign-ins.ts";

const refreshEveryMs = 60_000;
const maxPeople = 10_000;

interface RefreshDeps extends FollowedSignIns {
  /** Why nothing can be written; null if it can. */
  problem(): object | null;
}

interface SeenPerson {
  readonly identity: string;
  readonly untilMs: number;
}

/**
 * A proxy signs people in with every call, and names their groups. So their keys follow them as at a sign-in: when the
 * groups differ from the last call, and once a minute, because another gateway may have seen other groups.
 */
export class ProxySignIns {
  readonly #deps: () => RefreshDeps;
  readonly #settings: () => AdminSettings;
  readonly #seen = new Map<string, SeenPerson>();

  constructor(deps: () => RefreshDeps, settings: () => AdminSettings) {
    this.#deps = deps;
    this.#settings = settings;
  }

  /** Does nothing while the store cannot be written: people can still sign in and look. */
  async follow(person: PersonIdentity): Promise<void> {
    const deps = this.#deps();
    const [name, identity, nowMs] = [personName(person), JSON.stringify(person), deps.clock.monotonicMs()];
    const seen = this.#seen.get(name);
    if ((seen?.identity === identity && nowMs < seen.untilMs) || deps.problem() !== null) return;
    await refreshSignIn(deps, person, this.#settings());
    this.#seen.delete(name);
    this.#seen.set(name, { identity, untilMs: nowMs + refreshEveryMs });
    const [oldest] = this.#seen.keys();
    if (this.#seen.size > maxPeople && oldest !== undefined) this.#seen.delete(oldest);
  }
}
