import type { TestKey } from "../support/sluice.ts";
import { waitFor } from "../support/wait.ts";
import type { World } from "./world.ts";

export interface Summary {
  readonly key: {
    readonly prefix: string;
    readonly label: string | null;
    readonly status: string;
    readonly mode: string;
    readonly provider_scope: string;
    readonly rpm_limit?: number | null;
  };
  readonly credits: Readonly<Record<string, number>>;
  readonly tokens: {
    readonly budget: number | null;
    readonly used: number;
    readonly reserved: number;
    readonly remaining: number | null;
    readonly input: number;
    readonly output: number;
    readonly total: number;
  };
  readonly requests: { readonly total: number };
  readonly explanation: string;
}

export async function usageOf(world: World, key: TestKey): Promise<Summary> {
  const response = await world.sluice.request("/v1/usage", { key });
  if (response.status !== 200) throw new Error(`usage answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Summary;
}

/** What a credit or a token key has spent, in credits or tokens. */
export async function spentBy(world: World, key: TestKey): Promise<number> {
  const { credits, tokens } = await usageOf(world, key);
  return key.mode === "credit" ? (credits["used"] ?? 0) : tokens.used;
}

/** Cancelled exchanges settle by themselves a moment later. */
export async function noneReserved(world: World, key: TestKey): Promise<void> {
  await waitFor(async () => {
    const { credits, tokens } = await usageOf(world, key);
    return credits["reserved"] === 0 && tokens.reserved === 0;
  }, "the hold to end");
}
