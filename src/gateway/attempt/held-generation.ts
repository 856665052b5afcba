import type { ModelSettings } from "../../config/settings.ts";
import type { Hold } from "../../ledger/accounts.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import type { PreparedRequest } from "../../vendors/provider.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { CostMeter } from "../charge/cost-meter.ts";
import type { HeldRequest } from "../exchange/origin.ts";
import type { Generation } from "./generation.ts";
import { prepareAttempt } from "./provider-call.ts";

/** A generation whose cost is set aside. */
export class HeldGeneration implements HeldRequest {
  readonly generation: Generation;
  readonly meter: CostMeter;

  constructor(generation: Generation, meter: CostMeter) {
    this.generation = generation;
    this.meter = meter;
  }

  get model(): ModelSettings {
    return this.generation.model;
  }

  get configured(): ActiveConfig {
    return this.generation.call.configured;
  }

  get pricedAtMs(): number {
    return this.generation.call.pricedAtMs;
  }

  get scope(): string {
    return this.generation.call.scope;
  }

  get credential(): string | null {
    return this.generation.call.credential;
  }

  get hold(): Hold {
    return this.meter.hold;
  }

  get remaining(): number {
    return this.meter.remaining;
  }

  get isSelfContained(): boolean {
    const { call, extras } = this.generation;
    const { exchange, turn } = call;
    const changes =
      turn.isCompactedUpstream || turn.compaction !== null || turn.keeping?.conversation != null;
    const runsOthers = extras?.rounds.some(({ other }) => other !== null) ?? false;
    return !changes && !runsOthers && exchange.steppedDown === null;
  }

  async prepare(deployment: Deployment): Promise<PreparedRequest> {
    const { attempt, body } = await prepareAttempt(this.generation, deployment, true);
    return attempt.requestWith(body);
  }
}
